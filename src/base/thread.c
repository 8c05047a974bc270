/*
 * The worker threads: one lock, one condition, two queues; interactive jobs go first.
 *
 * A job's tag is the queue's clock when it came, plus its bytes; the lowest tag is next. The clock goes on
 * with the bytes that are read, divided by the jobs that share: so a long job is overtaken only as long as
 * it would have shared. In a pause a job runs those with a lower tag on its own stack, one at a time.
 *
 * Bytes become time by what pauses told lately. A job that never pauses teaches nothing.
 */
#include "base/thread.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE      10 /* added to the niceness of the process: behind short texts, before long ones */
#define NICE_MOST 19
/* A reading of at least that many bytes says how long a byte takes. */
#define TELLING ((size_t)4 << 10)
/* The time of a byte is a running mean: a job counts for one part in so many. */
#define MEAN_OF 8
/* A job that needs its whole time alone is taken while this part of it is taken by others. */
#define LATE_SHARE 4

struct job_queue {
    struct sr_job *head; /* by tag */
    double clock;
    size_t n, bytes;
};

struct sr_workers {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct job_queue queues[2];
    size_t queued, queue_max;
    size_t running_bytes;           /* of jobs that run, as a whole */
    double lately_ns, lately_bytes; /* of jobs, the last ones count most */
    double least_ns;                /* the fewest that a byte took; 0: nothing was measured yet */
    uint64_t gave_way;
    int long_jobs; /* that run */
    bool closing;
    int threads;
    pthread_t ids[];
};

/* The job that this thread runs. */
struct now {
    struct sr_workers *workers;
    struct job_queue *queue;
    struct sr_job *job; /* valid while it reads */
    double tag;
    size_t read;      /* bytes that its pauses told */
    uint64_t away_ns; /* spent on others in its pauses */
    bool in_pause;    /* another job's: it runs no third one */
};
static _Thread_local struct now now;

void sr_thread_name(const char *name)
{
    char first[16]; /* the kernel's limit */
    snprintf(first, sizeof first, "%s", name);
    pthread_setname_np(pthread_self(), first);
}

/* May another long job begin? One thread is left to short ones, if there are two. */
static bool takes_long(const struct sr_workers *workers)
{
    return workers->long_jobs < (workers->threads > 1 ? workers->threads - 1 : 1);
}

static bool is_long(const struct sr_job *job)
{
    return job->bytes > SR_JOB_LONG;
}

/* The next job of a queue with a tag below `tag`, taken out. */
static struct sr_job *take_from(struct sr_workers *workers, struct job_queue *queue, double tag)
{
    struct sr_job **at = &queue->head;
    while (*at && is_long(*at) && !takes_long(workers))
        at = &(*at)->next;
    struct sr_job *job = *at;
    if (!job || job->tag >= tag)
        return NULL;
    *at = job->next;
    queue->n--;
    queue->bytes -= job->bytes;
    workers->queued--;
    workers->long_jobs += is_long(job);
    workers->running_bytes += job->bytes;
    return job;
}

static struct sr_job *take_job(struct sr_workers *workers, struct job_queue **queue)
{
    struct sr_job *job = NULL;
    for (int q = 0; !job && q < 2; q++) {
        *queue = &workers->queues[q];
        job = take_from(workers, *queue, INFINITY);
    }
    return job;
}

static void put_job(struct job_queue *queue, struct sr_job *job)
{
    struct sr_job **at = &queue->head;
    job->tag = queue->clock + (double)job->bytes;
    while (*at && (*at)->tag <= job->tag)
        at = &(*at)->next;
    job->next = *at;
    *at = job;
    queue->n++;
    queue->bytes += job->bytes;
}

/* The lock is held: what a byte takes. */
static void learn(struct sr_workers *workers, size_t bytes, uint64_t ns)
{
    const double keep = (MEAN_OF - 1.0) / MEAN_OF;
    if (bytes < TELLING || !ns)
        return;
    double each = (double)ns / (double)bytes;
    workers->lately_ns = workers->lately_ns * keep + (double)ns;
    workers->lately_bytes = workers->lately_bytes * keep + (double)bytes;
    workers->least_ns = workers->least_ns > 0 && workers->least_ns < each ? workers->least_ns : each;
}

/* The lock is held; 0: nothing was measured yet. */
static double byte_ns(const struct sr_workers *workers)
{
    return workers->lately_bytes > 0 ? workers->lately_ns / workers->lately_bytes : 0;
}

/* The lock is held: is there no time until the deadline, because of others? Jobs that run are half done. */
static bool is_late(const struct sr_workers *workers, enum sr_job_priority priority, const struct sr_job *job)
{
    const struct job_queue *queue = &workers->queues[priority];
    double each = byte_ns(workers), tag = queue->clock + (double)job->bytes;
    uint64_t at = sr_clock_ns();
    if (!job->deadline_ns || each <= 0)
        return false;
    double most = job->deadline_ns > at ? (double)(job->deadline_ns - at) / each : 0;
    double before = (double)workers->running_bytes / 2;
    for (const struct sr_job *other = queue->head; other && other->tag <= tag; other = other->next)
        before += (double)other->bytes;
    double rest = fmax(most - (double)job->bytes, most / LATE_SHARE);
    return before / workers->threads > rest;
}

