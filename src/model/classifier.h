/*
 * The interface of text classifiers.
 *
 * Handles are immutable and counted, so a configuration snapshot, a running job and a cascade may share one.
 * A call returns with the answer; a caller that must not wait for a neural tier uses a task instead
 * (infer/classifier/cascade.h). Classifiers are independent of rules and thresholds.
 */
#ifndef SR_MODEL_CLASSIFIER_H
#define SR_MODEL_CLASSIFIER_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/ref.h"

#include <stdint.h>

#define SR_CLASSIFIER_LABELS_MAX 64u

struct sr_classifier;

/* A text and its classification. Owned by the caller. */
struct sr_classifier_query {
    struct sr_bytes text; /* UTF-8; broken sequences separate words */
    uint64_t salt;        /* texts of different salts do not share memo entries; 0: shared */
    float *probabilities; /* [n_labels], written; calibrated, sums to 1 */
    const char *tier;     /* written: the tier that answered, as its ops->name */
    size_t read_bytes;    /* written: number of bytes from the text's beginning that were classified */
};

struct sr_classifier_ops {
    const char *name; /* the tier as users see it: "linear", "neural" */
    /* Mandatory, any thread. See sr_classifier_answer. */
    int (*answer)(struct sr_classifier *self, struct sr_classifier_query *query);
    /* Mandatory. Called by the last unref, on its thread. */
    void (*free)(struct sr_classifier *self);
};

/* First member of every implementation. Set once by its constructor, constant afterwards. */
struct sr_classifier {
    const struct sr_classifier_ops *ops;
    struct sr_ref ref;
    const char *task;          /* "domain" */
    const char *const *labels; /* [n_labels] */
    size_t n_labels;           /* 1..SR_CLASSIFIER_LABELS_MAX */
    uint32_t ns_per_kib;       /* cost of 1 KiB of text on one core, to order tiers by */
};

/* SR_OK, or the error. The linear tier computes; a cascade may wait for another thread: not on an event
 * loop. */
static inline int sr_classifier_answer(struct sr_classifier *c, struct sr_classifier_query *query)
{
    return c->ops->answer(c, query);
}

static inline struct sr_classifier *sr_classifier_ref(struct sr_classifier *c)
{
    sr_ref_get(&c->ref);
    return c;
}

/* NULL is allowed. */
static inline void sr_classifier_unref(struct sr_classifier *c)
{
    if (c && sr_ref_put(&c->ref))
        c->ops->free(c);
}

/* Index of the largest of `n` probabilities, the first on a tie; 0 when n is 0. */
size_t sr_classifier_top(const float *probabilities, size_t n);

/* Shannon entropy over log(n): 0 = certain, 1 = uniform. 0 when n < 2. */
float sr_classifier_entropy(const float *probabilities, size_t n);

#endif
