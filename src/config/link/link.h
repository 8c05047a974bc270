/*
 * What concerns several sections: names become indices, cards join models, and what refers to nothing is a
 * problem.
 */
#ifndef SR_CONFIG_LINK_LINK_H
#define SR_CONFIG_LINK_LINK_H

#include "config/bind/binder.h"

/* Links `config`, which was bound from `root` (a mapping) and whose models are indexed. */
void sr_config_link(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
