/*
 * The arithmetic of measure.h.
 */
#include "cli/measure.h"

#include <math.h>

#define Z 1.959963984540054 /* 97.5 % of a normal distribution are below it */

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

struct sr_interval sr_interval_of(size_t hits, size_t n)
{
    if (n == 0)
        return (struct sr_interval){0, 1};
    double count = (double)n, rate = (double)hits / count;
    double scale = 1 + Z * Z / count, middle = (rate + Z * Z / (2 * count)) / scale;
    double half = Z / scale * sqrt(rate * (1 - rate) / count + Z * Z / (4 * count * count));
    return (struct sr_interval){hits == 0 ? 0 : fmax(middle - half, 0),
                                hits == n ? 1 : fmin(middle + half, 1)};
}

void sr_measure_add(struct sr_measure *m, size_t gold, size_t answered, double confidence)
{
    size_t bin = confidence > 0 ? (size_t)(confidence * SR_MEASURE_BINS) : 0;
    if (bin >= SR_MEASURE_BINS)
        bin = SR_MEASURE_BINS - 1;
    m->rows++;
    m->right += gold == answered;
    m->confusion[gold][answered]++;
    m->bins[bin].rows++;
    m->bins[bin].right += gold == answered;
    m->bins[bin].confidence += confidence;
}

size_t sr_measure_gold(const struct sr_measure *m, size_t label)
{
    size_t sum = 0;
    for (size_t i = 0; i < m->n_labels; i++)
        sum += m->confusion[label][i];
    return sum;
}

size_t sr_measure_answered(const struct sr_measure *m, size_t label)
{
    size_t sum = 0;
    for (size_t i = 0; i < m->n_labels; i++)
        sum += m->confusion[i][label];
    return sum;
}

double sr_measure_accuracy(const struct sr_measure *m)
{
    return ratio(m->right, m->rows);
}

double sr_measure_precision(const struct sr_measure *m, size_t label)
{
    return ratio(m->confusion[label][label], sr_measure_answered(m, label));
}

double sr_measure_recall(const struct sr_measure *m, size_t label)
{
    return ratio(m->confusion[label][label], sr_measure_gold(m, label));
}

double sr_measure_f1(const struct sr_measure *m, size_t label)
{
    return ratio(2 * m->confusion[label][label], sr_measure_gold(m, label) + sr_measure_answered(m, label));
}

double sr_measure_macro_f1(const struct sr_measure *m)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < m->n_labels; i++)
        if (sr_measure_gold(m, i) + sr_measure_answered(m, i) > 0) {
            sum += sr_measure_f1(m, i);
            n++;
        }
    return n ? sum / (double)n : 0;
}

double sr_measure_calibration_error(const struct sr_measure *m)
{
    double sum = 0;
    for (size_t i = 0; i < SR_MEASURE_BINS; i++)
        sum += fabs((double)m->bins[i].right - m->bins[i].confidence);
    return m->rows ? sum / (double)m->rows : 0;
}
