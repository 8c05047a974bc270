/*
 * Work of an API call that takes too long for its loop: a worker thread does it, the loop answers.
 *
 * The work owns its input; a client may disconnect at any time. Loop's thread only, except the function
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

/* The outcome: the answer of a 200, or a message. */
struct sr_api_outcome {
    int status;
    struct sr_bytes answer;
    const char *message;
};

struct sr_api_work;

struct sr_api_work_options {
    struct sr_loop *loop;
    sr_runtime *runtime;
    sr_api_work_fn *run; /* or `run_with`, which gets these options */
    int (*run_with)(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out);
    int kind;
    size_t answer_max; /* bytes */
    /* Called once, unless cancelled before; the work is freed afterwards. The outcome is borrowed for the
     * call. */
    void (*done)(void *ctx, const struct sr_api_outcome *outcome);
    void *ctx;
};

/* Passes `body` (emptied on success) to a worker thread. SR_EBUSY: no worker threads or a full queue.
 * SR_ENOMEM. */
int sr_api_work_start(struct sr_api_work **out, struct sr_buf *body,
                      const struct sr_api_work_options *options) SR_WARN_UNUSED;

/* Cancels the work: `done` will not be called. Call it before `done`. NULL is allowed. */
void sr_api_work_cancel(struct sr_api_work *work);

#endif
