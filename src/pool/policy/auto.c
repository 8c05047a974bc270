/*
 * The default of pools that share caches: exact overlap first, meaning where no worker has much of the
 * prompt, load always. The cost of a worker is the time that the request takes there and takes from others,
 * in blocks of prompts:
 *
 *   new  = blocks of the prompt - overlap
 *   over = blocks that requests hold there with this one - blocks of the cache, at least 0
 *   out  = blocks that are known to be there with this prompt - blocks of the cache, from 0 to new
 *   lost = blocks of conversations there that go on, with this prompt - blocks of the cache, from 0 to new
 *   cost = (new * (1 + DELAYS * requests there) + blocks that wait to be computed there
 *           + OVER * over + OUT * out + LOST * lost) / weight + STEP * load
 *
 * What is computed delays all that is in progress at the worker: a request that is new to all workers goes
 * where little is in progress, and one that a worker has goes there also when it is busy. What does not fit
 * waits until others end, and pushes out what others come back for. Where no worker has a quarter of the
 * prompt, one that was lately asked the same in other words is taken before its equals: the similarity counts
 * as overlap, up to a quarter of the prompt. No worker is over the limit of the guard.
 *
 * The five numbers were chosen with `semroute bench pool --simulate` on odd seeds (docs/measurements.md).
 */
#include "base/mem.h"
#include "pool/clock.h"
#include "pool/warm/returning.h"
#include "pool/warm/topics.h"
#include "pool/warm/warm.h"

#include <math.h>

#define DELAYS 2.0 /* of the new blocks: what a request in progress loses by them */
#define STEP   8.0 /* blocks: what a request in a step takes from the others */
#define OVER   2.0 /* of blocks that do not fit: a request is put off, and computed again */
#define OUT    6.0 /* of blocks that are pushed out: they are computed again, and push out others */
#define LOST   6.0 /* of blocks that are pushed out before a next turn that is due (returning.h) */
#define LITTLE 4   /* less than one part in so many of the prompt is an approximate overlap */

struct picking {
    struct sr_pool_warm warm;
    struct sr_topics *topics;
    struct sr_returning returning;
};

struct seat {
    struct sr_pool_warm_seat warm;
    struct sr_topics_seat topics;
    struct sr_returning_seat returning;
};

/* What is compared for one request. */
struct comparing {
    struct picking *picking;
    const struct sr_pool_ask *ask;
    struct sr_pool_overlaps overlaps;
    double limit;
    uint64_t now_ns;
    bool by_meaning;
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    struct picking *picking = sr_mem_calloc(1, sizeof *picking);
    int rc = picking ? sr_pool_warm_init(&picking->warm, settings, true) : SR_ENOMEM;
    if (!rc && (rc = sr_topics_new(&picking->topics)) != SR_OK)
        sr_pool_warm_dispose(&picking->warm);
    if (rc) {
        sr_mem_free(picking);
        return rc;
    }
    *state = picking;
    return SR_OK;
}

static void close_state(void *state)
{
    struct picking *picking = state;
    sr_pool_warm_dispose(&picking->warm);
    sr_topics_free(picking->topics);
    sr_mem_free(picking);
}

static int join(void *state, void *seat, uint32_t slot)
{
    return sr_pool_warm_join(&((struct picking *)state)->warm, &((struct seat *)seat)->warm, slot);
}

static void leave(void *state, void *seat, uint32_t slot)
{
    sr_pool_warm_leave(&((struct picking *)state)->warm, &((struct seat *)seat)->warm, slot);
}

/* Blocks that the similarity of a worker's recent requests is worth. */
static double meant(const struct comparing *c, const struct seat *seat, float *similarity)
{
    const struct sr_pool_settings *settings = c->picking->warm.settings;
    *similarity =
        c->by_meaning ? sr_topics_similarity(c->picking->topics, &seat->topics, settings->recent) : 0;
    if ((double)*similarity < settings->threshold || settings->threshold >= 1)
        return 0;
    double share = ((double)*similarity - settings->threshold) / (1 - settings->threshold);
    return share * (double)c->overlaps.blocks / LITTLE;
}

/* What it costs that a worker's cache has no room for the prompt, of which `new` blocks are not there. The
 * engine's blocks are scaled to those of the prompt, where both are known. */
static double cost_of_room(const struct comparing *c, const struct seat *of, uint32_t slot, double new)
{
    const struct sr_pool_overlaps *o = &c->overlaps;
    const struct sr_pool_warm_seat *seat = &of->warm;
    double scale = o->told_blocks ? (double)o->blocks / (double)o->told_blocks : 1;
    double room = scale * (double)c->picking->warm.settings->blocks;
    double known = (seat->tells ? scale : 1) * (double)sr_pool_warm_known(&c->picking->warm, seat, slot);
    double over = (double)(o->blocks - o->shared[slot] + seat->held) - room, out = known + new - room;
    double lost = sr_returning_blocks(&c->picking->returning, &of->returning, c->ask, c->now_ns) +
                  (double)o->blocks - room;
    out = out < 0 ? 0 : out < new ? out : new;
    lost = lost < 0 ? 0 : lost < new ? lost : new;
    return OUT * out + LOST * lost + (over > 0 ? OVER * over : 0);
}

