/*
 * The methods to search for keywords. Private to the layer.
 *
 * Every keyword of every rule has a slot; a method is built over the slots it serves and writes a score
 * for each into scores[slot]. Methods are immutable after they are built; `keep_case` says how all their
 * words compare.
 */
#ifndef SR_SIGNAL_KEYWORD_KEYWORD_H
#define SR_SIGNAL_KEYWORD_KEYWORD_H

#include "base/arena.h"
#include "config/config.h"

struct sr_keyword_item {
    struct sr_bytes text;
    size_t slot;
    const struct sr_config_keyword *rule;
};

/* Okapi BM25 (Robertson and Zaragoza 2009, eq. 3.15; k1 1.2, b 0.75): the keywords of a rule are the
 * documents, the text is the query. A score is >= 0; a keyword that shares no word with the text has 0. */
struct sr_bm25;
int sr_bm25_new(struct sr_bm25 **out, const struct sr_keyword_item *items, size_t n,
                bool keep_case) SR_WARN_UNUSED;
void sr_bm25_free(struct sr_bm25 *bm25);
int sr_bm25_run(const struct sr_bm25 *bm25, struct sr_bytes text, struct sr_arena *arena,
                float *scores) SR_WARN_UNUSED;

/* Character n-grams: the best Jaccard similarity, 0..1, between a keyword and as many words in a row of the
 * text, both padded with spaces at the ends. */
struct sr_ngram;
int sr_ngram_new(struct sr_ngram **out, const struct sr_keyword_item *items, size_t n,
                 bool keep_case) SR_WARN_UNUSED;
void sr_ngram_free(struct sr_ngram *ngram);
int sr_ngram_run(const struct sr_ngram *ngram, struct sr_bytes text, struct sr_arena *arena,
                 float *scores) SR_WARN_UNUSED;

/* Levenshtein distance over code points, word by word: 1 where the words of the keyword occur in a row
 * with at most the edits together that `fuzzy_threshold` says, and none of them with more edits than half its
 * letters. Else the score is unchanged. */
struct sr_fuzzy;
int sr_fuzzy_new(struct sr_fuzzy **out, const struct sr_keyword_item *items, size_t n,
                 bool keep_case) SR_WARN_UNUSED;
void sr_fuzzy_free(struct sr_fuzzy *fuzzy);
void sr_fuzzy_run(const struct sr_fuzzy *fuzzy, struct sr_bytes text, float *scores);

#endif
