/*
 * How the answers of a linear and a neural tier become one: a weighted mean of log probabilities, with a
 * temperature, both fitted where the heads were trained and written in their folder's config.json:
 *     "fusion": {"domain": {"neural": 1.0, "linear": 0.6, "temperature": 1.2}}
 */
#ifndef SR_INFER_CLASSIFIER_FUSION_H
#define SR_INFER_CLASSIFIER_FUSION_H

#include "base/err.h"
#include "infer/classifier/bio.h"

#include <stddef.h>

struct sr_fusion {
    float neural, linear; /* weights, not both 0 */
    float temperature;    /* above 0 */
    float shift;          /* two labels: added to the weighted log odds; 0 where none is given */
    float linear_limit;   /* two labels: the linear log odds count up to it, either way; 0: without limit */
};

/* Of one task. SR_ENOENT: config.json says nothing of it (or is not there), *out stands for the neural tier
 * alone. SR_EPARSE with what is wrong, SR_EIO, SR_ENOMEM. */
int sr_fusion_read(struct sr_fusion *out, const char *folder, const char *task,
                   struct sr_err *err) SR_WARN_UNUSED;

/* The least confidence at which the heads of `folder` were meant to be believed, of each of `types` [n] of a
 * task: "thresholds": {"pii": {"PERSON": 0.6}} 0.5 where it says nothing. Errors as above, SR_ENOENT aside.
 */
int sr_fusion_thresholds(float *out, const char *const *types, size_t n, const char *folder, const char *task,
                         struct sr_err *err) SR_WARN_UNUSED;

/* What the case of words does to a task's types, where the bundle says it, as natural logarithms of odds:
 *     "capitals": {"pii": {"PERSON": {"small": -1.2, "inside": 0.6, "first": 0.1, "tall": 0.2}}}
 * Errors as above, SR_ENOENT aside. */
int sr_fusion_capitals(struct sr_bio *bio, const char *folder, const char *task,
                       struct sr_err *err) SR_WARN_UNUSED;

/* softmax((neural * ln a[i] + linear * ln b[i]) / temperature) into out[n], which may be `a`. Of two labels
 * `b` is brought within linear_limit first. */
void sr_fusion_mix(const struct sr_fusion *fusion, const float *a, const float *b, size_t n, float *out);

#endif
