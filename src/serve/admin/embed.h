/*
 * POST /api/v1/embeddings, /similarity, /similarity/batch, and OpenAI's /v1/embeddings: a body in, an answer
 * out.
 *
 * A worker reads and tokenizes the body, the engine computes, a worker writes the answer; the loop only hands
 * over. The work owns its input; a client may disconnect at any time, which cancels what is not computed yet.
 */
#ifndef SR_SERVE_ADMIN_EMBED_H
#define SR_SERVE_ADMIN_EMBED_H

#include "net/loop/loop.h"
#include "router/runtime.h"
#include "serve/admin/embed_request.h"

#define SR_API_EMBED_TIMEOUT_MS 120000u /* then 504 */

struct sr_api_embed;

struct sr_api_embed_options {
    enum sr_api_embed_kind kind;
    struct sr_loop *loop;
    sr_runtime *runtime;
    /* Once, unless left before; the work is gone afterwards. `body` is JSON, borrowed for the call. */
    void (*done)(void *ctx, int status, struct sr_bytes body);
    void *ctx;
};

/* Loop's thread. Takes `body` (emptied on success). SR_EBUSY: no worker is there or too much waits.
 * SR_ENOMEM. */
int sr_api_embed_start(struct sr_api_embed **out, struct sr_buf *body,
                       const struct sr_api_embed_options *options) SR_WARN_UNUSED;

/* Loop's thread, before its `done`: the answer is not wanted any more. NULL is allowed. */
void sr_api_embed_cancel(struct sr_api_embed *work);

#endif
