/*
 * Work for a store's thread, in order: records to put, records that were used, selectors to remove.
 *
 * Bounded by number and bytes; removals have room of their own, since a purge must not be lost to a burst of
 * puts. Thread-safe; one thread takes.
 */
#ifndef SR_STORE_SQLITE_QUEUE_H
#define SR_STORE_SQLITE_QUEUE_H

#include "cache/backend.h"

#include <pthread.h>

#define SR_SQLITE_QUEUE       8192u
#define SR_SQLITE_QUEUE_BYTES ((size_t)64 << 20)
#define SR_SQLITE_REMOVALS    4096u

enum sr_sqlite_work_kind { SR_SQLITE_PUT, SR_SQLITE_USE, SR_SQLITE_REMOVE };

struct sr_sqlite_work {
    struct sr_sqlite_work *next;
    enum sr_sqlite_work_kind kind;
    struct sr_cache_record *record;    /* of a put: a reference */
    struct sr_cache_selector selector; /* of a use: the exact key; its model points behind this struct */
};

struct sr_sqlite_queue {
    pthread_mutex_t lock;
    pthread_cond_t added;
    struct sr_sqlite_work *first, **last;
    size_t n[3], bytes; /* by kind */
    bool closed;
};

void sr_sqlite_queue_init(struct sr_sqlite_queue *queue);
void sr_sqlite_queue_dispose(struct sr_sqlite_queue *queue); /* frees what is left */

/* Copies the selector or references the record. SR_EBUSY: full; SR_ENOMEM; SR_ECLOSED. */
int sr_sqlite_queue_put(struct sr_sqlite_queue *queue, struct sr_cache_record *record) SR_WARN_UNUSED;
int sr_sqlite_queue_select(struct sr_sqlite_queue *queue, enum sr_sqlite_work_kind kind,
                           const struct sr_cache_selector *selector) SR_WARN_UNUSED;

/* Takes at most `max` in order, as a list; they count as queued no more. Waits for one until `until_ns`. */
struct sr_sqlite_work *sr_sqlite_queue_take(struct sr_sqlite_queue *queue, size_t max, uint64_t until_ns);
/* Puts a list back to the front. */
void sr_sqlite_queue_return(struct sr_sqlite_queue *queue, struct sr_sqlite_work *list);

void sr_sqlite_work_free(struct sr_sqlite_work *list);

/* No work is accepted any more; wakes the thread. */
void sr_sqlite_queue_close(struct sr_sqlite_queue *queue);
bool sr_sqlite_queue_has_work(struct sr_sqlite_queue *queue);
/* Waits until `until_ns` or until it is closed. */
void sr_sqlite_queue_pause(struct sr_sqlite_queue *queue, uint64_t until_ns);

/* Puts that are queued. */
size_t sr_sqlite_queue_puts(struct sr_sqlite_queue *queue);

#endif
