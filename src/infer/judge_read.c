/* One reading: the windows of a text, and what becomes of their answers. */
#include "infer/judge_private.h"

#include "base/mem.h"

#include <string.h>

#define ARENA_MAX ((size_t)1 << 30) /* the windows are bounded, and with them what is needed */

/* Tokens [*from, *to) of the text are decided by window i: those that are nearer to its middle than to a
 * neighbour's edge. */
static void own_tokens(const struct sr_windows *windows, size_t i, size_t *from, size_t *to)
{
    const struct sr_window *w = &windows->items[i];
    *from = i == 0 ? w->first : (w->first + w[-1].first + w[-1].count) / 2;
    *to = i + 1 == windows->n ? w->first + w->count : (w[1].first + w->first + w->count) / 2;
}

static void join_windows(struct sr_judge_reading *reading)
{
    const struct sr_windows *windows = &reading->windows;
    double all = 0;
    for (size_t i = 0; i < windows->n; i++)
        all += windows->items[i].count;
    for (size_t i = 0; i < windows->n; i++) {
        const struct sr_judge_window *window = reading->parts[i].window;
        struct sr_judge_scope *scope = &reading->scope;
        float weight = all > 0 ? (float)(windows->items[i].count / all) : 1.0f / (float)windows->n;
        float *p = reading->probabilities + (i + 1) * reading->stride;
        memcpy(p, window->probabilities, reading->stride * sizeof *p);
        for (size_t j = 0; j < reading->stride; j++)
            reading->probabilities[j] += weight * p[j];
        scope->run_ns = window->run_ns > scope->run_ns ? window->run_ns : scope->run_ns;
        scope->wait_ns = window->wait_ns > scope->wait_ns ? window->wait_ns : scope->wait_ns;
    }
}

/* Each token as the window says that it is nearest to the middle of. Returns how many are of a type. */
static size_t gather_tokens(const struct sr_judge_reading *reading, struct sr_bio_token *tokens)
{
    size_t typed = 0;
    for (size_t i = 0; i < reading->windows.n; i++) {
        const struct sr_judge_window *window = reading->parts[i].window;
        size_t from, to, first = reading->windows.items[i].first;
        own_tokens(&reading->windows, i, &from, &to);
        for (size_t t = from; window->tokens && t < to; t++) {
            tokens[t] = window->tokens[t - first];
            typed += tokens[t].type != 0;
        }
    }
    return typed;
}

static int find_spans(struct sr_judge_reading *reading)
{
    const struct sr_windows *windows = &reading->windows;
    struct sr_bio_token *tokens = sr_arena_calloc(&reading->arena, windows->read + 1, sizeof *tokens);
    if (!tokens)
        return SR_ENOMEM;
    size_t most = gather_tokens(reading, tokens);
    if (most == 0)
        return SR_OK;
    reading->spans = sr_mem_calloc(most, sizeof *reading->spans);
    if (!reading->spans)
        return SR_ENOMEM;
    reading->n_spans = sr_bio_spans(tokens, windows->starts, windows->ends, windows->read, reading->spans);
    reading->item.memory += most * sizeof *reading->spans;
    return SR_OK;
}

static void release_parts(struct sr_judge_reading *reading)
{
    for (size_t i = 0; reading->parts && i < reading->windows.n; i++)
        sr_judge_window_unref(reading->parts[i].window);
    reading->parts = NULL;
    sr_arena_dispose(&reading->arena);
}

int sr_judge_reading_finish(struct sr_judge_reading *reading, int status)
{
    if (status == SR_OK && !reading->ahead) {
        join_windows(reading);
        status = reading->of->token_head >= 0 ? find_spans(reading) : SR_OK;
    }
    release_parts(reading);
    return status;
}

static int make_result(struct sr_judge_reading *reading, struct sr_bytes text)
{
    const struct sr_windows *windows = &reading->windows;
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
    reading->item.memory = sizeof *reading + ((n + 1) * reading->stride + 2 * n) * sizeof(float);
    return SR_OK;
}

static int make_parts(struct sr_judge_reading *reading)
{
    size_t n = reading->windows.n;
    reading->keys = sr_arena_calloc(&reading->arena, n, sizeof *reading->keys);
    struct sr_judge_part *parts = sr_arena_calloc(&reading->arena, n, sizeof *parts);
    if (!reading->keys || !parts)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        parts[i].reading = reading;
    reading->parts = parts;
    return SR_OK;
}

static struct sr_judge_reading *make(struct sr_judge *judge)
{
    struct sr_judge_reading *reading = sr_mem_calloc(1, sizeof *reading);
    if (!reading)
        return NULL;
    sr_ref_init(&reading->item.ref);
    sr_arena_init(&reading->arena, ARENA_MAX);
    reading->open = 1;
    reading->of = judge;
    reading->stride = judge->stride;
    memcpy(reading->place, judge->place, sizeof reading->place);
    return reading;
}

int sr_judge_reading_new(struct sr_judge_reading **out, struct sr_judge *judge, struct sr_bytes text)
{
    struct sr_judge_reading *reading = make(judge);
    if (!reading)
        return SR_ENOMEM;
    int rc = sr_windows_cut(&reading->windows, sr_encoder_tokenizer(judge->encoder), text,
                            &judge->options.windows, &reading->arena);
    if (rc == SR_OK)
        rc = make_result(reading, text);
    if (rc == SR_OK)
        rc = make_parts(reading);
    if (rc == SR_OK)
        *out = reading;
    else
        sr_judge_reading_unref(reading);
    return rc;
}

int sr_judge_reading_ahead(struct sr_judge_reading **out, struct sr_judge *judge, const struct sr_window *of,
                           uint64_t salt)
{
    struct sr_judge_reading *reading = make(judge);
    if (!reading)
        return SR_ENOMEM;
    reading->ahead = true;
    reading->item.key.salt = salt;
    reading->windows.items = sr_arena_calloc(&reading->arena, 1, sizeof *of);
    int rc = reading->windows.items ? SR_OK : SR_ENOMEM;
    if (rc == SR_OK) {
        *reading->windows.items = *of;
        reading->windows.n = 1;
        rc = make_parts(reading);
    }
    if (rc == SR_OK)
        *out = reading;
    else
        sr_judge_reading_unref(reading);
    return rc;
}

struct sr_judge_reading *sr_judge_reading_ref(struct sr_judge_reading *reading)
{
    sr_ref_get(&reading->item.ref);
    return reading;
}

void sr_judge_reading_unref(struct sr_judge_reading *reading)
{
    if (!reading || !sr_ref_put(&reading->item.ref))
        return;
    release_parts(reading);
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
