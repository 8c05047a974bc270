/* pool: a worker is one in every group and configuration, over reloads, and where its endpoint is offered. */
#include "base/mem.h"
#include "tests/unit/pool_kit.h"

#include <stdio.h>

/* The same worker in two models: one health, two running states. Scheme, port and base path make another
 * worker. */
static void test_identity(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("GPU-1.local", 1), backend("gpu-2.local", 1)};
    struct sr_pool_backend twin = backend("gpu-1.LOCAL", 3), other[] = {twin, twin, twin};
    struct sr_pool_group *one = group_of(&s, "one", b, 2), *two = group_of(&s, "two", &twin, 1);
    other[0].scheme = "https";
    other[1].port = 8001;
    other[2].base_path = "/v2";
    struct sr_pool_group *three = group_of(&s, "three", other, 3);
    struct sr_pool_worker *worker = one->roster->members[0]->worker;
    assert_ptr_equal(worker, two->roster->members[0]->worker);
    assert_int_equal(worker->key.n, strlen("http://gpu-1.local:8000"));
    assert_memory_equal(worker->key.p, "http://gpu-1.local:8000", worker->key.n);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_not_equal(worker, three->roster->members[i]->worker);
    report_once(&s, two, 0, SR_TICKET_UNREACHABLE);
    assert_int_equal(choose_once(&s, one), 1);
    assert_int_equal(choose_once(&s, two), 0); /* there is no other */
    sr_pool_group_unref(one);
    sr_pool_group_unref(two);
    sr_pool_group_unref(three);
    site_close(&s);
}

/* ---- reloads ---- */

static void test_equal_configuration_is_the_same_group(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 2)};
    struct sr_pool_group *before = group_of(&s, "m", b, 2), *after = group_of(&s, "m", b, 2);
    struct sr_pool_group *another = group_of(&s, "n", b, 2);
    assert_ptr_equal(before, after);
    assert_ptr_not_equal(before, another);
    sr_pool_group_unref(before);
    assert_in_range(choose_once(&s, after), 0, 1);
    sr_pool_group_unref(after);
    sr_pool_group_unref(another);
    site_close(&s);
}

static void test_reload_keeps_health_and_turn(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend b[] = {backend("a", 1), backend("b", 1), backend("c", 1)};
    struct sr_pool_group *before = group_of(&s, "m", b, 2);
    assert_int_equal(choose_once(&s, before), 0);
    struct sr_pool_group *after = group_of(&s, "m", b, 3); /* one more worker */
    sr_pool_group_unref(before);
    assert_int_equal(choose_once(&s, after), 1); /* not the first one again */
    report_once(&s, after, 2, SR_TICKET_UNREACHABLE);
    before = after;
    after = group_of(&s, "m", &b[1], 2); /* one fewer */
    sr_pool_group_unref(before);
    for (int i = 0; i < 4; i++)
        assert_int_equal(choose_once(&s, after), 0); /* `b`: `c` is in cooldown still */
    sr_pool_group_unref(after);
    site_close(&s);
}

/* ---- offered endpoints ---- */

struct listed {
    size_t n;
    char all[256];
};

static void note_listed(void *ctx, const char *group, struct sr_bytes worker)
{
    struct listed *listed = ctx;
    size_t at = strlen(listed->all);
    listed->n++;
    snprintf(listed->all + at, sizeof listed->all - at, "%s %.*s\n", group, (int)worker.n, worker.p);
}

/* Of two groups of one name only the latest; discovered members as they are now. */
static void test_listed(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_backend two[] = {backend("a", 1), backend("b", 1)}, found[] = {backend("c", 1)};
    struct sr_pool_limits limits = {.discovered = true};
    struct sr_pool_group *before = group_of(&s, "m", two, 2), *now = group_of(&s, "m", two, 1), *discovered;
    struct sr_err err = {0};
    assert_int_equal(sr_pool_group_get(s.pool, &discovered, "d", NULL, NULL, NULL, &limits, two, 2, &err),
                     SR_OK);
    assert_int_equal(sr_pool_set_members(s.pool, "d", found, 1), SR_OK);
    struct listed listed = {0};
    sr_pool_each_listed(s.pool, note_listed, &listed);
    assert_int_equal(listed.n, 2);
    assert_non_null(strstr(listed.all, "m http://a:8000\n"));
    assert_non_null(strstr(listed.all, "d http://c:8000\n"));
    sr_pool_group_unref(before);
    sr_pool_group_unref(now);
    sr_pool_group_unref(discovered);
    site_close(&s);
}

static void test_offered(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_group *group = group_of(&s, "m", NULL, 0);
    struct sr_bytes addresses[] = {SR_LIT("10.0.0.1:80"), SR_LIT("10.0.0.2:80")};
    int hits[2] = {0};
    for (int i = 0; i < 10; i++) {
        struct sr_ticket ticket;
        assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
        assert_int_equal(sr_ticket_choose(&ticket), -1);
        assert_int_equal(sr_ticket_offer(&ticket, addresses, 2), SR_OK);
        assert_int_equal(sr_ticket_offer(&ticket, addresses, 2), SR_EINVAL);
        int at = sr_ticket_choose(&ticket);
        assert_in_range(at, 0, 1);
        hits[at]++;
        sr_ticket_begin(&ticket, (size_t)at);
        sr_ticket_dispose(&ticket);
    }
    assert_int_equal(hits[0], 5);
    assert_int_equal(hits[1], 5);
    assert_int_equal(group->n_offered, 2);
    sr_pool_group_unref(group);
    site_close(&s);
}

static void test_offered_are_bounded(void **state)
{
    (void)state;
    struct site s = site_open();
    struct sr_pool_group *group = group_of(&s, "m", NULL, 0);
    static struct sr_bytes all[SR_POOL_OFFERED_MAX + 1];
    for (size_t i = 0; i <= SR_POOL_OFFERED_MAX; i++)
        all[i] = sr_bytes_str(sr_arena_printf(&s.arena, "10.0.%zu.%zu:80", i >> 8, i & 255));
    struct sr_ticket ticket, full, next;
    assert_int_equal(sr_ticket_open(&ticket, group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_offer(&ticket, all, SR_POOL_OFFERED_MAX + 1), SR_ELIMIT);
    assert_int_equal(sr_ticket_choose(&ticket), -1);
    assert_int_equal(sr_ticket_open(&full, group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_offer(&full, all, SR_POOL_OFFERED_MAX), SR_OK);
    assert_int_equal(sr_ticket_open(&next, group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_offer(&next, &all[SR_POOL_OFFERED_MAX], 1), SR_ELIMIT);
    assert_int_equal(sr_ticket_offer(&next, all, 1), SR_OK); /* it is known */
    sr_ticket_dispose(&next);
    sr_ticket_dispose(&full);
    sr_ticket_dispose(&ticket);
    assert_int_equal(group->n_offered, SR_POOL_OFFERED_MAX);
    assert_int_equal(sr_ticket_open(&next, group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_offer(&next, &all[SR_POOL_OFFERED_MAX], 1), SR_OK);
    assert_int_equal(group->n_offered, 1);
    sr_ticket_dispose(&next);
    sr_pool_group_unref(group);
    site_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_equal_configuration_is_the_same_group),
        cmocka_unit_test(test_reload_keeps_health_and_turn),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_offered),
        cmocka_unit_test(test_offered_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
