/* The vector primitives of the templates: Advanced SIMD of aarch64. */
#ifndef SR_KERNEL_VEC_NEON_H
#define SR_KERNEL_VEC_NEON_H

#include "kernel/bits.h"

#include <arm_neon.h>
#include <math.h>

#define VL 4u
typedef float32x4_t vf;

static inline vf v_set(float f)
{
    return vdupq_n_f32(f);
}
static inline vf v_load(const float *p)
{
    return vld1q_f32(p);
}
static inline vf v_load_n(const float *p, size_t n)
{
    float lanes[4] = {0};
    if (n == VL)
        return vld1q_f32(p);
    for (size_t i = 0; i < n; i++)
        lanes[i] = p[i];
    return vld1q_f32(lanes);
}
static inline void v_store(float *p, vf v)
{
    vst1q_f32(p, v);
}
static inline void v_store_n(float *p, vf v, size_t n)
{
    float lanes[4];
    vst1q_f32(lanes, v);
    if (n == VL)
        vst1q_f32(p, v);
    else
        memcpy(p, lanes, n * sizeof *p);
}
static inline uint16x4_t v_load_words(const uint16_t *p, size_t n)
{
    uint16_t words[4] = {0};
    if (n == VL)
        return vld1_u16(p);
    if (n)
        memcpy(words, p, n * sizeof *p);
    return vld1_u16(words);
}
static inline vf v_load_bf16(const uint16_t *p, size_t n)
{
    return vreinterpretq_f32_u32(vshll_n_u16(v_load_words(p, n), 16));
}
static inline vf v_load_f16(const uint16_t *p, size_t n)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(v_load_words(p, n)));
}
static inline void v_store_bf16(uint16_t *p, vf v, size_t n)
{
    uint32x4_t bits = vreinterpretq_u32_f32(v), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    uint32x4_t rounded = vaddq_u32(vaddq_u32(bits, odd), vdupq_n_u32(0x7FFF));
    rounded = vbslq_u32(vceqq_f32(v, v), rounded, vdupq_n_u32(0x7FC00000));
    uint16x4_t words = vshrn_n_u32(rounded, 16);
    uint16_t lanes[4];
    vst1_u16(lanes, words);
    if (n == VL)
        vst1_u16(p, words);
    else
        memcpy(p, lanes, n * sizeof *p);
}
static inline vf v_pick(const float *p, const int32_t *index)
{
    float lanes[4] = {p[index[0]], p[index[1]], p[index[2]], p[index[3]]};
    return vld1q_f32(lanes);
}
static inline vf v_load_i32(const int32_t *p)
{
    return vcvtq_f32_s32(vld1q_s32(p));
}
static inline void v_store_byte(uint8_t *p, vf v, int offset, size_t n)
{
    int32_t lanes[4];
    vst1q_s32(lanes, vaddq_s32(vcvtnq_s32_f32(v), vdupq_n_s32(offset)));
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)lanes[i];
}
static inline vf v_add(vf a, vf b)
{
    return vaddq_f32(a, b);
}
static inline vf v_sub(vf a, vf b)
{
    return vsubq_f32(a, b);
}
static inline vf v_mul(vf a, vf b)
{
    return vmulq_f32(a, b);
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return vfmaq_f32(c, a, b);
}
static inline vf v_max(vf a, vf b)
{
    return vmaxq_f32(a, b);
}
static inline vf v_min(vf a, vf b)
{
    return vminq_f32(a, b);
}
static inline vf v_abs(vf a)
{
    return vabsq_f32(a);
}
static inline vf v_copysign(vf a, vf sign)
{
    return vbslq_f32(vdupq_n_u32(0x80000000), sign, a);
}
static inline vf v_round(vf a)
{
    return vrndnq_f32(a);
}
static inline vf v_scale(vf a, vf n)
{
    vf bounded = vminq_f32(vmaxq_f32(n, vdupq_n_f32(-126)), vdupq_n_f32(127));
    int32x4_t exponent = vaddq_s32(vcvtnq_s32_f32(bounded), vdupq_n_s32(127));
    return vmulq_f32(a, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
}
static inline vf v_inverse(vf a)
{
    return vdivq_f32(vdupq_n_f32(1), a);
}
static inline vf v_inverse_rough(vf a)
{
    return v_inverse(a);
}
static inline vf v_lanes(float first)
{
    static const float lanes[4] = {0, 1, 2, 3};
    return vaddq_f32(vld1q_f32(lanes), vdupq_n_f32(first));
}
static inline vf v_within(vf index, vf low, vf high, vf a, vf other)
{
    return vbslq_f32(vandq_u32(vcgeq_f32(index, low), vcleq_f32(index, high)), a, other);
}
static inline float v_sum(vf a)
{
    return vaddvq_f32(a);
}
static inline float v_top(vf a)
{
    return vmaxvq_f32(a);
}

/* Transposes `words` columns of 16 rows of words into rows, `ld` words apart; words is a multiple of 4. */
static inline void v_turn16(const uint32_t *rows, size_t words, uint32_t *out, size_t ld)
{
    for (size_t i = 0; i < words; i += 4)
        for (size_t j = 0; j < 16; j += 4) {
            const uint32_t *from = rows + j * words + i;
            uint32x4x2_t low = vtrnq_u32(vld1q_u32(from), vld1q_u32(from + words));
            uint32x4x2_t high = vtrnq_u32(vld1q_u32(from + 2 * words), vld1q_u32(from + 3 * words));
            for (size_t k = 0; k < 2; k++) {
                uint32_t *to = out + (i + k) * ld + j;
                vst1q_u32(to, vcombine_u32(vget_low_u32(low.val[k]), vget_low_u32(high.val[k])));
                vst1q_u32(to + 2 * ld, vcombine_u32(vget_high_u32(low.val[k]), vget_high_u32(high.val[k])));
            }
        }
}

#endif
