/* Canaries: the new side of a share of a recipe's requests. */
#ifndef SR_CONFIG_LINK_CANARIES_H
#define SR_CONFIG_LINK_CANARIES_H

#include "config/bind/binder.h"

/* Resolves the names of canaries and makes the configuration of each new side: that of its recipe, with the
 * canary's models and classifiers in place of others. After the recipes are linked. */
void sr_link_canaries(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
