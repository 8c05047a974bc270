/* The thread exists while a call is in progress. What it kept belongs to it then, and to the loop otherwise.
 */
#include "serve/admin/draft.h"

#include "base/hash.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/task.h"
#include "base/thread.h"
#include "config/draft.h"
#include "pool/pool.h"
#include "router/purpose.h"
#include "serve/admin/explain_request.h"
#include "serve/post.h"
#include "json/doc.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BODY_MAX   ((size_t)5 << 20)
#define ANSWER_MAX ((size_t)16 << 20)
#define NICENESS   10

struct sr_draft_call {
    struct sr_task task;
    struct sr_drafts *drafts;
    struct sr_mailbox *mailbox;
    void (*done)(void *ctx, int status, struct sr_bytes answer);
    void *ctx;
    struct sr_buf body, answer;
    int status;
};

struct sr_drafts {
    sr_runtime *runtime;
    struct sr_loop *loop;
    pthread_t thread;
    bool started; /* it is to be joined */
    atomic_bool busy;
    struct sr_pool *pool;   /* of the workers of drafts, to which no request goes */
    struct sr_router *kept; /* of the last draft that was good; NULL */
    uint64_t hash;
    char revision[17]; /* of the file that it was made with */
};

static struct sr_draft_call *call_of(struct sr_task *task)
{
    return (struct sr_draft_call *)((char *)task - offsetof(struct sr_draft_call, task));
}

/* ---- the thread ---- */

/* The kept draft, or a new one. */
static int make(struct sr_drafts *drafts, struct sr_bytes routing, struct sr_problems *problems,
                struct sr_err *err)
{
    const struct sr_config *config = sr_runtime_config(drafts->runtime);
    uint64_t hash = sr_hash64(routing, 1);
    bool same = drafts->kept && drafts->hash == hash && strcmp(drafts->revision, config->revision) == 0;
    memcpy(drafts->revision, config->revision, sizeof drafts->revision);
    sr_config_unref(config);
    if (same)
        return SR_OK;
    sr_router_unref(drafts->kept);
    drafts->kept = NULL;
    drafts->hash = hash;
    return sr_runtime_draft(drafts->runtime, routing, drafts->pool, &drafts->kept, problems, err);
}

static void put_problems(struct sr_json_writer *w, const struct sr_problems *problems,
                         const struct sr_err *err)
{
    sr_json_array(w, "problems");
    for (size_t i = 0; i < problems->count; i++) {
        const struct sr_problem *problem = &problems->items[i];
        if (problem->severity != SR_PROBLEM_ERROR)
            continue;
        sr_json_object(w, NULL);
        sr_json_uint(w, "line", problem->line);
        sr_json_uint(w, "column", problem->column);
        sr_json_text(w, "message", problem->message);
        sr_json_object_end(w);
    }
    if (err->message[0]) {
        sr_json_object(w, NULL);
        sr_json_uint(w, "line", err->line);
        sr_json_uint(w, "column", err->column);
        sr_json_text(w, "message", err->message);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

/* Without an environment the exchange waits for its signals itself. */
static void explain(struct sr_drafts *drafts, struct sr_bytes request, struct sr_json_writer *w)
{
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_request_head head = sr_api_explain_head(&type);
    sr_exchange *exchange = sr_exchange_new_by(drafts->runtime, drafts->kept, &head, NULL);
    if (!exchange) {
        w->rc = SR_ENOMEM;
        return;
    }
    sr_exchange_explains(exchange);
    sr_exchange_body(exchange, request.p, request.n, true);
    struct sr_bytes text = sr_exchange_explain(exchange, false, 0, false);
    sr_json_raw(w, "explanation", text.n ? text : SR_LIT("null"));
    sr_exchange_end(exchange, SR_END_COMPLETE);
}

static int answer(struct sr_draft_call *call, struct sr_bytes routing, struct sr_bytes request)
{
    struct sr_problems problems = {0};
    struct sr_err err = {0};
    struct sr_json_writer w = sr_json_writer_of(&call->answer);
    int rc = make(call->drafts, routing, &problems, &err);
    sr_json_object(&w, NULL);
    sr_json_bool(&w, "good", rc == SR_OK);
    put_problems(&w, &problems, &err);
    if (rc == SR_OK)
        explain(call->drafts, request, &w);
    sr_json_object_end(&w);
    sr_problems_dispose(&problems);
    return w.rc || rc == SR_ENOMEM ? 503 : 200;
}

static int run(struct sr_draft_call *call)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    struct sr_buf request;
    sr_buf_init(&request, BODY_MAX * 2);
    int rc = sr_doc_parse(&doc, sr_buf_view(&call->body), BODY_MAX, &err),
        status = rc == SR_ENOMEM ? 503 : 400;
    struct sr_bytes routing = rc ? SR_LIT("") : sr_doc_string(sr_doc_get(sr_doc_root(doc), "routing"));
    if (rc == SR_OK && routing.n)
        rc = sr_api_explain_request(call->drafts->runtime, sr_doc_root(doc), &request);
    if (rc == SR_OK && routing.n)
        status = answer(call, routing, sr_buf_view(&request));
    sr_buf_dispose(&request);
    sr_doc_free(doc);
    return status;
}

static void *thread_main(void *arg)
{
    struct sr_draft_call *call = arg;
    struct sr_drafts *drafts = call->drafts;
    sr_thread_name("sr-draft");
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid),
                      getpriority(PRIO_PROCESS, (id_t)getpid()) + NICENESS);
    call->status = run(call);
    atomic_store(&drafts->busy, false);
    sr_task_complete(&call->task, SR_OK);
    return NULL;
}

