/*
 * One request for embeddings or similarities that are computed here: a body in, an answer out.
 *
 * A worker thread reads and tokenizes the body, the engine computes, a worker thread writes the answer; the
 * consumer's thread only passes messages. The work owns its input, and may be freed at any time, which
 * cancels what is pending. Knows no connection, no clock and no exchange.
 */
#ifndef SR_ROUTER_EMBED_WORK_H
#define SR_ROUTER_EMBED_WORK_H

#include "base/mailbox.h"
#include "router/embed/kind.h"
#include "router/runtime.h"

#define SR_EMBEDDINGS_TIMEOUT_MS 120000u /* the deadline that consumers should set */

struct sr_embeddings;

struct sr_embeddings_options {
    enum sr_embeddings_kind kind;
    const char *model; /* NULL: the body names the model, else it was found by another name (`auto`) */
    sr_runtime *runtime;
    struct sr_mailbox *mailbox; /* a reference is taken */
    void (*done)(void *ctx);    /* on the mailbox's thread, once, unless it was freed or expired before */
    void *ctx;
};

/* What became of it. */
struct sr_embeddings_result {
    int status;          /* as of HTTP; 200: `answer` is JSON */
    const char *message; /* for the client, where it is not 200 */
    struct sr_bytes answer;
    bool openai;     /* the request has OpenAI's shape */
    uint64_t tokens; /* that were computed */
};

/* On the mailbox's thread. Takes `body` (emptied on success). SR_EBUSY: no worker threads or a full queue.
 * SR_ENOMEM. */
int sr_embeddings_start(struct sr_embeddings **out, struct sr_buf *body,
                        const struct sr_embeddings_options *options) SR_WARN_UNUSED;

/* After `done`: borrowed from the work. */
struct sr_embeddings_result sr_embeddings_result(const struct sr_embeddings *work);

/* On the mailbox's thread: cancels what is pending. NULL is allowed. */
void sr_embeddings_free(struct sr_embeddings *work);

#endif
