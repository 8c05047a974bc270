/*
 * The interface of what keeps records beyond this process's memory: a file, Redis, Milvus.
 *
 * A backend has a thread of its own. Every call returns at once, from any thread; it copies or references
 * what it needs. Queues are bounded: a full one drops the work and counts it. A backend that is away answers
 * with an error in bounded time, and `health` says so; what was put meanwhile is written when it is back, as
 * far as its queue reaches. It knows nothing of what the cache keeps in memory.
 */
#ifndef SR_CACHE_BACKEND_H
#define SR_CACHE_BACKEND_H

#include "cache/record.h"

struct sr_cache_backend;

/* Which records: all members that are set must agree; none set: every record. */
struct sr_cache_selector {
    struct sr_cache_key tenant, user, partition, exact; /* zero: any */
    struct sr_bytes model;                              /* "": any */
    int64_t created_before_ms;                          /* 0: any */
};

/* A candidate of a search: the record, and the cosine of its vector. */
struct sr_cache_candidate {
    struct sr_cache_record *record; /* a reference, the receiver's */
    float similarity;
};

/* The result of a `get` (at most one candidate, similarity 1) or a `search` (best first). Called exactly once
 * for each accepted call, on the backend's thread; short. */
typedef void sr_cache_found(void *ctx, int status, struct sr_cache_candidate *candidates, size_t n);

enum sr_cache_backend_state { SR_CACHE_BACKEND_STARTING, SR_CACHE_BACKEND_READY, SR_CACHE_BACKEND_AWAY };

struct sr_cache_backend_health {
    enum sr_cache_backend_state state;
    char message[160];                 /* why it is away; "" */
    uint64_t written, dropped, errors; /* records */
    size_t queued;                     /* records to be written */
};

/* What a backend tells the cache, on its own thread. */
struct sr_cache_backend_events {
    /* A record that was there at the start, or that another process has put. Borrowed. */
    void (*loaded)(void *ctx, struct sr_cache_record *record);
    /* Another process has removed these. */
    void (*removed)(void *ctx, const struct sr_cache_selector *selector);
};

struct sr_cache_backend_ops {
    const char *name; /* the `backend` label of metrics: "sqlite", "redis", "milvus" */
    /* Finishes what is queued, for at most two seconds, then frees; calls nothing afterwards. */
    void (*close)(struct sr_cache_backend *backend);
    /* SR_EBUSY: the queue is full; it was counted as dropped. */
    int (*put)(struct sr_cache_backend *backend, struct sr_cache_record *record);
    int (*remove)(struct sr_cache_backend *backend, const struct sr_cache_selector *selector);
    /* Optional (NULL): the record with this `request` or `exact` key. Deadline of the monotonic clock, ns. */
    int (*get)(struct sr_cache_backend *backend, const struct sr_cache_key *key, uint64_t deadline_ns,
               sr_cache_found *found, void *ctx);
    /* Optional (NULL): the k nearest to a unit vector inside of a partition. */
    int (*search)(struct sr_cache_backend *backend, const struct sr_cache_key *partition, const float *unit,
                  size_t dimensions, size_t k, uint64_t deadline_ns, sr_cache_found *found, void *ctx);
    /* Optional (NULL): the record with this exact key was a hit, for the backend's own eviction. */
    void (*used)(struct sr_cache_backend *backend, const struct sr_cache_key *exact);
    void (*health)(struct sr_cache_backend *backend, struct sr_cache_backend_health *out);
};

/* The head of every backend's own object. */
struct sr_cache_backend {
    const struct sr_cache_backend_ops *ops;
};

#endif
