/*
 * What a decision's algorithm is told of its candidates: cards, prices, times and load; and its answer.
 *
 * Chooses nothing: the ranking goes into the decision, and decide/select.c takes the best that may be used.
 */
#ifndef SR_ROUTER_PICK_RANK_H
#define SR_ROUTER_PICK_RANK_H

#include "router/router.h"

struct sr_rank_inputs {
    const struct sr_router *router;
    const struct sr_decision *decision;
    const struct sr_signal_result *meaning; /* of the type embedding; NULL: none */
    struct sr_bytes text;                   /* what the user asks now */
    uint64_t draw;                          /* random */
    bool steady;                            /* nothing is drawn by chance */
};

/* True when the decision's algorithm compares meanings. */
bool sr_rank_needs_vector(const struct sr_router *router, const struct sr_decision *decision);

/* Ranks into `out`, in the arena; `n` stays 0 where there is nothing to choose. SR_ENOMEM. */
int sr_rank_candidates(const struct sr_rank_inputs *in, struct sr_arena *arena,
                       struct sr_ranking *out) SR_WARN_UNUSED;

#endif
