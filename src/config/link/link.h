/*
 * What concerns several sections: names become indices, cards join models, and what refers to nothing is a
 * problem.
 */
#ifndef SR_CONFIG_LINK_LINK_H
#define SR_CONFIG_LINK_LINK_H

#include "config/bind/bind.h"

/* Links `config`, which was bound from `root` (a mapping) and whose models are indexed. */
void sr_config_link(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* Checks the domain rules against the labels of the built-in classifier, and writes labels as it does. */
void sr_config_link_domains(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* The label that a name stands for: case does not matter, and `_` or `-` are as good as a space. NULL for
 * none. */
const char *sr_config_domain_label(struct sr_bytes name);

/* Checks that the leaves of every decision's rules name rules that exist. */
void sr_config_link_rules(struct sr_binder *b, const struct sr_yaml_node *decisions,
                          struct sr_config *config);

/* Thresholds that guard rules inherit, types of private data, models that have a policy, and guards that
 * could never do what they say. */
void sr_config_link_guards(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* An error for each file that is named and cannot be read. */
void sr_config_link_files(struct sr_binder *b, const struct sr_yaml_node *root);

/* An error for each entry of `list` whose `key` was given by an earlier entry. `what`: "model". */
void sr_config_link_unique(struct sr_binder *b, const struct sr_yaml_node *list, const char *key,
                           const char *what);

/* The nearest model name for a hint. */
const char *sr_config_link_model_hint(const struct sr_config *config, struct sr_bytes name, char *text,
                                      size_t size);

#endif
