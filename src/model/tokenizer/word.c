/* Turns one word or added token into output: the cache of words, ids, offsets and their trimming. */
#include "model/tokenizer/private.h"

/* ---- output ---- */

static bool room(struct sr_tok_work *w, size_t more)
{
    size_t cap = w->cap, cap_starts = w->cap, cap_ends = w->cap;
    if (w->n + more <= w->cap)
        return true;
    bool ok = sr_tok_within(w, w->n + more) &&
              sr_tok_reserve(w, &w->ids, &cap, w->n + more, sizeof *w->ids) &&
              sr_tok_reserve(w, &w->starts, &cap_starts, w->n + more, sizeof *w->starts) &&
              sr_tok_reserve(w, &w->ends, &cap_ends, w->n + more, sizeof *w->ends);
    if (ok)
        w->cap = cap;
    return ok;
}

/* Characters at the start (or end) of a spelled token that are spaces. */
static size_t edge_spaces(struct sr_bytes token, bool at_end)
{
    size_t n = 0;
    int32_t cp;
    for (size_t i = at_end ? token.n : 0; at_end ? i > 0 : i < token.n; n++) {
        size_t from = i;
        if (at_end)
            do
                from--;
            while (from > 0 && sr_utf8_is_tail(token.p[from]));
        size_t length = sr_utf8_decode_valid(token.p + from, &cp);
        if (cp != 0x120 && !(sr_chars_flags(cp) & SR_CHARS_SPACE))
            break;
        i = at_end ? from : from + length;
    }
    return n;
}

/* Excludes spaces at the edges of the token from its offsets, as the byte-level post-processors do. */
static void trim(struct sr_tok_work *w, size_t i, struct sr_bytes token)
{
    size_t leading = edge_spaces(token, false), trailing = edge_spaces(token, true);
    uint32_t start = w->starts[i], end = w->ends[i];
    if (leading == 1 && w->t->trim_prefix_space && (i == 0 || start == 0))
        leading = 0;
    for (; leading && start < end; leading--)
        start = sr_tok_unit_end(w, start);
    uint32_t cut = end;
    for (; trailing && cut > 0; trailing--)
        do
            cut--;
        while (cut > 0 && sr_utf8_is_tail(w->original.p[cut]));
    if (trailing == 0)
        end = cut > start ? cut : start;
    w->starts[i] = start;
    w->ends[i] = end;
}

static inline bool may_trim(struct sr_bytes token)
{
    unsigned char first = token.n ? (unsigned char)token.p[0] : 'a',
                  last = token.n ? (unsigned char)token.p[token.n - 1] : 'a';
    return first <= ' ' || first >= 0xC2 || last <= ' ' || last >= 0x80;
}

/* Token i of the word covers what the one before it covers. */
static void share_offsets(struct sr_tok_work *w, size_t i)
{
    w->starts[w->n + i] = w->starts[w->n + i - 1];
    w->ends[w->n + i] = w->ends[w->n + i - 1];
}

/* Offsets of a word whose bytes are those of the original, from its byte `base` on. */
static void plain_offsets(struct sr_tok_work *w, size_t base, const uint8_t *near, const uint32_t *ends,
                          size_t n)
{
    const char *p = w->original.p;
    size_t from = base;
    for (size_t i = 0; i < n; i++) {
        size_t to = base + (near ? near[i] : ends[i]), start = from, end = to > from ? to : from + 1;
        if (to == from && i) {
            share_offsets(w, i);
            continue;
        }
        while (start > 0 && sr_utf8_is_tail(p[start]))
            start--;
        while (end < w->original.n && sr_utf8_is_tail(p[end]))
            end++;
        w->starts[w->n + i] = (uint32_t)start;
        w->ends[w->n + i] = (uint32_t)end;
        from = to;
    }
}

/* The original character of byte `at` of a run. */
static inline uint32_t run_unit(const struct sr_tok_work *w, const struct sr_tok_run *run, size_t at)
{
    if (run->start & SR_TOK_LUMP)
        return run->start & ~SR_TOK_LUMP;
    uint32_t unit = run->start + (uint32_t)(at - run->at);
    while (unit > run->start && sr_utf8_is_tail(w->original.p[unit]))
        unit--;
    return unit;
}

