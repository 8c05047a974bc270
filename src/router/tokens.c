/* Jobs are copies of their question, so that requests and configurations may end before them. */
#include "router/tokens.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pool/warm/warm.h"
#include "router/prompt/prompt.h"
#include "router/token_memo.h"

#include <pthread.h>
#include <string.h>

#define SMALL       ((size_t)256 << 10) /* what a job has beside its body and its hashes */
#define SCRATCH_MAX ((size_t)256 << 20) /* of tokenizing one body */

struct sr_tokens {
    struct sr_token_memo *memo;
    struct sr_metrics *metrics;
    pthread_rwlock_t lock; /* held for reading while `ask` is called */
    bool (*ask)(void *ctx, struct sr_token_job *job);
    void *ctx;
};

int sr_tokens_new(struct sr_tokens **out, struct sr_metrics *metrics)
{
    struct sr_tokens *tokens = sr_mem_calloc(1, sizeof *tokens);
    *out = NULL;
    if (!tokens || sr_token_memo_new(&tokens->memo)) {
        sr_mem_free(tokens);
        return SR_ENOMEM;
    }
    pthread_rwlock_init(&tokens->lock, NULL);
    tokens->metrics = metrics;
    *out = tokens;
    return SR_OK;
}

void sr_tokens_free(struct sr_tokens *tokens)
{
    if (!tokens)
        return;
    sr_token_memo_free(tokens->memo);
    pthread_rwlock_destroy(&tokens->lock);
    sr_mem_free(tokens);
}

void sr_tokens_serve(struct sr_tokens *tokens, bool (*ask)(void *ctx, struct sr_token_job *job), void *ctx)
{
    pthread_rwlock_wrlock(&tokens->lock);
    tokens->ask = ask;
    tokens->ctx = ctx;
    pthread_rwlock_unlock(&tokens->lock);
}

/* ---- jobs ---- */

static struct sr_token_job *of(struct sr_task *task)
{
    return (struct sr_token_job *)((char *)task - offsetof(struct sr_token_job, task));
}

static void job_free(struct sr_task *task)
{
    struct sr_token_job *job = of(task);
    sr_arena_dispose(&job->arena);
    sr_prompts_unref(job->prompts);
    sr_mem_free(job->kv);
    sr_mem_free(job);
}

/* On the thread of the request that waits; without one, on the thread that completes it. */
static void job_done(struct sr_task *task, int status)
{
    struct sr_token_job *job = of(task);
    (void)status;
    if (!job->done)
        return;
    job->ended = true;
    job->done(job->ctx);
}

static uint64_t kind_of(const struct sr_token_question *question)
{
    return sr_hash64(sr_bytes_of((const char *)&question->block_size, sizeof question->block_size),
                     question->model ^ question->root);
}

static int copy_headers(struct sr_token_job *job, const struct sr_target *target)
{
    struct sr_header *headers = sr_arena_calloc(&job->arena, target->n_headers + 1, sizeof *headers);
    for (size_t i = 0; headers && i < target->n_headers; i++) {
        headers[i].name = sr_arena_dup(&job->arena, target->headers[i].name);
        headers[i].value = sr_arena_dup(&job->arena, target->headers[i].value);
        if (!headers[i].name.p || !headers[i].value.p)
            return SR_ENOMEM;
    }
    job->headers = headers;
    job->n_headers = target->n_headers;
    return headers ? SR_OK : SR_ENOMEM;
}

static const char *copy_text(struct sr_token_job *job, const char *text)
{
    return sr_arena_dup(&job->arena, sr_bytes_str(text)).p;
}

static int fill(struct sr_token_job *job, const struct sr_token_question *q, size_t size)
{
    const struct sr_target *target = q->target;
    char *body = sr_arena_alloc(&job->arena, size + 1);
    uint64_t *blocks = sr_arena_calloc(&job->arena, q->n_blocks + 1, sizeof *blocks);
    size_t n = 0;
    job->scheme = copy_text(job, target->scheme);
    job->host = copy_text(job, target->host);
    job->tls_ca_file = copy_text(job, target->tls_ca_file);
    job->target = q->path[0] ? sr_arena_printf(&job->arena, "%s%s", target->base_path, q->path) : "";
    job->port = target->port;
    job->tls_verify = target->tls_verify;
    if (!body || !blocks || !job->scheme || !job->host || !job->tls_ca_file || !job->target ||
        copy_headers(job, target))
        return SR_ENOMEM;
    for (size_t i = 0; i < q->n_slices; i++) {
        if (q->slices[i].n)
            memcpy(body + n, q->slices[i].p, q->slices[i].n);
        n += q->slices[i].n;
    }
    if (q->n_blocks)
        memcpy(blocks, q->blocks, q->n_blocks * sizeof *blocks);
    job->body = sr_bytes_of(body, n);
    job->blocks = blocks;
    job->n_blocks = q->n_blocks;
    job->block_size = q->block_size;
    job->kind = kind_of(q);
    job->root = q->root;
    return SR_OK;
}

