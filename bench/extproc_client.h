/*
 * A closed-loop gRPC load generator that simulates Envoy: many streams on a few connections, each the
 * messages of one HTTP request.
 *
 * Writes and reads HTTP/2 frames itself, so that it costs a small part of what any server costs; it does not
 * check HEADERS and reads of each reply just its kind and, for pieces of a body, whether it is the last. A
 * stream is over when the reply to the response's headers is there, and ends with RST_STREAM, as Envoy's do.
 */
#ifndef SR_BENCH_EXTPROC_CLIENT_H
#define SR_BENCH_EXTPROC_CLIENT_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_bench_extproc_client {
    int port;             /* of 127.0.0.1 */
    struct sr_bytes body; /* of the HTTP request; at most 1 MiB */
    bool full_duplex;     /* else BUFFERED */
    int connections;      /* at most 64 */
    int streams;          /* at a time and on each connection; at most 256 */
    double seconds;
    /* Results: */
    uint64_t requests, errors; /* errors: streams that ended early, and replies of a kind that was not due */
    double elapsed;            /* seconds */
    double cpu;                /* seconds of CPU that this client took */
    double p50_us, p99_us;     /* from a request's first byte to its last reply */
};

/* SR_EIO when a connection is refused or lost, SR_EPROTO when frames cannot be read, SR_ENOMEM. */
int sr_bench_extproc_client_run(struct sr_bench_extproc_client *client) SR_WARN_UNUSED;

#endif
