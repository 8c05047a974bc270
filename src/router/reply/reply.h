/*
 * The bodies of replies: errors, and messages of the configuration.
 *
 * Each function appends the body of one answer to `out`. SR_ENOMEM, SR_ELIMIT.
 */
#ifndef SR_ROUTER_REPLY_REPLY_H
#define SR_ROUTER_REPLY_REPLY_H

#include "router/refusal.h"
#include "router/request/request.h"
#include "router/router.h"

/* The error of a refusal, in the dialect's shape. */
int sr_reply_error(const struct sr_dialect_ops *dialect, const struct sr_refusal *refusal,
                   struct sr_buf *out) SR_WARN_UNUSED;

/* A message of the configuration in the form of a completion, or of a stream whose pieces join to exactly the
 * message. */
struct sr_reply_message {
    struct sr_bytes text;
    const char *id, *model, *finish; /* see struct sr_completion */
    bool stream;
};
int sr_reply_message(const struct sr_request *doc, const struct sr_reply_message *message,
                     struct sr_buf *out) SR_WARN_UNUSED;

/* The reply that needs no memory: a 503. */
struct sr_reply_constant {
    struct sr_bytes body;
    const struct sr_header *headers;
    size_t n_headers;
};
struct sr_reply_constant sr_reply_out_of_memory(void);

#endif
