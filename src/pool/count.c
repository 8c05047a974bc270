/* Counts what the workers are doing, for metrics. */
#include "pool/circuit.h"
#include "pool/clock.h"
#include "pool/outlier.h"

static struct sr_pool_worker_count count_of(struct sr_pool_worker *worker, uint64_t now_ns)
{
    struct sr_pool_worker_count count = {
        .worker = worker->key,
        .in_flight = atomic_load_explicit(&worker->in_flight, memory_order_relaxed),
        .ejections = atomic_load_explicit(&worker->ejected, memory_order_relaxed),
        .slowed = atomic_load_explicit(&worker->slowed, memory_order_relaxed),
        .slow = sr_outlier_is_slow(worker, now_ns),
        .down = atomic_load_explicit(&worker->down, memory_order_relaxed),
        .open = sr_circuit_is_open(worker, now_ns),
    };
    count.draining = count.in_flight > 0 && atomic_load_explicit(&worker->listed, memory_order_relaxed) == 0;
    return count;
}

void sr_pool_count(struct sr_pool *pool, void (*worker)(void *ctx, const struct sr_pool_worker_count *count),
                   void (*queue)(void *ctx, const char *group, uint32_t waiting), void *ctx)
{
    uint64_t now = sr_pool_clock_ns();
    pthread_mutex_lock(&pool->lock);
    for (size_t b = 0; b < SR_POOL_BUCKETS; b++) {
        for (struct sr_pool_worker *w = pool->workers[b]; w; w = w->next) {
            struct sr_pool_worker_count count = count_of(w, now);
            worker(ctx, &count);
        }
    }
    for (const struct sr_pool_group *group = pool->groups; group; group = group->next)
        queue(ctx, group->name, atomic_load_explicit(&group->n_waiting, memory_order_relaxed));
    pthread_mutex_unlock(&pool->lock);
}
