/*
 * What other processes removed. A removal is a row before and after its records are deleted, and each time
 * the mark changes after that. So who finds the mark as it was has missed nothing; who finds another one
 * reads all purges. That is done before the server counts as there, every `purge_ms`, and behind each write.
 *
 * Purges are rows for an hour. Who was away for longer than half of it, finds no mark where there was one, or
 * too many purges, takes everything for removed.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/milvus/private.h"

#include <stdlib.h>

#define ARENA     ((size_t)1 << 20)
#define ANSWER    ((size_t)64 << 20)
#define MARGIN_MS ((int64_t)600000) /* between the clocks of two machines */

static void look_begin(struct sr_milvus *milvus);

/* ---- what is known ---- */

static int order(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct sr_milvus_name));
}

static bool is_new(const struct sr_milvus *milvus, const struct sr_milvus_purge *purge)
{
    const struct sr_milvus_seen *seen =
        milvus->purge_count
            ? bsearch(&purge->id, milvus->purges, milvus->purge_count, sizeof *milvus->purges, order)
            : NULL;
    return !seen || (purge->done && !seen->done);
}

static void removed(struct sr_milvus *milvus, const struct sr_cache_selector *which)
{
    sr_remote_forget(&milvus->remote, which);
    milvus->remote.events->removed(milvus->remote.ctx, which);
}

/* Nothing that is in memory is older than the process. */
static void purge_take(struct sr_milvus *milvus, const struct sr_milvus_purge *purge)
{
    if (purge->timestamp > milvus->purged)
        milvus->purged = purge->timestamp;
    if (is_new(milvus, purge) && memcmp(&purge->who, &milvus->who, sizeof purge->who) != 0 &&
        purge->at_ms >= milvus->began_ms - MARGIN_MS)
        removed(milvus, &purge->which);
}

/* Takes new purges and keeps which there are. SR_ENOMEM. */
static int purges_take(struct sr_milvus *milvus, const struct sr_milvus_hit *hits, size_t n)
{
    struct sr_milvus_seen *now = sr_mem_calloc(n + 1, sizeof *now);
    struct sr_milvus_purge purge;
    size_t count = 0;
    if (!now)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!sr_milvus_purge_read(&purge, hits[i].body))
            continue;
        purge_take(milvus, &purge);
        now[count++] = (struct sr_milvus_seen){.id = purge.id, .done = purge.done};
    }
    qsort(now, count, sizeof *now, order);
    sr_mem_free(milvus->purges);
    milvus->purges = now;
    milvus->purge_count = count;
    return SR_OK;
}

/* ---- looking ---- */

static void look_end(struct sr_milvus *milvus)
{
    milvus->looked_ns = sr_clock_ns();
    if (milvus->look_again) {
        look_begin(milvus);
        return;
    }
    milvus->looking = false;
    sr_timer_start(&milvus->look, milvus->purge_ms);
    milvus->caught_up(milvus);
}

static void look_failed(struct sr_milvus *milvus, void *arg, int rc)
{
    (void)arg;
    if (rc != SR_ECLOSED)
        sr_remote_away(&milvus->remote, sr_strerror(rc));
}

static void ask(struct sr_milvus *milvus, char *filter, size_t limit, sr_milvus_done *done)
{
    struct sr_milvus_place place = milvus->place;
    struct sr_arena arena;
    place.consistency = SR_MILVUS_STRONG;
    sr_arena_init(&arena, ARENA);
    if (!sr_milvus_call(milvus, "Query", sr_milvus_query(&arena, &place, filter, limit, 0),
                        milvus->remote.limits.command_ms, false, done, look_failed, NULL))
        sr_remote_away(&milvus->remote, "out of memory");
    sr_arena_dispose(&arena);
}

static void purges_answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    static const struct sr_cache_selector everything;
    uint64_t away_ns = sr_clock_ns() - milvus->looked_ns;
    struct sr_milvus_status status;
    struct sr_milvus_hit *hits;
    struct sr_arena arena;
    size_t n = 0;
    char why[160];
    int rc;
    (void)arg;
    sr_arena_init(&arena, ANSWER);
    hits = sr_arena_calloc(&arena, SR_MILVUS_PURGES_MAX, sizeof *hits);
    rc = hits ? sr_milvus_query_read(&status, hits, SR_MILVUS_PURGES_MAX, &n, &arena, answer) : SR_ENOMEM;
    if (rc == SR_ENOMEM) {
        sr_remote_away(&milvus->remote, "out of memory");
    } else if (!sr_milvus_accepts(milvus, rc, &status, why)) {
        sr_remote_away(&milvus->remote, why);
    } else if (purges_take(milvus, hits, n) != SR_OK) {
        sr_remote_away(&milvus->remote, "out of memory");
    } else {
        if (n >= SR_MILVUS_PURGES_MAX || away_ns > SR_MILVUS_PURGE_S / 2 * SR_NS_PER_S)
            removed(milvus, &everything);
        milvus->mark = milvus->next_mark;
        milvus->marked = true;
        look_end(milvus);
    }
    sr_arena_dispose(&arena);
}

static void mark_answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    static const struct sr_cache_selector everything;
    struct sr_milvus_status status;
    struct sr_milvus_hit hit;
    struct sr_arena arena;
    size_t n = 0;
    char why[160];
    int rc;
    (void)arg;
    sr_arena_init(&arena, ARENA);
    rc = sr_milvus_query_read(&status, &hit, 1, &n, &arena, answer);
    if (!sr_milvus_accepts(milvus, rc, &status, why)) {
        sr_remote_away(&milvus->remote, why);
    } else if (!n || !sr_milvus_mark_read(&milvus->next_mark, hit.body)) {
        if (milvus->marked)
            removed(milvus, &everything);
        milvus->marked = false;
        look_end(milvus);
    } else if (milvus->marked && memcmp(&milvus->mark, &milvus->next_mark, sizeof milvus->mark) == 0) {
        look_end(milvus);
    } else {
        ask(milvus, sr_milvus_filter_purges(), SR_MILVUS_PURGES_MAX, purges_answered);
    }
    sr_arena_dispose(&arena);
}

static void look_begin(struct sr_milvus *milvus)
{
    milvus->looking = true;
    milvus->look_again = false;
    ask(milvus, sr_milvus_filter_mark(), 1, mark_answered);
}

void sr_milvus_look(struct sr_milvus *milvus)
{
    sr_timer_stop(&milvus->look);
    if (milvus->looking)
        milvus->look_again = true;
    else
        look_begin(milvus);
}

void sr_milvus_look_due(void *ctx)
{
    sr_milvus_look(ctx);
}

void sr_milvus_news_reset(struct sr_milvus *milvus)
{
    sr_timer_stop(&milvus->look);
    milvus->looking = milvus->look_again = false;
}
