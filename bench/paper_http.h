/*
 * Requests through Envoy, each with a prompt of its own, on connections of their own as the paper's curl
 * calls were.
 */
#ifndef SR_BENCH_PAPER_HTTP_H
#define SR_BENCH_PAPER_HTTP_H

#include "base/buf.h"

#define SR_PAPER_CLIENTS_MAX 20u

/* Appends a whole POST of a chat request with `prompt` as its only message. SR_ENOMEM, SR_ELIMIT. */
int sr_paper_request(struct sr_buf *out, struct sr_bytes prompt) SR_WARN_UNUSED;

/* Sends it to `port` of 127.0.0.1 and waits for the whole answer; milliseconds into `ms`. SR_EIO, SR_EPROTO
 * when the answer is not 200. */
int sr_paper_ask(int port, struct sr_bytes request, double *ms) SR_WARN_UNUSED;

/* `n` clients at once, one request each; milliseconds of each into `ms`. The first error. */
int sr_paper_ask_all(int port, const struct sr_bytes *requests, size_t n, double *ms) SR_WARN_UNUSED;

/* The sum of all samples of a metric that a router tells on `port` of 127.0.0.1; 0 when there is none.
 * SR_EIO, SR_ENOMEM. */
int sr_paper_metric(int port, const char *name, double *sum) SR_WARN_UNUSED;

#endif
