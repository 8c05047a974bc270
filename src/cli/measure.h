/*
 * Figures of a classifier on labelled texts: accuracy, precision, recall, F1, calibration, confusion.
 *
 * Pure arithmetic over counts; reads and prints nothing. Where a figure divides by nothing it is 0.
 */
#ifndef SR_CLI_MEASURE_H
#define SR_CLI_MEASURE_H

#include <stddef.h>

#define SR_MEASURE_LABELS_MAX 64
#define SR_MEASURE_BINS       15

struct sr_measure {
    size_t n_labels;
    size_t rows, right;
    size_t confusion[SR_MEASURE_LABELS_MAX][SR_MEASURE_LABELS_MAX]; /* [gold][answered] */
    struct {
        size_t rows, right;
        double confidence;   /* sum */
    } bins[SR_MEASURE_BINS]; /* by confidence, equal widths */
};

struct sr_interval {
    double low, high;
};

/* The 95 % interval of the true rate when `hits` of `n` were counted (Wilson 1927, the score interval);
 * 0 to 1 when n is 0. */
struct sr_interval sr_interval_of(size_t hits, size_t n);

/* Counts one answer. */
void sr_measure_add(struct sr_measure *m, size_t gold, size_t answered, double confidence);

size_t sr_measure_gold(const struct sr_measure *m, size_t label);     /* rows with this label */
size_t sr_measure_answered(const struct sr_measure *m, size_t label); /* rows answered with it */
double sr_measure_accuracy(const struct sr_measure *m);
double sr_measure_precision(const struct sr_measure *m, size_t label);
double sr_measure_recall(const struct sr_measure *m, size_t label);
double sr_measure_f1(const struct sr_measure *m, size_t label);

/* Mean F1 over the labels that occur in the data or among the answers. */
double sr_measure_macro_f1(const struct sr_measure *m);

/* Expected calibration error over equal-width bins of the confidence (Guo et al. 2017, section 2). */
double sr_measure_calibration_error(const struct sr_measure *m);

#endif
