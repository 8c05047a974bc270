/* Which signal evaluates a condition, where rules of one type are evaluated by several signals. */
#ifndef SR_CONFIG_LINK_METHODS_H
#define SR_CONFIG_LINK_METHODS_H

#include "config/config.h"

/* Conditions, composers and inputs of scores that name a contrastive rule get the type SR_TYPE_CONTRASTIVE,
 * also in recipes. The last step of a load: what looks for rules by the words of the file comes before. */
void sr_link_methods(struct sr_config *config);

#endif
