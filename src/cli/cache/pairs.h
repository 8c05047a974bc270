/*
 * Pairs of questions for `cache calibrate`: read from a file with labels, or guessed from the questions of a
 * log.
 */
#ifndef SR_CLI_CACHE_PAIRS_H
#define SR_CLI_CACHE_PAIRS_H

#include "base/arena.h"
#include "base/err.h"
#include "cache/gate/gate.h"
#include "infer/engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define SR_PAIRS_MAX     200000 /* pairs of a file */
#define SR_QUESTIONS_MAX 4000   /* different questions of a log that are compared; the first ones */
#define SR_NEIGHBOURS    3      /* of a question, which become pairs */
#define SR_NEIGHBOUR_MIN 0.7F   /* cosine of a pair that is guessed, at least */

struct sr_pair {
    uint32_t a, b;  /* of texts */
    bool same;      /* one answer is right for both */
    uint8_t reason; /* enum sr_gate_reason */
    float cosine;
};

struct sr_pairs {
    struct sr_arena arena;  /* of the texts */
    struct sr_bytes *texts; /* each once */
    size_t n_texts, cap_texts;
    struct sr_pair *items;
    size_t n, cap;
    bool guessed;
    size_t repeated; /* guessed: questions that stand in the log more than once, counted each time but the
                        first */
    size_t left_out; /* guessed: different questions beyond SR_QUESTIONS_MAX */
    uint32_t *slots; /* of texts by their hash, text + 1; 0: free */
    size_t n_slots;
};

void sr_pairs_init(struct sr_pairs *pairs);
void sr_pairs_dispose(struct sr_pairs *pairs);

/* Lines of {"a", "b", "same"}, or of {"text"}: then there are texts and no pairs yet. "-" is standard input.
 * SR_EPARSE, SR_ELIMIT, SR_ENOENT, SR_EIO, SR_ENOMEM with a message that names file and line. */
int sr_pairs_read(struct sr_pairs *pairs, const char *path, struct sr_err *err) SR_WARN_UNUSED;

/* Adds a pair of texts by number. SR_ELIMIT, SR_ENOMEM. */
int sr_pairs_add(struct sr_pairs *pairs, struct sr_pair pair) SR_WARN_UNUSED;

/* Computes the vectors of the texts, guesses pairs where there are none, and sets cosine and reason of each.
 * Shows its progress on a terminal. */
int sr_pairs_compare(struct sr_pairs *pairs, struct sr_encoder *encoder, struct sr_infer *infer,
                     struct sr_err *err) SR_WARN_UNUSED;

/* The cosine from which a pair would be found, of rounded figures: 0.85 is at least 0.85. */
static inline bool sr_pair_is_near(const struct sr_pair *pair, double threshold)
{
    return (double)pair->cosine >= threshold - 1e-6;
}

#endif
