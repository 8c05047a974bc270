/*
 * What `bench pool` starts for one run: mock workers with engines, and one router in front of them. Files are
 * in a folder of their own.
 */
#ifndef SR_BENCH_POOL_SITE_H
#define SR_BENCH_POOL_SITE_H

#include "bench/process.h"

#include <stddef.h>

#define SR_BENCH_POOL_WORKERS  8
#define SR_BENCH_POOL_WAYS_MAX 24

/* A policy of a router. */
struct sr_bench_way {
    const char *router; /* "semroute", "vllm-router" */
    const char *policy;
};

/* Every policy that this program's configuration knows, then those of the real router when `peer`, the path
 * of its program, is not NULL. Returns how many. */
size_t sr_bench_pool_ways(struct sr_bench_way ways[SR_BENCH_POOL_WAYS_MAX], const char *peer);

struct sr_bench_site {
    char self[4096], directory[64];
    const char *peer;     /* the program of the real router, or NULL */
    int port, admin_port; /* of the router; of worker 0 */
    size_t blocks;
    struct sr_bench_process mock, router;
};

/* Makes the folder. SR_EIO. */
int sr_bench_site_init(struct sr_bench_site *site, const char *peer) SR_WARN_UNUSED;

/* Starts workers with `blocks` blocks each, or without engines when 0, and the router of `way`. The errors of
 * sr_bench_process_start. */
int sr_bench_site_start(struct sr_bench_site *site, const struct sr_bench_way *way, size_t blocks,
                        unsigned speed) SR_WARN_UNUSED;

/* Writes semroute's configuration anew, with the workers whose bits are set; it takes effect at SIGHUP.
 * SR_EIO. */
int sr_bench_site_configure(const struct sr_bench_site *site, const char *policy,
                            unsigned members) SR_WARN_UNUSED;

/* Seconds of CPU that the router has used. */
double sr_bench_site_cpu(const struct sr_bench_site *site);
void sr_bench_site_stop(struct sr_bench_site *site);

/* Stops what runs and removes the folder. */
void sr_bench_site_dispose(struct sr_bench_site *site);

#endif
