/*
 * From a log to a predictor: a ridge regression of each model's scores on vectors and features, the ridge
 * chosen by cross-validation, and a sigmoid fitted to the predictions of rows that were left out (Platt).
 *
 * Rows are put into folds by a hash of their text, so that a text is never in two; the same log and seed give
 * the same file.
 */
#ifndef SR_SELECT_FIT_FIT_H
#define SR_SELECT_FIT_FIT_H

#include "select/fit/outcomes.h"
#include "select/model/predictor.h"

#define SR_FIT_FOLDS    5
#define SR_FIT_ROWS_MIN 20 /* outcomes of a model */

struct sr_fit_inputs {
    const struct sr_outcomes *outcomes;
    const float *vectors; /* [texts, dimensions], length 1 */
    size_t dimensions;
    const char *encoder;
    uint64_t seed;
};

/* What cross-validation says: `left_out` [texts, models] is the probability of a right answer as it was
 * predicted without the text's fold: weights, ridge and sigmoid are of the other folds. */
struct sr_fitted {
    struct sr_predictor predictor;
    float *left_out;
    double ridges[SR_OUTCOMES_MODELS]; /* that were chosen */
    double losses[SR_OUTCOMES_MODELS]; /* mean squared error of what was left out */
    double base[SR_OUTCOMES_MODELS];   /* the same of a constant */
};

/* SR_EINVAL with a message: a model has fewer than SR_FIT_ROWS_MIN outcomes, or all of them are the same;
 * SR_ENOMEM. `progress` may be NULL. */
int sr_fit(struct sr_fitted *out, const struct sr_fit_inputs *in,
           void (*progress)(const char *what, size_t done, size_t total), struct sr_err *err) SR_WARN_UNUSED;
void sr_fitted_dispose(struct sr_fitted *fitted); /* a zeroed one is allowed */

#endif
