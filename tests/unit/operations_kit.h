/*
 * How many operations a property test tries: 1,000 times its own factor. SEMROUTE_STORE_OPERATIONS says
 * another number; `make nightly` has ten times as many.
 */
#ifndef TESTS_UNIT_OPERATIONS_KIT_H
#define TESTS_UNIT_OPERATIONS_KIT_H

#include <stdlib.h>

static inline unsigned kit_operations(void)
{
    const char *wanted = getenv("SEMROUTE_STORE_OPERATIONS");
    return wanted ? (unsigned)strtoul(wanted, NULL, 10) : 1000;
}

#endif
