/*
 * Ridge regression by the normal equations: sums over rows, which add up over folds, and their solution.
 */
#ifndef SR_SELECT_FIT_SOLVE_H
#define SR_SELECT_FIT_SOLVE_H

#include "base/err.h"

#include <stddef.h>

/* The sums of x x' over rows: [width, width], lower triangle. */
void sr_gram_add(double *gram, size_t width, const float *x);

/* Factors gram + ridge * I (its lower triangle; the last column, the constant, is not shrunk) in place by
 * Cholesky. SR_EINVAL: it is not positive definite. */
int sr_gram_factor(double *gram, size_t width, double ridge) SR_WARN_UNUSED;

/* Solves with a factored matrix: `b` [width] becomes the weights. */
void sr_gram_solve(const double *factor, size_t width, double *b);

#endif
