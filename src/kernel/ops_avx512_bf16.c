/*
 * AVX-512 with dot products of bf16, and VNNI for int8. Two tables: one with bf16 products, and one with
 * fixed point for CPUs on which that is faster (see isa.c).
 */
#if defined __x86_64__

#include "kernel/vec_avx512.h"

#include "kernel/rows_template.h"

#include "kernel/fixed_avx512.h"
#include "kernel/tile_avx512.h"

TILE_ALL(tile_f32, TILE_F32)
TILE_ALL(tile_dot, TILE_DOT)
TILE_ALL(tile_u8, TILE_U8)
TILE_ALL(tile_s16, TILE_S16)

static double spin_f32(size_t rounds)
{
    return tile_spin(rounds, TILE_F32);
}

static double spin_dot(size_t rounds)
{
    return tile_spin(rounds, TILE_DOT);
}

static double spin_u8(size_t rounds)
{
    return tile_spin(rounds, TILE_U8);
}

static double spin_s16(size_t rounds)
{
    return tile_spin(rounds, TILE_S16);
}

static const struct sr_form form_f32 = {.name = "avx512 8x48",
                                        .tile = tile_f32,
                                        .spin = spin_f32,
                                        .a = SR_OPERAND_F32,
                                        .b = SR_OPERAND_F32,
                                        .rows = 8,
                                        .vectors = 3,
                                        .width = 16,
                                        .unit = 1};
static const struct sr_form form_dot = {.name = "avx512_bf16 8x48",
                                        .tile = tile_dot,
                                        .spin = spin_dot,
                                        .a = SR_OPERAND_BF16,
                                        .b = SR_OPERAND_BF16,
                                        .rows = 8,
                                        .vectors = 3,
                                        .width = 16,
                                        .unit = 2};
const struct sr_form sr_form_avx512_vnni = {.name = "avx512_vnni 8x48",
                                            .tile = tile_u8,
                                            .spin = spin_u8,
                                            .a = SR_OPERAND_U8,
                                            .b = SR_OPERAND_S8,
                                            .rows = 8,
                                            .vectors = 3,
                                            .width = 16,
                                            .unit = 4};

const struct sr_form sr_form_avx512_fixed = {.name = "avx512_vnni 8x48 of 16 bits",
                                             .tile = tile_s16,
                                             .spin = spin_s16,
                                             .a = SR_OPERAND_S16,
                                             .b = SR_OPERAND_S16,
                                             .rows = 8,
                                             .vectors = 3,
                                             .width = 16,
                                             .unit = 2};

#define AT_ROWS                8u
#define AT_VECTORS             3u
#define AT_VALUE_ROWS(vectors) ((vectors) == 4 ? 6u : 8u)
#define AT_VALUE_VECTORS       4u

#define AT(name) name##_f32
#define AT_KIND  AT_F32
#define AT_FORM  form_f32
#include "kernel/attention_template.h"
#undef AT
#undef AT_KIND
#undef AT_FORM

#define AT(name) name##_bf16
#define AT_KIND  AT_BF16
#define AT_FORM  form_dot
#include "kernel/attention_template.h"
#undef AT
#undef AT_KIND
#undef AT_FORM

#define AT(name) name##_fixed
#define AT_KIND  AT_FIXED
#define AT_FORM  sr_form_avx512_fixed
#include "kernel/attention_template.h"

void sr_dot_vnni(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *row = rows[i];
        __m512i even = _mm512_setzero_si512(), odd = even;
        size_t k = 0;
        for (; k + 128 <= d; k += 128) {
            even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + k), _mm512_loadu_si512(q + k));
            odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(row + k + 64), _mm512_loadu_si512(q + k + 64));
        }
        if (k < d)
            even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(row + k), _mm512_loadu_si512(q + k));
        dots[i] = _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd));
    }
}

static const struct sr_ops ops = {
    .isa = SR_ISA_AVX512_BF16,
    .forms = {&form_f32, &form_dot, &sr_form_avx512_vnni},
    .attention = {{pack_bytes_f32, work_bytes_f32, pack_f32, block_f32},
                  {pack_bytes_bf16, work_bytes_bf16, pack_bf16, block_bf16}},
    .finish = finish_tile,
    .prepare = prepare_row,
    .norm = norm_rows,
    .add_row = add_row,
    .convert = convert_row,
    .dot = sr_dot_vnni,
};
static const struct sr_ops ops_fixed = {
    .isa = SR_ISA_AVX512,
    .forms = {&form_f32, &sr_form_avx512_fixed, &sr_form_avx512_vnni},
    .attention = {{pack_bytes_f32, work_bytes_f32, pack_f32, block_f32},
                  {pack_bytes_fixed, work_bytes_fixed, pack_fixed, block_fixed}},
    .finish = finish_tile,
    .prepare = prepare_fixed,
    .norm = norm_rows,
    .add_row = add_row,
    .convert = convert_row,
    .dot = sr_dot_vnni,
};

const struct sr_ops *sr_ops_avx512_fixed(void)
{
    return &ops_fixed;
}

const struct sr_ops *sr_ops_avx512_bf16(void)
{
    return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni") ? &ops : NULL;
}

#else
typedef int sr_kernel_no_avx512_bf16;
#endif
