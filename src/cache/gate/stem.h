/*
 * Words without their endings. Private to cache/gate.
 */
#ifndef SR_CACHE_GATE_STEM_H
#define SR_CACHE_GATE_STEM_H

#include "base/unicode.h"

/* `s` is not empty; `list` ends with NULL. */
bool sr_gate_is_one_of(struct sr_bytes s, const char *const *list);
bool sr_gate_ends(struct sr_bytes s, const char *ending);

/* Of a folded word p[0..n) of a class; may change the bytes. Points into p. */
struct sr_bytes sr_gate_stem(char *p, size_t n, enum sr_unicode_class class);

#endif
