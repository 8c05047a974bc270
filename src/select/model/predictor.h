/*
 * The predictor of `learned`: for each model the probability that it answers a request rightly, and what it
 * costs. Linear in the vector of the request and in its features, with a calibrated sigmoid.
 *
 * One JSON file, which `semroute train selection` writes (fit/fit.h). Immutable once it is read.
 */
#ifndef SR_SELECT_MODEL_PREDICTOR_H
#define SR_SELECT_MODEL_PREDICTOR_H

#include "base/arena.h"
#include "base/buf.h"
#include "select/model/features.h"

#define SR_PREDICTOR_FILE_MAX ((size_t)64 << 20)
#define SR_PREDICTOR_MODELS   256
#define SR_PREDICTOR_WIDE     4096 /* dimensions of a vector */
#define SR_PREDICTOR_CURVE    64   /* points */

struct sr_predicted_model {
    const char *name;
    double cost; /* mean of a request, in the unit of the log */
    uint64_t rows;
    float *weights;      /* [dimensions + SR_FEATURES] */
    double bias;         /* of the linear part */
    double slope, shift; /* probability = sigmoid(slope * linear + shift) */
};

/* Where a cost weight leads, by cross-validation on the log. */
struct sr_predictor_point {
    double cost_weight, cost, quality; /* cost as a share of the dearest model's */
};

struct sr_predictor {
    struct sr_arena arena;
    const char *encoder;
    size_t dimensions;
    float mean[SR_FEATURES], scale[SR_FEATURES]; /* a feature counts as (value - mean) * scale */
    size_t n;
    struct sr_predicted_model *models; /* [n] */
    size_t n_points;
    struct sr_predictor_point points[SR_PREDICTOR_CURVE]; /* by cost weight, ascending */
};

int sr_predictor_parse(struct sr_predictor *out, struct sr_bytes text, struct sr_err *err) SR_WARN_UNUSED;
int sr_predictor_load(struct sr_predictor *out, const char *path, struct sr_err *err) SR_WARN_UNUSED;
void sr_predictor_dispose(struct sr_predictor *predictor); /* a zeroed one is allowed */

/* Appends the file's text. */
int sr_predictor_write(const struct sr_predictor *predictor, struct sr_buf *out) SR_WARN_UNUSED;

/* NULL: it knows no model of this name. */
const struct sr_predicted_model *sr_predictor_find(const struct sr_predictor *predictor, const char *name);

/* What the features of a text add to its vector: out[SR_FEATURES]. */
void sr_predictor_features(const struct sr_predictor *predictor, struct sr_bytes text,
                           float out[SR_FEATURES]);

/* The probability of a right answer, 0..1. */
double sr_predictor_probability(const struct sr_predictor *predictor, const struct sr_predicted_model *model,
                                const float *vector, const float features[SR_FEATURES]);

/* The cost weight whose mean cost is nearest below `budget`, by the file's points. */
double sr_predictor_weight_of(const struct sr_predictor *predictor, double budget);

/* The greatest cost of any model; 1 where none has any. */
double sr_predictor_dearest(const struct sr_predictor *predictor);

#endif
