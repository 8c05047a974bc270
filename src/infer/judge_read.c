/* One reading: the windows of a text as jobs, and what their logits become. */
#include "infer/judge_private.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

#define ARENA_MAX ((size_t)1 << 30) /* the windows are bounded, and with them what is needed */

static void softmax(const float *logits, size_t n, float temperature, float *out)
{
    float top = logits[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        top = fmaxf(top, logits[i]);
    for (size_t i = 0; i < n; i++)
        sum += out[i] = expf((logits[i] - top) / temperature);
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

/* Tokens [*from, *to) of the text are decided by window i: those that are nearer to its middle than to a
 * neighbour's edge. */
static void own_tokens(const struct sr_windows *windows, size_t i, size_t *from, size_t *to)
{
    const struct sr_window *w = &windows->items[i];
    *from = i == 0 ? w->first : (w->first + w[-1].first + w[-1].count) / 2;
    *to = i + 1 == windows->n ? w->first + w->count : (w[1].first + w->first + w->count) / 2;
}

static bool continues_word(const struct sr_judge *judge, int32_t id)
{
    struct sr_bytes token = sr_tokenizer_token(sr_encoder_tokenizer(judge->encoder), id);
    return token.n > 2 && token.p[0] == '#' && token.p[1] == '#';
}

static void decide_tokens(const struct sr_judge *judge, struct sr_judge_work *work, size_t window)
{
    const struct sr_window *w = &work->windows.items[window];
    const struct sr_infer_job *job = &work->jobs[window];
    const struct sr_head_info *head = &sr_encoder_info(judge->encoder)->heads[judge->token_head];
    const float *logits = job->item.out[judge->token_head];
    size_t from, to, n_labels = head->n_labels;
    own_tokens(&work->windows, window, &from, &to);
    /* the template's tokens stand before the text's */
    size_t before = 0;
    while (before + w->count < w->n_ids &&
           sr_tokenizer_is_special(sr_encoder_tokenizer(judge->encoder), w->ids[before]) &&
           before < w->n_ids - w->count)
        before++;
    for (size_t t = from; t < to;) {
        size_t end = t + 1;
        while (end < to && continues_word(judge, w->ids[before + end - w->first]))
            end++;
        sr_bio_word(&judge->bio, logits + (before + t - w->first) * n_labels, end - t, head->temperature,
                    work->tokens + t);
        t = end;
    }
}

static void decide_window(const struct sr_judge *judge, struct sr_judge_reading *reading, size_t window)
{
    const struct sr_encoder_info *info = sr_encoder_info(judge->encoder);
    struct sr_infer_job *job = &reading->work->jobs[window];
    for (size_t h = 0; h < info->n_heads; h++)
        if ((judge->heads >> h & 1) && (int)h != judge->token_head) {
            float *p = reading->probabilities + (window + 1) * reading->stride + reading->place[h];
            softmax(job->item.out[h], info->heads[h].n_labels, info->heads[h].temperature, p);
        }
    if (judge->token_head >= 0)
        decide_tokens(judge, reading->work, window);
}

static void join_windows(struct sr_judge_reading *reading, const struct sr_windows *windows)
{
    double all = 0;
    for (size_t i = 0; i < windows->n; i++)
        all += windows->items[i].count;
    for (size_t i = 0; i < windows->n; i++) {
        float weight = all > 0 ? (float)(windows->items[i].count / all) : 1.0f / (float)windows->n;
        const float *p = reading->probabilities + (i + 1) * reading->stride;
        for (size_t j = 0; j < reading->stride; j++)
            reading->probabilities[j] += weight * p[j];
    }
}

static int find_spans(struct sr_judge_reading *reading, const struct sr_judge_work *work)
{
    const struct sr_windows *windows = &work->windows;
    size_t most = 0;
    for (size_t i = 0; i < windows->read; i++)
        most += work->tokens[i].type != 0;
    if (most == 0)
        return SR_OK;
    reading->spans = sr_mem_calloc(most, sizeof *reading->spans);
    if (!reading->spans)
        return SR_ENOMEM;
    reading->n_spans =
        sr_bio_spans(work->tokens, windows->starts, windows->ends, windows->read, reading->spans);
    reading->memory += most * sizeof *reading->spans;
    return SR_OK;
}

static void job_done(struct sr_infer_job *job, int status)
{
    struct sr_judge_reading *reading = job->owner;
    struct sr_judge *judge = (struct sr_judge *)reading->of;
    struct sr_judge_work *work = reading->work;
    int none = SR_OK;
    if (status == SR_OK)
        decide_window(judge, reading, (size_t)(job - work->jobs));
    else
        atomic_compare_exchange_strong(&work->status, &none, status);
    if (atomic_fetch_sub(&work->open, 1) != 1)
        return;
    status = atomic_load(&work->status);
    for (size_t i = 0; i < work->windows.n; i++) {
        const struct sr_infer_job *one = &work->jobs[i];
        reading->scope.run_ns = one->run_ns > reading->scope.run_ns ? one->run_ns : reading->scope.run_ns;
        reading->scope.wait_ns =
            one->wait_ns > reading->scope.wait_ns ? one->wait_ns : reading->scope.wait_ns;
    }
    if (status == SR_OK) {
        join_windows(reading, &work->windows);
        status = judge->token_head >= 0 ? find_spans(reading, work) : SR_OK;
    }
    sr_judge_reading_ended(judge, reading, status);
}

static int make_jobs(struct sr_judge_reading *reading, struct sr_judge *judge,
                     enum sr_infer_priority priority)
{
    const struct sr_encoder_info *info = sr_encoder_info(judge->encoder);
    struct sr_judge_work *work = reading->work;
    size_t n = work->windows.n, sequence = 0, at = 0;
    size_t token_labels = judge->token_head >= 0 ? info->heads[judge->token_head].n_labels : 0;
    for (size_t h = 0; h < info->n_heads; h++)
        sequence += (judge->heads >> h & 1) && (int)h != judge->token_head ? info->heads[h].n_labels : 0;
    float *logits = sr_arena_calloc(&work->arena, n * sequence + 1, sizeof *logits);
    work->token_logits =
        sr_arena_calloc(&work->arena, work->windows.total_ids * token_labels + 1, sizeof(float));
    work->tokens = sr_arena_calloc(&work->arena, work->windows.read + 1, sizeof *work->tokens);
    work->jobs = sr_arena_calloc(&work->arena, n, sizeof *work->jobs);
    if (!logits || !work->token_logits || !work->tokens || !work->jobs)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct sr_infer_job *job = &work->jobs[i];
        *job = (struct sr_infer_job){
            .encoder = judge->encoder, .priority = priority, .owner = reading, .done = job_done};
        job->item.ids = work->windows.items[i].ids;
        job->item.n_ids = work->windows.items[i].n_ids;
        job->item.heads = judge->heads;
        for (size_t h = 0; h < info->n_heads; h++) {
            if (!(judge->heads >> h & 1))
                continue;
            job->item.out[h] = (int)h == judge->token_head ? work->token_logits + at * token_labels : logits;
            logits += (int)h == judge->token_head ? 0 : info->heads[h].n_labels;
        }
        at += job->item.n_ids;
    }
    atomic_init(&work->open, n);
    atomic_init(&work->status, SR_OK);
    return SR_OK;
}

static int make_result(struct sr_judge_reading *reading, struct sr_bytes text)
{
    const struct sr_windows *windows = &reading->work->windows;
    size_t n = windows->n;
    reading->probabilities = sr_mem_calloc((n + 1) * reading->stride + 1, sizeof *reading->probabilities);
    reading->starts = sr_mem_calloc(n, sizeof *reading->starts);
    reading->ends = sr_mem_calloc(n, sizeof *reading->ends);
    if (!reading->probabilities || !reading->starts || !reading->ends)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        reading->starts[i] = windows->items[i].start;
        reading->ends[i] = windows->items[i].end;
    }
    reading->scope = (struct sr_judge_scope){
        .bytes = text.n, .read_bytes = windows->read_bytes, .tokens = windows->tokens, .windows = n};
    reading->memory = sizeof *reading + ((n + 1) * reading->stride + 2 * n) * sizeof(float);
    return SR_OK;
}

