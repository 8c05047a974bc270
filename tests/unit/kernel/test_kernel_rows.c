/* Norms, means, tables, conversions and teams. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/kernel_check.h"

#include <stdatomic.h>
#include <time.h>

static void norm(size_t m, size_t d, float scale, int variant)
{
    float *x = check_floats(m * (d + 2), scale), *add = check_floats(m * d, scale),
          *weight = check_floats(d, 1), *bias = check_floats(d, 1), *sum = check_floats(m * d, 1),
          *y = check_floats(m * d, 1);
    uint16_t *half_x = check_bf16(x, m * (d + 2)), *half_y = check_bf16(y, m * d);
    bool in16 = variant & 1, out16 = variant & 2, with_add = variant & 4, with_sum = variant & 8;
    struct sr_rows rows = {in16 ? (void *)half_x : (void *)x, d + 2, in16 ? SR_SCALAR_BF16 : SR_SCALAR_F32};
    struct sr_rows more = {with_add ? add : NULL, d, SR_SCALAR_F32},
                   total = {with_sum ? sum : NULL, d, SR_SCALAR_F32};
    struct sr_rows out = {out16 ? (void *)half_y : (void *)y, d, out16 ? SR_SCALAR_BF16 : SR_SCALAR_F32};
    if (in16)
        for (size_t i = 0; i < m * (d + 2); i++)
            x[i] = check_from_bf16(half_x[i]);
    sr_layer_norm(NULL, rows, more, total, weight, variant & 16 ? bias : NULL, 1e-5F, m, d, out);
    for (size_t r = 0; r < m; r++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < d; i++)
            mean += (double)x[r * (d + 2) + i] + (with_add ? (double)add[r * d + i] : 0);
        mean /= (double)d;
        for (size_t i = 0; i < d; i++) {
            double v = (double)x[r * (d + 2) + i] + (with_add ? (double)add[r * d + i] : 0) - mean;
            squares += v * v;
        }
        double root = sqrt(squares / (double)d + 1e-5);
        for (size_t i = 0; i < d; i++) {
            double v = (double)x[r * (d + 2) + i] + (with_add ? (double)add[r * d + i] : 0);
            double want = (v - mean) / root * (double)weight[i] + (variant & 16 ? (double)bias[i] : 0);
            double got = (double)(out16 ? check_from_bf16(half_y[r * d + i]) : y[r * d + i]);
            double tolerance = 1e-5 + (out16 ? fabs(want) * 0x1p-8 : 0);
            CHECK(fabs(got - want) <= tolerance, "norm d %zu variant %d: %g, want %g", d, variant, got, want);
            if (with_sum)
                CHECK(fabs((double)sum[r * d + i] - v) <= 1e-6 * fabs(v) + 1e-30, "sum");
        }
    }
    free(x), free(add), free(weight), free(bias), free(sum), free(y), free(half_x), free(half_y);
}

static void norms(void)
{
    static const size_t dims[] = {1, 7, 16, 33, 384, 769};
    for (int variant = 0; variant < 32; variant++)
        norm(3, dims[variant % 6], variant % 5 ? 1 : 1e4F, variant);
}

/* In place, with x also the sum: how an encoder calls it. All equal: nothing but the bias is left. */
static void norm_in_place(void)
{
    enum { D = 100 };
    float x[2 * D], weight[D], bias[D];
    for (size_t i = 0; i < 2 * D; i++)
        x[i] = 3;
    for (size_t i = 0; i < D; i++) {
        weight[i] = 2;
        bias[i] = (float)i;
    }
    struct sr_rows rows = {x, D, SR_SCALAR_F32};
    sr_layer_norm(NULL, rows, rows, rows, weight, bias, 1e-12F, 2, D, rows);
    for (size_t i = 0; i < 2 * D; i++)
        CHECK(x[i] == (float)(i % D), "%g at %zu", (double)x[i], i);
}

static void tables(void)
{
    enum { ROWS = 7, D = 37, M = 21 };
    float *table = check_floats(ROWS * D, 1), out[M * D], mean[D];
    uint16_t *half = check_bf16(table, ROWS * D), narrow[M * D];
    int32_t ids[M];
    for (int i = 0; i < M; i++)
        ids[i] = (i * 5) % ROWS;
    sr_gather(NULL, table, SR_SCALAR_F32, ids, M, D, (struct sr_rows){out, D, SR_SCALAR_F32});
    for (size_t i = 0; i < M * D; i++)
        CHECK(out[i] == table[(size_t)ids[i / D] * D + i % D], "gather");
    sr_gather(NULL, table, SR_SCALAR_F32, ids, M, D, (struct sr_rows){narrow, D, SR_SCALAR_BF16});
    for (size_t i = 0; i < M * D; i++)
        CHECK(narrow[i] == half[(size_t)ids[i / D] * D + i % D], "gather to bf16");
    sr_gather(NULL, half, SR_SCALAR_BF16, ids, M, D, (struct sr_rows){out, D, SR_SCALAR_F32});
    for (size_t i = 0; i < M * D; i++)
        CHECK(out[i] == check_from_bf16(half[(size_t)ids[i / D] * D + i % D]), "gather from bf16");
    sr_mean_rows((struct sr_rows){out, D, SR_SCALAR_F32}, 3, 10, D, mean);
    for (size_t j = 0; j < D; j++) {
        double want = 0;
        for (size_t i = 3; i < 10; i++)
            want += (double)out[i * D + j] / 7;
        CHECK(fabs((double)mean[j] - want) < 1e-6, "mean");
    }
    free(table), free(half);
}

