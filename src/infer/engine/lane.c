/*
 * A lane: one thread that forms batches and computes them together with its team.
 *
 * Which jobs: the first interactive one in the queue's order and what else waits for its encoder, up to the
 * limits of a batch; bulk jobs when no interactive one waits, and every other batch when they have waited too
 * long; prefetch jobs when nothing else waits.
 *
 * When: at once, unless there is company to expect. The lane remembers how many jobs were here at once when
 * the last batch ended; while fewer are back, none of the waiting has waited wait_ns and there is room in the
 * batch, it waits. A lane that was idle for wait_ns expects no more jobs.
 *
 * The lane of long texts gives way to the other: between two layers it waits while that one has jobs, and its
 * threads have a much lower priority of the operating system. It has the whole machine while nothing else is
 * asked. It never waits longer than GIVE_WAY_NS for a layer, so it is not starved.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "infer/engine/private.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BULK_PATIENCE_NS (SR_NS_PER_S / 2)
/* A batch of the lane of long texts has at most this part of the tokens of others: a layer is short. */
#define LONG_BATCHES 4
/* For one layer. */
#define GIVE_WAY_NS (20 * SR_NS_PER_MS)
/* The time of a token is a running mean: a batch counts for one part in so many. */
#define MEAN_OF 8
/* Added to the niceness of the process: event loops come first, then short texts, then long ones. */
#define NICE_SHORT 2
#define NICE_LONG  12
#define NICE_MOST  19
/* A workspace that grew beyond this is given back when nothing long waits. */
#define WORK_KEPT ((size_t)32 << 20)

static struct sr_bytes lane_name(const struct sr_infer_lane *lane)
{
    return lane->index == SR_INFER_LONG ? SR_LIT("long") : SR_LIT("short");
}

/* Threads that are created later inherit both. Neither is a reason not to work. */
static void place_thread(const struct sr_infer_lane *lane, const cpu_set_t *cpus)
{
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid());
    nice += lane->index == SR_INFER_LONG ? NICE_LONG : NICE_SHORT;
    if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice < NICE_MOST ? nice : NICE_MOST))
        sr_log(SR_LOG_WARN, "infer_priority",
               "the priority of the inference engine's threads could not be lowered");
    if (sched_setaffinity(0, sizeof *cpus, cpus))
        sr_log(SR_LOG_WARN, "infer_affinity", "the inference engine's threads could not be bound to CPUs");
}

/* The team is started with the first batch; without one the lane's thread works alone. */
static void gather_team(struct sr_infer_lane *lane, unsigned threads)
{
    if (lane->team_tried)
        return;
    lane->team_tried = true;
    if (threads > 1 && sr_team_new(&lane->team, threads)) {
        lane->team = NULL;
        sr_log(SR_LOG_WARN, "infer_threads", "only one thread of the inference engine could be started");
    }
}

/* Memory that grew, or whose ceiling changed, is given back. */
static void renew_work(struct sr_infer_lane *lane, size_t memory_max)
{
    struct sr_encoder_work *fresh;
    if (sr_encoder_work_new(&fresh, memory_max))
        return;
    sr_encoder_work_free(lane->work);
    lane->work = fresh;
}

/* The lock is held on entry and on return: makes threads and workspace as the options say. */
static void apply_options(struct sr_infer_lane *lane)
{
    struct sr_infer *infer = lane->infer;
    bool first = lane->applied == 0;
    lane->applied = infer->generation;
    cpu_set_t cpus = infer->cpus;
    size_t memory_max = lane->memory_max;
    pthread_mutex_unlock(&infer->lock);
    sr_team_free(lane->team);
    lane->team = NULL;
    lane->team_tried = false;
    place_thread(lane, &cpus);
    if (!first)
        renew_work(lane, memory_max);
    pthread_mutex_lock(&infer->lock);
}

