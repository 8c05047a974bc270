/*
 * Runs of one request's signals.
 *
 * A run lives in the request's arena and is touched by the owner's thread only. What ends on another thread
 * is a job on the heap with references and an arena of its own; its result comes back by mailbox and is
 * copied. A job whose owner gave up, or took the answer of early (sr_signal_run_settle), is cut loose: it
 * skips its work if it has not begun, and frees itself when it arrives.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "signal/types.h"

#include <pthread.h>
#include <stdatomic.h>

#define JOB_ARENA_MAX ((size_t)64 << 20)
/* How long an answer that is just being given is waited for: a thread that is to write it may have lost its
 * CPU. */
#define SETTLE_MS 200

enum run_state { RUN_IDLE, RUN_PENDING, RUN_DONE };

/* Owned by the worker thread until it is sent, then by the message. */
struct signal_job {
    struct sr_job job;
    struct sr_message message;
    struct sr_signals *signals;
    struct sr_signal_input *input;
    struct sr_mailbox *mailbox;
    enum sr_signal_type type;
    atomic_bool canceled;
    atomic_bool late;   /* the task began and may be canceled */
    atomic_int parties; /* of a late task: who started it and who answers; the last one sends */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock: */
    bool complete;                 /* the result is there, the message is being sent */
    bool is_known;                 /* `known` is there */
    struct sr_signal_result known; /* without what comes late */
    struct sr_signal_run *run;     /* owner's thread only; NULL when cut loose */
    uint64_t since_ns;
    struct sr_signal_input seen;
    struct sr_signal_task task;
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

/* A waiter for a task. */
struct waiter {
    struct sr_signal_task task;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    int status;
};

static void waiter_done(struct sr_signal_task *task, int status)
{
    struct waiter *waiter = (struct waiter *)((char *)task - offsetof(struct waiter, task));
    pthread_mutex_lock(&waiter->lock);
    waiter->done = true;
    waiter->status = status;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

/* Starts a type that may be late, and waits for it. */
static int start_and_wait(const struct sr_signal_ops *ops, const struct sr_signal_set *set,
                          const struct sr_signal_input *input, struct sr_arena *arena,
                          struct sr_signal_result *result)
{
    struct waiter waiter = {.task = {.input = input, .arena = arena, .result = result, .done = waiter_done}};
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.changed, NULL);
    int rc = ops->start(set, &waiter.task);
    if (rc == SR_AGAIN) {
        pthread_mutex_lock(&waiter.lock);
        while (!waiter.done)
            pthread_cond_wait(&waiter.changed, &waiter.lock);
        rc = waiter.status;
        pthread_mutex_unlock(&waiter.lock);
    }
    if (ops->dispose)
        ops->dispose(set, &waiter.task);
    pthread_cond_destroy(&waiter.changed);
    pthread_mutex_destroy(&waiter.lock);
    return rc;
}

static void evaluate(const struct sr_signals *signals, enum sr_signal_type type,
                     const struct sr_signal_input *input, struct sr_arena *arena,
                     struct sr_signal_result *result)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    uint64_t start = sr_clock_ns();
    *result = failed(SR_OK);
    int rc = SR_OK;
    if (signals->sets[type]) {
        struct sr_signal_input seen = sr_signal_input_seen_by(input, type);
        seen.turns = input->turns;
        rc = ops->start ? start_and_wait(ops, signals->sets[type], &seen, arena, result)
                        : ops->run(signals->sets[type], &seen, arena, result);
    }
    if (rc)
        *result = failed(rc);
    result->ns = sr_clock_ns() - start;
}

static void job_free(struct signal_job *job)
{
    const struct sr_signal_ops *ops = sr_signal_registry[job->type];
    if (job->task.done && ops->dispose)
        ops->dispose(job->signals->sets[job->type], &job->task);
    sr_signals_unref(job->signals);
    sr_signal_input_unref(job->input);
    sr_arena_dispose(&job->arena);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    sr_mem_free(job);
}

