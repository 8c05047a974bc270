/*
 * AVX2 with FMA. bf16 weights are widened when they are loaded; int8 is exact: |w| is the unsigned operand of
 * vpmaddubsw and x with the sign of w the signed one, so that a pair of products (2 * 127 * 127) fits 16
 * bits.
 */
#if defined __x86_64__

#include "kernel/vec_avx2.h"

#include "kernel/rows_template.h"

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif
#define TILE_INLINE static inline __attribute__((always_inline))

enum tile_kind { TILE_F32, TILE_WIDE, TILE_S8 };

TILE_INLINE void tile_fetch(const char *ahead, size_t lines)
{
    if (lines)
        _mm_prefetch(ahead, _MM_HINT_T1);
}

TILE_INLINE __m256 tile_weights(const char *b, enum tile_kind kind, unsigned half)
{
    __m256i w = _mm256_load_si256((const __m256i *)(const void *)b);
    if (kind == TILE_WIDE)
        w = half ? _mm256_and_si256(w, _mm256_set1_epi32((int)0xFFFF0000)) : _mm256_slli_epi32(w, 16);
    return _mm256_castsi256_ps(w);
}

TILE_INLINE __m256 tile_multiply(__m256 sum, __m256 x, __m256 w, enum tile_kind kind)
{
    if (kind != TILE_S8)
        return _mm256_fmadd_ps(x, w, sum);
    __m256i weight = _mm256_castps_si256(w), value = _mm256_sign_epi8(_mm256_castps_si256(x), weight);
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weight), value);
    __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(sum), fours));
}

