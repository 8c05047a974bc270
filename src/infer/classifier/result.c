/* A result: the windows of a text, and what becomes of their answers. */
#include "infer/classifier/private.h"

#include "base/mem.h"

#include <string.h>

#define ARENA_MAX ((size_t)1 << 30) /* the windows are bounded, and with them what is needed */

/* Windows of a text, and what is known of them: NULL where nothing is. */
struct gathered {
    const struct sr_windows *windows;
    struct sr_neural_window *const *done; /* [windows->n] */
    const uint8_t *cases;                 /* of the tokens, or NULL */
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
static int make_room(struct sr_neural_result *result, size_t n)
{
    result->probabilities = sr_mem_calloc((n + 1) * result->stride + 1, sizeof *result->probabilities);
    result->starts = sr_mem_calloc(n, sizeof *result->starts);
    result->ends = sr_mem_calloc(n, sizeof *result->ends);
    result->item.entry.bytes = sizeof *result + ((n + 1) * result->stride + 2 * n) * sizeof(float);
    return result->probabilities && result->starts && result->ends ? SR_OK : SR_ENOMEM;
}

/* Adds a window, the next of scope.windows; `weight`: its share of the text. */
static void add_window(struct sr_neural_result *result, const struct sr_window *of,
                       const struct sr_neural_window *window, float weight)
{
    struct sr_neural_scope *scope = &result->scope;
    size_t i = scope->windows++;
    float *p = result->probabilities + (i + 1) * result->stride;
    memcpy(p, window->probabilities, result->stride * sizeof *p);
    for (size_t j = 0; j < result->stride; j++)
        result->probabilities[j] += weight * p[j];
    result->starts[i] = of->start;
    result->ends[i] = of->end;
    scope->run_ns = window->run_ns > scope->run_ns ? window->run_ns : scope->run_ns;
    scope->wait_ns = window->wait_ns > scope->wait_ns ? window->wait_ns : scope->wait_ns;
}

static int join_windows(struct sr_neural_result *result, const struct gathered *all)
{
    size_t n = 0;
    double tokens = 0;
    for (size_t i = 0; i < all->windows->n; i++) {
        n += all->done[i] != NULL;
        tokens += all->done[i] ? all->windows->items[i].count : 0;
    }
    int rc = make_room(result, n);
    for (size_t i = 0; rc == SR_OK && i < all->windows->n; i++) {
        const struct sr_window *of = &all->windows->items[i];
        if (all->done[i])
            add_window(result, of, all->done[i], tokens > 0 ? (float)(of->count / tokens) : 1.0f / (float)n);
    }
    return rc;
}

/* Each token as the window says that it is nearest to the middle of. Returns how many are of a type. */
static size_t gather_tokens(const struct gathered *all, const struct sr_bio *bio, struct sr_bio_token *tokens)
{
    size_t typed = 0;
    for (size_t i = 0; i < all->windows->n; i++) {
        const struct sr_neural_window *window = all->done[i];
        size_t from, to, first = all->windows->items[i].first;
        if (!window || !window->tokens)
            continue;
        own_tokens(all, i, &from, &to);
        memcpy(tokens + from, window->tokens + (from - first), (to - from) * sizeof *tokens);
        if (all->cases)
            sr_bio_settle(bio, all->cases + from, tokens + from, to - from);
        for (size_t t = from; t < to; t++)
            typed += tokens[t].type != 0;
    }
    return typed;
}

static int find_spans(struct sr_neural_result *result, const struct gathered *all)
{
    const struct sr_windows *windows = all->windows;
    struct sr_bio_token *tokens = sr_mem_calloc(windows->read + 1, sizeof *tokens);
    size_t most = tokens ? gather_tokens(all, &result->of->bio, tokens) : 0;
    int rc = tokens ? SR_OK : SR_ENOMEM;
    if (most) {
        result->spans = sr_mem_calloc(most, sizeof *result->spans);
        rc = result->spans ? SR_OK : SR_ENOMEM;
    }
    if (most && rc == SR_OK) {
        result->n_spans = sr_bio_spans(tokens, windows->starts, windows->ends, windows->read, result->spans);
        result->item.entry.bytes += most * sizeof *result->spans;
    }
    sr_mem_free(tokens);
    return rc;
}

/* The content, from the windows that are there. */
static int make_result(struct sr_neural_result *result, const struct gathered *all)
{
    int rc = join_windows(result, all);
    return rc == SR_OK && result->of->token_head >= 0 ? find_spans(result, all) : rc;
}

static void release_links(struct sr_neural_result *result)
{
    for (size_t i = 0; result->links && i < result->windows.n; i++)
        sr_neural_window_unref(result->links[i].window);
    result->links = NULL;
    sr_arena_dispose(&result->arena);
}

static int finish_whole(struct sr_neural_result *result)
{
    size_t n = result->windows.n;
    struct sr_neural_window **done = sr_arena_calloc(&result->arena, n, sizeof *done);
    for (size_t i = 0; done && i < n; i++)
        done[i] = result->links[i].window;
    result->scope.read_bytes = result->windows.read_bytes;
    return done ? make_result(result, &(struct gathered){&result->windows, done, result->cases}) : SR_ENOMEM;
}

int sr_neural_result_finish(struct sr_neural_result *result, int status)
{
    if (status == SR_OK && !result->prefetch)
        status = finish_whole(result);
    release_links(result);
    return status;
}

static int make_links(struct sr_neural_result *result)
{
    size_t n = result->windows.n;
    result->keys = sr_arena_calloc(&result->arena, n, sizeof *result->keys);
    struct sr_neural_link *links = sr_arena_calloc(&result->arena, n, sizeof *links);
    if (!result->keys || !links)
        return SR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        links[i].result = result;
    result->links = links;
    return SR_OK;
}

static void free_result(struct sr_memo_entry *entry)
{
    struct sr_neural_result *result = (struct sr_neural_result *)entry;
    release_links(result);
    sr_mem_free(result->probabilities);
    sr_mem_free(result->starts);
    sr_mem_free(result->ends);
    sr_mem_free(result->spans);
    sr_mem_free(result);
}

static struct sr_neural_result *make(const struct sr_neural *neural)
{
    struct sr_neural_result *result = sr_mem_calloc(1, sizeof *result);
    if (!result)
        return NULL;
    sr_ref_init(&result->item.entry.ref);
    result->item.entry.free = free_result;
    sr_arena_init(&result->arena, ARENA_MAX);
    result->open = 1;
    result->of = neural;
    result->stride = neural->stride;
    memcpy(result->offset, neural->offset, sizeof result->offset);
    return result;
}

/* How the words of its tokens are written, where that counts. */
static int see_cases(struct sr_neural_result *result, struct sr_bytes text)
{
    const struct sr_windows *windows = &result->windows;
    if (result->of->token_head < 0 || !result->of->bio.cased)
        return SR_OK;
    result->cases = sr_arena_alloc(&result->arena, windows->read + 1);
    if (!result->cases)
        return SR_ENOMEM;
    sr_word_cases(text, windows->starts, windows->ends, windows->read, result->cases);
    return SR_OK;
}

int sr_neural_result_new(struct sr_neural_result **out, struct sr_neural *neural, struct sr_bytes text)
{
    struct sr_neural_result *result = make(neural);
    if (!result)
        return SR_ENOMEM;
    int rc = sr_windows_cut(&result->windows, sr_encoder_tokenizer(neural->encoder), text,
                            &neural->options.windows, &result->arena);
    if (rc == SR_OK)
        rc = see_cases(result, text);
    if (rc == SR_OK)
        rc = make_links(result);
    result->scope = (struct sr_neural_scope){.bytes = text.n, .tokens = result->windows.tokens};
    if (rc == SR_OK)
        *out = result;
    else
        sr_neural_result_unref(result);
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

int sr_neural_result_partial(struct sr_neural_result **out, const struct sr_neural_result *of,
                             struct sr_neural_window *const *done)
{
    const struct gathered all = {&of->windows, done, of->cases};
    struct sr_neural_result *result = make(of->of);
    if (!result)
        return SR_ENOMEM;
    result->scope = (struct sr_neural_scope){
        .bytes = of->scope.bytes, .read_bytes = bytes_in(&all), .tokens = of->scope.tokens, .partial = true};
    int rc = make_result(result, &all);
    if (rc == SR_OK)
        *out = result;
    else
        sr_neural_result_unref(result);
    return rc;
}

int sr_neural_result_prefetch(struct sr_neural_result **out, struct sr_neural *neural,
                              const struct sr_window *of, uint64_t salt)
{
    struct sr_neural_result *result = make(neural);
    if (!result)
        return SR_ENOMEM;
    result->prefetch = true;
    result->item.entry.key.salt = salt;
    result->windows.items = sr_arena_calloc(&result->arena, 1, sizeof *of);
    int rc = result->windows.items ? SR_OK : SR_ENOMEM;
    if (rc == SR_OK) {
        *result->windows.items = *of;
        result->windows.n = 1;
        rc = make_links(result);
    }
    if (rc == SR_OK)
        *out = result;
    else
        sr_neural_result_unref(result);
    return rc;
}

struct sr_neural_result *sr_neural_result_ref(struct sr_neural_result *result)
{
    sr_ref_get(&result->item.entry.ref);
    return result;
}

void sr_neural_result_unref(struct sr_neural_result *result)
{
    if (result)
        sr_memo_entry_unref(&result->item.entry);
}

struct sr_neural_scope sr_neural_scope(const struct sr_neural_result *result)
{
    return result->scope;
}

static size_t place_of(const struct sr_neural_result *result, const struct sr_head_info *head)
{
    return result->offset[head - sr_encoder_info(result->of->encoder)->heads];
}

const float *sr_neural_text(const struct sr_neural_result *result, const struct sr_head_info *head)
{
    return result->probabilities + place_of(result, head);
}

const float *sr_neural_window(const struct sr_neural_result *result, const struct sr_head_info *head,
                              size_t window, uint32_t *start, uint32_t *end)
{
    *start = result->starts[window];
    *end = result->ends[window];
    return result->probabilities + (window + 1) * result->stride + place_of(result, head);
}

const struct sr_bio_span *sr_neural_spans(const struct sr_neural_result *result, size_t *n)
{
    *n = result->n_spans;
    return result->spans;
}
