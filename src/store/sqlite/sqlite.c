/*
 * The backend's thread: opens the file, gives what it has to the cache, writes what is queued in
 * transactions.
 *
 * Work that failed goes back to the front of the queue, so nothing is counted as written that is not on the
 * disk. While records are loaded, removals are written in between and also given to the cache: it may have
 * got a record that was removed from the file afterwards.
 */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/sqlite/db.h"
#include "store/sqlite/keys.h"
#include "store/sqlite/queue.h"

#include <errno.h>
#include <stdio.h>

#define BATCH       256u  /* works of a transaction */
#define LOAD_BATCH  64u   /* records between two looks at the queue */
#define RETRY_MS    1000u /* after an error */
#define EXPIRE_MS   30000u
#define CLOSE_MS    2000u
#define PATH_SUFFIX 16u

struct store {
    struct sr_cache_backend backend;
    struct sr_sqlite_options options;
    const struct sr_cache_backend_events *events;
    void *ctx;
    struct sr_sqlite_queue queue;
    pthread_t thread;
    atomic_uint_least64_t close_ns;
    /* The thread's: */
    struct sr_sqlite_db *db;
    bool loading, loaded, compact;
    int64_t rank, last_rank;
    uint64_t expire_ns;
    /* Both sides': */
    pthread_mutex_t lock;
    struct sr_cache_backend_health health;
};

/* ---- health ---- */

/* Sets state and message; logs a message that is new. */
static void report(struct store *store, enum sr_cache_backend_state state, const char *message)
{
    pthread_mutex_lock(&store->lock);
    bool new = strncmp(store->health.message, message, sizeof store->health.message - 1) != 0;
    store->health.state = state;
    snprintf(store->health.message, sizeof store->health.message, "%s", message);
    pthread_mutex_unlock(&store->lock);
    if (new &&message[0])
        sr_log(SR_LOG_WARN, "cache_store", "%s", message);
}

static void count(struct store *store, uint64_t *counter, size_t n)
{
    pthread_mutex_lock(&store->lock);
    *counter += n;
    pthread_mutex_unlock(&store->lock);
}

/* It works: a message of a state that has passed goes. */
static void report_ready(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    bool back = store->health.state == SR_CACHE_BACKEND_AWAY;
    store->health.state = store->loaded ? SR_CACHE_BACKEND_READY : SR_CACHE_BACKEND_STARTING;
    if (back)
        store->health.message[0] = 0;
    pthread_mutex_unlock(&store->lock);
    if (back)
        sr_log(SR_LOG_INFO, "cache_store", "%s: can be written again", store->options.path);
}

/* ---- the file ---- */

/* Gives a damaged file another name; one that has it already is lost. Where that fails it waits. */
static void move_aside(struct store *store, const char *why)
{
    static const char *const parts[] = {"", "-wal", "-journal"};
    const char *path = store->options.path;
    size_t size = strlen(path) + 2 * PATH_SUFFIX;
    char *from = sr_mem_alloc(size), *to = sr_mem_alloc(size), message[SR_ERR_MESSAGE_MAX];
    bool moved = from && to;
    for (size_t i = 0; moved && i < sizeof parts / sizeof *parts; i++) {
        snprintf(from, size, "%s%s", path, parts[i]);
        snprintf(to, size, "%s.damaged%s", path, parts[i]);
        moved = rename(from, to) == 0 || errno == ENOENT;
    }
    snprintf(message, sizeof message, "%s; %s", why,
             moved ? "it was renamed to *.damaged, and a new file was begun" : "it could not be renamed");
    sr_mem_free(from);
    sr_mem_free(to);
    store->loading = false;
    store->loaded = moved || store->loaded; /* a new file has nothing to load */
    report(store, moved ? SR_CACHE_BACKEND_READY : SR_CACHE_BACKEND_AWAY, message);
    if (!moved)
        sr_sqlite_queue_pause(&store->queue, sr_clock_ns() + RETRY_MS * SR_NS_PER_MS);
}

static void close_file(struct store *store)
{
    sr_sqlite_db_close(store->db);
    store->db = NULL;
    store->loading = false;
}

/* What to do about an error: try again later, with a new handle unless the disk is just full. */
static void handle_error(struct store *store, int rc, const char *what)
{
    char message[SR_ERR_MESSAGE_MAX];
    snprintf(message, sizeof message, "%s: %s", store->options.path, what);
    count(store, &store->health.errors, 1);
    if (rc != SR_ELIMIT)
        close_file(store);
    if (rc == SR_EPARSE) {
        move_aside(store, message);
    } else {
        report(store, SR_CACHE_BACKEND_AWAY, message);
        sr_sqlite_queue_pause(&store->queue, sr_clock_ns() + RETRY_MS * SR_NS_PER_MS);
    }
}