/* The lock is held: a job of the queue has read so many bytes. */
static void tick(struct job_queue *queue, size_t bytes)
{
    queue->clock += (double)bytes / (double)(queue->n + 1);
}

/* The lock is held on entry and on return. The job may be freed while it runs. */
static void run_job(struct sr_workers *workers, struct job_queue *queue, struct sr_job *job, bool in_pause)
{
    bool was_long = is_long(job);
    size_t bytes = job->bytes;
    uint64_t start = sr_clock_ns();
    now = (struct now){.workers = workers, .queue = queue, .job = job, .tag = job->tag, .in_pause = in_pause};
    pthread_mutex_unlock(&workers->lock);
    job->run(job);
    pthread_mutex_lock(&workers->lock);
    learn(workers, now.read, sr_clock_ns() - start - now.away_ns);
    tick(queue, bytes > now.read ? bytes - now.read : 0);
    now.workers = NULL;
    workers->running_bytes -= bytes;
    workers->long_jobs -= was_long;
    if (was_long)
        pthread_cond_signal(&workers->ready);
}

/* Runs what has become more urgent than this thread's job, which has read `bytes` more. */
static void give_way(size_t bytes)
{
    struct now mine = now;
    struct sr_workers *workers = mine.workers;
    struct job_queue *urgent = &workers->queues[SR_JOB_INTERACTIVE];
    uint64_t start = 0;
    struct sr_job *job;
    pthread_mutex_lock(&workers->lock);
    tick(mine.queue, bytes);
    while (!mine.in_pause && (job = take_from(workers, urgent, mine.tag))) {
        start = start ? start : sr_clock_ns();
        workers->gave_way++;
        run_job(workers, urgent, job, true);
    }
    pthread_mutex_unlock(&workers->lock);
    now = mine;
    now.away_ns += start ? sr_clock_ns() - start : 0;
}

int sr_job_pause(size_t bytes)
{
    if (!now.workers)
        return SR_OK;
    now.read += bytes;
    give_way(bytes);
    return now.job->is_stopped && now.job->is_stopped(now.job) ? SR_ECANCELED : SR_OK;
}

static void *worker_main(void *arg)
{
    struct sr_workers *workers = arg;
    sr_thread_name("sr-work");
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid()) + NICE;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice < NICE_MOST ? nice : NICE_MOST);
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct job_queue *queue;
        struct sr_job *job = take_job(workers, &queue);
        if (job)
            run_job(workers, queue, job, false);
        else if (workers->closing && !workers->queued)
            break;
        else
            pthread_cond_wait(&workers->ready, &workers->lock);
    }
    pthread_cond_broadcast(&workers->ready); /* the others may end, too */
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

int sr_workers_new(struct sr_workers **out, int threads, size_t queue_max)
{
    struct sr_workers *workers = sr_mem_calloc(1, sizeof *workers + (size_t)threads * sizeof(pthread_t));
    if (!workers)
        return SR_ENOMEM;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->ready, NULL);
    workers->queue_max = queue_max;
    pthread_mutex_lock(&workers->lock);
    while (workers->threads < threads &&
           pthread_create(&workers->ids[workers->threads], NULL, worker_main, workers) == 0)
        workers->threads++;
    pthread_mutex_unlock(&workers->lock);
    if (workers->threads < threads) {
        sr_workers_free(workers);
        return SR_ENOMEM;
    }
    *out = workers;
    return SR_OK;
}

void sr_workers_free(struct sr_workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->closing = true;
    pthread_cond_broadcast(&workers->ready);
    pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < workers->threads; i++)
        pthread_join(workers->ids[i], NULL);
    pthread_cond_destroy(&workers->ready);
    pthread_mutex_destroy(&workers->lock);
    sr_mem_free(workers);
}

int sr_workers_submit(struct sr_workers *workers, struct sr_job *job, enum sr_job_priority priority)
{
    int rc = SR_OK;
    job->next = NULL;
    pthread_mutex_lock(&workers->lock);
    if (workers->closing) {
        rc = SR_ECLOSED;
    } else if (workers->queued >= workers->queue_max || is_late(workers, priority, job)) {
        rc = SR_EBUSY;
    } else {
        put_job(&workers->queues[priority], job);
        workers->queued++;
        pthread_cond_signal(&workers->ready);
    }
    pthread_mutex_unlock(&workers->lock);
    return rc;
}

struct sr_workers_stats sr_workers_stats(struct sr_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    double bytes = (double)workers->queues[SR_JOB_INTERACTIVE].bytes + (double)workers->running_bytes / 2;
    struct sr_workers_stats stats = {.queued = workers->queued,
                                     .rest_ns = (uint64_t)(bytes * byte_ns(workers) / workers->threads),
                                     .least_ns = workers->least_ns,
                                     .gave_way = workers->gave_way};
    pthread_mutex_unlock(&workers->lock);
    return stats;
}
