/* The index: what it finds beside comparing all, with few vectors and many, while it grows and shrinks. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/vector_kit.h"

#include "base/mem.h"
#include "cache/index/vectors.h"
#include "kernel/kernel.h"

#define QUERIES 150u

static struct sr_vectors *filled(const float *x, size_t n, size_t d)
{
    struct sr_vectors *v;
    assert_int_equal(sr_vectors_new(&v, d), SR_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sr_vectors_add(v, (uint32_t)(i * 7), x + i * d), SR_OK);
    assert_int_equal(sr_vectors_count(v), n);
    return v;
}

/* The share of queries whose nearest is found (or one that is as near), and the largest error of a
 * similarity. */
static double recall(const struct sr_vectors *v, const float *x, const uint8_t *alive, size_t n, size_t d,
                     float noise)
{
    size_t found = 0;
    float q[4096];
    for (size_t i = 0; i < QUERIES; i++) {
        struct sr_vector_hit hits[4];
        kit_near(q, i % 4 ? x + kit_random() % n * d : NULL, noise, d);
        const size_t best = kit_nearest(x, alive, n, q, d), k = sr_vectors_search(v, q, 4, hits);
        assert_true(k == 4 || k == sr_vectors_count(v));
        for (size_t h = 0; h < k; h++) {
            assert_int_equal(hits[h].id % 7, 0);
            assert_true(hits[h].id / 7 < n && (!alive || alive[hits[h].id / 7]));
            assert_true(fabs((double)hits[h].similarity - kit_cosine(x + hits[h].id / 7 * d, q, d)) < 0.001);
            assert_true(h == 0 || hits[h].similarity <= hits[h - 1].similarity);
            for (size_t other = 0; other < h; other++)
                assert_int_not_equal(hits[other].id, hits[h].id);
        }
        found += kit_cosine(x + hits[0].id / 7 * d, q, d) > kit_cosine(x + best * d, q, d) - 0.0002;
    }
    return (double)found / QUERIES;
}

static void none_and_one(void **state)
{
    (void)state;
    struct sr_vectors *v;
    struct sr_vector_hit hits[SR_VECTOR_HITS_MAX + 1];
    float x[64] = {1}, nan[64] = {NAN};
    assert_int_equal(sr_vectors_new(&v, 0), SR_EINVAL);
    assert_null(v);
    assert_int_equal(sr_vectors_new(&v, SR_VECTOR_DIMENSION_MAX + 1), SR_EINVAL);
    assert_int_equal(sr_vectors_new(&v, 64), SR_OK);
    assert_int_equal(sr_vectors_search(v, x, 3, hits), 0);
    assert_false(sr_vectors_remove(v, 1));
    assert_true(sr_vectors_memory(v) < 100);
    assert_int_equal(sr_vectors_add(v, 5, nan), SR_EINVAL);
    assert_int_equal(sr_vectors_add(v, UINT32_MAX, x), SR_OK);
    assert_int_equal(sr_vectors_add(v, UINT32_MAX, x), SR_EINVAL);
    assert_true(sr_vectors_memory(v) < 100 + 80 + 64 + 32 + 8);
    assert_int_equal(sr_vectors_search(v, x, 0, hits), 0);
    assert_int_equal(sr_vectors_search(v, x, 100, hits), 1);
    assert_int_equal(hits[0].id, UINT32_MAX);
    assert_true(hits[0].similarity > 0.9995F && hits[0].similarity < 1.0005F);
    x[0] = -1;
    assert_int_equal(sr_vectors_search(v, x, 1, hits), 1);
    assert_true(hits[0].similarity < -0.9995F);
    assert_true(sr_vectors_remove(v, UINT32_MAX));
    assert_true(sr_vectors_memory(v) < 100);
    sr_vectors_free(v);
    sr_vectors_free(NULL);
}

