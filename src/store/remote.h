/*
 * What stores behind a network have in common: the thread and its loop, the bounded queue of writes, lookups
 * with deadlines, the pause between attempts to connect, and what the store says of its health.
 *
 * Knows no protocol: an adapter (redis/, milvus/) embeds a struct sr_remote, takes writes from its queue,
 * answers its lookups and says when the server is there. Everything but the three calls of users (put,
 * remove, lookup) and health is for the store's thread.
 */
#ifndef SR_STORE_REMOTE_H
#define SR_STORE_REMOTE_H

#include "cache/backend.h"
#include "net/loop/loop.h"

#include <pthread.h>

struct sr_remote;

#define SR_REMOTE_TRIES 10

struct sr_remote_limits {
    uint32_t connect_ms;   /* name, TCP and TLS; default 5000 */
    uint32_t command_ms;   /* an answer that is later means that the server is away; default 10000 */
    uint32_t retry_min_ms; /* between attempts to connect, doubled up to the maximum, less a random part */
    uint32_t retry_max_ms; /* default 100 and 10000 */
    uint32_t close_ms;     /* for the queue at the end; default 2000 */
    size_t queue_records, queue_bytes; /* of writes; default 10000 and 64 MiB */
    size_t lookups;                    /* at once; default 1000 */
};
struct sr_remote_limits sr_remote_limits_defaults(void);

/* A write in the queue: a record to put, or what to remove. */
struct sr_remote_write {
    struct sr_message message;
    struct sr_remote *remote;
    struct sr_remote_write *next;
    struct sr_cache_record *record; /* NULL: a removal */
    struct sr_cache_selector which; /* of a removal; its model lies behind the struct */
    size_t bytes;
    unsigned tries; /* times that the server went away while it was taken */
    bool taken;     /* by the adapter, and not ended */
    bool undone;    /* taken, and then removed by another process */
};

/* A lookup: by key when `k` is 0, else the k nearest of a partition. The adapter ends it once. */
struct sr_remote_lookup {
    struct sr_message message;
    struct sr_remote *remote;
    struct sr_remote_lookup *next, **pprev;
    struct sr_timer timer;
    uint64_t deadline_ns;
    sr_cache_found *found;
    void *ctx;
    struct sr_cache_key key; /* or the partition */
    unsigned commands;       /* the adapter's: answers that refer to it */
    bool ended;              /* `found` was called */
    size_t k, dimensions;
    float unit[];
};

/* What an adapter does, on the store's thread. */
struct sr_remote_ops {
    /* Makes what belongs to the loop, before the thread runs; frees it, after it has ended. Both or none. */
    int (*open)(struct sr_remote *remote);
    void (*dispose)(struct sr_remote *remote);
    /* Connect; sr_remote_ready or sr_remote_away follows, also within the call. */
    void (*connect)(struct sr_remote *remote);
    /* There are writes to take. Called only while READY. */
    void (*writes)(struct sr_remote *remote);
    /* A lookup to answer. Called only while READY. */
    void (*lookup)(struct sr_remote *remote, struct sr_remote_lookup *lookup);
    /* Close every connection now; nothing is called afterwards. */
    void (*disconnect)(struct sr_remote *remote);
};

struct sr_remote {
    const struct sr_remote_ops *ops;
    struct sr_remote_limits limits;
    const struct sr_cache_backend_events *events;
    void *ctx;
    struct sr_loop *loop;
    pthread_t thread;
    struct sr_message stop;
    struct sr_timer retry, end;
    unsigned attempts;
    bool closing, ready;
    struct sr_remote_write *writes, **writes_end;
    struct sr_remote_lookup *lookups;
    /* Under the lock. */
    pthread_mutex_t lock;
    struct sr_cache_backend_health health;
    size_t queued_bytes, lookup_count;
    bool closed;
};

/* SR_ENOMEM, SR_EIO, or the code of `open`. After success the thread runs and has called `connect`. */
int sr_remote_start(struct sr_remote *remote, const struct sr_remote_ops *ops,
                    const struct sr_remote_limits *limits, const struct sr_cache_backend_events *events,
                    void *ctx) SR_WARN_UNUSED;
/* Any thread: writes the queue for at most close_ms, disconnects, ends lookups and the thread. The memory is
 * the adapter's again. */
void sr_remote_stop(struct sr_remote *remote);

/* ---- for users: any thread ---- */

/* As sr_cache_backend_ops says. */
int sr_remote_put(struct sr_remote *remote, struct sr_cache_record *record) SR_WARN_UNUSED;
int sr_remote_remove(struct sr_remote *remote, const struct sr_cache_selector *which) SR_WARN_UNUSED;
int sr_remote_get(struct sr_remote *remote, const struct sr_cache_key *key, uint64_t deadline_ns,
                  sr_cache_found *found, void *ctx) SR_WARN_UNUSED;
int sr_remote_search(struct sr_remote *remote, const struct sr_cache_key *partition, const float *unit,
                     size_t dimensions, size_t k, uint64_t deadline_ns, sr_cache_found *found,
                     void *ctx) SR_WARN_UNUSED;
void sr_remote_health(struct sr_remote *remote, struct sr_cache_backend_health *out);

/* ---- for adapters: the store's thread ---- */

/* The server answers: writes and lookups go on. */
void sr_remote_ready(struct sr_remote *remote);
/* It does not: `why` is kept for health, lookups end with SR_ECLOSED, taken writes go back to the queue (a
 * put at most SR_REMOTE_TRIES times), and `connect` is called after a pause. Calls `disconnect`. */
void sr_remote_away(struct sr_remote *remote, const char *why);

/* The first write that is not taken, which is then; NULL: none. `peek` does not take it. */
struct sr_remote_write *sr_remote_take(struct sr_remote *remote);
struct sr_remote_write *sr_remote_peek(struct sr_remote *remote);
/* It was written, or failed for good (counted as an error and dropped; `why` is kept for health). Frees it.
 */
void sr_remote_written(struct sr_remote_write *write);
void sr_remote_failed(struct sr_remote_write *write, const char *why);

/* A write that was `undone` and may have arrived becomes a removal of its key, back in the queue. */
void sr_remote_undo(struct sr_remote_write *write);

/* True when a removal in the queue selects the record: it may still be on the server, but not for us. */
bool sr_remote_is_removed(const struct sr_remote *remote, const struct sr_cache_fields *fields);

/* Puts in the queue that `which` selects are dropped; taken ones are marked `undone`. */
void sr_remote_forget(struct sr_remote *remote, const struct sr_cache_selector *which);

/* Ends a lookup, once; takes the candidates' references also when it has ended before. */
void sr_remote_found(struct sr_remote_lookup *lookup, int status, struct sr_cache_candidate *candidates,
                     size_t n);
/* The adapter has sent a command for the lookup, or got its answer: the lookup is freed when it has ended and
 * no answer is outstanding. */
void sr_remote_lookup_hold(struct sr_remote_lookup *lookup);
void sr_remote_lookup_drop(struct sr_remote_lookup *lookup);

/* True when all set members of the selector agree with the record. */
bool sr_remote_selects(const struct sr_cache_selector *which, const struct sr_cache_fields *fields);

/* An unexpired record. */
bool sr_remote_is_live(const struct sr_cache_fields *fields);

#endif
