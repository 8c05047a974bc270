/*
 * POST /api/v1/embeddings, /similarity, /similarity/batch, and OpenAI's /v1/embeddings: a body in, an
 * answer out.
 *
 * Threads and the engine are router/embed's; this has the deadline (504 after it), and the shapes of errors.
 * A client may disconnect at any time, which cancels pending work.
 */
#ifndef SR_SERVE_ADMIN_EMBED_H
#define SR_SERVE_ADMIN_EMBED_H

#include "net/loop/loop.h"
#include "router/embed/work.h"

struct sr_api_embed;

struct sr_api_embed_options {
    enum sr_embeddings_kind kind;
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

/* Appends an error in OpenAI's shape, or in that of vLLM Semantic Router. */
void sr_api_embed_error(bool openai, int status, const char *message, struct sr_buf *out);

/* Loop's thread, before its `done`: cancels the work. NULL is allowed. */
void sr_api_embed_cancel(struct sr_api_embed *work);

#endif
