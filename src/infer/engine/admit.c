/*
 * Which jobs the engine takes: limits of the queue, and the time that is left until a deadline.
 *
 * What waits before a text is counted as the queue orders it: of its client, what has no higher tag; of each
 * other client, what waits there, but no more than that. Tokens become time by what batches of the lane
 * took lately. Nothing is refused for its deadline before a batch was measured.
 */
#include "base/clock.h"
#include "infer/engine/private.h"

/* Prefetch jobs may fill the queue's limits divided by this. */
#define PREFETCH_SHARE 4
/* A text that is too long for its deadline anyway is taken while this part of its time is taken by others. */
#define LATE_SHARE 4

struct sr_infer_job *sr_infer_nth(const struct sr_infer_submission *jobs, size_t i)
{
    return jobs->apart ? jobs->list[i] : &jobs->row[i];
}

bool sr_infer_is_long(const struct sr_infer *infer, const struct sr_infer_job *job, size_t text_tokens)
{
    return job->priority != SR_INFER_INTERACTIVE || text_tokens > infer->options.long_tokens ||
           sr_encoder_need(job->encoder, job->item.n_ids) > infer->lanes[SR_INFER_SHORT].memory_max;
}

static int prepare(const struct sr_infer *infer, struct sr_infer_job *job, size_t text_tokens, uint64_t now)
{
    size_t n = job->item.n_ids;
    if (n == 0 || n > sr_encoder_info(job->encoder)->max_tokens)
        return SR_EINVAL;
    job->next = job->prev = NULL;
    job->wait_ns = job->run_ns = 0;
    job->batch_jobs = job->batch_tokens = 0;
    job->since_ns = now;
    job->text_tokens = text_tokens;
    job->canceled = false;
    job->long_lane = sr_infer_is_long(infer, job, text_tokens);
    return sr_encoder_need(job->encoder, n) > infer->lanes[SR_INFER_LONG].memory_max ? SR_ELIMIT : SR_OK;
}

/* The part of a limit that a submission may fill. */
static size_t share_of(const struct sr_infer_submission *jobs, size_t limit)
{
    if (jobs->prefetch)
        return limit / PREFETCH_SHARE;
    return jobs->n > SR_INFER_MANY ? limit - limit / 4 : limit;
}

/* Tokens that are computed before the last of a text; stops counting above `most`. */
static size_t tokens_before(struct sr_infer_queue *queue, uint64_t client, size_t text_tokens, size_t most)
{
    const struct sr_infer_flow *own = sr_infer_queue_flow(queue, client);
    double tag = own->clock + (double)text_tokens;
    size_t before = 0;
    for (const struct sr_infer_job *at = own->head; at && at->tag <= tag && before <= most; at = at->next)
        before += at->item.n_ids;
    size_t fair = before + text_tokens, all = before;
    for (unsigned i = 0; i < queue->n_active && all <= most; i++) {
        const struct sr_infer_flow *flow = &queue->flows[queue->active[i]];
        if (flow != own)
            all += flow->tokens < fair ? flow->tokens : fair;
    }
    return all;
}

/* A text that asks for time. */
struct wish {
    uint64_t client, deadline_ns;
    size_t tokens, text_tokens; /* asked for now, and with what its request has asked for before */
};

/* Is there no time until the deadline, because of others? */
static bool is_late(struct sr_infer_lane *lane, const struct wish *wish, uint64_t now)
{
    if (!wish->deadline_ns || !lane->token_ns)
        return false;
    uint64_t left = wish->deadline_ns > now ? wish->deadline_ns - now : 0;
    size_t most = (size_t)(left / lane->token_ns), rest = most > wish->tokens ? most - wish->tokens : 0;
    rest = rest > most / LATE_SHARE ? rest : most / LATE_SHARE;
    return tokens_before(&lane->queues[SR_INFER_INTERACTIVE], wish->client, wish->text_tokens, rest) > rest;
}

static bool has_no_time(struct sr_infer *infer, const struct sr_infer_submission *jobs, uint64_t now)
{
    const struct sr_infer_job *job = sr_infer_nth(jobs, 0);
    const struct wish wish = {job->client, job->deadline_ns, jobs->tokens, job->text_tokens};
    return job->priority == SR_INFER_INTERACTIVE &&
           is_late(&infer->lanes[job->long_lane ? SR_INFER_LONG : SR_INFER_SHORT], &wish, now);
}

int sr_infer_room(struct sr_infer *infer, uint64_t client, size_t tokens, uint64_t deadline_ns)
{
    const struct wish wish = {client, deadline_ns, tokens, tokens};
    pthread_mutex_lock(&infer->lock);
    bool is_long = tokens > infer->options.long_tokens;
    bool late = is_late(&infer->lanes[is_long ? SR_INFER_LONG : SR_INFER_SHORT], &wish, sr_clock_ns());
    pthread_mutex_unlock(&infer->lock);
    return late ? SR_EBUSY : SR_OK;
}

/* Would the queue's limits be passed, if `waiting_jobs` and `waiting_tokens` were in it? */
static bool is_full(const struct sr_infer *infer, const struct sr_infer_submission *jobs, size_t waiting_jobs,
                    size_t waiting_tokens)
{
    return waiting_jobs + jobs->n > share_of(jobs, infer->options.queue_jobs) ||
           waiting_tokens + jobs->tokens > share_of(jobs, infer->options.queue_tokens);
}

int sr_infer_admit(struct sr_infer *infer, struct sr_infer_submission *jobs)
{
    uint64_t now = sr_clock_ns();
    jobs->tokens = 0;
    for (size_t i = 0; i < jobs->n; i++) {
        jobs->tokens += sr_infer_nth(jobs, i)->item.n_ids;
        jobs->prefetch |= sr_infer_nth(jobs, i)->priority == SR_INFER_PREFETCH;
    }
    for (size_t i = 0; i < jobs->n; i++) {
        struct sr_infer_job *job = sr_infer_nth(jobs, i);
        int rc = prepare(infer, job, job->before + jobs->tokens, now);
        if (rc)
            return rc;
    }
    if (infer->closing)
        return SR_ECLOSED;
    if (!jobs->n)
        return SR_OK;
    const struct sr_infer_job *first = sr_infer_nth(jobs, 0);
    if (!jobs->prefetch && is_full(infer, jobs, first->before_jobs, first->before))
        return SR_ELIMIT;
    return is_full(infer, jobs, infer->jobs, infer->tokens) || has_no_time(infer, jobs, now) ? SR_EBUSY
                                                                                             : SR_OK;
}
