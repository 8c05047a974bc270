/* Where spans go and which are kept: the file's keys, then the OTEL_* variables of the environment. */
#ifndef SR_CONFIG_LINK_TRACING_H
#define SR_CONFIG_LINK_TRACING_H

#include "config/bind/binder.h"

/* Fills what the keys leave open from the environment, and splits the endpoint. An endpoint or a variable
 * that cannot be read is a problem. */
void sr_link_tracing(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

#endif
