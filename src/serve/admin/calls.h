/*
 * The calls of the API listener: which path asks for what, and what answers it.
 *
 * Work that takes longer than a moment runs on a worker thread; its answer is sent on the loop. Loop's thread
 * only.
 */
#ifndef SR_SERVE_ADMIN_CALLS_H
#define SR_SERVE_ADMIN_CALLS_H

#include "serve/admin/call.h"

struct sr_api_path {
    const char *path;
    void (*answer)(struct sr_api_call *call); /* when the body is complete */
    bool get;                                 /* the method is GET, not POST */
    bool set;                                 /* with PUT or POST it is changed */
    bool below;                               /* what is below the path is meant, too */
};

/* NULL: there is no such path. */
const struct sr_api_path *sr_api_path_find(struct sr_bytes path);

/* Cancels what other threads do for the call, and closes its stream. */
void sr_api_call_cancel(struct sr_api_call *call);

#endif