TILE_INLINE void tile_body(const struct sr_tile *t, const unsigned rows, const unsigned vectors,
                           const enum tile_kind kind)
{
    const unsigned halves = kind == TILE_WIDE ? 2 : 1;
    __m256 sums[6][2];
    const float *a[6];
    const char *b = t->b, *ahead = t->ahead;
    UNROLL
    for (unsigned r = 0; r < rows; r++) {
        a[r] = (const float *)(const void *)((const char *)t->a + r * t->lda);
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sums[r][v] = t->start ? _mm256_loadu_ps((const float *)t->start + r * t->ld_start + v * 8)
                                  : _mm256_setzero_ps();
    }
    for (size_t s = 0; s < t->steps; s++, b += t->ldb, ahead += 64 * t->ahead_lines) {
        tile_fetch(ahead, t->ahead_lines);
        UNROLL
        for (unsigned h = 0; h < halves; h++) {
            __m256 w[2];
            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                w[v] = tile_weights(b + v * 32, kind, h);
            UNROLL
            for (unsigned r = 0; r < rows; r++) {
                __m256 x = _mm256_broadcast_ss(a[r] + halves * s + h);
                UNROLL
                for (unsigned v = 0; v < vectors; v++)
                    sums[r][v] = tile_multiply(sums[r][v], x, w[v], kind);
            }
        }
    }
    UNROLL
    for (unsigned r = 0; r < rows; r++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        _mm256_storeu_ps((float *)t->c + r * t->ldc + v * 8, sums[r][v]);
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
#define TILE_NAMES(name, v)                                                                                  \
    {                                                                                                        \
        name##_1x##v, name##_2x##v, name##_3x##v, name##_4x##v, name##_5x##v, name##_6x##v                   \
    }
/* name(): up to 6 rows of up to 2 vectors. */
#define TILE_ALL(name, kind)                                                                                 \
    TILE_SIX(name, kind, 1)                                                                                  \
    TILE_SIX(name, kind, 2)                                                                                  \
    static void name(const struct sr_tile *t)                                                                \
    {                                                                                                        \
        static sr_tile_fn *const all[2][6] = {TILE_NAMES(name, 1), TILE_NAMES(name, 2)};                     \
        all[t->vectors - 1][t->rows - 1](t);                                                                 \
    }

TILE_ALL(tile_f32, TILE_F32)
TILE_ALL(tile_wide, TILE_WIDE)
TILE_ALL(tile_s8, TILE_S8)

TILE_INLINE double tile_spin(size_t rounds, const enum tile_kind kind)
{
    const unsigned n = kind == TILE_S8 ? 8 : 12;
    __m256 sums[12], x = _mm256_set1_ps(0x1p-20F), w = x;
    UNROLL
    for (unsigned i = 0; i < n; i++) {
        sums[i] = _mm256_setzero_ps();
        __asm__ volatile("" : "+x"(sums[i])); /* without this the compiler sees that the operands are equal */
    }
    for (size_t r = 0; r < rounds; r++) {
        UNROLL
        for (unsigned i = 0; i < n; i++) {
            __asm__ volatile("" : "+x"(x), "+x"(w));
            sums[i] = tile_multiply(sums[i], x, w, kind);
        }
    }
    UNROLL
    for (unsigned i = 0; i < n; i++)
        __asm__ volatile("" : "+x"(sums[i]));
    return (double)rounds * n * 16 * (kind == TILE_S8 ? 4 : 1);
}

static double spin_f32(size_t rounds)
{
    return tile_spin(rounds, TILE_F32);
}

static double spin_s8(size_t rounds)
{
    return tile_spin(rounds, TILE_S8);
}

static const struct sr_form form_f32 = {.name = "avx2 6x16",
                                        .tile = tile_f32,
                                        .spin = spin_f32,
                                        .a = SR_OPERAND_F32,
                                        .b = SR_OPERAND_F32,
                                        .rows = 6,
                                        .vectors = 2,
                                        .width = 8,
                                        .unit = 1};
static const struct sr_form form_wide = {.name = "avx2 6x16 of bf16",
                                         .tile = tile_wide,
                                         .spin = spin_f32,
                                         .a = SR_OPERAND_F32,
                                         .b = SR_OPERAND_BF16,
                                         .rows = 6,
                                         .vectors = 2,
                                         .width = 8,
                                         .unit = 2};
const struct sr_form sr_form_avx2_int8 = {.name = "avx2 4x16 of int8",
                                          .tile = tile_s8,
                                          .spin = spin_s8,
                                          .a = SR_OPERAND_S8,
                                          .b = SR_OPERAND_S8,
                                          .rows = 4,
                                          .vectors = 2,
                                          .width = 8,
                                          .unit = 4};

#define AT(name)               name##_f32
#define AT_KIND                AT_F32
#define AT_FORM                form_f32
#define AT_ROWS                6u
#define AT_VECTORS             2u
#define AT_VALUE_ROWS(vectors) 6u
#define AT_VALUE_VECTORS       2u
#include "kernel/attention_template.h"

#define ATTENTION                                                                                            \
    {                                                                                                        \
        pack_bytes_f32, work_bytes_f32, pack_f32, block_f32                                                  \
    }
/* `vpmaddubsw` would saturate: bytes are widened to 16 bits first. */
void sr_dot_avx2(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *row = rows[i];
        __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (size_t k = 0; k < d; k += 32)
            for (size_t h = 0; h < 2; h++) {
                __m256i x =
                    _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(row + k + 16 * h)));
                __m256i y =
                    _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(q + k + 16 * h)));
                sums[h] = _mm256_add_epi32(sums[h], _mm256_madd_epi16(x, y));
            }
        __m256i sum = _mm256_add_epi32(sums[0], sums[1]);
        __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4E));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xB1));
        dots[i] = _mm_cvtsi128_si32(s);
    }
}

static const struct sr_ops ops = {
    .isa = SR_ISA_AVX2,
    .forms = {&form_f32, &form_wide, &sr_form_avx2_int8},
    .attention = {ATTENTION, ATTENTION},
    .finish = finish_tile,
    .prepare = prepare_row,
    .norm = norm_rows,
    .add_row = add_row,
    .convert = convert_row,
    .dot = sr_dot_avx2,
};

const struct sr_ops *sr_ops_avx2(void)
{
    /* Every CPU with AVX2 has F16C: clang has no feature name to test for it. */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &ops : NULL;
}

#else
typedef int sr_kernel_no_avx2;
#endif
