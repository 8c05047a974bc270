/*
 * Replies of a listener without an exchange: health, readiness, metrics, and errors before an exchange
 * begins.
 *
 * Holds no state and opens no socket; every function formats into the caller's buffer.
 */
#ifndef SR_SERVE_LOCAL_H
#define SR_SERVE_LOCAL_H

#include "base/buf.h"
#include "semroute/semroute.h"

#include <stdbool.h>

/* Limit of the metrics page in bytes. */
#define SR_LOCAL_METRICS_MAX (16u << 20)

struct sr_local_page {
    int status;
    struct sr_bytes content_type; /* static */
};

/* The state of the process that a door reports. */
struct sr_local_state {
    sr_runtime *runtime;    /* NULL: the process starts */
    const char *service;    /* "service" of the health pages */
    bool draining;          /* the process ends */
    bool names;             /* /ready names models and files: the listener is for operators */
    bool metrics;           /* false: no /metrics here */
    struct sr_bytes accept; /* the client's Accept header: the format of /metrics */
};

/* Is this GET or HEAD of /metrics? */
bool sr_local_is_metrics(struct sr_bytes method, struct sr_bytes path);

/* Answers GET and HEAD of /health, /ready and /metrics into `body`: true with `page` filled. False when the
 * path is another one, or the page cannot be made. */
bool sr_local_answer(const struct sr_local_state *state, struct sr_bytes method, struct sr_bytes path,
                     struct sr_local_page *page, struct sr_buf *body);

/* Appends an error object in OpenAI's shape and returns its content type. `type` and `code` NULL: derived
 * from the status. */
struct sr_bytes sr_local_error(struct sr_buf *body, int status, const char *type, const char *code,
                               const char *message);

#endif
