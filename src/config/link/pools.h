/* Links `global.semroute.pools`: each to its model. */
#ifndef SR_CONFIG_LINK_POOLS_H
#define SR_CONFIG_LINK_POOLS_H

#include "config/bind/binder.h"

void sr_link_pools(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
