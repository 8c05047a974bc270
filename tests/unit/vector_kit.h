/* Vectors for the tests of the index: random ones, ones in clusters, and the nearest by comparing all. */
#ifndef SR_TESTS_VECTOR_KIT_H
#define SR_TESTS_VECTOR_KIT_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t kit_state = 88172645463325252u;

static inline uint32_t kit_random(void)
{
    kit_state ^= kit_state << 13;
    kit_state ^= kit_state >> 7;
    kit_state ^= kit_state << 17;
    return (uint32_t)(kit_state >> 16);
}

/* About normal. */
static inline float kit_normal(void)
{
    float sum = -3;
    for (int i = 0; i < 6; i++)
        sum += (float)(kit_random() >> 8) / (1 << 24);
    return sum;
}

static inline void kit_unit(float *x, size_t d)
{
    double length2 = 0;
    for (size_t i = 0; i < d; i++)
        length2 += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < d; i++)
        x[i] = (float)((double)x[i] / sqrt(length2));
}

/* `from` (NULL: nothing) plus noise, at length 1. */
static inline void kit_near(float *x, const float *from, float noise, size_t d)
{
    const float scale = from ? noise / sqrtf((float)d) * 1.41F : 1;
    for (size_t i = 0; i < d; i++)
        x[i] = (from ? from[i] : 0) + scale * kit_normal();
    kit_unit(x, d);
}

/* n vectors of which `clusters` (0: none) share a centre each. The caller frees them. */
static inline float *kit_vectors(size_t n, size_t d, size_t clusters, float noise)
{
    float *x = malloc(n * d * sizeof *x), *centres = malloc((clusters + 1) * d * sizeof *centres);
    if (!x || !centres)
        abort();
    for (size_t i = 0; i < clusters; i++)
        kit_near(centres + i * d, NULL, 0, d);
    for (size_t i = 0; i < n; i++)
        kit_near(x + i * d, clusters ? centres + kit_random() % clusters * d : NULL, noise, d);
    free(centres);
    return x;
}

static inline double kit_cosine(const float *a, const float *b, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* The nearest of those with alive[i] (NULL: of all); SIZE_MAX: there is none. */
static inline size_t kit_nearest(const float *x, const uint8_t *alive, size_t n, const float *q, size_t d)
{
    size_t best = SIZE_MAX;
    double most = -4;
    for (size_t i = 0; i < n; i++) {
        const double similarity = alive && !alive[i] ? -8 : kit_cosine(x + i * d, q, d);
        if (similarity > most) {
            most = similarity;
            best = i;
        }
    }
    return best;
}

#endif
