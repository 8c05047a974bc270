/* Links what is kept of requests: how many records, and where. */
#ifndef SR_CONFIG_LINK_REPLAY_H
#define SR_CONFIG_LINK_REPLAY_H

#include "config/link/link.h"

void sr_link_replay(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