static void job_send(struct signal_job *job)
{
    pthread_mutex_lock(&job->lock);
    job->complete = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    if (sr_mailbox_send(job->mailbox, &job->message))
        job_free(job);
}

static void job_leave(struct signal_job *job)
{
    if (atomic_fetch_sub_explicit(&job->parties, 1, memory_order_acq_rel) == 1)
        job_send(job);
}

static void job_task_done(struct sr_signal_task *task, int status)
{
    struct signal_job *job = (struct signal_job *)((char *)task - offsetof(struct signal_job, task));
    if (status)
        job->result = failed(status);
    job->result.ns = sr_clock_ns() - job->since_ns;
    job_leave(job);
}

static void job_task_known(struct sr_signal_task *task)
{
    struct signal_job *job = (struct signal_job *)((char *)task - offsetof(struct signal_job, task));
    pthread_mutex_lock(&job->lock);
    job->known = job->result;
    job->known.neural_late = true;
    job->known.ns = sr_clock_ns() - job->since_ns;
    job->is_known = true;
    pthread_mutex_unlock(&job->lock);
}

/* SR_OK: the result is there. SR_AGAIN: the job will be sent, it is not the caller's any more. */
static int job_start(struct signal_job *job)
{
    const struct sr_signal_ops *ops = sr_signal_registry[job->type];
    const struct sr_signal_set *set = job->signals->sets[job->type];
    if (!ops->start) {
        evaluate(job->signals, job->type, job->input, &job->arena, &job->result);
        return SR_OK;
    }
    job->since_ns = sr_clock_ns();
    job->seen = sr_signal_input_seen_by(job->input, job->type);
    job->seen.turns = job->input->turns;
    job->task = (struct sr_signal_task){.input = &job->seen,
                                        .arena = &job->arena,
                                        .result = &job->result,
                                        .done = job_task_done,
                                        .known = job_task_known};
    job->result = failed(SR_OK);
    atomic_init(&job->parties, 2);
    int rc = ops->start(set, &job->task);
    if (rc == SR_AGAIN) {
        /* Whichever of this thread and the one that cancels comes second sees the other's mark. */
        atomic_store(&job->late, true);
        if (atomic_load(&job->canceled) && ops->cancel)
            ops->cancel(set, &job->task);
        job_leave(job);
        return SR_AGAIN;
    }
    if (rc)
        job->result = failed(rc);
    job->result.ns = sr_clock_ns() - job->since_ns;
    return SR_OK;
}

static void job_run(struct sr_job *base)
{
    struct signal_job *job = (struct signal_job *)((char *)base - offsetof(struct signal_job, job));
    if (atomic_load(&job->canceled) || job_start(job) == SR_OK)
        job_send(job);
}

/* Copies hits, probabilities and finds to the owner's arena; labels and names belong to the signal set. */
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
    if (from->n_finds) {
        struct sr_signal_finding *finds = sr_arena_calloc(arena, from->n_finds, sizeof *finds);
        if (!finds)
            return SR_ENOMEM;
        memcpy(finds, from->finds, from->n_finds * sizeof *finds);
        to->finds = finds;
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

static void job_init_wait(struct signal_job *job)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&job->lock, NULL);
}

/* The result, at once or (`comes`) within a moment, or what is known without what comes late; NULL: nothing.
 */
static const struct sr_signal_result *job_await(struct signal_job *job, bool comes)
{
    uint64_t until = sr_clock_ns() + SETTLE_MS * SR_NS_PER_MS;
    struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    pthread_mutex_lock(&job->lock);
    while (!job->complete && comes)
        comes = pthread_cond_timedwait(&job->changed, &job->lock, &deadline) == 0;
    const struct sr_signal_result *result = job->complete ? &job->result : job->is_known ? &job->known : NULL;
    pthread_mutex_unlock(&job->lock);
    return result;
}

