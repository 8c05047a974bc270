/*
 * The structure of a loaded linear model. Private to model/linear: open.c loads it, linear.c evaluates it.
 */
#ifndef SR_MODEL_LINEAR_MODEL_H
#define SR_MODEL_LINEAR_MODEL_H

#include "base/hash.h"
#include "model/linear/linear.h"
#include "model/safetensors.h"

#define SR_LINEAR_SLOTS 8u /* rows in a bucket: one 16-byte group of fingerprints */

struct sr_linear {
    struct sr_classifier base;
    struct sr_safetensors *file;
    const unsigned char *fingerprints; /* U16 [buckets, SR_LINEAR_SLOTS], 0 = empty row */
    const int8_t *weights;             /* [buckets * SR_LINEAR_SLOTS, n_labels] */
    uint32_t buckets;
    uint32_t n_labels;
    uint32_t wide_rows; /* rows that may be read SR_LINEAR_LANES weights wide; 0 when there are more labels */
    double scale, temperature, damping;
    double bias[SR_CLASSIFIER_LABELS_MAX];
    const char *labels[SR_CLASSIFIER_LABELS_MAX];
    char sha256[SR_SHA256_HEX];
    char *names; /* the labels' and the task's text, one allocation */
};

/* An op of classifier.h. */
int sr_linear_answer(struct sr_classifier *self, struct sr_classifier_query *query);

#endif
