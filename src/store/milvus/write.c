/*
 * Puts in batches, removals alone in their place, and the deletion of expired rows.
 *
 * One call of these is on its way at a time, so that what a removal must take is there before it. A batch
 * that is refused is sent again one by one: one bad record costs no others.
 */
#include "base/clock.h"
#include "cache/index/pack.h"
#include "store/milvus/private.h"

#include <stdio.h>

#define ARENA       ((size_t)64 << 20)
#define ANSWER      ((size_t)4 << 20)
#define BATCH_BYTES ((size_t)2 << 20)

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
        batch_end(milvus, NULL);
    } else if (milvus->remote.ready) {
        /* A removal stays first in the queue until it is done. */
        if (milvus->batch_count == 1 && !milvus->batch[0]->record)
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

/* ---- puts ---- */

static bool batch_has(const struct sr_milvus *milvus, const struct sr_cache_key *exact)
{
    for (size_t i = 0; i < milvus->batch_count; i++)
        if (memcmp(&milvus->batch[i]->record->f.exact, exact, sizeof *exact) == 0)
            return true;
    return false;
}

/* Puts from the front of the queue, each key once. Those that cannot be sent end here. */
static void batch_fill(struct sr_milvus *milvus)
{
    size_t max = milvus->single ? 1 : SR_MILVUS_BATCH, bytes = 0;
    struct sr_remote_write *write;
    milvus->single -= milvus->single > 0;
    while (milvus->batch_count < max && bytes < BATCH_BYTES &&
           (write = sr_remote_peek(&milvus->remote)) != NULL && write->record &&
           !batch_has(milvus, &write->record->f.exact)) {
        size_t size = sr_cache_record_size(write->record);
        (void)sr_remote_take(&milvus->remote);
        if (size > SR_MILVUS_RECORD_MAX) {
            sr_remote_failed(write, "a record is larger than a field of Milvus");
        } else if (!sr_remote_is_live(&write->record->f)) {
            sr_remote_written(write);
        } else {
            milvus->batch[milvus->batch_count++] = write;
            bytes += size;
        }
    }
}

static bool batch_send(struct sr_milvus *milvus)
{
    size_t dimensions = milvus->place.dimensions;
    struct sr_cache_record *records[SR_MILVUS_BATCH];
    bool searchable[SR_MILVUS_BATCH], sent;
    struct sr_arena arena;
    float *units;
    sr_arena_init(&arena, ARENA);
    units = sr_arena_calloc(&arena, milvus->batch_count * dimensions, sizeof *units);
    for (size_t i = 0; i < milvus->batch_count && units; i++) {
        float *unit = units + i * dimensions;
        records[i] = milvus->batch[i]->record;
        searchable[i] = sr_vector_unpack(records[i]->f.vector, dimensions, unit) == SR_OK;
        if (!searchable[i]) {
            memset(unit, 0, dimensions * sizeof *unit);
            unit[0] = 1;
        }
    }
    sent = units && sr_milvus_call(milvus, "Upsert",
                                   sr_milvus_upsert(&arena, &milvus->place, records, units, searchable,
                                                    milvus->batch_count),
                                   milvus->remote.limits.command_ms, false, write_answered, write_lost, NULL);
    sr_arena_dispose(&arena);
    return sent;
}

static bool removal_send(struct sr_milvus *milvus)
{
    struct sr_arena arena;
    bool sent;
    sr_arena_init(&arena, ANSWER);
    sent =
        sr_milvus_call(milvus, "Delete", sr_milvus_delete(&arena, &milvus->place, &milvus->batch[0]->which),
                       milvus->remote.limits.command_ms, false, write_answered, write_lost, NULL);
    sr_arena_dispose(&arena);
    return sent;
}

void sr_milvus_write(struct sr_remote *remote)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    struct sr_remote_write *write;
    bool sent = true;
    if (!remote->ready || milvus->batch_count || milvus->cleaning)
        return;
    while (!milvus->batch_count && (write = sr_remote_peek(remote)) != NULL) {
        if (write->record) {
            batch_fill(milvus);
        } else {
            milvus->batch[0] = sr_remote_take(remote);
            milvus->batch_count = 1;
            sent = removal_send(milvus);
        }
        if (milvus->batch_count && milvus->batch[0]->record)
            sent = batch_send(milvus);
    }
    if (!sent)
        sr_remote_away(remote, "out of memory");
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
    struct sr_arena arena;
    if (!milvus->remote.ready)
        return;
    if (milvus->batch_count) {
        sr_timer_start(&milvus->cleanup, 1 + milvus->cleanup_ms / 10);
        return;
    }
    sr_arena_init(&arena, ANSWER);
    milvus->cleaning = sr_milvus_call(
        milvus, "Delete",
        sr_milvus_delete_expired(&arena, &milvus->place, (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS)),
        milvus->remote.limits.command_ms, true, cleanup_answered, cleanup_lost, NULL);
    if (!milvus->cleaning)
        sr_timer_start(&milvus->cleanup, milvus->cleanup_ms);
    sr_arena_dispose(&arena);
}
