/*
 * Checks of the kernels: comparisons with plain double arithmetic, for every instruction set that
 * the CPU has. Without a test library, so that the cross-built program can include it too.
 */
#ifndef SR_TESTS_KERNEL_CHECK_H
#define SR_TESTS_KERNEL_CHECK_H

#include "kernel/kernel.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;

#define CHECK(cond, ...)                                                                                     \
    do {                                                                                                     \
        if (!(cond) && check_failures++ < 20) {                                                              \
            printf("%s:%d: %s [%s] ", __FILE__, __LINE__, #cond, sr_isa_name(sr_isa_current()));             \
            printf(__VA_ARGS__);                                                                             \
            printf("\n");                                                                                    \
        }                                                                                                    \
    } while (0)

/* Runs `check` once under each instruction set; returns the failures. */
static inline int check_each_isa(void (*check)(void))
{
    int before = check_failures;
    for (int isa = SR_ISA_SCALAR; isa <= SR_ISA_AVX512_BF16; isa++) {
        sr_isa_limit((enum sr_isa)isa);
        if (sr_isa_current() == (enum sr_isa)isa)
            check();
    }
    return check_failures - before;
}

static uint32_t check_state = 1;

/* Uniform in [-1, 1). */
static inline float check_random(void)
{
    check_state = check_state * 1664525u + 1013904223u;
    return (float)(int32_t)check_state / 2147483648.0F;
}

static inline float *check_floats(size_t n, float scale)
{
    if (n > (size_t)1 << 30)
        abort();
    float *p = malloc(n * sizeof *p + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = scale * check_random();
    return p;
}

static inline float check_from_bf16(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint16_t check_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t *check_bf16(const float *from, size_t n)
{
    if (n > (size_t)1 << 30)
        abort();
    uint16_t *p = malloc(n * sizeof *p + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = check_to_bf16(from[i]);
    return p;
}

/* Memory of exactly `bytes`, rounded up to the alignment that is asked for. */
static inline void *check_scratch(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) / 64 * 64);
}

static inline double check_gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

/* One product: n and k of the weights, m rows; x and y in given types, rows some elements apart. */
struct check_gemm {
    size_t m, n, k;
    enum sr_precision precision;
    enum sr_epilogue epilogue;
    enum sr_scalar weights, in, out;
    bool bias;
    float scale;
};

static inline float check_get(const void *p, enum sr_scalar type, size_t i)
{
    return type == SR_SCALAR_F32 ? ((const float *)p)[i] : check_from_bf16(((const uint16_t *)p)[i]);
}

/* The exact value of one output before the epilogue, and what rounding of the operands may make of it. */
static inline double check_dot(const struct check_gemm *c, const float *x, const float *w, const float *bias,
                               size_t row, double *tolerance)
{
    double sum = bias ? (double)bias[row] : 0, absolute = fabs(sum), most_x = 0, most_w = 0, sum_x = 0,
           sum_w = 0;
    for (size_t i = 0; i < c->k; i++) {
        double a = (double)x[i], b = (double)w[row * c->k + i];
        sum += a * b;
        absolute += fabs(a * b);
        most_x = fmax(most_x, fabs(a));
        most_w = fmax(most_w, fabs(b));
        sum_x += fabs(a);
        sum_w += fabs(b);
    }
    double float_error = absolute * 1.2e-7 * (8 + sqrt((double)c->k)) + 1e-36;
    *tolerance = float_error;
    if (c->precision == SR_PRECISION_BF16)
        *tolerance +=
            absolute * 0x1p-8 * 1.01 * 2 / sqrt(fmax(1, (double)c->k / 16)) +
            (most_x * sum_w + most_w * sum_x) / 0x1p13; /* some sets take steps of a row's largest */
    if (c->precision == SR_PRECISION_INT8)
        *tolerance += (most_x * sum_w + most_w * sum_x) / 254 / sqrt(fmax(1, (double)c->k / 16)) +
                      (double)c->k * most_x * most_w / 254 / 254;
    return sum;
}

static inline void check_gemm(struct sr_team *team, struct check_gemm c)
{
    size_t columns = c.epilogue == SR_EPILOGUE_GEGLU ? c.n / 2 : c.n, ldx = c.k + 3, ldy = columns + 5;
    float *w = check_floats(c.n * c.k, 1), *bias = check_floats(c.n, 1),
          *x = check_floats(c.m * ldx, c.scale);
    float *before = check_floats(c.m * ldy, 1);
    uint16_t *half_w = check_bf16(w, c.n * c.k), *half_x = check_bf16(x, c.m * ldx),
             *half_y = check_bf16(before, c.m * ldy);
    if (c.weights == SR_SCALAR_BF16)
        for (size_t i = 0; i < c.n * c.k; i++)
            w[i] = check_from_bf16(half_w[i]);
    if (c.in == SR_SCALAR_BF16)
        for (size_t i = 0; i < c.m * ldx; i++)
            x[i] = check_from_bf16(half_x[i]);
    float *y = malloc(c.m * ldy * sizeof *y);
    memcpy(y, before, c.m * ldy * sizeof *y);
    struct sr_matrix *matrix = NULL;
    struct sr_matrix_source source = {.weights = c.weights == SR_SCALAR_BF16 ? (void *)half_w : (void *)w,
                                      .type = c.weights,
                                      .n = c.n,
                                      .k = c.k,
                                      .bias = c.bias ? bias : NULL};
    int rc = sr_matrix_pack(&matrix, &source, c.precision, c.epilogue);
    CHECK(rc == SR_OK, "%d", rc);
    CHECK(sr_matrix_rows(matrix) == columns && sr_matrix_depth(matrix) == c.k, "shape");
    void *scratch = check_scratch(sr_gemm_scratch(matrix, c.m));
    sr_gemm(team, matrix, (struct sr_rows){c.in == SR_SCALAR_BF16 ? (void *)half_x : (void *)x, ldx, c.in},
            c.m, (struct sr_rows){c.out == SR_SCALAR_BF16 ? (void *)half_y : (void *)y, ldy, c.out}, scratch);
    for (size_t i = 0; i < c.m; i++) {
        for (size_t j = 0; j < ldy; j++) {
            double got =
                (double)(c.out == SR_SCALAR_BF16 ? check_from_bf16(half_y[i * ldy + j]) : y[i * ldy + j]);
            double was =
                (double)(c.out == SR_SCALAR_BF16 ? check_from_bf16(check_to_bf16(before[i * ldy + j]))
                                                 : before[i * ldy + j]);
            if (j >= columns) {
                CHECK(got == was, "written behind a row");
                continue;
            }
            double tolerance,
                more = 0, v = check_dot(&c, x + i * ldx, w, c.bias ? bias : NULL, j, &tolerance), want = v;
            if (c.epilogue == SR_EPILOGUE_GELU) {
                want = check_gelu(v);
                tolerance = 1.2 * tolerance + 1e-6;
            } else if (c.epilogue == SR_EPILOGUE_TANH) {
                want = tanh(v);
                tolerance += 1e-6;
            } else if (c.epilogue == SR_EPILOGUE_RELU) {
                want = fmax(v, 0);
            } else if (c.epilogue == SR_EPILOGUE_ADD) {
                want = v + was;
                tolerance += fabs(want) * 1e-7 + 1e-7;
            } else if (c.epilogue == SR_EPILOGUE_GEGLU) {
                double up = check_dot(&c, x + i * ldx, w, c.bias ? bias : NULL, j + columns, &more);
                want = check_gelu(v) * up;
                tolerance =
                    (1.2 * tolerance + 1e-6) * (fabs(up) + more) + (fabs(check_gelu(v)) + 1e-6) * more;
            }
            if (c.out == SR_SCALAR_BF16)
                tolerance += fabs(want) * 0x1p-8;
            if (c.out == SR_SCALAR_BF16 &&
                (c.epilogue == SR_EPILOGUE_GELU || c.epilogue == SR_EPILOGUE_GEGLU))
                tolerance += fabs(want) * 1.3e-3;
            CHECK(fabs(got - want) <= tolerance,
                  "m %zu n %zu k %zu precision %d epilogue %d at %zu %zu: %g, want %g +- %g", c.m, c.n, c.k,
                  (int)c.precision, (int)c.epilogue, i, j, got, want, tolerance);
        }
    }
    free(w), free(bias), free(x), free(before), free(half_w), free(half_x), free(half_y), free(y),
        free(scratch);
    sr_matrix_free(matrix);
}

/* Attention of a batch; `first` and `n` as in sr_attention, `scale` of the values of q and k. */
struct check_attention {
    const uint32_t *starts;
    size_t n_sequences, heads, head_dim, window, first, n;
    enum sr_scalar in, out;
    bool rope;
    float scale;
    unsigned terms; /* of relative positions: 1 of queries, 2 of keys */
};

/* Relative positions: matrices of each head and their floats; rows that repeat away from the diagonal. */
#define CHECK_ROWS     141u
#define CHECK_STRAIGHT 40
struct check_relative {
    struct sr_matrix *packed[2][8]; /* keys, queries */
    float *rows[2];                 /* [heads][CHECK_ROWS][head_dim] */
    int32_t *row_of[2];             /* by distance from -positions on; those of keys skip a row */
    struct sr_relative relative;
};

static inline void check_relative_new(struct check_relative *r, const struct check_attention *c,
                                      size_t positions)
{
    size_t block = CHECK_ROWS * c->head_dim;
    long room = (long)positions + (long)SR_RELATIVE_ROOM, half = (CHECK_ROWS - 1) / 2;
    *r = (struct check_relative){0};
    for (int part = 0; part < 2; part++) {
        r->row_of[part] = malloc((2 * (size_t)room + 1) * sizeof **r->row_of);
        for (long away = -room; away <= room; away++) {
            long far = labs(away) - CHECK_STRAIGHT;
            long step =
                far <= 0 ? labs(away) : CHECK_STRAIGHT + (part ? 0 : 1) + (long)(2 * sqrt((double)far)) / 3;
            r->row_of[part][away + room] =
                (int32_t)(half + (away < 0 ? -1 : 1) * (step < half ? step : half));
        }
    }
    for (int part = 0; part < 2; part++) {
        r->rows[part] = check_floats(c->heads * block, c->scale);
        for (size_t h = 0; h < c->heads && (c->terms >> part & 1); h++) {
            struct sr_matrix_source source = {r->rows[part] + h * block, SR_SCALAR_F32, CHECK_ROWS,
                                              c->head_dim, NULL};
            int rc = sr_matrix_pack(&r->packed[part][h], &source,
                                    c->in == SR_SCALAR_BF16 ? SR_PRECISION_BF16 : SR_PRECISION_FP32,
                                    SR_EPILOGUE_NONE);
            CHECK(rc == SR_OK, "%d", rc);
        }
    }
    r->relative = (struct sr_relative){.keys = c->terms & 1 ? r->packed[0] : NULL,
                                       .queries = c->terms & 2 ? r->packed[1] : NULL,
                                       .key_rows = r->row_of[0] + room,
                                       .query_rows = r->row_of[1] + room,
                                       .positions = (size_t)room,
                                       .straight = CHECK_STRAIGHT,
                                       .n_rows = CHECK_ROWS};
}

static inline void check_relative_free(struct check_relative *r)
{
    for (int part = 0; part < 2; part++) {
        for (size_t h = 0; h < 8; h++)
            sr_matrix_free(r->packed[part][h]);
        free(r->rows[part]);
        free(r->row_of[part]);
    }
}

/* What the terms add to q k of a head: positions `t` and `j` of a sequence. */
static inline double check_relative_sum(const struct check_relative *r, const struct check_attention *c,
                                        size_t h, const double *q, const double *k, size_t t, size_t j)
{
    size_t d = c->head_dim;
    ptrdiff_t away = (ptrdiff_t)j - (ptrdiff_t)t;
    const float *key = r->rows[0] + (h * CHECK_ROWS + (size_t)r->relative.key_rows[away]) * d;
    const float *query = r->rows[1] + (h * CHECK_ROWS + (size_t)r->relative.query_rows[-away]) * d;
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += (c->terms & 1 ? q[i] * (double)key[i] : 0) + (c->terms & 2 ? k[i] * (double)query[i] : 0);
    return sum;
}

static inline void check_rotate(double *x, size_t d, size_t position)
{
    for (size_t i = 0; i < d / 2; i++) {
        float frequency = 1.0F / (float)pow(10000, (double)((float)(2 * i) / (float)d));
        double angle = (double)((float)position * frequency), low = x[i], high = x[i + d / 2];
        x[i] = low * cos(angle) - high * sin(angle);
        x[i + d / 2] = high * cos(angle) + low * sin(angle);
    }
}

static inline void check_attention(struct sr_team *team, struct check_attention c)
{
    size_t tokens = c.starts[c.n_sequences], d = c.head_dim, width = c.heads * d, ld = 3 * width + 16,
           ldo = width + 3;
    float *qkv = check_floats(tokens * ld, c.scale), *out = check_floats(tokens * ldo, 1);
    uint16_t *half = check_bf16(qkv, tokens * ld), *half_out = check_bf16(out, tokens * ldo);
    if (c.in == SR_SCALAR_BF16)
        for (size_t i = 0; i < tokens * ld; i++)
            qkv[i] = check_from_bf16(half[i]);
    struct sr_rope *rope = NULL;
    int rc = c.rope ? sr_rope_new(&rope, 10000, d, tokens) : SR_OK;
    CHECK(rc == SR_OK, "%d", rc);
    struct sr_attention a = {
        .qkv = c.in == SR_SCALAR_BF16 ? (void *)half : (void *)qkv,
        .ld = ld,
        .type = c.in,
        .out = {c.out == SR_SCALAR_BF16 ? (void *)half_out : (void *)out, ldo, c.out},
        .starts = c.starts,
        .n_sequences = c.n_sequences,
        .heads = c.heads,
        .head_dim = d,
        .scale = 1 / sqrtf((float)d),
        .window = c.window,
        .rope = rope,
        .first_query = c.first,
        .n_queries = c.n,
    };
    struct check_relative terms;
    check_relative_new(&terms, &c, tokens);
    if (c.terms)
        a.relative = &terms.relative;
    float *before = malloc(tokens * ldo * sizeof *before);
    for (size_t i = 0; i < tokens * ldo; i++)
        before[i] = check_get(a.out.p, c.out, i);
    void *scratch = check_scratch(sr_attention_scratch(&a, sr_team_size(team)));
    sr_attention(team, &a, scratch);
    double *q = malloc(d * sizeof *q), *keys = malloc(tokens * d * sizeof *keys),
           *scores = malloc(tokens * sizeof *scores);
    double tolerance = c.in == SR_SCALAR_BF16 ? 0.02 * (double)c.scale : 1e-5 * (double)(1 + c.scale);
    if (c.out == SR_SCALAR_BF16)
        tolerance += (double)c.scale * 0x1p-8;
    for (size_t s = 0; s < c.n_sequences; s++)
        for (size_t h = 0; h < c.heads; h++) {
            size_t from = c.starts[s], to = c.starts[s + 1];
            for (size_t j = from; j < to; j++) {
                for (size_t i = 0; i < d; i++)
                    keys[j * d + i] = (double)qkv[j * ld + width + h * d + i];
                if (c.rope)
                    check_rotate(keys + j * d, d, j - from);
            }
            for (size_t t = from; t < to; t++) {
                bool asked = t >= c.first && t - c.first < c.n;
                for (size_t i = 0; i < d && !asked; i++)
                    CHECK(check_get(a.out.p, c.out, t * ldo + h * d + i) == before[t * ldo + h * d + i],
                          "touched");
                if (!asked)
                    continue;
                double most = -1e300, total = 0;
                for (size_t i = 0; i < d; i++)
                    q[i] = (double)qkv[t * ld + h * d + i];
                if (c.rope)
                    check_rotate(q, d, t - from);
                size_t low = t - from > c.window ? t - c.window : from;
                size_t high = to - 1 - t > c.window ? t + c.window : to - 1;
                for (size_t j = low; j <= high; j++) {
                    scores[j] = 0;
                    for (size_t i = 0; i < d; i++)
                        scores[j] += q[i] * keys[j * d + i];
                    if (c.terms)
                        scores[j] += check_relative_sum(&terms, &c, h, q, keys + j * d, t - from, j - from);
                    scores[j] /= sqrt((double)d);
                    most = fmax(most, scores[j]);
                }
                for (size_t j = low; j <= high; j++)
                    total += scores[j] = exp(scores[j] - most);
                for (size_t i = 0; i < d; i++) {
                    double want = 0;
                    for (size_t j = low; j <= high; j++)
                        want += scores[j] / total * (double)qkv[j * ld + 2 * width + h * d + i];
                    double got = (double)check_get(a.out.p, c.out, t * ldo + h * d + i);
                    CHECK(fabs(got - want) <= tolerance, "d %zu window %zd token %zu head %zu: %g, want %g",
                          d, (ssize_t)c.window, t, h, got, want);
                }
            }
        }
    free(qkv), free(out), free(half), free(half_out), free(before), free(scratch), free(q), free(keys),
        free(scores);
    check_relative_free(&terms);
    sr_rope_free(rope);
}

/* Dot products of bytes: random ones, and the largest that there are. */
static inline void check_dots(void)
{
    enum { D_MAX = 4096, N = 9 };
    int8_t *q = malloc(D_MAX);
    uint8_t *bytes = malloc(D_MAX * N + 1);
    for (size_t d = 64; d <= D_MAX; d = d < 512 ? d + 64 : d * 2)
        for (int kind = 0; kind < 3; kind++) {
            const uint8_t *rows[N];
            int32_t dots[N];
            for (size_t i = 0; i < d; i++)
                q[i] = (int8_t)(kind == 0 ? 127.9F * check_random() : kind == 1 ? 127 : -128);
            for (size_t i = 0; i < d * N; i++)
                bytes[i + 1] = (uint8_t)(kind == 0 ? 127.9F + 127.9F * check_random() : 255);
            for (size_t i = 0; i < N; i++)
                rows[i] = bytes + 1 + i * d;
            for (size_t n = 1; n <= N; n += 4) {
                sr_dot_bytes(q, d, rows, n, dots);
                for (size_t i = 0; i < n; i++) {
                    int32_t want = 0;
                    for (size_t k = 0; k < d; k++)
                        want += rows[i][k] * q[k];
                    CHECK(dots[i] == want, "%zu of %zu: %d, %d", i, d, dots[i], want);
                }
            }
        }
    free(q);
    free(bytes);
}

#endif
