/* Lists and mappings of texts of a configuration, and places in its file. */
#ifndef SR_CONFIG_PART_STRINGS_H
#define SR_CONFIG_PART_STRINGS_H

#include "base/bytes.h"

#include <stdint.h>

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

struct sr_named_strings {
    const char *name;
    struct sr_strings texts;
};

/* From 1; 0 where the file does not say it. */
struct sr_config_position {
    uint32_t line, column;
};

#endif
