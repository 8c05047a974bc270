/*
 * The fewest requests in flight for the weight; among equals the one that was chosen least recently.
 *
 * Counts this process's own requests, of all models that share the worker. A member of weight 0 is chosen
 * only where no other is eligible.
 */
#include "pool/policy.h"

#include <math.h>
#include <stdint.h>

/* A policy has no state of the group, so the turn is the highest of its members'. */
struct state {
    uint64_t turn; /* when it was chosen last */
};

/* Requests for the weight, with the one that is to be placed. */
static double load_of(struct sr_pool_member *member)
{
    double weight = sr_pool_member_weight(member);
    if (!isfinite(weight) || weight <= 0)
        return HUGE_VAL;
    return ((double)sr_pool_member_in_flight(member) + 1) / weight;
}

static size_t choose(const struct sr_pool_candidate *candidates, size_t n)
{
    size_t best = n;
    double least = 0;
    uint64_t turn = 0, oldest = 0;
    for (size_t i = 0; i < n; i++) {
        const struct state *state = sr_pool_member_state(candidates[i].member);
        turn = state->turn > turn ? state->turn : turn;
        if (!candidates[i].eligible)
            continue;
        double load = load_of(candidates[i].member);
        if (best < n && (load > least || (load == least && state->turn >= oldest)))
            continue;
        best = i;
        least = load;
        oldest = state->turn;
    }
    ((struct state *)sr_pool_member_state(candidates[best].member))->turn = turn + 1;
    return best;
}

const struct sr_pool_policy_ops sr_pool_least_request = {
    .name = "least_request",
    .member_size = sizeof(struct state),
    .choose = choose,
};