static uint64_t oldest_ns(const struct sr_infer_lane *lane)
{
    uint64_t oldest = UINT64_MAX;
    for (int p = 0; p < SR_INFER_PRIORITIES; p++) {
        const struct sr_infer_job *job = sr_infer_queue_first(&lane->queues[p]);
        if (job && job->since_ns < oldest)
            oldest = job->since_ns;
    }
    return oldest;
}

/* Until when a batch waits for more jobs; 0: not at all. */
static uint64_t wait_until(const struct sr_infer_lane *lane, uint64_t now)
{
    const struct sr_infer_options *options = &lane->infer->options;
    if (lane->jobs >= lane->company || lane->tokens >= options->batch_tokens)
        return 0;
    uint64_t until = oldest_ns(lane) + options->wait_ns;
    return until > now ? until : 0;
}

static enum sr_infer_priority choose_queue(const struct sr_infer_lane *lane, uint64_t now)
{
    const struct sr_infer_job *first = sr_infer_queue_first(&lane->queues[SR_INFER_INTERACTIVE]),
                              *bulk = sr_infer_queue_first(&lane->queues[SR_INFER_BULK]);
    bool impatient = bulk && now - bulk->since_ns > BULK_PATIENCE_NS;
    if (first && (!impatient || lane->latest == SR_INFER_BULK))
        return SR_INFER_INTERACTIVE;
    return bulk ? SR_INFER_BULK : SR_INFER_PREFETCH;
}

/* Tokens that another job of the batch may have. */
static size_t room_beside(const struct sr_infer_lane *lane, const struct sr_encoder *encoder, size_t tokens)
{
    size_t most = lane->infer->options.batch_tokens;
    if (lane->index == SR_INFER_LONG)
        most /= LONG_BATCHES;
    size_t room = most > tokens ? most - tokens : 0;
    while (room && sr_encoder_need(encoder, tokens + room) > lane->memory_max)
        room /= 2;
    return room;
}

/* The lock is held. Moves the jobs of one batch out of the queue; their number. */
static size_t take_batch(struct sr_infer_lane *lane)
{
    uint64_t now = sr_clock_ns();
    enum sr_infer_priority priority = choose_queue(lane, now);
    struct sr_infer_queue *queue = &lane->queues[priority];
    struct sr_infer_job *job = sr_infer_queue_first(queue);
    const struct sr_encoder *encoder = job->encoder;
    size_t n = 0, tokens = 0;
    lane->latest = priority;
    while (job) {
        sr_infer_unlink(lane, job, true);
        job->state = SR_INFER_RUNNING;
        job->wait_ns = now - job->since_ns;
        tokens += job->item.n_ids;
        lane->batch[n] = job;
        lane->items[n++] = job->item;
        job = n < SR_INFER_BATCH_JOBS
                  ? sr_infer_queue_find(queue, encoder, room_beside(lane, encoder, tokens))
                  : NULL;
    }
    for (size_t i = 0; i < n; i++) {
        lane->batch[i]->batch_jobs = (uint32_t)n;
        lane->batch[i]->batch_tokens = (uint32_t)tokens;
    }
    lane->running = n;
    lane->dropped = 0;
    atomic_store(&lane->stop, false);
    atomic_store(&lane->awaited, false);
    return n;
}

/* Waits while the lane of short texts has jobs. */
static void give_way(struct sr_infer_lane *lane)
{
    struct sr_infer *infer = lane->infer;
    const struct sr_infer_lane *other = &infer->lanes[SR_INFER_SHORT];
    uint64_t until = sr_clock_ns() + GIVE_WAY_NS;
    struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    int late = 0;
    pthread_mutex_lock(&infer->lock);
    while (!late && atomic_load(&other->busy) && !atomic_load(&lane->stop) && !atomic_load(&lane->awaited))
        late = pthread_cond_timedwait(&lane->ready, &infer->lock, &deadline);
    pthread_mutex_unlock(&infer->lock);
}

