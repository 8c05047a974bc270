/*
 * The compressor's input: text, sentences, term vectors; and the ranking at the end. select.c applies the
 * budget.
 */
#include "text/compress/private.h"

#include "base/grow.h"
#include "base/mem.h"

#include <math.h>

#define SAMPLE     500 /* compat: maximum number of sentences that the published algorithm ranks */
#define KEEP_MAX   ((size_t)1 << 20) /* bytes of the text buffer that are kept for the next text */
#define KEEP_UNITS ((size_t)1 << 14)
#define LONG_UNIT  ((size_t)16 << 10) /* minimum bytes of a unit once there are too many units */

int sr_compressor_new(sr_compressor **out, size_t max_bytes)
{
    sr_compressor *c = sr_mem_calloc(1, sizeof *c);
    if (!c)
        return SR_ENOMEM;
    sr_buf_init(&c->text, max_bytes);
    int rc = sr_terms_init(&c->terms);
    if (rc) {
        sr_compressor_free(c);
        return rc;
    }
    *out = c;
    return SR_OK;
}

void sr_compressor_free(sr_compressor *c)
{
    if (!c)
        return;
    sr_buf_dispose(&c->text);
    sr_terms_dispose(&c->terms);
    sr_rank_dispose(&c->rank);
    sr_mem_free(c->units);
    sr_mem_free(c->scores);
    sr_mem_free(c->heap);
    sr_mem_free(c->kept);
    sr_mem_free(c);
}

size_t sr_compressor_memory(const sr_compressor *c)
{
    return sizeof *c + c->text.cap + sr_terms_memory(&c->terms) + c->rank.size +
           (c->cap_units + c->cap_kept) * sizeof *c->units + c->cap_scores * sizeof *c->scores +
           c->cap_heap * sizeof *c->heap;
}

static int room_for_units(sr_compressor *c, size_t n)
{
    return sr_grow(&c->units, &c->cap_units, n, sizeof *c->units, SR_GROW_NO_MAX);
}

static bool is_share(double x)
{
    return x >= 0 && x <= 1e6;
}

int sr_compress_begin(sr_compressor *c, const struct sr_compress_settings *settings)
{
    const struct sr_compress_settings *s = settings;
    if (s->budget == 0 || s->budget > SIZE_MAX / 32 || !is_share(s->textrank) || !is_share(s->position) ||
        !is_share(s->tfidf) || !is_share(s->novelty) || !is_share(s->depth) ||
        (s->counter && (!s->counter->count || !s->counter->prefix)))
        return SR_EINVAL;
    c->settings = *settings;
    double sum = s->textrank + s->position + s->tfidf + s->novelty;
    c->settings.textrank = sum > 0 ? s->textrank / sum : 0.25;
    c->settings.position = sum > 0 ? s->position / sum : 0.25;
    c->settings.tfidf = sum > 0 ? s->tfidf / sum : 0.25;
    c->settings.novelty = sum > 0 ? s->novelty / sum : 0.25;
    if (c->text.cap > KEEP_MAX)
        sr_buf_dispose(&c->text);
    sr_buf_clear(&c->text);
    if (c->cap_units > KEEP_UNITS) {
        sr_mem_free(c->units);
        c->units = NULL;
        c->cap_units = 0;
    }
    c->segmenter = (struct sr_segmenter){0};
    c->estimate = (struct sr_estimate){0};
    c->field = (struct sr_estimate_field){0};
    c->pending = (struct sr_segment){0};
    c->n_units = c->n_kept = c->counted = c->joined_tokens = 0;
    c->joined_exact = false;
    return sr_terms_reset(&c->terms);
}

/* Compat: the published count is over the fields of the whole text, independent of sentence ends. */
static void count_published(sr_compressor *c, struct sr_bytes text, bool last)
{
    const uint32_t *table = sr_glyph_table();
    while (c->counted < text.n && (last || text.n - c->counted >= SR_UTF8_MAX)) {
        int32_t cp;
        uint32_t glyph;
        c->counted += sr_glyph_at(table, text, c->counted, &cp, &glyph);
        if (glyph & SR_GLYPH_SPACE) {
            sr_estimate_add_field(&c->estimate, c->field);
            c->field = (struct sr_estimate_field){0};
        } else {
            sr_estimate_point(&c->field, cp, glyph);
        }
    }
    if (last)
        sr_estimate_add_field(&c->estimate, c->field);
}

static int add_unit(sr_compressor *c, struct sr_segment found)
{
    int rc = room_for_units(c, c->n_units + 1);
    if (rc)
        return rc;
    struct sr_bytes sentence = {c->text.data + found.start, found.end - found.start};
    struct sr_estimate e;
    size_t tokens;
    if (c->settings.compat) {
        e = sr_terms_add_published(&c->terms, sentence);
        tokens = sr_estimate_published(e);
    } else {
        e = sr_terms_add(&c->terms, sentence);
        sr_estimate_add(&c->estimate, e);
        tokens = sr_estimate_tenths(e);
    }
    c->units[c->n_units++] =
        (struct sr_compress_unit){.start = found.start, .end = found.end, .tokens = tokens};
    return c->terms.rc;
}

/* Once there are very many units, neighbours are merged, so that memory stays bounded. */
static int take_unit(sr_compressor *c, struct sr_segment found)
{
    if (c->n_units < SR_COMPRESS_UNITS_MAX)
        return add_unit(c, found);
    if (c->pending.end == 0)
        c->pending.start = found.start;
    c->pending.end = found.end;
    if (c->pending.end - c->pending.start < LONG_UNIT)
        return SR_OK;
    struct sr_segment together = c->pending;
    c->pending.end = 0;
    return add_unit(c, together);
}

