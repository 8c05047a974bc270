/*
 * BM25 in which only the text is unknown before a run: what a term adds to a keyword's score is a
 * constant, so a run reads the text once, marks its terms, and adds.
 *
 * Terms are words without English plurals; in scripts without spaces, pairs of neighbouring characters.
 * Common English function words count only in keywords that have no other words.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "base/unicode.h"
#include "signal/keyword/keyword.h"
#include "text/words.h"

#include <math.h>

#define K1 1.2
#define B  0.75

struct posting {
    uint32_t keyword;
    uint32_t term;
    float weight;
};

struct sr_bm25 {
    bool keep_case;
    size_t n_keywords, n_postings, n_terms;
    size_t *slots;            /* [n_keywords] */
    struct posting *postings; /* grouped by keyword */
    size_t mask;              /* of the open hash table */
    struct {
        uint64_t hash;
        uint32_t term; /* 0 = free, else number + 1 */
    } * table;
};

/* The terms of a text, one at a time. */
struct terms {
    struct sr_words words;
    struct sr_word word;
    char before[SR_UTF8_MAX * SR_UNICODE_FOLD_POINTS]; /* the dense character before, for pairs */
    size_t n_before, end_before;
    bool paired; /* it was already part of a pair */
    bool pending;
};

static uint64_t hash_word(struct sr_word *word)
{
    return sr_hash64(sr_bytes_of(word->folded, sr_words_stem(word->folded, word->n)), 0);
}

/* The next term: a dense character and its left neighbour, or a single dense character. */
static bool terms_next(struct terms *terms, uint64_t *hash)
{
    for (;;) {
        if (!terms->pending && !sr_words_next(&terms->words, &terms->word))
            break;
        terms->pending = false;
        struct sr_word *word = &terms->word;
        bool dense = word->class == SR_UNICODE_DENSE;
        bool joined = dense && terms->n_before && terms->end_before == word->start;
        if (terms->n_before && !joined && !terms->paired) {
            *hash = sr_hash64(sr_bytes_of(terms->before, terms->n_before), 0);
            terms->n_before = 0;
            terms->pending = true;
            return true;
        }
        if (!dense) {
            terms->n_before = 0;
            *hash = hash_word(word);
            return true;
        }
        char pair[sizeof terms->before * 2];
        size_t n = terms->n_before;
        memcpy(pair, terms->before, n);
        memcpy(pair + n, word->folded, word->n);
        *hash = sr_hash64(sr_bytes_of(pair, n + word->n), 0);
        memcpy(terms->before, word->folded, word->n);
        terms->n_before = word->n;
        terms->end_before = word->end;
        terms->paired = joined;
        if (joined)
            return true;
    }
    bool last = terms->n_before && !terms->paired;
    if (last)
        *hash = sr_hash64(sr_bytes_of(terms->before, terms->n_before), 0);
    terms->n_before = 0;
    return last;
}

static bool is_function_word(uint64_t hash)
{
    static const char *const words[] = {"a",    "an",  "and",  "are",  "as",   "at",  "be",   "by",
                                        "do",   "for", "from", "how",  "i",    "in",  "is",   "it",
                                        "me",   "my",  "not",  "of",   "on",   "or",  "that", "the",
                                        "this", "to",  "was",  "what", "with", "you", "your"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (hash == sr_hash64(sr_bytes_str(words[i]), 0))
            return true;
    return false;
}

static size_t find(const struct sr_bm25 *bm25, uint64_t hash)
{
    size_t at = hash & bm25->mask;
    while (bm25->table[at].term && bm25->table[at].hash != hash)
        at = (at + 1) & bm25->mask;
    return at;
}

/* The hashes of a keyword's terms into `out` (NULL: only counts). */
static size_t keyword_terms(const struct sr_bm25 *bm25, struct sr_bytes keyword, uint64_t *out)
{
    size_t n = 0, strong = 0;
    uint64_t hash;
    struct terms terms = {.words = sr_words_of(keyword, bm25->keep_case)};
    while (terms_next(&terms, &hash))
        strong += !is_function_word(hash);
    terms = (struct terms){.words = sr_words_of(keyword, bm25->keep_case)};
    while (terms_next(&terms, &hash)) {
        if (strong && is_function_word(hash))
            continue;
        if (out)
            out[n] = hash;
        n++;
    }
    return n;
}

/* Adds the postings of one keyword, weighted by how often the term is in it. */
static void add_keyword(struct sr_bm25 *bm25, size_t keyword, struct sr_bytes text, uint64_t *hashes)
{
    size_t first = bm25->n_postings, n = keyword_terms(bm25, text, hashes);
    for (size_t i = 0; i < n; i++) {
        size_t at = find(bm25, hashes[i]);
        if (!bm25->table[at].term) {
            bm25->table[at].hash = hashes[i];
            bm25->table[at].term = (uint32_t)++bm25->n_terms;
        }
        uint32_t term = bm25->table[at].term - 1;
        size_t p = first;
        while (p < bm25->n_postings && bm25->postings[p].term != term)
            p++;
        if (p == bm25->n_postings)
            bm25->postings[bm25->n_postings++] = (struct posting){(uint32_t)keyword, term, 0};
        bm25->postings[p].weight += 1;
    }
}

/* Turns counts into weights for the keywords [from, to) of one rule, whose postings are [first, last). */
static void weigh_rule(struct sr_bm25 *bm25, size_t n, size_t first, size_t last, uint32_t *df)
{
    double total = 0;
    for (size_t p = first; p < last; p++) {
        total += bm25->postings[p].weight;
        df[bm25->postings[p].term]++;
    }
    double average = total / (double)n;
    for (size_t p = first; p < last;) {
        size_t end = p;
        double length = 0;
        while (end < last && bm25->postings[end].keyword == bm25->postings[p].keyword)
            length += bm25->postings[end++].weight;
        for (; p < end; p++) {
            struct posting *posting = &bm25->postings[p];
            double tf = posting->weight, n_df = df[posting->term];
            double idf = log(1.0 + ((double)n - n_df + 0.5) / (n_df + 0.5));
            posting->weight = (float)(idf * tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average)));
        }
    }
    for (size_t p = first; p < last; p++)
        df[bm25->postings[p].term] = 0;
}

