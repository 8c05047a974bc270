/*
 * What a lenient load left out of decisions, and what they do without it.
 */
#ifndef SR_CONFIG_LINK_DROPPED_H
#define SR_CONFIG_LINK_DROPPED_H

#include "config/bind/binder.h"

/* Sets what each decision does whose result depends on a dropped condition: one that protects (a guard that
 * acts, a fixed answer, one that asks for attacks or private data) matches, any other does not. A decision
 * with an unknown key has an unknown condition. One that lost what restricts it answers its requests with a
 * block. Each is a warning that says what is lost. An error when no decision is left that can match. Of a
 * routing block in the mapping `owner`: the file, or a recipe. */
void sr_link_dropped(struct sr_binder *b, const struct sr_yaml_node *owner,
                     const struct sr_yaml_node *routing, struct sr_config *config);

#endif
