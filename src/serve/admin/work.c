/* A job with its input, as a task that completes in the loop's mailbox. */
#include "serve/admin/work.h"

#include "base/mem.h"
#include "base/task.h"
#include "serve/post.h"

#include <stddef.h>

struct sr_api_work {
    struct sr_task task;
    struct sr_job job;
    struct sr_api_work_options options;
    struct sr_mailbox *mailbox;
    struct sr_buf body, answer;
    struct sr_err err;
    int status;
};

static struct sr_api_work *work_of(struct sr_task *task)
{
    return (struct sr_api_work *)((char *)task - offsetof(struct sr_api_work, task));
}

static void post(void *ctx, void (*run)(void *arg), void *arg)
{
    sr_serve_post(ctx, run, arg);
}

static void work_free(struct sr_task *task)
{
    struct sr_api_work *work = work_of(task);
    sr_buf_dispose(&work->body);
    sr_buf_dispose(&work->answer);
    sr_mem_free(work);
}

/* Runs on a worker thread. */
static void work_run(struct sr_job *job)
{
    struct sr_api_work *work = (struct sr_api_work *)((char *)job - offsetof(struct sr_api_work, job));
    const struct sr_api_work_options *how = &work->options;
    work->status = how->run ? how->run(sr_buf_view(&work->body), &work->answer, &work->err)
                            : how->run_with(how, sr_buf_view(&work->body), &work->answer);
    sr_task_complete(&work->task, SR_OK);
}

/* Loop's thread. */
static void work_done(struct sr_task *task, int status)
{
    struct sr_api_work *work = work_of(task);
    if (status == SR_OK) {
        struct sr_api_outcome outcome = {work->status, sr_buf_view(&work->answer), work->err.message};
        work->options.done(work->options.ctx, &outcome);
    }
    sr_mailbox_close(work->mailbox);
    sr_task_unref(task);
}

int sr_api_work_start(struct sr_api_work **out, struct sr_buf *body,
                      const struct sr_api_work_options *options)
{
    struct sr_workers *workers = sr_runtime_workers(options->runtime);
    *out = NULL;
    if (!workers)
        return SR_EBUSY;
    struct sr_api_work *work = sr_mem_calloc(1, sizeof *work);
    struct sr_mailbox *mailbox = NULL;
    if (!work || sr_mailbox_new(&mailbox, post, options->loop)) {
        sr_mem_free(work);
        return SR_ENOMEM;
    }
    sr_task_init(&work->task, work_done, work_free, mailbox);
    sr_task_ref(&work->task); /* the worker's */
    work->mailbox = mailbox;
    work->options = *options;
    work->job.run = work_run;
    work->job.bytes = body->len;
    sr_buf_init(&work->answer, options->answer_max);
    work->body = *body;
    int rc = sr_workers_submit(workers, &work->job, SR_JOB_BULK);
    if (rc) {
        sr_mailbox_close(mailbox);
        sr_buf_init(&work->body, 0);
        sr_task_unref(&work->task);
        sr_task_unref(&work->task);
        return rc == SR_ENOMEM ? rc : SR_EBUSY;
    }
    sr_buf_init(body, body->max);
    *out = work;
    return SR_OK;
}

void sr_api_work_cancel(struct sr_api_work *work)
{
    if (work)
        sr_task_cancel(&work->task);
}
