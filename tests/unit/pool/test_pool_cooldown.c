/* pool: workers that fail are chosen last, for how long, and how many requests may be tried again. */
#include "base/clock.h"
#include "tests/unit/pool_kit.h"

/* ---- cooldown ---- */

static void test_cooldown(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 2);
    struct sr_pool_worker *worker = group->roster->members[0]->worker;
    uint64_t before = sr_clock_ns();
    report_once(&s, group, 0, SR_TICKET_UNREACHABLE);
    assert_true(worker->cooldown_until_ns >= before + SR_POOL_COOLDOWN_NS);
    for (int i = 0; i < 10; i++)
        assert_int_equal(choose_once(&s, group), 1);
    for (int ends = 0; ends < 2; ends++) { /* time passes, or it answers */
        if (ends == 0) {
            worker->cooldown_until_ns = before;
        } else {
            report_once(&s, group, 0, SR_TICKET_UNREACHABLE);
            report_once(&s, group, 0, SR_TICKET_LOST);
            assert_true(worker->cooldown_until_ns > before);
            report_once(&s, group, 0, SR_TICKET_ANSWERED);
        }
        int hits = 0;
        for (int i = 0; i < 10; i++)
            hits += choose_once(&s, group) == 0;
        assert_int_equal(hits, 5);
    }
    sr_pool_group_unref(group);
    site_close(&s);
}

/* ---- ejection, budget, Retry-After ---- */

static void answer_once(struct site *s, struct sr_pool_group *group, size_t at, int status)
{
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s->arena), SR_OK);
    sr_ticket_report(&ticket, at, status ? SR_TICKET_ANSWERED : SR_TICKET_LOST, status);
    sr_ticket_dispose(&ticket);
}

static bool cools(const struct sr_pool_group *group, size_t at)
{
    return group->roster->members[at]->worker->cooldown_until_ns > sr_clock_ns();
}

static void test_ejection(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1), backend("c", 1)};
    struct sr_pool_ejection ejection = {3, UINT64_C(60) * 1000000000, 50};
    struct sr_pool_group *group = ejecting(&s, NULL, ejection, b, 3);
    struct sr_pool_worker *worker = group->roster->members[0]->worker;
    static const int mixed[] = {500, 503, 429, 400, 500, 0}; /* a good answer between; 429 tells nothing */
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++)
        answer_once(&s, group, 0, mixed[i]);
    assert_false(cools(group, 0));
    answer_once(&s, group, 0, 502);
    assert_true(cools(group, 0));
    uint64_t first = worker->cooldown_until_ns - sr_clock_ns();
    for (int i = 0; i < 9; i++)
        answer_once(&s, group, 1, 500);
    assert_false(cools(group, 1)); /* two of three were over 50 % */
    for (int i = 0; i < 10; i++)
        assert_true(choose_once(&s, group) != 0);
    worker->cooldown_until_ns = 1; /* it is over, and the worker fails again: twice as long */
    for (int i = 0; i < 3; i++)
        answer_once(&s, group, 0, 500);
    assert_true(worker->cooldown_until_ns - sr_clock_ns() > first + first / 2);
    answer_once(&s, group, 0, 200);
    assert_false(cools(group, 0));
    assert_int_equal(worker->ejections, 0);
    sr_pool_group_unref(group);
    site_close(&s);
}

static void test_unreachable_backs_off(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 1);
    struct sr_pool_worker *worker = group->roster->members[0]->worker;
    for (int i = 0; i < 8; i++) {
        uint64_t expected = SR_POOL_COOLDOWN_NS << i;
        expected = i < 4 && expected < SR_POOL_COOLDOWN_MAX_NS ? expected : SR_POOL_COOLDOWN_MAX_NS;
        uint64_t before = sr_clock_ns();
        report_once(&s, group, 0, SR_TICKET_UNREACHABLE);
        assert_true(worker->cooldown_until_ns >= before + expected);
        assert_true(worker->cooldown_until_ns <= sr_clock_ns() + expected);
    }
    sr_pool_group_unref(group);
    site_close(&s);
}

