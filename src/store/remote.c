/*
 * The thread, the queue, the lookups and the health of a store behind a network.
 *
 * Users' calls post messages under the lock that `closed` is read under, so that the message of the end is
 * the last one. All else happens on the thread, without locks but for the counters of health.
 */
#include "store/remote.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct sr_remote_limits sr_remote_limits_defaults(void)
{
    return (struct sr_remote_limits){
        .connect_ms = 5000,
        .command_ms = 10000,
        .retry_min_ms = 100,
        .retry_max_ms = 10000,
        .close_ms = 2000,
        .queue_records = 10000,
        .queue_bytes = (size_t)64 << 20,
        .lookups = 1000,
    };
}

/* ---- what is selected ---- */

static bool key_agrees(const struct sr_cache_key *want, const struct sr_cache_key *have)
{
    return !sr_cache_key_is_set(want) || memcmp(want, have, sizeof *want) == 0;
}

bool sr_remote_selects(const struct sr_cache_selector *which, const struct sr_cache_fields *fields)
{
    return key_agrees(&which->tenant, &fields->tenant) && key_agrees(&which->user, &fields->user) &&
           key_agrees(&which->partition, &fields->partition) && key_agrees(&which->exact, &fields->exact) &&
           (!which->model.n || sr_bytes_eq(which->model, fields->model)) &&
           (!which->created_before_ms || fields->created_ms < which->created_before_ms);
}

