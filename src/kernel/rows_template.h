/*
 * Operations over rows of numbers: conversions, quantisation, norms, the epilogue of a product. Included by
 * one ops_*.c after its vec_*.h; each such file gets its own static copies.
 */
#ifndef SR_KERNEL_ROWS_TEMPLATE_H
#define SR_KERNEL_ROWS_TEMPLATE_H

#include "kernel/math_template.h"
#include "kernel/private.h"

#define SR_INLINE static inline __attribute__((always_inline))

/* Elements [i, i + n) of a row, n <= VL; the other lanes are 0. */
SR_INLINE vf load_row(const void *row, enum sr_scalar type, size_t i, size_t n)
{
    if (type == SR_SCALAR_F32)
        return n == VL ? v_load((const float *)row + i) : v_load_n((const float *)row + i, n);
    return type == SR_SCALAR_BF16 ? v_load_bf16((const uint16_t *)row + i, n)
                                  : v_load_f16((const uint16_t *)row + i, n);
}

SR_INLINE void store_row(void *row, enum sr_scalar type, size_t i, vf v, size_t n)
{
    if (type == SR_SCALAR_BF16)
        v_store_bf16((uint16_t *)row + i, v, n);
    else if (n == VL)
        v_store((float *)row + i, v);
    else
        v_store_n((float *)row + i, v, n);
}

SR_INLINE size_t lanes_left(size_t n, size_t i)
{
    return n - i < VL ? n - i : VL;
}

SR_INLINE void *row_at(const struct sr_rows *rows, size_t i)
{
    return (char *)rows->p + i * rows->ld * sr_scalar_size(rows->type);
}

/* Whole vectors first, so that only the end of a row uses masks. */
SR_INLINE void convert_as(const void *src, enum sr_scalar from, size_t n, void *dst, enum sr_scalar to)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        store_row(dst, to, i, load_row(src, from, i, VL), VL);
    if (i < n)
        store_row(dst, to, i, load_row(src, from, i, n - i), n - i);
}

static void convert_row(const void *src, enum sr_scalar from, size_t n, void *dst, enum sr_scalar to)
{
    if (from == SR_SCALAR_BF16 && to == SR_SCALAR_F32)
        convert_as(src, SR_SCALAR_BF16, n, dst, SR_SCALAR_F32);
    else if (from == SR_SCALAR_F32 && to == SR_SCALAR_BF16)
        convert_as(src, SR_SCALAR_F32, n, dst, SR_SCALAR_BF16);
    else
        convert_as(src, from, n, dst, to);
}

static void add_row(const void *row, enum sr_scalar type, size_t d, float *sum)
{
    for (size_t i = 0; i < d; i += VL) {
        size_t n = lanes_left(d, i);
        v_store_n(sum + i, v_add(v_load_n(sum + i, n), load_row(row, type, i, n)), n);
    }
}

/* The largest magnitude of a row. */
SR_INLINE float size_of_row(const void *row, enum sr_scalar type, size_t k)
{
    vf top = v_set(0), second = v_set(0);
    size_t i = 0;
#if defined V_PACKS
    if (type == SR_SCALAR_BF16)
        return v_size_bf16(row, k);
#endif
    for (; i + 2 * VL <= k; i += 2 * VL) {
        top = v_max(top, v_abs(load_row(row, type, i, VL)));
        second = v_max(second, v_abs(load_row(row, type, i + VL, VL)));
    }
    for (; i < k; i += VL)
        top = v_max(top, v_abs(load_row(row, type, i, lanes_left(k, i))));
    return v_top(v_max(top, second));
}

/* Symmetric quantisation with `steps` on each side of zero: returns the steps per unit, or 0 for rows of
 * negligible size, whose factor would not be finite, and for rows that are not finite. */
SR_INLINE float steps_of_row(const void *row, enum sr_scalar type, size_t k, float steps, float *scale)
{
    float most = size_of_row(row, type, k);
    bool usable = most > 1e-30F && most <= 3.4e38F;
    *scale = usable ? most / steps : 0;
    return usable ? steps / most : 0;
}

