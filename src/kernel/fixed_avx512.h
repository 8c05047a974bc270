/*
 * Fixed point of 16 bits on AVX-512 with VNNI: the arithmetic for bf16 on CPUs where `vpdpwssd` is faster
 * than any product of floats (Intel's cores without tiles: twice as fast as fp32). Rows have a scale each,
 * weights one for each column; see SR_FIXED_* in private.h for the ranges. Included after rows_template.h.
 */
#ifndef SR_KERNEL_FIXED_AVX512_H
#define SR_KERNEL_FIXED_AVX512_H

#include "kernel/rows_template.h"

/* Quantises a row in steps of 1 / `most` of its largest value. Rows of negligible size become zeros. */
SR_INLINE void fix_as(const void *row, enum sr_scalar type, size_t k, size_t k_padded, float most,
                      int16_t *dst, float *scale)
{
    vf factor = v_set(steps_of_row(row, type, k, most, scale)), high = v_set(most), low = v_set(-most);
    size_t i = 0;
    for (; i + VL <= k; i += VL)
        v_store_fixed(dst + i, v_max(v_min(v_mul(load_row(row, type, i, VL), factor), high), low), VL);
    for (; i < k_padded; i += VL) {
        vf v = load_row(row, type, i, i < k ? lanes_left(k, i) : 0);
        v_store_fixed(dst + i, v_max(v_min(v_mul(v, factor), high), low), lanes_left(k_padded, i));
    }
}

static void prepare_fixed(const void *row, enum sr_scalar type, size_t k, size_t k_padded, enum sr_operand to,
                          void *dst, float *scale)
{
    if (to != SR_OPERAND_S16)
        prepare_row(row, type, k, k_padded, to, dst, scale);
    else if (type == SR_SCALAR_F32)
        fix_as(row, SR_SCALAR_F32, k, k_padded, SR_FIXED_ROW, dst, scale);
    else if (type == SR_SCALAR_BF16)
        fix_as(row, SR_SCALAR_BF16, k, k_padded, SR_FIXED_ROW, dst, scale);
    else
        fix_as(row, SR_SCALAR_F16, k, k_padded, SR_FIXED_ROW, dst, scale);
}

#endif
