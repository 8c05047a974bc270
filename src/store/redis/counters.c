/*
 * The remote of limits: its thread, its one connection, queries and changes as messages to the loop.
 *
 * All but take and change runs on the thread.
 */
#include "store/redis/counters.h"

#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "net/loop/loop.h"
#include "store/redis/counters_script.h"
#include "store/redis/wire.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define PORT         6379
#define RETRY_MIN_MS 100u
#define RETRY_MAX_MS 5000u
#define CONNECT_MS   2000u
#define COMMAND_MAX  ((size_t)64 << 10)

struct counters {
    struct sr_limit_remote head; /* first */
    struct sr_loop *loop;
    pthread_t thread;
    struct sr_message stop;
    struct sr_timer retry;
    struct sr_redis_wire *wire;
    struct sr_redis_wire_options to;
    char *host, *user, *password, *prefix;
    unsigned attempts;
    bool up, closing;
    atomic_size_t waiting;
};

/* Changes on their way to the thread. */
struct changes {
    struct sr_message message;
    struct counters *counters;
    size_t n;
    struct sr_limit_change items[];
};

/* ---- commands ---- */

static int eval(struct counters *c, const char *script, struct sr_buf *lines, sr_redis_done *done, void *arg)
{
    struct sr_bytes argv[] = {SR_LIT("EVAL"), sr_bytes_str(script), SR_LIT("0"), sr_buf_view(lines)};
    return sr_redis_wire_send(c->wire, done, arg, argv, sizeof argv / sizeof argv[0]);
}

/* The worst counter: of those without room the one that waits longest, else the one with the least room. */
int sr_redis_counters_read(const struct sr_resp *reply, const struct sr_limit *limits, size_t n,
                           struct sr_limit_result *result)
{
    if (!reply || reply->type != SR_RESP_ARRAY || reply->count != 2 + 3 * n)
        return SR_EPROTO;
    for (size_t i = 0; i < reply->count; i++)
        if (reply->items[i]->type != SR_RESP_INTEGER)
            return SR_EPROTO;
    *result = (struct sr_limit_result){.allowed = reply->items[0]->integer == 1,
                                       .now_ms = (uint64_t)reply->items[1]->integer};
    for (size_t i = 0; i < n; i++) {
        struct sr_resp *const *at = &reply->items[2 + 3 * i];
        int64_t sum = at[0]->integer, wait = at[1]->integer, reset = at[2]->integer;
        bool full = wait != 0;
        uint64_t retry = wait < 0 ? UINT64_MAX : (uint64_t)wait;
        if (sum < 0 || sum > INT64_MAX / 4)
            return SR_EPROTO;
        int64_t remaining = limits[i].max - sum - (result->allowed ? limits[i].cost : 0);
        if (i && (result->allowed ? remaining >= result->remaining : !full || retry <= result->retry_ms))
            continue;
        result->which = i;
        result->remaining = remaining > 0 ? remaining : 0;
        result->retry_ms = result->allowed ? 0 : retry;
        result->reset_ms = reset > 0 ? (uint64_t)reset : 0;
    }
    return SR_OK;
}

/* ---- queries ---- */

static void query_end(struct counters *c, struct sr_limit_query *query, int status)
{
    atomic_fetch_sub(&c->waiting, 1);
    (void)sr_task_complete(&query->task, status);
}

static void query_replied(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_limit_query *query = arg;
    int rc = reply ? sr_redis_counters_read(reply, query->limits, query->n, &query->result) : SR_ECLOSED;
    if (reply && reply->type == SR_RESP_ERROR)
        sr_log(SR_LOG_WARN, "limit_store", "Redis refuses to count: %.*s",
               (int)(reply->text.n < 200 ? reply->text.n : 200), reply->text.p);
    query_end(ctx, query, rc);
}

static int put_limits(const struct counters *c, const struct sr_limit_query *query, struct sr_buf *lines)
{
    char key[2 * sizeof(struct sr_limit_key) + 1];
    int rc = SR_OK;
    for (size_t i = 0; i < query->n && !rc; i++) {
        const struct sr_limit *limit = &query->limits[i];
        sr_hex_write(limit->key.bytes, sizeof limit->key.bytes, key);
        rc = sr_buf_printf(lines, "%s%s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", c->prefix, key,
                           limit->max, limit->cost, sr_window_part_ms(limit->unit_ms), limit->ends_ms);
    }
    return rc;
}

