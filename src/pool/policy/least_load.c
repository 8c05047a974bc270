/*
 * The worker with the least load for its weight: the requests of this process there, and those that the
 * worker reports beyond them, running or waiting. A worker whose KV cache is nearly full counts as more
 * loaded, as it would have to stop requests to take another one.
 */
#include "base/mem.h"
#include "pool/rank.h"

struct picking {
    uint64_t turn;
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    (void)settings;
    *state = sr_mem_calloc(1, sizeof(struct picking));
    return *state ? SR_OK : SR_ENOMEM;
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    size_t at = sr_pool_rank_least(candidates, n);
    (void)ask;
    sr_pool_rank_take(&candidates[at], &picking->turn);
    why->reason = "least load";
    why->load = sr_pool_member_load(candidates[at].member);
    return at;
}

const struct sr_pool_policy_ops sr_pool_least_load = {
    .name = "least_load",
    .needs = SR_POOL_NEEDS_LOAD,
    .seat_size = sizeof(struct sr_pool_turn),
    .open = open_state,
    .close = sr_mem_free,
    .choose = choose,
};
