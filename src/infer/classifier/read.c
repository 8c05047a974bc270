/* One reading: the windows of a text, and what becomes of their answers. */
#include "infer/classifier/private.h"

#include "base/mem.h"

#include <string.h>

#define ARENA_MAX ((size_t)1 << 30) /* the windows are bounded, and with them what is needed */

/* Windows of a text, and what is known of them: NULL where nothing is. */
struct gathered {
    const struct sr_windows *windows;
    struct sr_neural_window *const *done; /* [windows->n] */
};

/* Tokens [*from, *to) of the text are decided by window i: those that are nearer to its middle than to the
 * edge of a neighbour that is known. */
static void own_tokens(const struct gathered *all, size_t i, size_t *from, size_t *to)
{
    const struct sr_window *w = &all->windows->items[i];
    bool before = i > 0 && all->done[i - 1], behind = i + 1 < all->windows->n && all->done[i + 1];
    *from = before ? (w->first + w[-1].first + w[-1].count) / 2 : w->first;
    *to = behind ? (w[1].first + w->first + w->count) / 2 : w->first + w->count;
}

/* Room for the probabilities and places of so many windows. */
static int make_room(struct sr_neural_result *reading, size_t n)
{
    reading->probabilities = sr_mem_calloc((n + 1) * reading->stride + 1, sizeof *reading->probabilities);
    reading->starts = sr_mem_calloc(n, sizeof *reading->starts);
    reading->ends = sr_mem_calloc(n, sizeof *reading->ends);
    reading->item.memory = sizeof *reading + ((n + 1) * reading->stride + 2 * n) * sizeof(float);
    return reading->probabilities && reading->starts && reading->ends ? SR_OK : SR_ENOMEM;
}

/* Adds a window, the next of scope.windows; `weight`: its share of the text. */
static void add_window(struct sr_neural_result *reading, const struct sr_window *of,
                       const struct sr_neural_window *window, float weight)
{
    struct sr_neural_scope *scope = &reading->scope;
    size_t i = scope->windows++;
    float *p = reading->probabilities + (i + 1) * reading->stride;
    memcpy(p, window->probabilities, reading->stride * sizeof *p);
    for (size_t j = 0; j < reading->stride; j++)
        reading->probabilities[j] += weight * p[j];
    reading->starts[i] = of->start;
    reading->ends[i] = of->end;
    scope->run_ns = window->run_ns > scope->run_ns ? window->run_ns : scope->run_ns;
    scope->wait_ns = window->wait_ns > scope->wait_ns ? window->wait_ns : scope->wait_ns;
}

static int join_windows(struct sr_neural_result *reading, const struct gathered *all)
{
    size_t n = 0;
    double tokens = 0;
    for (size_t i = 0; i < all->windows->n; i++) {
        n += all->done[i] != NULL;
        tokens += all->done[i] ? all->windows->items[i].count : 0;
    }
    int rc = make_room(reading, n);
    for (size_t i = 0; rc == SR_OK && i < all->windows->n; i++) {
        const struct sr_window *of = &all->windows->items[i];
        if (all->done[i])
            add_window(reading, of, all->done[i], tokens > 0 ? (float)(of->count / tokens) : 1.0f / (float)n);
    }
    return rc;
}

/* Each token as the window says that it is nearest to the middle of. Returns how many are of a type. */
static size_t gather_tokens(const struct gathered *all, struct sr_bio_token *tokens)
{
    size_t typed = 0;
    for (size_t i = 0; i < all->windows->n; i++) {
        const struct sr_neural_window *window = all->done[i];
        size_t from, to, first = all->windows->items[i].first;
        if (!window || !window->tokens)
            continue;
        own_tokens(all, i, &from, &to);
        for (size_t t = from; t < to; t++) {
            tokens[t] = window->tokens[t - first];
            typed += tokens[t].type != 0;
        }
    }
    return typed;
}

static int find_spans(struct sr_neural_result *reading, const struct gathered *all)
{
    const struct sr_windows *windows = all->windows;
    struct sr_bio_token *tokens = sr_mem_calloc(windows->read + 1, sizeof *tokens);
    size_t most = tokens ? gather_tokens(all, tokens) : 0;
    int rc = tokens ? SR_OK : SR_ENOMEM;
    if (most) {
        reading->spans = sr_mem_calloc(most, sizeof *reading->spans);
        rc = reading->spans ? SR_OK : SR_ENOMEM;
    }
    if (most && rc == SR_OK) {
        reading->n_spans =
            sr_bio_spans(tokens, windows->starts, windows->ends, windows->read, reading->spans);
        reading->item.memory += most * sizeof *reading->spans;
    }
    sr_mem_free(tokens);
    return rc;
}

/* The reading's result from the windows that are there. */
static int make_result(struct sr_neural_result *reading, const struct gathered *all)
{
    int rc = join_windows(reading, all);
    return rc == SR_OK && reading->of->token_head >= 0 ? find_spans(reading, all) : rc;
}

