/* The thread: which workers there are, their subscriptions, and the poll. */
#include "serve/kv/events.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "config/worker_pattern.h"
#include "net/zmq/subscriber.h"
#include "pool/report.h"
#include "serve/kv/follow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 1000    /* between two looks at the workers */
#define IDLE_MS 3600000 /* without a pool that has events */

/* One worker that is followed. */
struct source {
    struct source *next;
    struct sr_kv_events *all;
    char *worker; /* its identity */
    char *host;   /* in it; the strings below are parts of a copy of it */
    struct sr_pool_backend backend;
    char endpoint[SR_WORKER_PATTERN_MAX], replay[SR_WORKER_PATTERN_MAX];
    char *topic;
    struct sr_zmq_subscription *subscription;
    struct sr_kv_follow follow;
    bool listed; /* in the look that is in progress */
    bool unfed;  /* a policy knows nothing of it, although it was told */
};

struct sr_kv_events {
    struct sr_pool *pool;
    struct sr_zmq_subscribers *set;
    pthread_t thread;
    atomic_bool stopped;
    pthread_mutex_t lock;
    const struct sr_config *next; /* a reference; NULL: no news; guarded by the lock */
    /* of the thread */
    const struct sr_config *config;
    struct source *sources;
    size_t n;
    bool told_limit; /* that there are too many workers */
};

/* ---- a worker ---- */

static void on_event(void *ctx, const struct sr_pool_kv_event *event)
{
    const struct source *source = ctx;
    if (sr_pool_report_kv(source->all->pool, &source->backend, event) != SR_OK)
        sr_log(SR_LOG_WARN, "kv_events", "out of memory: an event of %s is lost", source->worker);
}

static bool on_replay(void *ctx, uint64_t from)
{
    const struct source *source = ctx;
    return sr_zmq_replay(source->all->set, source->subscription, from);
}

static const struct sr_kv_follow_ops FOLLOW = {.event = on_event, .replay = on_replay};

static void on_connected(void *ctx)
{
    struct source *source = ctx;
    sr_log(SR_LOG_INFO, "kv_events", "%s: connected to %s", source->worker, source->endpoint);
    sr_kv_follow_connected(&source->follow);
}

static void on_lost(void *ctx)
{
    struct source *source = ctx;
    sr_log(SR_LOG_WARN, "kv_events", "%s: the connection to %s is lost", source->worker, source->endpoint);
    sr_kv_follow_lost(&source->follow);
}

static void on_batch(void *ctx, uint64_t number, struct sr_bytes payload)
{
    sr_kv_follow_batch(&((struct source *)ctx)->follow, number, payload);
}

static void on_replayed(void *ctx, uint64_t number, struct sr_bytes payload)
{
    sr_kv_follow_replayed(&((struct source *)ctx)->follow, number, payload);
}

static void on_replay_end(void *ctx, bool whole)
{
    struct source *source = ctx;
    if (!whole && source->follow.feed.connected)
        sr_log(SR_LOG_WARN, "kv_events", "%s: no whole answer from %s", source->worker, source->replay);
    sr_kv_follow_replay_end(&source->follow, whole);
}

static void on_bad(void *ctx)
{
    sr_kv_follow_bad(&((struct source *)ctx)->follow);
}

static const struct sr_zmq_events EVENTS = {.connected = on_connected,
                                            .lost = on_lost,
                                            .batch = on_batch,
                                            .replayed = on_replayed,
                                            .replay_end = on_replay_end,
                                            .bad = on_bad};

static void source_free(struct source *source)
{
    sr_zmq_unsubscribe(source->all->set, source->subscription);
    sr_mem_free(source->worker);
    sr_mem_free(source->host);
    sr_mem_free(source->topic);
    sr_mem_free(source);
}

/* Nothing is known of the worker any more. */
static void leave(struct source *source)
{
    sr_kv_follow_lost(&source->follow);
    if (sr_pool_report_feed(source->all->pool, &source->backend, NULL) != SR_OK)
        sr_log(SR_LOG_WARN, "kv_events", "out of memory: metrics of %s are old", source->worker);
    source_free(source);
}

