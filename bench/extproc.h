/*
 * semroute bench extproc: what semroute adds to a request through the real Envoy, in one run with Envoy
 * without any filter.
 *
 * Starts a mock upstream, `semroute serve` and Envoy (from PATH, or tests/.venv) on free ports of this
 * machine, and sends the same requests through each of Envoy's listeners in turns.
 */
#ifndef SR_BENCH_EXTPROC_H
#define SR_BENCH_EXTPROC_H

/* Options: --json, --repeats N, --seconds S per sample. Prints a table or one JSON document; returns the
 * process's exit code (0, 2 wrong usage, 3 it broke or there is no Envoy). */
int sr_bench_extproc(int argc, char **argv);

#endif
