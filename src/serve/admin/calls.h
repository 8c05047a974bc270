/*
 * The calls of the API listener: which path asks for what, and what answers it.
 *
 * Work that takes longer than a moment runs on a worker thread; its answer is sent on the loop. Loop's thread
 * only.
 */
#ifndef SR_SERVE_ADMIN_CALLS_H
#define SR_SERVE_ADMIN_CALLS_H

#include "serve/admin/call.h"
#include "serve/admin/work.h"

/* What a worker thread does for calls of a path: the members of sr_api_work_options. */
struct sr_api_work_type {
    int (*run)(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out);
    void (*done)(void *ctx, const struct sr_api_outcome *outcome);
    size_t answer_max; /* bytes */
};

struct sr_api_path {
    const char *path;
    void (*answer)(struct sr_api_call *call); /* when the body is complete */
    const struct sr_api_work_type *type;      /* of work; NULL: `answer` does none */
    int kind;                                 /* which of several things `answer` or `type` does */
    bool get;                                 /* the method is GET, not POST */
    bool set;                                 /* with PUT or POST it is changed */
    bool below;                               /* what is below the path is meant, too */
};

/* NULL: there is no such path. */
const struct sr_api_path *sr_api_path_find(struct sr_bytes path);

/* Cancels what other threads do for the call, and closes its stream. */
void sr_api_call_cancel(struct sr_api_call *call);

#endif
