/*
 * The internal structs of workers, members and groups.
 *
 * Two locks: the pool's guards the table of workers, the list of groups and their references; a group's
 * guards its roster, its queue and its offered members. A thread that holds a group's lock may take the
 * pool's lock, never the reverse. The running state of a policy has the picker's lock, which is taken last.
 * The health of a worker is atomic and has no lock.
 */
#ifndef SR_POOL_PRIVATE_H
#define SR_POOL_PRIVATE_H

#include "pool/picker.h"
#include "pool/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define SR_POOL_BUCKETS 1024

/* What a worker reported last (report.h). `at_ns` 0: nothing, or too long ago. */
struct sr_pool_load {
    _Atomic uint64_t at_ns;
    _Atomic uint32_t running, waiting;
    _Atomic uint32_t own;        /* requests of this process that it had then */
    _Atomic int32_t kv_permille; /* KV cache in use; negative: unknown */
    _Atomic bool has_hits;
    _Atomic uint64_t asked, hits; /* tokens, since the worker's start */
};

/* How its KV events come in (report.h); written by one thread. */
struct sr_pool_feed {
    _Atomic bool fed, connected;
    _Atomic uint64_t batches, events, left_out, gaps, replays, restarts, bad;
};

struct sr_pool_worker {
    struct sr_pool_worker *next; /* in its bucket */
    uint64_t hash;               /* of `key` */
    struct sr_bytes key;         /* the identity */
    size_t refs;                 /* references of members; guarded by the pool's lock */
    _Atomic uint64_t cooldown_until_ns;
    _Atomic uint64_t ejected_until_ns; /* the same of cooldowns in which it answers nothing, it seems */
    _Atomic uint32_t in_flight;
    _Atomic uint32_t failures, unreachable, ejections; /* in a row */
    _Atomic bool down;                                 /* by a health check */
    _Atomic bool half_open, trial; /* circuit.h: it failed and has not answered since; a request tries it */
    _Atomic uint32_t ejected;      /* times */
    _Atomic int32_t listed;        /* rosters of groups that have it now */
    struct sr_pool_load load;
    /* outlier.h: until when it is ejected for its slowness (0: never was), how often, how often in a row;
     * requests that it was offered since; how slow it is, and when that was seen. */
    _Atomic uint64_t slow_until_ns, offers, paced_ns;
    _Atomic uint32_t slowed, slow_row, pace_percent;
    struct sr_pool_feed feed;
};

struct sr_pool_member {
    struct sr_pool_worker *worker;
    struct sr_pool_seat *seat;
    double weight;
    bool backup;                 /* chosen only when no other member can take a request */
    uint64_t slow_start_ns;      /* of its group */
    uint64_t joined_ns;          /* 0: it has had its slow start, or needs none */
    _Atomic bool gone;           /* it is discovered no more */
    struct sr_pool_member *next; /* for an offered member: next in its bucket */
    size_t tickets; /* for an offered member: tickets that hold it; guarded by the group's lock */
};

struct sr_pool_group {
    struct sr_pool *pool;
    struct sr_pool_group *next; /* guarded by the pool's lock, as is `refs` */
    size_t refs;
    char *name;
    struct sr_pool_picker *picker;
    struct sr_pool_ejection ejection;
    struct sr_pool_limits limits;
    _Atomic uint64_t reviewed_ns, usual_us[SR_POOL_TIMES]; /* outlier.h: when its workers were compared, and
    the medians */
    pthread_mutex_t lock;
    struct sr_pool_roster *roster; /* never NULL; guarded by the lock when it is discovered, else constant */
    struct sr_pool_wait *first, *last; /* requests that wait (queue.h); guarded by the lock */
    _Atomic uint32_t n_waiting;
    _Atomic uint64_t oldest_ns;      /* since when the first of them waits; 0: none does */
    struct sr_pool_member **offered; /* SR_POOL_BUCKETS buckets; NULL: none offered */
    size_t n_offered;
};

struct sr_pool_sizes;

struct sr_pool {
    pthread_mutex_t lock;
    struct sr_pool_group *groups; /* the latest first */
    struct sr_pool_sizes *sizes;  /* what is learned of models (sizes.h) */
    struct sr_pool_worker *workers[SR_POOL_BUCKETS];
    _Atomic uint32_t in_flight, retries; /* requests at workers; those of them that are retries */
    _Atomic uint32_t waiting;            /* requests in the queues of all groups */
    struct sr_pool_tally *tallies;       /* tally.h; guarded by the lock, as is `n_tallies` */
    size_t n_tallies;
};

/* A new reference to the worker of this identity, which is created if there is none. NULL: out of memory. */
struct sr_pool_worker *sr_pool_worker_get(struct sr_pool *pool, struct sr_bytes key);
/* Marks the worker of this identity, if there is one. */
void sr_pool_worker_mark(struct sr_pool *pool, struct sr_bytes key, bool down);
void sr_pool_worker_put(struct sr_pool *pool, struct sr_pool_worker *worker);

/* A member in its initial state; takes a reference to the worker. NULL: out of memory. */
struct sr_pool_member *sr_pool_member_new(struct sr_pool_group *group, struct sr_bytes key, double weight);
void sr_pool_member_free(struct sr_pool_group *group, struct sr_pool_member *member);

/* ---- offered members; the group's lock is held ---- */

/* Finds or adds the member of this address and holds it for a ticket. Above SR_POOL_OFFERED_MAX all
 * members that no ticket holds are removed. SR_ELIMIT: all are held; SR_ENOMEM. */
int sr_pool_offered_hold(struct sr_pool_group *group, struct sr_pool_member **out,
                         struct sr_bytes address) SR_WARN_UNUSED;

/* Removes all offered members that no ticket holds. */
void sr_pool_offered_sweep(struct sr_pool_group *group);

#endif
