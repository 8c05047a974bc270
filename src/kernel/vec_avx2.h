/* The vector primitives of the templates: AVX2, FMA, F16C. Includers are compiled for it. */
#ifndef SR_KERNEL_VEC_AVX2_H
#define SR_KERNEL_VEC_AVX2_H

#include "kernel/bits.h"

#include <immintrin.h>
#include <math.h>

#define VL 8u
typedef __m256 vf;

/* All ones in the first n lanes. */
static inline __m256i v_first(size_t n)
{
    static const int32_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(ones + 8 - n));
}
static inline vf v_set(float f)
{
    return _mm256_set1_ps(f);
}
static inline vf v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline vf v_load_n(const float *p, size_t n)
{
    return n == VL ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, v_first(n));
}
static inline void v_store(float *p, vf v)
{
    _mm256_storeu_ps(p, v);
}
static inline void v_store_n(float *p, vf v, size_t n)
{
    if (n == VL)
        _mm256_storeu_ps(p, v);
    else
        _mm256_maskstore_ps(p, v_first(n), v);
}
static inline __m128i v_load_words(const uint16_t *p, size_t n)
{
    if (n == VL)
        return _mm_loadu_si128((const __m128i *)(const void *)p);
    uint16_t words[8] = {0};
    if (n)
        memcpy(words, p, n * sizeof *p);
    return _mm_loadu_si128((const __m128i *)(const void *)words);
}
static inline vf v_load_bf16(const uint16_t *p, size_t n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v_load_words(p, n)), 16));
}
static inline vf v_load_f16(const uint16_t *p, size_t n)
{
    return _mm256_cvtph_ps(v_load_words(p, n));
}
static inline __m128i v_bf16(vf v)
{
    __m256i bits = _mm256_castps_si256(v);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7FFF));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    rounded = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7FC00000), nan);
    __m256i words = _mm256_srli_epi32(rounded, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}
static inline void v_store_bf16(uint16_t *p, vf v, size_t n)
{
    __m128i words = v_bf16(v);
    if (n == VL)
        _mm_storeu_si128((__m128i *)(void *)p, words);
    else
        memcpy(p, &words, n * sizeof *p);
}
static inline vf v_pick(const float *p, const int32_t *index)
{
    return _mm256_i32gather_ps(p, _mm256_loadu_si256((const __m256i *)(const void *)index), 4);
}
static inline vf v_load_i32(const int32_t *p)
{
    return _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline void v_store_byte(uint8_t *p, vf v, int offset, size_t n)
{
    __m256i q = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(offset));
    q = _mm256_and_si256(q, _mm256_set1_epi32(255));
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
    __m128i bytes = _mm_packus_epi16(words, words);
    if (n == VL)
        _mm_storel_epi64((__m128i *)(void *)p, bytes);
    else
        memcpy(p, &bytes, n);
}
#define V_PACKS 1 /* the next two functions exist */
/* The largest magnitude of n numbers in bf16, which are ordered as integers are. */
static inline float v_size_bf16(const uint16_t *p, size_t n)
{
    __m256i top = _mm256_setzero_si256(), magnitude = _mm256_set1_epi16(0x7FFF);
    for (size_t i = 0; i + 16 <= n; i += 16)
        top = _mm256_max_epu16(
            top, _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(const void *)(p + i)), magnitude));
    uint16_t each[16], most = 0;
    memcpy(each, &top, sizeof each);
    for (size_t i = 0; i < 16; i++)
        most = each[i] > most ? each[i] : most;
    for (size_t i = n / 16 * 16; i < n; i++)
        most = (p[i] & 0x7FFF) > most ? p[i] & 0x7FFF : most;
    return sr_float_of_bf16(most);
}
/* Packs four vectors into 32 bytes, `offset` 0 or 128 added to each value. */
static inline void v_store_bytes(uint8_t *p, vf a, vf b, vf c, vf d, int offset)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b));
    __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(c), _mm256_cvtps_epi32(d));
    __m256i q = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
    q = _mm256_xor_si256(q, _mm256_set1_epi8((char)offset));
    _mm256_storeu_si256((__m256i *)(void *)p, q);
}
static inline vf v_add(vf a, vf b)
{
    return _mm256_add_ps(a, b);
}
static inline vf v_sub(vf a, vf b)
{
    return _mm256_sub_ps(a, b);
}
static inline vf v_mul(vf a, vf b)
{
    return _mm256_mul_ps(a, b);
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline vf v_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
static inline vf v_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}
static inline vf v_abs(vf a)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a);
}
static inline vf v_copysign(vf a, vf sign)
{
    __m256 bit = _mm256_set1_ps(-0.0F);
    return _mm256_or_ps(_mm256_andnot_ps(bit, a), _mm256_and_ps(bit, sign));
}
static inline vf v_round(vf a)
{
    return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf v_scale(vf a, vf n)
{
    __m256 bounded = _mm256_min_ps(_mm256_max_ps(n, _mm256_set1_ps(-126)), _mm256_set1_ps(127));
    __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(bounded), _mm256_set1_epi32(127));
    return _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
}
static inline vf v_inverse(vf a)
{
    return _mm256_div_ps(_mm256_set1_ps(1), a);
}
static inline vf v_inverse_rough(vf a)
{
    return _mm256_rcp_ps(a);
}
static inline vf v_lanes(float first)
{
    return _mm256_add_ps(_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_ps(first));
}
static inline vf v_within(vf index, vf low, vf high, vf a, vf other)
{
    __m256 in = _mm256_and_ps(_mm256_cmp_ps(index, low, _CMP_GE_OQ), _mm256_cmp_ps(index, high, _CMP_LE_OQ));
    return _mm256_blendv_ps(other, a, in);
}
static inline float v_sum(vf a)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float v_top(vf a)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

/* Transposes `words` columns of 16 rows of words into rows, `ld` words apart; words is a multiple of 8. */
static inline void v_turn16(const uint32_t *rows, size_t words, uint32_t *out, size_t ld)
{
    for (size_t i = 0; i < words; i += 8) {
        for (size_t half = 0; half < 16; half += 8) {
            __m256 v[8], t[8];
            for (size_t j = 0; j < 8; j++)
                v[j] = _mm256_loadu_ps((const float *)(const void *)(rows + (half + j) * words + i));
            for (size_t j = 0; j < 8; j += 2) {
                t[j] = _mm256_unpacklo_ps(v[j], v[j + 1]);
                t[j + 1] = _mm256_unpackhi_ps(v[j], v[j + 1]);
            }
            for (size_t j = 0; j < 8; j += 4) {
                v[j] = _mm256_shuffle_ps(t[j], t[j + 2], 0x44);
                v[j + 1] = _mm256_shuffle_ps(t[j], t[j + 2], 0xEE);
                v[j + 2] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0x44);
                v[j + 3] = _mm256_shuffle_ps(t[j + 1], t[j + 3], 0xEE);
            }
            for (size_t j = 0; j < 4; j++) {
                float *low = (float *)(void *)(out + (i + j) * ld + half);
                _mm256_storeu_ps(low, _mm256_permute2f128_ps(v[j], v[j + 4], 0x20));
                _mm256_storeu_ps(low + 4 * ld, _mm256_permute2f128_ps(v[j], v[j + 4], 0x31));
            }
        }
    }
}

#endif
