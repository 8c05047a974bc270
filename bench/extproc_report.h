/*
 * What `semroute bench extproc` found, and how it is printed: as tables or as one JSON document.
 */
#ifndef SR_BENCH_EXTPROC_REPORT_H
#define SR_BENCH_EXTPROC_REPORT_H

#include "bench/extproc_stage.h"

#include <stdint.h>
#include <stdio.h>

#define SR_BENCH_EXTPROC_REPEATS_MAX 31

/* Requests per second where the rate is steady. */
#define SR_BENCH_EXTPROC_PACE 1000

enum { SR_BENCH_EXPLICIT, SR_BENCH_KEYWORD, SR_BENCH_DOMAIN, SR_BENCH_EMBEDDING, SR_BENCH_ASKS };
enum { SR_BENCH_PROMPTS = 3, SR_BENCH_BODIES = 4 };

extern const char *const sr_bench_extproc_ways[SR_BENCH_WAYS];
extern const char *const sr_bench_extproc_asked[SR_BENCH_ASKS];
extern const size_t sr_bench_extproc_bodies[SR_BENCH_BODIES]; /* bytes */

/* Through Envoy. Microseconds and requests per second, one of each repeat; p10 is what an interrupted machine
 * shows of an undisturbed one. */
struct sr_bench_extproc_row {
    int way, ask, prompt;
    double p10[SR_BENCH_EXTPROC_REPEATS_MAX], p50[SR_BENCH_EXTPROC_REPEATS_MAX],
        p99[SR_BENCH_EXTPROC_REPEATS_MAX], rate[SR_BENCH_EXTPROC_REPEATS_MAX];
    uint64_t errors;
};

/* A processor without Envoy. */
struct sr_bench_extproc_alone {
    bool noop, duplex;
    int prompt;
    double p50[SR_BENCH_EXTPROC_REPEATS_MAX], p99[SR_BENCH_EXTPROC_REPEATS_MAX],
        rate[SR_BENCH_EXTPROC_REPEATS_MAX];
    double per_core[SR_BENCH_EXTPROC_REPEATS_MAX]; /* requests for each second of its CPU */
    double client[SR_BENCH_EXTPROC_REPEATS_MAX];   /* share of a core that the client took */
    uint64_t errors;
};

/* Until the upstream saw the first byte, and the last. */
struct sr_bench_extproc_first {
    int way, body;
    double first[SR_BENCH_EXTPROC_REPEATS_MAX], whole[SR_BENCH_EXTPROC_REPEATS_MAX];
};

struct sr_bench_extproc_report {
    int repeats, connections, streams;
    bool has_noop, has_embedding;
    bool bound; /* processors without Envoy had a core of their own */
    double load_before;
    struct sr_bench_extproc_row rows[SR_BENCH_PROMPTS * (3 + 2 * SR_BENCH_ASKS)];
    struct sr_bench_extproc_alone alone[8];
    struct sr_bench_extproc_row paced[SR_BENCH_WAYS];
    struct sr_bench_extproc_first first[SR_BENCH_WAYS * SR_BENCH_BODIES];
    size_t n_rows, n_alone, n_paced, n_first;
};

/* Both sort the samples. */
void sr_bench_extproc_print(struct sr_bench_extproc_report *report, FILE *out);
void sr_bench_extproc_print_json(struct sr_bench_extproc_report *report, FILE *out);

#endif
