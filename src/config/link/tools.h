/* Links the plugins `tool_selection`: what they leave out is `global.integrations.tools`'. */
#ifndef SR_CONFIG_LINK_TOOLS_H
#define SR_CONFIG_LINK_TOOLS_H

#include "config/config.h"

void sr_link_tools(struct sr_config *config);

#endif
