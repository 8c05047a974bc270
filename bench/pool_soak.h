/*
 * `bench pool --pass-through` and `--soak`: requests on a schedule through semroute to plain mock workers,
 * which join, leave and fail meanwhile when it is a soak.
 */
#ifndef SR_BENCH_POOL_SOAK_H
#define SR_BENCH_POOL_SOAK_H

#include "bench/pool_site.h"

#include <stdint.h>

struct sr_bench_soak {
    const char *policy;
    double rate, seconds;
    bool churn;
    /* Results. */
    uint64_t answers, errors, refused;
    unsigned changes; /* of the workers */
    double elapsed, p50_us, p99_us, cpu_seconds;
    double resident_mb, resident_end_mb; /* when a tenth has passed, and at the end */
};

/* The errors of sr_bench_site_start and sr_bench_load_run. */
int sr_bench_soak_run(struct sr_bench_soak *soak, struct sr_bench_site *site) SR_WARN_UNUSED;
void sr_bench_soak_print(const struct sr_bench_soak *soak, bool json);

#endif
