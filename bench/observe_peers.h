/*
 * Who looks at a router while it is measured: a collector that takes every export of OTLP over HTTP and reads
 * none of it, and an open live page that reads its stream of requests. Each is a thread.
 */
#ifndef SR_BENCH_OBSERVE_PEERS_H
#define SR_BENCH_OBSERVE_PEERS_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

struct sr_bench_collector;

/* Takes a port of 127.0.0.1. SR_EIO, SR_ENOMEM. */
int sr_bench_collector_new(struct sr_bench_collector **out) SR_WARN_UNUSED;
int sr_bench_collector_port(const struct sr_bench_collector *collector);
/* Exports that were taken until now, and their bytes. */
uint64_t sr_bench_collector_exports(struct sr_bench_collector *collector, uint64_t *bytes);
void sr_bench_collector_free(struct sr_bench_collector *collector); /* NULL is allowed */

struct sr_bench_page;

/* Follows the requests of the API listener at `port` of 127.0.0.1. SR_EIO: it is not answered 200. SR_ENOMEM.
 */
int sr_bench_page_new(struct sr_bench_page **out, int port) SR_WARN_UNUSED;
/* Bytes of the stream until now. */
uint64_t sr_bench_page_bytes(struct sr_bench_page *page);
void sr_bench_page_free(struct sr_bench_page *page); /* NULL is allowed */

#endif
