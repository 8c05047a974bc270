/* Who takes which request, and what is counted for whom. */
#include "tests/unit/history_kit.h"

#include "history/followers.h"

static struct sr_history_entry entry_of(struct sr_bytes model)
{
    struct sr_history_entry entry;
    sr_history_facts_init(&entry.f);
    entry.f.texts[SR_HISTORY_SELECTED_MODEL] = model;
    return entry;
}

static void test_credit(void **state)
{
    struct sr_history_query every, some;
    struct sr_history_entry large = entry_of(SR_LIT("large")), small = entry_of(SR_LIT("small"));
    struct sr_followers *f;
    struct sr_arena arena;
    const char *why;
    unsigned a, b;
    (void)state;
    sr_arena_init(&arena, 4096);
    assert_true(sr_history_query_read(&every, SR_LIT(""), &arena, &why));
    assert_true(sr_history_query_read(&some, SR_LIT("model=large"), &arena, &why));
    assert_int_equal(sr_followers_new(&f), SR_OK);
    assert_int_equal(sr_followers_take(f, &large), 0);
    assert_int_equal(sr_followers_join(f, &every.filter, &a), SR_OK);
    assert_int_equal(sr_followers_join(f, &some.filter, &b), SR_OK);
    assert_int_equal(sr_followers_count(f), 2);
    assert_int_equal(sr_followers_take(f, &large), 0); /* no credit yet */
    assert_int_equal(sr_followers_credit(f, a, 2), 1);
    assert_int_equal(sr_followers_credit(f, b, 2), 1);
    assert_int_equal(sr_followers_take(f, &large), 1u << a | 1u << b);
    assert_int_equal(sr_followers_take(f, &small), 1u << a);
    assert_int_equal(sr_followers_take(f, &large), 1u << b);
    assert_int_equal(sr_followers_take(f, &small), 0);
    assert_int_equal(sr_followers_take(f, &large), 0);
    assert_int_equal(sr_followers_credit(f, a, 1), 3);
    assert_int_equal(sr_followers_credit(f, b, 0), 1); /* what its filter leaves out is not counted */
    sr_followers_leave(f, a);
    assert_int_equal(sr_followers_take(f, &small), 0);
    assert_int_equal(sr_followers_count(f), 1);
    sr_followers_free(f);
    sr_arena_dispose(&arena);
}

static void test_numbers(void **state)
{
    static const struct sr_history_filter filter = {0};
    struct sr_followers *f;
    unsigned number;
    (void)state;
    assert_int_equal(sr_followers_new(&f), SR_OK);
    for (unsigned i = 0; i < SR_FOLLOWERS_MAX; i++) {
        assert_int_equal(sr_followers_join(f, &filter, &number), SR_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(sr_followers_join(f, &filter, &number), SR_EBUSY);
    sr_followers_leave(f, 5);
    assert_int_equal(sr_followers_join(f, &filter, &number), SR_OK);
    assert_int_equal(number, 5);
    sr_followers_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
