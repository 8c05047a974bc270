/* Limits: one list of all rules, with unique names, and what they name. */
#ifndef SR_CONFIG_LINK_LIMITS_H
#define SR_CONFIG_LINK_LIMITS_H

#include "config/link/names.h"

/* After sr_link_identity: keys are named. */
void sr_link_limits(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
