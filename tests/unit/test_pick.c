/* pool/pick: shares follow the weights, picks are spread, failed targets come last. */
#include "pool/pick.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW UINT64_C(1000000000000)

static struct sr_pick *new_pick(void)
{
    struct sr_pick *pick;
    assert_int_equal(sr_pick_new(&pick), SR_OK);
    return pick;
}

static void test_shares_follow_weights(void **state)
{
    (void)state;
    struct sr_pick *pick = new_pick();
    struct sr_pick_candidate c[] = {
        {.key = 11, .weight = 5}, {.key = 22, .weight = 1}, {.key = 33, .weight = 2}};
    int hits[3] = {0};
    int longest = 0, run = 0, last = -1;
    for (int i = 0; i < 800; i++) {
        int at = sr_pick_next(pick, c, 3, NOW);
        assert_in_range(at, 0, 2);
        hits[at]++;
        run = at == last ? run + 1 : 1;
        last = at;
        longest = run > longest ? run : longest;
    }
    assert_int_equal(hits[0], 500);
    assert_int_equal(hits[1], 100);
    assert_int_equal(hits[2], 200);
    assert_true(longest <= 3);
    sr_pick_free(pick);
}

static void test_tried_is_not_chosen_again(void **state)
{
    (void)state;
    struct sr_pick *pick = new_pick();
    struct sr_pick_candidate c[] = {{.key = 1, .weight = 1}, {.key = 2, .weight = 100}};
    c[1].tried = true;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sr_pick_next(pick, c, 2, NOW), 0);
    }
    c[0].tried = true;
    assert_int_equal(sr_pick_next(pick, c, 2, NOW), -1);
    assert_int_equal(sr_pick_next(pick, c, 1, NOW), -1);
    assert_int_equal(sr_pick_next(pick, c, 0, NOW), -1);
    sr_pick_free(pick);
}

static void test_failed_rests_then_returns(void **state)
{
    (void)state;
    struct sr_pick *pick = new_pick();
    struct sr_pick_candidate c[] = {{.key = 1, .weight = 1}, {.key = 2, .weight = 1}};
    sr_pick_failed(pick, 1, NOW);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(sr_pick_next(pick, c, 2, NOW + 1), 1);
    }
    int first = 0;
    for (int i = 0; i < 10; i++) {
        first += sr_pick_next(pick, c, 2, NOW + SR_PICK_REST_NS) == 0;
    }
    assert_int_equal(first, 5);

    sr_pick_failed(pick, 2, NOW + SR_PICK_REST_NS);
    sr_pick_worked(pick, 2);
    int second = 0;
    for (int i = 0; i < 10; i++) {
        second += sr_pick_next(pick, c, 2, NOW + SR_PICK_REST_NS + 1) == 1;
    }
    assert_int_equal(second, 5);
    sr_pick_free(pick);
}

static void test_all_resting_are_still_used(void **state)
{
    (void)state;
    struct sr_pick *pick = new_pick();
    struct sr_pick_candidate c[] = {{.key = 1, .weight = 1}, {.key = 2, .weight = 1}};
    sr_pick_failed(pick, 1, NOW);
    sr_pick_failed(pick, 2, NOW);
    int hits[2] = {0};
    for (int i = 0; i < 10; i++) {
        int at = sr_pick_next(pick, c, 2, NOW + 1);
        assert_in_range(at, 0, 1);
        hits[at]++;
    }
    assert_int_equal(hits[0], 5);
    assert_int_equal(hits[1], 5);
    sr_pick_free(pick);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct sr_pick *pick = new_pick();
    for (uint64_t key = 1; key < 20000; key += 2) {
        struct sr_pick_candidate c[] = {{.key = key * 0x9e3779b97f4a7c15u, .weight = 1},
                                        {.key = (key + 1) * 0x9e3779b97f4a7c15u, .weight = 1}};
        assert_in_range(sr_pick_next(pick, c, 2, NOW), 0, 1);
        sr_pick_failed(pick, c[0].key, NOW);
    }
    sr_pick_free(pick);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_follow_weights),     cmocka_unit_test(test_tried_is_not_chosen_again),
        cmocka_unit_test(test_failed_rests_then_returns), cmocka_unit_test(test_all_resting_are_still_used),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
