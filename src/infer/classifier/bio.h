/*
 * Labels of tokens into spans of text: the BIO scheme.
 *
 * A label list ("O", "B-PERSON", "I-PERSON", ...) becomes types; each token gets its most probable type, the
 * B and I of a type counted together; neighbours of one type become one span. Pure functions over arrays;
 * nothing here knows encoders. A label without prefix counts as the inside of a type of its name.
 */
#ifndef SR_INFER_CLASSIFIER_BIO_H
#define SR_INFER_CLASSIFIER_BIO_H

#include "base/err.h"
#include "infer/classifier/word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_BIO_TYPES_MAX 64u

struct sr_bio {
    size_t n_labels;
    const char *types[SR_BIO_TYPES_MAX]; /* [n_types] names, borrowed from the labels */
    size_t n_types;
    uint8_t *type_of; /* [n_labels] 1 + index of the type, 0 = outside */
    bool *begins;     /* [n_labels] */
    /* What the case of a word does to the odds of a type; all 1 until sr_fusion_capitals has read others. */
    float odds[SR_WORD_CASES][SR_BIO_TYPES_MAX];
    float reach; /* the highest of them */
    bool cased;  /* one of them is not 1 */
};

/* SR_EMISMATCH when there is no label "O" or no other one, SR_ELIMIT for too many types, SR_ENOMEM. The
 * strings must outlive it. */
int sr_bio_open(struct sr_bio *out, const char *const *labels, size_t n_labels,
                struct sr_err *err) SR_WARN_UNUSED;
void sr_bio_close(struct sr_bio *bio); /* a zeroed one is allowed */

/* What a token is. */
struct sr_bio_token {
    uint8_t type;  /* 1 + index of the type, 0 = outside */
    bool begins;   /* looks like the first of its span */
    bool joined;   /* continues the word of the token before */
    float p;       /* probability of its type */
    float outside; /* of none */
};

/* Decides `n` tokens of one word together (their mean probabilities), from their logits [n][n_labels] divided
 * by `temperature`; all get the same type, the best one that the case of the word may still make of them. */
void sr_bio_word(const struct sr_bio *bio, const float *logits, size_t n, float temperature,
                 struct sr_bio_token *out);

/* Lets the case of each token's word [n] count: where it does not, a token is outside. */
void sr_bio_settle(const struct sr_bio *bio, const uint8_t *cases, struct sr_bio_token *tokens, size_t n);

struct sr_bio_span {
    uint32_t start, end; /* bytes */
    uint32_t type;       /* index of the type */
    float confidence;    /* mean of its tokens' */
};

/* Spans of tokens that lie at [starts[i], ends[i]) of the text, in order; at most n. Returns how many. */
size_t sr_bio_spans(const struct sr_bio_token *tokens, const uint32_t *starts, const uint32_t *ends, size_t n,
                    struct sr_bio_span *out);

#endif
