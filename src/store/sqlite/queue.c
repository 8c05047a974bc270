/* A list with a lock. What is used is the first to be left out: it only orders eviction. */
#include "store/sqlite/queue.h"

#include "base/clock.h"
#include "base/mem.h"

void sr_sqlite_queue_init(struct sr_sqlite_queue *queue)
{
    pthread_condattr_t attributes;
    *queue = (struct sr_sqlite_queue){0};
    queue->last = &queue->first;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->added, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sr_sqlite_queue_dispose(struct sr_sqlite_queue *queue)
{
    sr_sqlite_work_free(queue->first);
    pthread_cond_destroy(&queue->added);
    pthread_mutex_destroy(&queue->lock);
}

void sr_sqlite_work_free(struct sr_sqlite_work *list)
{
    while (list) {
        struct sr_sqlite_work *next = list->next;
        sr_cache_record_unref(list->record);
        sr_mem_free(list);
        list = next;
    }
}

static size_t bytes_of(const struct sr_sqlite_work *work)
{
    return work->record ? work->record->bytes : 0;
}

/* Adds or removes work from the counts. With the lock. */
static void count(struct sr_sqlite_queue *queue, const struct sr_sqlite_work *work, bool add)
{
    if (add) {
        queue->n[work->kind]++;
        queue->bytes += bytes_of(work);
    } else {
        queue->n[work->kind]--;
        queue->bytes -= bytes_of(work);
    }
}

static bool has_room(const struct sr_sqlite_queue *queue, enum sr_sqlite_work_kind kind, size_t bytes)
{
    switch (kind) {
    case SR_SQLITE_PUT:
        return queue->n[SR_SQLITE_PUT] < SR_SQLITE_QUEUE && queue->bytes + bytes <= SR_SQLITE_QUEUE_BYTES;
    case SR_SQLITE_USE:
        return queue->n[SR_SQLITE_USE] < SR_SQLITE_QUEUE;
    case SR_SQLITE_REMOVE:
        return queue->n[SR_SQLITE_REMOVE] < SR_SQLITE_REMOVALS;
    }
    return false;
}

/* Takes the work over; frees it when it does not fit. */
static int add(struct sr_sqlite_queue *queue, struct sr_sqlite_work *work)
{
    int rc = SR_OK;
    pthread_mutex_lock(&queue->lock);
    if (queue->closed)
        rc = SR_ECLOSED;
    else if (!has_room(queue, work->kind, bytes_of(work)))
        rc = SR_EBUSY;
    if (!rc) {
        count(queue, work, true);
        *queue->last = work;
        queue->last = &work->next;
        pthread_cond_signal(&queue->added);
    }
    pthread_mutex_unlock(&queue->lock);
    if (rc)
        sr_sqlite_work_free(work);
    return rc;
}

int sr_sqlite_queue_put(struct sr_sqlite_queue *queue, struct sr_cache_record *record)
{
    struct sr_sqlite_work *work = sr_mem_calloc(1, sizeof *work);
    if (!work)
        return SR_ENOMEM;
    work->kind = SR_SQLITE_PUT;
    work->record = sr_cache_record_ref(record);
    return add(queue, work);
}

int sr_sqlite_queue_select(struct sr_sqlite_queue *queue, enum sr_sqlite_work_kind kind,
                           const struct sr_cache_selector *selector)
{
    struct sr_sqlite_work *work = sr_mem_calloc(1, sizeof *work + selector->model.n);
    if (!work)
        return SR_ENOMEM;
    work->kind = kind;
    work->selector = *selector;
    work->selector.model.p = (char *)(work + 1);
    if (selector->model.n)
        memcpy(work + 1, selector->model.p, selector->model.n);
    return add(queue, work);
}

/* With the lock; false: the time has come. */
static bool wait_until(struct sr_sqlite_queue *queue, uint64_t until_ns)
{
    struct timespec when = {(time_t)(until_ns / SR_NS_PER_S), (long)(until_ns % SR_NS_PER_S)};
    return sr_clock_ns() < until_ns && pthread_cond_timedwait(&queue->added, &queue->lock, &when) == 0;
}

struct sr_sqlite_work *sr_sqlite_queue_take(struct sr_sqlite_queue *queue, size_t max, uint64_t until_ns)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->first && !queue->closed && wait_until(queue, until_ns))
        ;
    struct sr_sqlite_work *list = queue->first, **end = &list;
    for (size_t i = 0; i < max && *end; i++) {
        count(queue, *end, false);
        end = &(*end)->next;
    }
    queue->first = *end;
    *end = NULL;
    if (!queue->first)
        queue->last = &queue->first;
    pthread_mutex_unlock(&queue->lock);
    return list;
}

void sr_sqlite_queue_return(struct sr_sqlite_queue *queue, struct sr_sqlite_work *list)
{
    struct sr_sqlite_work **end = &list;
    pthread_mutex_lock(&queue->lock);
    for (; *end; end = &(*end)->next)
        count(queue, *end, true);
    *end = queue->first;
    if (!queue->first)
        queue->last = end == &list ? &queue->first : end;
    queue->first = list;
    pthread_mutex_unlock(&queue->lock);
}

void sr_sqlite_queue_close(struct sr_sqlite_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->added);
    pthread_mutex_unlock(&queue->lock);
}

bool sr_sqlite_queue_has_work(struct sr_sqlite_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool any = queue->first != NULL;
    pthread_mutex_unlock(&queue->lock);
    return any;
}

void sr_sqlite_queue_pause(struct sr_sqlite_queue *queue, uint64_t until_ns)
{
    pthread_mutex_lock(&queue->lock);
    while (!queue->closed && sr_clock_ns() < until_ns)
        wait_until(queue, until_ns);
    pthread_mutex_unlock(&queue->lock);
}

size_t sr_sqlite_queue_puts(struct sr_sqlite_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t n = queue->n[SR_SQLITE_PUT];
    pthread_mutex_unlock(&queue->lock);
    return n;
}
