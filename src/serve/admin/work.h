/*
 * Work of an API call that would hold up its loop: done by a worker, answered on the loop.
 *
 * The work owns its input; a client may disconnect at any time. Loop's thread only, but for the function
 * itself.
 */
#ifndef SR_SERVE_ADMIN_WORK_H
#define SR_SERVE_ADMIN_WORK_H

#include "base/buf.h"
#include "net/loop/loop.h"
#include "router/runtime.h"

/* Reads `body`, appends an answer to `out` and returns 200; or another HTTP status with a message for the
 * client in `err`. Any thread. */
typedef int sr_api_work_fn(struct sr_bytes body, struct sr_buf *out, struct sr_err *err);

/* What became of it: the answer of a 200, or a message. */
struct sr_api_outcome {
    int status;
    struct sr_bytes answer;
    const char *message;
};

struct sr_api_work;

struct sr_api_work_options {
    struct sr_loop *loop;
    sr_runtime *runtime;
    sr_api_work_fn *run; /* or `run_with`, with a router of which the work takes its own reference */
    int (*run_with)(struct sr_router *router, int kind, struct sr_bytes body, struct sr_buf *out);
    struct sr_router *router;
    int kind;
    size_t answer_max; /* bytes */
    /* Once, unless cancelled before; afterwards the work is gone. The outcome is borrowed for the call. */
    void (*done)(void *ctx, const struct sr_api_outcome *outcome);
    void *ctx;
};

/* Hands `body` (emptied on success) to a worker. SR_EBUSY: no worker is there or too much waits. SR_ENOMEM.
 */
int sr_api_work_start(struct sr_api_work **out, struct sr_buf *body,
                      const struct sr_api_work_options *options) SR_WARN_UNUSED;

/* The answer is not wanted any more; `done` will not be called. Before its `done`. NULL is allowed. */
void sr_api_work_cancel(struct sr_api_work *work);

#endif
