/*
 * A classifier of two tiers: the linear one answers at once; where it is not sure the neural classifier's
 * head is asked, and its answer, late, is mixed with the first.
 *
 * Where the neural classifier cannot answer (its queue is full, its memory does not suffice) or comes too
 * late (sr_classifier_settle) the linear answer stands: the job's `tier` says whose it is. Without a linear
 * tier the neural classifier alone answers, or there is no answer.
 */
#ifndef SR_INFER_CLASSIFIER_CASCADE_H
#define SR_INFER_CLASSIFIER_CASCADE_H

#include "infer/classifier/fusion.h"
#include "infer/classifier/neural.h"
#include "model/classifier.h"

struct sr_cascade_options {
    struct sr_classifier *linear; /* answers at once; or NULL */
    struct sr_neural *neural;
    const char *task; /* names the neural classifier's head */
    float certain;    /* a linear answer at least this sure is taken; above 1: the neural classifier is always
                         asked */
    struct sr_fusion fusion;
};

/* Takes references of its own. Labels and their order are the linear tier's where there is one.
 * SR_EMISMATCH: the head is not there or its labels are others; SR_ELIMIT: more than
 * SR_CLASSIFIER_LABELS_MAX; SR_ENOMEM. */
int sr_cascade_new(struct sr_classifier **out, const struct sr_cascade_options *options,
                   struct sr_err *err) SR_WARN_UNUSED;

/* The neural classifier that would get a job with this text: borrowed. NULL: none, the linear tier is
 * sure; or the classifier is no cascade. */
struct sr_neural *sr_cascade_foresee(struct sr_classifier *classifier, struct sr_bytes text);

#endif
