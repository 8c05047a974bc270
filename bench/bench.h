/*
 * Shared parts of the measurements: repeats that alternate, medians, tables, the line about the machine.
 *
 * Subjects that are compared run alternately in the same process, so that other load or a change of clock
 * affects all of them alike.
 */
#ifndef SR_BENCH_BENCH_H
#define SR_BENCH_BENCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One thing to time. `run` does the work once and returns a value that depends on it, 0 when it failed. */
struct sr_bench_subject {
    const char *name;
    uint64_t (*run)(void *ctx);
    void *ctx;
    /* Results, in nanoseconds of one run: */
    double median_ns;
    double low_ns; /* the 10th percentile */
    size_t samples;
    bool failed;
};

/* Times all subjects in turns for about `seconds` altogether, at least five samples each. Short subjects are
 * run several times per sample, so that the clock does not count. SR_ENOMEM. */
int sr_bench_measure(struct sr_bench_subject *subjects, size_t n, double seconds) SR_WARN_UNUSED;

/* Sorts `values`; the value below which the share `p` (0..1) of them is. n > 0. */
double sr_bench_percentile(double *values, size_t n, double p);

#define SR_BENCH_COLUMNS_MAX 12
#define SR_BENCH_ROWS_MAX    64
#define SR_BENCH_CELL_MAX    48

/* A table whose columns become as wide as their widest cell; the first is aligned left, the others right. */
struct sr_bench_table {
    size_t columns, rows, cell;
    char cells[SR_BENCH_ROWS_MAX][SR_BENCH_COLUMNS_MAX][SR_BENCH_CELL_MAX];
};

void sr_bench_table_init(struct sr_bench_table *table, const char *const *titles, size_t columns);

/* Fills the next cell, row by row; cells beyond the maximum are dropped. */
void sr_bench_table_cell(struct sr_bench_table *table, const char *fmt, ...) SR_PRINTF(2, 3);
void sr_bench_table_print(const struct sr_bench_table *table, FILE *out);

/* "CPU name, 2 cores, semroute 0.1.0, release build" into static storage, not for several threads. */
const char *sr_bench_machine(void);

/* 1024 -> "1 KB", 1048576 -> "1 MB" into `text`. */
const char *sr_bench_size(char text[24], size_t bytes);

#endif
