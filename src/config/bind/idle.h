/*
 * Keys of vLLM Semantic Router that do not act: inert ones, which are taken with any value, and those that
 * are refused unless their value asks for nothing.
 */
#ifndef SR_CONFIG_BIND_IDLE_H
#define SR_CONFIG_BIND_IDLE_H

#include "config/bind/binder.h"

/* Is `word` one of `words` (ends with NULL; NULL: none)? */
bool sr_key_is_among(const char *const *words, struct sr_bytes word);

/* A value that asks for nothing: absent, empty, `false`, or a mapping with `enabled: false`; when `switched`
 * also a mapping without `enabled`. */
bool sr_key_is_off(const struct sr_yaml_node *value, bool switched);

/* True when the section takes the key and it changes nothing. A warning says so where a user may count on it.
 */
bool sr_key_is_inert(struct sr_binder *b, const struct sr_section *section, const struct sr_yaml_node *key,
                     const struct sr_yaml_node *value);

#endif
