/*
 * The results of rules whose signal fails, where the file gives none: what a careful operator would choose.
 * Values of the file that leave a guard open are warnings.
 */
#ifndef SR_CONFIG_LINK_ON_ERROR_H
#define SR_CONFIG_LINK_ON_ERROR_H

#include "config/bind/binder.h"

/* Sets `on_error` of every leaf of the decisions of a routing block, which has its guards linked. */
void sr_link_on_error(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config);

#endif
