/*
 * Tiles of AVX-512: one body, instantiated for each kind of operands and each number of rows and vectors.
 *
 * 8 x 48 keeps 24 sums, three vectors of weights and a broadcast in registers. The dot products of integers
 * are written out: gcc 12 copies the sums around the intrinsics, at half the rate. For `vdpbf16ps` the
 * intrinsics are faster.
 */
#ifndef SR_KERNEL_TILE_AVX512_H
#define SR_KERNEL_TILE_AVX512_H

#include "kernel/private.h"

#include <immintrin.h>
#include <string.h>

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif
#define TILE_INLINE static inline __attribute__((always_inline))

enum tile_kind {
    TILE_F32,
    TILE_WIDE, /* weights in bf16, two depths to a word; activations in fp32 */
    TILE_DOT,  /* both bf16 */
    TILE_U8,
    TILE_S16,
};

TILE_INLINE const char *tile_fetch(const char *ahead, size_t lines)
{
    if (lines == 0) /* `ahead` may be NULL then */
        return ahead;
    _mm_prefetch(ahead, _MM_HINT_T1);
    if (lines > 1) {
        _mm_prefetch(ahead + 64, _MM_HINT_T1);
        _mm_prefetch(ahead + 64 * (lines - 1), _MM_HINT_T1);
    }
    return ahead + 64 * lines;
}

/* Four bytes, aligned as their elements are. */
TILE_INLINE __m512 tile_word(const char *a)
{
    float word;
    memcpy(&word, a, sizeof word);
    return _mm512_set1_ps(word);
}

TILE_INLINE __m512 tile_weights(const char *b, enum tile_kind kind, unsigned half)
{
    __m512i w = _mm512_load_si512(b);
    if (kind == TILE_WIDE)
        w = half ? _mm512_and_si512(w, _mm512_set1_epi32((int)0xFFFF0000)) : _mm512_slli_epi32(w, 16);
    return _mm512_castsi512_ps(w);
}

TILE_INLINE __m512 tile_multiply(__m512 sum, __m512 x, __m512 w, enum tile_kind kind)
{
#if defined __AVX512BF16__
    if (kind == TILE_DOT)
        return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
#endif
#if defined __AVX512VNNI__
    if (kind == TILE_U8) {
        __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
        return sum;
    }
    if (kind == TILE_S16) {
        __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
        return sum;
    }
#endif
    (void)kind;
    return _mm512_fmadd_ps(x, w, sum);
}

