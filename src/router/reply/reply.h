/*
 * Answers that are given here, without an upstream: errors in OpenAI's shape, fast responses, model lists.
 *
 * Each function turns the exchange's verdict into a reply and settles it. When even that fails for lack of
 * memory the reply is a constant 503.
 */
#ifndef SR_ROUTER_REPLY_REPLY_H
#define SR_ROUTER_REPLY_REPLY_H

#include "router/exchange.h"

/* `code` and `param` may be NULL (null in the answer). `type` NULL: as the status has it. The message never
 * holds text of the prompt; names that the client sent are quoted and cut. */
struct sr_error_reply {
    int status;
    const char *type, *code, *param;
    bool blocked;     /* by a guard: labelled so, not as an error */
    const char *path; /* x-vsr-response-path; NULL: "blocked" or "error" */
};
void sr_reply_error(sr_exchange *x, struct sr_error_reply error, const char *fmt, ...) SR_PRINTF(3, 4);

/* The fast_response plugin's message as a completion, or as a stream whose pieces join to exactly the
 * message. */
void sr_reply_fast(sr_exchange *x, const char *message);

/* A guard's message in the same form, with the finish_reason "content_filter"; `code` is for the log. */
void sr_reply_filtered(sr_exchange *x, const char *message, const char *code);

/* GET /v1/models, and one model by its id as it stands in the path. */
void sr_reply_models(sr_exchange *x);
void sr_reply_model(sr_exchange *x, struct sr_bytes escaped_id);

/* For the files that build replies: the verdict becomes a reply; then its headers and the exchange's reply
 * buffer are put in, or the constant 503 when `rc` is an error. */
void sr_reply_settle(sr_exchange *x, enum sr_outcome outcome, int status);
void sr_reply_finish(sr_exchange *x, const char *content_type, int rc);

#endif