static int bm25_fill(struct sr_bm25 *bm25, const struct sr_keyword_item *items, size_t n, size_t most)
{
    uint64_t *hashes = sr_mem_calloc(most + 1, sizeof *hashes);
    uint32_t *df = sr_mem_calloc(most + 1, sizeof *df);
    if (hashes && df) {
        for (size_t i = 0; i < n;) {
            size_t first = i, first_posting = bm25->n_postings;
            for (; i < n && items[i].rule == items[first].rule; i++) {
                bm25->slots[i] = items[i].slot;
                add_keyword(bm25, i, items[i].text, hashes);
            }
            weigh_rule(bm25, i - first, first_posting, bm25->n_postings, df);
        }
    }
    int rc = hashes && df ? SR_OK : SR_ENOMEM;
    sr_mem_free(hashes);
    sr_mem_free(df);
    return rc;
}

int sr_bm25_new(struct sr_bm25 **out, const struct sr_keyword_item *items, size_t n, bool keep_case)
{
    struct sr_bm25 *bm25 = sr_mem_calloc(1, sizeof *bm25);
    size_t most = 0, size = 16;
    int rc = SR_ENOMEM;
    if (!bm25)
        return rc;
    bm25->keep_case = keep_case;
    bm25->n_keywords = n;
    for (size_t i = 0; i < n; i++)
        most += keyword_terms(bm25, items[i].text, NULL);
    while (size < most * 2)
        size *= 2;
    bm25->mask = size - 1;
    bm25->slots = sr_mem_calloc(n + 1, sizeof *bm25->slots);
    bm25->postings = sr_mem_calloc(most + 1, sizeof *bm25->postings);
    bm25->table = sr_mem_calloc(size, sizeof *bm25->table);
    if (bm25->slots && bm25->postings && bm25->table)
        rc = bm25_fill(bm25, items, n, most);
    if (rc)
        sr_bm25_free(bm25);
    else
        *out = bm25;
    return rc;
}

void sr_bm25_free(struct sr_bm25 *bm25)
{
    if (!bm25)
        return;
    sr_mem_free(bm25->slots);
    sr_mem_free(bm25->postings);
    sr_mem_free(bm25->table);
    sr_mem_free(bm25);
}

int sr_bm25_run(const struct sr_bm25 *bm25, struct sr_bytes text, struct sr_arena *arena, float *scores)
{
    bool *seen = sr_arena_calloc(arena, bm25->n_terms + 1, sizeof *seen);
    if (!seen)
        return SR_ENOMEM;
    struct terms terms = {.words = sr_words_of(text, bm25->keep_case)};
    uint64_t hash;
    while (terms_next(&terms, &hash)) {
        uint32_t term = bm25->table[find(bm25, hash)].term;
        if (term)
            seen[term - 1] = true;
    }
    for (size_t i = 0; i < bm25->n_keywords; i++)
        scores[bm25->slots[i]] = 0;
    for (size_t p = 0; p < bm25->n_postings; p++)
        if (seen[bm25->postings[p].term])
            scores[bm25->slots[bm25->postings[p].keyword]] += bm25->postings[p].weight;
    return SR_OK;
}
