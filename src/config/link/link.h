/*
 * What concerns several sections: names become indices, cards join models, and what refers to nothing is a
 * problem.
 */
#ifndef SR_CONFIG_LINK_LINK_H
#define SR_CONFIG_LINK_LINK_H

#include "config/bind/binder.h"

/* Links `config`, which was bound from `root` (a mapping) and whose models are indexed. `top`: the mapping
 * whose `routing` is the top-level block. */
void sr_config_link(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *top,
                    struct sr_config *config);

/* Links what `config` has from the key `routing` of `owner`, which is the file `root` or one of its recipes.
 * A recipe may name the rules of b->shared, too. */
void sr_link_profile(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *owner,
                     struct sr_config *config);

/* The model whose card lists an adapter, an index; -1 when none does. */
int sr_link_find_lora(const struct sr_config *config, struct sr_bytes name);

#endif
