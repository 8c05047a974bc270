/*
 * Puts in batches, removals alone in their place, and the deletion of expired rows.
 *
 * One call of these is on its way at a time, so that what a removal must take is there before it. A batch
 * that is refused is sent again one by one: one bad record costs no others. A batch takes these steps: the
 * parts of a large record (which goes alone), the rows, and a look at the removals of others, after which it
 * is known that none of them missed it. A removal takes five: its purge and the mark, the deletion, and again
 * its purge and the mark (news.c).
 */
#include "base/clock.h"
#include "base/hash.h"
#include "cache/index/pack.h"
#include "store/milvus/private.h"

#include <stdio.h>

#define ARENA       ((size_t)64 << 20)
#define ANSWER      ((size_t)4 << 20)
#define BATCH_BYTES ((size_t)2 << 20)
#define PARTS       ((size_t)16) /* of a call */

enum removal_step { PURGE, MARK, DELETION, PURGE_DONE, MARK_DONE, REMOVAL_STEPS };

static void go_on(struct sr_milvus *milvus);

static bool is_removal(const struct sr_milvus *milvus)
{
    return milvus->batch_count == 1 && !milvus->batch[0]->record;
}

/* Calls that the parts of the batch need before its rows are sent. */
static size_t part_steps(const struct sr_milvus *milvus)
{
    return (sr_milvus_parts(sr_cache_record_size(milvus->batch[0]->record)) + PARTS - 1) / PARTS;
}

/* ---- the end of a call ---- */

static void batch_end(struct sr_milvus *milvus, const char *why)
{
    size_t count = milvus->batch_count;
    milvus->batch_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct sr_remote_write *write = milvus->batch[i];
        if (write->undone)
            sr_remote_undo(write);
        else if (why)
            sr_remote_failed(write, why);
        else
            sr_remote_written(write);
    }
}

static void batch_refused(struct sr_milvus *milvus, const char *why)
{
    if (milvus->batch_count == 1) {
        batch_end(milvus, why);
        return;
    }
    milvus->single = milvus->batch_count;
    for (size_t i = 0; i < milvus->batch_count; i++)
        milvus->batch[i]->taken = false;
    milvus->batch_count = 0;
}

static void write_answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    uint64_t timestamp = 0;
    char why[160];
    (void)arg;
    sr_arena_init(&arena, ANSWER);
    if (sr_milvus_accepts(milvus, sr_milvus_mutation_read(&status, &timestamp, &arena, answer), &status,
                          why)) {
        milvus->written = timestamp > milvus->written ? timestamp : milvus->written;
        if (is_removal(milvus) && milvus->step == DELETION)
            milvus->deleted = timestamp;
        milvus->step++;
        go_on(milvus);
    } else if (milvus->remote.ready) {
        /* A removal stays first in the queue until it is done. */
        if (is_removal(milvus))
            sr_remote_away(&milvus->remote, why);
        else
            batch_refused(milvus, why);
    }
    sr_arena_dispose(&arena);
    if (milvus->remote.ready)
        sr_milvus_write(&milvus->remote);
}

/* The server is away: what was taken is in the queue again. */
static void write_lost(struct sr_milvus *milvus, void *arg, int rc)
{
    (void)arg, (void)rc;
    if (milvus->remote.ready)
        sr_remote_away(&milvus->remote, "a write was not answered");
}

void sr_milvus_write_proven(struct sr_milvus *milvus)
{
    if (milvus->batch_count && !is_removal(milvus) && milvus->step > part_steps(milvus))
        batch_end(milvus, NULL);
    sr_milvus_write(&milvus->remote);
}

/* ---- calls ---- */

/* Sends rows or, with a request that was packed, that. False: out of memory. */
static bool call(struct sr_milvus *milvus, const char *method, struct sr_bytes request)
{
    return sr_milvus_call(milvus, method, request, milvus->remote.limits.command_ms, false, write_answered,
                          write_lost, NULL);
}

static bool rows_send(struct sr_milvus *milvus, struct sr_arena *arena)
{
    size_t dimensions = milvus->place.dimensions;
    struct sr_milvus_row *rows = sr_arena_calloc(arena, milvus->batch_count, sizeof *rows);
    float *units = sr_arena_calloc(arena, milvus->batch_count * dimensions, sizeof *units);
    bool whole = rows && units;
    for (size_t i = 0; i < milvus->batch_count && whole; i++) {
        const struct sr_cache_record *record = milvus->batch[i]->record;
        float *unit = units + i * dimensions;
        bool searchable = sr_vector_unpack(record->f.vector, dimensions, unit) == SR_OK;
        whole = sr_milvus_row_record(&rows[i], record, &milvus->name, searchable ? unit : NULL, arena);
    }
    return whole &&
           call(milvus, "Upsert", sr_milvus_upsert(arena, &milvus->place, rows, milvus->batch_count));
}

static bool parts_send(struct sr_milvus *milvus, struct sr_arena *arena)
{
    const struct sr_cache_record *record = milvus->batch[0]->record;
    size_t all = sr_milvus_parts(sr_cache_record_size(record)), first = milvus->step * PARTS,
           count = all - first < PARTS ? all - first : PARTS;
    struct sr_milvus_row *rows = sr_arena_calloc(arena, count, sizeof *rows);
    return rows && sr_milvus_row_parts(rows, record, &milvus->name, first, count, arena) &&
           call(milvus, "Upsert", sr_milvus_upsert(arena, &milvus->place, rows, count));
}

static bool batch_send(struct sr_milvus *milvus, struct sr_arena *arena)
{
    size_t parts = part_steps(milvus);
    if (milvus->step < parts)
        return parts_send(milvus, arena);
    if (milvus->step == parts)
        return rows_send(milvus, arena);
    sr_milvus_look(milvus);
    return true;
}

