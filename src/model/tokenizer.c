/* The way of a text through a tokenizer, and the handle. See tokenizer_private.h for the stages. */
#include "model/tokenizer_private.h"

#include "base/hash.h"
#include "base/mem.h"

#define KEEP_MAX ((size_t)1 << 20) /* bytes of text; working memory that grew for more is given back */

/* ---- output ---- */

static bool room(struct sr_tok_work *w, size_t more)
{
    size_t cap = w->cap, cap_starts = w->cap, cap_ends = w->cap;
    void *ids = w->ids, *starts = w->starts, *ends = w->ends;
    if (w->n + more <= w->cap)
        return true;
    bool ok = sr_tok_reserve(w, &ids, &cap, w->n + more, sizeof *w->ids);
    w->ids = ids;
    ok = ok && sr_tok_reserve(w, &starts, &cap_starts, w->n + more, sizeof *w->starts);
    w->starts = starts;
    ok = ok && sr_tok_reserve(w, &ends, &cap_ends, w->n + more, sizeof *w->ends);
    w->ends = ends;
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
            while (from > 0 && sr_unicode_is_tail(token.p[from]));
        size_t length = sr_unicode_decode(token.p + from, &cp);
        if (cp != 0x120 && !(sr_unicode_flags(cp) & SR_UNICODE_SPACE))
            break;
        i = at_end ? from : from + length;
    }
    return n;
}

/* Leaves spaces at the edges of the token out of its offsets, as the byte-level post-processors do. */
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
        while (cut > 0 && sr_unicode_is_tail(w->original.p[cut]));
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

/* Offsets of a word whose bytes are the original's own, from byte `base` of it on. */
static void plain_offsets(struct sr_tok_work *w, size_t base, const uint8_t *near, const uint32_t *ends,
                          size_t n)
{
    const char *p = w->original.p;
    size_t from = base;
    for (size_t i = 0; i < n; i++) {
        size_t to = base + (near ? near[i] : ends[i]), start = from, end = to > from ? to : from + 1;
        while (start > 0 && sr_unicode_is_tail(p[start]))
            start--;
        while (end < w->original.n && sr_unicode_is_tail(p[end]))
            end++;
        w->starts[w->n + i] = (uint32_t)start;
        w->ends[w->n + i] = (uint32_t)end;
        from = to;
    }
}

static void mapped_offsets(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, const uint8_t *near,
                           const uint32_t *ends, size_t n)
{
    size_t from = a;
    for (size_t i = 0; i < n; i++) {
        size_t to = a + (near ? near[i] : ends[i]);
        w->starts[w->n + i] = sr_tok_text_unit(w, text, from);
        w->ends[w->n + i] = sr_tok_unit_end(w, sr_tok_text_unit(w, text, to > from ? to - 1 : from));
        from = to;
    }
}

static void emit(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, const int32_t *ids,
                 const uint8_t *near, const uint32_t *ends, size_t n)
{
    if (n == 0 || !room(w, n))
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
        void *ids = w->word_ids, *ends = w->word_ends;
        bool ok = sr_tok_reserve(w, &ids, &cap, n, sizeof *w->word_ids);
        w->word_ids = ids;
        ok = ok && sr_tok_reserve(w, &ends, &cap_ends, n, sizeof *w->word_ends);
        w->word_ends = ends;
        if (!ok)
            return false;
        w->cap_word = cap;
    }
    w->n_word = 0;
    if (w->t->is_bpe)
        sr_tok_bpe(w, p, n);
    else
        sr_tok_wordpiece(w, p, n);
    return w->rc == SR_OK;
}

#define KEY_WORDS (SR_TOK_KEY_MAX / 8)

/* The word as numbers, zeros behind its end; returns how many count: key[0..returned). */
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