/* ---- the loop ---- */

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    sr_serve_post(ctx, task, arg);
}

static void call_free(struct sr_task *task)
{
    struct sr_draft_call *call = call_of(task);
    sr_buf_dispose(&call->body);
    sr_buf_dispose(&call->answer);
    sr_mem_free(call);
}

static void call_done(struct sr_task *task, int status)
{
    struct sr_draft_call *call = call_of(task);
    if (status == SR_OK)
        call->done(call->ctx, call->status, sr_buf_view(&call->answer));
    sr_mailbox_close(call->mailbox);
    sr_task_unref(task);
}

static void join(struct sr_drafts *drafts)
{
    if (drafts->started)
        pthread_join(drafts->thread, NULL);
    drafts->started = false;
}

int sr_drafts_new(struct sr_drafts **out, sr_runtime *runtime, struct sr_loop *loop)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out || sr_pool_new(&(*out)->pool)) {
        sr_mem_free(*out);
        *out = NULL;
        return SR_ENOMEM;
    }
    (*out)->runtime = runtime;
    (*out)->loop = loop;
    return SR_OK;
}

void sr_drafts_free(struct sr_drafts *drafts)
{
    if (!drafts)
        return;
    join(drafts);
    sr_router_unref(drafts->kept);
    sr_pool_free(drafts->pool);
    sr_mem_free(drafts);
}

int sr_draft_start(struct sr_draft_call **out, struct sr_drafts *drafts, struct sr_buf *body,
                   void (*done)(void *ctx, int status, struct sr_bytes answer), void *ctx)
{
    *out = NULL;
    if (atomic_load(&drafts->busy))
        return SR_EBUSY;
    join(drafts); /* it has nothing left to do but to return */
    struct sr_draft_call *call = sr_mem_calloc(1, sizeof *call);
    struct sr_mailbox *mailbox = NULL;
    if (!call || sr_mailbox_new(&mailbox, post, drafts->loop)) {
        sr_mem_free(call);
        return SR_ENOMEM;
    }
    sr_task_init(&call->task, call_done, call_free, mailbox);
    sr_task_ref(&call->task); /* the thread's */
    call->mailbox = mailbox;
    call->drafts = drafts;
    call->done = done;
    call->ctx = ctx;
    sr_buf_init(&call->answer, ANSWER_MAX);
    call->body = *body;
    atomic_store(&drafts->busy, true);
    if (pthread_create(&drafts->thread, NULL, thread_main, call) != 0) {
        atomic_store(&drafts->busy, false);
        sr_buf_init(&call->body, 0);
        sr_mailbox_close(mailbox);
        sr_task_unref(&call->task);
        sr_task_unref(&call->task);
        return SR_ENOMEM;
    }
    drafts->started = true;
    sr_buf_init(body, body->max);
    *out = call;
    return SR_OK;
}

void sr_draft_cancel(struct sr_draft_call *call)
{
    if (call)
        sr_task_cancel(&call->task);
}
