/*
 * sr_runtime: opens and reloads configurations, and owns what outlives them. Its metrics are read in
 * runtime_metrics.c.
 *
 * The router's pointer is read and swapped under one short lock; nothing slow happens while it is held.
 */
#include "router/runtime.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "base/version.h"
#include "config/load.h"
#include "limit/limiter.h"
#include "router/abi.h"
#include "router/loaded.h"
#include "router/logs.h"
#include "router/report/access_log.h"
#include "router/report/access_text.h"
#include "router/report/batch_span.h"
#include "select/state/keep.h"
#include "signal/consult/consult.h"
#include "trace/context.h"

#include <stdio.h>

#define CONFIG_READ_MS 10000
/* Most jobs that wait for a worker thread; above it signals report SR_EBUSY and requests degrade. */
#define WORKER_QUEUE_MAX 4096
#define LIVE_ENTRIES     4096 /* requests that a follower may lag behind */
#define LIVE_BYTES       ((size_t)16 << 20)
#define TOLD             1024 /* clients that were told to come back later; others share */

struct sr_runtime {
    char *path; /* NULL: the built-in configuration */
    struct sr_runtime_options options;
    pthread_mutex_t lock;   /* protects now and workers */
    pthread_mutex_t scrape; /* one reader of the metrics at a time; taken before `lock` */
    struct sr_loaded now;
    struct sr_logs logs;
    struct sr_workers *workers;
    bool workers_chosen;
    struct sr_metrics *metrics;
    struct sr_model_store *models; /* open model files, kept over reloads */
    struct sr_consults *consults;  /* of signals to models */
    struct sr_tokens *tokens;      /* of prompts, for policies that pick workers */
    struct sr_pool *pool;          /* every worker of every configuration */
    struct sr_limiter *limiter;    /* counters of limits, kept over reloads */
    struct sr_select_arms *arms;   /* what algorithms learn */
    struct sr_holds *holds;        /* which models conversations have */
    struct sr_arms_keeper *keeper; /* NULL: no file keeps it */
    struct sr_cache *cache;        /* answers, whatever configuration they came from */
    struct sr_cache *responses;    /* conversations of Responses */
    struct sr_history *kept, *live;
    struct sr_followers *followers; /* of `live` */
    atomic_uint_fast64_t requests;
    atomic_size_t held;              /* bytes of bodies that exchanges keep */
    atomic_uint_fast64_t told[TOLD]; /* until when; 0: not told */
    uint64_t seed;
    sr_spans_sink *spans; /* NULL: no spans are made */
    void *spans_ctx;
    struct sr_reload_state reload; /* under `lock` */
};

static int64_t now_us(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US);
}

static void say(char *error, size_t size, const char *text)
{
    if (error && size)
        snprintf(error, size, "%s", text);
}

/* What the API has opened stays open when the configuration is loaded again. That a model is missing now is
 * no mistake of the configuration: the API's next call says so. */
static void keep_opened(sr_runtime *runtime, struct sr_loaded *out)
{
    struct sr_err err = {0};
    pthread_mutex_lock(&runtime->lock);
    bool encoder = runtime->now.encoder && !out->encoder;
    struct sr_router *router = runtime->now.router ? sr_router_ref(runtime->now.router) : NULL;
    pthread_mutex_unlock(&runtime->lock);
    if (encoder && sr_loaded_encoder(out, out->router->config, runtime->models, &err)) {
        sr_encoder_unref(out->encoder);
        out->encoder = NULL;
    }
    if (router && sr_router_has_readers(router))
        (void)sr_router_readers(out->router);
    sr_router_unref(router);
}

/* Loads and opens all that the configuration names. On an error nothing that runs has changed; it does not
 * change either before commit(). */
static int load(sr_runtime *runtime, struct sr_loaded *out, char *error, size_t size)
{
    struct sr_loading in = {
        .path = runtime->path,
        .options = &runtime->options,
        .models = runtime->models,
        .pool = runtime->pool,
        .arms = runtime->arms,
        .holds = runtime->holds,
        .first = !runtime->now.router, /* set by this thread alone */
    };
    struct sr_err err = {0};
    sr_model_store_begin(runtime->models);
    int rc = sr_load(&in, out, error, size);
    if (rc == SR_OK && (rc = sr_logs_apply(&runtime->logs, out->router->config, &err))) {
        say(error, size, err.message);
        sr_unload(out);
    }
    if (rc)
        sr_model_store_cancel(runtime->models);
    return rc;
}