static inline size_t cache_slot(const struct sr_tok_work *w, const uint64_t *key, size_t count, size_t n)
{
    uint64_t h = w->seed ^ n;
    for (size_t i = 0; i < count; i++) {
        h = (h ^ key[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    return (size_t)(h >> 3) % SR_TOK_CACHE_SLOTS;
}

static void remember(struct sr_tok_work *w, struct sr_tok_cached *cached, const uint64_t *key, size_t count,
                     size_t n)
{
    if (w->n_word > SR_TOK_CACHED_MAX)
        return;
    memcpy(cached->key, key, count * sizeof *key);
    cached->length = (uint8_t)n;
    cached->n = (uint8_t)w->n_word;
    for (size_t i = 0; i < w->n_word; i++) {
        cached->ids[i] = w->word_ids[i];
        cached->ends[i] = (uint8_t)w->word_ends[i];
    }
}

static void one_word(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b)
{
    size_t n = b - a;
    uint64_t key[KEY_WORDS];
    if (n > SR_TOK_KEY_MAX) {
        if (run_model(w, text->p + a, n))
            emit(w, text, a, w->word_ids, NULL, w->word_ends, w->n_word);
        return;
    }
    size_t count = load_key(key, text->p + a, n, text->p == text->own ? SR_TOK_KEY_MAX : text->n - a);
    struct sr_tok_cached *cached = &w->cache[cache_slot(w, key, count, n)];
    bool known = cached->length == n;
    for (size_t i = 0; i < count; i++)
        known &= cached->key[i] == key[i];
    if (known) {
        emit(w, text, a, cached->ids, cached->ends, NULL, cached->n);
        return;
    }
    if (!run_model(w, text->p + a, n))
        return;
    emit(w, text, a, w->word_ids, NULL, w->word_ends, w->n_word);
    remember(w, cached, key, count, n);
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

/* ---- added tokens ---- */

static bool is_word_before(const char *p, size_t a, size_t i)
{
    int32_t cp;
    if (i == a)
        return false;
    for (i--; i > a && sr_unicode_is_tail(p[i]);)
        i--;
    sr_unicode_decode(p + i, &cp);
    return sr_unicode_flags(cp) & SR_UNICODE_WORD;
}

static bool is_word_at(const char *p, size_t b, size_t i)
{
    int32_t cp;
    if (i == b)
        return false;
    sr_unicode_decode(p + i, &cp);
    return sr_unicode_flags(cp) & SR_UNICODE_WORD;
}

static size_t spaces_before(const char *p, size_t a, size_t i)
{
    int32_t cp;
    while (i > a) {
        size_t from = i - 1;
        while (from > a && sr_unicode_is_tail(p[from]))
            from--;
        sr_unicode_decode(p + from, &cp);
        if (!(sr_unicode_flags(cp) & SR_UNICODE_SPACE))
            break;
        i = from;
    }
    return i;
}

static size_t spaces_behind(const char *p, size_t b, size_t i)
{
    int32_t cp;
    while (i < b) {
        size_t length = sr_unicode_decode(p + i, &cp);
        if (!(sr_unicode_flags(cp) & SR_UNICODE_SPACE))
            break;
        i += length;
    }
    return i;
}

static void emit_added(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b, int32_t id)
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

typedef void on_gap(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b);

/* Cuts the added tokens of `set` out of text[a..b), leftmost and longest; what is between goes to `gap`. */
static void cut_added(struct sr_tok_work *w, const struct sr_tok_added_set *set, struct sr_tok_text *text,
                      size_t a, size_t b, on_gap *gap)
{
    const char *p = text->p;
    size_t done = a, length;
    for (size_t i = a; set->any && i < b && !w->stop;) {
        int32_t which = set->first[(unsigned char)p[i]]
                            ? sr_tok_trie_longest(&set->trie, 0, p + i, b - i, &length)
                            : SR_TOK_NONE;
        if (which == SR_TOK_NONE) {
            i++;
            continue;
        }
        const struct sr_tok_added *added = &w->t->added[which];
        size_t start = i, end = i + length;
        i = end;
        if (added->single_word && (is_word_before(p, a, start) || is_word_at(p, b, end)))
            continue;
        if (added->lstrip) {
            start = spaces_before(p, a, start);
            start = start > done ? start : done;
        }
        if (added->rstrip)
            end = spaces_behind(p, b, end);
        if (done < start)
            gap(w, text, done, start);
        if (start < end && !w->stop)
            emit_added(w, text, start, end, added->id);
        done = end;
    }
    if (done < b && !w->stop)
        gap(w, text, done, b);
}

static void normalized_gap(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b)
{
    sr_tok_split(w, 0, text, a, b);
}

static void raw_gap(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b)
{
    sr_tok_normalize(w, text, a, b, &text, &a, &b);
    if (a < b)
        cut_added(w, &w->t->normalized, text, a, b, normalized_gap);
}

/* ---- a call ---- */

static void base_text(struct sr_tok_work *w)
{
    struct sr_bytes s = w->original;
    size_t start = 0, i = 0;
    bool valid = true;
    while (i < s.n && valid) {
        uint64_t eight;
        if (s.n - i >= 8 && (memcpy(&eight, s.p + i, 8), !(eight & UINT64_C(0x8080808080808080)))) {
            i += 8;
            continue;
        }
        size_t n = sr_unicode_unit(s.p + i, s.n - i, &valid);
        i += valid ? n : 0;
    }
    sr_tok_text_clear(&w->base);
    if (valid) {
        void *runs = w->base.runs;
        if (sr_tok_reserve(w, &runs, &w->base.cap_runs, 1, sizeof *w->base.runs)) {
            w->base.runs = runs;
            w->base.runs[0] = (struct sr_tok_run){0, 0};
        }
        w->base.n_runs = 1;
        w->base.p = s.p;
        w->base.n = s.n;
        return;
    }
    for (i = 0; i < s.n && !w->rc; i = start) {
        size_t n = sr_unicode_unit(s.p + i, s.n - i, &valid);
        start = i + n;
        if (valid)
            sr_tok_text_put(w, &w->base, s.p + i, n, (uint32_t)i);
        else
            sr_tok_text_put(w, &w->base, "\xEF\xBF\xBD", 3, (uint32_t)i);
    }
}

static void work_free(struct sr_tok_work *w)
{
    if (!w)
        return;
    sr_tok_text_dispose(&w->base);
    for (size_t i = 0; i < 2; i++)
        sr_tok_text_dispose(&w->norm[i]);
    for (size_t i = 0; i < SR_TOK_STEPS_MAX; i++)
        sr_tok_text_dispose(&w->pre[i]);
    sr_mem_free(w->ids);
    sr_mem_free(w->starts);
    sr_mem_free(w->ends);
    sr_mem_free(w->word_ids);
    sr_mem_free(w->word_ends);
    sr_mem_free(w->symbols);
    sr_mem_free(w->heap);
    sr_mem_free(w->cache);
    sr_mem_free(w);
}

static struct sr_tok_work *work_take(struct sr_tokenizer *t)
{
    struct sr_tok_work *w;
    for (size_t i = 0; i < SR_TOK_POOL; i++)
        if ((w = atomic_exchange(&t->pool[i], NULL)))
            return w;
    w = sr_mem_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->t = t;
    w->cache = sr_mem_calloc(SR_TOK_CACHE_SLOTS, sizeof *w->cache);
    if (!w->cache || sr_random(&w->seed, sizeof w->seed)) {
        work_free(w);
        return NULL;
    }
    return w;
}

static void work_give(struct sr_tokenizer *t, struct sr_tok_work *w)
{
    if (w->original.n <= KEEP_MAX) {
        w->original = (struct sr_bytes){0};
        for (size_t i = 0; i < SR_TOK_POOL; i++) {
            struct sr_tok_work *none = NULL;
            if (atomic_compare_exchange_strong(&t->pool[i], &none, w))
                return;
        }
    }
    work_free(w);
}

/* Runs the text through all stages but the template; stops soon behind `limit` tokens. */
static int run(struct sr_tok_work *w, struct sr_bytes text, bool offsets, size_t limit)
{
    w->original = text;
    w->offsets = offsets;
    w->limit = limit;
    w->stop = false;
    w->rc = SR_OK;
    w->n = 0;
    base_text(w);
    if (text.n && !w->rc)
        cut_added(w, &w->t->raw, &w->base, 0, w->base.n, raw_gap);
    return w->rc;
}

static size_t around(const struct sr_tokenizer *t, unsigned flags)
{
    return flags & SR_TOKENIZER_SPECIAL ? t->n_before + t->n_after : 0;
}

static void copy_out(const struct sr_tok_work *w, unsigned flags, struct sr_tokens *out)
{
    const struct sr_tokenizer *t = w->t;
    size_t before = flags & SR_TOKENIZER_SPECIAL ? t->n_before : 0;
    for (size_t i = 0; i < out->n && i < out->cap; i++) {
        bool inner = i >= before && i - before < w->n;
        out->ids[i] = inner ? w->ids[i - before] : i < before ? t->before[i] : t->after[i - before - w->n];
        if (!(flags & SR_TOKENIZER_NO_OFFSETS)) {
            out->starts[i] = inner ? w->starts[i - before] : 0;
            out->ends[i] = inner ? w->ends[i - before] : 0;
        }
    }
}

/* `arena`: where out's arrays come from; NULL: they are the caller's. */
static int encode(struct sr_tokenizer *t, struct sr_bytes text, unsigned flags, struct sr_arena *arena,
                  struct sr_tokens *out)
{
    out->n = 0;
    if (text.n > SR_TOKENIZER_TEXT_MAX)
        return SR_ELIMIT;
    struct sr_tok_work *w = work_take(t);
    if (!w)
        return SR_ENOMEM;
    int rc = run(w, text, !(flags & SR_TOKENIZER_NO_OFFSETS), SIZE_MAX);
    out->n = rc ? 0 : w->n + around(t, flags);
    if (rc == SR_OK && arena) {
        out->cap = out->n;
        out->ids = sr_arena_alloc(arena, (out->n + 1) * sizeof *out->ids);
        out->starts = out->ends = NULL;
        if (!(flags & SR_TOKENIZER_NO_OFFSETS)) {
            out->starts = sr_arena_alloc(arena, (out->n + 1) * sizeof *out->starts);
            out->ends = sr_arena_alloc(arena, (out->n + 1) * sizeof *out->ends);
        }
        if (!out->ids || (!(flags & SR_TOKENIZER_NO_OFFSETS) && (!out->starts || !out->ends)))
            rc = SR_ENOMEM;
    }
    if (rc == SR_OK)
        copy_out(w, flags, out);
    work_give(t, w);
    return rc ? rc : out->n > out->cap ? SR_ELIMIT : SR_OK;
}

int sr_tokenizer_encode(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags,
                        struct sr_tokens *out)
{
    return encode(tokenizer, text, flags, NULL, out);
}

int sr_tokenizer_encode_arena(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags,
                              struct sr_arena *arena, struct sr_tokens *out)
{
    return encode(tokenizer, text, flags, arena, out);
}

int sr_tokenizer_count(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags, size_t *n)
{
    struct sr_tokens none = {0};
    int rc = encode(tokenizer, text, flags | SR_TOKENIZER_NO_OFFSETS, NULL, &none);
    *n = none.n;
    return rc == SR_ELIMIT && text.n <= SR_TOKENIZER_TEXT_MAX ? SR_OK : rc;
}

/* End of the latest of the first `n` tokens that ends before `below`; 0 when there is none. */
static size_t cut_below(const struct sr_tok_work *w, size_t n, size_t below)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++)
        if (w->ends[i] < below && w->ends[i] > best)
            best = w->ends[i];
    return best;
}

int sr_tokenizer_fit(struct sr_tokenizer *tokenizer, struct sr_bytes text, unsigned flags, size_t max_tokens,
                     size_t *length)
{
    size_t own = around(tokenizer, flags);
    *length = 0;
    if (text.n > SR_TOKENIZER_TEXT_MAX)
        return SR_ELIMIT;
    if (max_tokens < own)
        return SR_OK;
    size_t room_for = max_tokens - own, cut = text.n;
    struct sr_tok_work *w = work_take(tokenizer);
    if (!w)
        return SR_ENOMEM;
    int rc;
    size_t tries = 0;
    /* What fits inside the whole may not fit on its own; then one token less, of the piece's own tokens. A
     * text that goes on like this loses more and more, so that the time stays bounded. */
    while ((rc = run(w, sr_bytes_of(text.p, cut), true, room_for)) == SR_OK && w->n > room_for) {
        size_t less = tries < 4 ? 0 : (size_t)1 << (tries < 40 ? tries - 4 : 36);
        cut = cut_below(w, room_for > less ? room_for - less : 0, cut);
        tries++;
    }
    if (rc == SR_OK)
        *length = cut;
    work_give(tokenizer, w);
    return rc;
}

/* ---- the handle ---- */

struct sr_tokenizer *sr_tokenizer_ref(struct sr_tokenizer *tokenizer)
{
    sr_ref_get(&tokenizer->ref);
    return tokenizer;
}

void sr_tokenizer_unref(struct sr_tokenizer *tokenizer)
{
    if (!tokenizer || !sr_ref_put(&tokenizer->ref))
        return;
    for (size_t i = 0; i < SR_TOK_POOL; i++)
        work_free(tokenizer->pool[i]);
    sr_tok_trie_dispose(&tokenizer->raw.trie);
    sr_tok_trie_dispose(&tokenizer->normalized.trie);
    sr_tok_trie_dispose(&tokenizer->wordpiece.trie);
    sr_arena_dispose(&tokenizer->arena);
    sr_mem_free(tokenizer);
}

size_t sr_tokenizer_size(const struct sr_tokenizer *tokenizer)
{
    return tokenizer->vocab.size;
}

struct sr_bytes sr_tokenizer_token(const struct sr_tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && (size_t)id < tokenizer->vocab.size ? tokenizer->vocab.tokens[id] : (struct sr_bytes){0};
}

int32_t sr_tokenizer_id(const struct sr_tokenizer *tokenizer, struct sr_bytes token)
{
    return sr_tok_vocab_find(&tokenizer->vocab, token);
}

bool sr_tokenizer_is_special(const struct sr_tokenizer *tokenizer, int32_t id)
{
    for (size_t i = 0; i < tokenizer->n_added; i++)
        if (tokenizer->added[i].id == id && tokenizer->added[i].special)
            return true;
    return false;
}

size_t sr_tokenizer_template_size(const struct sr_tokenizer *tokenizer)
{
    return tokenizer->n_before + tokenizer->n_after;
}