bool sr_remote_is_live(const struct sr_cache_fields *fields)
{
    return !fields->expires_ms || fields->expires_ms > (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

/* ---- the end ---- */

static void writes_drop_all(struct sr_remote *remote);

static void thread_end(struct sr_remote *remote)
{
    remote->ready = false;
    sr_timer_stop(&remote->retry);
    sr_timer_stop(&remote->end);
    remote->ops->disconnect(remote);
    while (remote->lookups)
        sr_remote_found(remote->lookups, SR_ECLOSED, NULL, 0);
    writes_drop_all(remote);
    sr_loop_stop(remote->loop);
}

static void end_due(void *ctx)
{
    thread_end(ctx);
}

static void end_begin(struct sr_message *message, bool closed)
{
    struct sr_remote *remote = (struct sr_remote *)((char *)message - offsetof(struct sr_remote, stop));
    (void)closed;
    remote->closing = true;
    if (!remote->writes || (!remote->ready && remote->attempts))
        thread_end(remote);
    else
        sr_timer_start(&remote->end, remote->limits.close_ms);
}

/* ---- the queue of writes ---- */

static void write_free(struct sr_remote_write *write)
{
    sr_cache_record_unref(write->record);
    sr_mem_free(write);
}

/* Takes a write off the list and the counters; the caller frees it. */
static void write_unlink(struct sr_remote_write *write)
{
    struct sr_remote *remote = write->remote;
    struct sr_remote_write **at = &remote->writes;
    while (*at != write)
        at = &(*at)->next;
    *at = write->next;
    if (!*at)
        remote->writes_end = at;
    pthread_mutex_lock(&remote->lock);
    remote->health.queued--;
    remote->queued_bytes -= write->bytes;
    pthread_mutex_unlock(&remote->lock);
}

static void write_end(struct sr_remote_write *write, const char *failure)
{
    struct sr_remote *remote = write->remote;
    write_unlink(write);
    pthread_mutex_lock(&remote->lock);
    if (failure) {
        remote->health.errors++;
        remote->health.dropped++;
        snprintf(remote->health.message, sizeof remote->health.message, "%s", failure);
    } else {
        remote->health.written += write->record != NULL;
    }
    pthread_mutex_unlock(&remote->lock);
    write_free(write);
    if (remote->closing && !remote->writes)
        sr_timer_start(&remote->end, 0);
}

void sr_remote_written(struct sr_remote_write *write)
{
    write_end(write, NULL);
}

void sr_remote_failed(struct sr_remote_write *write, const char *why)
{
    write_end(write, why);
}

static void writes_drop_all(struct sr_remote *remote)
{
    while (remote->writes) {
        struct sr_remote_write *write = remote->writes;
        write_unlink(write);
        write_free(write);
        pthread_mutex_lock(&remote->lock);
        remote->health.dropped++;
        pthread_mutex_unlock(&remote->lock);
    }
}

struct sr_remote_write *sr_remote_peek(struct sr_remote *remote)
{
    struct sr_remote_write *write = remote->writes;
    while (write && write->taken)
        write = write->next;
    return write;
}

struct sr_remote_write *sr_remote_take(struct sr_remote *remote)
{
    struct sr_remote_write *write = sr_remote_peek(remote);
    if (write)
        write->taken = true;
    return write;
}

void sr_remote_undo(struct sr_remote_write *write)
{
    write->taken = false;
    write->which = (struct sr_cache_selector){.exact = write->record->f.exact};
    sr_cache_record_unref(write->record);
    write->record = NULL;
    write->undone = false;
}

/* A put that is there each time the server goes away may be the reason: it does not hold up the others. */
static void writes_give_back(struct sr_remote *remote)
{
    struct sr_remote_write *write = remote->writes, *next;
    for (; write; write = next) {
        next = write->next;
        write->tries += write->taken;
        write->taken = false;
        if (write->undone)
            sr_remote_undo(write);
        else if (write->record && write->tries >= SR_REMOTE_TRIES)
            sr_remote_failed(write, "the server went away each time it was written");
    }
}

bool sr_remote_is_removed(const struct sr_remote *remote, const struct sr_cache_fields *fields)
{
    for (const struct sr_remote_write *write = remote->writes; write; write = write->next)
        if (!write->record && sr_remote_selects(&write->which, fields))
            return true;
    return false;
}

void sr_remote_forget(struct sr_remote *remote, const struct sr_cache_selector *which)
{
    struct sr_remote_write *write = remote->writes, *next;
    for (; write; write = next) {
        next = write->next;
        if (!write->record || !sr_remote_selects(which, &write->record->f))
            continue;
        if (write->taken) {
            write->undone = true;
        } else {
            write_unlink(write);
            write_free(write);
        }
    }
}

static void write_arrived(struct sr_message *message, bool closed)
{
    struct sr_remote_write *write = (struct sr_remote_write *)message;
    struct sr_remote *remote = write->remote;
    (void)closed;
    *remote->writes_end = write;
    remote->writes_end = &write->next;
    if (remote->ready)
        remote->ops->writes(remote);
}

/* Counts and posts a write; false: there is no room, or the store is closed. */
static int write_post(struct sr_remote *remote, struct sr_remote_write *write, size_t records_max)
{
    struct sr_cache_backend_health *health = &remote->health;
    int rc = SR_OK;
    pthread_mutex_lock(&remote->lock);
    if (remote->closed)
        rc = SR_ECLOSED;
    else if (health->queued >= records_max ||
             (write->record && remote->queued_bytes > remote->limits.queue_bytes - write->bytes))
        rc = SR_EBUSY;
    else
        rc = sr_loop_post(remote->loop, &write->message);
    if (rc == SR_OK) {
        health->queued++;
        remote->queued_bytes += write->bytes;
    } else {
        health->dropped++;
    }
    pthread_mutex_unlock(&remote->lock);
    if (rc != SR_OK)
        write_free(write);
    return rc;
}

static struct sr_remote_write *write_new(struct sr_remote *remote, size_t more)
{
    struct sr_remote_write *write = sr_mem_calloc(1, sizeof *write + more);
    if (!write) {
        pthread_mutex_lock(&remote->lock);
        remote->health.dropped++;
        pthread_mutex_unlock(&remote->lock);
        return NULL;
    }
    write->message.run = write_arrived;
    write->remote = remote;
    return write;
}

int sr_remote_put(struct sr_remote *remote, struct sr_cache_record *record)
{
    struct sr_remote_write *write = write_new(remote, 0);
    if (!write)
        return SR_ENOMEM;
    write->record = sr_cache_record_ref(record);
    write->bytes = record->bytes < remote->limits.queue_bytes ? record->bytes : remote->limits.queue_bytes;
    return write_post(remote, write, remote->limits.queue_records);
}

int sr_remote_remove(struct sr_remote *remote, const struct sr_cache_selector *which)
{
    struct sr_remote_write *write = write_new(remote, which->model.n + 1);
    if (!write)
        return SR_ENOMEM;
    write->which = *which;
    if (which->model.n)
        memcpy(write + 1, which->model.p, which->model.n);
    write->which.model = sr_bytes_of(write + 1, which->model.n);
    write->bytes = sizeof *write + which->model.n;
    return write_post(remote, write, 2 * remote->limits.queue_records);
}

/* ---- lookups ---- */

static void lookup_free_if_idle(struct sr_remote_lookup *lookup)
{
    if (lookup->ended && !lookup->commands)
        sr_mem_free(lookup);
}

void sr_remote_found(struct sr_remote_lookup *lookup, int status, struct sr_cache_candidate *candidates,
                     size_t n)
{
    struct sr_remote *remote = lookup->remote;
    if (lookup->ended) {
        for (size_t i = 0; i < n; i++)
            sr_cache_record_unref(candidates[i].record);
        return;
    }
    lookup->ended = true;
    sr_timer_stop(&lookup->timer);
    if (lookup->pprev) {
        *lookup->pprev = lookup->next;
        if (lookup->next)
            lookup->next->pprev = lookup->pprev;
    }
    pthread_mutex_lock(&remote->lock);
    remote->lookup_count--;
    pthread_mutex_unlock(&remote->lock);
    lookup->found(lookup->ctx, status, candidates, n);
    lookup_free_if_idle(lookup);
}

void sr_remote_lookup_hold(struct sr_remote_lookup *lookup)
{
    lookup->commands++;
}

void sr_remote_lookup_drop(struct sr_remote_lookup *lookup)
{
    lookup->commands--;
    lookup_free_if_idle(lookup);
}

static void lookup_due(void *ctx)
{
    sr_remote_found(ctx, SR_ETIMEOUT, NULL, 0);
}

static void lookup_arrived(struct sr_message *message, bool closed)
{
    struct sr_remote_lookup *lookup = (struct sr_remote_lookup *)message;
    struct sr_remote *remote = lookup->remote;
    uint64_t now = sr_clock_ns();
    sr_timer_init(&lookup->timer, remote->loop, lookup_due, lookup);
    if (closed || !remote->ready || lookup->deadline_ns <= now) {
        sr_remote_found(lookup, closed || !remote->ready ? SR_ECLOSED : SR_ETIMEOUT, NULL, 0);
        return;
    }
    lookup->next = remote->lookups;
    lookup->pprev = &remote->lookups;
    if (lookup->next)
        lookup->next->pprev = &lookup->next;
    remote->lookups = lookup;
    sr_timer_start(&lookup->timer, (lookup->deadline_ns - now) / SR_NS_PER_MS + 1);
    lookup->commands++; /* it may end within the call */
    remote->ops->lookup(remote, lookup);
    sr_remote_lookup_drop(lookup);
}

static int lookup_post(struct sr_remote *remote, struct sr_remote_lookup *lookup)
{
    int rc;
    pthread_mutex_lock(&remote->lock);
    if (remote->closed || remote->health.state != SR_CACHE_BACKEND_READY)
        rc = SR_ECLOSED;
    else if (remote->lookup_count >= remote->limits.lookups)
        rc = SR_EBUSY;
    else
        rc = sr_loop_post(remote->loop, &lookup->message);
    if (rc == SR_OK)
        remote->lookup_count++;
    pthread_mutex_unlock(&remote->lock);
    if (rc != SR_OK)
        sr_mem_free(lookup);
    return rc;
}

static struct sr_remote_lookup *lookup_new(struct sr_remote *remote, const struct sr_cache_key *key,
                                           size_t dimensions, uint64_t deadline_ns, sr_cache_found *found,
                                           void *ctx)
{
    struct sr_remote_lookup *lookup = sr_mem_calloc(1, sizeof *lookup + dimensions * sizeof(float));
    if (!lookup)
        return NULL;
    lookup->message.run = lookup_arrived;
    lookup->remote = remote;
    lookup->key = *key;
    lookup->dimensions = dimensions;
    lookup->deadline_ns = deadline_ns;
    lookup->found = found;
    lookup->ctx = ctx;
    return lookup;
}

int sr_remote_get(struct sr_remote *remote, const struct sr_cache_key *key, uint64_t deadline_ns,
                  sr_cache_found *found, void *ctx)
{
    struct sr_remote_lookup *lookup = lookup_new(remote, key, 0, deadline_ns, found, ctx);
    return lookup ? lookup_post(remote, lookup) : SR_ENOMEM;
}

int sr_remote_search(struct sr_remote *remote, const struct sr_cache_key *partition, const float *unit,
                     size_t dimensions, size_t k, uint64_t deadline_ns, sr_cache_found *found, void *ctx)
{
    struct sr_remote_lookup *lookup = lookup_new(remote, partition, dimensions, deadline_ns, found, ctx);
    if (!lookup)
        return SR_ENOMEM;
    lookup->k = k ? k : 1;
    memcpy(lookup->unit, unit, dimensions * sizeof *unit);
    return lookup_post(remote, lookup);
}

/* ---- there and away ---- */

static void health_set(struct sr_remote *remote, enum sr_cache_backend_state state, const char *why)
{
    pthread_mutex_lock(&remote->lock);
    remote->health.state = state;
    remote->health.errors += state == SR_CACHE_BACKEND_AWAY;
    snprintf(remote->health.message, sizeof remote->health.message, "%s", why);
    pthread_mutex_unlock(&remote->lock);
}

void sr_remote_health(struct sr_remote *remote, struct sr_cache_backend_health *out)
{
    pthread_mutex_lock(&remote->lock);
    *out = remote->health;
    pthread_mutex_unlock(&remote->lock);
}

static void retry_due(void *ctx)
{
    struct sr_remote *remote = ctx;
    remote->ops->connect(remote);
}

void sr_remote_ready(struct sr_remote *remote)
{
    remote->ready = true;
    remote->attempts = 0;
    health_set(remote, SR_CACHE_BACKEND_READY, "");
    if (sr_remote_peek(remote))
        remote->ops->writes(remote);
}

/* The pause before the next attempt: doubled each time, less a random part of up to half. */
static uint32_t retry_pause(struct sr_remote *remote)
{
    const struct sr_remote_limits *limits = &remote->limits;
    uint64_t ms = (uint64_t)limits->retry_min_ms << (remote->attempts < 20 ? remote->attempts : 20);
    uint32_t random = 0;
    if (sr_random(&random, sizeof random) != SR_OK)
        random = (uint32_t)sr_clock_ns();
    ms = ms < limits->retry_max_ms ? ms : limits->retry_max_ms;
    return (uint32_t)(ms - random % (ms / 2 + 1));
}

void sr_remote_away(struct sr_remote *remote, const char *why)
{
    if (remote->retry.armed)
        return;
    remote->ready = false;
    health_set(remote, SR_CACHE_BACKEND_AWAY, why);
    remote->ops->disconnect(remote);
    while (remote->lookups)
        sr_remote_found(remote->lookups, SR_ECLOSED, NULL, 0);
    writes_give_back(remote);
    sr_timer_start(&remote->retry, retry_pause(remote));
    remote->attempts++;
    if (remote->closing)
        sr_timer_start(&remote->end, 0);
}

/* ---- the thread ---- */

static void *thread_main(void *arg)
{
    struct sr_remote *remote = arg;
    sigset_t all;
    sr_thread_name("sr-store");
    sigfillset(&all); /* a peer that is gone is an error of the write; other signals are for other threads */
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    remote->ops->connect(remote);
    sr_loop_run(remote->loop);
    return NULL;
}

int sr_remote_start(struct sr_remote *remote, const struct sr_remote_ops *ops,
                    const struct sr_remote_limits *limits, const struct sr_cache_backend_events *events,
                    void *ctx)
{
    int rc;
    remote->ops = ops;
    remote->limits = *limits;
    remote->events = events;
    remote->ctx = ctx;
    remote->writes_end = &remote->writes;
    remote->stop.run = end_begin;
    rc = sr_loop_new(&remote->loop);
    if (rc != SR_OK)
        return rc;
    sr_timer_init(&remote->retry, remote->loop, retry_due, remote);
    sr_timer_init(&remote->end, remote->loop, end_due, remote);
    pthread_mutex_init(&remote->lock, NULL);
    if (ops->open)
        rc = ops->open(remote);
    if (rc == SR_OK && pthread_create(&remote->thread, NULL, thread_main, remote) != 0) {
        if (ops->dispose)
            ops->dispose(remote);
        rc = SR_EIO;
    }
    if (rc != SR_OK) {
        pthread_mutex_destroy(&remote->lock);
        sr_loop_free(remote->loop);
    }
    return rc;
}

void sr_remote_stop(struct sr_remote *remote)
{
    int rc;
    pthread_mutex_lock(&remote->lock);
    remote->closed = true;
    rc = sr_loop_post(remote->loop, &remote->stop);
    pthread_mutex_unlock(&remote->lock);
    if (rc != SR_OK)
        sr_loop_stop(remote->loop);
    pthread_join(remote->thread, NULL);
    if (remote->ops->dispose)
        remote->ops->dispose(remote);
    sr_loop_free(remote->loop);
    pthread_mutex_destroy(&remote->lock);
}
