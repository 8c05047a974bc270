/* Functions over a classifier's probabilities; the rest of the interface is inline. */
#include "model/classifier.h"

#include <math.h>

size_t sr_classifier_top(const float *probabilities, size_t n)
{
    size_t top = 0;
    for (size_t i = 1; i < n; i++)
        if (probabilities[i] > probabilities[top])
            top = i;
    return top;
}

float sr_classifier_entropy(const float *probabilities, size_t n)
{
    double sum = 0;
    if (n < 2)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (probabilities[i] > 0)
            sum -= probabilities[i] * log(probabilities[i]);
    double share = sum / log((double)n);
    return (float)(share < 0 ? 0 : share > 1 ? 1 : share);
}
