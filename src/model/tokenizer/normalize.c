/*
 * The normalizers. Each reads a range of one text and writes another; a step that would change nothing is
 * skipped.
 *
 * The original position of a written character follows the reference: a replaced character keeps the position
 * of the one that it replaces, an inserted one takes the position of the one before it, and a composite takes
 * the position of its first part. Forms are computed segment by segment: a segment starts at a character that
 * does not join the one before it.
 */
#include "model/tokenizer/private.h"

#define SEGMENT_MAX 512u /* code points; a longer run of marks is cut there */

struct span {
    struct sr_tok_text *text;
    size_t a, b;
};

static void put_char(struct sr_tok_work *w, struct sr_tok_text *out, int32_t cp, uint32_t unit)
{
    char bytes[4];
    sr_tok_text_put(w, out, bytes, sr_utf8_encode(cp, bytes), unit);
}

/* ---- normal forms ---- */

struct piece {
    int32_t cp;
    uint8_t ccc;
    int8_t change; /* 1: inserted; 0: replaces one character; -k: replaces 1 + k */
};

struct segment {
    struct piece pieces[SEGMENT_MAX * 2];
    size_t n;
    uint32_t units[SEGMENT_MAX]; /* of the characters read */
    size_t n_units;
};

static void segment_add(struct segment *s, int32_t cp, bool compat, uint32_t unit)
{
    int32_t points[SR_UNICODE_POINTS_MAX];
    size_t n = sr_chars_decompose(cp, compat, points);
    for (size_t i = 0; i < n; i++)
        s->pieces[s->n++] = (struct piece){points[i], (uint8_t)sr_chars_ccc(points[i]), i > 0};
    s->units[s->n_units++] = unit;
}

/* Canonical order: stable within runs of marks. */
static void segment_sort(struct segment *s)
{
    for (size_t i = 1; i < s->n; i++) {
        struct piece piece = s->pieces[i];
        size_t k = i;
        for (; piece.ccc && k > 0 && s->pieces[k - 1].ccc > piece.ccc; k--)
            s->pieces[k] = s->pieces[k - 1];
        s->pieces[k] = piece;
    }
}

static void segment_compose(struct segment *s)
{
    size_t out = 0, starter = 0;
    bool has_starter = false;
    unsigned last = 0; /* class of the previous piece, among those after the starter */
    for (size_t i = 0; i < s->n; i++) {
        struct piece piece = s->pieces[i];
        if (has_starter && (out == starter + 1 || last < piece.ccc)) {
            int32_t whole = sr_chars_compose(s->pieces[starter].cp, piece.cp);
            if (whole >= 0) {
                s->pieces[starter].cp = whole;
                s->pieces[starter].change = (int8_t)(s->pieces[starter].change + piece.change - 1);
                continue;
            }
        }
        last = piece.ccc;
        if (piece.ccc == 0) {
            starter = out;
            has_starter = true;
        }
        s->pieces[out++] = piece;
    }
    s->n = out;
}

static void segment_write(struct sr_tok_work *w, struct segment *s, struct sr_tok_text *out)
{
    size_t next = 0; /* the next character that a piece may replace */
    for (size_t i = 0; i < s->n; i++) {
        const struct piece *piece = &s->pieces[i];
        size_t unit = piece->change > 0 ? (next ? next - 1 : 0) : next;
        if (piece->change <= 0)
            next += (size_t)(1 - piece->change);
        put_char(w, out, piece->cp, s->units[unit < s->n_units ? unit : s->n_units - 1]);
    }
}

/* True when the code point is unchanged in this form, whatever precedes it. */
static unsigned form_mask(const struct sr_tok_norm *step)
{
    return SR_CHARS_JOINS | (step->compose ? SR_CHARS_NFC : SR_CHARS_SPLITS) |
           (step->compat ? SR_CHARS_COMPAT : 0);
}

/* True when any character has one of these flags. ASCII has none of the flags that callers pass. */
static bool any_flagged(struct span in, unsigned mask)
{
    int32_t cp;
    for (size_t i = in.a; i < in.b;) {
        if ((unsigned char)in.text->p[i] < 0x80) {
            i++;
            continue;
        }
        i += sr_utf8_decode_valid(in.text->p + i, &cp);
        if (sr_chars_flags(cp) & mask)
            return true;
    }
    return false;
}

