/* While a backend is being changed there is none: callers go on without. */
#include "cache/backing.h"

void sr_backing_init(struct sr_backing *backing)
{
    *backing = (struct sr_backing){0};
    pthread_mutex_init(&backing->lock, NULL);
    pthread_cond_init(&backing->idle, NULL);
}

void sr_backing_dispose(struct sr_backing *backing)
{
    pthread_mutex_destroy(&backing->lock);
    pthread_cond_destroy(&backing->idle);
}

struct sr_cache_backend *sr_backing_use(struct sr_backing *backing)
{
    pthread_mutex_lock(&backing->lock);
    struct sr_cache_backend *backend = backing->backend;
    backing->users += backend != NULL;
    pthread_mutex_unlock(&backing->lock);
    return backend;
}

void sr_backing_leave(struct sr_backing *backing, struct sr_cache_backend *backend)
{
    if (!backend)
        return;
    pthread_mutex_lock(&backing->lock);
    if (--backing->users == 0)
        pthread_cond_broadcast(&backing->idle);
    pthread_mutex_unlock(&backing->lock);
}

void sr_backing_change(struct sr_backing *backing, struct sr_cache_backend *backend)
{
    pthread_mutex_lock(&backing->lock);
    struct sr_cache_backend *before = backing->backend;
    backing->backend = NULL;
    while (backing->users)
        pthread_cond_wait(&backing->idle, &backing->lock);
    pthread_mutex_unlock(&backing->lock);
    if (before)
        before->ops->close(before);
    pthread_mutex_lock(&backing->lock);
    backing->backend = backend;
    pthread_mutex_unlock(&backing->lock);
}
