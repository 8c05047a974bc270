/*
 * Byte-pair encoding: the pair with the lowest rank merges first, of equal pairs the leftmost.
 *
 * Words of few symbols search all ranks for each merge; longer ones use a heap. A heap entry is outdated when
 * its rank differs from its symbol's rank.
 */
#include "model/tokenizer/private.h"

#define SMALL   48u /* symbols */
#define NO_RANK UINT32_MAX
#define NO_NEXT UINT32_MAX

static inline const struct sr_tok_merge *find_merge(const struct sr_tok_bpe *bpe, int32_t left, int32_t right)
{
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    size_t slot = (size_t)((pair * UINT64_C(0x9E3779B97F4A7C15)) >> 28) & bpe->mask;
    while (bpe->merges[slot].pair != pair) {
        if (bpe->merges[slot].pair == UINT64_MAX)
            return NULL;
        slot = (slot + 1) & bpe->mask;
    }
    return &bpe->merges[slot];
}

static void rank_pair(const struct sr_tok_bpe *bpe, struct sr_tok_symbol *left,
                      const struct sr_tok_symbol *right)
{
    const struct sr_tok_merge *merge = find_merge(bpe, left->id, right->id);
    left->rank = merge ? merge->rank : NO_RANK;
    left->merged = merge ? merge->id : SR_TOK_NONE;
}

/* Looks in the model's own vocabulary, which does not contain all added tokens. */
static int32_t find_own(const struct sr_tokenizer *t, const char *p, size_t n)
{
    int32_t id = sr_tok_vocab_find(&t->vocab, sr_bytes_of(p, n));
    return id != SR_TOK_NONE && t->foreign[id] ? SR_TOK_NONE : id;
}

/* ---- symbols of a word ---- */

struct builder {
    struct sr_tok_work *w;
    size_t n;
    int32_t unk; /* an unknown run that is not written yet, SR_TOK_NONE: none */
    uint32_t unk_length;
};

static void add(struct builder *b, int32_t id, uint32_t length)
{
    b->w->symbols[b->n++] = (struct sr_tok_symbol){.id = id, .length = length};
}

static void flush_unknown(struct builder *b)
{
    if (b->unk != SR_TOK_NONE)
        add(b, b->unk, b->unk_length);
    b->unk = SR_TOK_NONE;
}

static void add_unknown(struct builder *b, uint32_t length)
{
    const struct sr_tokenizer *t = b->w->t;
    if (t->unk == SR_TOK_NONE)
        return;
    if (b->unk != SR_TOK_NONE && t->bpe.fuse_unk) {
        b->unk_length += length;
        return;
    }
    flush_unknown(b);
    b->unk = t->unk;
    b->unk_length = length;
}

static bool add_fallback(struct builder *b, const char *p, size_t n)
{
    const int32_t *fallback = b->w->t->bpe.fallback;
    for (size_t i = 0; i < n; i++)
        if (fallback[(unsigned char)p[i]] == SR_TOK_NONE)
            return false;
    for (size_t i = 0; i < n; i++)
        add(b, fallback[(unsigned char)p[i]], 1);
    return true;
}

/* The symbol of one character, with the model's prefix of inner characters and suffix of last characters. */
static int32_t char_id(const struct sr_tokenizer *t, const char *p, size_t n, bool first, bool last)
{
    const struct sr_tok_bpe *bpe = &t->bpe;
    char text[SR_TOKENIZER_TOKEN_MAX];
    struct sr_bytes prefix = first ? SR_LIT("") : bpe->prefix, suffix = last ? bpe->suffix : SR_LIT("");
    int32_t cp;
    if (bpe->chars && sr_utf8_decode_valid(p, &cp) < 4)
        return bpe->chars[cp];
    if (prefix.n + suffix.n == 0)
        return find_own(t, p, n);
    if (prefix.n)
        memcpy(text, prefix.p, prefix.n);
    memcpy(text + prefix.n, p, n);
    if (suffix.n)
        memcpy(text + prefix.n + n, suffix.p, suffix.n);
    return find_own(t, text, prefix.n + n + suffix.n);
}

static size_t build(struct sr_tok_work *w, const char *p, size_t n)
{
    const struct sr_tok_bpe *bpe = &w->t->bpe;
    struct builder b = {w, 0, SR_TOK_NONE, 0};
    int32_t cp;
    for (size_t i = 0, length; i < n; i += length) {
        length = bpe->byte_level ? 1 : sr_utf8_decode_valid(p + i, &cp);
        int32_t id = bpe->byte_level ? bpe->bytes[(unsigned char)p[i]]
                                     : char_id(w->t, p + i, length, i == 0, i + length == n);
        if (id != SR_TOK_NONE) {
            flush_unknown(&b);
            add(&b, id, (uint32_t)length);
        } else if (!bpe->byte_fallback || !add_fallback(&b, p + i, length)) {
            add_unknown(&b, (uint32_t)length);
        }
    }
    flush_unknown(&b);
    return b.n;
}

/* ---- merging ---- */

/* The symbols of a short word, with adjacent ranks so that the lowest is found quickly. */
struct small {
    uint32_t ranks[SMALL], lengths[SMALL];
    int32_t ids[SMALL], merged[SMALL];
};

