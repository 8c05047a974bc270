/*
 * Brings one message at a time to a collector: it is sent again, after pauses that grow, until the collector
 * takes or refuses it, or two minutes have passed.
 *
 * Knows nothing of what is in a message. Loop's thread only.
 */
#ifndef SR_SERVE_OTLP_DELIVERY_H
#define SR_SERVE_OTLP_DELIVERY_H

#include "serve/otlp/sender.h"

struct sr_otlp_delivery_events {
    /* The message is over: it was taken, but for `rejected` parts of it, or it is lost. */
    void (*ended)(void *ctx, bool taken, uint64_t rejected);
    /* After `ended`, maybe after a pause: another one may be sent. */
    void (*ready)(void *ctx);
};

/* Embedded by its owner. */
struct sr_otlp_delivery {
    const char *event, *what; /* "trace_export", "spans" */
    const char *method;       /* of gRPC */
    const struct sr_otlp_delivery_events *events;
    void *ctx;
    struct sr_loop *loop;
    const struct sr_config_otlp *to; /* the owner's */
    struct sr_otlp_sender *sender;   /* NULL: nothing is sent */
    struct sr_timer timer;
    struct sr_bytes message; /* the owner's */
    uint64_t since_ns;       /* it was tried first */
    unsigned tries;          /* 0: there is no message */
    bool pausing, away;
};

/* `delivery` has its first five members. */
void sr_otlp_delivery_init(struct sr_otlp_delivery *delivery, struct sr_loop *loop);

/* Another collector, or none: `to` NULL. A message that is on its way is dropped without `ended`. Errors are
 * logged: nothing is sent then. */
void sr_otlp_delivery_open(struct sr_otlp_delivery *delivery, const struct sr_config_otlp *to,
                           sr_tls_context *tls);

void sr_otlp_delivery_dispose(struct sr_otlp_delivery *delivery);

/* Another message may be sent. */
bool sr_otlp_delivery_is_free(const struct sr_otlp_delivery *delivery);

/* Sends `message`, which stays as it is until `ended`; the delivery must be free. `ended` and `ready` follow,
 * within the call also. */
void sr_otlp_deliver(struct sr_otlp_delivery *delivery, struct sr_bytes message);

#endif