static void small_is_exact(void **state)
{
    (void)state;
    static const size_t dimensions[] = {1, 5, 64, 100, 384};
    for (size_t i = 0; i < 5; i++)
        for (size_t n = 1; n < 600; n = n * 3 + 1) {
            const size_t d = dimensions[i];
            float *x = kit_vectors(n, d, n % 2 ? 0 : 3, 0.3F);
            struct sr_vectors *v = filled(x, n, d);
            assert_true(recall(v, x, NULL, n, d, 0.3F) == 1);
            sr_vectors_free(v);
            free(x);
        }
}

static void large(size_t n, size_t d, size_t clusters, float noise)
{
    float *x = kit_vectors(n, d, clusters, noise);
    uint8_t *alive = malloc(n);
    struct sr_vectors *v = filled(x, n, d);
    const size_t most = sr_vectors_memory(v);
    assert_true(recall(v, x, NULL, n, d, 0.3F) >= 0.99);
    memset(alive, 1, n);
    for (size_t i = 0; i < 2 * n; i++) { /* two of three stay away, and come back again and again */
        const size_t at = kit_random() % n;
        if (alive[at])
            assert_true(sr_vectors_remove(v, (uint32_t)at * 7));
        else if (i % 3 == 0)
            assert_int_equal(sr_vectors_add(v, (uint32_t)at * 7, x + at * d), SR_OK);
        else
            continue;
        alive[at] = !alive[at];
    }
    assert_true(recall(v, x, alive, n, d, 0.3F) >= 0.985);
    for (size_t i = 0; i < n; i++)
        if (!alive[i])
            assert_int_equal(sr_vectors_add(v, (uint32_t)i * 7, x + i * d), SR_OK);
    assert_int_equal(sr_vectors_count(v), n);
    assert_true(recall(v, x, NULL, n, d, 0.3F) >= 0.985);
    assert_true(sr_vectors_memory(v) <= most + most / 5);
    for (size_t i = 0; i < n; i++)
        assert_true(sr_vectors_remove(v, (uint32_t)i * 7));
    assert_true(sr_vectors_memory(v) < 100);
    sr_vectors_free(v);
    free(alive);
    free(x);
}

static void large_and_clustered(void **state)
{
    (void)state;
    large(6500, 64, 150, 0.5F);
}

static void large_and_random(void **state)
{
    (void)state;
    large(5500, 16, 0, 0);
}

/* Half of them are the same: the others are found, and so are equal ones. */
static void equal_vectors(void **state)
{
    (void)state;
    enum { N = 5000, SAME = 2500, D = 64 };
    float *x = kit_vectors(N, D, 0, 0);
    for (size_t i = 1; i < SAME; i++)
        memcpy(x + i * D, x, D * sizeof *x);
    struct sr_vectors *v = filled(x, N, D);
    size_t missed = 0;
    for (size_t i = 0; i < N; i += i < SAME ? 100 : 7) {
        struct sr_vector_hit hits[2];
        assert_int_equal(sr_vectors_search(v, x + i * D, 2, hits), 2);
        if (i < SAME)
            assert_true(hits[0].id < SAME * 7 && hits[1].id < SAME * 7 && hits[1].similarity > 0.999F);
        else
            missed += hits[0].id != i * 7;
    }
    assert_true(missed <= 4); /* of 430: many equal ones can fill the candidates of a search */
    for (size_t i = 0; i < SAME; i++)
        assert_true(sr_vectors_remove(v, (uint32_t)i * 7));
    for (size_t i = SAME; i < N; i += 7) {
        struct sr_vector_hit hit;
        assert_int_equal(sr_vectors_search(v, x + i * D, 1, &hit), 1);
        assert_int_equal(hit.id, i * 7);
    }
    sr_vectors_free(v);
    free(x);
}

static void memory(void **state)
{
    (void)state;
    enum { N = 5000, D = 384 };
    float *x = kit_vectors(N, D, 50, 0.5F);
    struct sr_vectors *v = filled(x, 10, D);
    assert_true(sr_vectors_memory(v) < 8500);
    for (size_t i = 10; i < N; i++) {
        assert_int_equal(sr_vectors_add(v, (uint32_t)i * 7, x + i * D), SR_OK);
        if (i > 1000 && i % 100 == 0)
            assert_true(sr_vectors_memory(v) < i * 1152);
    }
    sr_vectors_free(v);
    free(x);
}

