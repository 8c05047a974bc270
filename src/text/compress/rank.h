/*
 * The four scores of a sentence (arXiv 2603.12646, section IV-B1): centrality, position, information density,
 * novelty, each at most 1.
 *
 * TextRank works on the graph of cosine similarities, but never forms its n x n matrix: with the rows of the
 * term matrix scaled to length 1, A, the graph is A A' without its diagonal, so one step of the power
 * iteration is two passes over the entries of A. Memory and time are linear in the entries. Pure and
 * single-threaded.
 */
#ifndef SR_TEXT_COMPRESS_RANK_H
#define SR_TEXT_COMPRESS_RANK_H

#include "text/terms/terms.h"

#define SR_RANK_DAMPING    0.85
#define SR_RANK_TOLERANCE  1e-5
#define SR_RANK_ITERATIONS 100

struct sr_scores {
    double textrank; /* the largest is 1 */
    double position; /* 1 - depth * sin(pi * i / (n - 1)); 1 for a lone sentence */
    double tfidf;    /* the largest is 1, or all are 0 */
    double novelty;  /* 1 - cosine to the centroid, divided by the largest; all 0 when not requested */
};

/* Scratch memory, kept between calls. Starts as {0}. */
struct sr_rank {
    void *space;
    size_t size;    /* bytes */
    int iterations; /* of the latest ranking */
};

void sr_rank_dispose(struct sr_rank *rank);

struct sr_rank_options {
    double depth;      /* of the U over positions; clamped to 0..1 */
    bool novelty;      /* false: that score is 0 */
    bool as_published; /* the power iteration exactly as published; else fewer steps to the same tolerance */
};

/* Scores `n` rows of `terms` into scores[0..n): the rows `chosen`[i], or all in order when NULL (n is then
 * their number). SR_ENOMEM. */
int sr_rank_run(struct sr_rank *rank, const struct sr_terms *terms, const uint32_t *chosen, size_t n,
                struct sr_rank_options options, struct sr_scores *scores) SR_WARN_UNUSED;

#endif
