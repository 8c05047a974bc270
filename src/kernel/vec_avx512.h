/* The vector primitives of the templates: AVX-512 F, BW, DQ, VL. Includers are compiled for it. */
#ifndef SR_KERNEL_VEC_AVX512_H
#define SR_KERNEL_VEC_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VL 16u
typedef __m512 vf;

static inline __mmask16 v_first(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}
static inline vf v_set(float f)
{
    return _mm512_set1_ps(f);
}
static inline vf v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline vf v_load_n(const float *p, size_t n)
{
    return _mm512_maskz_loadu_ps(v_first(n), p);
}
static inline void v_store(float *p, vf v)
{
    _mm512_storeu_ps(p, v);
}
static inline void v_store_n(float *p, vf v, size_t n)
{
    _mm512_mask_storeu_ps(p, v_first(n), v);
}
static inline vf v_load_bf16(const uint16_t *p, size_t n)
{
    __m256i h = n == VL ? _mm256_loadu_si256((const __m256i *)(const void *)p)
                        : _mm256_maskz_loadu_epi16(v_first(n), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16));
}
static inline vf v_load_f16(const uint16_t *p, size_t n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(v_first(n), p));
}
/* Rounded to bf16, in the low half of each lane. */
static inline __m512i v_bf16_words(vf v)
{
    __m512i bits = _mm512_castps_si512(v),
            odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded =
        _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7FFF)), 16);
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(rounded, nan, _mm512_set1_epi32(0x7FC0));
}
static inline __m256i v_bf16(vf v)
{
#if defined __AVX512BF16__
    return (__m256i)_mm512_cvtneps_pbh(v);
#else
    return _mm512_cvtepi32_epi16(v_bf16_words(v));
#endif
}
static inline void v_store_bf16(uint16_t *p, vf v, size_t n)
{
    if (n == VL)
        _mm256_storeu_si256((__m256i *)(void *)p, v_bf16(v));
    else
        _mm256_mask_storeu_epi16(p, v_first(n), v_bf16(v));
}
/* low[0], high[0], low[1], high[1], ... */
static inline void v_store_pairs(uint16_t *p, vf low, vf high)
{
    __m512i pairs = _mm512_or_si512(_mm512_cvtepu16_epi32(v_bf16(low)),
                                    _mm512_slli_epi32(_mm512_cvtepu16_epi32(v_bf16(high)), 16));
    _mm512_storeu_si512(p, pairs);
}
static inline vf v_pick(const float *p, const int32_t *index)
{
    return _mm512_i32gather_ps(_mm512_loadu_si512(index), p, 4);
}
static inline vf v_load_i32(const int32_t *p)
{
    return _mm512_cvtepi32_ps(_mm512_loadu_si512(p));
}
static inline void v_store_byte(uint8_t *p, vf v, int offset, size_t n)
{
    __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(offset));
    if (n == VL)
        _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(q));
    else
        _mm_mask_storeu_epi8(p, v_first(n), _mm512_cvtepi32_epi8(q));
}
#define V_PACKS 1 /* the next two functions exist */
/* The largest magnitude of n numbers in bf16, which are ordered as integers are. */
static inline float v_size_bf16(const uint16_t *p, size_t n)
{
    __m512i top = _mm512_setzero_si512(), magnitude = _mm512_set1_epi16(0x7FFF);
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        top = _mm512_max_epu16(top, _mm512_and_si512(_mm512_loadu_si512(p + i), magnitude));
    if (i < n) {
        __m512i rest = _mm512_maskz_loadu_epi16(((__mmask32)1 << (n - i)) - 1, p + i);
        top = _mm512_max_epu16(top, _mm512_and_si512(rest, magnitude));
    }
    top = _mm512_max_epu32(_mm512_slli_epi32(top, 16),
                           _mm512_and_si512(top, _mm512_set1_epi32((int)0xFFFF0000)));
    uint32_t bits = _mm512_reduce_max_epu32(top);
    float size;
    memcpy(&size, &bits, sizeof size);
    return size;
}
/* Packs four vectors into 64 bytes, `offset` 0 or 128 added to each value. */
static inline void v_store_bytes(uint8_t *p, vf a, vf b, vf c, vf d, int offset)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i low = _mm512_packs_epi32(_mm512_cvtps_epi32(a), _mm512_cvtps_epi32(b));
    __m512i high = _mm512_packs_epi32(_mm512_cvtps_epi32(c), _mm512_cvtps_epi32(d));
    __m512i q = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(low, high));
    _mm512_storeu_si512(p, _mm512_xor_si512(q, _mm512_set1_epi8((char)offset)));
}
/* Packs sixteen integers into 16 bits each; those out of range saturate. */
static inline void v_store_fixed(int16_t *p, vf v, size_t n)
{
    __m256i q = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(v));
    if (n == VL)
        _mm256_storeu_si256((__m256i *)(void *)p, q);
    else
        _mm256_mask_storeu_epi16(p, v_first(n), q);
}
/* low[0], high[0], low[1], high[1], ...; all in the range of 16 bits */
static inline void v_store_fixed_pairs(int16_t *p, vf low, vf high)
{
    __m512i above = _mm512_slli_epi32(_mm512_cvtps_epi32(high), 16);
    _mm512_storeu_si512(p, _mm512_mask_mov_epi16(above, 0x55555555, _mm512_cvtps_epi32(low)));
}
static inline vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
static inline vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
static inline vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
static inline vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
static inline vf v_abs(vf a)
{
    return _mm512_abs_ps(a);
}
static inline vf v_copysign(vf a, vf sign)
{
    __m512 bit = _mm512_set1_ps(-0.0F);
    return _mm512_or_ps(_mm512_andnot_ps(bit, a), _mm512_and_ps(bit, sign));
}
static inline vf v_round(vf a)
{
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf v_scale(vf a, vf n)
{
    return _mm512_scalef_ps(a, n);
}
static inline vf v_inverse(vf a)
{
    __m512 x = _mm512_rcp14_ps(a);
    return _mm512_mul_ps(x, _mm512_fnmadd_ps(a, x, _mm512_set1_ps(2)));
}
static inline vf v_inverse_rough(vf a)
{
    return _mm512_rcp14_ps(a);
}
static inline vf v_lanes(float first)
{
    return _mm512_add_ps(_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_ps(first));
}
static inline vf v_within(vf index, vf low, vf high, vf a, vf other)
{
    __mmask16 in =
        _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(index, low, _CMP_GE_OQ), index, high, _CMP_LE_OQ);
    return _mm512_mask_blend_ps(in, other, a);
}
static inline float v_sum(vf a)
{
    return _mm512_reduce_add_ps(a);
}
static inline float v_top(vf a)
{
    return _mm512_reduce_max_ps(a);
}

/* Transposes sixteen vectors of words in place. */
static inline __attribute__((always_inline)) void v_turn(__m512i v[16])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xDD);
        t[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xDD);
    }
    for (int i = 0; i < 4; i++) {
        v[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
        v[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        v[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xDD);
    }
}

/* Transposes `words` columns of 16 rows of words into rows, `ld` words apart. */
static inline void v_turn16(const uint32_t *rows, size_t words, uint32_t *out, size_t ld)
{
    for (size_t i = 0; i < words; i += 16) {
        __m512i v[16];
        size_t n = words - i < 16 ? words - i : 16;
        for (size_t j = 0; j < 16; j++)
            v[j] = _mm512_maskz_loadu_epi32(v_first(n), rows + j * words + i);
        v_turn(v);
        for (size_t j = 0; j < n; j++)
            _mm512_storeu_si512(out + (i + j) * ld, v[j]);
    }
}

#endif