/* Between two layers of the lane's batch. */
static bool must_stop(void *ctx)
{
    struct sr_infer_lane *lane = ctx;
    if (lane->index == SR_INFER_LONG && atomic_load(&lane->infer->lanes[SR_INFER_SHORT].busy))
        give_way(lane);
    return atomic_load(&lane->stop);
}

/* The lock is not held. One job that cannot be computed does not spoil its neighbours: the rest runs again,
 * one by one. */
static void compute(struct sr_infer_lane *lane, size_t n, int status[])
{
    const struct sr_encoder_between between = {must_stop, lane};
    const struct sr_encoder *encoder = lane->batch[0]->encoder;
    int rc = sr_encoder_run(encoder, lane->team, lane->work, lane->items, n, &between);
    for (size_t i = 0; i < n; i++)
        status[i] = rc && rc != SR_ECANCELED && n > 1
                        ? sr_encoder_run(encoder, lane->team, lane->work, &lane->items[i], 1, &between)
                        : rc;
}

static void measure(const struct sr_infer_lane *lane, size_t n, uint64_t run_ns)
{
    struct sr_metrics *metrics = lane->infer->metrics;
    struct sr_bytes name = lane_name(lane);
    if (!metrics)
        return;
    sr_metrics_add(metrics, SR_METRIC_INFER_BATCH_JOBS, (double)n, &name);
    sr_metrics_add(metrics, SR_METRIC_INFER_BATCH_TOKENS, lane->batch[0]->batch_tokens, &name);
    sr_metrics_add(metrics, SR_METRIC_INFER_RUN, (double)run_ns / SR_NS_PER_S, &name);
    for (size_t i = 0; i < n; i++)
        sr_metrics_add(metrics, SR_METRIC_INFER_WAIT, (double)lane->batch[i]->wait_ns / SR_NS_PER_S, &name);
}

static void add_origin(struct sr_infer_lane *lane, const struct sr_span_ref *origin)
{
    if (!origin->known)
        return;
    for (size_t i = 0; i < lane->n_origins; i++)
        if (memcmp(lane->origins[i].span, origin->span, sizeof origin->span) == 0 &&
            memcmp(lane->origins[i].trace, origin->trace, sizeof origin->trace) == 0)
            return;
    if (lane->n_origins < SR_INFER_ORIGINS_MAX)
        lane->origins[lane->n_origins++] = *origin;
    else
        lane->more_origins++;
}

/* The lock is held: for whom the batch was computed. */
static void gather_origins(struct sr_infer_lane *lane, size_t n, const int status[])
{
    lane->n_origins = lane->more_origins = 0;
    for (size_t i = 0; lane->infer->batch && i < n; i++)
        if (status[i] == SR_OK)
            add_origin(lane, &lane->batch[i]->origin);
}

/* The lock is not held. */
static void tell(const struct sr_infer_lane *lane, size_t n, uint64_t began_ns, uint64_t ended_ns)
{
    const struct sr_infer *infer = lane->infer;
    const struct sr_infer_batch batch = {.lane = lane_name(lane).p,
                                         .began_ns = began_ns,
                                         .ended_ns = ended_ns,
                                         .jobs = n,
                                         .tokens = lane->batch[0]->batch_tokens,
                                         .origins = lane->origins,
                                         .n_origins = lane->n_origins,
                                         .more = lane->more_origins};
    if (lane->n_origins > 1)
        infer->batch(infer->batch_ctx, &batch);
}

/* The lock is held: jobs that are done before a request waited for them. */
static size_t count_prefetched(const struct sr_infer_lane *lane, size_t n, const int status[])
{
    size_t prefetched = 0;
    for (size_t i = 0; i < n; i++)
        prefetched += status[i] == SR_OK && lane->batch[i]->priority == SR_INFER_PREFETCH;
    return prefetched;
}

/* The lock is held, nothing runs: the lane that gave way may go on. */
static void note_idle(struct sr_infer_lane *lane)
{
    if (lane->jobs || lane->index != SR_INFER_SHORT)
        return;
    atomic_store(&lane->busy, false);
    pthread_cond_signal(&lane->infer->lanes[SR_INFER_LONG].ready);
}

