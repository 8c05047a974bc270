/*
 * An HTTP/1.1 load generator on one thread: each connection sends, waits for the whole answer, and sends
 * again, a second later when it was refused; or requests leave on a schedule, each on a connection that is
 * free.
 *
 * Understands just enough: answers with content-length, keep-alive. Anything else counts as an error.
 */
#ifndef SR_BENCH_LOAD_H
#define SR_BENCH_LOAD_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdint.h>

#define SR_BENCH_LOAD_CONNECTIONS_MAX 1024

struct sr_bench_load {
    int port;                /* of 127.0.0.1 */
    struct sr_bytes request; /* one whole request, head and body */
    char **stamps;           /* positions in `request`, each of eight digits that differ in every request */
    size_t n_stamps;
    int connections;
    double rate;   /* requests per second on a schedule, with latencies from the time that was due; 0: each
                      connection asks again when it was answered */
    bool stubborn; /* who is refused asks again at once */
    double seconds;
    const atomic_bool *stop; /* ends earlier when another thread sets it; NULL: never */
    /* Optional: is shown each answer that counts as an error, from its head on, on the load's thread. */
    void (*failed)(void *ctx, struct sr_bytes answer);
    void *ctx;
    /* Results: */
    uint64_t answers, errors; /* errors: connections lost, and answers that were not 200 or a refusal */
    uint64_t refused;         /* answers 413 and 503, counted in `answers`, without a latency */
    double elapsed;           /* seconds */
    double p10_us, p50_us, p99_us;
};

/* SR_EIO when no connection can be made, SR_EPROTO when no answer was understood, SR_ENOMEM. */
int sr_bench_load_run(struct sr_bench_load *load) SR_WARN_UNUSED;

#endif
