/*
 * A request passes three steps: a worker thread reads it, the engine computes, a worker thread writes the
 * answer. The producer's reference to its task moves with the request; the reader and the engine have one
 * each, because either may still run when the consumer has its answer.
 */
#include "router/embed/work.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/task.h"
#include "router/embed/request.h"

#include <stddef.h>
#include <stdio.h>

#define INTERACTIVE_IDS 1024u /* requests of up to this many tokens have interactive priority */

struct sr_embeddings {
    struct sr_task task;
    struct sr_embeddings_options options;
    struct sr_job read_job, write_job;
    struct sr_workers *workers;
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    pthread_mutex_t lock; /* protects the next two */
    bool stopped;         /* the workers may be gone */
    bool started;         /* the group's jobs were submitted */
    struct sr_buf body, answer;
    struct sr_embeddings_request request;
    struct sr_embed *group;
    bool ended; /* used by the consumer's thread only */
    int status;
    char message[SR_ERR_MESSAGE_MAX];
    uint64_t start_ns, took_ns, tokens;
};

#define WORK_OF(member_pointer, member)                                                                      \
    ((struct sr_embeddings *)(void *)((char *)(member_pointer)-offsetof(struct sr_embeddings, member)))

static void ref(struct sr_embeddings *work)
{
    sr_task_ref(&work->task);
}

static void unref(struct sr_embeddings *work)
{
    sr_task_unref(&work->task);
}

static void work_free(struct sr_task *task)
{
    struct sr_embeddings *work = WORK_OF(task, task);
    sr_embeddings_dispose(&work->request);
    sr_embed_free(work->group);
    sr_encoder_unref(work->encoder);
    sr_buf_dispose(&work->body);
    sr_buf_dispose(&work->answer);
    pthread_mutex_destroy(&work->lock);
    sr_mem_free(work);
}

/* Any thread: sends the result to the consumer. */
static void send(struct sr_embeddings *work)
{
    sr_task_complete(&work->task, SR_OK);
}

static void fail(struct sr_embeddings *work, int status, const char *message)
{
    work->status = status;
    snprintf(work->message, sizeof work->message, "%s", message);
}

static void fail_rc(struct sr_embeddings *work, int rc, const char *message)
{
    switch (rc) {
    case SR_EINVAL:
    case SR_EUNSUPPORTED:
        fail(work, 400, message && *message ? message : "the text cannot be read");
        break;
    case SR_ELIMIT:
        fail(work, 413, "the texts have more tokens than one request may have");
        break;
    case SR_EBUSY:
        fail(work, 503, "the server is busy");
        break;
    case SR_ENOMEM:
        fail(work, 503, "the server is out of memory");
        break;
    default:
        fail(work, 500, sr_strerror(rc));
    }
}

/* ---- the worker thread that writes ---- */

static void write_run(struct sr_job *job)
{
    struct sr_embeddings *work = WORK_OF(job, write_job);
    work->status = 200;
    int rc = sr_embeddings_format(&work->request, work->group, sr_embeddings_name(work->encoder),
                                  work->took_ns, &work->answer);
    if (rc == SR_ELIMIT)
        fail(work, 413, "the answer is too large; ask for fewer texts at once");
    else if (rc != SR_OK)
        fail_rc(work, rc, NULL);
    send(work);
}

/* Runs on an engine thread or the cancelling thread. If no request waits any more, the worker threads may
 * have ended too. */
static void computed(void *ctx, int status)
{
    struct sr_embeddings *work = ctx;
    work->took_ns = sr_clock_ns() - work->start_ns;
    int rc = status;
    pthread_mutex_lock(&work->lock);
    bool stopped = work->stopped;
    if (!stopped && rc == SR_OK)
        rc = sr_workers_submit(work->workers, &work->write_job, SR_JOB_BULK);
    pthread_mutex_unlock(&work->lock);
    if (stopped || rc != SR_OK) {
        fail_rc(work, rc, NULL);
        send(work);
    }
    unref(work);
}

/* ---- the worker thread that reads ---- */

