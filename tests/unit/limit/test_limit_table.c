/* Counters by key: all or nothing, bounded, and exact under threads. */
#include "tests/unit/cmocka_all.h"

#include "base/hash.h"
#include "limit/table.h"

#include <pthread.h>
#include <stdatomic.h>

static struct sr_limit_key key_of(uint64_t number)
{
    struct sr_limit_key key;
    uint64_t parts[2] = {sr_hash64(sr_bytes_of(&number, sizeof number), 1),
                         sr_hash64(sr_bytes_of(&number, sizeof number), 2)};
    memcpy(key.bytes, parts, sizeof parts);
    return key;
}

static struct sr_limit limit_of(uint64_t number, int64_t max, int64_t cost)
{
    return (struct sr_limit){.key = key_of(number), .max = max, .cost = cost, .unit_ms = 60000};
}

static bool take(struct sr_limit_table *table, const struct sr_limit *limits, size_t n,
                 struct sr_limit_result *result)
{
    sr_limit_take(table, limits, n, 1000000, result);
    return result->allowed;
}

static void test_all_or_nothing(void **state)
{
    struct sr_limit_table *table;
    struct sr_limit_result result;
    (void)state;
    assert_int_equal(sr_limit_table_new(&table, 1000), SR_OK);
    struct sr_limit both[] = {limit_of(1, 10, 1), limit_of(2, 2, 1)};
    assert_true(take(table, both, 2, &result));
    assert_int_equal(result.which, 1);
    assert_int_equal(result.remaining, 1);
    assert_true(take(table, both, 2, &result));
    for (int i = 0; i < 20; i++) {
        assert_false(take(table, both, 2, &result));
        assert_int_equal(result.which, 1);
        assert_int_equal(result.remaining, 0);
        assert_in_range(result.retry_ms, 1, 62000);
    }
    for (int i = 0; i < 8; i++) /* the refused ones took nothing of the first */
        assert_true(take(table, both, 1, &result));
    assert_false(take(table, both, 1, &result));
    struct sr_limit large = limit_of(3, 10, 11);
    assert_false(take(table, &large, 1, &result));
    assert_true(result.retry_ms == UINT64_MAX);
    assert_true(take(table, NULL, 0, &result));
    sr_limit_table_free(table);
}

static void test_settling(void **state)
{
    struct sr_limit_table *table;
    struct sr_limit_result result;
    struct sr_limit limit = limit_of(1, 100, 60);
    (void)state;
    assert_int_equal(sr_limit_table_new(&table, 10), SR_OK);
    assert_true(take(table, &limit, 1, &result));
    assert_false(take(table, &limit, 1, &result));
    struct sr_limit_change change = {.key = limit.key, .unit_ms = 60000, .then_ms = 1000000, .less = 50};
    sr_limit_change(table, &change, 1, 1000000);
    assert_true(take(table, &limit, 1, &result));
    change = (struct sr_limit_change){.key = limit.key, .unit_ms = 60000, .more = 1000};
    sr_limit_change(table, &change, 1, 1000000); /* more than there was */
    limit.cost = 1;
    assert_false(take(table, &limit, 1, &result));
    assert_int_equal(result.remaining, 0);
    change = (struct sr_limit_change){.key = key_of(99), .unit_ms = 60000, .less = 50};
    sr_limit_change(table, &change, 1, 1000000); /* it is not there */
    assert_int_equal(sr_limit_table_used(table), 1);
    sr_limit_table_free(table);
}

/* However many keys come, the table stays as large as it is, and the ones in use stay. */
static void test_bounded(void **state)
{
    struct sr_limit_table *table;
    struct sr_limit_result result;
    (void)state;
    assert_int_equal(sr_limit_table_new(&table, 512), SR_OK);
    struct sr_limit own = limit_of(0, 5, 1);
    for (int i = 0; i < 5; i++)
        assert_true(take(table, &own, 1, &result));
    for (uint64_t i = 1; i < 20000; i++) {
        struct sr_limit limit = limit_of(i, 1, 1);
        sr_limit_take(table, &limit, 1, 1000000 + i / 100, &result);
        assert_true(result.allowed);
        sr_limit_take(table, &own, 1, 1000000 + i / 100, &result);
        assert_false(result.allowed);
    }
    assert_int_equal(sr_limit_table_used(table), 512);
    sr_limit_table_free(table);
}

#define THREADS 4
#define ROUNDS  5000

struct work {
    struct sr_limit_table *table;
    atomic_int *allowed; /* [3] */
    int at;
};

static void *take_many(void *arg)
{
    struct work *work = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct sr_limit limits[3] = {limit_of(1, 7000, 1), limit_of(2, 9000, 1), limit_of(3, 100000, 1)};
        struct sr_limit_result result;
        int pick = (i + work->at) % 3;
        struct sr_limit *from = pick == 2 ? limits + 1 : limits;
        size_t n = pick == 1 ? 3 : 2;
        sr_limit_take(work->table, from, n, 1000000, &result);
        for (size_t k = 0; k < n && result.allowed; k++)
            atomic_fetch_add(&work->allowed[(from - limits) + (ptrdiff_t)k], 1);
        struct sr_limit_change change = {.key = key_of((uint64_t)i), .unit_ms = 60000, .more = 1};
        if (i > 3)
            sr_limit_change(work->table, &change, 1, 1000000);
    }
    return NULL;
}

static void test_threads(void **state)
{
    struct sr_limit_table *table;
    struct work work[THREADS];
    pthread_t threads[THREADS];
    atomic_int allowed[3] = {0};
    (void)state;
    assert_int_equal(sr_limit_table_new(&table, 100000), SR_OK);
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){table, allowed, i};
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(atomic_load(&allowed[0]) == 7000 || atomic_load(&allowed[1]) == 9000);
    for (uint64_t i = 0; i < 3; i++) {
        static const int max[] = {7000, 9000, 100000};
        struct sr_limit_result result;
        struct sr_limit limit = limit_of(i + 1, 1000000, 0);
        assert_true(atomic_load(&allowed[i]) <= max[i]);
        assert_true(take(table, &limit, 1, &result));
        assert_int_equal(1000000 - result.remaining, atomic_load(&allowed[i]));
    }
    sr_limit_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_settling),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
