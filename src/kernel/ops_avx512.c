/*
 * AVX-512 without dot products of bf16. With VNNI int8 is multiplied by it, and bf16 in fixed point; without
 * it bf16 weights are widened when they are loaded, and int8 uses the code of AVX2.
 */
#if defined __x86_64__

#include "kernel/vec_avx512.h"

#include "kernel/rows_template.h"

#include "kernel/fixed_avx512.h"
#include "kernel/tile_avx512.h"

TILE_ALL(tile_f32, TILE_F32)
TILE_ALL(tile_wide, TILE_WIDE)

static double spin(size_t rounds)
{
    return tile_spin(rounds, TILE_F32);
}

static const struct sr_form form_f32 = {.name = "avx512 8x48",
                                        .tile = tile_f32,
                                        .spin = spin,
                                        .a = SR_OPERAND_F32,
                                        .b = SR_OPERAND_F32,
                                        .rows = 8,
                                        .vectors = 3,
                                        .width = 16,
                                        .unit = 1};
static const struct sr_form form_wide = {.name = "avx512 8x48 of bf16",
                                         .tile = tile_wide,
                                         .spin = spin,
                                         .a = SR_OPERAND_F32,
                                         .b = SR_OPERAND_BF16,
                                         .widen = tile_widen,
                                         .wide_tile = tile_f32,
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

#define AT(name) name##_fixed
#define AT_KIND  AT_FIXED
#define AT_FORM  sr_form_avx512_fixed
#include "kernel/attention_template.h"

#define F32                                                                                                  \
    {                                                                                                        \
        pack_bytes_f32, work_bytes_f32, pack_f32, block_f32                                                  \
    }
#define FIXED                                                                                                \
    {                                                                                                        \
        pack_bytes_fixed, work_bytes_fixed, pack_fixed, block_fixed                                          \
    }
#define OPS(bf16, int8, attention_bf16, bytes)                                                               \
    {                                                                                                        \
        .isa = SR_ISA_AVX512, .forms = {&form_f32, bf16, int8}, .attention = {F32, attention_bf16},          \
        .finish = finish_tile, .prepare = prepare_fixed, .norm = norm_rows, .add_row = add_row,              \
        .convert = convert_row, .dot = bytes                                                                 \
    }
static const struct sr_ops ops_vnni = OPS(&sr_form_avx512_fixed, &sr_form_avx512_vnni, FIXED, sr_dot_vnni);
static const struct sr_ops ops_plain = OPS(&form_wide, &sr_form_avx2_int8, F32, sr_dot_avx2);

const struct sr_ops *sr_ops_avx512(void)
{
    if (!sr_ops_avx2() || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return NULL;
    if (!__builtin_cpu_supports("avx512vnni"))
        return &ops_plain;
    return __builtin_cpu_supports("avx512bf16") ? sr_ops_avx512_fixed() : &ops_vnni;
}

#else
typedef int sr_kernel_no_avx512;
#endif
