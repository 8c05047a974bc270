/*
 * Advanced SIMD of aarch64: fp32 by FMA, bf16 weights widened when they are loaded, int8 by dot products
 * where the CPU has them (Armv8.2 DotProd; Neoverse, Graviton 2 and later, Apple).
 */
#if defined __aarch64__

#include "kernel/vec_neon.h"

#include "kernel/rows_template.h"

#include <sys/auxv.h>

#define HWCAP_DOT (1UL << 20) /* HWCAP_ASIMDDP */

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 12")
#endif
#define TILE_INLINE static inline __attribute__((always_inline))

enum tile_kind { TILE_F32, TILE_WIDE, TILE_S8 };

TILE_INLINE float32x4_t tile_weights(const char *b, enum tile_kind kind, unsigned half)
{
    uint32x4_t w = vld1q_u32((const uint32_t *)(const void *)b);
    if (kind == TILE_WIDE)
        w = half ? vandq_u32(w, vdupq_n_u32(0xFFFF0000)) : vshlq_n_u32(w, 16);
    return vreinterpretq_f32_u32(w);
}

TILE_INLINE float32x4_t tile_multiply(float32x4_t sum, float32x4_t x, float32x4_t w, enum tile_kind kind)
{
    if (kind == TILE_S8)
        return vreinterpretq_f32_s32(
            vdotq_s32(vreinterpretq_s32_f32(sum), vreinterpretq_s8_f32(w), vreinterpretq_s8_f32(x)));
    return vfmaq_f32(sum, x, w);
}

