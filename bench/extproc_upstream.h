/*
 * Measures the time until an upstream sees the first byte of a request that goes through a proxy.
 *
 * Client and upstream in one thread: the request is written as the proxy takes it while the upstream's port
 * is watched. Not for several threads.
 */
#ifndef SR_BENCH_EXTPROC_UPSTREAM_H
#define SR_BENCH_EXTPROC_UPSTREAM_H

#include "base/bytes.h"
#include "base/err.h"

struct sr_bench_upstream;

/* Takes a port of 127.0.0.1, but refuses connections until the first measurement: a proxy that is asked
 * before whether it is up answers at once. SR_EIO, SR_ENOMEM. */
int sr_bench_upstream_new(struct sr_bench_upstream **out) SR_WARN_UNUSED;
int sr_bench_upstream_port(const struct sr_bench_upstream *upstream);
void sr_bench_upstream_free(struct sr_bench_upstream *upstream);

/* Sends `request`, whose body has `body` bytes, to `port` on a connection of its own and answers it.
 * Microseconds from the request's first byte sent to the first received into `first`, and to the last into
 * `whole`. SR_EIO, SR_EPROTO, SR_ETIMEOUT after 10 s. */
int sr_bench_upstream_time(struct sr_bench_upstream *upstream, int port, struct sr_bytes request, size_t body,
                           double *first, double *whole) SR_WARN_UNUSED;

#endif
