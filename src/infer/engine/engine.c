/*
 * Takes and cancels jobs; creates and frees the engine. lane.c forms and runs batches.
 *
 * One lock guards both lanes; it is held for list work only, never while something is computed or
 * reported.
 */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "infer/engine/private.h"

#include <assert.h>

struct sr_infer_options sr_infer_defaults(void)
{
    return (struct sr_infer_options){
        .queue_jobs = 4096,
        .queue_tokens = (size_t)1 << 20,
        .batch_tokens = 1024,
        .long_tokens = 1024,
        .wait_ns = 500 * SR_NS_PER_US,
        .memory_max = (size_t)1 << 30,
    };
}

/* Counts the threads of *options and finds their CPUs. */
static int check(struct sr_infer_options *options, cpu_set_t *cpus, struct sr_err *err)
{
    unsigned usable = (unsigned)sr_cpu_cores();
    if (!options->queue_jobs || !options->queue_tokens || !options->batch_tokens || !options->long_tokens ||
        !options->memory_max)
        return sr_err_set(err, SR_EINVAL, "a limit of the inference engine is 0");
    if (sched_getaffinity(0, sizeof *cpus, cpus))
        memset(cpus, 0xff, sizeof *cpus);
    if (options->cpus && *options->cpus) {
        cpu_set_t named;
        int rc = sr_cpu_list_parse(options->cpus, &named, err);
        if (rc)
            return rc;
        CPU_AND(cpus, cpus, &named);
        unsigned n = (unsigned)CPU_COUNT(cpus);
        if (n == 0)
            return sr_err_set(err, SR_EINVAL, "the process may use none of the CPUs `%.60s`", options->cpus);
        usable = n < usable ? n : usable;
    }
    options->cpus = NULL; /* the caller's string may go */
    if (options->threads == 0)
        options->threads = usable;
    if (options->threads > SR_TEAM_MAX)
        options->threads = SR_TEAM_MAX;
    return SR_OK;
}

int sr_infer_check(const struct sr_infer_options *options, struct sr_err *err)
{
    struct sr_infer_options wanted = *options;
    cpu_set_t cpus;
    return check(&wanted, &cpus, err);
}

/* The lock is held, or no other thread exists yet. */
static void apply(struct sr_infer *infer, const struct sr_infer_options *options, const cpu_set_t *cpus)
{
    /* The lane of long sequences has most of the memory: its workspace grows with the longest. */
    size_t quarter = options->memory_max / 4;
    infer->options = *options;
    infer->cpus = *cpus;
    infer->lanes[SR_INFER_SHORT].memory_max = quarter;
    infer->lanes[SR_INFER_LONG].memory_max = options->memory_max - quarter;
    infer->generation++;
}

static int lane_open(struct sr_infer *infer, enum sr_infer_lane_index index)
{
    struct sr_infer_lane *lane = &infer->lanes[index];
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&lane->ready, &attributes);
    pthread_condattr_destroy(&attributes);
    lane->infer = infer;
    lane->index = index;
    atomic_init(&lane->stop, false);
    atomic_init(&lane->busy, false);
    atomic_init(&lane->awaited, false);
    return sr_encoder_work_new(&lane->work, lane->memory_max);
}

static void lane_close(struct sr_infer_lane *lane)
{
    if (!lane->infer)
        return;
    sr_encoder_work_free(lane->work);
    pthread_cond_destroy(&lane->ready);
}

int sr_infer_new(struct sr_infer **out, const struct sr_infer_options *options, struct sr_err *err)
{
    struct sr_infer_options wanted = *options;
    cpu_set_t cpus;
    int rc = check(&wanted, &cpus, err);
    if (rc)
        return rc;
    struct sr_infer *infer = sr_mem_calloc(1, sizeof *infer);
    if (!infer)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    pthread_mutex_init(&infer->lock, NULL);
    infer->metrics = options->metrics;
    infer->batch = options->batch;
    infer->batch_ctx = options->batch_ctx;
    apply(infer, &wanted, &cpus);
    for (int i = 0; rc == SR_OK && i < SR_INFER_LANES; i++)
        if (lane_open(infer, (enum sr_infer_lane_index)i))
            rc = sr_err_set(err, SR_ENOMEM, "out of memory");
    for (int i = 0; rc == SR_OK && i < SR_INFER_LANES; i++)
        if (pthread_create(&infer->lanes[i].thread, NULL, sr_infer_lane_main, &infer->lanes[i]))
            rc = sr_err_set(err, SR_ENOMEM, "a thread of the inference engine cannot be started");
        else
            infer->started++;
    if (rc) {
        sr_infer_free(infer);
        return rc;
    }
    *out = infer;
    return SR_OK;
}