TILE_INLINE void tile_body(const struct sr_tile *t, const unsigned rows, const unsigned vectors,
                           const enum tile_kind kind)
{
    const unsigned halves = kind == TILE_WIDE ? 2 : 1;
    float32x4_t sums[6][4];
    const float *a[6];
    const char *b = t->b, *ahead = t->ahead;
    UNROLL
    for (unsigned r = 0; r < rows; r++) {
        a[r] = (const float *)(const void *)((const char *)t->a + r * t->lda);
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sums[r][v] =
                t->start ? vld1q_f32((const float *)t->start + r * t->ld_start + v * 4) : vdupq_n_f32(0);
    }
    for (size_t s = 0; s < t->steps; s++, b += t->ldb, ahead += 64 * t->ahead_lines) {
        if (t->ahead_lines)
            __builtin_prefetch(ahead, 0, 2);
        UNROLL
        for (unsigned h = 0; h < halves; h++) {
            float32x4_t w[4];
            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                w[v] = tile_weights(b + v * 16, kind, h);
            UNROLL
            for (unsigned r = 0; r < rows; r++) {
                float32x4_t x = vld1q_dup_f32(a[r] + halves * s + h);
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
        vst1q_f32((float *)t->c + r * t->ldc + v * 4, sums[r][v]);
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
/* name(): up to 6 rows of 4 vectors; every requested width is a multiple of 16. */
#define TILE_ALL(name, kind)                                                                                 \
    TILE_SIX(name, kind, 4)                                                                                  \
    static void name(const struct sr_tile *t)                                                                \
    {                                                                                                        \
        static sr_tile_fn *const all[6] = {name##_1x4, name##_2x4, name##_3x4,                               \
                                           name##_4x4, name##_5x4, name##_6x4};                              \
        all[t->rows - 1](t);                                                                                 \
    }

TILE_ALL(tile_f32, TILE_F32)
TILE_ALL(tile_wide, TILE_WIDE)
TILE_ALL(tile_s8, TILE_S8)

TILE_INLINE double tile_spin(size_t rounds, const enum tile_kind kind)
{
    float32x4_t sums[24], x = vdupq_n_f32(0x1p-20F), w = x;
    UNROLL
    for (unsigned i = 0; i < 12; i++) {
        sums[i] = sums[i + 12] = vdupq_n_f32(0);
        __asm__ volatile(
            ""
            : "+w"(sums[i]),
              "+w"(sums[i + 12])); /* without this the compiler sees that the operands are equal */
    }
    for (size_t r = 0; r < rounds; r++) {
        __asm__ volatile("" : "+w"(x), "+w"(w));
        UNROLL
        for (unsigned i = 0; i < 12; i++) {
            sums[i] = tile_multiply(sums[i], x, w, kind);
            sums[i + 12] = tile_multiply(sums[i + 12], x, w, kind);
        }
    }
    UNROLL
    for (unsigned i = 0; i < 12; i++)
        __asm__ volatile("" : "+w"(sums[i]), "+w"(sums[i + 12]));
    return (double)rounds * 24 * 8 * (kind == TILE_S8 ? 4 : 1);
}

static double spin_f32(size_t rounds)
{
    return tile_spin(rounds, TILE_F32);
}

static double spin_s8(size_t rounds)
{
    return tile_spin(rounds, TILE_S8);
}

/* Bytes minus 128 have a sign, as dot products want them: what is missing is 128 times the sum of q. */
static void dot_bytes(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots)
{
    int32x4_t ones = vdupq_n_s32(0);
    for (size_t k = 0; k < d; k += 16)
        ones = vdotq_s32(ones, vld1q_s8(q + k), vdupq_n_s8(1));
    const int32_t missing = 128 * vaddvq_s32(ones);
    for (size_t i = 0; i < n; i++) {
        int32x4_t sums[2] = {vdupq_n_s32(0), vdupq_n_s32(0)};
        for (size_t k = 0; k < d; k += 32)
            for (size_t h = 0; h < 2; h++) {
                uint8x16_t x = veorq_u8(vld1q_u8(rows[i] + k + 16 * h), vdupq_n_u8(128));
                sums[h] = vdotq_s32(sums[h], vreinterpretq_s8_u8(x), vld1q_s8(q + k + 16 * h));
            }
        dots[i] = vaddvq_s32(vaddq_s32(sums[0], sums[1])) + missing;
    }
}

#define FORM(label, function, measure, left, right, depth)                                                   \
    {                                                                                                        \
        .name = label, .tile = function, .spin = measure, .a = left, .b = right, .rows = 6, .vectors = 4,    \
        .width = 4, .unit = depth                                                                            \
    }
static const struct sr_form form_f32 =
    FORM("neon 6x16", tile_f32, spin_f32, SR_OPERAND_F32, SR_OPERAND_F32, 1);
static const struct sr_form form_wide =
    FORM("neon 6x16 of bf16", tile_wide, spin_f32, SR_OPERAND_F32, SR_OPERAND_BF16, 2);
static const struct sr_form form_s8 =
    FORM("neon_dot 6x16", tile_s8, spin_s8, SR_OPERAND_S8, SR_OPERAND_S8, 4);

#define AT(name)               name##_f32
#define AT_KIND                AT_F32
#define AT_FORM                form_f32
#define AT_ROWS                6u
#define AT_VECTORS             4u
#define AT_VALUE_ROWS(vectors) 6u
#define AT_VALUE_VECTORS       4u
#include "kernel/attention_template.h"

#define ATTENTION                                                                                            \
    {                                                                                                        \
        pack_bytes_f32, work_bytes_f32, pack_f32, block_f32                                                  \
    }
#define OPS(int8, bytes)                                                                                     \
    {                                                                                                        \
        .isa = SR_ISA_NEON, .forms = {&form_f32, &form_wide, int8}, .attention = {ATTENTION, ATTENTION},     \
        .finish = finish_tile, .prepare = prepare_row, .norm = norm_rows, .add_row = add_row,                \
        .convert = convert_row, .dot = bytes                                                                 \
    }
static const struct sr_ops ops_dot = OPS(&form_s8, dot_bytes);
static const struct sr_ops ops_plain = OPS(&sr_form_scalar_int8, sr_dot_scalar);

const struct sr_ops *sr_ops_neon(void)
{
    return getauxval(AT_HWCAP) & HWCAP_DOT ? &ops_dot : &ops_plain;
}

#else
typedef int sr_kernel_no_neon;
#endif
