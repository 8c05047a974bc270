/* The vector primitives of the templates with one lane: plain C, the reference. */
#ifndef SR_KERNEL_VEC_SCALAR_H
#define SR_KERNEL_VEC_SCALAR_H

#include "kernel/bits.h"

#include <math.h>

#define VL 1u
typedef float vf;

static inline vf v_set(float f)
{
    return f;
}
static inline vf v_load(const float *p)
{
    return sr_load_scalar(p, SR_SCALAR_F32, 0);
}
static inline vf v_load_n(const float *p, size_t n)
{
    return n ? v_load(p) : 0;
}
static inline void v_store(float *p, vf v)
{
    *p = v;
}
static inline void v_store_n(float *p, vf v, size_t n)
{
    if (n)
        *p = v;
}
static inline vf v_load_bf16(const uint16_t *p, size_t n)
{
    return n ? sr_load_scalar(p, SR_SCALAR_BF16, 0) : 0;
}
static inline void v_store_bf16(uint16_t *p, vf v, size_t n)
{
    if (n)
        *p = sr_bf16_of_float(v);
}
static inline vf v_load_f16(const uint16_t *p, size_t n)
{
    return n ? sr_load_scalar(p, SR_SCALAR_F16, 0) : 0;
}
/* p[index[i]] in each lane i. */
static inline vf v_pick(const float *p, const int32_t *index)
{
    return v_load(p + *index);
}
static inline vf v_load_i32(const int32_t *p)
{
    return (float)*p;
}
/* Rounds, adds `offset` and stores the low byte of each lane; |v| <= 127. */
static inline void v_store_byte(uint8_t *p, vf v, int offset, size_t n)
{
    if (n)
        *p = (uint8_t)((int)lrintf(v) + offset);
}
static inline vf v_add(vf a, vf b)
{
    return a + b;
}
static inline vf v_sub(vf a, vf b)
{
    return a - b;
}
static inline vf v_mul(vf a, vf b)
{
    return a * b;
}
static inline vf v_inverse(vf a)
{
    return 1 / a;
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return a * b + c;
}
static inline vf v_max(vf a, vf b)
{
    return a > b ? a : b;
}
static inline vf v_min(vf a, vf b)
{
    return a < b ? a : b;
}
static inline vf v_abs(vf a)
{
    return fabsf(a);
}
static inline vf v_copysign(vf a, vf sign)
{
    return copysignf(a, sign);
}
static inline vf v_round(vf a)
{
    return rintf(a);
}
/* a 2^n of whole numbers n; n below -126 may count as -126. */
static inline vf v_scale(vf a, vf n)
{
    return ldexpf(a, n > -126 ? (n < 127 ? (int)n : 127) : -126);
}
/* The lane indices from `first` on. */
static inline vf v_inverse_rough(vf a)
{
    return v_inverse(a);
}
static inline vf v_lanes(float first)
{
    return first;
}
/* a where low <= index <= high, else other. */
static inline vf v_within(vf index, vf low, vf high, vf a, vf other)
{
    return index >= low && index <= high ? a : other;
}
static inline float v_sum(vf a)
{
    return a;
}
static inline float v_top(vf a)
{
    return a;
}

#endif
