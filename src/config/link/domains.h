/* The labels of the built-in domain classifier. */
#ifndef SR_CONFIG_LINK_DOMAINS_H
#define SR_CONFIG_LINK_DOMAINS_H

#include "config/bind/binder.h"
#include "config/bind/hint.h"

/* Checks the domain rules of a routing block of the file `root` against the labels of the built-in
 * classifier, and writes labels as it does. */
void sr_link_domains(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *routing,
                     struct sr_config *config);

/* Without any domain declared: adds those that rules of decisions name and that are labels of the built-in
 * classifier. */
void sr_link_implied_domains(struct sr_binder *b, struct sr_config *config);

/* Tries every label as what was meant. */
void sr_link_try_labels(struct sr_nearest *nearest);

/* The label of a name: case does not matter, and `_` or `-` equal a space. NULL for
 * none. */
const char *sr_config_domain_label(struct sr_bytes name);

#endif
