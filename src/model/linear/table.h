/*
 * Two inner steps of the linear tier, for SSE2, NEON and neither: finding a fingerprint among the eight of a
 * bucket, and adding a row of weights. Private to model/linear/linear.c; all variants compute the same
 * integers.
 */
#ifndef SR_MODEL_LINEAR_TABLE_H
#define SR_MODEL_LINEAR_TABLE_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

#define SR_LINEAR_LANES 16   /* labels that one addition handles */
#define SR_LINEAR_BURST 255u /* rows that 16 bits can sum: 255 * 128 < 2^15 */

/* Slot 0..7 of the first of eight fingerprints at `p` that equals `wanted`; 8 when none does. No branch:
 * about half of the look-ups miss, and the misses are not predictable. */
static inline uint32_t sr_linear_match(const unsigned char *p, uint16_t wanted)
{
#if defined(__SSE2__)
    __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i equal = _mm_cmpeq_epi16(eight, _mm_set1_epi16((short)wanted));
    return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(equal) | 1u << 16) >> 1;
#elif defined(__ARM_NEON) && defined(__aarch64__)
    uint16x8_t equal = vceqq_u16(vreinterpretq_u16_u8(vld1q_u8(p)), vdupq_n_u16(wanted));
    uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vmovn_u16(equal)), 0);
    return mask ? (uint32_t)__builtin_ctzll(mask) >> 3 : 8;
#else
    const uint64_t ones = UINT64_C(0x0001000100010001);
    uint64_t x[2], zero[2];
    memcpy(x, p, sizeof x);
    for (int i = 0; i < 2; i++) {
        x[i] ^= wanted * ones;
        zero[i] = (x[i] - ones) & ~x[i] & ones << 15; /* only the lowest mark is exact */
    }
    if (zero[0])
        return (uint32_t)__builtin_ctzll(zero[0]) >> 4;
    return zero[1] ? 4 + ((uint32_t)__builtin_ctzll(zero[1]) >> 4) : 8;
#endif
}

/* sums[l] += the row's weights, for each of `n` rows; reads SR_LINEAR_LANES weights of each row, so sums
 * beyond the model's labels are meaningless. */
static inline void sr_linear_add_rows(int32_t *sums, const int8_t *weights, uint32_t n_labels,
                                      const uint32_t *rows, uint32_t n)
{
#if defined(__SSE2__)
    __m128i low = _mm_setzero_si128(), high = low, zero = low;
    for (uint32_t i = 0; i < n; i++) {
        __m128i w = _mm_loadu_si128((const __m128i *)(const void *)(weights + (size_t)rows[i] * n_labels));
        __m128i sign = _mm_cmpgt_epi8(zero, w);
        low = _mm_add_epi16(low, _mm_unpacklo_epi8(w, sign));
        high = _mm_add_epi16(high, _mm_unpackhi_epi8(w, sign));
    }
    int16_t part[SR_LINEAR_LANES];
    _mm_storeu_si128((__m128i *)(void *)part, low);
    _mm_storeu_si128((__m128i *)(void *)(part + 8), high);
#elif defined(__ARM_NEON) && defined(__aarch64__)
    int16x8_t low = vdupq_n_s16(0), high = low;
    for (uint32_t i = 0; i < n; i++) {
        int8x16_t w = vld1q_s8(weights + (size_t)rows[i] * n_labels);
        low = vaddw_s8(low, vget_low_s8(w));
        high = vaddw_high_s8(high, w);
    }
    int16_t part[SR_LINEAR_LANES];
    vst1q_s16(part, low);
    vst1q_s16(part + 8, high);
#else
    int32_t part[SR_LINEAR_LANES] = {0};
    for (uint32_t i = 0; i < n; i++) {
        const int8_t *w = weights + (size_t)rows[i] * n_labels;
        for (uint32_t l = 0; l < SR_LINEAR_LANES; l++)
            part[l] += w[l];
    }
#endif
    for (uint32_t l = 0; l < SR_LINEAR_LANES; l++)
        sums[l] += part[l];
}

#endif
