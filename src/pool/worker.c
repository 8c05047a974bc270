/* The table of workers: one for each identity, for as long as a group names it. */
#include "base/hash.h"
#include "base/mem.h"
#include "pool/private.h"

static struct sr_pool_worker *worker_new(struct sr_bytes key, uint64_t hash)
{
    struct sr_pool_worker *worker = sr_mem_calloc(1, sizeof *worker);
    char *copy = sr_mem_dup(key.p, key.n);
    if (!worker || !copy) {
        sr_mem_free(worker);
        sr_mem_free(copy);
        return NULL;
    }
    worker->key = sr_bytes_of(copy, key.n);
    worker->hash = hash;
    return worker;
}

struct sr_pool_worker *sr_pool_worker_get(struct sr_pool *pool, struct sr_bytes key)
{
    uint64_t hash = sr_hash64(key, 0);
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_worker **bucket = &pool->workers[hash % SR_POOL_BUCKETS], *worker = *bucket;
    while (worker && (worker->hash != hash || !sr_bytes_eq(worker->key, key)))
        worker = worker->next;
    if (!worker && (worker = worker_new(key, hash)) != NULL) {
        worker->next = *bucket;
        *bucket = worker;
    }
    if (worker)
        worker->refs++;
    pthread_mutex_unlock(&pool->lock);
    return worker;
}

void sr_pool_worker_mark(struct sr_pool *pool, struct sr_bytes key, bool down)
{
    uint64_t hash = sr_hash64(key, 0);
    pthread_mutex_lock(&pool->lock);
    for (struct sr_pool_worker *worker = pool->workers[hash % SR_POOL_BUCKETS]; worker; worker = worker->next)
        if (worker->hash == hash && sr_bytes_eq(worker->key, key))
            atomic_store_explicit(&worker->down, down, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
}

void sr_pool_worker_put(struct sr_pool *pool, struct sr_pool_worker *worker)
{
    pthread_mutex_lock(&pool->lock);
    bool last = --worker->refs == 0;
    if (last) {
        struct sr_pool_worker **at = &pool->workers[worker->hash % SR_POOL_BUCKETS];
        while (*at != worker)
            at = &(*at)->next;
        *at = worker->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (last) {
        sr_mem_free((char *)worker->key.p);
        sr_mem_free(worker);
    }
}
