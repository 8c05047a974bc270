/*
 * The options that most measurements have: --json, --seconds S, --repeats N; and their usage text.
 *
 * Measurements with more options read theirs themselves, with the same answers to --help and to what is
 * wrong.
 */
#ifndef SR_BENCH_OPTIONS_H
#define SR_BENCH_OPTIONS_H

#include <stdbool.h>

#define SR_BENCH_REPEATS_MAX 101
#define SR_BENCH_SECONDS_MAX 600

struct sr_bench_options {
    const char *name; /* of the measurement */
    const char *text; /* what it measures, and what a second is spent on */
    bool json;
    double seconds; /* as given; before that the default */
    int repeats;    /* the same; 0: it has no repeats */
};

/* Reads them into `options`. -1: go on; else the exit code: the usage is printed, to standard error unless it
 * was asked for. */
int sr_bench_options_read(struct sr_bench_options *options, int argc, char **argv);

/* Whether an argument is --help or -h: then `usage` is printed. */
bool sr_bench_is_help(int argc, char **argv, const char *usage);

/* Prints what is wrong (an option that is not known, or a sentence) and `usage`, to standard error; 2. */
int sr_bench_wrong(const char *name, const char *what, const char *usage);

#endif