/* The lock is held: what a token takes. Large batches count for more, as they say more. */
static void learn_time(struct sr_infer_lane *lane, uint64_t run_ns)
{
    const double keep = (MEAN_OF - 1.0) / MEAN_OF;
    lane->lately_ns = lane->lately_ns * keep + (double)run_ns;
    lane->lately_tokens = lane->lately_tokens * keep + (double)lane->batch[0]->batch_tokens;
    lane->token_ns = (uint64_t)(lane->lately_ns / lane->lately_tokens) + 1;
}

/* The lock is held on entry and on return. */
static void run_batch(struct sr_infer_lane *lane)
{
    struct sr_infer *infer = lane->infer;
    int status[SR_INFER_BATCH_JOBS];
    size_t n = take_batch(lane);
    unsigned threads = infer->options.threads;
    pthread_mutex_unlock(&infer->lock);
    gather_team(lane, threads);
    uint64_t start = sr_clock_ns();
    compute(lane, n, status);
    uint64_t run_ns = sr_clock_ns() - start;
    measure(lane, n, run_ns);
    pthread_mutex_lock(&infer->lock);
    if (!atomic_load(&lane->stop))
        learn_time(lane, run_ns);
    for (size_t i = 0; i < n; i++) {
        struct sr_infer_job *job = lane->batch[i];
        job->state = SR_INFER_DONE;
        job->run_ns = run_ns;
        if (job->canceled)
            status[i] = SR_ECANCELED;
        else if (status[i] == SR_ECANCELED)
            status[i] = SR_ECLOSED;
    }
    size_t prefetched = count_prefetched(lane, n, status);
    gather_origins(lane, n, status);
    lane->company = n + lane->jobs;
    lane->running = 0;
    note_idle(lane);
    pthread_mutex_unlock(&infer->lock);
    if (prefetched)
        sr_metrics_add(infer->metrics, SR_METRIC_INFER_EARLY, (double)prefetched, NULL);
    tell(lane, n, start, start + run_ns);
    for (size_t i = 0; i < n; i++)
        sr_infer_finish(lane->batch[i], status[i]);
    pthread_mutex_lock(&infer->lock);
}

/* The lock is held on entry and on return; nothing waits on entry. */
static void sleep_idle(struct sr_infer_lane *lane)
{
    struct sr_infer *infer = lane->infer;
    uint64_t since = sr_clock_ns();
    note_idle(lane);
    if (sr_encoder_work_bytes(lane->work) > WORK_KEPT) {
        size_t memory_max = lane->memory_max;
        pthread_mutex_unlock(&infer->lock);
        renew_work(lane, memory_max);
        pthread_mutex_lock(&infer->lock);
    }
    while (!lane->jobs && !infer->closing && lane->applied == infer->generation)
        pthread_cond_wait(&lane->ready, &infer->lock);
    if (sr_clock_ns() - since > infer->options.wait_ns)
        lane->company = 0;
}

void *sr_infer_lane_main(void *arg)
{
    struct sr_infer_lane *lane = arg;
    struct sr_infer *infer = lane->infer;
    sr_thread_name(lane->index == SR_INFER_LONG ? "sr-infer-long" : "sr-infer-short");
    pthread_mutex_lock(&infer->lock);
    while (!infer->closing) {
        if (lane->applied != infer->generation) {
            apply_options(lane);
            continue;
        }
        uint64_t until = lane->jobs ? wait_until(lane, sr_clock_ns()) : 0;
        struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
        if (!lane->jobs)
            sleep_idle(lane);
        else if (until)
            pthread_cond_timedwait(&lane->ready, &infer->lock, &deadline);
        else
            run_batch(lane);
    }
    bool frees = infer->heir == lane;
    pthread_mutex_unlock(&infer->lock);
    sr_team_free(lane->team);
    if (frees) {
        pthread_detach(pthread_self());
        infer->end(infer, lane);
    }
    return NULL;
}
