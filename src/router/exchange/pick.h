/*
 * What an exchange brings for the policy that picks its worker: estimates and hashes at once, its vector and
 * its tokens when they were waited for or are known anyway.
 *
 * Called by place.c. Chooses nothing.
 */
#ifndef SR_ROUTER_EXCHANGE_PICK_H
#define SR_ROUTER_EXCHANGE_PICK_H

#include "router/exchange/exchange.h"

/* The session that a header of the request names; empty: none does. */
struct sr_bytes sr_exchange_session(const struct sr_exchange *x, const struct sr_config_pool *entry);

/* What the policy of the pool needs, with what is there by now; NULL: it needs nothing. In the exchange's
 * arena. SR_ENOMEM. */
int sr_exchange_ask(struct sr_exchange *x, const struct sr_router_pool *pool,
                    const struct sr_pool_ask **out) SR_WARN_UNUSED;

/* Begins what the policy of the request's pool needs and takes time; `slices` is the body as it will be sent.
 * True: it is waited for. */
bool sr_exchange_awaits_pick(struct sr_exchange *x, const struct sr_bytes *slices, size_t n);

/* Makes the target of a discovered worker: like `like`, at the address of the worker's identity. SR_ENOMEM.
 */
int sr_exchange_worker_target(struct sr_target *target, const struct sr_target *like, struct sr_bytes worker,
                              struct sr_arena *arena) SR_WARN_UNUSED;

#endif