SR_INLINE void quantise_as(const void *row, enum sr_scalar type, size_t k, size_t k_padded, int offset,
                           uint8_t *dst, float *scale)
{
    vf factor = v_set(steps_of_row(row, type, k, 127, scale)), high = v_set(127), low = v_set(-127);
    size_t i = 0;
#if defined V_PACKS
    for (; i + 4 * VL <= k; i += 4 * VL)
        v_store_bytes(dst + i, v_mul(load_row(row, type, i, VL), factor),
                      v_mul(load_row(row, type, i + VL, VL), factor),
                      v_mul(load_row(row, type, i + 2 * VL, VL), factor),
                      v_mul(load_row(row, type, i + 3 * VL, VL), factor), offset);
#endif
    for (; i + VL <= k; i += VL)
        v_store_byte(dst + i, v_max(v_min(v_mul(load_row(row, type, i, VL), factor), high), low), offset, VL);
    for (; i < k_padded; i += VL) {
        size_t left = i < k ? lanes_left(k, i) : 0;
        vf v = v_max(v_min(v_mul(load_row(row, type, i, left), factor), high), low);
        v_store_byte(dst + i, v, offset, lanes_left(k_padded, i));
    }
}

static void quantise_row(const void *row, enum sr_scalar type, size_t k, size_t k_padded, int offset,
                         uint8_t *dst, float *scale)
{
    if (type == SR_SCALAR_F32)
        quantise_as(row, SR_SCALAR_F32, k, k_padded, offset, dst, scale);
    else if (type == SR_SCALAR_BF16)
        quantise_as(row, SR_SCALAR_BF16, k, k_padded, offset, dst, scale);
    else
        quantise_as(row, SR_SCALAR_F16, k, k_padded, offset, dst, scale);
}

static void prepare_row(const void *row, enum sr_scalar type, size_t k, size_t k_padded, enum sr_operand to,
                        void *dst, float *scale)
{
    if (to == SR_OPERAND_S8 || to == SR_OPERAND_U8) {
        quantise_row(row, type, k, k_padded, to == SR_OPERAND_U8 ? 128 : 0, dst, scale);
        return;
    }
    enum sr_scalar as = to == SR_OPERAND_BF16 ? SR_SCALAR_BF16 : SR_SCALAR_F32;
    convert_row(row, type, k, dst, as);
    memset((char *)dst + k * sr_scalar_size(as), 0, (k_padded - k) * sr_scalar_size(as));
}

/* Applies the epilogue to one vector of a product; `quantised` and `epilogue` are constants where this is
 * inlined. */
SR_INLINE vf product_at(const void *c, const float *bias, const float *scale, vf row_scale, bool quantised,
                        size_t i)
{
    if (quantised)
        return v_fma(v_mul(v_load_i32((const int32_t *)c + i), v_load(scale + i)), row_scale,
                     v_load(bias + i));
    return v_add(v_load((const float *)c + i), v_load(bias + i));
}

SR_INLINE vf gelu_for(vf v, enum sr_scalar type)
{
    return type == SR_SCALAR_BF16 ? v_gelu_rough(v) : v_gelu(v);
}

SR_INLINE void finish_rows(const struct sr_finish *f, enum sr_epilogue epilogue, bool quantised,
                           enum sr_scalar type)
{
    for (size_t r = 0; r < f->rows; r++) {
        const char *c = (const char *)f->c + r * f->ldc * 4;
        void *y = (char *)f->y + r * f->ldy * sr_scalar_size(type);
        vf row_scale = v_set(quantised ? f->row_scale[r] : 1);
        for (size_t i = 0; i < f->columns; i += VL) {
            size_t n = lanes_left(f->columns, i);
            vf v = product_at(c, f->bias, f->scale, row_scale, quantised, i);
            if (epilogue == SR_EPILOGUE_GELU)
                v = gelu_for(v, type);
            else if (epilogue == SR_EPILOGUE_TANH)
                v = v_tanh(v);
            else if (epilogue == SR_EPILOGUE_RELU)
                v = v_max(v, v_set(0));
            else if (epilogue == SR_EPILOGUE_ADD)
                v = v_add(v, load_row(y, type, i, n));
            else if (epilogue == SR_EPILOGUE_GEGLU)
                v = v_mul(gelu_for(v, type), product_at((const char *)f->up + r * f->ldc * 4, f->up_bias,
                                                        f->up_scale, row_scale, quantised, i));
            store_row(y, type, i, v, n);
        }
    }
}

SR_INLINE void finish_as(const struct sr_finish *f, enum sr_epilogue epilogue)
{
    if (f->scale && f->type == SR_SCALAR_F32)
        finish_rows(f, epilogue, true, SR_SCALAR_F32);
    else if (f->scale)
        finish_rows(f, epilogue, true, SR_SCALAR_BF16);
    else if (f->type == SR_SCALAR_F32)
        finish_rows(f, epilogue, false, SR_SCALAR_F32);
    else
        finish_rows(f, epilogue, false, SR_SCALAR_BF16);
}

