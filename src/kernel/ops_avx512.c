/*
 * AVX-512 without dot products of bf16: weights in bf16 are widened on the way to the multiplier. The better
 * way too on CPUs whose `vdpbf16ps` runs at half the rate of fp32 (see isa.c). int8 by VNNI where the CPU has
 * it.
 */
#if defined __x86_64__

#include "kernel/vec_avx512.h"

#include "kernel/rows_template.h"

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

#define AT(name)               name##_f32
#define AT_BF16                0
#define AT_FORM                form_f32
#define AT_ROWS                8u
#define AT_VECTORS             3u
#define AT_VALUE_ROWS(vectors) ((vectors) == 4 ? 6u : 8u)
#define AT_VALUE_VECTORS       4u
#include "kernel/attention_template.h"

#define ATTENTION                                                                                            \
    {                                                                                                        \
        pack_bytes_f32, work_bytes_f32, pack_f32, block_f32                                                  \
    }
#define OPS(int8)                                                                                            \
    {                                                                                                        \
        .isa = SR_ISA_AVX512, .forms = {&form_f32, &form_wide, int8}, .attention = {ATTENTION, ATTENTION},   \
        .finish = finish_tile, .prepare = prepare_row, .norm = norm_rows, .add_row = add_row,                \
        .convert = convert_row                                                                               \
    }
static const struct sr_ops ops_vnni = OPS(&sr_form_avx512_vnni);
static const struct sr_ops ops_plain = OPS(&sr_form_avx2_int8);

const struct sr_ops *sr_ops_avx512(void)
{
    if (!sr_ops_avx2() || !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return NULL;
    return __builtin_cpu_supports("avx512vnni") ? &ops_vnni : &ops_plain;
}

#else
typedef int sr_kernel_no_avx512;
#endif