static void query_run(struct sr_message *message, bool closed)
{
    struct sr_limit_query *query =
        (struct sr_limit_query *)((char *)message - offsetof(struct sr_limit_query, message));
    struct counters *c = query->remote;
    struct sr_buf lines;
    if (closed || !c->up) {
        query_end(c, query, SR_ECLOSED);
        return;
    }
    sr_buf_init(&lines, COMMAND_MAX);
    int rc = put_limits(c, query, &lines);
    if (!rc)
        rc = eval(c, sr_redis_counters_take, &lines, query_replied, query);
    sr_buf_dispose(&lines);
    if (rc)
        query_end(c, query, rc);
}

/* Has room for one more on its way. */
static bool enters(struct counters *c)
{
    if (atomic_fetch_add(&c->waiting, 1) < SR_REDIS_COUNTERS_WAITING_MAX)
        return true;
    atomic_fetch_sub(&c->waiting, 1);
    return false;
}

static void counters_take(struct sr_limit_remote *remote, struct sr_limit_query *query)
{
    struct counters *c = (struct counters *)remote;
    (void)sr_task_ref(&query->task);
    if (!enters(c)) {
        (void)sr_task_complete(&query->task, SR_EBUSY);
        return;
    }
    query->remote = c;
    query->message.run = query_run;
    if (sr_loop_post(c->loop, &query->message))
        query_end(c, query, SR_ECLOSED);
}

/* ---- changes ---- */

static void changed(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct counters *c = ctx;
    (void)arg;
    if (reply && reply->type == SR_RESP_ERROR)
        sr_log(SR_LOG_WARN, "limit_store", "Redis refuses to settle: %.*s",
               (int)(reply->text.n < 200 ? reply->text.n : 200), reply->text.p);
    atomic_fetch_sub(&c->waiting, 1);
}

static int put_changes(const struct changes *changes, struct sr_buf *lines)
{
    char key[2 * sizeof(struct sr_limit_key) + 1];
    int rc = SR_OK;
    for (size_t i = 0; i < changes->n && !rc; i++) {
        const struct sr_limit_change *change = &changes->items[i];
        sr_hex_write(change->key.bytes, sizeof change->key.bytes, key);
        rc = sr_buf_printf(lines, "%s%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 "\n",
                           changes->counters->prefix, key, sr_window_part_ms(change->unit_ms),
                           change->ends_ms, change->then_ms, change->more, change->less);
    }
    return rc;
}

static void changes_run(struct sr_message *message, bool closed)
{
    struct changes *changes = (struct changes *)message;
    struct counters *c = changes->counters;
    struct sr_buf lines;
    int rc = closed || !c->up ? SR_ECLOSED : SR_OK;
    sr_buf_init(&lines, COMMAND_MAX);
    if (!rc)
        rc = put_changes(changes, &lines);
    if (!rc)
        rc = eval(c, sr_redis_counters_change, &lines, changed, NULL);
    if (rc)
        atomic_fetch_sub(&c->waiting, 1);
    sr_buf_dispose(&lines);
    sr_mem_free(changes);
}

static void counters_change(struct sr_limit_remote *remote, const struct sr_limit_change *items, size_t n)
{
    struct counters *c = (struct counters *)remote;
    struct changes *changes = sr_mem_calloc(1, sizeof *changes + n * sizeof *items);
    if (!changes || !enters(c)) {
        sr_mem_free(changes);
        return;
    }
    *changes = (struct changes){.message.run = changes_run, .counters = c, .n = n};
    memcpy(changes->items, items, n * sizeof *items);
    if (sr_loop_post(c->loop, &changes->message)) {
        atomic_fetch_sub(&c->waiting, 1);
        sr_mem_free(changes);
    }
}

/* ---- the connection ---- */

static void wire_up(void *ctx)
{
    struct counters *c = ctx;
    c->up = true;
    if (c->attempts > 1)
        sr_log(SR_LOG_INFO, "limit_store", "Redis answers: limits are counted there");
    c->attempts = 0;
}

