/*
 * POST /api/v1/embeddings, /similarity, /similarity/batch, and OpenAI's /v1/embeddings: a body in, an
 * answer out.
 *
 * A worker thread reads and tokenizes the body, the engine computes, a worker thread writes the answer;
 * the loop only passes messages. The work owns its input; a client may disconnect at any time, which
 * cancels pending work.
 */
#ifndef SR_SERVE_ADMIN_EMBED_H
#define SR_SERVE_ADMIN_EMBED_H

#include "net/loop/loop.h"
#include "router/runtime.h"
#include "serve/admin/embed_request.h"

#define SR_API_EMBED_TIMEOUT_MS 120000u /* deadline of a request; 504 after it */

struct sr_api_embed;

struct sr_api_embed_options {
    enum sr_api_embed_kind kind;
    struct sr_loop *loop;
    sr_runtime *runtime;
    /* Called once, unless cancelled before; the work is freed afterwards. `body` is JSON, borrowed for the
     * call. */
    void (*done)(void *ctx, int status, struct sr_bytes body);
    void *ctx;
};

/* Loop's thread. Takes `body` (emptied on success). SR_EBUSY: no worker threads or a full queue.
 * SR_ENOMEM. */
int sr_api_embed_start(struct sr_api_embed **out, struct sr_buf *body,
                       const struct sr_api_embed_options *options) SR_WARN_UNUSED;

/* Loop's thread, before its `done`: cancels the work. NULL is allowed. */
void sr_api_embed_cancel(struct sr_api_embed *work);

#endif
