/* Names and their positions, for linking. */
#ifndef SR_CONFIG_LINK_NAMES_H
#define SR_CONFIG_LINK_NAMES_H

#include "config/bind/binder.h"

#define SR_LINK_HINT_SIZE 160 /* bytes of a hint, NUL included */

/* Item `i` of a list; the nodes of a list are parallel to the array that was bound from it. NULL when there
 * is none. */
const struct sr_yaml_node *sr_link_item(const struct sr_yaml_node *list, size_t i);

/* A text value of a mapping that can be looked up; NULL when absent or wrong in itself. */
const struct sr_yaml_node *sr_link_name(const struct sr_yaml_node *map, const char *key);

/* An error for each entry of `list` whose `key` was given by an earlier entry. `what`: "model". */
void sr_link_unique(struct sr_binder *b, const struct sr_yaml_node *list, const char *key, const char *what);

/* The nearest model name for a hint. */
const char *sr_link_model_hint(const struct sr_config *config, struct sr_bytes name, char *text, size_t size);

#endif
