/* What a model's requests took lately: percentiles of the latest, one tally for each name, and threads. */
#include "../cmocka_all.h"

#include "pool/policy.h"
#include "pool/tally.h"

#include <pthread.h>
#include <stdio.h>

static void test_percentiles(void **state)
{
    struct sr_pool *pool;
    double ms = 0;
    (void)state;
    assert_int_equal(sr_pool_new(&pool), SR_OK);
    struct sr_pool_tally *tally = sr_pool_tally_get(pool, "m");
    assert_false(sr_pool_tally_percentile(tally, SR_TALLY_TTFT, 50, &ms));
    for (int i = 1; i <= 100; i++)
        sr_pool_tally_note(tally, SR_TALLY_TTFT, 101 - i);
    const int percentiles[] = {1, 50, 95, 100};
    for (size_t i = 0; i < 4; i++) {
        assert_true(sr_pool_tally_percentile(tally, SR_TALLY_TTFT, percentiles[i], &ms));
        assert_int_equal((int)ms, percentiles[i]);
    }
    assert_false(sr_pool_tally_percentile(tally, SR_TALLY_TPOT, 50, &ms));
    assert_false(sr_pool_tally_percentile(tally, SR_TALLY_TTFT, 0, &ms));
    for (int i = 0; i < SR_TALLY_TIMES; i++) /* only the latest count */
        sr_pool_tally_note(tally, SR_TALLY_TTFT, 7);
    assert_true(sr_pool_tally_percentile(tally, SR_TALLY_TTFT, 100, &ms) && (int)ms == 7);
    unsigned seed = 1; /* against a plain count of the latest */
    float all[2000];
    for (size_t i = 0; i < 2000; i++) {
        seed = seed * 1103515245u + 12345u;
        all[i] = (float)(seed >> 16 & 63);
        sr_pool_tally_note(tally, SR_TALLY_TPOT, (double)all[i]);
        size_t from = i < SR_TALLY_TIMES ? 0 : i + 1 - SR_TALLY_TIMES, n = i + 1 - from, below = 0, equal = 0;
        assert_true(sr_pool_tally_percentile(tally, SR_TALLY_TPOT, 50, &ms));
        for (size_t k = from; k <= i; k++) {
            below += (double)all[k] < ms;
            equal += (double)all[k] == ms;
        }
        size_t rank = (n * 50 + 99) / 100;
        assert_true(below < rank && rank <= below + equal);
    }
    sr_pool_tally_note(tally, SR_TALLY_TTFT, -1); /* no time */
    sr_pool_tally_note(tally, SR_TALLY_TTFT, 0.0 / 0.0);
    assert_true(sr_pool_tally_percentile(tally, SR_TALLY_TTFT, 1, &ms) && (int)ms == 7);
    sr_pool_free(pool);
}

static void test_names(void **state)
{
    struct sr_pool *pool;
    char name[32];
    (void)state;
    assert_int_equal(sr_pool_new(&pool), SR_OK);
    struct sr_pool_tally *first = sr_pool_tally_get(pool, "a");
    assert_ptr_equal(sr_pool_tally_get(pool, "a"), first);
    assert_ptr_not_equal(sr_pool_tally_get(pool, "b"), first);
    sr_pool_tally_begin(first);
    sr_pool_tally_begin(first);
    sr_pool_tally_end(first);
    assert_int_equal(sr_pool_tally_in_flight(first), 1);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "m%d", i);
        assert_non_null(sr_pool_tally_get(pool, name));
    }
    assert_ptr_equal(sr_pool_tally_get(pool, "a"), first);
    sr_pool_tally_begin(NULL); /* a router without a pool has none */
    sr_pool_tally_note(NULL, SR_TALLY_TTFT, 1);
    assert_int_equal(sr_pool_tally_in_flight(NULL), 0);
    assert_true(sr_pool_group_reported(NULL) == 0);
    sr_pool_free(pool);
}

static void *work(void *arg)
{
    double ms;
    for (int i = 0; i < 2000; i++) {
        sr_pool_tally_begin(arg);
        sr_pool_tally_note(arg, i % 2 ? SR_TALLY_TTFT : SR_TALLY_TPOT, i);
        (void)sr_pool_tally_percentile(arg, SR_TALLY_TTFT, 95, &ms);
        sr_pool_tally_end(arg);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct sr_pool *pool;
    pthread_t threads[4];
    (void)state;
    assert_int_equal(sr_pool_new(&pool), SR_OK);
    struct sr_pool_tally *tally = sr_pool_tally_get(pool, "m");
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, tally), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(sr_pool_tally_in_flight(tally), 0);
    sr_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
