/*
 * semroute bench gateway: what the gateway adds to a request, in comparison with a plain proxy, in one run.
 *
 * Starts a mock upstream, `semroute serve` and, where it is installed, nginx or HAProxy on free ports of this
 * machine, and sends them the same requests in turns.
 */
#ifndef SR_BENCH_GATEWAY_H
#define SR_BENCH_GATEWAY_H

/* Options: --json, --repeats N, --seconds S per sample. Prints a table or one JSON document; returns the
 * process's exit code (0, 2 wrong usage, 3 it broke). */
int sr_bench_gateway(int argc, char **argv);

#endif
