/* Plain loops over rows: the order of every sum is fixed, so that the same log gives the same bytes. */
#include "select/fit/solve.h"

#include <math.h>

void sr_gram_add(double *gram, size_t width, const float *x)
{
    for (size_t i = 0; i < width; i++) {
        double xi = (double)x[i];
        double *row = gram + i * width;
        for (size_t j = 0; j <= i; j++)
            row[j] += xi * (double)x[j];
    }
}

static double dot(const double *a, const double *b, size_t n)
{
    double sums[4] = {0};
    size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (size_t l = 0; l < 4; l++)
            sums[l] += a[k + l] * b[k + l];
    for (; k < n; k++)
        sums[0] += a[k] * b[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

int sr_gram_factor(double *gram, size_t width, double ridge)
{
    for (size_t i = 0; i < width; i++) {
        double *row = gram + i * width;
        row[i] += i + 1 < width ? ridge : ridge * 1e-6;
        for (size_t j = 0; j < i; j++)
            row[j] = (row[j] - dot(row, gram + j * width, j)) / gram[j * width + j];
        double rest = row[i] - dot(row, row, i);
        if (!(rest > 0) || !isfinite(rest))
            return SR_EINVAL;
        row[i] = sqrt(rest);
    }
    return SR_OK;
}

void sr_gram_solve(const double *factor, size_t width, double *b)
{
    for (size_t i = 0; i < width; i++)
        b[i] = (b[i] - dot(factor + i * width, b, i)) / factor[i * width + i];
    for (size_t i = width; i-- > 0;) {
        b[i] /= factor[i * width + i];
        for (size_t k = 0; k < i; k++)
            b[k] -= factor[i * width + k] * b[i];
    }
}
