/*
 * The worker threads: one lock, one condition, two queues; interactive jobs go first.
 *
 * A job's tag is the queue's clock when it came, plus its bytes; the lowest tag is next. The clock goes on
 * with the bytes that are taken, divided by the jobs that wait: so a long job is overtaken only as long as
 * it would have shared.
 */
#include "base/thread.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE      4 /* added to the niceness of the process */
#define NICE_MOST 19

struct job_queue {
    struct sr_job *head; /* by tag */
    double clock;
    size_t n;
};

struct sr_workers {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct job_queue queues[2];
    size_t queued, queue_max;
    int long_jobs; /* that run */
    bool closing;
    int threads;
    pthread_t ids[];
};

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

static struct sr_job *take_job(struct sr_workers *workers)
{
    for (int q = 0; q < 2; q++) {
        struct job_queue *queue = &workers->queues[q];
        struct sr_job **at = &queue->head;
        while (*at && is_long(*at) && !takes_long(workers))
            at = &(*at)->next;
        struct sr_job *job = *at;
        if (!job)
            continue;
        *at = job->next;
        queue->clock += (double)job->bytes / (double)queue->n--;
        workers->queued--;
        workers->long_jobs += is_long(job);
        return job;
    }
    return NULL;
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
}

/* The job may be freed while it runs. */
static void run_job(struct sr_workers *workers, struct sr_job *job)
{
    bool was_long = is_long(job);
    pthread_mutex_unlock(&workers->lock);
    job->run(job);
    pthread_mutex_lock(&workers->lock);
    workers->long_jobs -= was_long;
    if (was_long)
        pthread_cond_signal(&workers->ready);
}

static void *worker_main(void *arg)
{
    struct sr_workers *workers = arg;
    sr_thread_name("sr-work");
    int nice = getpriority(PRIO_PROCESS, (id_t)getpid()) + NICE;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice < NICE_MOST ? nice : NICE_MOST);
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct sr_job *job = take_job(workers);
        if (job)
            run_job(workers, job);
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
    } else if (workers->queued >= workers->queue_max) {
        rc = SR_EBUSY;
    } else {
        put_job(&workers->queues[priority], job);
        workers->queued++;
        pthread_cond_signal(&workers->ready);
    }
    pthread_mutex_unlock(&workers->lock);
    return rc;
}

size_t sr_workers_queued(struct sr_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    size_t queued = workers->queued;
    pthread_mutex_unlock(&workers->lock);
    return queued;
}
