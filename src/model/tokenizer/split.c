/*
 * The pre-tokenizers: ranges of a text become smaller ranges, and in the end words.
 *
 * Most kinds tell for each piece of the text whether it is a match; the behaviour tells how matches are used.
 */
#include "model/tokenizer/private.h"

static inline unsigned flags_at(const char *p, size_t *length)
{
    unsigned char c = (unsigned char)p[0];
    int32_t cp;
    if (c < 0x80) {
        *length = 1;
        return sr_chars_table[c];
    }
    *length = sr_utf8_decode_valid(p, &cp);
    return sr_chars_flags(cp);
}

static void down(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    if (a >= b || w->stop)
        return;
    if (level == w->t->n_splits)
        sr_tok_word(w, text, a, b);
    else
        sr_tok_split(w, level, text, a, b);
}

/* ---- matches and behaviours ---- */

/* The next match at or after p[i]: *from, *to; false when there is none. */
static bool next_match(const struct sr_tok_split *split, const char *p, size_t n, size_t i, size_t *from,
                       size_t *to)
{
    size_t length;
    unsigned want = split->kind == SR_TOK_SPLIT_DIGITS ? SR_CHARS_NUMERIC : SR_CHARS_PUNCT;
    if (split->kind == SR_TOK_SPLIT_STRING) {
        const char *hit = sr_tok_search(p + i, n - i, split->pattern);
        if (!hit)
            return false;
        *from = (size_t)(hit - p);
        *to = *from + split->pattern.n;
        return true;
    }
    for (; i < n; i += length) {
        if (split->regex) {
            size_t match = split->regex(p, n, i);
            if (match)
                return *from = i, *to = i + match, true;
            flags_at(p + i, &length);
        } else if (flags_at(p + i, &length) & want) {
            return *from = i, *to = i + length, true;
        }
    }
    return false;
}

/* Emits one piece at a time and holds one back, because behaviours depend on neighbours. */
struct joiner {
    struct sr_tok_work *w;
    size_t level;
    struct sr_tok_text *text;
    enum sr_tok_behavior behavior;
    size_t a, b; /* held back; a == b: nothing */
    bool match;  /* the piece held back is, or ends with, a match */
};

static void join_flush(struct joiner *j)
{
    if (j->a < j->b)
        down(j->w, j->level, j->text, j->a, j->b);
    j->a = j->b;
}

static void join(struct joiner *j, size_t a, size_t b, bool match)
{
    bool merge = false;
    if (a == b)
        return;
    if (j->a < j->b) {
        if (j->behavior == SR_TOK_CONTIGUOUS)
            merge = match == j->match;
        else if (j->behavior == SR_TOK_MERGED_WITH_PREVIOUS)
            merge = match && !j->match;
        else if (j->behavior == SR_TOK_MERGED_WITH_NEXT)
            merge = !match && j->match;
    }
    if (!merge) {
        join_flush(j);
        j->a = a;
    }
    j->b = b;
    j->match = match;
    if (match && j->behavior == SR_TOK_REMOVED)
        j->a = b;
}

static void split_matches(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    const struct sr_tok_split *split = &w->t->splits[level];
    struct joiner j = {w, level + 1, text, split->behavior, a, a, false};
    size_t i = 0, n = b - a, from, to;
    while (i < n && !w->stop && next_match(split, text->p + a, n, i, &from, &to)) {
        join(&j, a + i, a + from, split->invert);
        join(&j, a + from, a + to, !split->invert);
        i = to;
    }
    if (!w->stop)
        join(&j, a + i, b, split->invert);
    join_flush(&j);
}

/* ---- kinds with loops of their own, for speed ---- */

static void split_bert(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    const char *p = text->p;
    size_t word = a, length;
    for (size_t i = a; i < b && !w->stop; i += length) {
        unsigned flags = flags_at(p + i, &length);
        if (!(flags & (SR_CHARS_SPACE | SR_CHARS_PUNCT)))
            continue;
        down(w, level + 1, text, word, i);
        if (flags & SR_CHARS_PUNCT)
            down(w, level + 1, text, i, i + length);
        word = i + length;
    }
    down(w, level + 1, text, word, b);
}

