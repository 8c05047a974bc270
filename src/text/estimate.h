/*
 * The estimated number of tokens of a text, without a tokenizer.
 *
 * Two rules, both over white-space separated fields. The published one: 1.5 tokens a CJK character and 1.3 a
 * word. The extended rule is the same for running prose and adds what the published one omits: the length of
 * long fields (hashes, base64, URLs, scripts without spaces) and the punctuation inside a field (code). Both
 * are additive over texts that are joined by white space, and the extended rule is never below the published
 * one.
 */
#ifndef SR_TEXT_ESTIMATE_H
#define SR_TEXT_ESTIMATE_H

#include "text/ascii.h"
#include "text/disguise/glyph.h"

/* Counts. The sum of several counts is the count of their texts joined by white space. */
struct sr_estimate {
    size_t cjk;   /* characters */
    size_t words; /* fields that are not CJK only */
    size_t extra; /* tenths of a token beyond 1.5 a CJK character and 1.3 a word */
};

/* One field while it is being read. */
struct sr_estimate_field {
    size_t points; /* characters that are not CJK */
    size_t inner;  /* ASCII marks with a character before and after them in the field */
    size_t cjk;
    bool mark; /* the latest character was such a mark, if another character follows */
};

#define SR_ESTIMATE_SCALE 10 /* the extended rule counts in tenths of a token */
#define SR_ESTIMATE_SHORT 12 /* characters of a field that one word's price covers */
#define SR_ESTIMATE_POINT 3  /* tenths for each character beyond them */
#define SR_ESTIMATE_MARK  8  /* tenths for each inner mark */

/* Adds a character that is not white space. */
static inline void sr_estimate_point(struct sr_estimate_field *field, int32_t cp, uint32_t glyph)
{
    bool is_cjk = (glyph & SR_GLYPH_CJK) != 0;
    field->inner += field->mark;
    field->mark = cp < 0x80 && sr_ascii_is_mark((unsigned char)cp) && field->points + field->cjk;
    field->cjk += is_cjk;
    field->points += !is_cjk;
}

/* Adds letters or digits that are not CJK. */
static inline void sr_estimate_letters(struct sr_estimate_field *field, size_t n)
{
    field->inner += field->mark && n;
    field->mark = field->mark && !n;
    field->points += n;
}

/* Ends a field, which may be empty. */
static inline void sr_estimate_add_field(struct sr_estimate *e, struct sr_estimate_field field)
{
    e->cjk += field.cjk;
    e->words += field.points > 0;
    e->extra += field.points > SR_ESTIMATE_SHORT ? (field.points - SR_ESTIMATE_SHORT) * SR_ESTIMATE_POINT : 0;
    e->extra += field.inner * SR_ESTIMATE_MARK;
}

static inline void sr_estimate_add(struct sr_estimate *sum, struct sr_estimate e)
{
    sum->cjk += e.cjk;
    sum->words += e.words;
    sum->extra += e.extra;
}

/* The extended rule, in tenths of a token. */
static inline size_t sr_estimate_tenths(struct sr_estimate e)
{
    return e.cjk * 15 + e.words * 13 + e.extra;
}

/* Tenths as whole tokens, rounded down, but at least one for a text that is not blank. */
static inline size_t sr_estimate_tokens(size_t tenths)
{
    return tenths >= SR_ESTIMATE_SCALE ? tenths / SR_ESTIMATE_SCALE : tenths > 0;
}

/* The published rule (vllm-project/semantic-router, pkg/promptcompression, CountTokensApprox). */
static inline size_t sr_estimate_published(struct sr_estimate e)
{
    size_t tokens = (size_t)(1.5 * (double)e.cjk + 1.3 * (double)e.words);
    return tokens == 0 && (e.cjk || e.words) ? 1 : tokens;
}

/* Counts `text`. */
struct sr_estimate sr_estimate_of(struct sr_bytes text);

/* Length of the longest prefix of `text` that the extended rule counts at most `tenths`, and that ends where
 * a token may end: after a field, a CJK character, or inside a field that is too long by itself. */
size_t sr_estimate_prefix(struct sr_bytes text, size_t tenths);

#endif
