/* Keeps both tables, and counts the blocks of the requests at each worker. */
#include "pool/warm/warm.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define CHUNK  256 /* blocks of an event that are used at once */
#define NOTED  128 /* blocks of a prompt that are noted at once, the last ones first */
#define LATEST 32  /* requests at workers that are compared */

int sr_pool_warm_init(struct sr_pool_warm *warm, const struct sr_pool_settings *settings, bool events)
{
    *warm = (struct sr_pool_warm){.settings = settings};
    int rc = sr_pool_blocks_new(&warm->sent, settings->blocks);
    if (!rc && events)
        rc = sr_pool_blocks_new(&warm->told, settings->kv_blocks);
    if (rc)
        sr_pool_warm_dispose(warm);
    return rc;
}

void sr_pool_warm_dispose(struct sr_pool_warm *warm)
{
    sr_pool_blocks_free(warm->sent);
    sr_pool_blocks_free(warm->told);
    sr_mem_free(warm->coming);
    sr_mem_free(warm->shared);
    warm->sent = warm->told = NULL;
    warm->coming = warm->shared = NULL;
}

static int widen(struct sr_pool_warm *warm, uint32_t slot)
{
    size_t n = (slot / 64 + 1) * 64;
    uint32_t *coming = sr_mem_realloc(warm->coming, n * sizeof *coming);
    if (coming)
        warm->coming = coming;
    uint32_t *shared = sr_mem_realloc(warm->shared, n * sizeof *shared);
    if (shared)
        warm->shared = shared;
    if (!coming || !shared)
        return SR_ENOMEM;
    warm->n_depths = n;
    return SR_OK;
}

int sr_pool_warm_join(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot)
{
    seat->names.most = (size_t)warm->settings->kv_blocks;
    int rc = warm->told && slot >= warm->n_depths ? widen(warm, slot) : SR_OK;
    if (rc == SR_OK)
        rc = sr_pool_blocks_join(warm->sent, slot);
    return rc || !warm->told ? rc : sr_pool_blocks_join(warm->told, slot);
}

void sr_pool_warm_leave(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot)
{
    sr_kv_map_dispose(&seat->names);
    sr_pool_blocks_leave(warm->sent, slot);
    if (warm->told)
        sr_pool_blocks_leave(warm->told, slot);
}

