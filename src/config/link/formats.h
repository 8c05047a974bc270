/* Links the APIs that backends speak with the doors that choose among them. */
#ifndef SR_CONFIG_LINK_FORMATS_H
#define SR_CONFIG_LINK_FORMATS_H

#include "config/link/link.h"

/* Warns where backends of one model speak different APIs and Envoy may not tell which one gets a request. */
void sr_link_formats(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_config *config);

#endif
