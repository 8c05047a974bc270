/*
 * The fewest requests in flight for the weight; among equals the one that was chosen least recently.
 *
 * Counts this process's own requests, of all models that share the worker. A member of weight 0 is chosen
 * only where no other is eligible.
 */
#include "base/mem.h"
#include "pool/policy.h"

#include <math.h>
#include <stdint.h>

struct picking {
    uint64_t turn; /* of the latest choice */
};

struct seat {
    uint64_t turn; /* when it was chosen last */
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    (void)settings;
    *state = sr_mem_calloc(1, sizeof(struct picking));
    return *state ? SR_OK : SR_ENOMEM;
}

/* Requests for the weight, with the one that is to be placed. */
static double load_of(const struct sr_pool_member *member)
{
    double weight = sr_pool_member_weight(member);
    if (!isfinite(weight) || weight <= 0)
        return HUGE_VAL;
    return ((double)sr_pool_member_in_flight(member) + 1) / weight;
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    struct seat *chosen = NULL;
    size_t best = n;
    (void)ask;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        double load = load_of(candidates[i].member);
        struct seat *seat = sr_pool_member_seat(candidates[i].member);
        if (chosen && (load > why->load || (!(load < why->load) && seat->turn >= chosen->turn)))
            continue;
        best = i;
        chosen = seat;
        why->load = load;
    }
    if (chosen)
        chosen->turn = ++picking->turn;
    why->reason = "fewest requests";
    return best;
}

const struct sr_pool_policy_ops sr_pool_least_request = {
    .name = "least_request",
    .seat_size = sizeof(struct seat),
    .open = open_state,
    .close = sr_mem_free,
    .choose = choose,
};
