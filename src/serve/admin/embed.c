/*
 * A request passes four steps: a worker thread reads it, the engine computes, a worker thread writes the
 * answer, the loop sends it. The producer's reference to its task moves with the request; the reader and
 * the engine have one each, because either may still run when the answer is sent.
 */
#include "serve/admin/embed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/task.h"
#include "serve/post.h"

#include <stddef.h>

#define INTERACTIVE_IDS 1024u /* requests of up to this many tokens have interactive priority */

struct sr_api_embed {
    struct sr_task task;
    struct sr_api_embed_options options;
    struct sr_timer timer;
    struct sr_job read_job, write_job;
    struct sr_workers *workers;
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_mailbox *mailbox;
    pthread_mutex_t lock; /* protects the next two */
    bool stopped;         /* the workers may be gone */
    bool started;         /* the group's jobs were submitted */
    struct sr_buf body, answer;
    struct sr_api_embed_request request;
    struct sr_embed *group;
    int status;
    uint64_t start_ns, took_ns;
};

#define WORK_OF(member_pointer, member)                                                                      \
    ((struct sr_api_embed *)(void *)((char *)(member_pointer)-offsetof(struct sr_api_embed, member)))

static void ref(struct sr_api_embed *work)
{
    sr_task_ref(&work->task);
}

static void unref(struct sr_api_embed *work)
{
    sr_task_unref(&work->task);
}

static void work_free(struct sr_task *task)
{
    struct sr_api_embed *work = WORK_OF(task, task);
    sr_api_embed_dispose(&work->request);
    sr_embed_free(work->group);
    sr_encoder_unref(work->encoder);
    sr_buf_dispose(&work->body);
    sr_buf_dispose(&work->answer);
    pthread_mutex_destroy(&work->lock);
    sr_mem_free(work);
}

/* Any thread: sends the result to the loop, which answers. */
static void send(struct sr_api_embed *work)
{
    sr_task_complete(&work->task, SR_OK);
}

static void fail(struct sr_api_embed *work, int status, const char *message)
{
    work->status = status;
    sr_buf_clear(&work->answer);
    sr_api_embed_error(work->request.openai, status, message, &work->answer);
}

static void fail_rc(struct sr_api_embed *work, int rc, const char *message)
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
    struct sr_api_embed *work = WORK_OF(job, write_job);
    work->status = 200;
    int rc = sr_api_embed_format(&work->request, work->group, sr_api_embed_name(work->encoder), work->took_ns,
                                 &work->answer);
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
    struct sr_api_embed *work = ctx;
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

static int add_texts(struct sr_api_embed *work, struct sr_err *err)
{
    struct sr_api_embed_request *r = &work->request;
    struct sr_embed_options o = sr_embed_defaults(work->encoder);
    size_t ids = 0;
    o.max_texts = r->n;
    o.max_ids = SR_API_EMBED_IDS_MAX;
    o.dimensions = r->dimension;
    o.layers = r->layer;
    int rc = sr_embed_new(&work->group, work->encoder, &o, err);
    for (size_t i = 0; i < r->n && rc == SR_OK; i++) {
        rc = sr_embed_add(work->group, r->texts[i]);
        if (rc != SR_OK)
            break;
        const struct sr_windows *w = sr_embed_windows(work->group, i);
        ids += w->total_ids;
        if (r->openai && w->read < w->tokens)
            rc = SR_ELIMIT; /* its answer cannot say that a part was not read */
    }
    if (rc == SR_OK && ids <= INTERACTIVE_IDS)
        sr_embed_set_priority(work->group, SR_INFER_INTERACTIVE);
    return rc;
}

static int begin(struct sr_api_embed *work)
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
    struct sr_api_embed *work = WORK_OF(job, read_job);
    struct sr_err err = {0};
    int rc = SR_OK, status = 200;
    work->encoder = sr_runtime_encoder(work->options.runtime, &work->infer);
    if (work->encoder)
        status = sr_api_embed_parse(&work->request, work->options.kind, sr_buf_view(&work->body),
                                    sr_api_embed_name(work->encoder), &err);
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

/* ---- the loop ---- */

static void post(void *ctx, void (*run)(void *arg), void *arg)
{
    sr_serve_post(ctx, run, arg);
}

/* Cancels the jobs that wait for the engine. */
static void work_stop(struct sr_task *task)
{
    struct sr_api_embed *work = WORK_OF(task, task);
    pthread_mutex_lock(&work->lock);
    work->stopped = true;
    bool started = work->started;
    pthread_mutex_unlock(&work->lock);
    if (started)
        sr_embed_cancel(work->group);
}

static const struct sr_task_work task_work = {.stop = work_stop};

static void answer_timeout(const struct sr_api_embed_options *options)
{
    struct sr_buf answer;
    sr_buf_init(&answer, 4096);
    sr_api_embed_error(options->kind == SR_API_OPENAI, 504, "the texts took too long", &answer);
    options->done(options->ctx, 504, sr_buf_view(&answer));
    sr_buf_dispose(&answer);
}

/* Loop's thread. */
static void work_done(struct sr_task *task, int status)
{
    struct sr_api_embed *work = WORK_OF(task, task);
    sr_timer_stop(&work->timer);
    sr_mailbox_close(work->mailbox);
    if (status == SR_OK)
        work->options.done(work->options.ctx, work->status, sr_buf_view(&work->answer));
    else if (status == SR_ETIMEOUT)
        answer_timeout(&work->options);
    unref(work);
}

void sr_api_embed_cancel(struct sr_api_embed *work)
{
    if (work)
        sr_task_cancel(&work->task);
}

static void on_timeout(void *ctx)
{
    struct sr_api_embed *work = ctx;
    sr_task_expire(&work->task);
}

int sr_api_embed_start(struct sr_api_embed **out, struct sr_buf *body,
                       const struct sr_api_embed_options *options)
{
    struct sr_workers *workers = sr_runtime_workers(options->runtime);
    *out = NULL;
    if (!workers)
        return SR_EBUSY;
    struct sr_api_embed *work = sr_mem_calloc(1, sizeof *work);
    struct sr_mailbox *mailbox = NULL;
    if (!work || sr_mailbox_new(&mailbox, post, options->loop)) {
        sr_mem_free(work);
        return SR_ENOMEM;
    }
    sr_task_init(&work->task, work_done, work_free, mailbox);
    sr_task_begin(&work->task, &task_work);
    work->mailbox = mailbox;
    pthread_mutex_init(&work->lock, NULL);
    work->options = *options;
    work->request.openai = options->kind == SR_API_OPENAI;
    work->workers = workers;
    work->read_job.run = read_run;
    work->read_job.bytes = body->len;
    work->write_job.run = write_run;
    work->start_ns = sr_clock_ns();
    sr_buf_init(&work->answer, SR_API_EMBED_ANSWER_MAX);
    sr_timer_init(&work->timer, options->loop, on_timeout, work);
    work->body = *body;
    ref(work); /* the producer's */
    ref(work); /* the reader's */
    int rc = sr_workers_submit(workers, &work->read_job, SR_JOB_BULK);
    if (rc != SR_OK) {
        sr_mailbox_close(mailbox);
        sr_buf_init(&work->body, 0);
        unref(work);
        unref(work);
        unref(work);
        return rc == SR_ENOMEM ? rc : SR_EBUSY;
    }
    sr_buf_init(body, body->max);
    sr_timer_start(&work->timer, SR_API_EMBED_TIMEOUT_MS);
    *out = work;
    return SR_OK;
}