/* Takes the complete units. */
static int take_units(sr_compressor *c, bool last)
{
    struct sr_bytes text = sr_buf_view(&c->text);
    struct sr_segment found;
    int rc = SR_OK;
    if (c->settings.compat)
        count_published(c, text, last);
    bool (*next)(struct sr_segmenter *, struct sr_bytes, bool, struct sr_segment *) =
        c->settings.compat ? sr_segment_next_published : sr_segment_next;
    while (rc == SR_OK && next(&c->segmenter, text, last, &found))
        rc = take_unit(c, found);
    if (rc == SR_OK && last && c->pending.end)
        rc = add_unit(c, c->pending);
    return rc;
}

int sr_compress_feed(sr_compressor *c, struct sr_bytes piece)
{
    if (piece.n == 0)
        return SR_OK;
    int rc = sr_buf_append_bytes(&c->text, piece);
    return rc ? rc : take_units(c, false);
}

struct sr_bytes sr_compress_arrived(const sr_compressor *c)
{
    return sr_buf_view(&c->text);
}

/* Compat: the rows that are ranked when there are more than SAMPLE: the first, the last, and evenly
 * between. */
static void sample_units(sr_compressor *c, uint32_t rows[SAMPLE])
{
    size_t total = c->n_units, middle = SAMPLE - 2;
    double step = (double)(total - 2) / (double)middle;
    rows[0] = 0;
    for (size_t i = 0; i < middle; i++) {
        size_t at = 1 + (size_t)((double)i * step + 0.5);
        rows[1 + i] = (uint32_t)(at >= total - 1 ? total - 2 : at);
    }
    rows[SAMPLE - 1] = (uint32_t)(total - 1);
    for (size_t i = 0; i < SAMPLE; i++)
        c->units[i] = c->units[rows[i]];
    c->n_units = SAMPLE;
}

static int room_to_rank(sr_compressor *c)
{
    int rc = sr_grow(&c->heap, &c->cap_heap, c->n_units, sizeof *c->heap, SR_GROW_NO_MAX);
    return rc ? rc : sr_grow(&c->scores, &c->cap_scores, c->n_units, sizeof *c->scores, SR_GROW_NO_MAX);
}

static int score_units(sr_compressor *c)
{
    const struct sr_compress_settings *s = &c->settings;
    struct sr_rank_options options = {
        .depth = s->depth, .novelty = s->novelty > 0, .as_published = s->compat};
    uint32_t rows[SAMPLE];
    bool sampled = s->compat && c->n_units > SAMPLE;
    if (sampled)
        sample_units(c, rows);
    int rc = room_to_rank(c);
    if (rc == SR_OK)
        rc = sr_rank_run(&c->rank, &c->terms, sampled ? rows : NULL, c->n_units, options, c->scores);
    for (size_t i = 0; i < c->n_units && rc == SR_OK; i++) {
        const struct sr_scores *of = &c->scores[i];
        c->units[i].scores = *of;
        c->units[i].score = s->textrank * of->textrank + s->position * of->position + s->tfidf * of->tfidf +
                            s->novelty * of->novelty;
    }
    return rc;
}

/* Keeps the whole text unchanged. */
static int keep_whole(sr_compressor *c, struct sr_compress_result *result)
{
    int rc = sr_grow(&c->kept, &c->cap_kept, 1, sizeof *c->kept, SR_GROW_NO_MAX);
    if (rc)
        return rc;
    if (c->n_units == 0 &&
        result->original_tokens > c->settings.budget) /* white space only, counted exactly */
        return SR_OK;
    c->n_kept = c->text.len > 0;
    c->kept[0] = (struct sr_compress_unit){.end = c->text.len,
                                           .tokens = result->original_tokens,
                                           .exact = result->original_exact,
                                           .kept = true,
                                           .score = 1};
    c->joined_tokens = result->original_tokens;
    c->joined_exact = result->original_exact;
    result->whole = true;
    return SR_OK;
}

/* The number of tokens of the text: exact when it may fit, else estimated. */
static void count_original(sr_compressor *c, struct sr_compress_result *result)
{
    const struct sr_compress_settings *s = &c->settings;
    result->original_tokens =
        s->compat ? sr_estimate_published(c->estimate) : sr_estimate_tokens(sr_estimate_tenths(c->estimate));
    if (s->counter && result->original_tokens <= 2 * s->budget) {
        result->original_tokens = s->counter->count(s->counter->ctx, sr_buf_view(&c->text));
        result->original_exact = true;
    }
}

int sr_compress_end(sr_compressor *c, struct sr_compress_result *result)
{
    *result = (struct sr_compress_result){0};
    int rc = take_units(c, true);
    if (rc)
        return rc;
    count_original(c, result);
    bool alone = c->settings.compat && c->n_units == 1;
    if (result->original_tokens <= c->settings.budget || alone || c->n_units == 0) {
        rc = keep_whole(c, result);
    } else {
        rc = score_units(c);
        if (rc == SR_OK)
            rc = sr_compress_select(c);
        result->units = c->units;
        result->n_units = c->n_units;
    }
    result->kept = c->kept;
    result->n_kept = c->n_kept;
    result->compressed_tokens = c->joined_tokens;
    result->compressed_exact = c->joined_exact;
    return rc;
}

int sr_compress_text(sr_compressor *c, const struct sr_compress_settings *settings, struct sr_bytes text,
                     struct sr_compress_result *result)
{
    int rc = sr_compress_begin(c, settings);
    if (rc == SR_OK)
        rc = sr_compress_feed(c, text);
    return rc ? rc : sr_compress_end(c, result);
}
