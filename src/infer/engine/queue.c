/* Queues of jobs, and the end of a job. */
#include "infer/engine/private.h"

/* The last job that is due no later; NULL: there is none. Looks from both ends, as new jobs belong near one
 * of them. */
static struct sr_infer_job *find_before(const struct sr_infer_queue *queue, uint64_t due_ns)
{
    struct sr_infer_job *early = queue->head, *late = queue->tail;
    while (late && late->due_ns > due_ns) {
        if (early->due_ns > due_ns)
            return early->prev;
        early = early->next;
        late = late->prev;
    }
    return late;
}

void sr_infer_queue_put(struct sr_infer_queue *queue, struct sr_infer_job *job, struct sr_infer_job *near)
{
    struct sr_infer_job *before = near ? near : find_before(queue, job->due_ns);
    while (near && before->next && before->next->due_ns <= job->due_ns)
        before = before->next;
    job->prev = before;
    job->next = before ? before->next : queue->head;
    *(before ? &before->next : &queue->head) = job;
    *(job->next ? &job->next->prev : &queue->tail) = job;
}

void sr_infer_queue_drop(struct sr_infer_queue *queue, struct sr_infer_job *job)
{
    if (job->prev)
        job->prev->next = job->next;
    else
        queue->head = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        queue->tail = job->prev;
    job->next = job->prev = NULL;
}

void sr_infer_finish(struct sr_infer_job *job, int status)
{
    struct sr_encoder *encoder = job->encoder;
    job->done(job, status);
    sr_encoder_unref(encoder);
}

void sr_infer_set_queue_metrics(const struct sr_infer *infer)
{
    sr_metrics_set(infer->metrics, SR_METRIC_INFER_QUEUE_JOBS, (double)infer->jobs, NULL);
    sr_metrics_set(infer->metrics, SR_METRIC_INFER_QUEUE_TOKENS, (double)infer->tokens, NULL);
}

void sr_infer_unlink(struct sr_infer_lane *lane, struct sr_infer_job *job)
{
    struct sr_infer *infer = lane->infer;
    sr_infer_queue_drop(&lane->queues[job->priority], job);
    lane->jobs--;
    lane->tokens -= job->item.n_ids;
    infer->jobs--;
    infer->tokens -= job->item.n_ids;
    sr_infer_set_queue_metrics(infer);
}
