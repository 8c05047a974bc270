/*
 * A real Envoy for a measurement: listeners with and without the external processor, one upstream.
 */
#ifndef SR_BENCH_PROCESS_ENVOY_H
#define SR_BENCH_PROCESS_ENVOY_H

#include "bench/process.h"

#define SR_BENCH_LISTENERS_MAX 8

struct sr_bench_listener {
    const char *mode; /* "BUFFERED", "FULL_DUPLEX_STREAMED"; NULL: no filter */
    int processor;    /* port of the processor that it calls */
    int port;         /* written by the start */
};

/* The program: tests/.venv/bin/envoy, else in PATH; NULL when there is none. Static storage. */
const char *sr_bench_envoy_find(void);

/* Starts `program` with 1 to SR_BENCH_LISTENERS_MAX listeners to the upstream on `upstream`; envoy.yaml and
 * envoy.log go to `directory`. A processor may take `timeout_s` for a message. SR_EINVAL, SR_EIO, errors of
 * sr_bench_process_start. */
int sr_bench_envoy_start(struct sr_bench_process *process, const char *program, const char *directory,
                         struct sr_bench_listener *listeners, int n, int upstream,
                         int timeout_s) SR_WARN_UNUSED;

/* Writes a file; its path into `path`. SR_EIO. */
int sr_bench_write_file(const char *directory, const char *name, char path[128],
                        const char *text) SR_WARN_UNUSED;

#endif
