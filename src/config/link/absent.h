/*
 * Models that the configuration names and that are not on this machine.
 */
#ifndef SR_CONFIG_LINK_ABSENT_H
#define SR_CONFIG_LINK_ABSENT_H

#include "config/bind/binder.h"

/* Puts the built-in model in the place of each that is absent, with a warning at its key. One that is there
 * and cannot be read is an error. Before the rest is linked: the labels of rules are those of the model. */
void sr_link_absent(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* True when a mapping names a model and its built-in one took its place: `value` is what the load left. */
bool sr_link_is_absent(const struct sr_yaml_node *map, const char *key, const char *value);

#endif