static void count(struct sr_tokens *tokens, const char *by)
{
    struct sr_bytes label = sr_bytes_str(by);
    sr_metrics_add(tokens->metrics, SR_METRIC_POOL_TOKENIZED, 1, &label);
}

/* Asks a worker; the server has a reference of its own then. */
static bool ask_worker(struct sr_token_job *job)
{
    struct sr_tokens *tokens = job->tokens;
    bool asked = false;
    if (!job->target[0])
        return false;
    pthread_rwlock_rdlock(&tokens->lock);
    sr_task_ref(&job->task);
    asked = tokens->ask && tokens->ask(tokens->ctx, job);
    pthread_rwlock_unlock(&tokens->lock);
    if (asked)
        count(tokens, "worker");
    else
        sr_task_unref(&job->task);
    return asked;
}

/* The pool's own tokenizer; a worker where that cannot express the request. Drops a reference. */
static void tokenize(struct sr_token_job *job)
{
    const uint32_t *ids;
    size_t n;
    struct sr_arena arena;
    sr_arena_init(&arena, SCRATCH_MAX);
    int rc = sr_prompts_read(job->prompts, job->body, &arena, &ids, &n);
    if (rc == SR_OK)
        rc = sr_token_job_take(job, ids, n);
    sr_arena_dispose(&arena);
    if (rc == SR_EUNSUPPORTED && ask_worker(job)) {
        sr_task_unref(&job->task);
        return;
    }
    count(job->tokens, rc == SR_OK ? "router" : "none");
    sr_task_complete(&job->task, rc);
}

static void run(struct sr_job *work)
{
    tokenize((struct sr_token_job *)((char *)work - offsetof(struct sr_token_job, work)));
}

/* On this thread, or on one of the workers. */
static bool ask_own(struct sr_token_job *job, struct sr_workers *workers)
{
    job->work = (struct sr_job){.run = run, .bytes = job->body.n};
    sr_task_ref(&job->task);
    if (job->body.n <= SR_TOKENS_INLINE) {
        tokenize(job);
        return true;
    }
    if (workers && sr_workers_submit(workers, &job->work, SR_JOB_INTERACTIVE) == SR_OK)
        return true;
    sr_task_unref(&job->task);
    return false;
}

struct sr_token_job *sr_tokens_ask(struct sr_tokens *tokens, const struct sr_token_question *question,
                                   struct sr_workers *workers, struct sr_mailbox *mailbox,
                                   void (*done)(void *ctx), void *ctx)
{
    size_t size = 0;
    for (size_t i = 0; i < question->n_slices; i++)
        size += question->slices[i].n;
    struct sr_token_job *job = size <= SR_TOKENS_BODY_MAX ? sr_mem_calloc(1, sizeof *job) : NULL;
    if (!job)
        return NULL;
    sr_arena_init(&job->arena, SMALL + 2 * size + 2 * question->n_blocks * sizeof *question->blocks);
    sr_task_init(&job->task, job_done, job_free, mailbox);
    job->tokens = tokens;
    job->prompts = question->prompts ? sr_prompts_ref(question->prompts) : NULL;
    job->done = mailbox ? done : NULL;
    job->ctx = ctx;
    bool asked = false;
    if (fill(job, question, size) == SR_OK)
        asked = (job->prompts && ask_own(job, workers)) || ask_worker(job);
    if (!asked)
        count(tokens, "none");
    if (asked && mailbox)
        return job;
    sr_task_unref(&job->task);
    return NULL;
}

void sr_token_job_leave(struct sr_token_job *job)
{
    if (!job)
        return;
    job->done = NULL;
    sr_task_unref(&job->task);
}

int sr_token_job_take(struct sr_token_job *job, const uint32_t *ids, size_t n)
{
    uint64_t hash = job->root;
    size_t n_kv = n / job->block_size;
    job->kv = sr_mem_calloc(n_kv + 1, sizeof *job->kv);
    if (!job->kv)
        return SR_ENOMEM;
    for (size_t i = 0; i < n_kv; i++) {
        hash = sr_pool_kv_hash(hash, ids + i * job->block_size, job->block_size);
        job->kv[i] = hash;
    }
    job->n_kv = n_kv;
    sr_token_memo_put(job->tokens->memo, job->kind, job->blocks, job->n_blocks, job->kv, n_kv);
    return SR_OK;
}

size_t sr_tokens_known(struct sr_tokens *tokens, const struct sr_token_question *question,
                       struct sr_arena *arena, uint64_t **kv, size_t *n_kv)
{
    return sr_token_memo_get(tokens->memo, kind_of(question), question->blocks, question->n_blocks, arena, kv,
                             n_kv);
}
