/*
 * A classifier of two tiers: the linear one answers at once; where it is not sure the neural classifier's
 * head is asked, and its answer is mixed with the first.
 *
 * Where the neural classifier cannot answer (its queue is full, its memory does not suffice) the linear
 * answer stands: the query's `tier` says whose it is. Without a linear tier the neural classifier alone
 * answers, or there is no answer. sr_classifier_answer does all of this and waits; signals take the steps
 * below one by one and ask the neural classifier as a task.
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

/* The cascade's neural classifier, borrowed; NULL: the classifier is no cascade. */
struct sr_neural *sr_cascade_neural(struct sr_classifier *classifier);

/* The first step of a cascade. SR_OK: answered, the linear tier is sure enough, or the text is empty.
 * SR_AGAIN: the neural classifier is to be asked; the linear answer is in the query where there is one, else
 * its `tier` is NULL. Another error: no answer. */
int sr_cascade_linear(struct sr_classifier *classifier, struct sr_classifier_query *query) SR_WARN_UNUSED;

/* The same with the answer of another neural classifier, by its head of the same labels and its own mixture.
 * SR_EMISMATCH: the labels are others. */
int sr_cascade_mix_other(struct sr_classifier *classifier, struct sr_classifier_query *query,
                         const struct sr_neural_result *result, const struct sr_head_info *head,
                         const struct sr_fusion *fusion) SR_WARN_UNUSED;

/* The same with a whole answer, of whatever tiers, in the query: `mix` has its weight as that of the linear
 * tier. The query's tier and bytes stay. SR_EMISMATCH. */
int sr_cascade_mix_second(struct sr_classifier *classifier, struct sr_classifier_query *query,
                          const struct sr_neural_result *result, const struct sr_head_info *head,
                          const struct sr_fusion *mix) SR_WARN_UNUSED;

/* The second step: the neural classifier's result joins what the first wrote. */
void sr_cascade_mix(struct sr_classifier *classifier, struct sr_classifier_query *query,
                    const struct sr_neural_result *result);

#endif
