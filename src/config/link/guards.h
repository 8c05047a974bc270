/* Guards and what they refer to. */
#ifndef SR_CONFIG_LINK_GUARDS_H
#define SR_CONFIG_LINK_GUARDS_H

#include "config/bind/binder.h"

/* Thresholds that guard rules inherit, types of private data, models that have a policy, and guards that can
 * never apply. */
void sr_link_guards(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