/* What a loaded configuration says of the models, the engine and the memo is in force from now on. */
static void commit(sr_runtime *runtime, struct sr_loaded *loaded)
{
    keep_opened(runtime, loaded);
    sr_memo_resize(sr_model_store_memo(runtime->models), loaded->router->config->global.guards.memo_bytes);
    sr_model_store_sweep(runtime->models);
}

/* The file of what algorithms learn. One that cannot be read stays as it is, and nothing is kept: learning
 * goes on all the same. */
static void apply_keeper(sr_runtime *runtime, const struct sr_config *config)
{
    const char *wanted = config->global.selection_state;
    const char *now = runtime->keeper ? sr_arms_keeper_path(runtime->keeper) : "";
    struct sr_err err = {0};
    if (strcmp(wanted ? wanted : "", now) == 0)
        return;
    sr_arms_keeper_close(runtime->keeper);
    runtime->keeper = NULL;
    if (wanted && *wanted && sr_arms_keep(&runtime->keeper, runtime->arms, wanted, &err))
        sr_log(SR_LOG_WARN, "selection_state_failed", "%s; what is learned is not kept", err.message);
}

static int apply_history(sr_runtime *runtime, const struct sr_config *config)
{
    const struct sr_config_replay *replay = &config->global.replay;
    struct sr_history_limits limits = {
        .max_entries = replay->entries, .max_bytes = replay->max_bytes, .ttl_ms = replay->ttl_s * 1000};
    return sr_history_set(runtime->kept, &limits);
}

static struct sr_cache_limits cache_limits(const struct sr_router *router)
{
    static const enum sr_cache_eviction evictions[] = {
        [SR_ORDER_FIFO] = SR_CACHE_FIFO, [SR_ORDER_LRU] = SR_CACHE_LRU, [SR_ORDER_LFU] = SR_CACHE_LFU};
    const struct sr_config_cache *cache = &router->config->global.cache;
    return (struct sr_cache_limits){
        .max_entries = router->caches ? cache->max_entries : 0,
        .max_bytes = cache->max_bytes,
        .eviction = evictions[cache->eviction],
        .dimensions = router->cache_reader ? sr_embedding_reader_dimensions(router->cache_reader) : 0,
    };
}

static struct sr_cache_limits responses_limits(const struct sr_config *config)
{
    const struct sr_config_responses *responses = &config->global.responses;
    return (struct sr_cache_limits){.max_entries = responses->enabled ? responses->max_entries : 0,
                                    .max_bytes = responses->max_bytes,
                                    .eviction = SR_CACHE_LRU};
}

/* On a thread of the engine. */
static void on_batch(void *ctx, const struct sr_infer_batch *batch)
{
    sr_runtime *runtime = ctx;
    uint8_t trace[SR_TRACE_ID_SIZE], span[SR_TRACE_ID_SIZE];
    struct sr_buf out;
    if (!sr_batch_is_kept(batch))
        return;
    sr_runtime_unique(runtime, trace);
    sr_runtime_unique(runtime, span);
    sr_buf_init(&out, SR_BATCH_SPAN_MAX);
    int rc = sr_batch_span(batch, trace, span, sr_clock_wall_ns() - sr_clock_ns(), &out);
    pthread_mutex_lock(&runtime->lock);
    if (rc == SR_OK)
        sr_runtime_spans(runtime, sr_buf_view(&out), 1);
    pthread_mutex_unlock(&runtime->lock);
    sr_buf_dispose(&out);
}

