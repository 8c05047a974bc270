/*
 * What several policies do alike: the least loaded candidate, in turn among equals, and the guard that keeps
 * a worker from having much more than the others. Seats of these policies begin with struct sr_pool_turn.
 */
#ifndef SR_POOL_RANK_H
#define SR_POOL_RANK_H

#include "pool/policy.h"

struct sr_pool_turn {
    uint64_t last; /* number of the choice that took it last */
};

/* The index of the least loaded eligible candidate; among equals the one that was chosen least recently. */
size_t sr_pool_rank_least(const struct sr_pool_candidate *candidates, size_t n);

/* The load over which a candidate is left for others: `guard` times the mean of the eligible ones, and some
 * requests more, so that few requests do not count. */
double sr_pool_rank_limit(const struct sr_pool_candidate *candidates, size_t n, double guard);

/* Notes that this candidate was chosen; `turn` counts the choices of the picker. */
void sr_pool_rank_take(const struct sr_pool_candidate *candidate, uint64_t *turn);

/* Was `a` chosen before `b`? */
bool sr_pool_rank_before(const struct sr_pool_candidate *a, const struct sr_pool_candidate *b);

#endif
