/* sizes: estimates begin with constants, follow what is reported, stay on the safe side, are kept apart by
 * kind, and are shared by all who hold a model's. */
#include "pool/private.h"
#include "pool/sizes.h"
#include "tests/unit/cmocka_all.h"

static struct sr_pool *pool_new(void)
{
    struct sr_pool *pool;
    assert_int_equal(sr_pool_new(&pool), SR_OK);
    return pool;
}

static struct sr_pool_sizes *sizes_of(struct sr_pool *pool, const char *model)
{
    struct sr_pool_sizes *sizes;
    assert_int_equal(sr_pool_sizes_get(pool, &sizes, model), SR_OK);
    return sizes;
}

static void test_beginning(void **state)
{
    (void)state;
    struct sr_pool *pool = pool_new();
    struct sr_pool_sizes *sizes = sizes_of(pool, "m");
    assert_int_equal(sr_pool_sizes_prompt(sizes, 0, 4000), 1000);
    assert_int_equal(sr_pool_sizes_prompt(sizes, 0, 0), 0);
    assert_int_equal(sr_pool_sizes_prompt(sizes, 0, 1), 1);
    assert_int_equal(sr_pool_sizes_answer(sizes, 7), SR_POOL_ANSWER_TOKENS);
    sr_pool_sizes_unref(pool, sizes);
    sr_pool_sizes_unref(pool, NULL);
    assert_null(pool->sizes);
    sr_pool_free(pool);
}

static void test_follows(void **state)
{
    (void)state;
    struct sr_pool *pool = pool_new();
    struct sr_pool_sizes *sizes = sizes_of(pool, "m");
    for (int i = 0; i < 200; i++)
        sr_pool_sizes_learn(sizes, 1, 3000, 1000, 700);
    assert_in_range(sr_pool_sizes_prompt(sizes, 1, 30000), 10000, 10200);
    assert_in_range(sr_pool_sizes_answer(sizes, 1), 700, 715);
    assert_int_equal(sr_pool_sizes_prompt(sizes, 2, 4000), 1000); /* another kind */
    for (int i = 0; i < 200; i++)
        sr_pool_sizes_learn(sizes, 1, 5000, 1000, i % 2 ? 100 : 900);
    assert_in_range(sr_pool_sizes_prompt(sizes, 1, 50000), 10000, 10300);
    assert_true(sr_pool_sizes_answer(sizes, 1) > 900); /* on the safe side */
    sr_pool_sizes_unref(pool, sizes);
    sr_pool_free(pool);
}

/* What upstreams may say does not break an estimate. */
static void test_bounds(void **state)
{
    (void)state;
    struct sr_pool *pool = pool_new();
    struct sr_pool_sizes *sizes = sizes_of(pool, "m");
    sr_pool_sizes_learn(sizes, 0, 100, 1, 0); /* too short to learn from */
    assert_int_equal(sr_pool_sizes_prompt(sizes, 0, 4000), 1000);
    const uint64_t odd[] = {1, 1000, UINT64_MAX, UINT64_MAX / 1000 - 1, UINT32_MAX};
    for (int round = 0; round < 125; round++) {
        sr_pool_sizes_learn(sizes, 0, odd[round % 5], odd[round / 5 % 5], odd[round / 25 % 5]);
        assert_in_range(sr_pool_sizes_prompt(sizes, 0, 1000000), 1000000 / 16, 2000000);
        assert_in_range(sr_pool_sizes_answer(sizes, 0), 1, 20000000);
        (void)sr_pool_sizes_prompt(sizes, 0, UINT64_MAX);
    }
    sr_pool_sizes_unref(pool, sizes);
    sr_pool_free(pool);
}

static void test_shared(void **state)
{
    (void)state;
    struct sr_pool *pool = pool_new();
    struct sr_pool_sizes *a = sizes_of(pool, "a"), *b = sizes_of(pool, "b"), *again = sizes_of(pool, "a");
    assert_ptr_equal(a, again);
    assert_ptr_not_equal(a, b);
    sr_pool_sizes_learn(a, 0, 0, 0, 9);
    sr_pool_sizes_unref(pool, a);
    assert_int_not_equal(sr_pool_sizes_answer(again, 0), SR_POOL_ANSWER_TOKENS);
    sr_pool_sizes_unref(pool, again);
    again = sizes_of(pool, "a"); /* nobody held it */
    assert_int_equal(sr_pool_sizes_answer(again, 0), SR_POOL_ANSWER_TOKENS);
    sr_pool_sizes_unref(pool, again);
    sr_pool_sizes_unref(pool, b);
    assert_null(pool->sizes);
    sr_pool_free(pool);
}

static void *learn_much(void *arg)
{
    for (int i = 0; i < 20000; i++)
        sr_pool_sizes_learn(arg, 0, 4000, 1000, 500);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct sr_pool *pool = pool_new();
    struct sr_pool_sizes *sizes = sizes_of(pool, "m");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, learn_much, sizes), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(sr_pool_sizes_answer(sizes, 0), 500, 505);
    sr_pool_sizes_unref(pool, sizes);
    sr_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beginning), cmocka_unit_test(test_follows), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_shared),    cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
