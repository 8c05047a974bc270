/* Names in `routing.projections`. */
#ifndef SR_CONFIG_LINK_PROJECTIONS_H
#define SR_CONFIG_LINK_PROJECTIONS_H

#include "config/bind/binder.h"

/* Checks that members, inputs and sources exist, and that outputs have names of their own. */
void sr_link_projections(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

#endif