static void try_again(struct counters *c, const char *why)
{
    uint32_t pause = RETRY_MIN_MS << (c->attempts < 6 ? c->attempts : 6);
    c->up = false;
    sr_redis_wire_close(&c->wire);
    if (c->closing)
        return;
    if (c->attempts++ == 0)
        sr_log(SR_LOG_WARN, "limit_store", "Redis at %s is away: %s", c->host, why);
    sr_timer_start(&c->retry, pause < RETRY_MAX_MS ? pause : RETRY_MAX_MS);
}

static void wire_down(void *ctx, const char *why)
{
    try_again(ctx, why);
}

static void wire_published(void *ctx, struct sr_bytes message)
{
    (void)ctx;
    (void)message;
}

static void connect_now(void *ctx)
{
    static const struct sr_redis_wire_events events = {
        .up = wire_up, .down = wire_down, .published = wire_published};
    struct counters *c = ctx;
    int rc = sr_redis_wire_open(&c->wire, c->loop, &c->to, &events, c);
    if (rc)
        try_again(c, sr_strerror(rc));
}

static void end_begin(struct sr_message *message, bool closed)
{
    struct counters *c = (struct counters *)((char *)message - offsetof(struct counters, stop));
    (void)closed;
    c->closing = true;
    c->up = false;
    sr_timer_stop(&c->retry);
    sr_redis_wire_close(&c->wire);
    sr_loop_stop(c->loop);
}

static void *run(void *arg)
{
    struct counters *c = arg;
    sr_thread_name("sr-limits");
    connect_now(c);
    sr_loop_run(c->loop);
    return NULL;
}

/* ---- life ---- */

static void dispose(struct counters *c)
{
    if (c->loop)
        sr_loop_free(c->loop);
    sr_tls_context_unref(c->to.tls);
    sr_mem_free(c->host);
    sr_mem_free(c->user);
    sr_mem_free(c->password);
    sr_mem_free(c->prefix);
    sr_mem_free(c);
}

static void counters_close(struct sr_limit_remote *remote)
{
    struct counters *c = (struct counters *)remote;
    c->stop.run = end_begin;
    if (sr_loop_post(c->loop, &c->stop) == SR_OK)
        pthread_join(c->thread, NULL);
    dispose(c);
}

static const struct sr_limit_remote_ops counters_ops = {
    .name = "redis", .take = counters_take, .change = counters_change, .close = counters_close};

static char *copy(const char *text, bool *whole)
{
    char *own = text ? sr_mem_dup(text, strlen(text)) : NULL;
    *whole &= !text || own;
    return own;
}

static bool copy_options(struct counters *c, const struct sr_redis_counters_options *options)
{
    bool whole = true;
    c->host = copy(options->host, &whole);
    c->user = copy(options->user, &whole);
    c->password = copy(options->password, &whole);
    c->prefix = copy(options->prefix, &whole);
    c->to = (struct sr_redis_wire_options){.host = c->host,
                                           .user = c->user,
                                           .password = c->password,
                                           .port = options->port ? options->port : PORT,
                                           .database = options->database,
                                           .connect_ms = CONNECT_MS,
                                           .command_ms = options->timeout_ms};
    return whole;
}

/* The process's signals are for its main thread. */
static int start(struct counters *c)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&c->thread, NULL, run, c) ? SR_EIO : SR_OK;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int sr_redis_counters(struct sr_limit_remote **out, const struct sr_redis_counters_options *options,
                      struct sr_err *err)
{
    *out = NULL;
    if (options->user && !options->password)
        return sr_err_set(err, SR_EINVAL, "redis: a user without a password");
    struct counters *c = sr_mem_calloc(1, sizeof *c);
    if (!c)
        return sr_err_set(err, SR_ENOMEM, "redis: out of memory");
    c->head.ops = &counters_ops;
    int rc = copy_options(c, options) ? sr_loop_new(&c->loop) : SR_ENOMEM;
    if (rc)
        (void)sr_err_set(err, rc, "redis: %s", sr_strerror(rc));
    if (!rc && options->tls)
        rc = sr_tls_context_new(&c->to.tls, options->tls, err);
    if (!rc) {
        sr_timer_init(&c->retry, c->loop, connect_now, c);
        rc = start(c);
        if (rc)
            (void)sr_err_set(err, rc, "redis: no thread");
    }
    if (rc) {
        dispose(c);
        return rc;
    }
    *out = &c->head;
    return SR_OK;
}
