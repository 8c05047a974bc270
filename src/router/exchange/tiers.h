/*
 * The size of an exchange's request and the order of its model's pools: measured before the verdict, learned
 * from after the answer.
 *
 * Below place.c, which opens tickets; pool.c moves between pools.
 */
#ifndef SR_ROUTER_EXCHANGE_TIERS_H
#define SR_ROUTER_EXCHANGE_TIERS_H

#include "router/exchange/exchange.h"

/* What the request is for, where that decides about its model: from now on its pools are ordered by it too. A
 * prompt is long by the estimate for models of which nothing is known. */
enum sr_workload sr_exchange_workload(sr_exchange *x);

/* Orders the pools of the record's model for the request, whose body is complete; begins at the first. */
void sr_exchange_rank_pools(sr_exchange *x);

/* The pool of the record's model where the request is. */
const struct sr_router_pool *sr_exchange_pool(const sr_exchange *x);

/* Writes the pool into the record. */
void sr_exchange_note_pool(sr_exchange *x);

/* The answer is over: its counts are learned from. */
void sr_exchange_learn_size(sr_exchange *x);

#endif
