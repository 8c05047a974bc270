/*
 * Runs of one request's signals.
 *
 * A run lives in the request's arena and is touched by the owner's thread only. Work for another thread is a
 * job on the heap with references and an arena of its own; its result comes back by mailbox and is copied. A
 * job whose owner gave up is cut loose: it skips its work if it has not begun, and frees itself when it
 * arrives.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "signal/types.h"

#include <stdatomic.h>

#define JOB_ARENA_MAX ((size_t)64 << 20)

enum run_state { RUN_IDLE, RUN_PENDING, RUN_DONE };

/* Owned by the worker until it is sent, then by the message. */
struct signal_job {
    struct sr_job job;
    struct sr_message message;
    struct sr_signals *signals;
    struct sr_signal_input *input;
    struct sr_mailbox *mailbox;
    enum sr_signal_type type;
    atomic_bool canceled;
    struct sr_signal_run *run; /* owner's thread only; NULL when cut loose */
    struct sr_arena arena;
    struct sr_signal_result result;
};

struct sr_signal_run {
    struct sr_signals *signals;
    struct sr_signal_input *input;
    struct sr_signal_env env;
    struct sr_arena *arena;
    struct {
        enum run_state state;
        struct signal_job *job; /* while pending */
        sr_signal_done *done;
        void *ctx;
        struct sr_signal_result result;
    } types[SR_SIGNAL_TYPES];
};

static struct sr_signal_result failed(int status)
{
    return (struct sr_signal_result){.status = status, .tier = "", .top = -1};
}

static void evaluate(const struct sr_signals *signals, enum sr_signal_type type,
                     const struct sr_signal_input *input, struct sr_arena *arena,
                     struct sr_signal_result *result)
{
    uint64_t start = sr_clock_ns();
    *result = failed(SR_OK);
    int rc = SR_OK;
    if (signals->sets[type]) {
        struct sr_signal_input seen = sr_signal_input_seen_by(input, type);
        rc = sr_signal_registry[type]->run(signals->sets[type], &seen, arena, result);
    }
    if (rc)
        *result = failed(rc);
    result->ns = sr_clock_ns() - start;
}

static void job_free(struct signal_job *job)
{
    sr_signals_unref(job->signals);
    sr_signal_input_unref(job->input);
    sr_arena_dispose(&job->arena);
    sr_mem_free(job);
}

static void job_run(struct sr_job *base)
{
    struct signal_job *job = (struct signal_job *)((char *)base - offsetof(struct signal_job, job));
    if (!atomic_load_explicit(&job->canceled, memory_order_relaxed))
        evaluate(job->signals, job->type, job->input, &job->arena, &job->result);
    if (sr_mailbox_send(job->mailbox, &job->message))
        job_free(job);
}

/* Copies hits and probabilities to the owner's arena; labels and names belong to the signal set. */
static int copy_result(struct sr_arena *arena, const struct sr_signal_result *from,
                       struct sr_signal_result *to)
{
    *to = *from;
    if (from->n_hits) {
        to->hits = sr_arena_calloc(arena, from->n_hits, sizeof *to->hits);
        if (!to->hits)
            return SR_ENOMEM;
        memcpy(to->hits, from->hits, from->n_hits * sizeof *to->hits);
    }
    if (from->probabilities) {
        float *probabilities = sr_arena_calloc(arena, from->n_labels, sizeof *probabilities);
        if (!probabilities)
            return SR_ENOMEM;
        memcpy(probabilities, from->probabilities, from->n_labels * sizeof *probabilities);
        to->probabilities = probabilities;
    }
    return SR_OK;
}

static void job_arrive(struct sr_message *message, bool closed)
{
    struct signal_job *job = (struct signal_job *)((char *)message - offsetof(struct signal_job, message));
    struct sr_signal_run *run = job->run;
    enum sr_signal_type type = job->type;
    if (run) {
        uint64_t ns = job->result.ns;
        if (closed)
            run->types[type].result = failed(SR_ECLOSED);
        else if (copy_result(run->arena, &job->result, &run->types[type].result))
            run->types[type].result = failed(SR_ENOMEM);
        run->types[type].result.ns = ns;
        run->types[type].state = RUN_DONE;
        run->types[type].job = NULL;
    }
    job_free(job);
    if (run && !closed)
        run->types[type].done(run->types[type].ctx, type);
}

int sr_signal_run_new(struct sr_signal_run **out, struct sr_signals *signals, struct sr_signal_input *input,
                      struct sr_signal_env env, struct sr_arena *arena)
{
    struct sr_signal_run *run = sr_arena_calloc(arena, 1, sizeof *run);
    if (!run)
        return SR_ENOMEM;
    run->signals = sr_signals_ref(signals);
    run->input = sr_signal_input_ref(input);
    run->env = env;
    run->arena = arena;
    *out = run;
    return SR_OK;
}

/* Hands the type to the workers; an error when it cannot be handed. */
static int run_submit(struct sr_signal_run *run, enum sr_signal_type type)
{
    struct signal_job *job = sr_mem_calloc(1, sizeof *job);
    if (!job)
        return SR_ENOMEM;
    job->job.run = job_run;
    job->message.run = job_arrive;
    job->signals = sr_signals_ref(run->signals);
    job->input = sr_signal_input_ref(run->input);
    job->mailbox = run->env.mailbox;
    job->type = type;
    job->run = run;
    job->result = failed(SR_ECANCELED);
    atomic_init(&job->canceled, false);
    sr_arena_init(&job->arena, JOB_ARENA_MAX);
    run->types[type].job = job;
    int rc = sr_workers_submit(run->env.workers, &job->job, SR_JOB_INTERACTIVE);
    if (rc) {
        run->types[type].job = NULL;
        job_free(job);
    }
    return rc;
}

int sr_signal_run_start(struct sr_signal_run *run, enum sr_signal_type type, sr_signal_done *done, void *ctx)
{
    if (run->types[type].state != RUN_IDLE)
        return run->types[type].state == RUN_PENDING ? SR_AGAIN : SR_OK;
    bool elsewhere = run->env.workers && run->env.mailbox && run->signals->sets[type] &&
                     run->input->text.n > run->env.inline_bytes;
    run->types[type].done = done;
    run->types[type].ctx = ctx;
    if (elsewhere) {
        int rc = run_submit(run, type);
        run->types[type].state = rc ? RUN_DONE : RUN_PENDING;
        if (rc == SR_OK)
            return SR_AGAIN;
        run->types[type].result = failed(rc);
        return SR_OK;
    }
    evaluate(run->signals, type, run->input, run->arena, &run->types[type].result);
    run->types[type].state = RUN_DONE;
    return SR_OK;
}

void sr_signal_run_cancel(struct sr_signal_run *run, int status)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        struct signal_job *job = run->types[type].job;
        if (!job)
            continue;
        atomic_store_explicit(&job->canceled, true, memory_order_relaxed);
        job->run = NULL;
        run->types[type].job = NULL;
        run->types[type].state = RUN_DONE;
        run->types[type].result = failed(status);
    }
}

const struct sr_signal_result *sr_signal_run_result(const struct sr_signal_run *run, enum sr_signal_type type)
{
    return run->types[type].state == RUN_DONE ? &run->types[type].result : NULL;
}

void sr_signal_run_dispose(struct sr_signal_run *run)
{
    sr_signal_run_cancel(run, SR_ECANCELED);
    sr_signals_unref(run->signals);
    sr_signal_input_unref(run->input);
    run->signals = NULL;
    run->input = NULL;
}
