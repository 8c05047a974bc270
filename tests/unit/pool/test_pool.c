/* pool: shares follow the weights, choices are spread, restrictions and limits hold, for every thread and
 * without memory. */
#include "base/mem.h"
#include "tests/unit/pool_kit.h"

#include <stdio.h>

#define MANY 70

/* ---- the policy ---- */

static void test_shares_follow_weights(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 5), backend("b", 1), backend("c", 2)};
    struct sr_pool_group *group = group_of(&s, "m", b, 3);
    int hits[3] = {0};
    int longest = 0, run = 0, last = -1;
    for (int i = 0; i < 800; i++) {
        int at = choose_once(&s, group);
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
    sr_pool_group_unref(group);
    site_close(&s);
}

/* Backups come after all others that can take a request, and before those in cooldown. */
static void test_backups(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 9), backend("c", 1)};
    b[1].backup = true;
    struct sr_pool_group *group;
    struct sr_err err = {0};
    const struct sr_pool_limits limits = {.max_in_flight = 1};
    assert_int_equal(sr_pool_group_get(s.pool, &group, "m", NULL, NULL, NULL, &limits, b, 3, &err), SR_OK);
    for (int i = 0; i < 20; i++)
        assert_int_not_equal(choose_once(&s, group), 1);
    struct sr_ticket t[4];
    int at[4];
    for (int i = 0; i < 4; i++) { /* each has one place */
        assert_int_equal(sr_ticket_open(&t[i], group, &s.arena), SR_OK);
        at[i] = sr_ticket_choose(&t[i]);
        if (at[i] >= 0)
            sr_ticket_begin(&t[i], (size_t)at[i]);
    }
    assert_int_equal(at[0] + at[1], 2);
    assert_int_equal(at[2], 1);
    assert_int_equal(at[3], -1);
    assert_true(sr_ticket_is_full(&t[3]));
    for (int i = 0; i < 4; i++)
        sr_ticket_dispose(&t[i]);
    report_once(&s, group, 0, SR_TICKET_UNREACHABLE);
    report_once(&s, group, 2, SR_TICKET_UNREACHABLE);
    assert_int_equal(choose_once(&s, group), 1);
    report_once(&s, group, 1, SR_TICKET_UNREACHABLE);
    assert_int_not_equal(choose_once(&s, group), 1);
    sr_pool_group_unref(group);
    site_close(&s);
}

static void test_unknown_policy(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_group *group;
    struct sr_err err = {0};
    assert_int_equal(sr_pool_group_get(s.pool, &group, "m", "by_dice", NULL, NULL, NULL, NULL, 0, &err),
                     SR_ENOENT);
    assert_non_null(strstr(err.message, "by_dice"));
    assert_int_equal(sr_pool_group_get(s.pool, &group, "m", "round_robin", NULL, NULL, NULL, NULL, 0, &err),
                     SR_OK);
    sr_pool_group_unref(group);
    site_close(&s);
}

/* ---- a ticket ---- */

static void test_tried_is_not_chosen_again(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 100)};
    for (size_t n = 0; n <= 2; n++) {
        struct sr_pool_group *group = group_of(&s, "m", b, n);
        struct sr_ticket ticket;
        unsigned seen = 0;
        assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
        for (size_t i = 0; i < n; i++) {
            int at = sr_ticket_choose(&ticket);
            assert_in_range(at, 0, n - 1);
            assert_true(sr_ticket_is_tried(&ticket, (size_t)at));
            seen |= 1u << at;
        }
        assert_int_equal(seen, (1u << n) - 1);
        assert_int_equal(sr_ticket_choose(&ticket), -1);
        sr_ticket_dispose(&ticket);
        sr_pool_group_unref(group);
    }
    site_close(&s);
}

