/* 16-bit floats as bits, one at a time; rounds to nearest even. */
#ifndef SR_KERNEL_BITS_H
#define SR_KERNEL_BITS_H

#include "kernel/kernel.h"

#include <string.h>

static inline float sr_float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t sr_bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float sr_float_of_bf16(uint16_t b)
{
    return sr_float_of_bits((uint32_t)b << 16);
}

static inline uint16_t sr_bf16_of_float(float f)
{
    uint32_t bits = sr_bits_of_float(f);
    if ((bits & 0x7FFFFFFF) > 0x7F800000)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float sr_float_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-24F;
        return sign ? -f : f;
    }
    if (exponent == 31)
        return sr_float_of_bits(sign | 0x7F800000 | fraction << 13);
    return sr_float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Element i of a row. */
static inline float sr_load_scalar(const void *row, enum sr_scalar type, size_t i)
{
    float f;
    uint16_t h;
    if (type == SR_SCALAR_F32) {
        memcpy(&f, (const char *)row + 4 * i, 4);
        return f;
    }
    memcpy(&h, (const char *)row + 2 * i, 2);
    return type == SR_SCALAR_F16 ? sr_float_of_f16(h) : sr_float_of_bf16(h);
}

#endif