/* The end of the original character of byte `at` of a run. */
static inline uint32_t run_unit_end(const struct sr_tok_work *w, const struct sr_tok_run *run, size_t at)
{
    uint32_t unit = run_unit(w, run, at);
    if (run->start & SR_TOK_LUMP || w->base.p != w->original.p)
        return sr_tok_unit_end(w, unit);
    for (unit++; unit < w->original.n && sr_utf8_is_tail(w->original.p[unit]);)
        unit++;
    return unit;
}

static void mapped_offsets(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, const uint8_t *near,
                           const uint32_t *ends, size_t n)
{
    const struct sr_tok_run *run = sr_tok_text_run(text, a), *last = text->runs + text->n_runs - 1;
    size_t from = a;
    for (size_t i = 0; i < n; i++) {
        size_t to = a + (near ? near[i] : ends[i]), tip = to > from ? to - 1 : from;
        if (to == from && i) {
            share_offsets(w, i);
            continue;
        }
        while (run < last && run[1].at <= from)
            run++;
        w->starts[w->n + i] = run_unit(w, run, from);
        while (run < last && run[1].at <= tip)
            run++;
        w->ends[w->n + i] = run_unit_end(w, run, tip);
        from = to;
    }
}

static void emit(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, const int32_t *ids,
                 const uint8_t *near, const uint32_t *ends, size_t n)
{
    if (n == 0 || (!near && !ends) || !room(w, n))
        return;
    memcpy(w->ids + w->n, ids, n * sizeof *ids);
    if (w->offsets) {
        size_t last = near ? near[n - 1] : ends[n - 1], base;
        if (w->base.p == w->original.p && sr_tok_text_plain(text, a, a + last, &base))
            plain_offsets(w, base, near, ends, n);
        else
            mapped_offsets(w, text, a, near, ends, n);
        for (size_t i = 0; w->t->trim && i < n; i++)
            if (may_trim(w->t->vocab.tokens[ids[i]]))
                trim(w, w->n + i, w->t->vocab.tokens[ids[i]]);
    }
    w->n += n;
    if (w->n > w->limit)
        w->stop = true;
}

/* ---- words ---- */

static bool run_model(struct sr_tok_work *w, const char *p, size_t n)
{
    if (n > w->cap_word) {
        size_t cap = w->cap_word, cap_ends = w->cap_word;
        if (!sr_tok_reserve(w, &w->word_ids, &cap, n, sizeof *w->word_ids) ||
            !sr_tok_reserve(w, &w->word_ends, &cap_ends, n, sizeof *w->word_ends))
            return false;
        w->cap_word = cap;
    }
    w->n_word = 0;
    if (w->t->is_unigram)
        sr_tok_unigram(w, p, n);
    else if (w->t->is_bpe)
        sr_tok_bpe(w, p, n);
    else
        sr_tok_wordpiece(w, p, n);
    return w->rc == SR_OK;
}

#define KEY_WORDS (SR_TOK_KEY_MAX / 8)

