/*
 * The checks of the kernels as a program without a test library: cross-built for aarch64 and run by an
 * emulator, where a test library for that architecture need not be installed.
 */
#include "unit/kernel_check.h"

static void products(void)
{
    static const size_t rows[] = {1, 2, 5, 6, 7, 13, 20}, depths[] = {1, 3, 64, 101};
    for (int p = SR_PRECISION_FP32; p <= SR_PRECISION_INT8; p++)
        for (int i = 0; i < 28; i++)
            check_gemm(NULL, (struct check_gemm){.m = rows[i % 7],
                                                 .n = 2 * (size_t)(7 + i),
                                                 .k = depths[i % 4],
                                                 .precision = (enum sr_precision)p,
                                                 .epilogue = (enum sr_epilogue)(i % (SR_EPILOGUE_GEGLU + 1)),
                                                 .weights = i & 1 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                 .in = i & 2 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                 .out = i & 4 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                 .bias = i % 3,
                                                 .scale = i % 5 ? 1 : 1e15F});
}

static void attention(void)
{
    static const uint32_t starts[] = {0, 1, 18, 60, 270};
    static const size_t dims[] = {16, 32, 64, 128}, windows[] = {SIZE_MAX, 0, 1, 64};
    for (size_t i = 0; i < 4; i++)
        check_attention(NULL, (struct check_attention){.starts = starts,
                                                       .n_sequences = 4,
                                                       .heads = 2,
                                                       .head_dim = dims[i],
                                                       .window = windows[i],
                                                       .n = SIZE_MAX,
                                                       .in = i % 2 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                       .out = i % 2 ? SR_SCALAR_F32 : SR_SCALAR_BF16,
                                                       .rope = i < 3,
                                                       .scale = 1});
    for (size_t i = 0; i < 6; i++)
        check_attention(NULL, (struct check_attention){.starts = starts,
                                                       .n_sequences = 4,
                                                       .heads = 2,
                                                       .head_dim = dims[i % 4],
                                                       .window = SIZE_MAX,
                                                       .n = SIZE_MAX,
                                                       .in = i < 3 ? SR_SCALAR_F32 : SR_SCALAR_BF16,
                                                       .scale = 1,
                                                       .terms = (unsigned)(i % 3 + 1)});
}

static void rows(void)
{
    enum { M = 3, D = 37 };
    float x[M * D], y[M * D], mean[D], weight[D];
    uint16_t f16[] = {0x3C00, 0x0001, 0x7BFF, 0xC000, 0x3555};
    float wide[5];
    for (size_t i = 0; i < M * D; i++)
        x[i] = check_random();
    for (size_t i = 0; i < D; i++)
        weight[i] = 1;
    sr_layer_norm(NULL, (struct sr_rows){x, D, SR_SCALAR_F32}, (struct sr_rows){0}, (struct sr_rows){0},
                  weight, NULL, 0, M, D, (struct sr_rows){y, D, SR_SCALAR_F32});
    for (size_t r = 0; r < M; r++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < D; i++) {
            sum += (double)y[r * D + i];
            squares += (double)y[r * D + i] * (double)y[r * D + i];
        }
        CHECK(fabs(sum) < 1e-4 && fabs(squares / D - 1) < 1e-4, "norm: %g %g", sum, squares);
    }
    sr_mean_rows((struct sr_rows){x, D, SR_SCALAR_F32}, 0, M, D, mean);
    CHECK(fabsf(mean[36] - (x[36] + x[36 + D] + x[36 + 2 * D]) / 3) < 1e-6F, "mean");
    sr_to_float(f16, SR_SCALAR_F16, 5, wide);
    CHECK(wide[0] == 1 && wide[1] == 0x1p-24F && wide[2] == 65504 && wide[3] == -2, "f16");
}

int main(void)
{
    check_each_isa(products);
    check_each_isa(attention);
    check_each_isa(rows);
    check_each_isa(check_dots);
    printf("kernels: %d failures\n", check_failures);
    return check_failures ? 1 : 0;
}
