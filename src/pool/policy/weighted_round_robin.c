/*
 * Smooth weighted round robin: each candidate gets the share of its weight, evenly spread.
 *
 * Each round every eligible candidate gains its weight, the highest is chosen and loses the sum of all
 * weights: the running weights stay bounded by the sum, and the choices of one worker are spread instead
 * of bunched.
 */
#include "pool/policy.h"

#include <math.h>

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    (void)state;
    (void)ask;
    double sum = 0, best_current = 0;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        double weight = sr_pool_member_weight(candidates[i].member);
        double *current = sr_pool_member_seat(candidates[i].member);
        weight = isfinite(weight) && weight > 0 ? weight : 0;
        *current += weight;
        sum += weight;
        if (best == n || *current > best_current) {
            best = i;
            best_current = *current;
        }
    }
    *(double *)sr_pool_member_seat(candidates[best].member) -= sum;
    why->reason = "turn";
    return best;
}

const struct sr_pool_policy_ops sr_pool_weighted_round_robin = {
    .name = "round_robin",
    .seat_size = sizeof(double),
    .choose = choose,
};
