/*
 * Exact hits of the response cache, served by the whole gateway over loopback to one client that keeps its
 * connection, beside the least that the same client can be answered: the gateway's own GET /health, and the
 * same bytes from the configuration of nginx. The model is ended before anything is measured, so whatever is
 * answered comes from the cache.
 */
#ifndef SR_BENCH_CACHE_HIT_H
#define SR_BENCH_CACHE_HIT_H

#include "base/err.h"

#include <stddef.h>

#define SR_CACHE_HIT_ROWS    4u
#define SR_CACHE_HIT_GOAL_US 100.0 /* at p50 */

struct sr_cache_hit_row {
    const char *who;
    size_t body;     /* bytes of the request's; 0: it has none */
    double p50, p99; /* us: medians of the repeats */
    double ratio;    /* of p50 to that of GET /health */
};

struct sr_cache_hits {
    struct sr_cache_hit_row rows[SR_CACHE_HIT_ROWS];
    size_t n;
};

/* SR_EIO, SR_ETIMEOUT, SR_EPROTO: a process cannot be started, or something else than a hit was answered;
 * SR_ENOMEM. */
int sr_cache_hits_run(struct sr_cache_hits *out, struct sr_err *err) SR_WARN_UNUSED;

#endif
