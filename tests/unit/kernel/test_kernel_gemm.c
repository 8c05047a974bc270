/* Products with packed weights against double arithmetic, under every instruction set of this CPU. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/kernel_check.h"

static const enum sr_precision precisions[] = {SR_PRECISION_FP32, SR_PRECISION_BF16, SR_PRECISION_INT8};

static void sizes(void)
{
    static const size_t depths[] = {1, 2, 3, 7, 33, 100}, columns[] = {1, 15, 47, 49, 97};
    for (size_t p = 0; p < 3; p++)
        for (size_t m = 1; m <= 70; m += m < 14 ? 1 : 11)
            for (size_t i = 0; i < 6; i++)
                check_gemm(NULL, (struct check_gemm){.m = m,
                                                     .n = columns[(i + m) % 5],
                                                     .k = depths[i],
                                                     .precision = precisions[p],
                                                     .bias = i % 2,
                                                     .scale = 1});
}

static void epilogues(void)
{
    for (size_t p = 0; p < 3; p++)
        for (int e = SR_EPILOGUE_NONE; e <= SR_EPILOGUE_GEGLU; e++)
            for (int types = 0; types < 8; types++)
                check_gemm(NULL, (struct check_gemm){.m = 19,
                                                     .n = 2 * (size_t)(types % 2 ? 24 : 53),
                                                     .k = types % 2 ? 64 : 61,
                                                     .precision = precisions[p],
                                                     .epilogue = (enum sr_epilogue)e,
                                                     .weights = types & 1 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                     .in = types & 2 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                     .out = types & 4 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                     .bias = types != 3,
                                                     .scale = types % 3 ? 0.5F : 4});
}

static void extremes(void)
{
    static const float scales[] = {1e30F, 1e-30F, 1e-42F, 0};
    for (size_t p = 0; p < 3; p++)
        for (size_t s = 0; s < 4; s++)
            check_gemm(
                NULL,
                (struct check_gemm){
                    .m = 9, .n = 50, .k = 40, .precision = precisions[p], .bias = s % 2, .scale = scales[s]});
}

static void teams(void)
{
    for (unsigned size = 1; size <= 3; size++) {
        struct sr_team *team = NULL;
        int rc = sr_team_new(&team, size);
        CHECK(rc == SR_OK, "%d", rc);
        for (size_t p = 0; p < 3; p++)
            for (size_t m = 1; m < 1200; m = m * 5 + 3)
                check_gemm(team, (struct check_gemm){.m = m,
                                                     .n = 150,
                                                     .k = 65,
                                                     .precision = precisions[p],
                                                     .epilogue = m % 2 ? SR_EPILOGUE_GEGLU : SR_EPILOGUE_ADD,
                                                     .bias = true,
                                                     .scale = 1});
        sr_team_free(team);
    }
}

/* Integer sums have no rounding: every instruction set gives the same bits but for the last multiplication.
 */
static void test_int8_agrees(void **state)
{
    (void)state;
    enum { M = 5, N = 50, K = 300 };
    float *x = check_floats(M * K, 1), *w = check_floats(N * K, 1), first[M * N] = {0};
    for (int isa = SR_ISA_SCALAR; isa <= SR_ISA_AVX512_BF16; isa++) {
        sr_isa_limit((enum sr_isa)isa);
        struct sr_matrix *matrix;
        struct sr_matrix_source source = {.weights = w, .type = SR_SCALAR_F32, .n = N, .k = K};
        assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_INT8, SR_EPILOGUE_NONE), SR_OK);
        float y[M * N];
        void *scratch = check_scratch(sr_gemm_scratch(matrix, M));
        sr_gemm(NULL, matrix, (struct sr_rows){x, K, SR_SCALAR_F32}, M, (struct sr_rows){y, N, SR_SCALAR_F32},
                scratch);
        if (isa == SR_ISA_SCALAR)
            memcpy(first, y, sizeof y);
        for (size_t i = 0; i < M * N; i++)
            assert_true(fabsf(y[i] - first[i]) <= 2e-6F * (1 + fabsf(first[i])));
        sr_matrix_free(matrix);
        free(scratch);
    }
    free(x);
    free(w);
}