static void release_parts(struct sr_neural_result *reading)
{
    for (size_t i = 0; reading->parts && i < reading->windows.n; i++)
        sr_neural_window_unref(reading->parts[i].window);
    reading->parts = NULL;
    sr_arena_dispose(&reading->arena);
}

static int finish_whole(struct sr_neural_result *reading)
{
    size_t n = reading->windows.n;
    struct sr_neural_window **done = sr_arena_calloc(&reading->arena, n, sizeof *done);
    for (size_t i = 0; done && i < n; i++)
        done[i] = reading->parts[i].window;
    reading->scope.read_bytes = reading->windows.read_bytes;
    return done ? make_result(reading, &(struct gathered){&reading->windows, done}) : SR_ENOMEM;
}

int sr_neural_result_finish(struct sr_neural_result *reading, int status)
{
    if (status == SR_OK && !reading->ahead)
        status = finish_whole(reading);
    release_parts(reading);
    return status;
}

static int make_parts(struct sr_neural_result *reading)
{
    size_t n = reading->windows.n;
    reading->keys = sr_arena_calloc(&reading->arena, n, sizeof *reading->keys);
    struct sr_neural_part *parts = sr_arena_calloc(&reading->arena, n, sizeof *parts);
    if (!reading->keys || !parts)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        parts[i].reading = reading;
    reading->parts = parts;
    return SR_OK;
}

static struct sr_neural_result *make(const struct sr_neural *neural)
{
    struct sr_neural_result *reading = sr_mem_calloc(1, sizeof *reading);
    if (!reading)
        return NULL;
    sr_ref_init(&reading->item.ref);
    sr_arena_init(&reading->arena, ARENA_MAX);
    reading->open = 1;
    reading->of = neural;
    reading->stride = neural->stride;
    memcpy(reading->place, neural->place, sizeof reading->place);
    return reading;
}

int sr_neural_result_new(struct sr_neural_result **out, struct sr_neural *neural, struct sr_bytes text)
{
    struct sr_neural_result *reading = make(neural);
    if (!reading)
        return SR_ENOMEM;
    int rc = sr_windows_cut(&reading->windows, sr_encoder_tokenizer(neural->encoder), text,
                            &neural->options.windows, &reading->arena);
    if (rc == SR_OK)
        rc = make_parts(reading);
    reading->scope = (struct sr_neural_scope){.bytes = text.n, .tokens = reading->windows.tokens};
    if (rc == SR_OK)
        *out = reading;
    else
        sr_neural_result_unref(reading);
    return rc;
}

/* The text's bytes that lie in one of the windows. */
static size_t bytes_in(const struct gathered *all)
{
    size_t bytes = 0, end = 0;
    for (size_t i = 0; i < all->windows->n; i++) {
        const struct sr_window *w = &all->windows->items[i];
        if (!all->done[i] || w->end <= end)
            continue;
        bytes += w->end - (w->start > end ? w->start : end);
        end = w->end;
    }
    return bytes;
}

int sr_neural_result_part(struct sr_neural_result **out, const struct sr_neural_result *of,
                          struct sr_neural_window *const *done)
{
    const struct gathered all = {&of->windows, done};
    struct sr_neural_result *reading = make(of->of);
    if (!reading)
        return SR_ENOMEM;
    reading->scope = (struct sr_neural_scope){
        .bytes = of->scope.bytes, .read_bytes = bytes_in(&all), .tokens = of->scope.tokens, .part = true};
    int rc = make_result(reading, &all);
    if (rc == SR_OK)
        *out = reading;
    else
        sr_neural_result_unref(reading);
    return rc;
}

int sr_neural_result_ahead(struct sr_neural_result **out, struct sr_neural *neural,
                           const struct sr_window *of, uint64_t salt)
{
    struct sr_neural_result *reading = make(neural);
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
        sr_neural_result_unref(reading);
    return rc;
}

struct sr_neural_result *sr_neural_result_ref(struct sr_neural_result *reading)
{
    sr_ref_get(&reading->item.ref);
    return reading;
}

void sr_neural_result_unref(struct sr_neural_result *reading)
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

struct sr_neural_scope sr_neural_scope(const struct sr_neural_result *reading)
{
    return reading->scope;
}

static size_t place_of(const struct sr_neural_result *reading, const struct sr_head_info *head)
{
    return reading->place[head - sr_encoder_info(reading->of->encoder)->heads];
}

const float *sr_neural_text(const struct sr_neural_result *reading, const struct sr_head_info *head)
{
    return reading->probabilities + place_of(reading, head);
}

const float *sr_neural_window(const struct sr_neural_result *reading, const struct sr_head_info *head,
                              size_t window, uint32_t *start, uint32_t *end)
{
    *start = reading->starts[window];
    *end = reading->ends[window];
    return reading->probabilities + (window + 1) * reading->stride + place_of(reading, head);
}

const struct sr_bio_span *sr_neural_spans(const struct sr_neural_result *reading, size_t *n)
{
    *n = reading->n_spans;
    return reading->spans;
}