static void test_retry_budget(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 1);
    struct sr_ticket tickets[200];
    size_t allowed = 0;
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(sr_ticket_open(&tickets[i], group, &s.arena), SR_OK);
        sr_ticket_begin(&tickets[i], 0);
    }
    for (size_t i = 0; i < 200; i++)
        allowed += sr_ticket_retry(&tickets[i]);
    assert_int_equal(allowed, 40);             /* of 200 in progress */
    assert_true(sr_ticket_retry(&tickets[0])); /* it has its place */
    for (size_t i = 0; i < 200; i++)
        sr_ticket_dispose(&tickets[i]);
    assert_int_equal(s.pool->retries, 0);
    assert_int_equal(s.pool->in_flight, 0);
    for (size_t i = 0, n = 0; i < 100; i++) {
        assert_int_equal(sr_ticket_open(&tickets[i], group, &s.arena), SR_OK);
        n += sr_ticket_retry(&tickets[i]);
        assert_int_equal(n, i < SR_POOL_RETRIES_MIN ? i + 1 : SR_POOL_RETRIES_MIN);
    }
    for (size_t i = 0; i < 100; i++)
        sr_ticket_dispose(&tickets[i]);
    sr_pool_group_unref(group);
    site_close(&s);
}

/* All requests of one worker may move at once, up to half of all. */
static void test_retries_of_one_worker(void **state)
{
    (void)state;
    static const size_t wanted[] = {0, 50, 50, 37, 32, 32};
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1), backend("c", 1),
                                  backend("d", 1), backend("e", 1), backend("f", 1)};
    for (size_t n = 2; n <= 6; n++) {
        struct site s = site_open();
        struct sr_pool_group *group = group_of(&s, "m", b, n);
        struct sr_ticket tickets[100];
        size_t allowed = 0;
        for (size_t i = 0; i < 100; i++) {
            assert_int_equal(sr_ticket_open(&tickets[i], group, &s.arena), SR_OK);
            sr_ticket_begin(&tickets[i], i % n);
        }
        for (size_t i = 0; i < 100; i++)
            allowed += sr_ticket_retry(&tickets[i]);
        assert_int_equal(allowed, wanted[n - 1]);
        for (size_t i = 0; i < 100; i++)
            sr_ticket_dispose(&tickets[i]);
        sr_pool_group_unref(group);
        site_close(&s);
    }
}

static void test_retry_after_and_again(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 2);
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
    sr_ticket_cool(&ticket, 0, UINT64_MAX); /* bounded */
    sr_ticket_cool(&ticket, 7, 1);          /* there is none */
    assert_true(group->roster->members[0]->worker->cooldown_until_ns <=
                sr_clock_ns() + SR_POOL_COOLDOWN_MAX_NS);
    assert_int_equal(sr_ticket_choose(&ticket), 1);
    assert_int_equal(sr_ticket_choose(&ticket), 0);
    assert_int_equal(sr_ticket_choose(&ticket), -1);
    sr_ticket_again(&ticket);
    assert_int_equal(sr_ticket_choose(&ticket), 1);
    sr_ticket_dispose(&ticket);
    sr_pool_group_unref(group);
    site_close(&s);
}

static void test_all_in_cooldown_are_still_used(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 2);
    report_once(&s, group, 0, SR_TICKET_UNREACHABLE);
    report_once(&s, group, 1, SR_TICKET_UNREACHABLE);
    int hits[2] = {0};
    for (int i = 0; i < 10; i++) {
        int at = choose_once(&s, group);
        assert_in_range(at, 0, 1);
        hits[at]++;
    }
    assert_int_equal(hits[0], 5);
    assert_int_equal(hits[1], 5);
    sr_pool_group_unref(group);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cooldown),
        cmocka_unit_test(test_ejection),
        cmocka_unit_test(test_unreachable_backs_off),
        cmocka_unit_test(test_retry_budget),
        cmocka_unit_test(test_retries_of_one_worker),
        cmocka_unit_test(test_retry_after_and_again),
        cmocka_unit_test(test_all_in_cooldown_are_still_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
