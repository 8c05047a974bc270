/*
 * What workers say of themselves: their load, and what is in their KV caches.
 *
 * Called by what scrapes and listens (src/serve/pool/); read by the policies. Any thread.
 */
#ifndef SR_POOL_REPORT_H
#define SR_POOL_REPORT_H

#include "pool/policy.h"
#include "pool/pool.h"

/* One report of a worker's load. */
struct sr_pool_reported {
    uint32_t running, waiting; /* requests, of all its clients */
    double kv_usage;           /* 0..1; negative: unknown */
    /* Tokens of prompts, and those of them that were found in the cache, since the worker's start. */
    bool has_hits;
    uint64_t asked, hits;
};

/* Notes the report of the worker with this identity (`weight` does not count). NULL: nothing is known of it
 * any more. No effect on a worker that no group has. SR_ENOMEM. */
int sr_pool_report_load(struct sr_pool *pool, const struct sr_pool_backend *worker,
                        const struct sr_pool_reported *load) SR_WARN_UNUSED;

/* Tells all policies that may choose this worker. SR_ENOMEM. */
int sr_pool_report_kv(struct sr_pool *pool, const struct sr_pool_backend *worker,
                      const struct sr_pool_kv_event *event) SR_WARN_UNUSED;

/* How the KV events of a worker come in: counts since its subscription began. */
struct sr_pool_kv_feed {
    bool connected;
    uint64_t batches, events; /* read; given to the policies */
    uint64_t left_out;        /* events that no policy can use: of adapters, of other media than the GPU */
    uint64_t gaps, replays;   /* batches that were missed, times; requests for what is kept */
    uint64_t restarts;        /* numbers that began again */
    uint64_t bad;             /* batches that cannot be read */
};

/* Notes it for views; NULL: nothing is subscribed to any more. No effect on a worker that no group has.
 * SR_ENOMEM. */
int sr_pool_report_feed(struct sr_pool *pool, const struct sr_pool_backend *worker,
                        const struct sr_pool_kv_feed *feed) SR_WARN_UNUSED;

/* What is known of one member, for metrics and explanations. */
struct sr_pool_member_view {
    const char *group, *policy;
    struct sr_bytes worker; /* its identity */
    uint32_t in_flight;
    bool reports; /* the load below is there */
    struct sr_pool_reported load;
    struct sr_pool_seat_stats seat;
    bool fed; /* its KV events are subscribed to: the feed below is there */
    struct sr_pool_kv_feed feed;
};

/* Calls `fn` for each configured member of each group. The pool's lock is held: `fn` is short, and calls
 * nothing of the pool. */
void sr_pool_each_member(struct sr_pool *pool, void (*fn)(void *ctx, const struct sr_pool_member_view *view),
                         void *ctx);

#endif
