/* What rules of signals refer to: composers, knowledge bases, trusted headers. */
#ifndef SR_CONFIG_LINK_SIGNALS_H
#define SR_CONFIG_LINK_SIGNALS_H

#include "config/bind/binder.h"

/* The knowledge bases of the file: one name each, and folders that are absolute. */
void sr_link_kbs(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* Of a routing block: composers, and the knowledge bases that kb rules name. */
void sr_link_signals(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

/* A knowledge base by name, NULL when there is none. `mmlu_kb` is there without an entry. */
const struct sr_config_kb *sr_config_find_kb(const struct sr_config *config, struct sr_bytes name);

/* False when the file of the knowledge base that `at` names is not on this machine: an error; in a draft and
 * in a lenient load a warning. */
bool sr_link_kb_is_there(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config_kb *kb);

#endif
