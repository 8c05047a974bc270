/* Who may call what: the list of endpoints, and clients that are not known. */
#ifndef SR_CONFIG_LINK_ACCESS_H
#define SR_CONFIG_LINK_ACCESS_H

#include "config/bind/binder.h"
#include "config/config.h"

/* Checks `global.semroute.endpoints`; warns when backends have keys that no client may use. */
void sr_link_access(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
