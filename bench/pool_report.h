/* The rows of `bench pool`: what a run's answers come to, as tables and as JSON. */
#ifndef SR_BENCH_POOL_REPORT_H
#define SR_BENCH_POOL_REPORT_H

#include "bench/pool_run.h"
#include "bench/pool_site.h"

#define SR_BENCH_POOL_ROWS_MAX 512

struct sr_bench_pool_row {
    const char *workload;
    struct sr_bench_way way;
    unsigned budget; /* percent */
    bool faults;
    size_t blocks; /* of each worker */
    size_t requests, lost, partial;
    size_t slowed, taken_back; /* ejections for slowness and requests that were taken back, of a simulation */
    double hit, infinite;      /* shares of the prompt tokens */
    double p50, p99, cold_p50, cold_p99, warm_p50, warm_p99; /* ms to the first token; 0: no such answer */
    double rate, token_rate;                                 /* requests and answer tokens a second */
    double imbalance;                             /* requests of the busiest worker, for the mean */
    double router_p50, router_p99, router_cpu_us; /* real ms; CPU time for a request */
    int rc;
};

/* Fills all but workload, way, budget, faults, blocks and rc. */
void sr_bench_pool_fill(struct sr_bench_pool_row *row, const struct sr_bench_run *run, double cpu_seconds);

void sr_bench_pool_print(const struct sr_bench_pool_row *rows, size_t n, unsigned speed, const char *data);
void sr_bench_pool_print_json(const struct sr_bench_pool_row *rows, size_t n, unsigned speed,
                              const char *data);

#endif
