/* A job that carries its input, and its outcome home over a bridge. */
#include "serve/admin/work.h"

#include "base/mem.h"
#include "router/route/bridge.h"
#include "serve/post.h"

#include <stddef.h>

struct sr_api_work {
    struct sr_job job;
    struct sr_message message;
    struct sr_api_work_options options;
    struct sr_bridge *bridge; /* loop's thread; NULL once it was left or done */
    struct sr_mailbox *mailbox;
    bool left; /* loop's thread, until the bridge is detached */
    struct sr_buf body, answer;
    struct sr_err err;
    int status;
};

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    sr_serve_post(ctx, task, arg);
}

static void work_free(struct sr_api_work *work)
{
    if (work->options.engine)
        sr_router_unref(work->options.engine);
    sr_buf_dispose(&work->body);
    sr_buf_dispose(&work->answer);
    sr_mem_free(work);
}

static void work_run(struct sr_job *job)
{
    struct sr_api_work *work = (struct sr_api_work *)((char *)job - offsetof(struct sr_api_work, job));
    const struct sr_api_work_options *how = &work->options;
    work->status = how->run ? how->run(sr_buf_view(&work->body), &work->answer, &work->err)
                            : how->run_with(how->engine, how->kind, sr_buf_view(&work->body), &work->answer);
    if (sr_mailbox_send(work->mailbox, &work->message))
        work_free(work);
}

/* Loop's thread; or, when it was left, any. */
static void work_arrive(struct sr_message *message, bool closed)
{
    struct sr_api_work *work =
        (struct sr_api_work *)((char *)message - offsetof(struct sr_api_work, message));
    if (!work->left && !closed) {
        struct sr_api_outcome outcome = {work->status, sr_buf_view(&work->answer), work->err.message};
        struct sr_bridge *bridge = work->bridge;
        work->options.done(work->options.ctx, &outcome);
        sr_bridge_detach(bridge);
    }
    work_free(work);
}

int sr_api_work_start(struct sr_api_work **out, struct sr_buf *body,
                      const struct sr_api_work_options *options)
{
    struct sr_exchange_env env = {.struct_size = sizeof env, .post = post, .ctx = options->loop};
    struct sr_workers *workers = sr_runtime_workers(options->runtime);
    *out = NULL;
    if (!workers)
        return SR_EBUSY;
    struct sr_api_work *work = sr_mem_calloc(1, sizeof *work);
    if (!work)
        return SR_ENOMEM;
    work->options = *options;
    if (options->engine)
        sr_router_ref(options->engine);
    work->job.run = work_run;
    work->message.run = work_arrive;
    sr_buf_init(&work->answer, options->answer_max);
    int rc = sr_bridge_new(&work->bridge, &env);
    if (rc) {
        work_free(work);
        return rc;
    }
    work->mailbox = sr_bridge_mailbox(work->bridge);
    work->body = *body;
    sr_bridge_expect(work->bridge);
    rc = sr_workers_submit(workers, &work->job, SR_JOB_BULK);
    if (rc) {
        sr_bridge_unexpect(work->bridge);
        sr_bridge_detach(work->bridge);
        sr_buf_init(&work->body, 0);
        work_free(work);
        return rc == SR_ENOMEM ? rc : SR_EBUSY;
    }
    sr_buf_init(body, body->max);
    *out = work;
    return SR_OK;
}

void sr_api_work_leave(struct sr_api_work *work)
{
    if (!work)
        return;
    work->left = true;
    sr_bridge_detach(work->bridge);
}