sr_runtime *sr_runtime_open(const char *path, const struct sr_runtime_options *options, char *error,
                            size_t error_size)
{
    sr_runtime *runtime = sr_mem_calloc(1, sizeof *runtime);
    if (!runtime) {
        say(error, error_size, "out of memory");
        return NULL;
    }
    pthread_mutex_init(&runtime->lock, NULL);
    pthread_mutex_init(&runtime->scrape, NULL);
    sr_logs_init(&runtime->logs, &runtime->options);
    if (options && !sr_abi_take(&runtime->options, sizeof runtime->options,
                                SR_ABI_UP_TO(struct sr_runtime_options, log_ctx), options)) {
        say(error, error_size, "the options are of another version, or their struct_size is not set");
        goto failed;
    }
    const struct sr_bytes results[] = {SR_LIT("success"), SR_LIT("error")};
    struct sr_bytes version = sr_bytes_str(sr_version_text);
    if (path && !(runtime->path = sr_mem_dup(path, strlen(path))))
        goto no_memory;
    if (sr_random(&runtime->seed, sizeof runtime->seed) || sr_metrics_new(&runtime->metrics) ||
        sr_model_store_new(&runtime->models, runtime->metrics) || sr_pool_new(&runtime->pool) ||
        sr_arms_new(&runtime->arms) || sr_holds_new(&runtime->holds) ||
        sr_tokens_new(&runtime->tokens, runtime->metrics) || sr_consults_new(&runtime->consults) ||
        sr_history_new(&runtime->kept) || sr_history_new(&runtime->live) ||
        sr_followers_new(&runtime->followers))
        goto no_memory;
    runtime->logs.metrics = runtime->metrics;
    sr_model_store_set_batch(runtime->models, on_batch, runtime);
    if (load(runtime, &runtime->now, error, error_size))
        goto failed;
    commit(runtime, &runtime->now);
    struct sr_cache_limits limits = cache_limits(runtime->now.router);
    const struct sr_config_limits *counted = &runtime->now.router->config->global.limits;
    struct sr_cache_limits kept = responses_limits(runtime->now.router->config);
    if (sr_cache_new(&runtime->cache, &limits) || sr_cache_new(&runtime->responses, &kept) ||
        sr_limiter_new(&runtime->limiter, counted->max_counters))
        goto no_memory;
    if (apply_history(runtime, runtime->now.router->config))
        goto no_memory;
    apply_keeper(runtime, runtime->now.router->config);
    runtime->reload.loaded_us = now_us();
    sr_metrics_set(runtime->metrics, SR_METRIC_BUILD_INFO, 1, &version);
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) /* increase() sees the first of each */
        sr_metrics_add(runtime->metrics, SR_METRIC_CONFIG_RELOADS, 0, &results[i]);
    return runtime;
no_memory:
    say(error, error_size, "out of memory");
failed:
    sr_runtime_close(runtime);
    return NULL;
}

static void note_reload(sr_runtime *runtime, const char *failure)
{
    pthread_mutex_lock(&runtime->lock);
    struct sr_reload_state *state = &runtime->reload;
    state->tried_us = now_us();
    state->failed = failure != NULL;
    if (!failure)
        state->loaded_us = state->tried_us;
    snprintf(state->message, sizeof state->message, "%s", failure ? failure : "");
    pthread_mutex_unlock(&runtime->lock);
}

void sr_runtime_reload_state(sr_runtime *runtime, struct sr_reload_state *out)
{
    pthread_mutex_lock(&runtime->lock);
    *out = runtime->reload;
    pthread_mutex_unlock(&runtime->lock);
}

bool sr_runtime_reload(sr_runtime *runtime, char *error, size_t error_size)
{
    struct sr_loaded fresh, old;
    struct sr_bytes result = SR_LIT("error");
    if (load(runtime, &fresh, error, error_size)) {
        note_reload(runtime, error && error_size ? error : "");
        sr_metrics_add(runtime->metrics, SR_METRIC_CONFIG_RELOADS, 1, &result);
        return false;
    }
    commit(runtime, &fresh);
    if (apply_history(runtime, fresh.router->config)) /* before a request makes a record */
        sr_log(SR_LOG_ERROR, "replay", "out of memory: the limits of records stay as they were");
    pthread_mutex_lock(&runtime->lock);
    old = runtime->now;
    runtime->now = fresh;
    pthread_mutex_unlock(&runtime->lock);
    apply_keeper(runtime, fresh.router->config);
    struct sr_cache_limits limits = cache_limits(fresh.router);
    sr_cache_set(runtime->cache, &limits);
    struct sr_cache_limits kept = responses_limits(fresh.router->config);
    sr_cache_set(runtime->responses, &kept);
    result = SR_LIT("success");
    note_reload(runtime, NULL);
    sr_metrics_add(runtime->metrics, SR_METRIC_CONFIG_RELOADS, 1, &result);
    sr_unload(&old);
    return true;
}

