/*
 * From nothing to a loaded collection: has it, describe or create it, index, load, wait until it is loaded;
 * then news.c reads the removals.
 * A step that fails means that the server is away; the next attempt begins at the first step.
 */
#include "store/milvus/private.h"

#include <stdio.h>

#define ARENA   ((size_t)1 << 20)
#define POLL_MS 100

/* What a server may have, the best first. */
static const char *const INDEXES[] = {"HNSW", "AUTOINDEX", "FLAT"};

static void step_failed(struct sr_milvus *milvus, void *arg, int rc)
{
    (void)arg;
    if (rc != SR_ECLOSED)
        sr_remote_away(&milvus->remote, sr_strerror(rc));
}

/* One call of the setup; the arena holds its request and is disposed. */
static void step(struct sr_milvus *milvus, const char *method, struct sr_bytes request,
                 struct sr_arena *arena, sr_milvus_done *done)
{
    if (!sr_milvus_call(milvus, method, request, milvus->remote.limits.command_ms, false, done, step_failed,
                        NULL))
        sr_remote_away(&milvus->remote, "out of memory");
    sr_arena_dispose(arena);
}

static void load_poll(void *ctx);

static void load_polled(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    bool loaded;
    int rc;
    (void)arg;
    sr_arena_init(&arena, ARENA);
    rc = sr_milvus_load_state_read(&status, &loaded, &arena, answer);
    if (!sr_milvus_accepts(milvus, rc, &status, why)) {
        sr_remote_away(&milvus->remote, why);
    } else if (loaded) {
        if (milvus->cleanup_ms)
            sr_timer_start(&milvus->cleanup, milvus->cleanup_ms);
        sr_milvus_look(milvus);
    } else if (sr_loop_now(milvus->remote.loop) >= milvus->poll_until) {
        sr_remote_away(&milvus->remote, "the collection is still being loaded");
    } else {
        sr_timer_init(&milvus->poll, milvus->remote.loop, load_poll, milvus);
        sr_timer_start(&milvus->poll, POLL_MS);
    }
    sr_arena_dispose(&arena);
}

static void load_poll(void *ctx)
{
    struct sr_milvus *milvus = ctx;
    struct sr_arena arena;
    sr_arena_init(&arena, ARENA);
    step(milvus, "GetLoadState", sr_milvus_load_state(&arena, &milvus->place), &arena, load_polled);
}

static void load_asked(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    (void)arg;
    sr_arena_init(&arena, ARENA);
    if (!sr_milvus_accepts(milvus, sr_milvus_status_read(&status, &arena, answer), &status, why)) {
        sr_remote_away(&milvus->remote, why);
    } else {
        milvus->poll_until =
            sr_loop_now(milvus->remote.loop) + 6 * (uint64_t)milvus->remote.limits.command_ms;
        load_poll(milvus);
    }
    sr_arena_dispose(&arena);
}

static void load(struct sr_milvus *milvus)
{
    struct sr_arena arena;
    sr_arena_init(&arena, ARENA);
    step(milvus, "LoadCollection", sr_milvus_load(&arena, &milvus->place), &arena, load_asked);
}

static void index_make(struct sr_milvus *milvus);

/* An index that is refused is followed by a plainer one. */
static void index_made(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    int rc;
    (void)arg;
    sr_arena_init(&arena, ARENA);
    rc = sr_milvus_status_read(&status, &arena, answer);
    if (rc == SR_OK && !status.code)
        load(milvus);
    else if (rc == SR_OK && !status.retriable && ++milvus->index_kind < sizeof INDEXES / sizeof *INDEXES)
        index_make(milvus);
    else if (!sr_milvus_accepts(milvus, rc, &status, why))
        sr_remote_away(&milvus->remote, why);
    sr_arena_dispose(&arena);
}

static void index_make(struct sr_milvus *milvus)
{
    struct sr_arena arena;
    sr_arena_init(&arena, ARENA);
    step(milvus, "CreateIndex", sr_milvus_index(&arena, &milvus->place, INDEXES[milvus->index_kind]), &arena,
         index_made);
}

static void index_described(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    bool found;
    int rc;
    (void)arg;
    sr_arena_init(&arena, ARENA);
    rc = sr_milvus_describe_index_read(&status, &found, &arena, &milvus->place, answer);
    if (rc != SR_OK)
        (void)sr_milvus_accepts(milvus, rc, &status, why);
    else if (found)
        load(milvus);
    else
        index_make(milvus); /* a server without an index says so with an error */
    sr_arena_dispose(&arena);
}

static void described(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    (void)arg;
    sr_arena_init(&arena, ARENA);
    if (!sr_milvus_accepts(milvus, sr_milvus_describe_read(&status, &arena, &milvus->place, answer), &status,
                           why)) {
        sr_remote_away(&milvus->remote, why);
    } else {
        struct sr_arena next;
        sr_arena_init(&next, ARENA);
        step(milvus, "DescribeIndex", sr_milvus_describe_index(&next, &milvus->place), &next,
             index_described);
    }
    sr_arena_dispose(&arena);
}

static void created(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena;
    char why[160];
    (void)arg;
    sr_arena_init(&arena, ARENA);
    if (sr_milvus_accepts(milvus, sr_milvus_status_read(&status, &arena, answer), &status, why))
        index_make(milvus);
    else
        sr_remote_away(&milvus->remote, why);
    sr_arena_dispose(&arena);
}

static void asked(struct sr_milvus *milvus, void *arg, struct sr_bytes answer)
{
    struct sr_milvus_status status;
    struct sr_arena arena, next;
    char why[160];
    bool has = false;
    int rc;
    (void)arg;
    sr_arena_init(&arena, ARENA);
    sr_arena_init(&next, ARENA);
    rc = sr_milvus_has_read(&status, &has, &arena, answer);
    if (rc == SR_OK && status.code == SR_MILVUS_NO_COLLECTION)
        status.code = 0;
    if (!sr_milvus_accepts(milvus, rc, &status, why))
        sr_remote_away(&milvus->remote, why);
    else if (has)
        step(milvus, "DescribeCollection", sr_milvus_describe(&next, &milvus->place), &next, described);
    else
        step(milvus, "CreateCollection", sr_milvus_create(&next, &milvus->place), &next, created);
    sr_arena_dispose(&arena);
}

void sr_milvus_connect(struct sr_remote *remote)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    struct sr_arena arena;
    milvus->index_kind = 0;
    milvus->late = 0;
    sr_arena_init(&arena, ARENA);
    step(milvus, "HasCollection", sr_milvus_has(&arena, &milvus->place), &arena, asked);
}

void sr_milvus_setup_reset(struct sr_milvus *milvus)
{
    sr_timer_stop(&milvus->poll);
}
