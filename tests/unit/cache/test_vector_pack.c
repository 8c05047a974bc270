/* Packed vectors: how exact they are, and what is none. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/vector_kit.h"

#include "cache/index/pack.h"

static const size_t dimensions[] = {1, 2, 3, 7, 63, 64, 65, 100, 384, 385, 768, 4096};
#define N_DIMENSIONS (sizeof dimensions / sizeof dimensions[0])

static void there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DIMENSIONS; i++) {
        const size_t d = dimensions[i], size = sr_vector_packed_size(d);
        float *x = kit_vectors(1, d, 0, 0), *y = malloc(d * sizeof *y), most = 0;
        uint8_t *bytes = malloc(size), *again = malloc(size);
        assert_int_equal(sr_vector_pack(x, d, bytes), SR_OK);
        assert_int_equal(sr_vector_unpack(sr_bytes_of(bytes, size), d, y), SR_OK);
        for (size_t k = 0; k < d; k++)
            most = fabsf(x[k]) > most ? fabsf(x[k]) : most;
        for (size_t k = 0; k < d; k++)
            assert_true(fabsf(x[k] - y[k]) <= most / 4064 * 1.001F);
        /* What is packed is packed to the same coarse bytes again. */
        assert_int_equal(sr_vector_pack(y, d, again), SR_OK);
        assert_memory_equal(bytes + 4, again + 4, size - 4);
        free(x);
        free(y);
        free(bytes);
        free(again);
    }
}

static void similarity_is_exact_enough(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_DIMENSIONS; i++) {
        const size_t d = dimensions[i];
        float x[4096], q[4096];
        uint8_t bytes[4 + 4096 + 2048];
        for (int spike = 0; spike < 3; spike++)
            for (int n = 0; n < 50; n++) {
                kit_near(x, NULL, 0, d);
                x[0] += (float)spike * 40; /* one component that is much larger than the others */
                kit_unit(x, d);
                kit_near(q, n % 2 ? x : NULL, 0.5F, d);
                assert_int_equal(sr_vector_pack(x, d, bytes), SR_OK);
                float step;
                memcpy(&step, bytes, sizeof step);
                const float got = sr_vector_cosine(q, bytes + 4, bytes + 4 + d, step, d);
                assert_true(fabs((double)got - kit_cosine(x, q, d)) < 0.0005);
            }
    }
}

static void what_is_no_unit_vector(void **state)
{
    (void)state;
    float x[64] = {1}, y[64];
    uint8_t bytes[4 + 64 + 32] = {0};
    const struct sr_bytes all = sr_bytes_of(bytes, sizeof bytes);
    assert_int_equal(sr_vector_pack(x, 0, bytes), SR_EINVAL);
    assert_int_equal(sr_vector_pack(x, SR_VECTOR_DIMENSION_MAX + 1, bytes), SR_EINVAL);
    static const float wrong[] = {0, 0.9F, 1.1F, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        x[0] = wrong[i];
        assert_int_equal(sr_vector_pack(x, 64, bytes), SR_EINVAL);
    }
    x[0] = -1;
    assert_int_equal(sr_vector_pack(x, 64, bytes), SR_OK);
    assert_int_equal(sr_vector_check(all, 64), SR_OK);
    assert_int_equal(sr_vector_check(all, 63), SR_EPARSE);
    assert_int_equal(sr_vector_check(all, 0), SR_EPARSE);
    assert_int_equal(sr_vector_check(sr_bytes_of(bytes, sizeof bytes - 1), 64), SR_EPARSE);
    static const float steps[] = {0, -1, 1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        memcpy(bytes, &steps[i], sizeof steps[i]);
        assert_int_equal(sr_vector_unpack(all, 64, y), SR_EPARSE);
    }
    assert_int_equal(sr_vector_pack(x, 64, bytes), SR_OK);
    bytes[4] = 0; /* no component has -128 */
    assert_int_equal(sr_vector_check(all, 64), SR_EPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(similarity_is_exact_enough),
        cmocka_unit_test(what_is_no_unit_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
