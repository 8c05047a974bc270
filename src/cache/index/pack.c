/* Rounding to 12 bits and back. */
#include "cache/index/pack.h"

#include <math.h>
#include <string.h>

#define STEPS_MAX   2032 /* 127 coarse steps: neither part of a component overflows */
#define LENGTH2_MIN 0.98
#define LENGTH2_MAX 1.02

static float largest(const float *unit, size_t dimension)
{
    float most = 0;
    for (size_t i = 0; i < dimension; i++)
        most = fabsf(unit[i]) > most ? fabsf(unit[i]) : most;
    return most;
}

static bool is_unit(double length2)
{
    return length2 >= LENGTH2_MIN && length2 <= LENGTH2_MAX; /* false for what is no number */
}

int sr_vector_pack(const float *unit, size_t dimension, void *packed)
{
    double length2 = 0;
    if (dimension == 0 || dimension > SR_VECTOR_DIMENSION_MAX)
        return SR_EINVAL;
    for (size_t i = 0; i < dimension; i++)
        length2 += (double)unit[i] * (double)unit[i];
    if (!is_unit(length2))
        return SR_EINVAL;
    const float step = largest(unit, dimension) / STEPS_MAX;
    const size_t half = (dimension + 1) / 2;
    uint32_t bits;
    uint8_t *coarse = (uint8_t *)packed + 4, *fine = coarse + dimension;
    memcpy(&bits, &step, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        ((uint8_t *)packed)[i] = (uint8_t)(bits >> 8 * i);
    memset(fine, 0, half);
    for (size_t i = 0; i < dimension; i++) {
        long steps = lrintf(unit[i] / step);
        steps = steps > STEPS_MAX ? STEPS_MAX : steps < -STEPS_MAX ? -STEPS_MAX : steps;
        const unsigned all = (unsigned)(steps + SR_VECTOR_FINE / 2 + (long)SR_VECTOR_ZERO * SR_VECTOR_FINE);
        coarse[i] = (uint8_t)(all / SR_VECTOR_FINE);
        fine[i % half] |= (uint8_t)((all % SR_VECTOR_FINE) << (i < half ? 0 : 4));
    }
    return SR_OK;
}

/* Component i in steps. */
static int steps_of(const uint8_t *coarse, const uint8_t *fine, size_t i, size_t half)
{
    const int low = i < half ? fine[i] & 15 : fine[i - half] >> 4;
    return ((int)coarse[i] - (int)SR_VECTOR_ZERO) * SR_VECTOR_FINE + low - SR_VECTOR_FINE / 2;
}

static float step_of(const uint8_t *packed)
{
    const uint32_t bits =
        packed[0] | (uint32_t)packed[1] << 8 | (uint32_t)packed[2] << 16 | (uint32_t)packed[3] << 24;
    float step;
    memcpy(&step, &bits, sizeof step);
    return step;
}

int sr_vector_check(struct sr_bytes packed, size_t dimension)
{
    if (dimension == 0 || dimension > SR_VECTOR_DIMENSION_MAX || packed.n != sr_vector_packed_size(dimension))
        return SR_EPARSE;
    const uint8_t *bytes = (const uint8_t *)packed.p, *coarse = bytes + 4, *fine = coarse + dimension;
    const double step = (double)step_of(bytes);
    double squares = 0;
    for (size_t i = 0; i < dimension; i++) {
        const int steps = steps_of(coarse, fine, i, (dimension + 1) / 2);
        if (steps > STEPS_MAX || steps < -STEPS_MAX)
            return SR_EPARSE;
        squares += (double)(steps * steps);
    }
    return step > 0 && is_unit(squares * step * step) ? SR_OK : SR_EPARSE;
}

int sr_vector_unpack(struct sr_bytes packed, size_t dimension, float *unit)
{
    int rc = sr_vector_check(packed, dimension);
    if (rc)
        return rc;
    const uint8_t *bytes = (const uint8_t *)packed.p, *coarse = bytes + 4, *fine = coarse + dimension;
    const float step = step_of(bytes);
    for (size_t i = 0; i < dimension; i++)
        unit[i] = (float)steps_of(coarse, fine, i, (dimension + 1) / 2) * step;
    return SR_OK;
}

static size_t padded_of(size_t dimension)
{
    return (dimension + 63) / 64 * 64;
}

void sr_vector_query_init(struct sr_vector_query *query, const float *unit, size_t dimension)
{
    const float most = largest(unit, dimension), step = most > 0 ? most / 127 : 1;
    int32_t sum = 0;
    for (size_t i = 0; i < dimension; i++) {
        query->coarse[i] = (int8_t)lrintf(unit[i] / step);
        sum += query->coarse[i];
    }
    memset(query->coarse + dimension, 0, padded_of(dimension) - dimension);
    query->offset = sum * (int32_t)SR_VECTOR_ZERO;
    query->step = step;
    query->unit = unit;
}

void sr_vector_query_row(struct sr_vector_query *query, const uint8_t *coarse, float step, size_t padded)
{
    int32_t sum = 0;
    for (size_t i = 0; i < padded; i++) {
        query->coarse[i] = (int8_t)((int)coarse[i] - (int)SR_VECTOR_ZERO);
        sum += query->coarse[i];
    }
    query->offset = sum * (int32_t)SR_VECTOR_ZERO;
    query->step = step * SR_VECTOR_FINE;
    query->unit = NULL;
}

#define LANES 8u

float sr_vector_cosine(const float *unit, const uint8_t *coarse, const uint8_t *fine, float step,
                       size_t dimension)
{
    const size_t half = (dimension + 1) / 2, pairs = dimension - half, even = pairs / LANES * LANES;
    float sums[LANES] = {0}, sum = 0;
    for (size_t i = 0; i < even; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const size_t low = i + k, high = low + half;
            const int a = coarse[low] * SR_VECTOR_FINE + (fine[low] & 15);
            const int b = coarse[high] * SR_VECTOR_FINE + (fine[low] >> 4);
            const int zero = (int)SR_VECTOR_ZERO * SR_VECTOR_FINE + SR_VECTOR_FINE / 2;
            sums[k] += unit[low] * (float)(a - zero) + unit[high] * (float)(b - zero);
        }
    for (size_t k = 0; k < LANES; k++)
        sum += sums[k];
    for (size_t i = even; i < half; i++)
        sum += unit[i] * (float)steps_of(coarse, fine, i, half);
    for (size_t i = half + even; i < dimension; i++)
        sum += unit[i] * (float)steps_of(coarse, fine, i, half);
    return sum * step;
}