/* The word as numbers, with zeros after its end; returns how many count: key[0..returned). */
static inline size_t load_key(uint64_t key[KEY_WORDS], const char *p, size_t n, size_t readable)
{
    size_t full = n / 8, count = (n + 7) / 8;
    if (readable < count * 8) {
        key[count - 1] = 0;
        memcpy(key, p, n);
        return count;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(&key[i], p + i * 8, 8);
    if (full < count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        key[full] &= (UINT64_C(1) << (n % 8 * 8)) - 1;
#else
        key[full] &= ~(UINT64_MAX >> (n % 8 * 8));
#endif
    }
    return count;
}

static inline uint64_t mix(uint64_t h, uint64_t part)
{
    h = (h ^ part) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static inline struct sr_tok_cached *cache_set(const struct sr_tok_work *w, const uint64_t *key, size_t count,
                                              size_t n)
{
    uint64_t h = w->seed ^ n;
    for (size_t i = 0; i < count; i++)
        h = mix(h, key[i]);
    return &w->cache[(size_t)(h >> 3) % SR_TOK_CACHE_SETS * SR_TOK_CACHE_WAYS];
}

static inline bool cached_is(const struct sr_tok_cached *cached, const uint64_t *key, size_t count, size_t n)
{
    if (cached->length != n || cached->key[0] != key[0])
        return false;
    bool same = true;
    for (size_t i = 1; i < count; i++)
        same &= cached->key[i] == key[i];
    return same;
}

static void remember(struct sr_tok_work *w, struct sr_tok_cached *set, const uint64_t *key, size_t count,
                     size_t n)
{
    memmove(set + 1, set, (SR_TOK_CACHE_WAYS - 1) * sizeof *set);
    memcpy(set->key, key, count * sizeof *key);
    set->length = (uint8_t)n;
    set->n = (uint8_t)w->n_word;
    for (size_t i = 0; i < w->n_word; i++) {
        set->ids[i] = w->word_ids[i];
        set->ends[i] = (uint8_t)w->word_ends[i];
    }
}

static struct sr_tok_cached_long *long_line(const struct sr_tok_work *w, const char *p, size_t n)
{
    uint64_t h = w->seed ^ n, part;
    for (size_t i = 0; i + 8 <= n; i += 8) {
        memcpy(&part, p + i, 8);
        h = mix(h, part);
    }
    if (n >= 8) {
        memcpy(&part, p + n - 8, 8);
        h = mix(h, part);
    }
    return &w->long_cache[(size_t)(h >> 3) % SR_TOK_LONG_SLOTS];
}

static void remember_long(struct sr_tok_work *w, struct sr_tok_cached_long *line, const char *p, size_t n)
{
    memcpy(line->key, p, n);
    memcpy(line->ids, w->word_ids, w->n_word * sizeof *line->ids);
    line->length = (uint8_t)n;
    line->n = (uint8_t)w->n_word;
    for (size_t i = 0; i < w->n_word; i++)
        line->ends[i] = (uint8_t)w->word_ends[i];
}

/* Handles a word that the first cache does not have: by the second cache, or the model. True when the model
 * ran. */
static bool rare_word(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t n)
{
    const char *p = text->p + a;
    struct sr_tok_cached_long *line =
        n > SR_TOK_CACHED_MAX && n <= SR_TOK_LONG_MAX ? long_line(w, p, n) : NULL;
    if (line && line->length == n && memcmp(line->key, p, n) == 0) {
        emit(w, text, a, line->ids, line->ends, NULL, line->n);
        return false;
    }
    if (!run_model(w, p, n))
        return false;
    emit(w, text, a, w->word_ids, NULL, w->word_ends, w->n_word);
    if (line && w->n_word <= SR_TOK_LONG_TOKENS && (n > SR_TOK_KEY_MAX || w->n_word > SR_TOK_CACHED_MAX))
        remember_long(w, line, p, n);
    return true;
}

static void one_word(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b)
{
    size_t n = b - a;
    uint64_t key[KEY_WORDS];
    key[0] = 0;
    if (n > SR_TOK_KEY_MAX) {
        rare_word(w, text, a, n);
        return;
    }
    size_t count = load_key(key, text->p + a, n, text->p == text->own ? SR_TOK_KEY_MAX : text->n - a);
    struct sr_tok_cached *set = cache_set(w, key, count, n);
    for (size_t i = 0; i < SR_TOK_CACHE_WAYS; i++)
        if (cached_is(&set[i], key, count, n)) {
            emit(w, text, a, set[i].ids, set[i].ends, NULL, set[i].n);
            return;
        }
    if (rare_word(w, text, a, n) && w->n_word <= SR_TOK_CACHED_MAX)
        remember(w, set, key, count, n);
}

#define METASPACE "\xE2\x96\x81"

void sr_tok_word(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b)
{
    if (!w->t->bpe.cut_at_metaspace) {
        one_word(w, text, a, b);
        return;
    }
    while (a < b && !w->stop) {
        size_t i = a;
        while (b - i >= 3 && memcmp(text->p + i, METASPACE, 3) == 0)
            i += 3;
        const char *next = sr_tok_search(text->p + i, b - i, SR_LIT(METASPACE));
        size_t end = next ? (size_t)(next - text->p) : b;
        one_word(w, text, a, end);
        a = end;
    }
}

void sr_tok_put_added(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b, int32_t id)
{
    if (!room(w, 1))
        return;
    w->ids[w->n] = id;
    if (w->offsets) {
        w->starts[w->n] = sr_tok_text_unit(w, text, a);
        w->ends[w->n] = sr_tok_unit_end(w, sr_tok_text_unit(w, text, b - 1));
        if (w->t->trim)
            trim(w, w->n, sr_bytes_of(text->p + a, b - a));
    }
    if (++w->n > w->limit)
        w->stop = true;
}
