/* The worker threads: one lock, one condition, two queues; interactive jobs go first. */
#include "base/thread.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>

struct job_queue {
    struct sr_job *head, **tail;
};

struct sr_workers {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    struct job_queue queues[2];
    size_t queued, queue_max;
    bool closing;
    int threads;
    pthread_t ids[];
};

static struct sr_job *take_job(struct sr_workers *workers)
{
    for (int q = 0; q < 2; q++) {
        struct job_queue *queue = &workers->queues[q];
        struct sr_job *job = queue->head;
        if (!job)
            continue;
        queue->head = job->next;
        if (!queue->head)
            queue->tail = &queue->head;
        workers->queued--;
        return job;
    }
    return NULL;
}

static void *worker_main(void *arg)
{
    struct sr_workers *workers = arg;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct sr_job *job = take_job(workers);
        if (job) {
            pthread_mutex_unlock(&workers->lock);
            job->run(job);
            pthread_mutex_lock(&workers->lock);
        } else if (workers->closing) {
            break;
        } else {
            pthread_cond_wait(&workers->ready, &workers->lock);
        }
    }
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
    for (int q = 0; q < 2; q++)
        workers->queues[q].tail = &workers->queues[q].head;
    workers->queue_max = queue_max;
    while (workers->threads < threads) {
        if (pthread_create(&workers->ids[workers->threads], NULL, worker_main, workers)) {
            sr_workers_free(workers);
            return SR_ENOMEM;
        }
        workers->threads++;
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
        struct job_queue *queue = &workers->queues[priority];
        *queue->tail = job;
        queue->tail = &job->next;
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
