/* Names of signal rules in decisions. */
#ifndef SR_CONFIG_LINK_RULES_H
#define SR_CONFIG_LINK_RULES_H

#include "config/bind/binder.h"

/* Checks that the leaves of every decision's rules name rules that exist. */
void sr_link_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

/* The same for one tree, bound from `node`. */
void sr_link_rule(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                  const struct sr_yaml_node *routing, struct sr_config_rule *rule);

/* Checks that a type of signal has a rule of this name; a type that is not known passes. True when it has one
 * of which a lenient load dropped nothing. */
bool sr_link_rule_name(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                       const struct sr_yaml_node *routing, const char *type, const char *rule);

/* The list of signal rules that a leaf's type names; NULL for a type that has none. */
const struct sr_field *sr_link_rule_list(const char *type);

/* The name of rule `i` of such a list; NULL past the last. */
const char *sr_link_rule_at(const struct sr_config *config, const struct sr_field *list, size_t i);

/* The name of a rule in the name that a leaf gives: NAME of complexity's NAME:hard. Other types have none to
 * cut.
 * `*wrong` is set where the name has not the form of its type. */
struct sr_bytes sr_link_base_name(const char *type, const char *name, const char **wrong);

#endif
