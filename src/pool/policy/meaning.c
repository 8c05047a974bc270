/*
 * The worker that was lately asked what is most similar in meaning, from a threshold on, unless it has much
 * more to do than the others; else the one with the least load.
 *
 * A worker that answered similar questions has the same documents and instructions in its cache more likely
 * than another one, also where the prompts are not the same in their bytes.
 */
#include "base/mem.h"
#include "pool/rank.h"
#include "pool/warm/topics.h"

struct picking {
    const struct sr_pool_settings *settings;
    struct sr_topics *topics;
    uint64_t turn;
};

struct seat {
    struct sr_pool_turn turn;
    struct sr_topics_seat topics;
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    struct picking *picking = sr_mem_calloc(1, sizeof *picking);
    int rc = picking ? sr_topics_new(&picking->topics) : SR_ENOMEM;
    if (rc) {
        sr_mem_free(picking);
        return rc;
    }
    picking->settings = settings;
    *state = picking;
    return SR_OK;
}

static void close_state(void *state)
{
    struct picking *picking = state;
    sr_topics_free(picking->topics);
    sr_mem_free(picking);
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    const struct sr_pool_settings *settings = picking->settings;
    double limit = sr_pool_rank_limit(candidates, n, settings->guard);
    size_t best = n;
    bool guarded = false;
    sr_topics_compare(picking->topics, ask->vector, ask->dimensions);
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        const struct seat *seat = sr_pool_member_seat(candidates[i].member);
        float similarity = sr_topics_similarity(picking->topics, &seat->topics, settings->recent);
        if ((double)similarity < settings->threshold || similarity < why->similarity)
            continue;
        double load = sr_pool_member_load(candidates[i].member);
        if (load > limit) {
            guarded = true;
        } else if (best == n || similarity > why->similarity || load < why->load) {
            best = i;
            why->similarity = similarity;
            why->load = load;
        }
    }
    why->reason = best < n ? "meaning" : guarded ? "load guard" : "least load";
    if (best == n)
        best = sr_pool_rank_least(candidates, n);
    why->load = sr_pool_member_load(candidates[best].member);
    sr_pool_rank_take(&candidates[best], &picking->turn);
    return best;
}

static void placed(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask,
                   struct sr_pool_placement *placement)
{
    struct picking *picking = state;
    (void)slot;
    (void)placement;
    sr_topics_add(picking->topics, &((struct seat *)seat)->topics, ask->vector, ask->dimensions);
}

static void stats(const void *state, const void *seat, uint32_t slot, struct sr_pool_seat_stats *out)
{
    (void)state;
    (void)seat;
    (void)slot;
    out->bytes = sizeof(struct seat);
}

const struct sr_pool_policy_ops sr_pool_meaning = {
    .name = "meaning",
    .needs = SR_POOL_NEEDS_VECTOR,
    .seat_size = sizeof(struct seat),
    .open = open_state,
    .close = close_state,
    .choose = choose,
    .placed = placed,
    .stats = stats,
};
