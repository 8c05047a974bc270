/* Checks what a pool says of its model's other pools: which workers are whose, which requests go where. */
#ifndef SR_CONFIG_LINK_TIERS_H
#define SR_CONFIG_LINK_TIERS_H

#include "config/bind/binder.h"

/* Pool `at`, whose model is known, against those before it; the last one of a model against the model.
 * `list` is the node of the pools. */
void sr_link_tier(struct sr_binder *b, const struct sr_yaml_node *list, const struct sr_config *config,
                  size_t at);

#endif
