/* Lists and mappings of texts of a configuration. */
#ifndef SR_CONFIG_STRINGS_H
#define SR_CONFIG_STRINGS_H

#include "base/bytes.h"

struct sr_strings {
    const char **items;
    size_t count;
};

struct sr_name_value {
    const char *name;
    const char *value;
};

struct sr_name_values {
    struct sr_name_value *items;
    size_t count;
};

#endif
