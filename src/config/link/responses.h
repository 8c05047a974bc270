/* Links where conversations of Responses are kept: ports, files, and models that keep their own. */
#ifndef SR_CONFIG_LINK_RESPONSES_H
#define SR_CONFIG_LINK_RESPONSES_H

#include "config/link/link.h"

void sr_link_responses(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
