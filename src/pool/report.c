/* Finds workers and pickers by the worker's identity, and shows them. */
#include "pool/report.h"

#include "base/mem.h"
#include "pool/clock.h"
#include "pool/key.h"
#include "pool/private.h"

#define PICKERS_MAX 64 /* that one worker's events go to */

/* ---- load ---- */

static void note(struct sr_pool_worker *worker, const struct sr_pool_reported *load)
{
    struct sr_pool_load *to = &worker->load;
    if (!load) {
        atomic_store_explicit(&to->at_ns, 0, memory_order_release);
        return;
    }
    double usage = load->kv_usage > 1 ? 1 : load->kv_usage;
    uint32_t own = atomic_load_explicit(&worker->in_flight, memory_order_relaxed);
    atomic_store_explicit(&to->running, load->running, memory_order_relaxed);
    atomic_store_explicit(&to->waiting, load->waiting, memory_order_relaxed);
    atomic_store_explicit(&to->own, own, memory_order_relaxed);
    atomic_store_explicit(&to->kv_permille, usage >= 0 ? (int32_t)(usage * 1000) : -1000,
                          memory_order_relaxed);
    atomic_store_explicit(&to->has_hits, load->has_hits, memory_order_relaxed);
    atomic_store_explicit(&to->asked, load->asked, memory_order_relaxed);
    atomic_store_explicit(&to->hits, load->hits, memory_order_relaxed);
    atomic_store_explicit(&to->at_ns, sr_pool_clock_ns(), memory_order_release);
}

int sr_pool_report_load(struct sr_pool *pool, const struct sr_pool_backend *worker,
                        const struct sr_pool_reported *load)
{
    char *room = NULL;
    struct sr_bytes key = sr_pool_key(worker, &room);
    struct sr_pool_worker *found = key.p ? sr_pool_worker_get(pool, key) : NULL;
    sr_mem_free(room);
    if (!found)
        return SR_ENOMEM;
    note(found, load);
    sr_pool_worker_put(pool, found);
    return SR_OK;
}

/* ---- events ---- */

/* References to the pickers of all groups that take events, each once. Returns their number. */
static size_t pickers_of(struct sr_pool *pool, struct sr_pool_picker **pickers, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&pool->lock);
    for (struct sr_pool_group *group = pool->groups; group && n < most; group = group->next) {
        bool had = !group->picker->ops->event;
        for (size_t i = 0; i < n; i++)
            had |= pickers[i] == group->picker;
        if (!had)
            pickers[n++] = sr_pool_picker_ref(group->picker);
    }
    pthread_mutex_unlock(&pool->lock);
    return n;
}

int sr_pool_report_kv(struct sr_pool *pool, const struct sr_pool_backend *worker,
                      const struct sr_pool_kv_event *event)
{
    struct sr_pool_picker *pickers[PICKERS_MAX];
    char *room = NULL;
    struct sr_bytes key = sr_pool_key(worker, &room);
    struct sr_pool_worker *found = key.p ? sr_pool_worker_get(pool, key) : NULL;
    sr_mem_free(room);
    if (!found)
        return SR_ENOMEM;
    size_t n = pickers_of(pool, pickers, PICKERS_MAX);
    for (size_t i = 0; i < n; i++) {
        sr_pool_picker_event(pickers[i], found, event);
        sr_pool_picker_unref(pickers[i]);
    }
    sr_pool_worker_put(pool, found);
    return SR_OK;
}

static void store(_Atomic uint64_t *to, uint64_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

int sr_pool_report_feed(struct sr_pool *pool, const struct sr_pool_backend *worker,
                        const struct sr_pool_kv_feed *feed)
{
    char *room = NULL;
    struct sr_bytes key = sr_pool_key(worker, &room);
    struct sr_pool_worker *found = key.p ? sr_pool_worker_get(pool, key) : NULL;
    sr_mem_free(room);
    if (!found)
        return SR_ENOMEM;
    struct sr_pool_feed *to = &found->feed;
    atomic_store_explicit(&to->connected, feed && feed->connected, memory_order_relaxed);
    if (feed) {
        store(&to->batches, feed->batches);
        store(&to->events, feed->events);
        store(&to->left_out, feed->left_out);
        store(&to->gaps, feed->gaps);
        store(&to->replays, feed->replays);
        store(&to->restarts, feed->restarts);
        store(&to->bad, feed->bad);
    }
    atomic_store_explicit(&to->fed, feed != NULL, memory_order_release);
    sr_pool_worker_put(pool, found);
    return SR_OK;
}

/* ---- views ---- */

static uint64_t load_of(const _Atomic uint64_t *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

static void view_feed(const struct sr_pool_worker *worker, struct sr_pool_member_view *view)
{
    const struct sr_pool_feed *feed = &worker->feed;
    view->fed = atomic_load_explicit(&feed->fed, memory_order_acquire);
    if (!view->fed)
        return;
    view->feed = (struct sr_pool_kv_feed){
        .connected = atomic_load_explicit(&feed->connected, memory_order_relaxed),
        .batches = load_of(&feed->batches),
        .events = load_of(&feed->events),
        .left_out = load_of(&feed->left_out),
        .gaps = load_of(&feed->gaps),
        .replays = load_of(&feed->replays),
        .restarts = load_of(&feed->restarts),
        .bad = load_of(&feed->bad),
    };
}

static void view_load(const struct sr_pool_worker *worker, struct sr_pool_member_view *view)
{
    const struct sr_pool_load *load = &worker->load;
    view->in_flight = atomic_load_explicit(&worker->in_flight, memory_order_relaxed);
    view->reports = atomic_load_explicit(&load->at_ns, memory_order_acquire) != 0;
    if (!view->reports)
        return;
    view->load = (struct sr_pool_reported){
        .running = atomic_load_explicit(&load->running, memory_order_relaxed),
        .waiting = atomic_load_explicit(&load->waiting, memory_order_relaxed),
        .kv_usage = atomic_load_explicit(&load->kv_permille, memory_order_relaxed) / 1000.0,
        .has_hits = atomic_load_explicit(&load->has_hits, memory_order_relaxed),
        .asked = atomic_load_explicit(&load->asked, memory_order_relaxed),
        .hits = atomic_load_explicit(&load->hits, memory_order_relaxed),
    };
}

void sr_pool_each_member(struct sr_pool *pool, void (*fn)(void *ctx, const struct sr_pool_member_view *view),
                         void *ctx)
{
    pthread_mutex_lock(&pool->lock);
    for (struct sr_pool_group *group = pool->groups; group; group = group->next) {
        struct sr_pool_picker *picker = group->picker;
        struct sr_pool_group *newer = pool->groups;
        while (newer->picker != picker)
            newer = newer->next;
        if (newer != group)
            continue; /* of a configuration before; it shares the picker */
        pthread_mutex_lock(&picker->lock);
        for (size_t i = 0; i < picker->n_slots; i++) {
            const struct sr_pool_seat *seat = picker->seats[i];
            if (!seat)
                continue;
            struct sr_pool_member_view view = {
                .group = group->name, .policy = picker->ops->name, .worker = seat->worker->key};
            view_load(seat->worker, &view);
            view_feed(seat->worker, &view);
            if (picker->ops->stats)
                picker->ops->stats(picker->state, seat->state, seat->slot, &view.seat);
            fn(ctx, &view);
        }
        pthread_mutex_unlock(&picker->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}
