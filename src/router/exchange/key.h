/* With whose key an exchange asks its upstream: the operator's, or one that the client sent for it. */
#ifndef SR_ROUTER_EXCHANGE_KEY_H
#define SR_ROUTER_EXCHANGE_KEY_H

#include "router/exchange/exchange.h"

enum sr_exchange_key {
    SR_KEY_AS_IS,    /* the target's headers, or the client's own credentials */
    SR_KEY_INJECTED, /* the client's, from the header that authz names */
    SR_KEY_MISSING,  /* no provider of authz has one */
};

/* Whose key a request for this model has; `value` is filled for SR_KEY_INJECTED. */
enum sr_exchange_key sr_exchange_key_for(const sr_exchange *x, int model, struct sr_bytes *value);

/* Replaces *targets [n] of a pool of the record's model by copies with the injected key in place of theirs.
 * SR_ENOMEM. */
int sr_exchange_key_inject(sr_exchange *x, const struct sr_router_pool *pool, struct sr_bytes value,
                           const struct sr_target **targets, size_t n) SR_WARN_UNUSED;

#endif