static bool removal_send(struct sr_milvus *milvus, struct sr_arena *arena)
{
    struct sr_milvus_purge purge = {.id = milvus->name,
                                    .who = milvus->who,
                                    .done = milvus->step > DELETION,
                                    .timestamp = milvus->step > DELETION ? milvus->deleted : 0,
                                    .at_ms = milvus->removed_ms,
                                    .which = milvus->batch[0]->which};
    struct sr_milvus_name mark;
    struct sr_milvus_row row;
    bool whole;
    if (milvus->step == DELETION)
        return call(milvus, "Delete",
                    sr_milvus_delete(arena, &milvus->place, sr_milvus_filter_removal(&purge.which, arena)));
    if (milvus->step == PURGE || milvus->step == PURGE_DONE)
        whole = sr_milvus_row_purge(&row, &purge, arena);
    else
        whole = sr_random(mark.bytes, sizeof mark.bytes) == SR_OK && sr_milvus_row_mark(&row, &mark, arena);
    return whole && call(milvus, "Upsert", sr_milvus_upsert(arena, &milvus->place, &row, 1));
}

/* The next step of what was taken. */
static void go_on(struct sr_milvus *milvus)
{
    struct sr_arena arena;
    bool sent = true;
    if (is_removal(milvus) && milvus->step == REMOVAL_STEPS) {
        milvus->purged = milvus->deleted > milvus->purged ? milvus->deleted : milvus->purged;
        batch_end(milvus, NULL);
        return;
    }
    sr_arena_init(&arena, ARENA);
    sent = is_removal(milvus) ? removal_send(milvus, &arena) : batch_send(milvus, &arena);
    sr_arena_dispose(&arena);
    if (!sent)
        sr_remote_away(&milvus->remote, "out of memory");
}

/* ---- the queue ---- */

static bool batch_has(const struct sr_milvus *milvus, const struct sr_cache_key *exact)
{
    for (size_t i = 0; i < milvus->batch_count; i++)
        if (memcmp(&milvus->batch[i]->record->f.exact, exact, sizeof *exact) == 0)
            return true;
    return false;
}

/* Puts from the front of the queue, each key once, a large one alone. Those that cannot be sent end here. */
static void batch_fill(struct sr_milvus *milvus)
{
    size_t max = milvus->single ? 1 : SR_MILVUS_BATCH, bytes = 0;
    struct sr_remote_write *write;
    milvus->single -= milvus->single > 0;
    while (milvus->batch_count < max && bytes < BATCH_BYTES &&
           (write = sr_remote_peek(&milvus->remote)) != NULL && write->record &&
           !batch_has(milvus, &write->record->f.exact)) {
        size_t size = sr_cache_record_size(write->record);
        bool large = sr_milvus_parts(size) > 0;
        if (large && milvus->batch_count && size <= SR_MILVUS_RECORD_MAX)
            return;
        (void)sr_remote_take(&milvus->remote);
        if (size > SR_MILVUS_RECORD_MAX) {
            sr_remote_failed(write, "a record is larger than what is sent to Milvus");
        } else if (!sr_remote_is_live(&write->record->f)) {
            sr_remote_written(write);
        } else {
            milvus->batch[milvus->batch_count++] = write;
            bytes += large ? BATCH_BYTES : size;
        }
    }
}

void sr_milvus_write(struct sr_remote *remote)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    struct sr_remote_write *write;
    if (!remote->ready || milvus->batch_count || milvus->cleaning)
        return;
    while (!milvus->batch_count && (write = sr_remote_peek(remote)) != NULL)
        if (write->record)
            batch_fill(milvus);
        else
            milvus->batch[milvus->batch_count++] = sr_remote_take(remote);
    if (!milvus->batch_count)
        return;
    milvus->step = 0;
    milvus->deleted = 0;
    milvus->removed_ms = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    if (sr_random(milvus->name.bytes, sizeof milvus->name.bytes) == SR_OK)
        go_on(milvus);
    else
        sr_remote_away(remote, "no random bytes");
}

void sr_milvus_write_reset(struct sr_milvus *milvus)
{
    milvus->batch_count = milvus->single = 0;
    milvus->cleaning = false;
    sr_timer_stop(&milvus->cleanup);
}

/* ---- expired rows ---- */

static void cleanup_over(struct sr_milvus *milvus)
{
    milvus->cleaning = false;
    sr_timer_start(&milvus->cleanup, milvus->cleanup_ms);
    sr_milvus_write(&milvus->remote);
}

static void cleanup_answered(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    (void)arg, (void)answer; /* rows that stay are filtered, and the next time comes */
    if (milvus->remote.ready)
        cleanup_over(milvus);
}

static void cleanup_lost(struct sr_milvus *milvus, void *arg, int rc)
{
    (void)arg, (void)rc;
    if (milvus->remote.ready)
        cleanup_over(milvus);
}

void sr_milvus_cleanup_due(void *ctx)
{
    struct sr_milvus *milvus = ctx;
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    struct sr_arena arena;
    if (!milvus->remote.ready)
        return;
    if (milvus->batch_count) {
        sr_timer_start(&milvus->cleanup, 1 + milvus->cleanup_ms / 10);
        return;
    }
    sr_arena_init(&arena, ANSWER);
    milvus->cleaning = sr_milvus_call(
        milvus, "Delete", sr_milvus_delete(&arena, &milvus->place, sr_milvus_filter_expired(now, &arena)),
        milvus->remote.limits.command_ms, true, cleanup_answered, cleanup_lost, NULL);
    if (!milvus->cleaning)
        sr_timer_start(&milvus->cleanup, milvus->cleanup_ms);
    sr_arena_dispose(&arena);
}
