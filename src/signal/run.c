/*
 * Runs of one request's signals.
 *
 * A run lives in the request's arena and is used only by the owner's thread. Work that may end on another
 * thread is a job on the heap: a task with its own references and arena, whose result is copied when the
 * job is done. A job that is cancelled or has expired skips its work if it has not begun, and is freed
 * when its producer releases it.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "signal/derived/partition.h"
#include "signal/types.h"

#include <math.h>
#include <stddef.h>

#define JOB_ARENA_MAX ((size_t)64 << 20)
/* Texts up to this size in bytes are looked up in the memo on the owner's thread, longer ones on a worker's.
 */
#define ADMIT_HERE ((size_t)256 << 10)

enum run_state { RUN_IDLE, RUN_PENDING, RUN_DONE };

struct signal_job {
    struct sr_signal_task task; /* the first member */
    struct sr_job job;
    struct sr_signals *signals;
    struct sr_signal_input *input;
    struct sr_signal_run *run; /* owner's thread */
    enum sr_signal_type type;
    bool admits; /* on the worker's thread, before it reads */
    struct sr_signal_input seen;
    struct sr_arena arena;
    struct sr_signal_result result;
};

struct sr_signal_run {
    struct sr_signals *signals;
    struct sr_signal_input *input;
    struct sr_signal_env env;
    struct sr_arena *arena;
    bool ending;   /* it is cancelled or expires: `done` is not called */
    bool admitted; /* a type that needs a neural classifier has begun: the others share its texts */
    struct {
        enum run_state state;
        struct signal_job *job; /* while pending: a reference */
        bool settled;           /* the result has taken in those of other types */
        sr_signal_done *done;
        void *ctx;
        struct sr_signal_result result;
    } types[SR_SIGNAL_TYPES];
};

static struct sr_signal_task *task_of(struct sr_task *base)
{
    return (struct sr_signal_task *)((char *)base - offsetof(struct sr_signal_task, base));
}

/* Copies hits, probabilities, the vector and findings to the owner's arena; labels and names belong to the
 * signal set. */
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
    if (from->vector) {
        float *vector = sr_arena_calloc(arena, from->dimensions, sizeof *vector);
        if (!vector)
            return SR_ENOMEM;
        memcpy(vector, from->vector, from->dimensions * sizeof *vector);
        to->vector = vector;
    }
    if (from->n_findings) {
        struct sr_signal_finding *findings = sr_arena_calloc(arena, from->n_findings, sizeof *findings);
        if (!findings)
            return SR_ENOMEM;
        memcpy(findings, from->findings, from->n_findings * sizeof *findings);
        to->findings = findings;
    }
    return SR_OK;
}

static void set_failed(struct sr_signal_result *result, int status)
{
    enum sr_signal_over over = result->over;
    *result = sr_signal_failed(status);
    result->over = over;
}

/* ---- one evaluation ---- */

/* Evaluates on the calling thread. SR_OK: the result is written. SR_AGAIN: the result is late. */
static int evaluate(const struct sr_signals *signals, enum sr_signal_type type, struct sr_signal_task *task)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    const struct sr_signal_set *set = signals->sets[type];
    int rc = SR_OK;
    task->since_ns = sr_clock_ns();
    *task->result = sr_signal_failed(SR_OK);
    if (set)
        rc = ops->start ? ops->start(set, task) : ops->run(set, task->input, task->arena, task->result);
    if (rc != SR_AGAIN)
        sr_signal_write_status(task, rc);
    return rc == SR_AGAIN ? rc : SR_OK;
}

/* What nothing could read of the request lowers the coverage of the types that read all of it. */
static void add_unread(const struct sr_signal_run *run, enum sr_signal_type type,
                       struct sr_signal_result *result)
{
    bool units = sr_signal_registry[type]->reads == SR_SIGNAL_READS_UNITS;
    if (!units || !run->input->units || result->status)
        return;
    result->unread_bytes += run->input->units->unread;
    result->all_bytes += run->input->units->unread;
}

static struct sr_signal_input seen_by(const struct sr_signal_input *input, enum sr_signal_type type)
{
    struct sr_signal_input seen = sr_signal_input_seen_by(input, type);
    seen.units = input->units;
    return seen;
}

/* The rule of another type, by names: hits are in the order of the configuration. */
static struct sr_found found_by(const struct sr_signal_others *others, const char *type, const char *name)
{
    struct sr_found found = {.value = NAN};
    int index = sr_signal_find_type(sr_bytes_str(type));
    const struct sr_signal_result *result = index < 0 ? NULL : others->results[index];
    if (!result || result->status)
        return found;
    int rule = sr_signals_find_rule(others->signals, (enum sr_signal_type)index, sr_bytes_str(name));
    if (rule < 0 || (size_t)rule >= result->n_hits)
        return found;
    const struct sr_signal_hit *hit = &result->hits[rule];
    found.known = hit->matched || !(result->unread_bytes || result->over);
    found.matched = hit->matched;
    found.confidence = !hit->matched ? 0 : hit->confidence > 0 ? hit->confidence : 1;
    found.value = hit->value;
    return found;
}

