/* A remote is used under the lock of readers, so that it is not closed meanwhile. */
#include "limit/limiter.h"

#include "base/mem.h"

#include <pthread.h>

struct sr_limiter {
    struct sr_limit_table *table;
    pthread_rwlock_t lock; /* protects remote */
    struct sr_limit_remote *remote;
};

int sr_limiter_new(struct sr_limiter **out, size_t counters)
{
    struct sr_limiter *limiter = sr_mem_calloc(1, sizeof *limiter);
    *out = NULL;
    if (!limiter)
        return SR_ENOMEM;
    if (sr_limit_table_new(&limiter->table, counters)) {
        sr_mem_free(limiter);
        return SR_ENOMEM;
    }
    pthread_rwlock_init(&limiter->lock, NULL);
    *out = limiter;
    return SR_OK;
}

void sr_limiter_free(struct sr_limiter *limiter)
{
    if (!limiter)
        return;
    sr_limiter_set_remote(limiter, NULL);
    pthread_rwlock_destroy(&limiter->lock);
    sr_limit_table_free(limiter->table);
    sr_mem_free(limiter);
}

void sr_limiter_set_remote(struct sr_limiter *limiter, struct sr_limit_remote *remote)
{
    pthread_rwlock_wrlock(&limiter->lock);
    struct sr_limit_remote *before = limiter->remote;
    limiter->remote = remote;
    pthread_rwlock_unlock(&limiter->lock);
    if (before)
        before->ops->close(before);
}

int sr_limiter_take(struct sr_limiter *limiter, const struct sr_limit *limits, size_t n, uint64_t now_ms,
                    struct sr_limit_result *result, struct sr_mailbox *mailbox,
                    void (*done)(struct sr_task *task, int status), void *ctx, struct sr_limit_query **query)
{
    int rc = SR_OK;
    *query = NULL;
    pthread_rwlock_rdlock(&limiter->lock);
    if (limiter->remote && mailbox) {
        rc = sr_limit_query_new(query, limits, n, done, ctx, mailbox);
        if (!rc) {
            limiter->remote->ops->take(limiter->remote, *query);
            rc = SR_AGAIN;
        }
    } else {
        sr_limit_take(limiter->table, limits, n, now_ms, result);
    }
    pthread_rwlock_unlock(&limiter->lock);
    return rc;
}

void sr_limiter_change(struct sr_limiter *limiter, const struct sr_limit_change *changes, size_t n,
                       uint64_t now_ms)
{
    pthread_rwlock_rdlock(&limiter->lock);
    if (limiter->remote)
        limiter->remote->ops->change(limiter->remote, changes, n);
    else
        sr_limit_change(limiter->table, changes, n, now_ms);
    pthread_rwlock_unlock(&limiter->lock);
}

bool sr_limiter_is_remote(struct sr_limiter *limiter)
{
    pthread_rwlock_rdlock(&limiter->lock);
    bool remote = limiter->remote != NULL;
    pthread_rwlock_unlock(&limiter->lock);
    return remote;
}

struct sr_limit_table *sr_limiter_table(struct sr_limiter *limiter)
{
    return limiter->table;
}
