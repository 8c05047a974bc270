/* The arithmetic of windows, and the copying of ids. */
#include "infer/windows.h"

#include <math.h>
#include <string.h>

#define SCRATCH_MAX (SR_TOKENIZER_TEXT_MAX * 64) /* a text may have more tokens than bytes */

struct sr_windows_options sr_windows_defaults(size_t max_tokens)
{
    return (struct sr_windows_options){
        .max_tokens = max_tokens, .overlap = SR_WINDOWS_OVERLAP, .max_windows = SR_WINDOWS_MAX};
}

/* How many windows of at most `room` tokens; *read of the tokens are inside them. */
static size_t count_windows(size_t tokens, size_t room, size_t overlap, size_t max, size_t *read)
{
    *read = tokens;
    if (tokens <= room)
        return 1;
    size_t step = room - overlap, n = (tokens - overlap + step - 1) / step;
    if (n > max) {
        n = max;
        *read = overlap + n * step;
    }
    return n;
}

struct sr_windows_shape sr_windows_shape(const struct sr_windows_options *options, size_t own)
{
    size_t room = options->max_tokens - own;
    return (struct sr_windows_shape){room, options->overlap < room / 4 ? options->overlap : room / 4};
}

/* Window i of n: full ones from the start, the last up to `read`. */
static void place_full(struct sr_window *window, size_t i, size_t n, size_t read,
                       const struct sr_windows_shape *shape)
{
    size_t last = read > shape->room ? read - shape->room : 0;
    window->first = (uint32_t)(i + 1 < n ? i * (shape->room - shape->overlap) : last);
    window->count = (uint32_t)(read < shape->room ? read : shape->room);
}

/* Window i of n over `read` tokens: begins and ends are spread evenly, so lengths differ by one at most. */
static void place(struct sr_window *window, size_t i, size_t n, size_t read, size_t overlap)
{
    size_t covered = read - overlap * (n > 1);
    size_t first = covered * i / n, end = covered * (i + 1) / n + overlap * (n > 1);
    window->first = (uint32_t)first;
    window->count = (uint32_t)(end - first);
}

static void fill(struct sr_window *window, const struct sr_tokens *tokens,
                 const struct sr_token_template *around, int32_t *ids)
{
    size_t at = 0;
    memcpy(ids, around->before, around->n_before * sizeof *ids);
    at += around->n_before;
    if (window->count) {
        size_t last = window->first + window->count - 1;
        memcpy(ids + at, tokens->ids + window->first, window->count * sizeof *ids);
        window->start = tokens->starts[window->first];
        window->end = tokens->ends[last];
    }
    at += window->count;
    memcpy(ids + at, around->after, around->n_after * sizeof *ids);
    window->ids = ids;
    window->n_ids = (uint32_t)(at + around->n_after);
}

static int keep_offsets(struct sr_windows *out, const struct sr_tokens *tokens, struct sr_arena *arena)
{
    size_t bytes = out->read * sizeof(uint32_t);
    uint32_t *starts = sr_arena_alloc(arena, bytes + 1), *ends = sr_arena_alloc(arena, bytes + 1);
    if (!starts || !ends)
        return SR_ENOMEM;
    memcpy(starts, tokens->starts, bytes);
    memcpy(ends, tokens->ends, bytes);
    out->starts = starts;
    out->ends = ends;
    return SR_OK;
}

static int cut(struct sr_windows *out, const struct sr_tokens *tokens, const struct sr_token_template *around,
               const struct sr_windows_options *options, struct sr_arena *arena)
{
    size_t own = around->n_before + around->n_after;
    struct sr_windows_shape shape = sr_windows_shape(options, own);
    out->tokens = tokens->n;
    out->n = count_windows(tokens->n, shape.room, shape.overlap, options->max_windows, &out->read);
    out->items = sr_arena_calloc(arena, out->n, sizeof *out->items);
    if (!out->items)
        return SR_ENOMEM;
    for (size_t i = 0; i < out->n; i++) {
        if (options->full)
            place_full(&out->items[i], i, out->n, out->read, &shape);
        else
            place(&out->items[i], i, out->n, out->read, shape.overlap);
        out->total_ids += own + out->items[i].count;
    }
    int32_t *ids = sr_arena_alloc(arena, (out->total_ids + 1) * sizeof *ids);
    if (!ids)
        return SR_ENOMEM;
    for (size_t i = 0; i < out->n; i++) {
        fill(&out->items[i], tokens, around, ids);
        ids += out->items[i].n_ids;
    }
    return options->offsets ? keep_offsets(out, tokens, arena) : SR_OK;
}

int sr_windows_cut(struct sr_windows *out, struct sr_tokenizer *tokenizer, struct sr_bytes text,
                   const struct sr_windows_options *options, struct sr_arena *arena)
{
    struct sr_token_template around = sr_tokenizer_template(tokenizer);
    struct sr_tokens tokens = {0};
    struct sr_arena scratch;
    *out = (struct sr_windows){0};
    if (options->max_tokens <= around.n_before + around.n_after || options->max_windows == 0)
        return SR_EINVAL;
    sr_arena_init(&scratch, SCRATCH_MAX);
    int rc = sr_tokenizer_encode_arena(tokenizer, text, 0, &scratch, &tokens);
    if (rc == SR_OK)
        rc = cut(out, &tokens, &around, options, arena);
    if (rc == SR_OK)
        out->read_bytes = out->read == out->tokens ? text.n : out->items[out->n - 1].end;
    sr_arena_dispose(&scratch);
    return rc;
}

void sr_windows_join(const struct sr_windows *windows, const float *vectors, size_t d, float *out)
{
    double norm = 0;
    memset(out, 0, d * sizeof *out);
    for (size_t i = 0; i < windows->n; i++) {
        float weight = windows->n > 1 ? (float)windows->items[i].count / (float)windows->total_ids : 1;
        for (size_t j = 0; j < d; j++)
            out[j] += weight * vectors[i * d + j];
    }
    for (size_t j = 0; j < d; j++)
        norm += (double)out[j] * (double)out[j];
    for (size_t j = 0; norm > 0 && j < d; j++)
        out[j] = (float)((double)out[j] / sqrt(norm));
}
