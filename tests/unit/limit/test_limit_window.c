/* A window never has more than its limit in any unit of time, whatever arrives; and it forgets. */
#include "tests/unit/cmocka_all.h"

#include "limit/window.h"

#include <stdlib.h>

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#define ARRIVALS 3000

/* Over random arrivals: what was admitted within any unit of time is never above the limit; and one that is
 * refused comes back after the time that it was told, and is admitted if no other was. */
static size_t check_property(uint64_t seed, uint64_t unit_ms, int64_t max, int64_t most_cost)
{
    static uint64_t at[ARRIVALS];
    static int64_t cost[ARRIVALS];
    struct sr_window window = {0};
    size_t n = 0, first = 0, refused = 0;
    int64_t sum = 0;
    uint64_t now = random_next(&seed) % 1000000;
    for (int i = 0; i < ARRIVALS; i++) {
        int64_t wants = 1 + (int64_t)(random_next(&seed) % (uint64_t)most_cost);
        uint64_t gap = random_next(&seed) % (2 + unit_ms * (uint64_t)wants / (uint64_t)max);
        now += random_next(&seed) % 8 ? gap : gap * 16;
        if (sr_window_roll(&window, unit_ms, now) + wants > max) {
            uint64_t wait = sr_window_wait_ms(&window, unit_ms, now, max - wants);
            struct sr_window later = window;
            refused++;
            assert_true(wait > 0 && (wants > max) == (wait == UINT64_MAX));
            if (wait != UINT64_MAX) {
                assert_true(sr_window_roll(&later, unit_ms, now + wait) + wants <= max);
                assert_true(wait <= (SR_WINDOW_PARTS + 1) * sr_window_part_ms(unit_ms));
            }
            continue;
        }
        sr_window_add(&window, wants);
        at[n] = now;
        cost[n++] = wants;
        sum += wants;
        while (at[first] + unit_ms <= now)
            sum -= cost[first++];
        assert_true(sum <= max);
    }
    assert_true(n > 10);
    return refused;
}

static void test_never_more_than_the_limit(void **state)
{
    static const uint64_t units[] = {1000, 60000, 3600000, 86400000, 7, 33};
    size_t refused = 0;
    (void)state;
    for (uint64_t seed = 1; seed < 60; seed++)
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
            refused += check_property(seed * 7919, units[i], 1 + (int64_t)(seed % 17), 1);
            refused += check_property(seed * 104729, units[i], 1000, 400);
        }
    assert_true(refused > 10000);
}

/* All of the limit is there again after a unit and a part. */
static void test_it_forgets(void **state)
{
    struct sr_window window = {0};
    (void)state;
    assert_int_equal(sr_window_roll(&window, 1000, 5000), 0);
    sr_window_add(&window, 10);
    assert_int_equal(sr_window_roll(&window, 1000, 5999), 10);
    assert_int_equal(sr_window_wait_ms(&window, 1000, 5999, 10), 0);
    uint64_t wait = sr_window_wait_ms(&window, 1000, 5999, 9);
    assert_int_equal(sr_window_roll(&window, 1000, 5999 + wait - 1), 10);
    assert_int_equal(sr_window_roll(&window, 1000, 5999 + wait), 0);
    sr_window_add(&window, 4);
    assert_int_equal(sr_window_roll(&window, 1000, 1), 4); /* a clock that goes back */
    assert_int_equal(sr_window_roll(&window, 1000, UINT64_C(1) << 62), 0);
}

/* What was reserved goes back where it was taken, and nowhere else. */
static void test_taking_back(void **state)
{
    struct sr_window window = {0};
    (void)state;
    (void)sr_window_roll(&window, 1000, 10000);
    sr_window_add(&window, 100);
    assert_int_equal(sr_window_roll(&window, 1000, 10500), 100);
    sr_window_add(&window, 5);
    sr_window_take_back(&window, 1000, 10000, 60);
    assert_int_equal(sr_window_roll(&window, 1000, 10500), 45);
    sr_window_take_back(&window, 1000, 10000, 1000); /* never below nothing */
    assert_int_equal(sr_window_roll(&window, 1000, 10500), 5);
    sr_window_take_back(&window, 1000, 20000, 1000); /* not yet */
    sr_window_take_back(&window, 1000, 100, 1000);   /* gone */
    assert_int_equal(sr_window_roll(&window, 1000, 10500), 5);
}

static void test_a_plain_counter(void **state)
{
    struct sr_window window = {.ends_ms = 2000};
    (void)state;
    assert_int_equal(sr_window_roll(&window, 0, 100), 0);
    sr_window_add(&window, 7);
    assert_int_equal(sr_window_roll(&window, 0, 1999), 7);
    assert_int_equal(sr_window_wait_ms(&window, 0, 1500, 6), 500);
    sr_window_take_back(&window, 0, 100, 3);
    assert_int_equal(sr_window_roll(&window, 0, 1999), 4);
    sr_window_add(&window, INT64_MAX);
    sr_window_add(&window, INT64_MAX);
    assert_true(sr_window_roll(&window, 0, 1999) > 0);
    assert_int_equal(sr_window_roll(&window, 0, 2000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_more_than_the_limit),
        cmocka_unit_test(test_it_forgets),
        cmocka_unit_test(test_taking_back),
        cmocka_unit_test(test_a_plain_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
