/* "Did you mean": the nearest known word, and the section where a misplaced key belongs. */
#ifndef SR_CONFIG_BIND_HINT_H
#define SR_CONFIG_BIND_HINT_H

#include "config/bind/schema.h"

/* The path below `root` of the section that has `key` ("routing.decisions[]"); false when none has. */
bool sr_hint_section(const struct sr_section *root, const char *key, char *path, size_t size);

/* "; it has `a`, `b`": the keys of a section of several that fit in `size` bytes all together, else "". */
const char *sr_hint_keys(const struct sr_section *section, char *text, size_t size);

/* The candidate nearest to `word` that is near enough to be meant; NULL when none is. */
struct sr_nearest {
    struct sr_bytes word;
    const char *best;
    size_t distance;
};
void sr_nearest_try(struct sr_nearest *nearest, const char *candidate);

/* ", did you mean `x`?" or nothing; valid until `text` is gone. */
const char *sr_nearest_hint(const struct sr_nearest *nearest, char *text, size_t size);

#endif
