/* A question comes by a message from the request's thread, and is one fetch. */
#include "serve/gateway/tokenize.h"

#include "base/log.h"
#include "base/mem.h"
#include "router/runtime.h"
#include "router/tokens.h"
#include "serve/gateway/tokenize_text.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define BYTES_MAX ((size_t)16 << 20) /* of one answer */
#define HEADERS   16                 /* of a backend, that are sent */

struct call {
    struct sr_message message; /* first: the message is the object */
    struct sr_tokenizer *tokenizer;
    struct sr_token_job *job; /* with its reference */
    struct call *next, **at;  /* in the list of those in progress */
    struct sr_fetch *fetch;
    struct sr_tokenize_text text;
    size_t bytes;
    int status;
};

struct sr_tokenizer {
    struct sr_loop *loop;
    struct sr_client *client;
    sr_runtime *runtime;
    struct sr_upstream_tls *tls;
    atomic_uint n; /* questions */
    struct call *calls;
    bool told; /* that a worker gave no tokens */
};

static void unlink_call(struct call *call)
{
    if (!call->at)
        return;
    *call->at = call->next;
    if (call->next)
        call->next->at = call->at;
}

static void call_free(struct call *call, int status)
{
    sr_task_complete(&call->job->task, status);
    sr_tokenize_text_dispose(&call->text);
    sr_mem_free(call);
}

/* The question is answered, or will not be. */
static void finish(struct call *call, int status, const char *why)
{
    struct sr_tokenizer *tokenizer = call->tokenizer;
    if (status == SR_OK)
        status = sr_token_job_take(call->job, call->text.ids, call->text.n);
    if (status != SR_OK && why && !tokenizer->told)
        sr_log(SR_LOG_WARN, "tokenize", "%s:%d: POST %s: %s; caches are estimated where tokens are not known",
               call->job->host, call->job->port, call->job->target, why);
    tokenizer->told = status != SR_OK && (why || tokenizer->told);
    unlink_call(call);
    atomic_fetch_sub(&tokenizer->n, 1);
    call_free(call, status);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    ((struct call *)ctx)->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct call *call = ctx;
    call->bytes += slice.n;
    if (call->bytes <= BYTES_MAX) {
        sr_tokenize_text_feed(&call->text, slice);
        return;
    }
    sr_fetch_cancel(&call->fetch);
    finish(call, SR_ELIMIT, "the answer is too long");
}

static void on_end(void *ctx)
{
    struct call *call = ctx;
    call->fetch = NULL;
    bool good = call->status == 200 && sr_tokenize_text_finish(&call->text);
    finish(call, good ? SR_OK : SR_EPARSE, "the answer has no `tokens`");
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct call *call = ctx;
    call->fetch = NULL;
    finish(call, error->code, error->text);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int start(struct call *call)
{
    const struct sr_token_job *job = call->job;
    struct sr_header headers[HEADERS + 1] = {{SR_LIT("content-type"), SR_LIT("application/json")}};
    size_t n = 1;
    for (size_t i = 0; i < job->n_headers && n <= HEADERS; i++)
        headers[n++] = job->headers[i];
    sr_tls_context *tls = NULL;
    if (strcmp(job->scheme, "https") == 0) {
        tls = sr_upstream_tls_find(call->tokenizer->tls, job->tls_ca_file, job->tls_verify);
        if (!tls)
            return SR_ENOENT;
    }
    struct sr_client_request request = {
        .method = SR_LIT("POST"),
        .target = sr_bytes_str(job->target),
        .headers = headers,
        .header_count = n,
        .content_length = (int64_t)job->body.n,
        .body = &job->body,
        .body_count = 1,
        .body_complete = true,
        .timeouts = {.connect_ms = SR_TOKENIZE_MS, .head_ms = SR_TOKENIZE_MS, .idle_ms = SR_TOKENIZE_MS}};
    struct sr_origin origin = {.host = job->host, .port = (uint16_t)job->port, .tls = tls};
    int rc = sr_client_start(&call->fetch, call->tokenizer->client, &origin, &request, &EVENTS, call);
    sr_tls_context_unref(tls);
    return rc;
}

/* `closed`: the loop ends, and the tokenizer has ended. */
static void on_message(struct sr_message *message, bool closed)
{
    struct call *call = (struct call *)(void *)message;
    if (closed) {
        call_free(call, SR_ECLOSED);
        return;
    }
    struct sr_tokenizer *tokenizer = call->tokenizer;
    call->next = tokenizer->calls;
    call->at = &tokenizer->calls;
    if (call->next)
        call->next->at = &call->next;
    tokenizer->calls = call;
    int rc = start(call);
    if (rc != SR_OK)
        finish(call, rc, sr_strerror(rc));
}

/* Any thread. */
static bool ask(void *ctx, struct sr_token_job *job)
{
    struct sr_tokenizer *tokenizer = ctx;
    if (atomic_fetch_add(&tokenizer->n, 1) >= SR_TOKENIZE_MAX) {
        atomic_fetch_sub(&tokenizer->n, 1);
        return false;
    }
    struct call *call = sr_mem_calloc(1, sizeof *call);
    if (call) {
        *call = (struct call){.message.run = on_message, .tokenizer = tokenizer, .job = job};
        sr_tokenize_text_init(&call->text, SR_TOKENS_MAX);
        if (sr_loop_post(tokenizer->loop, &call->message) == SR_OK)
            return true;
    }
    sr_mem_free(call);
    atomic_fetch_sub(&tokenizer->n, 1);
    return false;
}

int sr_tokenizer_new(struct sr_tokenizer **out, struct sr_loop *loop, struct sr_client *client,
                     sr_runtime *runtime, struct sr_upstream_tls *tls)
{
    struct sr_tokenizer *tokenizer = sr_mem_calloc(1, sizeof *tokenizer);
    *out = tokenizer;
    if (!tokenizer)
        return SR_ENOMEM;
    *tokenizer = (struct sr_tokenizer){.loop = loop, .client = client, .runtime = runtime, .tls = tls};
    sr_tokens_serve(sr_runtime_tokens(runtime), ask, tokenizer);
    return SR_OK;
}

void sr_tokenizer_free(struct sr_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    sr_tokens_serve(sr_runtime_tokens(tokenizer->runtime), NULL, NULL);
    while (tokenizer->calls) {
        sr_fetch_cancel(&tokenizer->calls->fetch);
        finish(tokenizer->calls, SR_ECANCELED, NULL);
    }
    sr_mem_free(tokenizer);
}
