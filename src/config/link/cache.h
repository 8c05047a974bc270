/* What the keys of the response cache say together: stores, files, and scopes that need an identity. */
#ifndef SR_CONFIG_LINK_CACHE_H
#define SR_CONFIG_LINK_CACHE_H

#include "config/bind/binder.h"
#include "config/config.h"

/* Fills in what depends on another key, and reports what cannot work or does nothing. */
void sr_link_cache(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config);

/* Reports scopes that need an identity, of the plugins of these decisions. */
void sr_link_cache_uses(struct sr_binder *b, const struct sr_yaml_node *decisions,
                        const struct sr_config *config);

#endif