static void form(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span in,
                 struct sr_tok_text *out)
{
    unsigned mask = form_mask(step);
    struct segment segment;
    size_t copied = in.a, last = in.a; /* write offset; start of the latest unchanged character */
    for (size_t i = in.a; i < in.b && !w->rc;) {
        int32_t cp;
        size_t length = sr_utf8_decode_valid(in.text->p + i, &cp);
        if (cp < 0x80 || !(sr_chars_flags(cp) & mask)) {
            last = i;
            i += length;
            continue;
        }
        if (last < copied)
            last = copied;
        if (copied < last)
            sr_tok_text_copy(w, out, in.text, copied, last);
        segment.n = segment.n_units = 0;
        /* The previous unchanged character may take part; it is the first of the segment. */
        for (i = last; i < in.b && segment.n_units < SEGMENT_MAX &&
                       segment.n + SR_UNICODE_POINTS_MAX <= SEGMENT_MAX * 2;
             i += length) {
            length = sr_utf8_decode_valid(in.text->p + i, &cp);
            unsigned flags = sr_chars_flags(cp);
            if (i > last && !(flags & (step->compat ? mask : SR_CHARS_JOINS)))
                break;
            segment_add(&segment, cp, step->compat, sr_tok_text_unit(w, in.text, i));
        }
        segment_sort(&segment);
        if (step->compose)
            segment_compose(&segment);
        segment_write(w, &segment, out);
        copied = last = i;
    }
    if (copied < in.b && !w->rc)
        sr_tok_text_copy(w, out, in.text, copied, in.b);
}

/* ---- character by character ---- */

static void lower_chars(struct sr_tok_work *w, struct span in, struct sr_tok_text *out)
{
    int32_t cp, low[SR_CHARS_LOWER_MAX];
    for (size_t i = in.a; i < in.b && !w->rc;) {
        size_t start = i;
        while (i < in.b && (unsigned char)in.text->p[i] < 0x80)
            i++;
        if (i > start) {
            char *p = sr_tok_text_copy(w, out, in.text, start, i);
            for (size_t k = 0; p && k < i - start; k++)
                p[k] = sr_ascii_lower(p[k]);
            continue;
        }
        i += sr_utf8_decode_valid(in.text->p + i, &cp);
        size_t n = 1;
        low[0] = cp;
        if (sr_chars_flags(cp) & SR_CHARS_UPPER)
            n = sr_chars_lower(cp, low);
        uint32_t unit = sr_tok_text_unit(w, in.text, start);
        for (size_t k = 0; k < n; k++)
            put_char(w, out, low[k], unit);
    }
}

static void drop_flagged(struct sr_tok_work *w, struct span in, struct sr_tok_text *out, unsigned flag)
{
    int32_t cp;
    size_t copied = in.a;
    for (size_t i = in.a, length; i < in.b && !w->rc; i += length) {
        length = sr_utf8_decode_valid(in.text->p + i, &cp);
        if (sr_chars_flags(cp) & flag) {
            if (copied < i)
                sr_tok_text_copy(w, out, in.text, copied, i);
            copied = i + length;
        }
    }
    if (copied < in.b && !w->rc)
        sr_tok_text_copy(w, out, in.text, copied, in.b);
}

/* BertNormalizer without accents: clean_text, spaces around CJK, lower case in one pass. Accents, which need
 * the decomposition in between, take three passes. */
static void bert_chars(struct sr_tok_work *w, const struct sr_tok_norm *step, bool lower, struct span in,
                       struct sr_tok_text *out)
{
    const char *p = in.text->p;
    int32_t cp, low[SR_CHARS_LOWER_MAX];
    for (size_t i = in.a; i < in.b && !w->rc;) {
        size_t start = i;
        while (i < in.b && (unsigned char)p[i] < 0x80 &&
               !(step->clean && sr_chars_table[(unsigned char)p[i]] & SR_CHARS_CONTROL))
            i++;
        if (i > start) {
            char *to = sr_tok_text_copy(w, out, in.text, start, i);
            for (size_t k = 0; to && k < i - start; k++) {
                char c = to[k];
                c = lower ? sr_ascii_lower(c) : c;
                to[k] = step->clean && (c == '\t' || c == '\n' || c == '\r') ? ' ' : c;
            }
            continue;
        }
        i += sr_utf8_decode_valid(p + i, &cp);
        unsigned flags = sr_chars_flags(cp);
        if (step->clean && flags & SR_CHARS_CONTROL)
            continue;
        uint32_t unit = sr_tok_text_unit(w, in.text, start);
        size_t n = 1;
        low[0] = step->clean && flags & SR_CHARS_SPACE ? ' ' : cp;
        if (lower && flags & SR_CHARS_UPPER)
            n = sr_chars_lower(cp, low);
        bool spaced = step->cjk && flags & SR_CHARS_CJK;
        if (spaced)
            put_char(w, out, ' ', unit);
        for (size_t k = 0; k < n; k++)
            put_char(w, out, low[k], unit);
        if (spaced)
            put_char(w, out, ' ', unit);
    }
}

static void strip(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span in,
                  struct sr_tok_text *out)
{
    int32_t cp;
    size_t a = in.a, b = in.b;
    while (step->left && a < b) {
        size_t n = sr_utf8_decode_valid(in.text->p + a, &cp);
        if (!(sr_chars_flags(cp) & SR_CHARS_SPACE))
            break;
        a += n;
    }
    while (step->right && a < b) {
        size_t i = b - 1;
        while (sr_utf8_is_tail(in.text->p[i]))
            i--;
        sr_utf8_decode_valid(in.text->p + i, &cp);
        if (!(sr_chars_flags(cp) & SR_CHARS_SPACE))
            break;
        b = i;
    }
    if (a < b)
        sr_tok_text_copy(w, out, in.text, a, b);
}

