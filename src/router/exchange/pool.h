/*
 * Moves a request that is forwarded between the pools of its model: to the next one whose workers can take
 * it, to the one where it waits.
 *
 * For the doors, above place.c. A request for a model with one pool stays where it is.
 */
#ifndef SR_ROUTER_EXCHANGE_POOL_H
#define SR_ROUTER_EXCHANGE_POOL_H

#include "router/exchange/exchange.h"

/* Chooses a worker of another pool, in their order; the verdict's targets and ticket are then those of that
 * pool, and the request has ended where it was. The candidate, or -1: nothing has changed. `well`: only when
 * all workers that the present pool has left are in cooldown or down, and only pools where some are not. */
int sr_exchange_choose_pool(sr_exchange *x, bool well);

/* The pool behind the present one takes the request over, whether it has a worker or not. False: there is
 * none. No request may be in progress at a target. */
bool sr_exchange_next_pool(sr_exchange *x);

/* Are the workers of a pool that takes the request full? */
bool sr_exchange_is_full(const sr_exchange *x);

/* The place in the order of the pool where the request is, and of the first one whose workers are full and
 * that lets requests wait (the present one, if there is none). */
size_t sr_exchange_pool_at(const sr_exchange *x);
size_t sr_exchange_pool_to_wait(const sr_exchange *x);
/* The request ends where it was and goes to this pool. False: out of memory; it is where it was. */
bool sr_exchange_move_to_pool(sr_exchange *x, size_t at);

/* The request waits for a worker with room from now on, and no more. */
void sr_exchange_wait_begins(sr_exchange *x);
void sr_exchange_wait_ends(sr_exchange *x);

/* For another round: all workers of all pools count as not tried again. */
void sr_exchange_pools_again(sr_exchange *x);

/* Gives back what the request has at other pools than the present one. */
void sr_exchange_leave_pools(sr_exchange *x);

/* The same of pools that an exchange had. */
void sr_exchange_dispose_pools(struct sr_exchange_pools *pools);

#endif
