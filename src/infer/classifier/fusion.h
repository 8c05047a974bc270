/*
 * How the answers of a linear and a neural tier become one: a weighted mean of log probabilities, with a
 * temperature, both fitted where the heads were trained and written in their folder's config.json:
 *     "fusion": {"domain": {"neural": 1.0, "linear": 0.6, "temperature": 1.2}}
 * And how the answer of a second reader joins a first one that was uncertain, in the same form.
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

/* What holds for a second reader of more than two labels where config.json does not say it. */
#define SR_FUSION_CERTAIN 0.8F
#define SR_FUSION_TOKENS  256u
/* Bytes of a token, on the mean of a text that is asked about: a word that is too long for a vocabulary is
 * one token, whatever its length. */
#define SR_FUSION_TOKEN_BYTES 16u

/* A second reader of texts whose first answer is uncertain, and short: its answer joins the first one.
 *     "fusion": {"jailbreak_second": {"first": 0.7, "neural": 0.3, "shift": 0.1, "temperature": 1.0,
 *                                     "band": 1.5, "tokens": 256},
 *                "domain_second": {"first": 0.6, "neural": 0.4, "certain": 0.8, "tokens": 256}} */
struct sr_fusion_second {
    struct sr_fusion mix; /* `linear` is the weight of the first answer, whatever made it */
    float band;           /* two labels: log odds on either side of the threshold that are uncertain */
    float certain;        /* more labels: the first answer is uncertain below this probability */
    size_t tokens;        /* of the longest text that is read a second time */
};

/* Of one task. What *out has for `band`, `certain` and `tokens` stays where config.json does not say it.
 * SR_ENOENT: it says nothing of a second reader of the task; errors as above. */
int sr_fusion_read_second(struct sr_fusion_second *out, const char *folder, const char *task,
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