void sr_runtime_close(sr_runtime *runtime)
{
    if (!runtime)
        return;
    sr_workers_free(runtime->workers);
    sr_logs_dispose(&runtime->logs);
    sr_unload(&runtime->now);
    sr_arms_keeper_close(runtime->keeper);
    sr_arms_free(runtime->arms);
    sr_holds_free(runtime->holds);
    sr_cache_free(runtime->cache);
    sr_cache_free(runtime->responses);
    sr_limiter_free(runtime->limiter);
    sr_history_free(runtime->kept);
    sr_history_free(runtime->live);
    sr_followers_free(runtime->followers);
    sr_model_store_free(runtime->models);
    sr_pool_free(runtime->pool);
    sr_tokens_free(runtime->tokens);
    sr_consults_free(runtime->consults);
    sr_metrics_free(runtime->metrics);
    pthread_mutex_destroy(&runtime->scrape);
    pthread_mutex_destroy(&runtime->lock);
    sr_mem_free(runtime->path);
    sr_mem_free(runtime);
}

struct sr_cache *sr_runtime_cache(sr_runtime *runtime)
{
    return runtime->cache;
}

struct sr_cache *sr_runtime_responses(sr_runtime *runtime)
{
    return runtime->responses;
}

struct sr_consults *sr_runtime_consults(sr_runtime *runtime)
{
    return runtime->consults;
}

struct sr_tokens *sr_runtime_tokens(sr_runtime *runtime)
{
    return runtime->tokens;
}

struct sr_limiter *sr_runtime_limiter(sr_runtime *runtime)
{
    return runtime->limiter;
}

struct sr_select_arms *sr_runtime_arms(sr_runtime *runtime)
{
    return runtime->arms;
}

struct sr_history *sr_runtime_kept(sr_runtime *runtime)
{
    return runtime->kept;
}

struct sr_history *sr_runtime_live(sr_runtime *runtime)
{
    return runtime->live;
}

struct sr_followers *sr_runtime_followers(sr_runtime *runtime)
{
    return runtime->followers;
}

void sr_runtime_begin_scrape(sr_runtime *runtime)
{
    pthread_mutex_lock(&runtime->scrape);
}

void sr_runtime_end_scrape(sr_runtime *runtime)
{
    pthread_mutex_unlock(&runtime->scrape);
}

/* With the lock `scrape`: one begins or ends at a time. */
static void size_live(sr_runtime *runtime)
{
    static const struct sr_history_limits some = {.max_entries = LIVE_ENTRIES, .max_bytes = LIVE_BYTES},
                                          none = {0};
    if (sr_history_set(runtime->live, sr_followers_count(runtime->followers) ? &some : &none))
        sr_log(SR_LOG_WARN, "followers", "out of memory: requests cannot be followed");
}

int sr_runtime_follow(sr_runtime *runtime, const struct sr_history_filter *filter, unsigned *number)
{
    pthread_mutex_lock(&runtime->scrape);
    int rc = sr_followers_join(runtime->followers, filter, number);
    size_live(runtime);
    pthread_mutex_unlock(&runtime->scrape);
    return rc;
}

void sr_runtime_unfollow(sr_runtime *runtime, unsigned number)
{
    pthread_mutex_lock(&runtime->scrape);
    sr_followers_leave(runtime->followers, number);
    size_live(runtime);
    pthread_mutex_unlock(&runtime->scrape);
}

struct sr_pool *sr_runtime_pool(sr_runtime *runtime)
{
    return runtime->pool;
}

struct sr_router *sr_runtime_router(sr_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    struct sr_router *router = sr_router_ref(runtime->now.router);
    pthread_mutex_unlock(&runtime->lock);
    return router;
}

