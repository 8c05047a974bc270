/* The first part of the encoder's measurement: products and attention against the peak of the same
 * instructions. */
#include "bench/encoder.h"

#include "bench/bench.h"

#include "base/clock.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define COPIES 16u /* of the weights, so that they come from memory, as in a model of many layers */

static const char *const precisions[] = {"fp32", "bf16", "int8"};

static void *aligned(void **block, size_t bytes)
{
    *block = sr_mem_calloc(1, bytes + 64);
    return *block ? (void *)(((uintptr_t)*block + 63) / 64 * 64) : NULL;
}

/* Shortest of the runs that fit into `seconds`, of `rounds` products each; in seconds of one. */
static double time_gemm(struct sr_team *team, struct sr_matrix *const *matrices, float *x, float *y, size_t m,
                        bool cold, double seconds)
{
    void *block, *scratch = aligned(&block, sr_gemm_scratch(matrices[0], m));
    size_t k = sr_matrix_depth(matrices[0]), n = sr_matrix_rows(matrices[0]);
    double best = INFINITY;
    for (uint64_t start = sr_clock_ns(); scratch && (double)(sr_clock_ns() - start) < seconds * 1e9;) {
        uint64_t begin = sr_clock_ns();
        for (size_t i = 0; i < COPIES; i++)
            sr_gemm(team, matrices[cold ? i : 0], (struct sr_rows){x, k, SR_SCALAR_F32}, m,
                    (struct sr_rows){y, n, SR_SCALAR_F32}, scratch);
        double took = (double)(sr_clock_ns() - begin) * 1e-9 / COPIES;
        best = took < best ? took : best;
    }
    sr_mem_free(block);
    return best;
}

static void gemm_rows(struct sr_bench_table *table, struct sr_team *team, enum sr_precision precision,
                      double seconds)
{
    static const size_t shapes[][2] = {{768, 2304}, {1152, 768}, {384, 1536}}, rows[] = {1, 16, 64, 512};
    float *w = sr_mem_calloc(2304 * 768, sizeof *w), *x = sr_mem_calloc(512 * 1152, sizeof *x),
          *y = sr_mem_calloc(512 * 2304, sizeof *y);
    uint32_t state = 1;
    for (size_t i = 0; w && i < 2304 * 768; i++) {
        state = state * 1664525u + 1013904223u;
        w[i] = (float)(int32_t)state / 2147483648.0F;
    }
    for (size_t i = 0; w && x && i < 512 * 1152; i++)
        x[i] = w[i];
    for (size_t s = 0; w && x && y && s < 3; s++) {
        struct sr_matrix *matrices[COPIES] = {0};
        struct sr_matrix_source source = {
            .weights = w, .type = SR_SCALAR_F32, .n = shapes[s][1], .k = shapes[s][0]};
        int rc = SR_OK;
        for (size_t i = 0; i < COPIES && rc == SR_OK; i++)
            rc = sr_matrix_pack(&matrices[i], &source, precision, SR_EPILOGUE_NONE);
        if (rc == SR_OK) {
            double peak = sr_kernel_peak(precision) * sr_team_size(team);
            sr_bench_table_cell(table, "%s", sr_matrix_kernel(matrices[0]));
            sr_bench_table_cell(table, "%zux%zu", shapes[s][0], shapes[s][1]);
            sr_bench_table_cell(table, "%.0f", peak * 1e-9);
            for (size_t r = 0; r < 4; r++) {
                double work = 2.0 * (double)(rows[r] * shapes[s][0] * shapes[s][1]);
                double hot = time_gemm(team, matrices, x, y, rows[r], false, seconds);
                double cold = time_gemm(team, matrices, x, y, rows[r], true, seconds);
                sr_bench_table_cell(table, "%.0f / %.0f %%", 100 * work / hot / peak,
                                    100 * work / cold / peak);
            }
        }
        for (size_t i = 0; i < COPIES; i++)
            sr_matrix_free(matrices[i]);
    }
    sr_mem_free(w);
    sr_mem_free(x);
    sr_mem_free(y);
}

static double time_attention(struct sr_team *team, const struct sr_attention *a, double seconds)
{
    void *block, *scratch = aligned(&block, sr_attention_scratch(a, sr_team_size(team)));
    double best = INFINITY;
    for (uint64_t start = sr_clock_ns(); scratch && (double)(sr_clock_ns() - start) < seconds * 1e9;) {
        uint64_t begin = sr_clock_ns();
        sr_attention(team, a, scratch);
        double took = (double)(sr_clock_ns() - begin) * 1e-9;
        best = took < best ? took : best;
    }
    sr_mem_free(block);
    return best;
}

static void attention_rows(struct sr_bench_table *table, struct sr_team *team, enum sr_scalar type,
                           bool local, double seconds)
{
    static const size_t lengths[] = {32, 128, 512, 2048};
    enum sr_precision precision = type == SR_SCALAR_F32 ? SR_PRECISION_FP32 : SR_PRECISION_BF16;
    double peak = sr_kernel_peak(precision) * sr_team_size(team);
    void *qkv = sr_mem_calloc(2048 * 2304, 4), *out = sr_mem_calloc(2048 * 768, 4);
    sr_bench_table_cell(table, "%s attention", precisions[precision]);
    sr_bench_table_cell(table, "%s", local ? "window 64" : "global");
    sr_bench_table_cell(table, "%.0f", peak * 1e-9);
    for (size_t i = 0; qkv && out && i < 4; i++) {
        size_t n = lengths[i];
        uint32_t starts[2] = {0, (uint32_t)n};
        struct sr_attention a = {.qkv = qkv,
                                 .ld = 2304,
                                 .type = type,
                                 .out = {out, 768, type},
                                 .starts = starts,
                                 .n_sequences = 1,
                                 .heads = 12,
                                 .head_dim = 64,
                                 .scale = 0.125F,
                                 .window = local ? 64 : SIZE_MAX,
                                 .n_queries = SIZE_MAX};
        double keys = (double)n * (double)n;
        if (local && n > 64)
            keys = (double)n * 129 - 64 * 65;
        sr_bench_table_cell(table, "%.0f %%",
                            100 * keys * 12 * 256 / time_attention(team, &a, seconds) / peak);
    }
    sr_mem_free(qkv);
    sr_mem_free(out);
}

void sr_bench_encoder_kernels(unsigned threads, double seconds)
{
    static const char *const titles[] = {"kernel", "K x N", "peak GFLOP/s", "m=1", "m=16", "m=64", "m=512"};
    static const char *const lengths[] = {"kernel", "keys",  "peak GFLOP/s", "n=32",
                                          "n=128",  "n=512", "n=2048"};
    struct sr_bench_table *table = sr_mem_alloc(sizeof *table);
    struct sr_team *team = NULL;
    if (table && sr_team_new(&team, threads) == SR_OK) {
        sr_bench_table_init(table, titles, 7);
        for (int p = 0; p < 3; p++)
            gemm_rows(table, team, (enum sr_precision)p, seconds / 10);
        printf("products, share of the peak of %u threads: weights in the cache / weights from memory\n",
               threads);
        sr_bench_table_print(table, stdout);
        sr_bench_table_init(table, lengths, 7);
        for (int i = 0; i < 4; i++)
            attention_rows(table, team, i / 2 ? SR_SCALAR_BF16 : SR_SCALAR_F32, i % 2, seconds / 10);
        printf("\nattention, 12 heads of 64, share of the peak counting useful work only\n");
        sr_bench_table_print(table, stdout);
    }
    sr_team_free(team);
    sr_mem_free(table);
}