int sr_infer_adjust(struct sr_infer *infer, const struct sr_infer_options *options, struct sr_err *err)
{
    struct sr_infer_options wanted = *options;
    cpu_set_t cpus;
    int rc = check(&wanted, &cpus, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&infer->lock);
    apply(infer, &wanted, &cpus);
    for (int i = 0; i < SR_INFER_LANES; i++)
        pthread_cond_signal(&infer->lanes[i].ready);
    pthread_mutex_unlock(&infer->lock);
    return SR_OK;
}

/* Nothing runs any more. */
static void end_waiting(struct sr_infer_queue *queue)
{
    struct sr_infer_job *job;
    while ((job = sr_infer_queue_first(queue))) {
        sr_infer_queue_drop(queue, job);
        job->state = SR_INFER_DONE;
        sr_infer_finish(job, SR_ECLOSED);
    }
}

/* Joins the threads of the lanes but `own` (or NULL), ends what waits, and frees the engine. */
static void end(struct sr_infer *infer, const struct sr_infer_lane *own)
{
    for (unsigned i = 0; i < infer->started; i++)
        if (&infer->lanes[i] != own)
            pthread_join(infer->lanes[i].thread, NULL);
    for (int i = 0; i < SR_INFER_LANES; i++) {
        for (int p = 0; p < SR_INFER_PRIORITIES; p++)
            end_waiting(&infer->lanes[i].queues[p]);
        lane_close(&infer->lanes[i]);
    }
    pthread_mutex_destroy(&infer->lock);
    sr_mem_free(infer);
}

/* The lane whose thread calls; NULL for any other thread. */
static const struct sr_infer_lane *lane_of_thread(const struct sr_infer *infer)
{
    for (unsigned i = 0; i < infer->started; i++)
        if (pthread_equal(infer->lanes[i].thread, pthread_self()))
            return &infer->lanes[i];
    return NULL;
}

void sr_infer_free(struct sr_infer *infer)
{
    if (!infer)
        return;
    const struct sr_infer_lane *own = lane_of_thread(infer);
    assert(!own || !infer->metrics);
    pthread_mutex_lock(&infer->lock);
    infer->closing = true;
    infer->heir = own;
    infer->end = end;
    for (unsigned i = 0; i < infer->started; i++) {
        atomic_store(&infer->lanes[i].stop, true);
        pthread_cond_signal(&infer->lanes[i].ready);
    }
    pthread_mutex_unlock(&infer->lock);
    if (!own) /* a lane would wait for itself */
        end(infer, NULL);
}

static struct sr_infer_lane *lane_of(struct sr_infer *infer, const struct sr_infer_job *job)
{
    return &infer->lanes[job->long_lane ? SR_INFER_LONG : SR_INFER_SHORT];
}

static bool follows(const struct sr_infer_job *before, const struct sr_infer_job *job)
{
    return before && before->long_lane == job->long_lane && before->priority == job->priority &&
           before->client == job->client;
}

/* The lock is held. `before` was linked in the same submission; or NULL. */
static void link_job(struct sr_infer *infer, struct sr_infer_job *job, struct sr_infer_job *before)
{
    struct sr_infer_lane *lane = lane_of(infer, job);
    sr_encoder_ref(job->encoder);
    job->state = SR_INFER_WAITING;
    sr_infer_queue_put(&lane->queues[job->priority], job, follows(before, job) ? before : NULL);
    lane->jobs++;
    lane->tokens += job->item.n_ids;
    infer->jobs++;
    infer->tokens += job->item.n_ids;
    atomic_store(&lane->busy, true);
    pthread_cond_signal(&lane->ready);
}

static int try_submit(struct sr_infer *infer, struct sr_infer_submission *jobs)
{
    pthread_mutex_lock(&infer->lock);
    for (size_t i = 0; i < jobs->n; i++)
        sr_infer_nth(jobs, i)->state = SR_INFER_DONE; /* until they are accepted */
    int rc = sr_infer_admit(infer, jobs);
    for (size_t i = 0; rc == SR_OK && i < jobs->n; i++)
        link_job(infer, sr_infer_nth(jobs, i), i ? sr_infer_nth(jobs, i - 1) : NULL);
    if (rc == SR_OK)
        sr_infer_set_queue_metrics(infer);
    pthread_mutex_unlock(&infer->lock);
    return rc;
}

/* Counts what was not taken. */
static int refuse(const struct sr_infer *infer, int rc)
{
    struct sr_bytes reason = rc == SR_EBUSY ? SR_LIT("busy") : SR_LIT("limit");
    if (rc == SR_EBUSY || rc == SR_ELIMIT)
        sr_metrics_add(infer->metrics, SR_METRIC_INFER_REFUSED, 1, &reason);
    return rc;
}

int sr_infer_submit_all(struct sr_infer *infer, struct sr_infer_job *jobs, size_t n)
{
    return refuse(infer, try_submit(infer, &(struct sr_infer_submission){.row = jobs, .n = n}));
}