/* Runs of equal class; spaces are left out. */
static void split_classes(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    unsigned mask =
        w->t->splits[level].kind == SR_TOK_SPLIT_WORDS ? SR_CHARS_SPACE | SR_CHARS_WORD : SR_CHARS_SPACE;
    unsigned now = SR_CHARS_SPACE;
    size_t start = a, length;
    for (size_t i = a; i < b && !w->stop; i += length) {
        unsigned class = flags_at(text->p + i, &length) & mask;
        if (class == now)
            continue;
        if (now != SR_CHARS_SPACE)
            down(w, level + 1, text, start, i);
        start = i;
        now = class;
    }
    if (now != SR_CHARS_SPACE)
        down(w, level + 1, text, start, b);
}

/* A copy of text[a..b) with the bytes of `prefix` before it, which come from its first character. */
static struct sr_tok_text *with_prefix(struct sr_tok_work *w, size_t level, struct sr_tok_text *text,
                                       size_t a, size_t b, struct sr_bytes prefix)
{
    struct sr_tok_text *out = &w->pre[level];
    sr_tok_text_clear(out);
    sr_tok_text_put(w, out, prefix.p, prefix.n, sr_tok_text_unit(w, text, a));
    sr_tok_text_copy(w, out, text, a, b);
    return out;
}

static void split_byte_level(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a,
                             size_t b)
{
    const struct sr_tok_split *split = &w->t->splits[level];
    if (split->prefix_space && text->p[a] != ' ') {
        text = with_prefix(w, level, text, a, b, SR_LIT(" "));
        a = 0;
        b = text->n;
    }
    if (!split->use_regex) {
        down(w, level + 1, text, a, b);
        return;
    }
    const char *p = text->p + a;
    for (size_t i = 0, n = b - a, length; i < n && !w->stop && !w->rc; i += length) {
        length = sr_tok_regex_gpt2(p, n, i); /* it skips nothing */
        down(w, level + 1, text, a + i, a + i + length);
    }
}

static void split_metaspace(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    const struct sr_tok_split *split = &w->t->splits[level];
    struct sr_bytes mark = split->pattern;
    struct sr_tok_text *out = &w->pre[level];
    uint32_t first = sr_tok_text_unit(w, text, a);
    bool marked = text->p[a] == ' ' || sr_bytes_starts_with(sr_bytes_of(text->p + a, b - a), mark);
    sr_tok_text_clear(out);
    if (!marked &&
        (split->prepend == SR_TOK_PREPEND_ALWAYS || (split->prepend == SR_TOK_PREPEND_FIRST && first == 0)))
        sr_tok_text_put(w, out, mark.p, mark.n, first);
    for (size_t i = a; i < b && !w->rc;) {
        const char *space = memchr(text->p + i, ' ', b - i);
        size_t end = space ? (size_t)(space - text->p) : b;
        if (i < end)
            sr_tok_text_copy(w, out, text, i, end);
        if (space)
            sr_tok_text_put(w, out, mark.p, mark.n, sr_tok_text_unit(w, text, end));
        i = end + 1;
    }
    if (!split->split) {
        down(w, level + 1, out, 0, out->n);
        return;
    }
    for (size_t i = 0; i < out->n && !w->stop && !w->rc;) {
        size_t from = sr_bytes_starts_with(sr_bytes_of(out->p + i, out->n - i), mark) ? i + mark.n : i;
        const char *next = sr_tok_search(out->p + from, out->n - from, mark);
        size_t end = next ? (size_t)(next - out->p) : out->n;
        down(w, level + 1, out, i, end);
        i = end;
    }
}

void sr_tok_split(struct sr_tok_work *w, size_t level, struct sr_tok_text *text, size_t a, size_t b)
{
    if (level == w->t->n_splits) {
        down(w, level, text, a, b);
        return;
    }
    switch (w->t->splits[level].kind) {
    case SR_TOK_SPLIT_BERT:
        split_bert(w, level, text, a, b);
        break;
    case SR_TOK_SPLIT_WORDS:
    case SR_TOK_SPLIT_SPACES:
        split_classes(w, level, text, a, b);
        break;
    case SR_TOK_SPLIT_BYTE_LEVEL:
        split_byte_level(w, level, text, a, b);
        break;
    case SR_TOK_SPLIT_METASPACE:
        split_metaspace(w, level, text, a, b);
        break;
    default:
        split_matches(w, level, text, a, b);
        break;
    }
}
