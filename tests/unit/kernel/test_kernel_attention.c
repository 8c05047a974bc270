/* Attention against double arithmetic: windows, ranges of queries, many sequences, teams, extreme scores. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/kernel_check.h"

static const uint32_t one[] = {0, 300}, many[] = {0, 1, 2, 19, 52, 116, 118, 311, 320};

static void shapes(void)
{
    static const size_t windows[] = {SIZE_MAX, 0, 1, 64}, dims[] = {16, 32, 64, 128};
    for (size_t w = 0; w < 4; w++)
        for (size_t d = 0; d < 4; d++)
            for (int type = 0; type < 2; type++)
                check_attention(NULL, (struct check_attention){.starts = (w + d) % 2 ? one : many,
                                                               .n_sequences = (w + d) % 2 ? 1 : 8,
                                                               .heads = 2,
                                                               .head_dim = dims[d],
                                                               .window = windows[w],
                                                               .n = SIZE_MAX,
                                                               .in = type ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                               .out = d % 2 ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                                               .rope = (w + d) % 3 != 0,
                                                               .scale = 2});
}

static void ranges(void)
{
    static const size_t first[] = {0, 0, 17, 60, 319, 400}, n[] = {1, 20, 1, 130, 10, 5};
    for (size_t i = 0; i < 6; i++)
        check_attention(NULL, (struct check_attention){.starts = many,
                                                       .n_sequences = 8,
                                                       .heads = 3,
                                                       .head_dim = 32,
                                                       .window = i % 2 ? 64 : SIZE_MAX,
                                                       .first = first[i],
                                                       .n = n[i],
                                                       .rope = true,
                                                       .scale = 1});
}

static void teams(void)
{
    for (unsigned size = 1; size <= 3; size++) {
        struct sr_team *team = NULL;
        int rc = sr_team_new(&team, size);
        CHECK(rc == SR_OK, "%d", rc);
        for (int i = 0; i < 4; i++)
            check_attention(team, (struct check_attention){.starts = i % 2 ? one : many,
                                                           .n_sequences = i % 2 ? 1 : 8,
                                                           .heads = 5,
                                                           .head_dim = 64,
                                                           .window = i < 2 ? SIZE_MAX : 64,
                                                           .n = SIZE_MAX,
                                                           .in = SR_SCALAR_BF16,
                                                           .scale = 1});
        sr_team_free(team);
    }
}

/* Scores by relative position: of queries, of keys, of both; few and many keys, ranges, teams. */
static void relative(void)
{
    struct sr_team *team = NULL;
    int rc = sr_team_new(&team, 3);
    CHECK(rc == SR_OK, "%d", rc);
    for (unsigned i = 0; i < 24; i++)
        check_attention(i % 2 ? team : NULL,
                        (struct check_attention){.starts = i % 3 ? many : one,
                                                 .n_sequences = i % 3 ? 8 : 1,
                                                 .heads = i % 5 ? 3 : 8,
                                                 .head_dim = (size_t)16 << i % 4,
                                                 .window = i % 7 ? SIZE_MAX : 64,
                                                 .first = i % 4 ? 0 : 17,
                                                 .n = i % 4 ? SIZE_MAX : 150,
                                                 .in = i < 12 ? SR_SCALAR_F32 : SR_SCALAR_BF16,
                                                 .scale = 0.7F,
                                                 .terms = i % 3 + 1});
    sr_team_free(team);
}

/* Scores far above and below what exp can take; the values are the same everywhere, so that the mean is too.
 */
static void extremes(void)
{
    static const float scales[] = {0, 1e-30F, 100, 1e9F, 1e15F};
    enum { N = 250, D = 64, LD = 3 * D };
    uint32_t starts[] = {0, N};
    for (size_t s = 0; s < 5; s++)
        for (int type = 0; type < 2; type++) {
            float *qkv = check_floats((size_t)N * LD, scales[s]), out[N * D];
            for (size_t i = 0; i < N; i++)
                for (size_t j = 0; j < D; j++)
                    qkv[i * LD + 2 * D + j] = (float)j;
            uint16_t *half = check_bf16(qkv, (size_t)N * LD);
            struct sr_attention a = {.qkv = type ? (void *)half : (void *)qkv,
                                     .ld = LD,
                                     .type = type ? SR_SCALAR_BF16 : SR_SCALAR_F32,
                                     .out = {out, D, SR_SCALAR_F32},
                                     .starts = starts,
                                     .n_sequences = 1,
                                     .heads = 1,
                                     .head_dim = D,
                                     .scale = 0.125F,
                                     .window = s % 2 ? 10 : SIZE_MAX,
                                     .n_queries = SIZE_MAX};
            void *scratch = check_scratch(sr_attention_scratch(&a, 1));
            sr_attention(NULL, &a, scratch);
            for (size_t i = 0; i < N * D; i++)
                CHECK(fabsf(out[i] - (float)(i % D)) <= (float)(i % D) * (type ? 4e-3F : 1e-5F),
                      "%g at %zu, scale %g", (double)out[i], i % D, (double)scales[s]);
            free(qkv), free(half), free(scratch);
        }
}

/* All alike: sums of queries and keys, and of weights and values, as large as their steps allow. */
static void full(void)
{
    enum { N = 400, D = 128, LD = 3 * D };
    static const uint32_t starts[] = {0, N};
    float *qkv = check_floats((size_t)N * LD, 1), *out = check_floats((size_t)N * D, 1);
    for (int sign = -1; sign <= 1; sign += 2) {
        for (size_t i = 0; i < (size_t)N * LD; i++)
            qkv[i] = i % LD < D ? 1 : i % LD < 2 * D ? (float)sign : -3;
        uint16_t *half = check_bf16(qkv, (size_t)N * LD);
        struct sr_attention a = {.qkv = half,
                                 .ld = LD,
                                 .type = SR_SCALAR_BF16,
                                 .out = {out, D, SR_SCALAR_F32},
                                 .starts = starts,
                                 .n_sequences = 1,
                                 .heads = 1,
                                 .head_dim = D,
                                 .scale = 0.1F,
                                 .window = SIZE_MAX,
                                 .n_queries = SIZE_MAX};
        void *scratch = check_scratch(sr_attention_scratch(&a, 1));
        sr_attention(NULL, &a, scratch);
        for (size_t i = 0; i < (size_t)N * D; i++)
            CHECK(fabsf(out[i] + 3) < 0.02F, "%g at %zu", (double)out[i], i);
        free(half), free(scratch);
    }
    free(qkv), free(out);
}

static void test_full(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(full), 0);
}

static void test_shapes(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(shapes), 0);
}

static void test_relative(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(relative), 0);
}

static void test_ranges(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(ranges), 0);
}

static void test_teams(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(teams), 0);
}

static void test_extremes(void **state)
{
    (void)state;
    assert_int_equal(check_each_isa(extremes), 0);
}

static void test_rope_refuses(void **state)
{
    (void)state;
    struct sr_rope *rope;
    assert_int_equal(sr_rope_new(&rope, 0, 64, 10), SR_EINVAL);
    assert_int_equal(sr_rope_new(&rope, 10000, 63, 10), SR_EINVAL);
    assert_int_equal(sr_rope_new(&rope, 10000, 64, 0), SR_EINVAL);
    sr_rope_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_ranges),       cmocka_unit_test(test_teams),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_rope_refuses), cmocka_unit_test(test_full),
        cmocka_unit_test(test_relative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