/* Every one of a model's workers can be reached by one request, however many there are. */
static void test_many_workers(void **state)
{
    (void)state;
    struct site s = site_open();
    char hosts[MANY][16];
    struct sr_pool_backend b[MANY];
    for (int i = 0; i < MANY; i++) {
        snprintf(hosts[i], sizeof hosts[i], "w%d", i);
        b[i] = backend(hosts[i], 1);
    }
    struct sr_pool_group *group = group_of(&s, "m", b, MANY);
    struct sr_ticket ticket;
    bool seen[MANY] = {false};
    assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
    for (int i = 0; i < MANY; i++) {
        int at = sr_ticket_choose(&ticket);
        assert_in_range(at, 0, MANY - 1);
        assert_false(seen[at]);
        seen[at] = true;
        sr_ticket_report(&ticket, (size_t)at, SR_TICKET_UNREACHABLE, 0);
    }
    assert_int_equal(sr_ticket_choose(&ticket), -1);
    sr_ticket_dispose(&ticket);
    sr_pool_group_unref(group);
    site_close(&s);
}

static bool only_last(void *ctx, size_t candidate)
{
    return candidate == *(size_t *)ctx;
}

static void test_restriction(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 9), backend("b", 9), backend("c", 1)};
    for (size_t n = 1; n <= 3; n++) {
        struct sr_pool_group *group = group_of(&s, "m", b, n);
        struct sr_ticket ticket;
        size_t last = n - 1, none = n;
        assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
        assert_int_equal(sr_ticket_choose_among(&ticket, only_last, &none), -1);
        assert_int_equal(sr_ticket_choose_among(&ticket, only_last, &last), last);
        assert_int_equal(sr_ticket_choose_among(&ticket, only_last, &last), -1);
        sr_ticket_dispose(&ticket);
        sr_pool_group_unref(group);
    }
    site_close(&s);
}

static void test_in_flight(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 2);
    struct sr_pool_worker *first = group->roster->members[0]->worker,
                          *second = group->roster->members[1]->worker;
    struct sr_ticket ticket, other, never = {0};
    assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_open(&other, group, &s.arena), SR_OK);
    sr_ticket_begin(&ticket, 0);
    sr_ticket_begin(&other, 0);
    assert_int_equal(first->in_flight, 2);
    sr_ticket_begin(&ticket, 1); /* another try */
    assert_int_equal(first->in_flight, 1);
    assert_int_equal(second->in_flight, 1);
    sr_ticket_end(&ticket);
    sr_ticket_end(&ticket);
    assert_int_equal(second->in_flight, 0);
    assert_int_equal(ticket.at, 1); /* the log still names it */
    sr_ticket_assume(&ticket, 0);
    assert_int_equal(ticket.at, 0);
    sr_ticket_begin(&ticket, 2); /* there is none */
    sr_ticket_dispose(&ticket);
    sr_ticket_dispose(&other);
    sr_ticket_dispose(&never);
    assert_int_equal(first->in_flight, 0);
    sr_pool_group_unref(group);
    site_close(&s);
}

/* ---- least_request ---- */

static void test_least_request(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 2), backend("c", 0)};
    struct sr_pool_group *group = ejecting(&s, "least_request", (struct sr_pool_ejection){0}, b, 3);
    struct sr_ticket tickets[30];
    int hits[3] = {0};
    for (size_t i = 0; i < 30; i++) {
        assert_int_equal(sr_ticket_open(&tickets[i], group, &s.arena), SR_OK);
        int at = sr_ticket_choose(&tickets[i]);
        sr_ticket_begin(&tickets[i], (size_t)at);
        hits[at]++;
    }
    assert_int_equal(hits[0], 10);
    assert_int_equal(hits[1], 20);
    assert_int_equal(hits[2], 0);
    for (size_t i = 0; i < 30; i++)
        sr_ticket_dispose(&tickets[i]);
    sr_pool_group_unref(group);
    struct sr_pool_backend even[] = {backend("d", 1), backend("e", 1)};
    group = ejecting(&s, "least_request", (struct sr_pool_ejection){0}, even, 2);
    int first = choose_once(&s, group); /* nothing in flight: in turn */
    for (int i = 1; i < 10; i++)
        assert_int_equal(choose_once(&s, group), i % 2 ? !first : first);
    sr_pool_group_unref(group);
    site_close(&s);
}

