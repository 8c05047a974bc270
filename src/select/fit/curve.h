/*
 * Quality against cost: what a predictor's knob reaches on texts whose outcomes are known, beside a coin,
 * each model alone, and the best possible choice.
 *
 * Cost is the share of the dearest model's. The area is AIQ (Hu et al., "RouterBench", 2024): the mean
 * quality over the range of costs under the non-decreasing convex hull of what can be reached, as a mixture
 * of two settings reaches what lies between them. With two models also APGR (Ong et al., "RouteLLM", 2024):
 * the mean share of the gap between them that is recovered, over all shares of requests that go to the better
 * one.
 */
#ifndef SR_SELECT_FIT_CURVE_H
#define SR_SELECT_FIT_CURVE_H

#include "base/err.h"
#include "select/model/predictor.h"

#define SR_CURVE_WEIGHTS 241 /* settings of the knob that are tried */

struct sr_curve_place {
    double cost_weight, cost, quality;
};

struct sr_selection_curve {
    size_t texts, models;                               /* that every model answered */
    struct sr_curve_place router[SR_CURVE_WEIGHTS];     /* by cost weight, ascending */
    struct sr_curve_place oracle[SR_CURVE_WEIGHTS];     /* the same with the outcomes as predictions */
    struct sr_curve_place singles[SR_PREDICTOR_MODELS]; /* [models]: each alone */
    double low, high;                                   /* the cheapest and the dearest model's cost */
    double aiq_router, aiq_coin, aiq_oracle;
    bool two; /* two models, one of them better: `apgr`, `weak` and `strong` are set */
    double apgr, apgr_low, apgr_high; /* with a 95 % interval by resampling texts */
    size_t weak, strong;
};

struct sr_curve_inputs {
    size_t n, m;            /* texts, models */
    const float *predicted; /* [n, m] probabilities */
    const float *scores;    /* [n, m] outcomes, NAN where there is none: the text does not count */
    const double *costs;    /* [m] */
    uint64_t seed;          /* of the resampling */
};

/* SR_EINVAL with a message: no two models, or fewer than 20 texts that all of them answered; SR_ENOMEM. */
int sr_selection_curve(struct sr_selection_curve *out, const struct sr_curve_inputs *in,
                       struct sr_err *err) SR_WARN_UNUSED;

/* The quality of a mixture of single models that costs so much: what a coin reaches. */
double sr_curve_coin(const struct sr_selection_curve *curve, double cost);

/* The quality of the router at a cost: the hull of its settings. */
double sr_curve_router(const struct sr_selection_curve *curve, double cost);

/* Points of the curve for the predictor's file: at most SR_PREDICTOR_CURVE, with the cost falling. */
void sr_curve_points(const struct sr_selection_curve *curve, struct sr_predictor *to);

#endif
