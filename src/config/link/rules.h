/* Names of signal rules in decisions. */
#ifndef SR_CONFIG_LINK_RULES_H
#define SR_CONFIG_LINK_RULES_H

#include "config/bind/binder.h"

/* Checks that the leaves of every decision's rules name rules that exist. */
void sr_link_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

#endif