void sr_judge_work_unref(struct sr_judge_work *work)
{
    if (!work || !sr_ref_put(&work->ref))
        return;
    sr_arena_dispose(&work->arena);
    sr_mem_free(work);
}

int sr_judge_reading_new(struct sr_judge_reading **out, struct sr_judge *judge, struct sr_bytes text,
                         enum sr_infer_priority priority)
{
    struct sr_judge_reading *reading = sr_mem_calloc(1, sizeof *reading);
    struct sr_judge_work *work = sr_mem_calloc(1, sizeof *work);
    *out = NULL;
    if (!reading || !work) {
        sr_mem_free(reading);
        sr_mem_free(work);
        return SR_ENOMEM;
    }
    sr_ref_init(&reading->ref);
    sr_ref_init(&work->ref);
    sr_arena_init(&work->arena, ARENA_MAX);
    reading->of = judge;
    reading->work = work;
    reading->stride = judge->stride;
    memcpy(reading->place, judge->place, sizeof reading->place);
    int rc = sr_windows_cut(&work->windows, sr_encoder_tokenizer(judge->encoder), text,
                            &judge->options.windows, &work->arena);
    if (rc == SR_OK)
        rc = make_result(reading, text);
    if (rc == SR_OK)
        rc = make_jobs(reading, judge, priority);
    if (rc == SR_OK)
        *out = reading;
    else
        sr_judge_reading_unref(reading);
    return rc;
}

struct sr_judge_reading *sr_judge_reading_ref(struct sr_judge_reading *reading)
{
    sr_ref_get(&reading->ref);
    return reading;
}

void sr_judge_reading_unref(struct sr_judge_reading *reading)
{
    if (!reading || !sr_ref_put(&reading->ref))
        return;
    sr_judge_work_unref(reading->work);
    sr_mem_free(reading->probabilities);
    sr_mem_free(reading->starts);
    sr_mem_free(reading->ends);
    sr_mem_free(reading->spans);
    sr_mem_free(reading);
}

struct sr_judge_scope sr_judge_scope(const struct sr_judge_reading *reading)
{
    return reading->scope;
}

static size_t place_of(const struct sr_judge_reading *reading, const struct sr_head_info *head)
{
    return reading->place[head - sr_encoder_info(reading->of->encoder)->heads];
}

const float *sr_judge_text(const struct sr_judge_reading *reading, const struct sr_head_info *head)
{
    return reading->probabilities + place_of(reading, head);
}

const float *sr_judge_window(const struct sr_judge_reading *reading, const struct sr_head_info *head,
                             size_t window, uint32_t *start, uint32_t *end)
{
    *start = reading->starts[window];
    *end = reading->ends[window];
    return reading->probabilities + (window + 1) * reading->stride + place_of(reading, head);
}

const struct sr_bio_span *sr_judge_spans(const struct sr_judge_reading *reading, size_t *n)
{
    *n = reading->n_spans;
    return reading->spans;
}
