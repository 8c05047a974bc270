/*
 * The endpoints that requests are forwarded to: `global.semroute.endpoints`, or the endpoints of inference.
 *
 * Everything else that a server of models has (adapters, caches, profiles, sleep) manages it and is not
 * for clients.
 */
#ifndef SR_CONFIG_ENDPOINTS_H
#define SR_CONFIG_ENDPOINTS_H

#include "config/config.h"

/* The item of `global.semroute.endpoints` that stands for all endpoints of inference. */
#define SR_ENDPOINTS_DEFAULT "default"

/* Is this path, in its normal form and without the query, forwarded? */
bool sr_config_forwards(const struct sr_config *config, struct sr_bytes path);

/* The endpoint of inference, below /v1 or chat completions without it, that a path ends with; NULL: none. */
const char *sr_endpoint_at_end(struct sr_bytes path);

/* Can a path in its normal form be equal to this item? Then it may be in the list. */
bool sr_endpoint_is_valid(struct sr_bytes item);

#endif
