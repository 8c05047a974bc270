/* What a recipe takes over from the top-level routing block. */
#ifndef SR_CONFIG_LINK_INHERIT_H
#define SR_CONFIG_LINK_INHERIT_H

#include "config/bind/binder.h"

/* Exchanges the routing block of `recipe` for all of `shared` but that: afterwards `recipe` is `shared` with
 * the recipe's own routing block. */
void sr_inherit_file(struct sr_config *recipe, const struct sr_config *shared);

/* Joins to the recipe's signals and projections those lists of `shared` from which it names a rule that it
 * does not have itself; its own rules come first and count where both have a name. Adds the decisions of
 * `shared` that protect, `everywhere`. Both are linked. Names that would change what protects are problems at
 * `node`. */
void sr_inherit_rules(struct sr_binder *b, const struct sr_yaml_node *node, const char *name,
                      struct sr_config *recipe, const struct sr_config *shared);

#endif