/* Blocks that both prompts begin with; `guess` may be their number. A hash covers all blocks before it. */
static uint32_t common(const struct sr_pool_ask *a, const struct sr_pool_ask *b, size_t guess)
{
    size_t low = 1, high = a->n_blocks < b->n_blocks ? a->n_blocks : b->n_blocks;
    if (guess > 0 && guess < high && a->blocks[guess - 1] == b->blocks[guess - 1]) {
        low = guess;
        if (a->blocks[guess] != b->blocks[guess])
            return (uint32_t)guess;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->blocks[middle] == b->blocks[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* What requests that are at workers have in common with this one. */
static void match_here(struct sr_pool_warm *warm, const struct sr_pool_ask *ask,
                       struct sr_pool_overlaps *found)
{
    size_t n = 0, guess = 0;
    memset(warm->coming, 0, warm->n_depths * sizeof *warm->coming);
    memset(warm->shared, 0, warm->n_depths * sizeof *warm->shared);
    for (const struct sr_pool_placement *p = warm->here; p && ask->n_blocks && n < LATEST; p = p->next, n++) {
        if (p->first != ask->blocks[0])
            continue;
        uint32_t depth = common(ask, p->ask, guess);
        guess = depth;
        if (depth > warm->shared[p->slot])
            warm->shared[p->slot] = depth;
        if (!p->answered && depth > warm->coming[p->slot])
            warm->coming[p->slot] = depth;
    }
    found->coming = warm->coming;
    found->shared = warm->shared;
}

struct sr_pool_overlaps sr_pool_warm_match(struct sr_pool_warm *warm, const struct sr_pool_ask *ask,
                                           const struct sr_pool_candidate *candidates, size_t n)
{
    struct sr_pool_overlaps found = {.blocks = ask->n_blocks,
                                     .told_blocks = ask->kv_total ? ask->kv_total : ask->n_kv_blocks};
    bool all_tell = warm->told && ask->n_kv_blocks;
    if (warm->told)
        match_here(warm, ask, &found);
    if (all_tell)
        found.told = sr_pool_blocks_match(warm->told, ask->kv_blocks, ask->n_kv_blocks);
    for (size_t i = 0; i < n && all_tell; i++)
        all_tell = ((const struct sr_pool_warm_seat *)sr_pool_member_seat(candidates[i].member))->tells;
    if (!all_tell)
        found.sent = sr_pool_blocks_match(warm->sent, ask->blocks, ask->n_blocks);
    return found;
}

uint32_t sr_pool_warm_overlap(const struct sr_pool_overlaps *overlaps, const struct sr_pool_member *member)
{
    const struct sr_pool_warm_seat *seat = sr_pool_member_seat(member);
    uint32_t slot = sr_pool_member_slot(member);
    if (!overlaps->told || !seat->tells)
        return overlaps->sent[slot];
    uint32_t told = (uint32_t)((uint64_t)overlaps->told[slot] * overlaps->blocks / overlaps->told_blocks);
    return told > overlaps->coming[slot] ? told : overlaps->coming[slot];
}

/* ---- requests ---- */

/* Others will compare with it. */
static void list(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                 const struct sr_pool_ask *ask, struct sr_pool_placement *placement)
{
    struct sr_pool_overlaps found;
    match_here(warm, ask, &found);
    placement->held = placement->active - found.shared[slot];
    seat->held += placement->held;
    placement->ask = ask;
    placement->first = ask->n_blocks ? ask->blocks[0] : 0;
    placement->slot = slot;
    placement->next = warm->here;
    placement->at = &warm->here;
    if (placement->next)
        placement->next->at = &placement->next;
    warm->here = placement;
}

void sr_pool_warm_placed(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                         const struct sr_pool_ask *ask, struct sr_pool_placement *placement)
{
    uint32_t blocks = (uint32_t)ask->n_blocks;
    placement->overlap = placement->overlap < blocks ? placement->overlap : blocks;
    placement->pending = blocks - placement->overlap;
    placement->active = blocks + (uint32_t)(ask->answer_tokens / warm->settings->block_tokens);
    seat->pending += placement->pending;
    seat->active += placement->active;
    if (warm->told)
        list(warm, seat, slot, ask, placement);
    seat->asked += blocks;
    seat->expected += placement->overlap;
}

size_t sr_pool_warm_note(struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat, uint32_t slot,
                         const struct sr_pool_ask *ask, size_t left)
{
    left = left < warm->settings->blocks ? left : (size_t)warm->settings->blocks;
    size_t n = left < NOTED ? left : NOTED;
    if (seat->tells && ask->n_kv_blocks)
        return 0;
    sr_pool_blocks_use(warm->sent, slot, ask->blocks + left - n, n);
    return left - n;
}

void sr_pool_warm_answered(struct sr_pool_warm_seat *seat, struct sr_pool_placement *placement)
{
    seat->pending -= placement->pending;
    placement->pending = 0;
    placement->answered = true;
}

void sr_pool_warm_ended(struct sr_pool_warm_seat *seat, struct sr_pool_placement *placement)
{
    sr_pool_warm_answered(seat, placement);
    seat->active -= placement->active;
    seat->held -= placement->held;
    placement->active = placement->held = 0;
    if (placement->at) {
        *placement->at = placement->next;
        if (placement->next)
            placement->next->at = placement->at;
        placement->at = NULL;
    }
}

/* ---- events ---- */

uint64_t sr_pool_kv_root(struct sr_bytes adapter, struct sr_bytes salt)
{
    return adapter.n || salt.n ? sr_hash64(salt, sr_hash64(adapter, 1)) : 0;
}

uint64_t sr_pool_kv_hash(uint64_t before, const uint32_t *tokens, size_t n)
{
    uint64_t hash = sr_hash64(sr_bytes_of((const char *)tokens, n * sizeof *tokens), before);
    return hash ? hash : 1;
}

static void forget(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot)
{
    sr_kv_map_dispose(&seat->names);
    sr_pool_blocks_clear(warm->told, slot);
    seat->events = seat->unknown = 0;
}

/* Blocks after one that is not known are not known either, and none over the limit. */
static void stored(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                   const struct sr_pool_kv_event *event)
{
    uint64_t hash = event->has_parent ? sr_kv_map_get(&seat->names, event->parent) : event->root;
    uint64_t own[CHUNK];
    if (event->has_parent && !hash) {
        seat->unknown += event->n;
        return;
    }
    for (size_t from = 0, n; from < event->n; from += n) {
        n = event->n - from < CHUNK ? event->n - from : CHUNK;
        for (size_t i = 0; i < n; i++) {
            hash = sr_pool_kv_hash(hash, event->tokens + (from + i) * event->block_size, event->block_size);
            own[i] = hash;
            if (!sr_kv_map_set(&seat->names, event->hashes[from + i], hash)) {
                seat->unknown += event->n - from - i;
                sr_pool_blocks_use(warm->told, slot, own, i);
                return;
            }
        }
        sr_pool_blocks_use(warm->told, slot, own, n);
    }
}

void sr_pool_warm_event(struct sr_pool_warm *warm, struct sr_pool_warm_seat *seat, uint32_t slot,
                        const struct sr_pool_kv_event *event)
{
    switch (event->kind) {
    case SR_POOL_KV_STORED:
        seat->events++;
        seat->tells = true;
        stored(warm, seat, slot, event);
        break;
    case SR_POOL_KV_REMOVED:
        for (size_t i = 0; i < event->n; i++) {
            uint64_t own = sr_kv_map_get(&seat->names, event->hashes[i]);
            if (own)
                sr_pool_blocks_remove(warm->told, slot, own);
            sr_kv_map_remove(&seat->names, event->hashes[i]);
        }
        break;
    case SR_POOL_KV_CLEARED:
        forget(warm, seat, slot);
        sr_pool_blocks_clear(warm->sent, slot);
        seat->tells = true;
        break;
    case SR_POOL_KV_UNKNOWN:
        forget(warm, seat, slot);
        seat->tells = false;
        break;
    }
}

uint64_t sr_pool_warm_known(const struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat,
                            uint32_t slot)
{
    return sr_pool_blocks_count(seat->tells ? warm->told : warm->sent, slot);
}

void sr_pool_warm_stats(const struct sr_pool_warm *warm, const struct sr_pool_warm_seat *seat, uint32_t slot,
                        struct sr_pool_seat_stats *out)
{
    out->blocks = sr_pool_warm_known(warm, seat, slot);
    out->events = seat->events;
    out->unknown = seat->unknown;
    out->tells = seat->tells;
    out->bytes = sr_pool_blocks_bytes(warm->sent, slot) + seat->names.size * sizeof *seat->names.pairs;
    if (warm->told)
        out->bytes += sr_pool_blocks_bytes(warm->told, slot);
    out->asked = seat->asked;
    out->expected = seat->expected;
}