static inline void small_rank(const struct sr_tok_bpe *bpe, struct small *s, size_t i, size_t n)
{
    const struct sr_tok_merge *merge = i + 1 < n ? find_merge(bpe, s->ids[i], s->ids[i + 1]) : NULL;
    s->ranks[i] = merge ? merge->rank : NO_RANK;
    s->merged[i] = merge ? merge->id : SR_TOK_NONE;
}

static inline size_t lowest_rank(const uint32_t *ranks, size_t n)
{
    uint32_t low = NO_RANK;
    for (size_t i = 0; i < n; i++)
        low = ranks[i] < low ? ranks[i] : low;
    size_t at = 0;
    while (low != NO_RANK && ranks[at] != low)
        at++;
    return low == NO_RANK ? n : at;
}

static size_t merge_small(const struct sr_tok_bpe *bpe, struct sr_tok_symbol *symbols, size_t n)
{
    struct small s;
    if (n < 2)
        return n;
    for (size_t i = 0; i < n; i++) {
        s.ids[i] = symbols[i].id;
        s.lengths[i] = symbols[i].length;
    }
    for (size_t i = 0; i < n; i++)
        small_rank(bpe, &s, i, n);
    for (size_t at; (at = lowest_rank(s.ranks, n)) < n;) {
        size_t rest = n - at - 2; /* symbols after the pair */
        s.ids[at] = s.merged[at];
        s.lengths[at] += s.lengths[at + 1];
        memmove(&s.ids[at + 1], &s.ids[at + 2], rest * sizeof *s.ids);
        memmove(&s.lengths[at + 1], &s.lengths[at + 2], rest * sizeof *s.lengths);
        memmove(&s.ranks[at + 1], &s.ranks[at + 2], rest * sizeof *s.ranks);
        memmove(&s.merged[at + 1], &s.merged[at + 2], rest * sizeof *s.merged);
        n--;
        small_rank(bpe, &s, at, n);
        if (at > 0)
            small_rank(bpe, &s, at - 1, n);
    }
    for (size_t i = 0; i < n; i++) {
        symbols[i].id = s.ids[i];
        symbols[i].length = s.lengths[i];
    }
    return n;
}

static void heap_push(struct sr_tok_work *w, uint64_t entry)
{
    if (!sr_tok_reserve(w, &w->heap, &w->cap_heap, w->n_heap + 1, sizeof *w->heap))
        return;
    size_t i = w->n_heap++;
    for (; i > 0 && w->heap[(i - 1) / 2] > entry; i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = entry;
}

static uint64_t heap_pop(struct sr_tok_work *w)
{
    uint64_t top = w->heap[0], last = w->heap[--w->n_heap];
    size_t i = 0, n = w->n_heap;
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && w->heap[child + 1] < w->heap[child];
        if (w->heap[child] >= last)
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = last;
    return top;
}

static void rank_and_push(struct sr_tok_work *w, uint32_t at)
{
    struct sr_tok_symbol *s = w->symbols;
    s[at].rank = NO_RANK;
    if (s[at].next == NO_NEXT)
        return;
    rank_pair(&w->t->bpe, &s[at], &s[s[at].next]);
    if (s[at].rank != NO_RANK)
        heap_push(w, (uint64_t)s[at].rank << 32 | at);
}

static size_t merge_long(struct sr_tok_work *w, size_t n)
{
    struct sr_tok_symbol *s = w->symbols;
    for (size_t i = 0; i < n; i++) {
        s[i].prev = i ? (uint32_t)i - 1 : NO_NEXT;
        s[i].next = i + 1 < n ? (uint32_t)i + 1 : NO_NEXT;
    }
    w->n_heap = 0;
    for (size_t i = 0; i < n; i++)
        rank_and_push(w, (uint32_t)i);
    while (w->n_heap && !w->rc) {
        uint64_t top = heap_pop(w);
        uint32_t at = (uint32_t)top;
        if (s[at].rank != top >> 32)
            continue;
        uint32_t gone = s[at].next;
        s[at].id = s[at].merged;
        s[at].length += s[gone].length;
        s[at].next = s[gone].next;
        s[gone].rank = NO_RANK;
        if (s[at].next != NO_NEXT)
            s[s[at].next].prev = at;
        rank_and_push(w, at);
        if (s[at].prev != NO_NEXT)
            rank_and_push(w, s[at].prev);
    }
    size_t kept = 0;
    for (uint32_t i = 0; i != NO_NEXT && n; kept++) {
        uint32_t next = s[i].next;
        s[kept] = s[i];
        i = next;
    }
    return kept;
}

void sr_tok_bpe(struct sr_tok_work *w, const char *p, size_t n)
{
    const struct sr_tokenizer *t = w->t;
    if (t->bpe.ignore_merges) {
        int32_t id =
            t->bpe.byte_level ? sr_tok_vocab_find(&t->byte_words, sr_bytes_of(p, n)) : find_own(t, p, n);
        if (id != SR_TOK_NONE) {
            sr_tok_word_put(w, id, (uint32_t)n);
            return;
        }
    }
    if (!sr_tok_reserve(w, &w->symbols, &w->cap_symbols, n, sizeof *w->symbols))
        return;
    size_t count = build(w, p, n);
    count = count <= SMALL ? merge_small(&t->bpe, w->symbols, count) : merge_long(w, count);
    uint32_t end = 0;
    for (size_t i = 0; i < count; i++)
        sr_tok_word_put(w, w->symbols[i].id, end += w->symbols[i].length);
}
