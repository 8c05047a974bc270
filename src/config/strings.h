/* Lists of texts of a configuration. */
#ifndef SR_CONFIG_STRINGS_H
#define SR_CONFIG_STRINGS_H

#include "base/bytes.h"

struct sr_strings {
    const char **items;
    size_t count;
};

#endif
