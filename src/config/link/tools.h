/* Links the plugins `tool_selection`: what they leave out is `global.integrations.tools`'. */
#ifndef SR_CONFIG_LINK_TOOLS_H
#define SR_CONFIG_LINK_TOOLS_H

#include "config/bind/binder.h"

/* `decisions`: the node of the profile's decisions. */
void sr_link_tools(struct sr_binder *b, const struct sr_yaml_node *decisions, struct sr_config *config);

#endif
