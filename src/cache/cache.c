/* The cache's life and thread, its changes and what it says of itself; lookups are in lookup.c. */
#include "cache/private.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <string.h>

#define SWEEP       64u    /* expired records that one sweep removes */
#define SWEEP_S     5u     /* between sweeps */
#define REST_NS     50000u /* between two steps of what takes many */
#define PENDING_MAX 256u   /* removals of other processes */

/* A removal of another process, which must not hold up the thread that tells of it. */
struct sr_removal {
    struct sr_removal *next;
    struct sr_cache_selector selector; /* its model lies behind the struct */
    struct sr_memory_walk walk;
};

/* A step of the first removal. False: there is none. */
static bool remove_some(struct sr_cache *cache)
{
    pthread_mutex_lock(&cache->removing);
    struct sr_removal *removal = cache->first;
    pthread_mutex_unlock(&cache->removing);
    if (!removal)
        return false;
    if (sr_memory_walk_on(&cache->memory, &removal->walk))
        return true;
    pthread_mutex_lock(&cache->removing);
    cache->first = removal->next;
    if (!cache->first)
        cache->last = &cache->first;
    cache->pending--;
    pthread_mutex_unlock(&cache->removing);
    sr_mem_free(removal);
    return true;
}

/* The cache's thread. */
static void *keep_time(void *arg)
{
    struct sr_cache *cache = arg;
    struct sr_waiter *waiter;
    sr_thread_name("sr-cache");
    uint64_t sweep_ns = sr_clock_ns() + SWEEP_S * SR_NS_PER_S, next_ns = sweep_ns;
    while (sr_flights_await(&cache->flights, next_ns, &waiter)) {
        uint64_t now = sr_clock_ns();
        if (waiter) {
            sr_lookup_overdue(waiter);
            continue;
        }
        if (now >= sweep_ns) {
            bool more = sr_memory_sweep(&cache->memory, SWEEP) == SWEEP;
            sweep_ns = now + (more ? REST_NS : SWEEP_S * SR_NS_PER_S);
        }
        next_ns = remove_some(cache) ? now + REST_NS : sweep_ns;
    }
    return NULL;
}

int sr_cache_new(struct sr_cache **out, const struct sr_cache_limits *limits)
{
    struct sr_cache *cache = sr_mem_calloc(1, sizeof *cache);
    *out = NULL;
    if (!cache)
        return SR_ENOMEM;
    int rc = sr_memory_init(&cache->memory, limits);
    if (rc)
        goto free_cache;
    rc = sr_flights_init(&cache->flights);
    if (rc)
        goto dispose_memory;
    sr_backing_init(&cache->backing);
    pthread_mutex_init(&cache->removing, NULL);
    cache->last = &cache->first;
    rc = pthread_create(&cache->keeper, NULL, keep_time, cache) ? SR_EIO : SR_OK;
    if (rc)
        goto dispose_flights;
    *out = cache;
    return SR_OK;

dispose_flights:
    pthread_mutex_destroy(&cache->removing);
    sr_backing_dispose(&cache->backing);
    sr_flights_dispose(&cache->flights);
dispose_memory:
    sr_memory_dispose(&cache->memory);
free_cache:
    sr_mem_free(cache);
    return rc;
}

void sr_cache_free(struct sr_cache *cache)
{
    if (!cache)
        return;
    sr_backing_change(&cache->backing, NULL);
    sr_flights_stop(&cache->flights);
    pthread_join(cache->keeper, NULL);
    while (cache->first) {
        struct sr_removal *removal = cache->first;
        cache->first = removal->next;
        sr_mem_free(removal);
    }
    pthread_mutex_destroy(&cache->removing);
    sr_backing_dispose(&cache->backing);
    sr_flights_dispose(&cache->flights);
    sr_memory_dispose(&cache->memory);
    sr_mem_free(cache);
}

void sr_cache_set(struct sr_cache *cache, const struct sr_cache_limits *limits)
{
    sr_memory_set(&cache->memory, limits);
}

/* ---- the backend ---- */

static void on_loaded(void *ctx, struct sr_cache_record *record)
{
    struct sr_cache *cache = ctx;
    int rc = sr_memory_put(&cache->memory, record, true);
    (void)rc; /* what does not fit stays in the backend */
}