static struct signal_job *job_new(struct sr_signal_run *run, enum sr_signal_type type)
{
    struct signal_job *job = sr_mem_calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->job.run = job_run;
    job->message.run = job_arrive;
    job->signals = sr_signals_ref(run->signals);
    job->input = sr_signal_input_ref(run->input);
    job->mailbox = run->env.mailbox;
    job->type = type;
    job->run = run;
    job->result = failed(SR_ECANCELED);
    atomic_init(&job->canceled, false);
    atomic_init(&job->late, false);
    job_init_wait(job);
    sr_arena_init(&job->arena, JOB_ARENA_MAX);
    return job;
}

/* The answer is there already: keeps it and drops the job. */
static int keep_result(struct sr_signal_run *run, enum sr_signal_type type, struct signal_job *job)
{
    int rc = copy_result(run->arena, &job->result, &run->types[type].result);
    job_free(job);
    return rc;
}

/* Begins the type where the answer comes by mailbox. SR_AGAIN: it will; SR_OK: the result is there; another
 * error when it cannot be begun. */
static int run_begin(struct sr_signal_run *run, enum sr_signal_type type, bool on_worker)
{
    struct signal_job *job = job_new(run, type);
    if (!job)
        return SR_ENOMEM;
    run->types[type].job = job;
    if (on_worker) {
        int rc = sr_workers_submit(run->env.workers, &job->job, SR_JOB_INTERACTIVE);
        if (rc == SR_OK)
            return SR_AGAIN;
        run->types[type].job = NULL;
        job_free(job);
        return rc;
    }
    if (job_start(job) == SR_AGAIN)
        return SR_AGAIN;
    run->types[type].job = NULL;
    return keep_result(run, type, job);
}

int sr_signal_run_start(struct sr_signal_run *run, enum sr_signal_type type, sr_signal_done *done, void *ctx)
{
    if (run->types[type].state != RUN_IDLE)
        return run->types[type].state == RUN_PENDING ? SR_AGAIN : SR_OK;
    const struct sr_signal_set *set = run->signals->sets[type];
    bool on_worker = set && run->env.mailbox && run->env.workers &&
                     sr_signal_input_bytes(run->input, type) > run->env.inline_bytes;
    bool late = set && run->env.mailbox && sr_signal_type_is_late(type, set);
    run->types[type].done = done;
    run->types[type].ctx = ctx;
    if (on_worker || late) {
        int rc = run_begin(run, type, on_worker);
        run->types[type].state = rc == SR_AGAIN ? RUN_PENDING : RUN_DONE;
        if (rc == SR_AGAIN)
            return SR_AGAIN;
        if (rc)
            run->types[type].result = failed(rc);
        return SR_OK;
    }
    evaluate(run->signals, type, run->input, run->arena, &run->types[type].result);
    run->types[type].state = RUN_DONE;
    return SR_OK;
}

void sr_signal_run_settle(struct sr_signal_run *run)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        struct signal_job *job = run->types[type].job;
        const struct sr_signal_ops *ops = sr_signal_registry[type];
        bool comes = job && ops->settle && atomic_load(&job->late);
        if (comes)
            ops->settle(job->signals->sets[type], &job->task);
        const struct sr_signal_result *result = job ? job_await(job, comes) : NULL;
        if (!result)
            continue;
        uint64_t ns = result->ns;
        if (copy_result(run->arena, result, &run->types[type].result))
            run->types[type].result = failed(SR_ENOMEM);
        run->types[type].result.ns = ns;
        run->types[type].state = RUN_DONE;
        run->types[type].job = NULL;
        job->run = NULL;
        atomic_store(&job->canceled,
                     true); /* where it is still being started, no request waits for the rest */
        if (!comes && atomic_load(&job->late) && ops->cancel)
            ops->cancel(job->signals->sets[type], &job->task);
    }
}

void sr_signal_run_cancel(struct sr_signal_run *run, int status)
{
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        struct signal_job *job = run->types[type].job;
        if (!job)
            continue;
        const struct sr_signal_ops *ops = sr_signal_registry[type];
        job->run = NULL;
        run->types[type].job = NULL;
        run->types[type].state = RUN_DONE;
        run->types[type].result = failed(status);
        atomic_store(&job->canceled, true);
        if (atomic_load(&job->late) && ops->cancel)
            ops->cancel(job->signals->sets[type], &job->task);
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
