/*
 * Unigram: of all ways to cut a word into pieces, the one with the largest sum of scores (Viterbi).
 *
 * The steps and their order are the reference's (tokenizers, models/unigram, encode_optimized): sums are
 * doubles from left to right, of equal sums the first found stays, a character that is no piece costs a fixed
 * score, and unknown neighbours become one token. Time is the word's bytes times the longest piece at most;
 * scores are kept only as far back as a piece reaches.
 */
#include "model/tokenizer/private.h"

#define RING         1024u /* positions whose scores are kept; more than a piece and a character have */
#define UNKNOWN_CHAR (-2)  /* in `path`: one character, no piece */

_Static_assert(RING > SR_TOK_PIECE_MAX + SR_UTF8_MAX, "a piece ends within the ring");

struct search {
    const struct sr_tok_unigram *model;
    int32_t *path; /* [n + 1]; SR_TOK_NONE: not reached */
    double scores[RING];
};

static inline void offer(struct search *s, size_t at, double score, int32_t id)
{
    if (s->path[at] != SR_TOK_NONE && !(score > s->scores[at % RING]))
        return;
    s->path[at] = id;
    s->scores[at % RING] = score;
}

/* Offers every piece that begins at p[i], whose first character has `length` bytes. */
static inline void step(struct search *s, const char *p, size_t n, size_t i, size_t length)
{
    const struct sr_tok_pieces *pieces = &s->model->pieces;
    double here = i ? s->scores[i % RING] : 0;
    uint32_t node = pieces->root[(unsigned char)p[i]];
    bool single = false;
    for (size_t end = i + 1; node; node = sr_tok_pieces_child(pieces, node, p[end++])) {
        int32_t id = pieces->nodes[node].value;
        if (id != SR_TOK_NONE) {
            offer(s, end, s->model->scores[id] + here, id);
            single |= end - i == length;
        }
        if (end == n)
            break;
    }
    if (!single)
        offer(s, i + length, s->model->unk_score + here, UNKNOWN_CHAR);
}

/* The tokens of an unknown run, which may be a token as a whole, or its bytes'; written before word_ids[k].
 * Returns the first one's place. */
static size_t put_unknown(struct sr_tok_work *w, const char *p, size_t from, size_t to, size_t k)
{
    const struct sr_tokenizer *t = w->t;
    const int32_t *fallback = t->unigram.fallback;
    bool bytes = t->unigram.byte_fallback;
    int32_t whole = sr_tok_vocab_find(&t->vocab, sr_bytes_of(p + from, to - from));
    whole = whole != SR_TOK_NONE && (size_t)whole < t->unigram.n ? whole : SR_TOK_NONE;
    for (size_t i = from; bytes && i < to; i++)
        bytes = fallback[(unsigned char)p[i]] != SR_TOK_NONE;
    if (whole != SR_TOK_NONE || !bytes) {
        w->word_ids[--k] = whole != SR_TOK_NONE ? whole : t->unk;
        w->word_ends[k] = (uint32_t)to;
        return k;
    }
    for (size_t i = to; i > from; i--) {
        w->word_ids[--k] = fallback[(unsigned char)p[i - 1]];
        w->word_ends[k] = (uint32_t)to;
    }
    return k;
}

/* Follows the best way from the end; the tokens fill word_ids[.., n) from behind, then move to its front. */
static void read_path(struct sr_tok_work *w, const char *p, size_t n)
{
    const struct sr_tokenizer *t = w->t;
    size_t k = n, at = n, unknown = 0; /* end of the unknown run in progress, 0: none */
    while (at > 0) {
        int32_t id = w->path[at];
        size_t from = at - 1;
        if (id == UNKNOWN_CHAR)
            while (from > 0 && sr_utf8_is_tail(p[from]))
                from--;
        else
            from = at - t->vocab.tokens[id].n;
        if (id == UNKNOWN_CHAR || id == t->unk) {
            unknown = unknown ? unknown : at;
        } else {
            if (unknown)
                k = put_unknown(w, p, at, unknown, k);
            unknown = 0;
            w->word_ids[--k] = id;
            w->word_ends[k] = (uint32_t)at;
        }
        at = from;
    }
    if (unknown)
        k = put_unknown(w, p, 0, unknown, k);
    w->n_word = n - k;
    memmove(w->word_ids, w->word_ids + k, w->n_word * sizeof *w->word_ids);
    memmove(w->word_ends, w->word_ends + k, w->n_word * sizeof *w->word_ends);
}

void sr_tok_unigram(struct sr_tok_work *w, const char *p, size_t n)
{
    struct search s;
    int32_t cp;
    if (!sr_tok_reserve(w, &w->path, &w->cap_path, n + 1, sizeof *w->path))
        return;
    s.model = &w->t->unigram;
    s.path = w->path;
    memset(s.path, 0xFF, (n + 1) * sizeof *s.path);
    for (size_t i = 0, length; i < n; i += length) {
        length = sr_utf8_decode_valid(p + i, &cp);
        step(&s, p, n, i, length);
    }
    read_path(w, p, n);
}