/* Finishes a result with those of the types that it needs, once these are done, or `now`: with what there is.
 */
static void settle(struct sr_signal_run *run, enum sr_signal_type type, bool now)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    struct sr_signal_others others = {.signals = run->signals, .found = found_by};
    struct sr_signal_result *result = &run->types[type].result;
    uint32_t missing = run->signals->needs[type];
    if (run->types[type].settled || run->types[type].state != RUN_DONE)
        return;
    for (int other = 0; other < SR_SIGNAL_TYPES; other++)
        if (run->types[other].state == RUN_DONE) {
            others.results[other] = &run->types[other].result;
            missing &= ~(UINT32_C(1) << other);
        }
    if (missing && !now)
        return;
    run->types[type].settled = true;
    if (result->status || !run->signals->sets[type])
        return;
    int rc = ops->settle ? ops->settle(run->signals->sets[type], &others, result) : SR_OK;
    if (rc)
        *result = sr_signal_failed(rc);
    else
        sr_partitions_apply(run->signals, type, result);
}

/* ---- jobs ---- */

static void job_free(struct sr_task *base)
{
    struct signal_job *job = (struct signal_job *)task_of(base);
    if (job->task.cleanup)
        job->task.cleanup(&job->task);
    sr_signals_unref(job->signals);
    sr_signal_input_unref(job->input);
    sr_arena_dispose(&job->arena);
    sr_mem_free(job);
}

/* Runs once on the owner's thread when the job has ended in any way. */
static void job_done(struct sr_task *base, int status)
{
    struct signal_job *job = (struct signal_job *)task_of(base);
    struct sr_signal_run *run = job->run;
    enum sr_signal_type type = job->type;
    enum sr_task_state state = sr_task_state(base);
    const struct sr_signal_result *from = state == SR_TASK_EXPIRED ? &job->task.partial : &job->result;
    struct sr_signal_result *to = &run->types[type].result;
    if (status)
        set_failed(to, status);
    else if (copy_result(run->arena, from, to))
        *to = sr_signal_failed(SR_ENOMEM);
    if (status == SR_OK)
        to->ns = from->ns;
    add_unread(run, type, to);
    run->types[type].state = RUN_DONE;
    run->types[type].job = NULL;
    settle(run, type, false);
    sr_task_unref(base);
    if (state == SR_TASK_DONE && !run->ending)
        run->types[type].done(run->types[type].ctx, type);
}

static int job_admit(struct signal_job *job)
{
    return sr_signal_registry[job->type]->admit(job->signals->sets[job->type], &job->task);
}

/* Runs on a worker thread or the owner's thread. SR_OK: the result is written. SR_AGAIN: the job will be
 * completed. */
static int job_evaluate(struct signal_job *job)
{
    if (sr_task_state(&job->task.base) != SR_TASK_PENDING)
        return SR_OK; /* the job was cancelled or has expired */
    job->seen = seen_by(job->input, job->type);
    int rc = job->admits ? job_admit(job) : SR_OK;
    if (rc == SR_OK)
        return evaluate(job->signals, job->type, &job->task);
    job->result = sr_signal_failed(rc);
    return SR_OK;
}

static bool job_is_stopped(struct sr_job *base)
{
    struct signal_job *job = (struct signal_job *)((char *)base - offsetof(struct signal_job, job));
    return sr_task_state(&job->task.base) != SR_TASK_PENDING;
}

static void job_run(struct sr_job *base)
{
    struct signal_job *job = (struct signal_job *)((char *)base - offsetof(struct signal_job, job));
    if (job_evaluate(job) == SR_OK)
        sr_task_complete(&job->task.base, SR_OK);
}

static struct signal_job *job_new(struct sr_signal_run *run, enum sr_signal_type type)
{
    struct signal_job *job = sr_mem_calloc(1, sizeof *job);
    if (!job)
        return NULL;
    sr_task_init(&job->task.base, run->env.mailbox ? job_done : NULL, job_free, run->env.mailbox);
    job->task.input = &job->seen;
    job->task.arena = &job->arena;
    job->task.result = &job->result;
    job->task.client = run->env.client;
    job->task.origin = run->env.origin;
    job->task.deadline_ns = run->env.deadline_ns;
    job->task.consults = run->env.consults;
    job->task.whole = run->env.whole && sr_signal_registry[type]->reads == SR_SIGNAL_READS_UNITS;
    job->job.run = job_run;
    job->job.is_stopped = job_is_stopped;
    job->job.bytes = sr_signal_input_bytes(run->input, type);
    job->job.deadline_ns = job->task.whole ? run->env.deadline_ns : 0;
    job->signals = sr_signals_ref(run->signals);
    job->input = sr_signal_input_ref(run->input);
    job->type = type;
    job->run = run;
    sr_arena_init(&job->arena, JOB_ARENA_MAX);
    return job;
}

/* ---- runs ---- */

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

