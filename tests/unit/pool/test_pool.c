/* pool: shares follow the weights, choices are spread, workers in cooldown come last, and the state of a
 * worker holds for every group, thread and configuration. */
#include "base/clock.h"
#include "base/mem.h"
#include "pool/roster.h"
#include "pool/ticket.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

#define MANY 70

struct site {
    struct sr_pool *pool;
    struct sr_arena arena;
};

static struct site site_open(void)
{
    struct site s;
    assert_int_equal(sr_pool_new(&s.pool), SR_OK);
    sr_arena_init(&s.arena, (size_t)16 << 20);
    return s;
}

static void site_close(struct site *s)
{
    assert_null(s->pool->groups);
    for (size_t i = 0; i < SR_POOL_BUCKETS; i++)
        assert_null(s->pool->workers[i]);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
}

static struct sr_pool_backend backend(const char *host, double weight)
{
    return (struct sr_pool_backend){
        .scheme = "http", .host = host, .base_path = "", .port = 8000, .weight = weight};
}

static struct sr_pool_group *group_of(struct site *s, const char *name,
                                      const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group;
    struct sr_err err = {0};
    assert_int_equal(sr_pool_group_get(s->pool, &group, name, NULL, NULL, NULL, NULL, backends, n, &err),
                     SR_OK);
    return group;
}

/* One request that is chosen a worker and reports nothing. */
static int choose_once(struct site *s, struct sr_pool_group *group)
{
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s->arena), SR_OK);
    int at = sr_ticket_choose(&ticket);
    sr_ticket_dispose(&ticket);
    sr_arena_dispose(&s->arena);
    return at;
}

static void report_once(struct site *s, struct sr_pool_group *group, size_t at, enum sr_ticket_event event)
{
    struct sr_ticket ticket;
    assert_int_equal(sr_ticket_open(&ticket, group, &s->arena), SR_OK);
    sr_ticket_report(&ticket, at, event, 0);
    sr_ticket_dispose(&ticket);
}

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

static struct sr_pool_group *ejecting(struct site *s, const char *policy, struct sr_pool_ejection ejection,
                                      const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group;
    struct sr_err err = {0};
    assert_int_equal(
        sr_pool_group_get(s->pool, &group, "m", policy, NULL, &ejection, NULL, backends, n, &err), SR_OK);
    return group;
}

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
    struct sr_ticket tickets[100];
    size_t allowed = 0;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(sr_ticket_open(&tickets[i], group, &s.arena), SR_OK);
        sr_ticket_begin(&tickets[i], 0);
    }
    for (size_t i = 0; i < 100; i++)
        allowed += sr_ticket_retry(&tickets[i]);
    assert_int_equal(allowed, 20);             /* of 100 in progress */
    assert_true(sr_ticket_retry(&tickets[0])); /* it has its place */
    for (size_t i = 0; i < 100; i++)
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
        cmocka_unit_test(test_cooldown),
        cmocka_unit_test(test_ejection),
        cmocka_unit_test(test_unreachable_backs_off),
        cmocka_unit_test(test_retry_budget),
        cmocka_unit_test(test_retry_after_and_again),
        cmocka_unit_test(test_least_request),
        cmocka_unit_test(test_all_in_cooldown_are_still_used),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_equal_configuration_is_the_same_group),
        cmocka_unit_test(test_reload_keeps_health_and_turn),
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_offered),
        cmocka_unit_test(test_offered_are_bounded),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_threads_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
