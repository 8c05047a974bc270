/* Recipes: routing blocks beside the top-level one, and the names that ask for them. */
#ifndef SR_CONFIG_LINK_RECIPES_H
#define SR_CONFIG_LINK_RECIPES_H

#include "config/bind/binder.h"

/* The mapping whose `routing` is the top-level block: the file `root`, or its recipe `default` where the
 * file's own block has nothing but cards. That recipe becomes the block of `config`, and is no recipe any
 * more. Before all else is linked. */
const struct sr_yaml_node *sr_link_top_block(struct sr_binder *b, const struct sr_yaml_node *root,
                                             struct sr_config *config);

/* Makes each recipe a configuration of its own: the file's, with the recipe's routing block in place of the
 * top-level one, the rules of that block which it names, and the decisions of that block which protect.
 * `top` is of sr_link_top_block. Resolves entrypoints. After all else is linked, as recipes copy it. */
void sr_link_recipes(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_yaml_node *top,
                     struct sr_config *config);

/* The index of a recipe; -1 with `default`, where no recipe has that name, and with a problem at `at`. */
int sr_link_find_recipe(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                        const char *name);

#endif