static void finish_tile(const struct sr_finish *f)
{
    switch (f->epilogue) {
    case SR_EPILOGUE_NONE:
        finish_as(f, SR_EPILOGUE_NONE);
        break;
    case SR_EPILOGUE_GELU:
        finish_as(f, SR_EPILOGUE_GELU);
        break;
    case SR_EPILOGUE_TANH:
        finish_as(f, SR_EPILOGUE_TANH);
        break;
    case SR_EPILOGUE_RELU:
        finish_as(f, SR_EPILOGUE_RELU);
        break;
    case SR_EPILOGUE_ADD:
        finish_as(f, SR_EPILOGUE_ADD);
        break;
    case SR_EPILOGUE_GEGLU:
        finish_as(f, SR_EPILOGUE_GEGLU);
        break;
    }
}

/* The row's values: x, or x + add. */
SR_INLINE vf norm_load(const void *x, enum sr_scalar type, const void *add, enum sr_scalar add_type, size_t i,
                       size_t n)
{
    vf v = load_row(x, type, i, n);
    return add ? v_add(v, load_row(add, add_type, i, n)) : v;
}

SR_INLINE vf norm_square(vf v, vf mean, vf squares, size_t n)
{
    v = v_sub(v, mean);
    if (n < VL)
        v = v_within(v_lanes(0), v_set(0), v_set((float)n - 1), v, v_set(0));
    return v_fma(v, v, squares);
}

/* Row r; two sums side by side hide the latency of additions. */
SR_INLINE void norm_row(const struct sr_norm *norm, size_t r, const void *x, enum sr_scalar type,
                        const void *add, enum sr_scalar add_type, enum sr_scalar to)
{
    size_t d = norm->d, i = 0;
    vf one = v_set(0), two = v_set(0);
    for (; i + 2 * VL <= d; i += 2 * VL) {
        one = v_add(one, norm_load(x, type, add, add_type, i, VL));
        two = v_add(two, norm_load(x, type, add, add_type, i + VL, VL));
    }
    for (; i < d; i += VL)
        one = v_add(one, norm_load(x, type, add, add_type, i, lanes_left(d, i)));
    vf mean = v_set(v_sum(v_add(one, two)) / (float)d);
    one = two = v_set(0);
    for (i = 0; i + 2 * VL <= d; i += 2 * VL) {
        one = norm_square(norm_load(x, type, add, add_type, i, VL), mean, one, VL);
        two = norm_square(norm_load(x, type, add, add_type, i + VL, VL), mean, two, VL);
    }
    for (; i < d; i += VL)
        one =
            norm_square(norm_load(x, type, add, add_type, i, lanes_left(d, i)), mean, one, lanes_left(d, i));
    vf scale = v_set(1 / sqrtf(v_sum(v_add(one, two)) / (float)d + norm->eps));
    void *y = row_at(&norm->y, r);
    for (i = 0; i + VL <= d; i += VL) {
        vf v = v_mul(v_sub(norm_load(x, type, add, add_type, i, VL), mean), scale);
        vf bias = norm->bias ? v_load(norm->bias + i) : v_set(0);
        store_row(y, to, i, v_fma(v, v_load(norm->weight + i), bias), VL);
    }
    if (i < d) {
        size_t n = d - i;
        vf v = v_mul(v_sub(norm_load(x, type, add, add_type, i, n), mean), scale);
        vf bias = norm->bias ? v_load_n(norm->bias + i, n) : v_set(0);
        store_row(y, to, i, v_fma(v, v_load_n(norm->weight + i, n), bias), n);
    }
}

static void norm_rows(const struct sr_norm *norm, size_t from, size_t to)
{
    size_t d = norm->d;
    for (size_t r = from; r < to; r++) {
        const void *x = row_at(&norm->x, r), *add = norm->add.p ? row_at(&norm->add, r) : NULL;
        enum sr_scalar type = norm->x.type;
        float *sum = norm->sum.p ? row_at(&norm->sum, r) : NULL;
        for (size_t i = 0; sum && i < d; i += VL) {
            size_t n = lanes_left(d, i);
            store_row(sum, SR_SCALAR_F32, i, norm_load(x, type, add, norm->add.type, i, n), n);
        }
        if (sum) {
            x = sum;
            type = SR_SCALAR_F32;
            add = NULL;
        }
        if (type == SR_SCALAR_F32 && !add && norm->y.type == SR_SCALAR_F32)
            norm_row(norm, r, x, SR_SCALAR_F32, NULL, SR_SCALAR_F32, SR_SCALAR_F32);
        else if (type == SR_SCALAR_F32 && !add)
            norm_row(norm, r, x, SR_SCALAR_F32, NULL, SR_SCALAR_F32, SR_SCALAR_BF16);
        else
            norm_row(norm, r, x, type, add, norm->add.type, norm->y.type);
    }
}

#endif