/* Splits an identity, `http://host:8000/base`, in place. False: it is none. */
static bool split(char *text, struct sr_pool_backend *out)
{
    char *host = strstr(text, "://"), *base = host ? strchr(host + 3, '/') : NULL;
    if (!host)
        return false;
    *host = '\0';
    host += 3;
    out->scheme = text;
    out->host = host;
    out->base_path = "";
    if (base) { /* the slash is needed: the host moves one to the left to make room for its end */
        memmove(host - 1, host, (size_t)(base - host));
        host[base - host - 1] = '\0';
        out->host = host - 1;
        out->base_path = base;
    }
    char *colon = strrchr(out->host, ':');
    unsigned port = 0;
    if (!colon || sscanf(colon + 1, "%5u", &port) != 1)
        return false;
    *colon = '\0';
    out->port = (int)port;
    return true;
}

/* NULL: out of memory, or it has no such endpoint. */
static struct source *source_new(struct sr_kv_events *all, struct sr_bytes worker,
                                 const struct sr_config_kv_events *keys)
{
    struct source *source = sr_mem_calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->all = all;
    source->worker = sr_mem_dup(worker.p, worker.n);
    source->host = sr_mem_dup(worker.p, worker.n);
    source->topic = sr_mem_dup(keys->topic, strlen(keys->topic));
    bool good = source->worker && source->host && source->topic && split(source->host, &source->backend) &&
                sr_worker_pattern(source->endpoint, keys->endpoint, sr_bytes_str(source->backend.host),
                                  source->backend.port) &&
                sr_worker_pattern(source->replay, keys->replay, sr_bytes_str(source->backend.host),
                                  source->backend.port);
    if (good)
        return source;
    source_free(source);
    return NULL;
}

/* ---- which workers there are ---- */

/* The events of the pool of this name; NULL: it has none. */
static const struct sr_config_kv_events *keys_of(const struct sr_config *config, const char *pool)
{
    for (size_t i = 0; config && i < config->global.n_pools; i++)
        if (strcmp(config->global.pools[i].name, pool) == 0 && config->global.pools[i].kv_events.endpoint[0])
            return &config->global.pools[i].kv_events;
    return NULL;
}

static struct source *find(struct sr_kv_events *all, struct sr_bytes worker)
{
    struct source *source = all->sources;
    while (source && !sr_bytes_eq(sr_bytes_str(source->worker), worker))
        source = source->next;
    return source;
}

static bool is_same(const struct source *a, const struct source *b)
{
    return strcmp(a->endpoint, b->endpoint) == 0 && strcmp(a->replay, b->replay) == 0 &&
           strcmp(a->topic, b->topic) == 0;
}

static void add(struct sr_kv_events *all, struct source *source)
{
    source->next = all->sources;
    source->listed = true;
    all->sources = source;
    all->n++;
}

/* With the pool's lock: subscriptions are made later. */
static void look_at(void *ctx, const struct sr_pool_member_view *view)
{
    struct sr_kv_events *all = ctx;
    const struct sr_config_kv_events *keys = keys_of(all->config, view->group);
    const struct sr_pool_policy_ops *policy = sr_pool_policy_find(view->policy);
    if (!keys || !policy || !policy->event)
        return;
    struct source *found = find(all, view->worker);
    if (found && found->listed) {
        found->unfed |= !view->seat.tells; /* another pool has it too */
        return;
    }
    struct source *fresh = source_new(all, view->worker, keys);
    if (fresh && found && is_same(found, fresh)) {
        found->listed = true;
        found->unfed = !view->seat.tells;
        source_free(fresh);
    } else if (fresh && all->n < SR_ZMQ_SUBSCRIBE_MAX) {
        add(all, fresh);
    } else if (fresh) {
        if (!all->told_limit)
            sr_log(SR_LOG_WARN, "kv_events", "more than %d workers: the events of others are not read",
                   SR_ZMQ_SUBSCRIBE_MAX);
        all->told_limit = true;
        source_free(fresh);
    }
}

static void subscribe(struct source *source)
{
    struct sr_err err = {0};
    bool has_replay = source->replay[0] != '\0';
    sr_kv_follow_init(&source->follow, &FOLLOW, source, has_replay);
    if (sr_zmq_subscribe(source->all->set, &source->subscription, source->endpoint,
                         has_replay ? source->replay : NULL, source->topic, &EVENTS, source, &err) != SR_OK)
        sr_log(SR_LOG_WARN, "kv_events", "%s: %s", source->worker, err.message);
}

