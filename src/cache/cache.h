/*
 * The semantic cache of the process: answers by exact key and, inside of a hard partition, by the meaning of
 * the question.
 *
 * It lives as long as the runtime and survives reloads; sr_cache_set changes its limits. Records are in
 * memory, bounded by count and bytes; a backend (cache/backend.h) keeps them beyond the process. Nothing is
 * ever found outside of its partition. Knows no request: the router makes keys, question and vector
 * (router/cache). All functions are thread-safe; none blocks but those that close a backend. A thread of its
 * own frees what has expired and keeps the deadlines of lookups that wait.
 */
#ifndef SR_CACHE_CACHE_H
#define SR_CACHE_CACHE_H

#include "base/task.h"
#include "cache/backend.h"

struct sr_cache;

enum sr_cache_eviction { SR_CACHE_FIFO, SR_CACHE_LRU, SR_CACHE_LFU };

struct sr_cache_limits {
    size_t max_entries; /* 0: no entry is kept */
    size_t max_bytes;   /* of records, vectors and indexes */
    enum sr_cache_eviction eviction;
    size_t dimensions; /* of vectors; records with others are kept for exact hits only */
};

/* SR_ENOMEM; SR_EIO: no thread. */
int sr_cache_new(struct sr_cache **out, const struct sr_cache_limits *limits) SR_WARN_UNUSED;
/* Closes the backend, so it may take two seconds. No lookup may be in progress. NULL is allowed. */
void sr_cache_free(struct sr_cache *cache);

/* New limits; evicts what does not fit any more. With other dimensions the vectors that are there count no
 * more.
 */
void sr_cache_set(struct sr_cache *cache, const struct sr_cache_limits *limits);

/* The events that a backend of this cache gets, with the cache as `ctx`; and the backend itself, which the
 * cache owns from then on. NULL: none. The backend before is closed, which may take two seconds: on no loop.
 */
const struct sr_cache_backend_events *sr_cache_events(void);
void sr_cache_set_backend(struct sr_cache *cache, struct sr_cache_backend *backend);

/* ---- lookups ---- */

enum sr_cache_hit { SR_CACHE_MISS, SR_CACHE_HIT_EXACT, SR_CACHE_HIT_SEMANTIC };

struct sr_cache_query {
    struct sr_cache_key request;   /* zero: not asked */
    struct sr_cache_key exact;     /* zero: not asked */
    struct sr_cache_key partition; /* zero: no semantic lookup */
    struct sr_bytes question;
    const float *unit;          /* [dimensions] of length 1; NULL: no semantic lookup */
    size_t dimensions;          /* others than the limits say: no semantic lookup */
    float threshold;            /* least cosine of a semantic hit */
    int64_t max_age_ms;         /* older records do not count; 0: any */
    uint64_t store_deadline_ns; /* of the backend's answer; monotonic clock; 0: it is not asked */
    uint64_t
        wait_deadline_ns; /* until when it waits for an identical request in progress; 0: it does not wait
                             (but may lead); both deadlines are the lookup's own: it ends by itself */
    bool peeks;           /* it counts neither as a lookup nor, in the backend, as a use of what it finds */
    bool join;            /* wait for an identical request in progress, and lead when there is none */
};

/* A lookup in progress or ended. The caller's; its members are set when the task is done. Of one that was
 * cancelled none is read: a backend or a leader may be writing them at that moment. */
struct sr_cache_lookup {
    struct sr_task task;
    enum sr_cache_hit hit;
    struct sr_cache_record *record; /* a reference, of the lookup; NULL: a miss */
    float similarity;               /* of a semantic hit; 1 for an exact one */
    uint32_t rejected; /* why the gate let candidates not through: bits 1 << enum sr_gate_reason */
    /* This request leads: others wait until sr_cache_land. NULL: it does not. Take it and set it to NULL:
     * what is still here when the lookup is freed is landed without a record. */
    struct sr_cache_flight *flight;
};

#define SR_CACHE_LEASE_S 60

/* In memory only, by the request key: what can be asked before any signal. A new reference, or NULL. */
struct sr_cache_record *sr_cache_get(struct sr_cache *cache, const struct sr_cache_key *request,
                                     int64_t max_age_ms);

/* Looks in memory, exact before semantic, then asks the backend, then joins a flight. Copies the query. At
 * its deadlines it goes on without what it waited for; one that expires is a miss. Identical requests wait
 * for a leader for at most SR_CACHE_LEASE_S; then another leads. SR_OK: it ended at once and `done` is not
 * called. SR_AGAIN: `done` will be called on the mailbox's thread; cancel or expire it like every task.
 * SR_ENOMEM: `*out` is NULL. The caller's reference is given up with sr_task_unref(&lookup->task). */
int sr_cache_lookup(struct sr_cache *cache, const struct sr_cache_query *query, struct sr_mailbox *mailbox,
                    void (*done)(struct sr_task *task, int status), void *ctx,
                    struct sr_cache_lookup **out) SR_WARN_UNUSED;
void *sr_cache_lookup_ctx(const struct sr_task *task);

/* The leader's request ended: with the record that it has put, or with NULL when its answer cannot be used;
 * then one of those that wait leads. Frees the flight. */
void sr_cache_land(struct sr_cache *cache, struct sr_cache_flight *flight, struct sr_cache_record *record);

/* ---- changes ---- */

/* Keeps the record, in place of one with the same exact key, and gives it to the backend. SR_EINVAL: without
 * an exact key, or a vector without a partition; SR_ELIMIT: larger than the cache; SR_ENOMEM. One that has
 * expired is not kept.
 */
int sr_cache_put(struct sr_cache *cache, struct sr_cache_record *record) SR_WARN_UNUSED;

/* Files a record under another request key too. */
void sr_cache_alias(struct sr_cache *cache, const struct sr_cache_key *request,
                    struct sr_cache_record *record);

/* Removes them from memory at once and from the backend soon; returns how many there were in memory. With
 * `dry` it only counts. */
size_t sr_cache_remove(struct sr_cache *cache, const struct sr_cache_selector *selector, bool dry);

/* ---- what it says of itself ---- */

#define SR_CACHE_REASONS 32 /* room for the gate's reasons */

struct sr_cache_stats {
    size_t entries, bytes, partitions, waiting; /* now */
    uint64_t exact_hits, semantic_hits, misses, expired, evicted, removed, stored, joined;
    uint64_t rejected[SR_CACHE_REASONS]; /* candidates by the gate's reason */
    int64_t last_cleanup_ms;
    struct sr_cache_backend_health backend; /* of no backend: READY and zeros */
    const char *backend_name;
};
void sr_cache_stats(struct sr_cache *cache, struct sr_cache_stats *out);

#endif
