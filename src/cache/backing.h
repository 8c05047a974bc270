/*
 * The backend that a cache has now. Calls use it; a change waits until those in progress have ended, and
 * closes the one before. Thread-safe.
 */
#ifndef SR_CACHE_BACKING_H
#define SR_CACHE_BACKING_H

#include "cache/backend.h"

#include <pthread.h>
#include <stddef.h>

struct sr_backing {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct sr_cache_backend *backend;
    size_t users;
};

void sr_backing_init(struct sr_backing *backing);
/* There is no backend. */
void sr_backing_dispose(struct sr_backing *backing);

/* The backend until sr_backing_leave, or NULL. */
struct sr_cache_backend *sr_backing_use(struct sr_backing *backing);
void sr_backing_leave(struct sr_backing *backing, struct sr_cache_backend *backend); /* NULL is allowed */

/* Takes over `backend` (NULL: none) and closes the one before; not between use and leave. */
void sr_backing_change(struct sr_backing *backing, struct sr_cache_backend *backend);

#endif