static double cost_of(const struct comparing *c, const struct sr_pool_member *member, uint32_t *overlap,
                      float *similarity)
{
    const struct seat *seat = sr_pool_member_seat(member);
    uint32_t slot = sr_pool_member_slot(member);
    double weight = sr_pool_member_weight(member), load = sr_pool_member_load(member);
    *overlap = sr_pool_warm_overlap(&c->overlaps, member);
    double worth = meant(c, seat, similarity);
    if (isinf(load) || load > c->limit)
        return HUGE_VAL;
    worth = worth > *overlap ? worth : *overlap;
    double new = (double)c->overlaps.blocks - worth, there = load *weight - 1;
    double room = cost_of_room(c, seat, slot, new);
    return (new *(1 + DELAYS * there) + (double)seat->warm.pending + room) / weight + STEP * load;
}

static struct comparing compare(struct picking *picking, const struct sr_pool_ask *ask,
                                const struct sr_pool_candidate *candidates, size_t n)
{
    struct comparing c = {.picking = picking, .ask = ask, .now_ns = sr_pool_clock_ns()};
    uint32_t most = 0;
    c.limit = sr_pool_rank_limit(candidates, n, picking->warm.settings->guard);
    c.overlaps = sr_pool_warm_match(&picking->warm, ask, candidates, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t overlap =
            candidates[i].eligible ? sr_pool_warm_overlap(&c.overlaps, candidates[i].member) : 0;
        most = overlap > most ? overlap : most;
    }
    c.by_meaning = ask->vector && (size_t)most * LITTLE < ask->n_blocks;
    if (c.by_meaning)
        sr_topics_compare(picking->topics, ask->vector, ask->dimensions);
    return c;
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    struct comparing c = compare(picking, ask, candidates, n);
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        uint32_t overlap;
        float similarity;
        if (!candidates[i].eligible)
            continue;
        double cost = cost_of(&c, candidates[i].member, &overlap, &similarity);
        if (isinf(cost) ||
            (best < n && (cost > why->load ||
                          (!(cost < why->load) && !sr_pool_rank_before(&candidates[i], &candidates[best])))))
            continue;
        best = i;
        why->load = cost;
        why->overlap = overlap;
        why->similarity = similarity;
    }
    if (best == n)
        best = sr_pool_rank_least(candidates, n);
    bool similar = (double)why->similarity >= picking->warm.settings->threshold;
    why->reason = why->overlap > 0 && !similar ? "prefix" : similar ? "meaning" : "least load";
    why->blocks = (uint32_t)ask->n_blocks;
    sr_pool_rank_take(&candidates[best], &picking->warm.turn);
    return best;
}

static void placed(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask,
                   struct sr_pool_placement *placement)
{
    struct picking *picking = state;
    sr_returning_placed(&picking->returning, &((struct seat *)seat)->returning, ask, placement->overlap);
    sr_pool_warm_placed(&picking->warm, &((struct seat *)seat)->warm, slot, ask, placement);
    sr_topics_add(picking->topics, &((struct seat *)seat)->topics, ask->vector, ask->dimensions);
}

static size_t note(void *state, void *seat, uint32_t slot, const struct sr_pool_ask *ask, size_t left)
{
    return sr_pool_warm_note(&((struct picking *)state)->warm, &((struct seat *)seat)->warm, slot, ask, left);
}

static void answered(void *state, void *seat, struct sr_pool_placement *placement)
{
    (void)state;
    sr_pool_warm_answered(seat, placement);
}

static void ended(void *state, void *seat, struct sr_pool_placement *placement)
{
    (void)state;
    if (placement->ask)
        sr_returning_ended(&((struct seat *)seat)->returning, placement->ask);
    sr_pool_warm_ended(seat, placement);
}

static void event(void *state, void *seat, uint32_t slot, const struct sr_pool_kv_event *e)
{
    sr_pool_warm_event(&((struct picking *)state)->warm, seat, slot, e);
}

static void stats(const void *state, const void *seat, uint32_t slot, struct sr_pool_seat_stats *out)
{
    sr_pool_warm_stats(&((const struct picking *)state)->warm, seat, slot, out);
    out->bytes += sizeof(struct sr_topics_seat) + sizeof(struct sr_returning_seat);
}

const struct sr_pool_policy_ops sr_pool_auto = {
    .name = "auto",
    .needs = SR_POOL_NEEDS_BLOCKS | SR_POOL_USES_KV | SR_POOL_USES_VECTOR | SR_POOL_NEEDS_LOAD,
    .seat_size = sizeof(struct seat),
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
