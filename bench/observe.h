/*
 * semroute bench observe: what tracing costs a router, and an open live page.
 *
 * Starts a mock upstream, a collector and five `semroute serve` that differ in what is seen of them, and
 * sends them the same requests in turns.
 */
#ifndef SR_BENCH_OBSERVE_H
#define SR_BENCH_OBSERVE_H

/* Options: --json, --repeats N, --seconds S per sample. Prints a table or one JSON document; returns the
 * process's exit code (0, 2 wrong usage, 3 it broke). */
int sr_bench_observe(int argc, char **argv);

#endif
