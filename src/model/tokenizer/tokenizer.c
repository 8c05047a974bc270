/* The stages of a text, and the handle. See private.h for the stages. */
#include "model/tokenizer/private.h"

#include "base/hash.h"
#include "base/mem.h"

#define KEEP_MAX ((size_t)1 << 20) /* bytes of text; working memory that grew beyond this is freed */

/* ---- added tokens ---- */

static bool is_word_before(const char *p, size_t a, size_t i)
{
    int32_t cp;
    if (i == a)
        return false;
    for (i--; i > a && sr_utf8_is_tail(p[i]);)
        i--;
    sr_utf8_decode_valid(p + i, &cp);
    return sr_chars_flags(cp) & SR_CHARS_WORD;
}

static bool is_word_at(const char *p, size_t b, size_t i)
{
    int32_t cp;
    if (i == b)
        return false;
    sr_utf8_decode_valid(p + i, &cp);
    return sr_chars_flags(cp) & SR_CHARS_WORD;
}

static size_t spaces_before(const char *p, size_t a, size_t i)
{
    int32_t cp;
    while (i > a) {
        size_t from = i - 1;
        while (from > a && sr_utf8_is_tail(p[from]))
            from--;
        sr_utf8_decode_valid(p + from, &cp);
        if (!(sr_chars_flags(cp) & SR_CHARS_SPACE))
            break;
        i = from;
    }
    return i;
}

static size_t spaces_behind(const char *p, size_t b, size_t i)
{
    int32_t cp;
    while (i < b) {
        size_t length = sr_utf8_decode_valid(p + i, &cp);
        if (!(sr_chars_flags(cp) & SR_CHARS_SPACE))
            break;
        i += length;
    }
    return i;
}

typedef void on_gap(struct sr_tok_work *w, struct sr_tok_text *text, size_t a, size_t b);

/* Cuts the added tokens of `set` out of text[a..b), leftmost and longest; the text between them goes to
 * `gap`. */
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
            sr_tok_put_added(w, text, start, end, added->id);
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
        size_t n = sr_utf8_unit(s.p + i, s.n - i, &valid);
        i += valid ? n : 0;
    }
    sr_tok_text_clear(&w->base);
    if (valid) {
        if (sr_tok_reserve(w, &w->base.runs, &w->base.cap_runs, 1, sizeof *w->base.runs))
            w->base.runs[0] = (struct sr_tok_run){0, 0};
        w->base.n_runs = 1;
        w->base.p = s.p;
        w->base.n = s.n;
        return;
    }
    for (i = 0; i < s.n && !w->rc; i = start) {
        size_t n = sr_utf8_unit(s.p + i, s.n - i, &valid);
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
    sr_mem_free(w->path);
    sr_mem_free(w->symbols);
    sr_mem_free(w->heap);
    sr_mem_free(w->cache);
    sr_mem_free(w->long_cache);
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
    w->cache = sr_mem_calloc(SR_TOK_CACHE_SETS * SR_TOK_CACHE_WAYS, sizeof *w->cache);
    w->long_cache = sr_mem_calloc(SR_TOK_LONG_SLOTS, sizeof *w->long_cache);
    if (!w->cache || !w->long_cache || sr_random(&w->seed, sizeof w->seed)) {
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

/* Runs the text through all stages but the template; stops soon after `limit` tokens. */
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

/* `arena`: allocates out's arrays; NULL: the caller provides them. */
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
    *n = 0;
    if (text.n > SR_TOKENIZER_TEXT_MAX)
        return SR_ELIMIT;
    struct sr_tok_work *w = work_take(tokenizer);
    if (!w)
        return SR_ENOMEM;
    int rc = run(w, text, false, SIZE_MAX);
    if (rc == SR_OK)
        *n = w->n + around(tokenizer, flags);
    work_give(tokenizer, w);
    return rc;
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
    /* A piece that fits inside the whole may not fit on its own; then it loses one of its own tokens. A text
     * that repeats this loses more and more tokens, so that the time stays bounded. */
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
    sr_tok_pieces_dispose(&tokenizer->unigram.pieces);
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

size_t sr_tokenizer_template_size(const struct sr_tokenizer *tokenizer)
{
    return tokenizer->n_before + tokenizer->n_after;
}

struct sr_token_template sr_tokenizer_template(const struct sr_tokenizer *tokenizer)
{
    return (struct sr_token_template){.before = tokenizer->before,
                                      .after = tokenizer->after,
                                      .n_before = tokenizer->n_before,
                                      .n_after = tokenizer->n_after};
}