int sr_infer_submit_list(struct sr_infer *infer, struct sr_infer_job *const *jobs, size_t n)
{
    struct sr_infer_submission list = {.list = jobs, .n = n, .apart = true};
    int rc = try_submit(infer, &list);
    return rc && list.prefetch ? rc : refuse(infer, rc); /* prefetch: it is read later, nothing is lost */
}

void sr_infer_hasten(struct sr_infer *infer, struct sr_infer_job *job, enum sr_infer_priority priority,
                     uint64_t client, const struct sr_span_ref *origin, size_t text_tokens)
{
    pthread_mutex_lock(&infer->lock);
    job->origin = *origin;
    if (job->state == SR_INFER_WAITING) {
        sr_infer_unlink(lane_of(infer, job), job, false);
        job->priority = priority;
        job->client = client;
        job->text_tokens = text_tokens > job->item.n_ids ? text_tokens : job->item.n_ids;
        job->long_lane = sr_infer_is_long(infer, job, job->text_tokens);
        link_job(infer, job, NULL);
        sr_encoder_unref(job->encoder); /* linked twice */
    } else if (job->state == SR_INFER_RUNNING && priority == SR_INFER_INTERACTIVE) {
        atomic_store(&lane_of(infer, job)->awaited, true);
        pthread_cond_signal(&lane_of(infer, job)->ready);
    }
    job->priority = priority;
    pthread_mutex_unlock(&infer->lock);
}

int sr_infer_submit(struct sr_infer *infer, struct sr_infer_job *job)
{
    return sr_infer_submit_all(infer, job, 1);
}

void sr_infer_cancel(struct sr_infer *infer, struct sr_infer_job *job)
{
    bool waited = false;
    pthread_mutex_lock(&infer->lock);
    struct sr_infer_lane *lane = lane_of(infer, job);
    if (job->state == SR_INFER_WAITING) {
        sr_infer_unlink(lane, job, false);
        job->state = SR_INFER_DONE;
        waited = true;
    } else if (job->state == SR_INFER_RUNNING && !job->canceled) {
        job->canceled = true;
        if (++lane->dropped == lane->running) {
            atomic_store(&lane->stop, true);
            pthread_cond_signal(&lane->ready);
        }
    }
    pthread_mutex_unlock(&infer->lock);
    if (waited)
        sr_infer_finish(job, SR_ECANCELED);
}

/* The state of a thread that waits for jobs. */
struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t under_way;
    int status; /* the first error */
};

static void waiter_done(struct sr_infer_job *job, int status)
{
    struct waiter *waiter = job->owner;
    pthread_mutex_lock(&waiter->lock);
    waiter->under_way--;
    if (!waiter->status)
        waiter->status = status;
    pthread_cond_signal(&waiter->changed);
    pthread_mutex_unlock(&waiter->lock);
}

/* Waits until at most `left` jobs are in progress. */
static void waiter_wait(struct waiter *waiter, size_t left)
{
    pthread_mutex_lock(&waiter->lock);
    while (waiter->under_way > left)
        pthread_cond_wait(&waiter->changed, &waiter->lock);
    pthread_mutex_unlock(&waiter->lock);
}

/* Submits one more job, after some of this waiter's own where the queue is full. */
static int waiter_submit(struct sr_infer *infer, struct waiter *waiter, struct sr_infer_job *job)
{
    for (;;) {
        pthread_mutex_lock(&waiter->lock);
        size_t mine = waiter->under_way++;
        pthread_mutex_unlock(&waiter->lock);
        int rc = try_submit(infer, &(struct sr_infer_submission){.row = job, .n = 1});
        if (rc == SR_OK)
            return rc;
        pthread_mutex_lock(&waiter->lock);
        waiter->under_way--;
        pthread_mutex_unlock(&waiter->lock);
        if (rc != SR_EBUSY || mine == 0)
            return refuse(infer, rc);
        waiter_wait(waiter, mine - 1);
    }
}

int sr_infer_run(struct sr_infer *infer, struct sr_infer_job *jobs, size_t n)
{
    struct waiter waiter = {.status = SR_OK};
    int rc = SR_OK;
    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.changed, NULL);
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        jobs[i].owner = &waiter;
        jobs[i].done = waiter_done;
        rc = waiter_submit(infer, &waiter, &jobs[i]);
    }
    waiter_wait(&waiter, 0);
    pthread_cond_destroy(&waiter.changed);
    pthread_mutex_destroy(&waiter.lock);
    return rc ? rc : waiter.status;
}

struct sr_infer_stats sr_infer_stats(struct sr_infer *infer)
{
    pthread_mutex_lock(&infer->lock);
    struct sr_infer_stats stats = {infer->jobs, infer->tokens, infer->options.threads, 0};
    for (int i = 0; i < SR_INFER_LANES; i++)
        stats.rest_ns += infer->lanes[i].tokens * infer->lanes[i].token_ns;
    pthread_mutex_unlock(&infer->lock);
    return stats;
}