/* Evaluates at once into the run's arena: for types whose result is never late. */
static void run_here(struct sr_signal_run *run, enum sr_signal_type type)
{
    struct sr_signal_input seen = seen_by(run->input, type);
    struct sr_signal_task task = {.input = &seen, .arena = run->arena, .result = &run->types[type].result};
    (void)evaluate(run->signals, type, &task);
}

/* A long job that wants the whole: is there time for it? SR_EBUSY, or SR_ELIMIT: not even alone, and `over`
 * says so. */
static int admit(struct sr_signal_run *run, struct signal_job *job)
{
    double alone = sr_workers_stats(run->env.workers).least_ns * (double)job->job.bytes;
    const struct sr_signal_ops *ops = sr_signal_registry[job->type];
    int rc = SR_OK;
    if (run->env.allowed_ns && alone > (double)run->env.allowed_ns) {
        run->types[job->type].result.over = SR_SIGNAL_OVER_DEADLINE;
        return SR_ELIMIT;
    }
    if (!ops->admit || run->admitted)
        return SR_OK;
    job->seen = seen_by(job->input, job->type);
    job->admits = job->job.bytes > ADMIT_HERE;
    if (!job->admits)
        rc = job_admit(job);
    run->admitted = rc == SR_OK;
    return rc;
}

/* Begins a type whose result may be late, or that runs on a worker thread. SR_AGAIN: the run will be
 * notified; SR_OK: the result is ready; another error when it cannot begin. Without a mailbox it waits. */
static int run_job(struct sr_signal_run *run, enum sr_signal_type type, bool on_worker)
{
    struct signal_job *job = job_new(run, type);
    if (!job)
        return SR_ENOMEM;
    struct sr_task *task = &job->task.base;
    run->types[type].job = job;
    sr_task_ref(task); /* the producer's */
    int rc = on_worker && job->task.whole ? admit(run, job) : SR_OK;
    if (rc == SR_OK)
        rc = on_worker ? sr_workers_submit(run->env.workers, &job->job, SR_JOB_INTERACTIVE)
                       : job_evaluate(job);
    bool waits = rc == SR_AGAIN && !run->env.mailbox;
    if ((on_worker && rc == SR_OK) || (rc == SR_AGAIN && !waits))
        return SR_AGAIN;
    run->types[type].job = NULL;
    if (waits)
        rc = sr_task_wait(task);
    else
        sr_task_unref(task); /* there is no producer */
    if (rc == SR_OK)
        rc = copy_result(run->arena, &job->result, &run->types[type].result);
    sr_task_unref(task);
    return rc;
}

int sr_signal_run_start(struct sr_signal_run *run, enum sr_signal_type type, sr_signal_done *done, void *ctx)
{
    settle(run, type, false);
    if (run->types[type].state != RUN_IDLE)
        return run->types[type].state == RUN_PENDING ? SR_AGAIN : SR_OK;
    const struct sr_signal_set *set = run->signals->sets[type];
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    bool on_worker = set && run->env.mailbox && run->env.workers &&
                     (sr_signal_input_bytes(run->input, type) > run->env.inline_bytes ||
                      (ops->is_slow && ops->is_slow(set, run->input)));
    bool late = set && sr_signal_type_is_late(type, set);
    int rc = SR_OK;
    run->types[type].done = done;
    run->types[type].ctx = ctx;
    run->types[type].state = RUN_PENDING;
    if (on_worker || late)
        rc = run_job(run, type, on_worker);
    else
        run_here(run, type);
    if (rc == SR_AGAIN)
        return rc;
    run->types[type].state = RUN_DONE;
    if (rc)
        set_failed(&run->types[type].result, rc);
    add_unread(run, type, &run->types[type].result);
    settle(run, type, false);
    return SR_OK;
}

/* Cancels or expires what is pending. */
static void run_end(struct sr_signal_run *run, void (*end)(struct sr_task *task))
{
    run->ending = true;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (run->types[type].job)
            end(&run->types[type].job->task.base);
    run->ending = false;
}

void sr_signal_run_expire(struct sr_signal_run *run)
{
    run_end(run, sr_task_expire);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        bool derived = run->signals->needs[type] && !sr_signal_registry[type]->start;
        if (run->types[type].state == RUN_IDLE && run->signals->sets[type] && derived) {
            run->types[type].state = RUN_DONE;
            run_here(run, (enum sr_signal_type)type);
        }
        settle(run, (enum sr_signal_type)type, true);
    }
}

void sr_signal_run_cancel(struct sr_signal_run *run)
{
    run_end(run, sr_task_cancel);
}

const struct sr_signal_result *sr_signal_run_result(const struct sr_signal_run *run, enum sr_signal_type type)
{
    return run->types[type].state == RUN_DONE ? &run->types[type].result : NULL;
}

void sr_signal_run_dispose(struct sr_signal_run *run)
{
    sr_signal_run_cancel(run);
    sr_signals_unref(run->signals);
    sr_signal_input_unref(run->input);
    run->signals = NULL;
    run->input = NULL;
}