/* The largest sums that eight bits can make, with signs that all agree: no 16-bit step may saturate. */
static void test_int8_saturates_nowhere(void **state)
{
    (void)state;
    enum { K = 512 };
    float x[K], w[K], y = 0;
    for (size_t i = 0; i < K; i++) {
        x[i] = i % 4 < 2 ? 3 : -3;
        w[i] = i % 4 < 2 ? -2 : 2;
    }
    for (int isa = SR_ISA_SCALAR; isa <= SR_ISA_AVX512_BF16; isa++) {
        sr_isa_limit((enum sr_isa)isa);
        struct sr_matrix *matrix;
        struct sr_matrix_source source = {.weights = w, .type = SR_SCALAR_F32, .n = 1, .k = K};
        assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_INT8, SR_EPILOGUE_NONE), SR_OK);
        void *scratch = check_scratch(sr_gemm_scratch(matrix, 1));
        sr_gemm(NULL, matrix, (struct sr_rows){x, K, SR_SCALAR_F32}, 1,
                (struct sr_rows){&y, 1, SR_SCALAR_F32}, scratch);
        assert_true(fabsf(y + 6 * K) < 0.01F);
        sr_matrix_free(matrix);
        free(scratch);
    }
}

/* 16-bit products have 32 bits to add up in: rows and columns of nothing but their largest value fill them.
 */
static void full(void)
{
    static const size_t depths[] = {1, 2, 96, 2049, 4096};
    for (size_t i = 0; i < 5; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            size_t k = depths[i];
            float *x = check_floats(k, 1), *w = check_floats(k, 1), y = 0;
            double want = 0;
            for (size_t j = 0; j < k; j++) {
                x[j] = 3;
                w[j] = (float)sign * (j % 5 == 4 ? 0.5F : 2);
                want += (double)(x[j] * w[j]);
            }
            struct sr_matrix *matrix = NULL;
            struct sr_matrix_source source = {.weights = w, .type = SR_SCALAR_F32, .n = 1, .k = k};
            int rc = sr_matrix_pack(&matrix, &source, SR_PRECISION_BF16, SR_EPILOGUE_NONE);
            CHECK(rc == SR_OK, "%d", rc);
            void *scratch = check_scratch(sr_gemm_scratch(matrix, 1));
            sr_gemm(NULL, matrix, (struct sr_rows){x, k, SR_SCALAR_F32}, 1,
                    (struct sr_rows){&y, 1, SR_SCALAR_F32}, scratch);
            CHECK(fabs((double)y - want) <= fabs(want) * 8e-3, "k %zu: %g, want %g", k, (double)y, want);
            sr_matrix_free(matrix);
            free(x), free(w), free(scratch);
        }
}

static void test_full(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(full), 0);
}

static void test_refuses(void **state)
{
    (void)state;
    struct sr_matrix *matrix;
    float w[6] = {0};
    struct sr_matrix_source source = {.weights = w, .type = SR_SCALAR_F32, .n = 3, .k = 2};
    assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_FP32, SR_EPILOGUE_GEGLU), SR_EINVAL);
    source.n = 0;
    assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_FP32, SR_EPILOGUE_NONE), SR_EINVAL);
    source.n = ((size_t)1 << 20) + 1;
    assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_FP32, SR_EPILOGUE_NONE), SR_EINVAL);
    source.n = 3;
    source.k = ((size_t)1 << 16) + 1;
    assert_int_equal(sr_matrix_pack(&matrix, &source, SR_PRECISION_INT8, SR_EPILOGUE_NONE), SR_EINVAL);
    sr_matrix_free(NULL);
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(sizes), 0);
}

static void test_epilogues(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(epilogues), 0);
}

static void test_extremes(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(extremes), 0);
}

static void test_teams(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(teams), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),       cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_extremes),    cmocka_unit_test(test_teams),
        cmocka_unit_test(test_full),        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_int8_agrees), cmocka_unit_test(test_int8_saturates_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