/* An index that another process has kept as bytes finds the same. */
static void packed(void **state)
{
    (void)state;
    enum { N = 300, D = 100 };
    float *x = kit_vectors(N, D, 10, 0.5F);
    uint8_t bytes[4 + D + D / 2];
    struct sr_vectors *v = filled(x, N, D), *w;
    assert_int_equal(sr_vectors_new(&w, D), SR_OK);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(sr_vector_pack(x + i * D, D, bytes), SR_OK);
        assert_int_equal(sr_vectors_add_packed(w, (uint32_t)i * 7, sr_bytes_of(bytes, sizeof bytes)), SR_OK);
    }
    assert_int_equal(sr_vectors_add_packed(w, 1, sr_bytes_of(bytes, sizeof bytes - 1)), SR_EPARSE);
    assert_int_equal(sr_vectors_add_packed(w, 7, sr_bytes_of(bytes, sizeof bytes)), SR_EINVAL);
    for (size_t i = 0; i < N; i++) {
        struct sr_vector_hit a[3], b[3];
        assert_int_equal(sr_vectors_search(v, x + i * D, 3, a), 3);
        assert_int_equal(sr_vectors_search(w, x + i * D, 3, b), 3);
        assert_memory_equal(a, b, sizeof a);
    }
    sr_vectors_free(v);
    sr_vectors_free(w);
    free(x);
}

/* Every allocation of every call fails once: nothing changes, and the next attempt succeeds. */
static void out_of_memory(void **state)
{
    (void)state;
    enum { N = 5200, D = 8 };
    float *x = kit_vectors(N, D, 0, 0);
    struct sr_vectors *v;
    sr_mem_fail_at(1);
    assert_int_equal(sr_vectors_new(&v, D), SR_ENOMEM);
    sr_mem_fail_at(0);
    assert_int_equal(sr_vectors_new(&v, D), SR_OK);
    for (uint32_t i = 0; i < N; i++)
        for (size_t nth = 1;; nth++) {
            struct sr_vector_hit hits[1];
            sr_mem_fail_at(nth);
            const int rc = sr_vectors_add(v, i, x + i * D);
            sr_mem_fail_at(0);
            assert_int_equal(sr_vectors_count(v), rc ? i : i + 1);
            if (rc == SR_OK)
                break;
            assert_int_equal(rc, SR_ENOMEM);
            assert_int_equal(sr_vectors_search(v, x, 1, hits), i ? 1 : 0);
            assert_false(sr_vectors_remove(v, i));
        }
    sr_mem_fail_at(1); /* removal needs no memory */
    for (uint32_t i = 0; i < N; i++)
        assert_true(sr_vectors_remove(v, i));
    sr_mem_fail_at(0);
    sr_vectors_free(v);
    free(x);
}

static void every_instruction_set_finds_the_same(void **state)
{
    (void)state;
    enum { N = 4500, D = 96 };
    float *x = kit_vectors(N, D, 100, 0.5F);
    struct sr_vectors *v = filled(x, N, D);
    struct sr_vector_hit first[50][3], hits[3];
    for (int isa = SR_ISA_SCALAR; isa <= SR_ISA_AVX512_BF16; isa++) {
        sr_isa_limit((enum sr_isa)isa);
        for (size_t i = 0; i < 50; i++) {
            assert_int_equal(sr_vectors_search(v, x + i * 90 * D, 3, hits), 3);
            if (isa == SR_ISA_SCALAR)
                memcpy(first[i], hits, sizeof hits);
            assert_memory_equal(first[i], hits, sizeof hits);
        }
    }
    sr_vectors_free(v);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_and_one),
        cmocka_unit_test(small_is_exact),
        cmocka_unit_test(large_and_clustered),
        cmocka_unit_test(large_and_random),
        cmocka_unit_test(equal_vectors),
        cmocka_unit_test(memory),
        cmocka_unit_test(packed),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(every_instruction_set_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
