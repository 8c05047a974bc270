/*
 * The tokens of prompts: what is known of them, and who is asked for them.
 *
 * First the pool's own tokenizer (router/prompt/prompt.h), where it has one and its template can express the
 * request; else the server (serve/gateway/tokenize.h), which asks workers over HTTP. It is optional, so
 * without it nothing is asked. What is told is remembered by prefix (router/token_memo.h), so that most
 * requests wait for nothing. One for the process; any thread.
 */
#ifndef SR_ROUTER_TOKENS_H
#define SR_ROUTER_TOKENS_H

#include "base/arena.h"
#include "base/task.h"
#include "base/thread.h"
#include "observe/metrics.h"
#include "pool/policy.h"
#include "semroute/semroute.h"

#define SR_TOKENS_BODY_MAX ((size_t)4 << 20) /* bytes of a request whose tokens are asked for */
#define SR_TOKENS_MAX      ((size_t)1 << 20) /* tokens of a prompt */

/* Bodies of up to so many bytes are tokenized on the calling thread, longer ones on the worker threads. */
#define SR_TOKENS_INLINE ((size_t)4 << 10)

struct sr_tokens;
struct sr_prompts;

/* One prompt whose tokens are asked for. Owns copies of all; its parts are read by one thread at a time. */
struct sr_token_job {
    struct sr_task task; /* the server completes it */
    struct sr_arena arena;
    struct sr_tokens *tokens;
    struct sr_job work;         /* on the worker threads */
    struct sr_prompts *prompts; /* the pool's own tokenizer; NULL: none */
    /* the question */
    const char *scheme, *host, *target, *tls_ca_file;
    int port;
    bool tls_verify;
    const struct sr_header *headers;
    size_t n_headers;
    struct sr_bytes body;
    /* what is remembered */
    uint64_t kind, root;
    const uint64_t *blocks; /* [n_blocks] */
    size_t n_blocks;
    uint32_t block_size; /* tokens of a block */
    uint64_t *kv;        /* [n_kv]: the answer */
    size_t n_kv;
    /* of the request that waits; NULL: none does any more */
    void (*done)(void *ctx);
    void *ctx;
    bool ended; /* used by the thread that waits only */
};

/* `metrics` is borrowed. SR_ENOMEM. */
int sr_tokens_new(struct sr_tokens **out, struct sr_metrics *metrics) SR_WARN_UNUSED;
/* No job may be in progress at the server. NULL is allowed. */
void sr_tokens_free(struct sr_tokens *tokens);

/* Sets the server of jobs, NULL: there is none. `ask` takes a job with its reference, on any thread, and
 * completes it; false: it does not take it. After the return no call of the one before is in progress. */
void sr_tokens_serve(struct sr_tokens *tokens, bool (*ask)(void *ctx, struct sr_token_job *job), void *ctx);

/* The server's: the tokens of the job's prompt. Before the task is completed. SR_ENOMEM. */
int sr_token_job_take(struct sr_token_job *job, const uint32_t *ids, size_t n) SR_WARN_UNUSED;

/* What is asked. All is copied. */
struct sr_token_question {
    const struct sr_target *target; /* a worker */
    const char *path;               /* after its base path; "": workers are not asked */
    struct sr_prompts *prompts;     /* the pool's own tokenizer; NULL: none */
    const struct sr_bytes *slices;  /* the request's body as it will be sent */
    size_t n_slices;
    uint64_t model; /* tells apart models */
    uint64_t root;  /* of sr_pool_kv_root */
    const uint64_t *blocks;
    size_t n_blocks;
    uint32_t block_size;
};

/* The token blocks of the longest known prefix; as sr_token_memo_get. */
size_t sr_tokens_known(struct sr_tokens *tokens, const struct sr_token_question *question,
                       struct sr_arena *arena, uint64_t **kv, size_t *n_kv);

/* Asks; long bodies are read by `workers`, NULL: there are none. `mailbox` NULL: no request waits, and the
 * return is NULL. Else `done` is called on its thread when the answer is there or will not come, unless
 * sr_token_job_leave was called; not within this call. NULL: it is not asked. */
struct sr_token_job *sr_tokens_ask(struct sr_tokens *tokens, const struct sr_token_question *question,
                                   struct sr_workers *workers, struct sr_mailbox *mailbox,
                                   void (*done)(void *ctx), void *ctx);

/* Does not wait any more; the answer is remembered nevertheless. NULL is allowed. */
void sr_token_job_leave(struct sr_token_job *job);

#endif