TILE_INLINE void tile_body(const struct sr_tile *t, const unsigned rows, const unsigned vectors,
                           const enum tile_kind kind)
{
    const unsigned halves = kind == TILE_WIDE ? 2 : 1;
    const size_t lda = t->lda, ld_start = t->ld_start, ldc = t->ldc;
    const float *start = t->start;
    float *c = t->c;
    __m512 sums[8][4];
    const char *a[3] = {t->a, (const char *)t->a + 3 * lda, (const char *)t->a + 6 * lda};
    const char *b = t->b, *ahead = t->ahead;
    UNROLL
    for (unsigned r = 0; r < rows; r++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sums[r][v] = start ? _mm512_loadu_ps(start + r * ld_start + v * 16) : _mm512_setzero_ps();
    }
    for (size_t s = 0; s < t->steps; s++, b += t->ldb) {
        ahead = tile_fetch(ahead, t->ahead_lines);
        /* Three pointers address all rows: gcc would keep one pointer for each, some of them in vector
         * registers. */
        __asm__ volatile("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]));
        UNROLL
        for (unsigned h = 0; h < halves; h++) {
            __m512 w[4];
            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                w[v] = tile_weights(b + v * 64, kind, h);
            UNROLL
            for (unsigned r = 0; r < rows; r++) {
                __m512 x = tile_word(a[r / 3] + r % 3 * lda + 4 * h);
                if (kind != TILE_DOT)
                    __asm__ volatile("" : "+v"(x)); /* one broadcast for all, not one in each instruction */
                UNROLL
                for (unsigned v = 0; v < vectors; v++)
                    sums[r][v] = tile_multiply(sums[r][v], x, w[v], kind);
            }
        }
        UNROLL
        for (unsigned i = 0; i < 3; i++)
            a[i] += 4 * halves;
    }
    UNROLL
    for (unsigned r = 0; r < rows; r++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        _mm512_storeu_ps(c + r * ldc + v * 16, sums[r][v]);
}

#define TILE_ONE(name, kind, r, v)                                                                           \
    static void name##_##r##x##v(const struct sr_tile *t)                                                    \
    {                                                                                                        \
        tile_body(t, r, v, kind);                                                                            \
    }
#define TILE_SIX(name, kind, v)                                                                              \
    TILE_ONE(name, kind, 1, v)                                                                               \
    TILE_ONE(name, kind, 2, v)                                                                               \
    TILE_ONE(name, kind, 3, v)                                                                               \
    TILE_ONE(name, kind, 4, v)                                                                               \
    TILE_ONE(name, kind, 5, v)                                                                               \
    TILE_ONE(name, kind, 6, v)
#define TILE_EIGHT(name, kind, v)                                                                            \
    TILE_SIX(name, kind, v)                                                                                  \
    TILE_ONE(name, kind, 7, v)                                                                               \
    TILE_ONE(name, kind, 8, v)
#define TILE_NAMES(name, v) name##_1x##v, name##_2x##v, name##_3x##v, name##_4x##v, name##_5x##v, name##_6x##v

/* name(): up to 8 rows of up to 3 vectors, up to 6 rows of 4. */
#define TILE_ALL(name, kind)                                                                                 \
    TILE_EIGHT(name, kind, 1)                                                                                \
    TILE_EIGHT(name, kind, 2)                                                                                \
    TILE_EIGHT(name, kind, 3)                                                                                \
    TILE_SIX(name, kind, 4)                                                                                  \
    static void name(const struct sr_tile *t)                                                                \
    {                                                                                                        \
        static sr_tile_fn *const all[4][8] = {{TILE_NAMES(name, 1), name##_7x1, name##_8x1},                 \
                                              {TILE_NAMES(name, 2), name##_7x2, name##_8x2},                 \
                                              {TILE_NAMES(name, 3), name##_7x3, name##_8x3},                 \
                                              {TILE_NAMES(name, 4)}};                                        \
        all[t->vectors - 1][t->rows - 1](t);                                                                 \
    }

#if !defined __AVX512BF16__
/* A panel of bf16 weights as fp32, `columns` a multiple of 16. */
static void tile_widen(const void *panel, size_t steps, size_t columns, float *out)
{
    const char *b = panel;
    for (size_t s = 0; s < steps; s++, b += columns * 4, out += 2 * columns)
        for (size_t c = 0; c < columns; c += 16) {
            _mm512_store_ps(out + c, tile_weights(b + c * 4, TILE_WIDE, 0));
            _mm512_store_ps(out + columns + c, tile_weights(b + c * 4, TILE_WIDE, 1));
        }
}
#endif

/* 24 independent sums reach the core's peak rate. Returns the operations done. */
TILE_INLINE double tile_spin(size_t rounds, const enum tile_kind kind)
{
    __m512 sums[24], x = _mm512_set1_ps(0x1p-20F), w = x;
    UNROLL
    for (unsigned i = 0; i < 12; i++) {
        sums[i] = sums[i + 12] = _mm512_setzero_ps();
        __asm__ volatile(
            ""
            : "+v"(sums[i]),
              "+v"(sums[i + 12])); /* without this the compiler sees that the operands are equal */
    }
    for (size_t r = 0; r < rounds; r++) {
        __asm__ volatile("" : "+v"(x), "+v"(w));
        UNROLL
        for (unsigned i = 0; i < 12; i++) {
            sums[i] = tile_multiply(sums[i], x, w, kind);
            sums[i + 12] = tile_multiply(sums[i + 12], x, w, kind);
        }
    }
    UNROLL
    for (unsigned i = 0; i < 12; i++)
        __asm__ volatile("" : "+v"(sums[i]), "+v"(sums[i + 12]));
    return (double)rounds * 24 * 32 * (kind == TILE_DOT || kind == TILE_S16 ? 2 : kind == TILE_U8 ? 4 : 1);
}

#endif