/* ---- out of memory ---- */

static void test_out_of_memory(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1)};
    struct sr_bytes address = SR_LIT("10.0.0.1:80");
    struct sr_pool_group *group = NULL, *offered = group_of(&s, "offered", NULL, 0);
    struct sr_ticket ticket;
    int rc = SR_ENOMEM;
    for (size_t n = 1; rc != SR_OK; n++) {
        struct sr_err err = {0};
        assert_int_equal(rc, SR_ENOMEM);
        sr_mem_fail_at(n);
        rc = sr_pool_group_get(s.pool, &group, "m", NULL, NULL, NULL, NULL, b, 2, &err);
        sr_mem_fail_at(0);
    }
    assert_int_equal(sr_ticket_open(&ticket, offered, &s.arena), SR_OK);
    rc = SR_ENOMEM;
    for (size_t n = 1; rc != SR_OK; n++) {
        assert_int_equal(rc, SR_ENOMEM);
        sr_mem_fail_at(n);
        rc = sr_ticket_offer(&ticket, &address, 1);
        sr_mem_fail_at(0);
    }
    sr_ticket_dispose(&ticket);
    sr_pool_group_unref(group);
    sr_pool_group_unref(offered);
    site_close(&s);
}

/* ---- threads ---- */

#define THREADS 2
#define ROUNDS  4000

struct loop {
    struct site site;
    struct sr_pool_group *group;
    int hits[4];
    pthread_t thread;
};

static void *run_loop(void *arg)
{
    struct loop *loop = arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct sr_ticket ticket;
        int rc = sr_ticket_open(&ticket, loop->group, &loop->site.arena);
        int at = rc == SR_OK ? sr_ticket_choose(&ticket) : -1;
        if (at >= 0) {
            sr_ticket_begin(&ticket, (size_t)at);
            loop->hits[at]++;
            sr_ticket_report(&ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
        }
        sr_ticket_dispose(&ticket);
        sr_arena_dispose(&loop->site.arena);
    }
    return NULL;
}

/* Two loops share the running state: over both the shares are exact. A cooldown that one learned of holds for
 * both. */
static void test_threads_share(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 2), backend("c", 1), backend("d", 1)};
    struct sr_pool_group *group = group_of(&s, "m", b, 4), *same = group_of(&s, "m", b, 4);
    struct loop loops[THREADS] = {{.group = group}, {.group = same}};
    report_once(&s, group, 3, SR_TICKET_UNREACHABLE);
    for (int i = 0; i < THREADS; i++) {
        sr_arena_init(&loops[i].site.arena, (size_t)1 << 20);
        assert_int_equal(pthread_create(&loops[i].thread, NULL, run_loop, &loops[i]), 0);
    }
    int hits[4] = {0};
    for (int i = 0; i < THREADS; i++) {
        pthread_join(loops[i].thread, NULL);
        for (int k = 0; k < 4; k++)
            hits[k] += loops[i].hits[k];
    }
    assert_int_equal(hits[0], THREADS * ROUNDS / 4);
    assert_int_equal(hits[1], THREADS * ROUNDS / 2);
    assert_int_equal(hits[2], THREADS * ROUNDS / 4);
    assert_int_equal(hits[3], 0);
    for (int k = 0; k < 4; k++)
        assert_int_equal(group->roster->members[k]->worker->in_flight, 0);
    sr_pool_group_unref(group);
    sr_pool_group_unref(same);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_follow_weights),
        cmocka_unit_test(test_backups),
        cmocka_unit_test(test_unknown_policy),
        cmocka_unit_test(test_tried_is_not_chosen_again),
        cmocka_unit_test(test_many_workers),
        cmocka_unit_test(test_restriction),
        cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_least_request),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_threads_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
