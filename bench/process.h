/*
 * Server processes that a measurement starts, watches and ends: CPU time and memory from /proc.
 *
 * Each runs in its own process group, so that a server is counted and ended with all its processes.
 */
#ifndef SR_BENCH_PROCESS_H
#define SR_BENCH_PROCESS_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct sr_bench_process {
    pid_t pid; /* 0: not running */
    int port;
    double ready_ms; /* from the fork to the first answer on the port that is not 503 */
};

/* Starts argv[0] with its output in `log` (NULL: nowhere) and waits until `port` of 127.0.0.1 answers GET
 * /health, or anything at all. SR_ETIMEOUT after 10 s, SR_ECLOSED when it ends early, SR_EIO. */
int sr_bench_process_start(struct sr_bench_process *process, char *const argv[], int port,
                           const char *log) SR_WARN_UNUSED;

/* SIGTERM, then SIGKILL after 3 s. Harmless when it does not run. */
void sr_bench_process_stop(struct sr_bench_process *process);

/* Seconds of CPU of the whole group until now, user and system; resident bytes of the whole group. */
double sr_bench_process_cpu(const struct sr_bench_process *process);
double sr_bench_process_resident(const struct sr_bench_process *process);

/* Highest resident bytes of the process itself until now; 0 when it cannot be read. */
double sr_bench_process_peak(const struct sr_bench_process *process);

/* A port of 127.0.0.1 that was free a moment ago; 0 when there is none. */
int sr_bench_free_port(void);
/* The first of `n` such ports in a row. */
int sr_bench_free_ports(int n);

#endif