int sr_runtime_config_text(sr_runtime *runtime, struct sr_buf *out, struct sr_err *err)
{
    char revision[sizeof((struct sr_config *)0)->revision];
    const struct sr_config *config = sr_runtime_config(runtime);
    int rc = runtime->path ? sr_read_file(out, runtime->path, CONFIG_READ_MS, err)
                           : sr_buf_append_bytes(out, sr_config_builtin_text());
    snprintf(revision, sizeof revision, "%016llx", (unsigned long long)sr_hash64(sr_buf_view(out), 0));
    if (rc == SR_OK && strcmp(revision, config->revision) != 0)
        rc = sr_err_set(err, SR_EBUSY, "the file is no more the one that was loaded");
    sr_config_unref(config);
    return rc;
}

int sr_runtime_draft(sr_runtime *runtime, struct sr_bytes routing, struct sr_pool *pool,
                     struct sr_router **out, struct sr_problems *problems, struct sr_err *err)
{
    struct sr_load_options how = {.routing = routing, .lenient = runtime->options.lenient, .draft = true};
    const struct sr_config *config = NULL;
    struct sr_buf text;
    sr_buf_init(&text, SR_CONFIG_TEXT_MAX);
    *out = NULL;
    int rc = sr_runtime_config_text(runtime, &text, err);
    if (rc == SR_OK)
        rc = sr_config_load_text(&config, sr_buf_view(&text), "draft", how, problems);
    if (rc == SR_OK)
        rc = sr_router_new(out, config, runtime->models, pool, err);
    sr_buf_dispose(&text);
    return rc;
}

struct sr_encoder *sr_runtime_encoder(sr_runtime *runtime, struct sr_infer **infer)
{
    struct sr_loaded fresh = {0};
    struct sr_err err = {0};
    *infer = NULL;
    if (!runtime->options.encoder)
        return NULL;
    pthread_mutex_lock(&runtime->lock);
    struct sr_router *router = sr_router_ref(runtime->now.router);
    struct sr_encoder *encoder = runtime->now.encoder ? sr_encoder_ref(runtime->now.encoder) : NULL;
    *infer = runtime->now.infer;
    pthread_mutex_unlock(&runtime->lock);
    if (!encoder && sr_loaded_encoder(&fresh, router->config, runtime->models, &err))
        sr_log(SR_LOG_WARN, "encoder_failed", "%s", err.message);
    if (fresh.encoder && fresh.infer) {
        encoder = sr_encoder_ref(fresh.encoder);
        *infer = fresh.infer;
        pthread_mutex_lock(&runtime->lock);
        if (runtime->now.router == router && !runtime->now.encoder) {
            runtime->now.encoder = fresh.encoder;
            runtime->now.infer = fresh.infer;
            fresh.encoder = NULL;
        }
        pthread_mutex_unlock(&runtime->lock);
    }
    sr_encoder_unref(fresh.encoder);
    sr_router_unref(router);
    return encoder;
}

bool sr_runtime_hold(sr_runtime *runtime, size_t n, size_t own, size_t limit)
{
    size_t all = atomic_fetch_add(&runtime->held, n) + n;
    if (all + own <= limit || all == own)
        return true;
    atomic_fetch_sub(&runtime->held, n);
    return false;
}

void sr_runtime_release(sr_runtime *runtime, size_t n)
{
    atomic_fetch_sub(&runtime->held, n);
}

struct sr_runtime_work sr_runtime_work(sr_runtime *runtime)
{
    struct sr_runtime_work work = {.held = atomic_load(&runtime->held)};
    pthread_mutex_lock(&runtime->lock);
    if (runtime->workers)
        work.queued = sr_workers_stats(runtime->workers).queued;
    pthread_mutex_unlock(&runtime->lock);
    return work;
}

uint64_t sr_runtime_rest_ns(sr_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    uint64_t read_ns = runtime->workers ? sr_workers_stats(runtime->workers).rest_ns : 0;
    pthread_mutex_unlock(&runtime->lock);
    return read_ns + sr_model_store_rest_ns(runtime->models);
}

void sr_runtime_tell(sr_runtime *runtime, uint64_t client, uint64_t until_ns)
{
    atomic_store(&runtime->told[client % TOLD], until_ns);
}

uint64_t sr_runtime_told(const sr_runtime *runtime, uint64_t client)
{
    return atomic_load(&runtime->told[client % TOLD]);
}

