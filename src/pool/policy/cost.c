/*
 * The worker with the lowest cost, by the function of NVIDIA Dynamo's KV router (dynamo:
 * docs/components/router/router-concepts.md, 1.x):
 *
 *   prefill = blocks that wait to be computed there + blocks of the prompt - overlap
 *   cost    = overlap_weight * prefill + blocks that requests hold there
 *
 * With a temperature the choice is random, with the softmax of the negative costs, scaled to 0..1. Overlaps
 * are those of the policy kv. Costs are divided by the worker's weight.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "pool/warm/warm.h"

#include <math.h>

struct picking {
    struct sr_pool_warm warm;
    uint64_t random; /* state of xorshift64 */
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    struct picking *picking = sr_mem_calloc(1, sizeof *picking);
    int rc = picking ? sr_pool_warm_init(&picking->warm, settings, true) : SR_ENOMEM;
    if (rc) {
        sr_mem_free(picking);
        return rc;
    }
    if (sr_random(&picking->random, sizeof picking->random) != SR_OK || !picking->random)
        picking->random = 1;
    *state = picking;
    return SR_OK;
}

static void close_state(void *state)
{
    struct picking *picking = state;
    sr_pool_warm_dispose(&picking->warm);
    sr_mem_free(picking);
}

static int join(void *state, void *seat, uint32_t slot)
{
    return sr_pool_warm_join(&((struct picking *)state)->warm, seat, slot);
}

static void leave(void *state, void *seat, uint32_t slot)
{
    sr_pool_warm_leave(&((struct picking *)state)->warm, seat, slot);
}

static double cost_of(const struct picking *picking, const struct sr_pool_overlaps *overlaps,
                      const struct sr_pool_member *member)
{
    const struct sr_pool_warm_seat *seat = sr_pool_member_seat(member);
    double weight = sr_pool_member_weight(member);
    if (!isfinite(weight) || weight <= 0)
        return HUGE_VAL;
    double prefill =
        (double)seat->pending + (double)(overlaps->blocks - sr_pool_warm_overlap(overlaps, member));
    return (picking->warm.settings->overlap_weight * prefill + (double)seat->active) / weight;
}

/* 0 up to 1 */
static double draw(struct picking *picking)
{
    picking->random ^= picking->random << 13;
    picking->random ^= picking->random >> 7;
    picking->random ^= picking->random << 17;
    return (double)(picking->random >> 11) / 0x1p53;
}

/* A random candidate; costs are finite and lie between `least` and `most`. */
static size_t sample(struct picking *picking, const struct sr_pool_overlaps *overlaps,
                     const struct sr_pool_candidate *candidates, size_t n, double least, double most)
{
    double temperature = picking->warm.settings->temperature, sum = 0,
           range = most > least ? most - least : 1;
    size_t chosen = n;
    for (size_t i = 0; i < n; i++) {
        double cost = candidates[i].eligible ? cost_of(picking, overlaps, candidates[i].member) : HUGE_VAL;
        if (isinf(cost))
            continue;
        double share = exp(-(cost - least) / range / temperature);
        sum += share;
        if (draw(picking) * sum < share) /* reservoir sampling: each stays with its share of the sum */
            chosen = i;
    }
    return chosen;
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    struct sr_pool_overlaps overlaps = sr_pool_warm_match(&picking->warm, ask, candidates, n);
    double least = HUGE_VAL, most = 0;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        double cost = cost_of(picking, &overlaps, candidates[i].member);
        if (!isinf(cost) && cost > most)
            most = cost;
        if (best < n &&
            (cost > least || (!(cost < least) && !sr_pool_rank_before(&candidates[i], &candidates[best]))))
            continue;
        best = i;
        least = cost;
    }
    why->reason = "cost";
    if (picking->warm.settings->temperature > 0 && !isinf(least)) {
        best = sample(picking, &overlaps, candidates, n, least, most);
        why->reason = "cost, drawn";
    }
    why->load = cost_of(picking, &overlaps, candidates[best].member);
    why->overlap = sr_pool_warm_overlap(&overlaps, candidates[best].member);
    why->blocks = (uint32_t)ask->n_blocks;
    sr_pool_rank_take(&candidates[best], &picking->warm.turn);
    return best;
}

static void placed(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask,
                   struct sr_pool_placement *placement)
{
    sr_pool_warm_placed(&((struct picking *)state)->warm, seat, slot, ask, placement);
}

static size_t note(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask, size_t left)
{
    return sr_pool_warm_note(&((struct picking *)state)->warm, seat, slot, ask, left);
}

static void answered(void *state, void *seat, struct sr_pool_placement *placement)
{
    (void)state;
    sr_pool_warm_answered(seat, placement);
}

static void ended(void *state, void *seat, struct sr_pool_placement *placement)
{
    (void)state;
    sr_pool_warm_ended(seat, placement);
}

static void event(void *state, void *seat, uint32_t slot, const struct sr_pool_kv_event *e)
{
    sr_pool_warm_event(&((struct picking *)state)->warm, seat, slot, e);
}

static void stats(const void *state, const void *seat, uint32_t slot, struct sr_pool_seat_stats *out)
{
    sr_pool_warm_stats(&((const struct picking *)state)->warm, seat, slot, out);
}

const struct sr_pool_policy_ops sr_pool_cost = {
    .name = "cost",
    .needs = SR_POOL_NEEDS_BLOCKS | SR_POOL_USES_KV,
    .seat_size = sizeof(struct sr_pool_warm_seat),
    .open = open_state,
    .close = close_state,
    .join = join,
    .leave = leave,
    .choose = choose,
    .placed = placed,
    .note = note,
    .answered = answered,
    .ended = ended,
    .event = event,
    .stats = stats,
};