/* The next match of a Replace from *end on: [*at, *end). */
static bool next_hit(const struct sr_tok_norm *step, struct span in, size_t *at, size_t *end)
{
    const char *p = in.text->p;
    if (step->class.on) {
        size_t from = *end - in.a, to;
        if (!sr_tok_class_find(&step->class, p + in.a, in.b - in.a, &from, &to))
            return false;
        *at = in.a + from;
        *end = in.a + to;
        return true;
    }
    const char *hit = sr_tok_search(p + *end, in.b - *end, step->pattern);
    if (!hit)
        return false;
    *at = (size_t)(hit - p);
    *end = *at + step->pattern.n;
    return true;
}

static void replace(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span in,
                    struct sr_tok_text *out)
{
    struct sr_bytes content = step->content;
    size_t copied = in.a, i = in.a, at;
    while (i < in.b && !w->rc && next_hit(step, in, &at, &i)) {
        if (copied < at)
            sr_tok_text_copy(w, out, in.text, copied, at);
        copied = i;
        int32_t cp;
        uint32_t unit = sr_tok_text_unit(w, in.text, i - 1);
        for (size_t k = 0, length; k < content.n; k += length) {
            length = sr_utf8_decode_valid(content.p + k, &cp);
            sr_tok_text_put(w, out, content.p + k, length, unit);
        }
    }
    if (copied < in.b && !w->rc)
        sr_tok_text_copy(w, out, in.text, copied, in.b);
}

static void prepend(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span in,
                    struct sr_tok_text *out)
{
    int32_t cp;
    uint32_t unit = sr_tok_text_unit(w, in.text, in.a);
    for (size_t k = 0, length; k < step->content.n; k += length) {
        length = sr_utf8_decode_valid(step->content.p + k, &cp);
        sr_tok_text_put(w, out, step->content.p + k, length, unit);
    }
    sr_tok_text_copy(w, out, in.text, in.a, in.b);
}

static const struct sr_tok_norm nfd = {.kind = SR_TOK_NORM_FORM};

/* Returns the other of the two buffers, emptied. */
static struct sr_tok_text *other(struct sr_tok_work *w, const struct sr_tok_text *text)
{
    struct sr_tok_text *out = text == &w->norm[0] ? &w->norm[1] : &w->norm[0];
    sr_tok_text_clear(out);
    return out;
}

static void apply(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span *in);

static void bert(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span *in)
{
    bool accents = step->accents && any_flagged(*in, form_mask(&nfd) | SR_CHARS_MN);
    struct sr_tok_text *out = other(w, in->text);
    bert_chars(w, step, step->lower && !accents, *in, out);
    *in = (struct span){out, 0, out->n};
    if (!accents || in->b == 0 || w->rc)
        return;
    apply(w, &nfd, in);
    out = other(w, in->text);
    drop_flagged(w, *in, out, SR_CHARS_MN);
    *in = (struct span){out, 0, out->n};
    if (step->lower && in->b)
        apply(w, &(struct sr_tok_norm){.kind = SR_TOK_NORM_LOWER}, in);
}

static void apply(struct sr_tok_work *w, const struct sr_tok_norm *step, struct span *in)
{
    if (step->kind == SR_TOK_NORM_BERT) {
        bert(w, step, in);
        return;
    }
    if (step->kind == SR_TOK_NORM_FORM && !any_flagged(*in, form_mask(step)))
        return;
    struct sr_tok_text *out = other(w, in->text);
    if (step->kind == SR_TOK_NORM_CHARSMAP) {
        if (sr_tok_charsmap_apply(w, step->charsmap, in->text, in->a, in->b, out))
            *in = (struct span){out, 0, out->n};
        return;
    }
    switch (step->kind) {
    case SR_TOK_NORM_FORM:
        form(w, step, *in, out);
        break;
    case SR_TOK_NORM_LOWER:
        lower_chars(w, *in, out);
        break;
    case SR_TOK_NORM_STRIP_ACCENTS:
        drop_flagged(w, *in, out, SR_CHARS_MARK);
        break;
    case SR_TOK_NORM_STRIP:
        strip(w, step, *in, out);
        break;
    case SR_TOK_NORM_REPLACE:
        replace(w, step, *in, out);
        break;
    default:
        prepend(w, step, *in, out);
        break;
    }
    *in = (struct span){out, 0, out->n};
}

void sr_tok_normalize(struct sr_tok_work *w, struct sr_tok_text *from, size_t a, size_t b,
                      struct sr_tok_text **out, size_t *out_a, size_t *out_b)
{
    struct span in = {from, a, b};
    for (size_t i = 0; i < w->t->n_norms && in.a < in.b && !w->rc; i++)
        apply(w, &w->t->norms[i], &in);
    *out = in.text;
    *out_a = in.a;
    *out_b = w->rc ? in.a : in.b;
}