const struct sr_config *sr_runtime_config(sr_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    const struct sr_config *config = sr_config_ref(runtime->now.router->config);
    pthread_mutex_unlock(&runtime->lock);
    return config;
}

struct sr_metrics *sr_runtime_metrics_table(sr_runtime *runtime)
{
    return runtime->metrics;
}

void sr_runtime_open_ahead(sr_runtime *runtime)
{
    struct sr_router *router = sr_runtime_router(runtime);
    sr_router_open_ahead(router);
    sr_router_unref(router);
}

struct sr_workers *sr_runtime_workers(sr_runtime *runtime)
{
    pthread_mutex_lock(&runtime->lock);
    if (!runtime->workers_chosen) {
        runtime->workers_chosen = true;
        const struct sr_config_global *global = &runtime->now.router->config->global;
        int loops, workers = runtime->options.workers;
        if (workers == 0)
            sr_cpu_split(global->loops, global->workers, &loops, &workers);
        if (workers > 0 && sr_workers_new(&runtime->workers, workers, WORKER_QUEUE_MAX))
            runtime->workers = NULL;
    }
    struct sr_workers *workers = runtime->workers;
    pthread_mutex_unlock(&runtime->lock);
    return workers;
}

enum sr_log_form sr_runtime_log_form(sr_runtime *runtime)
{
    return sr_logs_form(&runtime->logs);
}

bool sr_runtime_wants_log(sr_runtime *runtime)
{
    return sr_logs_want(&runtime->logs, SR_LOG_ACCESS);
}

bool sr_runtime_wants_audit(sr_runtime *runtime)
{
    return sr_logs_want(&runtime->logs, SR_LOG_AUDIT);
}

void sr_runtime_log_line(sr_runtime *runtime, struct sr_bytes line)
{
    sr_logs_write(&runtime->logs, SR_LOG_ACCESS, line);
}

void sr_runtime_log_refused(sr_runtime *runtime, enum sr_door door, struct sr_bytes peer, int status,
                            const char *reason)
{
    struct sr_buf line;
    if (!sr_runtime_wants_log(runtime))
        return;
    sr_buf_init(&line, SR_ACCESS_LOG_MAX);
    enum sr_log_form form = sr_runtime_log_form(runtime);
    int rc = form == SR_LOG_JSON
                 ? sr_access_log_refused(door, peer, status, reason, &line)
                 : sr_access_text_refused(door, peer, status, reason, form == SR_LOG_COLOURED, &line);
    if (rc == SR_OK)
        sr_runtime_log_line(runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

void sr_runtime_audit_line(sr_runtime *runtime, struct sr_bytes line)
{
    sr_logs_write(&runtime->logs, SR_LOG_AUDIT, line);
}

void sr_runtime_set_spans(sr_runtime *runtime, sr_spans_sink *sink, void *ctx)
{
    pthread_mutex_lock(&runtime->lock); /* the engine's threads may be at work */
    runtime->spans = sink;
    runtime->spans_ctx = ctx;
    pthread_mutex_unlock(&runtime->lock);
}

bool sr_runtime_wants_spans(const sr_runtime *runtime)
{
    return runtime->spans != NULL;
}

void sr_runtime_spans(sr_runtime *runtime, struct sr_bytes spans, size_t n)
{
    if (runtime->spans)
        runtime->spans(runtime->spans_ctx, spans, n);
}

void sr_runtime_unique(sr_runtime *runtime, uint8_t out[16])
{
    uint64_t number = atomic_fetch_add_explicit(&runtime->requests, 1, memory_order_relaxed);
    struct sr_bytes bytes = sr_bytes_of(&number, sizeof number);
    uint64_t halves[2] = {sr_hash64(bytes, runtime->seed), sr_hash64(bytes, ~runtime->seed)};
    memcpy(out, halves, sizeof halves);
}

void sr_runtime_request_id(sr_runtime *runtime, char out[SR_REQUEST_ID_SIZE])
{
    uint8_t id[16];
    sr_runtime_unique(runtime, id);
    sr_hex_write(id, sizeof id, out);
}

const char *sr_version(void)
{
    return sr_version_text;
}
