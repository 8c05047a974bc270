/*
 * Sends one request of OTLP at a time to a collector, over HTTP or gRPC, and says what became of it.
 *
 * Knows no queue and does not try again: that is delivery.c. Loop's thread only.
 */
#ifndef SR_SERVE_OTLP_SENDER_H
#define SR_SERVE_OTLP_SENDER_H

#include "config/config.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"

struct sr_otlp_sender;

enum sr_otlp_end {
    SR_OTLP_SENT,
    SR_OTLP_AGAIN,   /* the collector is away, or asks to come back */
    SR_OTLP_REFUSED, /* it does not want this */
};

struct sr_otlp_outcome {
    enum sr_otlp_end end;
    uint64_t rejected; /* spans or data points of those that were sent */
    uint64_t after_ms; /* SR_OTLP_AGAIN: what the collector asks to wait; 0: nothing */
    const char *why;   /* for people; borrowed */
};

typedef void sr_otlp_done(void *ctx, const struct sr_otlp_outcome *outcome);

/* `to` and `method`, the path of the call of gRPC, must outlive the sender; `tls` NULL: clear text.
 * SR_ENOMEM, SR_EINVAL. */
int sr_otlp_sender_new(struct sr_otlp_sender **out, struct sr_loop *loop, const struct sr_config_otlp *to,
                       const char *method, sr_tls_context *tls, sr_otlp_done *done, void *ctx) SR_WARN_UNUSED;

/* What is on its way is dropped without a call of `done`. Not from `done`. NULL is allowed. */
void sr_otlp_sender_free(struct sr_otlp_sender *sender);

/* Nothing else may be on its way. `done` follows once, not within the call. SR_ENOMEM, SR_ELIMIT and errors
 * of the clients: nothing was sent and `done` does not follow. */
int sr_otlp_send(struct sr_otlp_sender *sender, struct sr_bytes message) SR_WARN_UNUSED;

#endif
