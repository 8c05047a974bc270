/*
 * The policies prefix and kv: the worker that has most of the prompt's blocks, unless it has much more to do
 * than the others.
 *
 * prefix estimates a worker's cache by the prompts that were sent there. kv knows it from the worker's
 * events, and estimates as prefix does for workers without events and requests without tokens.
 */
#include "base/mem.h"
#include "pool/warm/warm.h"

static int open_with(void **state, const struct sr_pool_settings *settings, bool events)
{
    struct sr_pool_warm *warm = sr_mem_calloc(1, sizeof *warm);
    int rc = warm ? sr_pool_warm_init(warm, settings, events) : SR_ENOMEM;
    if (rc)
        sr_mem_free(warm);
    *state = rc ? NULL : warm;
    return rc;
}

static int open_prefix(void **state, const struct sr_pool_settings *settings)
{
    return open_with(state, settings, false);
}

static int open_kv(void **state, const struct sr_pool_settings *settings)
{
    return open_with(state, settings, true);
}

static void close_state(void *state)
{
    sr_pool_warm_dispose(state);
    sr_mem_free(state);
}

static int join(void *state, void *seat, uint32_t slot)
{
    return sr_pool_warm_join(state, seat, slot);
}

static void leave(void *state, void *seat, uint32_t slot)
{
    sr_pool_warm_leave(state, seat, slot);
}

/* The most blocks; of equals the least load; of equals in turn. */
static bool is_better(uint32_t overlap, double load, const struct sr_pool_candidate *candidate,
                      const struct sr_pool_why *best, const struct sr_pool_candidate *than)
{
    if (overlap != best->overlap)
        return overlap > best->overlap;
    if (load < best->load || load > best->load)
        return load < best->load;
    return sr_pool_rank_before(candidate, than);
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct sr_pool_warm *warm = state;
    struct sr_pool_overlaps overlaps = sr_pool_warm_match(warm, ask, candidates, n);
    double limit = sr_pool_rank_limit(candidates, n, warm->settings->guard);
    bool guarded = false;
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        uint32_t overlap = candidates[i].eligible ? sr_pool_warm_overlap(&overlaps, candidates[i].member) : 0;
        if (!overlap)
            continue;
        double load = sr_pool_member_load(candidates[i].member);
        if (load > limit)
            guarded = true;
        else if (best == n || is_better(overlap, load, &candidates[i], why, &candidates[best])) {
            best = i;
            why->overlap = overlap;
            why->load = load;
        }
    }
    why->reason = best < n ? "prefix" : guarded ? "load guard" : "least load";
    if (best == n) {
        best = sr_pool_rank_least(candidates, n);
        why->overlap = sr_pool_warm_overlap(&overlaps, candidates[best].member);
        why->load = sr_pool_member_load(candidates[best].member);
    }
    why->blocks = (uint32_t)ask->n_blocks;
    sr_pool_rank_take(&candidates[best], &warm->turn);
    return best;
}

static void placed(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask,
                   struct sr_pool_placement *placement)
{
    sr_pool_warm_placed(state, seat, slot, ask, placement);
}

static size_t note(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask, size_t left)
{
    return sr_pool_warm_note(state, seat, slot, ask, left);
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
    sr_pool_warm_event(state, seat, slot, e);
}

static void stats(const void *state, const void *seat, uint32_t slot, struct sr_pool_seat_stats *out)
{
    sr_pool_warm_stats(state, seat, slot, out);
}

const struct sr_pool_policy_ops sr_pool_prefix = {
    .name = "prefix",
    .needs = SR_POOL_NEEDS_BLOCKS,
    .seat_size = sizeof(struct sr_pool_warm_seat),
    .open = open_prefix,
    .close = close_state,
    .join = join,
    .leave = leave,
    .choose = choose,
    .placed = placed,
    .note = note,
    .answered = answered,
    .ended = ended,
    .stats = stats,
};

const struct sr_pool_policy_ops sr_pool_kv = {
    .name = "kv",
    .needs = SR_POOL_NEEDS_BLOCKS | SR_POOL_NEEDS_KV,
    .seat_size = sizeof(struct sr_pool_warm_seat),
    .open = open_kv,
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