/* Leaves a removal to the cache's thread. False: out of memory, or too many. */
static bool remove_later(struct sr_cache *cache, const struct sr_cache_selector *selector)
{
    struct sr_removal *removal = sr_mem_alloc(sizeof *removal + selector->model.n + 1);
    if (!removal)
        return false;
    removal->next = NULL;
    removal->selector = *selector;
    if (selector->model.n)
        memcpy(removal + 1, selector->model.p, selector->model.n);
    removal->selector.model = sr_bytes_of(removal + 1, selector->model.n);
    sr_memory_walk_begin(&cache->memory, &removal->walk, &removal->selector, false);
    pthread_mutex_lock(&cache->removing);
    bool room = cache->pending < PENDING_MAX;
    if (room) {
        *cache->last = removal;
        cache->last = &removal->next;
        cache->pending++;
    }
    pthread_mutex_unlock(&cache->removing);
    if (room)
        sr_flights_wake(&cache->flights);
    else
        sr_mem_free(removal);
    return room;
}

/* A small memory is walked at once: the backend's thread is kept for less than a millisecond. */
static void on_removed(void *ctx, const struct sr_cache_selector *selector)
{
    struct sr_cache *cache = ctx;
    struct sr_memory_walk walk;
    atomic_fetch_add(&cache->removals, 1);
    if (!sr_cache_key_is_set(&selector->exact)) {
        sr_memory_walk_begin(&cache->memory, &walk, selector, false);
        if (!sr_memory_walk_on(&cache->memory, &walk) || remove_later(cache, selector))
            return;
    }
    sr_memory_remove(&cache->memory, selector, false);
}

const struct sr_cache_backend_events *sr_cache_events(void)
{
    static const struct sr_cache_backend_events events = {.loaded = on_loaded, .removed = on_removed};
    return &events;
}

void sr_cache_set_backend(struct sr_cache *cache, struct sr_cache_backend *backend)
{
    sr_backing_change(&cache->backing, backend);
}

/* ---- changes ---- */

int sr_cache_put(struct sr_cache *cache, struct sr_cache_record *record)
{
    int rc = sr_memory_put(&cache->memory, record, false);
    if (rc)
        return rc;
    struct sr_cache_backend *backend = sr_backing_use(&cache->backing);
    if (backend)
        backend->ops->put(backend, record); /* counts what it drops */
    sr_backing_leave(&cache->backing, backend);
    return SR_OK;
}

void sr_cache_alias(struct sr_cache *cache, const struct sr_cache_key *request,
                    struct sr_cache_record *record)
{
    sr_memory_alias(&cache->memory, request, record);
}

size_t sr_cache_remove(struct sr_cache *cache, const struct sr_cache_selector *selector, bool dry)
{
    if (dry)
        return sr_memory_remove(&cache->memory, selector, true);
    atomic_fetch_add(&cache->removals, 1);
    size_t n = sr_memory_remove(&cache->memory, selector, false);
    struct sr_cache_backend *backend = sr_backing_use(&cache->backing);
    if (backend)
        backend->ops->remove(backend, selector);
    sr_backing_leave(&cache->backing, backend);
    return n;
}

void sr_cache_stats(struct sr_cache *cache, struct sr_cache_stats *out)
{
    *out = (struct sr_cache_stats){.backend.state = SR_CACHE_BACKEND_READY, .backend_name = "memory"};
    sr_memory_stats(&cache->memory, out);
    out->waiting = sr_flights_waiting(&cache->flights);
    out->exact_hits = atomic_load(&cache->exact_hits);
    out->semantic_hits = atomic_load(&cache->semantic_hits);
    out->misses = atomic_load(&cache->misses);
    out->joined = atomic_load(&cache->joined);
    for (size_t i = 0; i < SR_CACHE_REASONS; i++)
        out->rejected[i] = atomic_load(&cache->rejected[i]);
    struct sr_cache_backend *backend = sr_backing_use(&cache->backing);
    if (backend) {
        backend->ops->health(backend, &out->backend);
        out->backend_name = backend->ops->name;
    }
    sr_backing_leave(&cache->backing, backend);
}