static void open_file(struct store *store)
{
    struct sr_sqlite_keys keys;
    struct sr_err err = {0};
    int rc = sr_sqlite_keys_read(&keys, store->options.key_file, &err);
    if (!rc)
        rc = sr_sqlite_db_open(&store->db, &store->options, &keys, &err);
    explicit_bzero(&keys, sizeof keys);
    if (rc == SR_EPARSE) {
        count(store, &store->health.errors, 1);
        move_aside(store, err.message);
    } else if (rc) {
        report(store, SR_CACHE_BACKEND_AWAY, err.message[0] ? err.message : sr_strerror(rc));
        sr_sqlite_queue_pause(&store->queue, sr_clock_ns() + RETRY_MS * SR_NS_PER_MS);
    }
}

static int64_t wall_ms(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

/* Deletes what has expired and what is over the limits. */
static int tidy(struct store *store)
{
    int rc = sr_sqlite_db_begin(store->db);
    if (!rc)
        rc = sr_sqlite_db_expire(store->db, wall_ms());
    if (!rc)
        rc = sr_sqlite_db_evict(store->db);
    if (!rc)
        rc = sr_sqlite_db_commit(store->db);
    if (rc)
        sr_sqlite_db_rollback(store->db);
    store->expire_ns = sr_clock_ns() + EXPIRE_MS * SR_NS_PER_MS;
    return rc;
}

/* After opening: a clean file within its limits, which is loaded the first time. */
static int begin_file(struct store *store)
{
    int rc = tidy(store);
    if (!rc)
        rc = sr_sqlite_db_compact(store->db);
    if (rc || store->loaded)
        return rc;
    store->loading = true;
    store->rank = INT64_MIN;
    return sr_sqlite_db_last_rank(store->db, &store->last_rank);
}

static void on_record(void *ctx, struct sr_cache_record *record)
{
    struct store *store = ctx;
    if (store->events && store->events->loaded)
        store->events->loaded(store->ctx, record);
}

static int load_some(struct store *store)
{
    size_t n = 0, bad = 0;
    int rc =
        sr_sqlite_db_load(store->db, &store->rank, store->last_rank, LOAD_BATCH, on_record, store, &n, &bad);
    count(store, &store->health.errors, bad);
    if (!rc && n < LOAD_BATCH) {
        store->loading = false;
        store->loaded = true;
    }
    return rc;
}

/* ---- work ---- */

static int apply_one(struct store *store, const struct sr_sqlite_work *work)
{
    switch (work->kind) {
    case SR_SQLITE_PUT:
        return sr_sqlite_db_put(store->db, work->record);
    case SR_SQLITE_USE:
        return sr_sqlite_db_use(store->db, &work->selector.exact);
    case SR_SQLITE_REMOVE:
        return sr_sqlite_db_remove(store->db, &work->selector);
    }
    return SR_OK;
}

/* Writes a list in one transaction. */
static int apply(struct store *store, const struct sr_sqlite_work *list)
{
    size_t puts = 0;
    bool removed = false;
    int rc = sr_sqlite_db_begin(store->db);
    for (const struct sr_sqlite_work *work = list; work && !rc; work = work->next) {
        rc = apply_one(store, work);
        puts += work->kind == SR_SQLITE_PUT;
        removed = removed || work->kind == SR_SQLITE_REMOVE;
    }
    if (!rc)
        rc = sr_sqlite_db_commit(store->db);
    if (rc) {
        sr_sqlite_db_rollback(store->db);
        return rc;
    }
    count(store, &store->health.written, puts);
    store->compact = store->compact || removed;
    for (const struct sr_sqlite_work *work = list; work && store->loading; work = work->next)
        if (work->kind == SR_SQLITE_REMOVE && store->events && store->events->removed)
            store->events->removed(store->ctx, &work->selector);
    return SR_OK;
}

static int write_queued(struct store *store)
{
    uint64_t now = sr_clock_ns();
    bool busy = store->loading || store->compact;
    struct sr_sqlite_work *list = sr_sqlite_queue_take(&store->queue, BATCH, busy ? now : store->expire_ns);
    int rc = list ? apply(store, list) : SR_OK;
    if (rc)
        sr_sqlite_queue_return(&store->queue, list);
    else
        sr_sqlite_work_free(list);
    if (!rc && store->compact && !list) { /* once for many removals */
        rc = sr_sqlite_db_compact(store->db);
        store->compact = rc != SR_OK;
    }
    return rc;
}

/* One step with an open file. */
static int step(struct store *store)
{
    int rc = write_queued(store);
    if (!rc && store->loading)
        rc = load_some(store);
    if (!rc && sr_clock_ns() >= store->expire_ns)
        rc = tidy(store);
    return rc;
}

/* True when the thread ends: it was asked to, and there is nothing to do any more or no time for it. */
static bool may_end(struct store *store)
{
    uint64_t until = atomic_load(&store->close_ns);
    return until && (!store->db || (!sr_sqlite_queue_has_work(&store->queue) && !store->compact) ||
                     sr_clock_ns() >= until);
}

static void *run(void *arg)
{
    struct store *store = arg;
    sr_thread_name("sr-store");
    do {
        int rc = SR_OK;
        if (!store->db) {
            open_file(store);
            if (store->db)
                rc = begin_file(store);
        } else {
            rc = step(store);
        }
        if (rc)
            handle_error(store, rc, store->db ? sr_sqlite_db_message(store->db) : sr_strerror(rc));
        else if (store->db)
            report_ready(store);
    } while (!may_end(store));
    close_file(store);
    return NULL;
}

/* ---- the backend ---- */

static struct store *store_of(struct sr_cache_backend *backend)
{
    return (struct store *)backend;
}

static void store_free(struct store *store)
{
    sr_sqlite_queue_dispose(&store->queue);
    pthread_mutex_destroy(&store->lock);
    sr_mem_free((char *)store->options.path);
    sr_mem_free((char *)store->options.key_file);
    sr_mem_free(store);
}

static void store_close(struct sr_cache_backend *backend)
{
    struct store *store = store_of(backend);
    atomic_store(&store->close_ns, sr_clock_ns() + CLOSE_MS * SR_NS_PER_MS);
    sr_sqlite_queue_close(&store->queue);
    pthread_join(store->thread, NULL);
    store_free(store);
}

static int store_put(struct sr_cache_backend *backend, struct sr_cache_record *record)
{
    struct store *store = store_of(backend);
    int rc = sr_sqlite_queue_put(&store->queue, record);
    if (rc)
        count(store, &store->health.dropped, 1);
    return rc;
}

static int store_remove(struct sr_cache_backend *backend, const struct sr_cache_selector *selector)
{
    struct store *store = store_of(backend);
    int rc = sr_sqlite_queue_select(&store->queue, SR_SQLITE_REMOVE, selector);
    if (rc) {
        count(store, &store->health.dropped, 1);
        sr_log(SR_LOG_ERROR, "cache_store", "%s: a removal was dropped: %s", store->options.path,
               sr_strerror(rc));
    }
    return rc;
}

static void store_used(struct sr_cache_backend *backend, const struct sr_cache_key *exact)
{
    struct store *store = store_of(backend);
    struct sr_cache_selector selector = {.exact = *exact};
    if (store->options.eviction == SR_CACHE_FIFO)
        return;
    int rc = sr_sqlite_queue_select(&store->queue, SR_SQLITE_USE, &selector);
    (void)rc; /* it only orders eviction */
}

static void store_health(struct sr_cache_backend *backend, struct sr_cache_backend_health *out)
{
    struct store *store = store_of(backend);
    pthread_mutex_lock(&store->lock);
    *out = store->health;
    pthread_mutex_unlock(&store->lock);
    out->queued = sr_sqlite_queue_puts(&store->queue);
}

static const struct sr_cache_backend_ops ops = {
    .name = "sqlite",
    .close = store_close,
    .put = store_put,
    .remove = store_remove,
    .used = store_used,
    .health = store_health,
};

int sr_sqlite_backend(struct sr_cache_backend **out, const struct sr_sqlite_options *options,
                      const struct sr_cache_backend_events *events, void *ctx, struct sr_err *err)
{
    *out = NULL;
    if (!options->path || !options->path[0])
        return sr_err_set(err, SR_EINVAL, "no path");
    struct store *store = sr_mem_calloc(1, sizeof *store);
    if (!store)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    store->backend.ops = &ops;
    store->events = events;
    store->ctx = ctx;
    sr_sqlite_queue_init(&store->queue);
    pthread_mutex_init(&store->lock, NULL);
    store->options = *options;
    store->options.path = sr_mem_dup(options->path, strlen(options->path));
    store->options.key_file =
        options->key_file ? sr_mem_dup(options->key_file, strlen(options->key_file)) : NULL;
    int rc = store->options.path && (store->options.key_file || !options->key_file) ? SR_OK : SR_ENOMEM;
    if (!rc && pthread_create(&store->thread, NULL, run, store))
        rc = SR_EIO;
    if (rc) {
        store_free(store);
        return sr_err_set(err, rc, rc == SR_ENOMEM ? "out of memory" : "no thread");
    }
    *out = &store->backend;
    return SR_OK;
}