/* Those that are gone end before their followers begin, for a worker whose endpoint has changed has both. */
static void look(struct sr_kv_events *all)
{
    for (struct source *s = all->sources; s; s = s->next)
        s->listed = false;
    sr_pool_each_member(all->pool, look_at, all);
    for (struct source **at = &all->sources, *s; (s = *at) != NULL;) {
        if (s->listed) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        all->n--;
        leave(s);
    }
    uint64_t now = sr_clock_ns();
    for (struct source *s = all->sources; s; s = s->next) {
        if (!s->subscription)
            subscribe(s);
        if (s->unfed && s->follow.dirty)
            sr_kv_follow_again(&s->follow);
        s->unfed = false;
        sr_kv_follow_check(&s->follow, now);
        if (sr_pool_report_feed(all->pool, &s->backend, &s->follow.feed) != SR_OK)
            sr_log(SR_LOG_WARN, "kv_events", "out of memory: metrics of %s are old", s->worker);
    }
}

/* ---- the thread ---- */

/* True: there was a new configuration. */
static bool take_news(struct sr_kv_events *all)
{
    pthread_mutex_lock(&all->lock);
    const struct sr_config *next = all->next;
    all->next = NULL;
    pthread_mutex_unlock(&all->lock);
    if (!next)
        return false;
    sr_config_unref(all->config);
    all->config = next;
    all->told_limit = false;
    return true;
}

static bool is_used(const struct sr_config *config)
{
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (config->global.pools[i].kv_events.endpoint[0])
            return true;
    return false;
}

static void *thread_main(void *arg)
{
    struct sr_kv_events *all = arg;
    uint64_t looked = 0;
    sr_thread_name("sr-kv-events");
    while (!atomic_load(&all->stopped)) {
        bool news = take_news(all);
        uint64_t now = sr_clock_ns();
        if (news || now - looked >= LOOK_MS * SR_NS_PER_MS) {
            looked = now;
            look(all);
        }
        sr_zmq_poll(all->set, all->n > 0 || is_used(all->config) ? LOOK_MS : IDLE_MS);
    }
    return NULL;
}

/* The thread begins with the first configuration that needs it. */
static int begin(struct sr_kv_events *all)
{
    struct sr_err err = {0};
    int rc = sr_zmq_subscribers_new(&all->set, &err);
    if (rc == SR_OK && pthread_create(&all->thread, NULL, thread_main, all) != 0) {
        sr_zmq_subscribers_free(all->set);
        all->set = NULL;
        rc = SR_EIO;
    }
    return rc;
}

static int configure(struct sr_kv_events *all, const struct sr_config *config)
{
    if (!all->set && !is_used(config))
        return SR_OK;
    pthread_mutex_lock(&all->lock);
    sr_config_unref(all->next);
    all->next = sr_config_ref(config);
    pthread_mutex_unlock(&all->lock);
    if (!all->set)
        return begin(all);
    sr_zmq_wake(all->set);
    return SR_OK;
}

int sr_kv_events_start(struct sr_kv_events **out, struct sr_pool *pool, const struct sr_config *config)
{
    struct sr_kv_events *all = sr_mem_calloc(1, sizeof *all);
    *out = NULL;
    if (!all)
        return SR_ENOMEM;
    all->pool = pool;
    pthread_mutex_init(&all->lock, NULL);
    int rc = configure(all, config);
    if (rc != SR_OK)
        sr_kv_events_stop(all);
    else
        *out = all;
    return rc;
}

void sr_kv_events_configure(struct sr_kv_events *events, const struct sr_config *config)
{
    if (configure(events, config) != SR_OK)
        sr_log(SR_LOG_ERROR, "kv_events", "no thread or no memory left: KV events are not read");
}

void sr_kv_events_stop(struct sr_kv_events *events)
{
    if (!events)
        return;
    if (events->set) {
        atomic_store(&events->stopped, true);
        sr_zmq_wake(events->set);
        pthread_join(events->thread, NULL);
    }
    while (events->sources) {
        struct source *source = events->sources;
        events->sources = source->next;
        source_free(source);
    }
    sr_zmq_subscribers_free(events->set);
    sr_config_unref(events->config);
    sr_config_unref(events->next);
    pthread_mutex_destroy(&events->lock);
    sr_mem_free(events);
}
