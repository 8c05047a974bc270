/* A sigmoid fitted to predictions: probability = sigmoid(slope * linear + shift). */
#ifndef SR_SELECT_FIT_PLATT_H
#define SR_SELECT_FIT_PLATT_H

#include <stdbool.h>
#include <stddef.h>

struct sr_platt {
    double slope, shift;
};

/* Fits to n pairs of which `use[i]` is true (NULL: all), by Newton's method on the log loss with a small
 * prior. Platt, "Probabilistic outputs for support vector machines", 1999. */
struct sr_platt sr_platt_fit(const float *linear, const float *scores, const bool *use, size_t n);

double sr_platt_probability(struct sr_platt platt, double linear);

#endif