/* Blocks of 4 bits: the halves of byte j are numbers j and j + 16, from -8 steps to 7. */
static void q4(void)
{
    enum { ROWS = 3, D = 64, M = 9, BYTES = D / SR_Q4_BLOCK * SR_Q4_BYTES };
    static const float steps[] = {1, 0.5F, -2, 0, 0.25F, 3};
    static const uint16_t step_bits[] = {0x3C00, 0x3800, 0xC000, 0, 0x3400, 0x4200};
    unsigned char table[ROWS * BYTES];
    float want[ROWS * D], out[M * D];
    int32_t ids[M];
    CHECK(sr_scalar_bytes(SR_SCALAR_Q4, D) == BYTES && sr_scalar_bytes(SR_SCALAR_BF16, D) == 2 * D, "bytes");
    for (size_t b = 0; b < ROWS * D / SR_Q4_BLOCK; b++) {
        unsigned char *block = table + b * SR_Q4_BYTES;
        block[0] = (unsigned char)step_bits[b];
        block[1] = (unsigned char)(step_bits[b] >> 8);
        for (size_t j = 0; j < SR_Q4_BLOCK / 2; j++) {
            unsigned low = (unsigned)(b + j) % 16, high = (unsigned)(5 * b + 3 * j) % 16;
            block[2 + j] = (unsigned char)(low | high << 4);
            want[b * SR_Q4_BLOCK + j] = ((float)low - 8) * steps[b];
            want[b * SR_Q4_BLOCK + j + 16] = ((float)high - 8) * steps[b];
        }
    }
    sr_to_float(table, SR_SCALAR_Q4, ROWS * D, out);
    for (size_t i = 0; i < ROWS * D; i++)
        CHECK(out[i] == want[i], "q4 %zu: %g, not %g", i, (double)out[i], (double)want[i]);
    for (int i = 0; i < M; i++)
        ids[i] = (i * 2) % ROWS;
    sr_gather(NULL, table, SR_SCALAR_Q4, ids, M, D, (struct sr_rows){out, D, SR_SCALAR_F32});
    for (size_t i = 0; i < M * D; i++)
        CHECK(out[i] == want[(size_t)ids[i / D] * D + i % D], "gather from q4");
}

static void f16(void)
{
    static const struct {
        uint16_t bits;
        float value;
    } cases[] = {{0, 0},
                 {0x8000, -0.0F},
                 {0x3C00, 1},
                 {0xC000, -2},
                 {0x7BFF, 65504},
                 {0x0001, 0x1p-24F},
                 {0x03FF, 1023 * 0x1p-24F},
                 {0x0400, 0x1p-14F},
                 {0x3555, 0.33325195F},
                 {0x7C00, INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t in[9];
        float out[9];
        for (size_t j = 0; j < 9; j++)
            in[j] = cases[i].bits;
        sr_to_float(in, SR_SCALAR_F16, 9, out);
        for (size_t j = 0; j < 9; j++)
            CHECK(out[j] == cases[i].value, "f16 %04x: %g", cases[i].bits, (double)out[j]);
    }
}

static void peaks(void)
{
    for (int p = 0; p < 3; p++)
        CHECK(sr_kernel_peak((enum sr_precision)p) > 1e6, "peak");
}

struct count {
    atomic_uint parts[SR_TEAM_MAX], calls;
    unsigned plain[SR_TEAM_MAX];
};

static void count_part(void *ctx, unsigned part, unsigned parts)
{
    struct count *count = ctx;
    atomic_fetch_add(&count->parts[part], 1);
    atomic_fetch_add(&count->calls, 1);
    count->plain[part] += parts;
}

static void test_team(void **state)
{
    (void)state;
    struct sr_team *team;
    assert_int_equal(sr_team_new(&team, 0), SR_EINVAL);
    assert_int_equal(sr_team_new(&team, SR_TEAM_MAX + 1), SR_EINVAL);
    assert_int_equal(sr_team_size(NULL), 1);
    for (unsigned size = 1; size <= 4; size++) {
        struct count count = {0};
        assert_int_equal(sr_team_new(&team, size), SR_OK);
        assert_int_equal(sr_team_size(team), size);
        for (int i = 0; i < 300; i++) {
            sr_team_run(team, count_part, &count);
            if (i % 100 == 99) { /* long enough that the members sleep */
                struct timespec pause = {.tv_nsec = 3000000};
                nanosleep(&pause, NULL);
            }
        }
        assert_int_equal(atomic_load(&count.calls), 300 * size);
        for (unsigned i = 0; i < size; i++) {
            assert_int_equal(atomic_load(&count.parts[i]), 300);
            assert_int_equal(count.plain[i], 300 * size);
        }
        sr_team_free(team);
    }
    sr_team_free(NULL);
}

static void test_isa(void **state)
{
    (void)state;
    sr_isa_limit(SR_ISA_SCALAR);
    assert_int_equal(sr_isa_current(), SR_ISA_SCALAR);
    assert_string_equal(sr_isa_name(SR_ISA_AVX512), "avx512");
    assert_string_equal(sr_isa_name((enum sr_isa)99), "unknown");
}

static void test_norms(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(norms), 0);
    assert_int_equal(check_each_isa(norm_in_place), 0);
}

static void test_tables(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(tables), 0);
    assert_int_equal(check_each_isa(f16), 0);
    assert_int_equal(check_each_isa(q4), 0);
}

static void test_dots(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(check_dots), 0);
}

static void test_peaks(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(peaks), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms), cmocka_unit_test(test_tables), cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_dots),  cmocka_unit_test(test_team),   cmocka_unit_test(test_isa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
