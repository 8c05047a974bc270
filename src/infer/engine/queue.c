/* Queues of jobs: which is next, and the end of a job. */
#include "infer/engine/private.h"

/* Jobs of a flow that are looked at for one that fits into a batch. */
#define LOOKED_AT 32u

struct sr_infer_flow *sr_infer_queue_flow(struct sr_infer_queue *queue, uint64_t client)
{
    return &queue->flows[client % SR_INFER_FLOWS];
}

static void activate(struct sr_infer_queue *queue, struct sr_infer_flow *flow)
{
    flow->served = flow->served > queue->served ? flow->served : queue->served;
    flow->texts = 0;
    flow->place = queue->n_active;
    queue->active[queue->n_active++] = (uint16_t)(flow - queue->flows);
}

static void deactivate(struct sr_infer_queue *queue, const struct sr_infer_flow *flow)
{
    uint16_t last = queue->active[--queue->n_active];
    queue->active[flow->place] = last;
    queue->flows[last].place = flow->place;
}

/* The last job whose tag is not higher; NULL: there is none. Looks from both ends, as new jobs belong near
 * one of them. */
static struct sr_infer_job *find_before(const struct sr_infer_flow *flow, double tag)
{
    struct sr_infer_job *early = flow->head, *late = flow->tail;
    while (late && late->tag > tag) {
        if (early->tag > tag)
            return early->prev;
        early = early->next;
        late = late->prev;
    }
    return late;
}

static double share_of_text(const struct sr_infer_job *job)
{
    return (double)job->item.n_ids / (double)job->text_tokens;
}

void sr_infer_queue_put(struct sr_infer_queue *queue, struct sr_infer_job *job, struct sr_infer_job *near)
{
    struct sr_infer_flow *flow = sr_infer_queue_flow(queue, job->client);
    if (!flow->head)
        activate(queue, flow);
    job->tag = near ? near->tag : flow->clock + (double)job->text_tokens;
    struct sr_infer_job *before = near ? near : find_before(flow, job->tag);
    job->prev = before;
    job->next = before ? before->next : flow->head;
    *(before ? &before->next : &flow->head) = job;
    *(job->next ? &job->next->prev : &flow->tail) = job;
    flow->tokens += job->item.n_ids;
    flow->texts += share_of_text(job);
}

void sr_infer_queue_drop(struct sr_infer_queue *queue, struct sr_infer_job *job)
{
    struct sr_infer_flow *flow = sr_infer_queue_flow(queue, job->client);
    if (job->prev)
        job->prev->next = job->next;
    else
        flow->head = job->next;
    if (job->next)
        job->next->prev = job->prev;
    else
        flow->tail = job->prev;
    job->next = job->prev = NULL;
    flow->tokens -= job->item.n_ids;
    flow->texts -= share_of_text(job);
    if (!flow->head)
        deactivate(queue, flow);
}

/* Drops it, and counts its tokens as served. */
static void queue_take(struct sr_infer_queue *queue, struct sr_infer_job *job)
{
    struct sr_infer_flow *flow = sr_infer_queue_flow(queue, job->client);
    queue->served = flow->served > queue->served ? flow->served : queue->served;
    flow->served += job->item.n_ids;
    flow->clock += (double)job->item.n_ids / (flow->texts > 1 ? flow->texts : 1);
    sr_infer_queue_drop(queue, job);
}

struct sr_infer_job *sr_infer_queue_first(const struct sr_infer_queue *queue)
{
    return sr_infer_queue_find(queue, NULL, SIZE_MAX);
}

static struct sr_infer_job *find_in(const struct sr_infer_flow *flow, const struct sr_encoder *encoder,
                                    size_t tokens)
{
    struct sr_infer_job *job = flow->head;
    for (unsigned n = 0; job && n < LOOKED_AT; n++, job = job->next)
        if ((!encoder || job->encoder == encoder) && job->item.n_ids <= tokens)
            return job;
    return NULL;
}

struct sr_infer_job *sr_infer_queue_find(const struct sr_infer_queue *queue, const struct sr_encoder *encoder,
                                         size_t tokens)
{
    struct sr_infer_job *best = NULL;
    uint64_t served = 0;
    for (unsigned i = 0; i < queue->n_active; i++) {
        const struct sr_infer_flow *flow = &queue->flows[queue->active[i]];
        struct sr_infer_job *job = best && flow->served >= served ? NULL : find_in(flow, encoder, tokens);
        if (!job)
            continue;
        best = job;
        served = flow->served;
    }
    return best;
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

void sr_infer_unlink(struct sr_infer_lane *lane, struct sr_infer_job *job, bool taken)
{
    struct sr_infer *infer = lane->infer;
    (taken ? queue_take : sr_infer_queue_drop)(&lane->queues[job->priority], job);
    lane->jobs--;
    lane->tokens -= job->item.n_ids;
    infer->jobs--;
    infer->tokens -= job->item.n_ids;
    sr_infer_set_queue_metrics(infer);
}