static int add_texts(struct sr_embeddings *work, struct sr_err *err)
{
    struct sr_embeddings_request *r = &work->request;
    struct sr_embed_options o = sr_embed_defaults(work->encoder);
    size_t ids = 0;
    o.max_texts = r->n;
    o.max_ids = SR_EMBEDDINGS_IDS_MAX;
    o.dimensions = r->dimension;
    o.layers = r->layer;
    int rc = sr_embed_new(&work->group, work->encoder, &o, err);
    for (size_t i = 0; i < r->n && rc == SR_OK; i++) {
        rc = sr_embed_add(work->group, r->texts[i]);
        if (rc != SR_OK)
            break;
        const struct sr_windows *w = sr_embed_windows(work->group, i);
        work->tokens = ids += w->total_ids;
        if (r->openai && w->read < w->tokens)
            rc = SR_ELIMIT; /* its answer cannot say that a part was not read */
    }
    if (rc == SR_OK && ids <= INTERACTIVE_IDS)
        sr_embed_set_priority(work->group, SR_INFER_INTERACTIVE);
    return rc;
}

static int begin(struct sr_embeddings *work)
{
    ref(work);
    pthread_mutex_lock(&work->lock);
    int rc = work->stopped ? SR_ECANCELED : sr_embed_submit(work->group, work->infer, computed, work);
    work->started = rc == SR_OK;
    pthread_mutex_unlock(&work->lock);
    if (rc != SR_OK)
        unref(work);
    return rc;
}

static void read_run(struct sr_job *job)
{
    struct sr_embeddings *work = WORK_OF(job, read_job);
    struct sr_err err = {0};
    int rc = SR_OK, status = 200;
    work->encoder = sr_runtime_encoder(work->options.runtime, &work->infer);
    if (work->encoder)
        status = sr_embeddings_parse(&work->request, work->options.kind, sr_buf_view(&work->body),
                                     work->options.model ? NULL : sr_embeddings_name(work->encoder), &err);
    if (!work->encoder) {
        fail(work, 503, "no embedding model is loaded: the server runs on the linear tier");
    } else if (status != 200) {
        fail(work, status, err.message);
    } else if ((rc = add_texts(work, &err)) != SR_OK || (rc = begin(work)) != SR_OK) {
        fail_rc(work, rc, err.message);
    } else {
        unref(work);
        return;
    }
    send(work);
    unref(work);
}

/* ---- the consumer's thread ---- */

/* Cancels the jobs that wait for the engine. */
static void work_stop(struct sr_task *task)
{
    struct sr_embeddings *work = WORK_OF(task, task);
    pthread_mutex_lock(&work->lock);
    work->stopped = true;
    bool started = work->started;
    pthread_mutex_unlock(&work->lock);
    if (started)
        sr_embed_cancel(work->group);
}

static const struct sr_task_work task_work = {.stop = work_stop};

static void work_done(struct sr_task *task, int status)
{
    struct sr_embeddings *work = WORK_OF(task, task);
    work->ended = true;
    if (status == SR_OK && work->options.done)
        work->options.done(work->options.ctx);
}

struct sr_embeddings_result sr_embeddings_result(const struct sr_embeddings *work)
{
    return (struct sr_embeddings_result){.status = work->status,
                                         .message = work->message,
                                         .answer = sr_buf_view(&work->answer),
                                         .openai = work->request.openai,
                                         .tokens = work->tokens};
}

void sr_embeddings_free(struct sr_embeddings *work)
{
    if (!work)
        return;
    work->options.done = NULL;
    if (!work->ended)
        sr_task_cancel(&work->task);
    unref(work);
}

int sr_embeddings_start(struct sr_embeddings **out, struct sr_buf *body,
                        const struct sr_embeddings_options *options)
{
    struct sr_workers *workers = sr_runtime_workers(options->runtime);
    *out = NULL;
    if (!workers)
        return SR_EBUSY;
    struct sr_embeddings *work = sr_mem_calloc(1, sizeof *work);
    if (!work)
        return SR_ENOMEM;
    sr_task_init(&work->task, work_done, work_free, options->mailbox);
    sr_task_begin(&work->task, &task_work);
    pthread_mutex_init(&work->lock, NULL);
    work->options = *options;
    work->request.openai = options->kind == SR_EMBEDDINGS_OPENAI;
    work->workers = workers;
    work->read_job.run = read_run;
    work->read_job.bytes = body->len;
    work->write_job.run = write_run;
    work->start_ns = sr_clock_ns();
    sr_buf_init(&work->answer, SR_EMBEDDINGS_ANSWER_MAX);
    work->body = *body;
    ref(work); /* the producer's */
    ref(work); /* the reader's */
    int rc = sr_workers_submit(workers, &work->read_job, SR_JOB_BULK);
    if (rc != SR_OK) {
        sr_buf_init(&work->body, 0);
        unref(work);
        unref(work);
        unref(work);
        return rc == SR_ENOMEM ? rc : SR_EBUSY;
    }
    sr_buf_init(body, body->max);
    *out = work;
    return SR_OK;
}
