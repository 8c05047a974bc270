/* Guards and what they refer to. */
#ifndef SR_CONFIG_LINK_GUARDS_H
#define SR_CONFIG_LINK_GUARDS_H

#include "config/bind/binder.h"

/* Models that have a policy, and keys that leave guards open. */
void sr_link_guards(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* Of a routing block: thresholds that guard rules inherit, types of private data, and guards that can never
 * apply. */
void sr_link_guard_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

#endif
