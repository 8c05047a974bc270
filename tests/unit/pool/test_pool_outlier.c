/* Workers that are slow: when they are ejected, when they are not, and how they come back. On a simulated
 * clock. */
#include "pool/clock.h"
#include "pool/outlier.h"
#include "pool/roster.h"
#include "pool/ticket.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

#define WORKERS 8
#define SLOW    2
#define MS      UINT64_C(1000000)
#define S       (1000 * MS)
#define BLOCKS  32

struct site {
    struct sr_pool *pool;
    struct sr_pool_group *group;
    struct sr_arena arena;
    char hosts[WORKERS][16];
    struct sr_pool_backend backends[WORKERS];
    size_t n;
    uint64_t now;
};

static const struct sr_pool_ejection usual = {0, 30 * S, 50, SR_POOL_SLOW_TIMES, SR_POOL_RECOVERY_NS};

static void pass(struct site *s, uint64_t ns)
{
    s->now += ns;
    sr_pool_clock_set(s->now);
}

static void site_init(struct site *s, const char *policy, size_t n, const struct sr_pool_ejection *ejection)
{
    struct sr_err err = {0};
    *s = (struct site){.n = n, .now = S};
    sr_pool_clock_set(s->now);
    assert_int_equal(sr_pool_new(&s->pool), SR_OK);
    sr_arena_init(&s->arena, (size_t)64 << 20);
    for (size_t i = 0; i < n; i++) {
        snprintf(s->hosts[i], sizeof s->hosts[i], "w%zu", i);
        s->backends[i] = (struct sr_pool_backend){
            .scheme = "http", .host = s->hosts[i], .base_path = "", .port = 8000, .weight = 1};
    }
    assert_int_equal(
        sr_pool_group_get(s->pool, &s->group, "m", policy, NULL, ejection, NULL, s->backends, n, &err),
        SR_OK);
}

static void site_dispose(struct site *s)
{
    sr_pool_group_unref(s->group);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
    sr_pool_clock_set(0);
}

static int begin(struct site *s, struct sr_ticket *ticket, const struct sr_pool_ask *ask)
{
    assert_int_equal(sr_ticket_open(ticket, s->group, &s->arena), SR_OK);
    sr_ticket_ask(ticket, ask);
    int at = sr_ticket_choose(ticket);
    assert_in_range(at, 0, s->n - 1);
    sr_ticket_begin(ticket, (size_t)at);
    return at;
}

/* The answer's first byte comes after `first` of it, and its end after all. */
static void answer(struct site *s, struct sr_ticket *ticket, uint64_t first, uint64_t whole)
{
    sr_ticket_report(ticket, (size_t)ticket->at, SR_TICKET_ANSWERED, 200);
    pass(s, first);
    sr_ticket_first_byte(ticket);
    pass(s, whole - first);
    sr_ticket_end(ticket);
    sr_ticket_dispose(ticket);
}

static struct sr_pool_worker *worker_of(const struct site *s, size_t at)
{
    return s->group->roster->members[at]->worker;
}

/* `rounds` requests for each worker, one after the other; those at the slow one take `times` as long. Returns
 * how many it had. */
static int turns(struct site *s, int rounds, double first_times, double whole_times)
{
    int had = 0;
    for (size_t i = 0; i < (size_t)rounds * s->n; i++) {
        struct sr_ticket ticket;
        bool slow = begin(s, &ticket, NULL) == SLOW;
        uint64_t first = (uint64_t)(50.0 * (slow ? first_times : 1)) * MS;
        uint64_t rest = (uint64_t)(300.0 * (slow ? whole_times : 1)) * MS;
        answer(s, &ticket, first, first + rest);
        had += slow;
    }
    return had;
}

static bool is_slow(const struct site *s)
{
    return sr_outlier_is_slow(worker_of(s, SLOW), s->now);
}

static void test_a_slow_worker_is_left_and_comes_back(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "round_robin", WORKERS, &usual);
    assert_int_equal(turns(&s, 10, 1, 1), 10);
    assert_in_range(turns(&s, 10, 4, 4), 1, 6);
    assert_true(is_slow(&s));
    assert_int_equal(turns(&s, 2, 1, 1), 0);
    s.now = atomic_load(&worker_of(&s, SLOW)->slow_until_ns);
    pass(&s, 1);
    assert_false(is_slow(&s));
    /* A tenth of its share at first, more later, all of it after the recovery. */
    assert_in_range(turns(&s, 3, 1, 1), 0, 2);
    pass(&s, SR_POOL_RECOVERY_NS);
    assert_int_equal(turns(&s, 10, 1, 1), 10);
    site_dispose(&s);
}

/* A worker that is slow again is ejected for longer. */
static void test_again_is_longer(void **state)
{
    (void)state;
    struct site s;
    uint64_t lengths[2];
    site_init(&s, "round_robin", WORKERS, &usual);
    turns(&s, 10, 1, 1);
    for (int i = 0; i < 2; i++) {
        while (!is_slow(&s))
            turns(&s, 1, 4, 4);
        uint64_t until = atomic_load(&worker_of(&s, SLOW)->slow_until_ns);
        lengths[i] = until - atomic_load(&s.group->reviewed_ns);
        pass(&s, until - s.now + 1);
    }
    assert_in_range(lengths[0], 29 * S, 30 * S);
    assert_in_range(lengths[1], 50 * S, 60 * S);
    assert_int_equal(atomic_load(&worker_of(&s, SLOW)->slowed), 2);
    site_dispose(&s);
}

/* Cold prompts are late with the first byte, long answers with the end: neither is a slow worker. Times of a
 * few milliseconds say nothing, and one very long request neither. */
static void test_what_is_not_slow(void **state)
{
    (void)state;
    struct site s;
    struct sr_pool_ejection off = usual;
    struct sr_ticket ticket;
    off.slow_times = 0;
    site_init(&s, "round_robin", WORKERS, &usual);
    assert_int_equal(turns(&s, 10, 10, 1), 10);
    assert_int_equal(turns(&s, 20, 1, 1), 20);
    assert_int_equal(turns(&s, 10, 1, 10), 10);
    assert_int_equal(turns(&s, 20, 1, 1), 20);
    while (begin(&s, &ticket, NULL) != SLOW)
        answer(&s, &ticket, 50 * MS, 350 * MS);
    answer(&s, &ticket, 50 * S, 60 * S);
    assert_int_equal(turns(&s, 10, 1, 1), 10);
    for (int i = 0; i < 20 * WORKERS; i++) {
        bool slow = begin(&s, &ticket, NULL) == SLOW;
        answer(&s, &ticket, slow ? 12 * MS : MS, slow ? 15 * MS : MS);
    }
    assert_false(is_slow(&s));
    site_dispose(&s);
    site_init(&s, "round_robin", WORKERS, &off);
    assert_int_equal(turns(&s, 10, 4, 4), 10);
    assert_false(is_slow(&s));
    site_dispose(&s);
}

/* A worker that has stopped is seen by the requests that wait for it. */
static void test_a_worker_that_stops(void **state)
{
    (void)state;
    enum { MOST = 64 };
    struct sr_ticket stuck[MOST], ticket;
    struct site s;
    size_t n = 0;
    site_init(&s, "round_robin", WORKERS, &usual);
    turns(&s, 10, 1, 1);
    for (int i = 0; i < 20 * WORKERS; i++) {
        if (begin(&s, &ticket, NULL) != SLOW)
            answer(&s, &ticket, 50 * MS, 350 * MS);
        else
            stuck[n++] = ticket;
        assert_true(n < 8);
    }
    assert_true(is_slow(&s));
    for (size_t i = 0; i < n; i++)
        sr_ticket_dispose(&stuck[i]);
    site_dispose(&s);
}

static bool is_first_few(void *ctx, size_t candidate)
{
    return candidate < *(size_t *)ctx;
}

/* One request after the other, at the first `few` workers alone; the slow one takes four times as long. */
static void turns_of_few(struct site *s, size_t few, int rounds)
{
    for (size_t i = 0; i < (size_t)rounds * few; i++) {
        struct sr_ticket ticket;
        assert_int_equal(sr_ticket_open(&ticket, s->group, &s->arena), SR_OK);
        int at = sr_ticket_choose_among(&ticket, is_first_few, &few);
        assert_in_range(at, 0, few - 1);
        sr_ticket_begin(&ticket, (size_t)at);
        answer(s, &ticket, (at == SLOW ? 200 : 50) * MS, (at == SLOW ? 1400 : 350) * MS);
    }
}

/* A policy that keeps a prompt with its cache uses few workers: the others say nothing. Two of many are too
 * few to say which one is slow. */
static void test_workers_without_requests(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "round_robin", WORKERS, &usual);
    turns_of_few(&s, SLOW + 1, 12);
    assert_true(is_slow(&s));
    site_dispose(&s);
    site_init(&s, "round_robin", WORKERS, &usual);
    for (int i = 0; i < 12; i++) {
        struct sr_ticket ticket;
        assert_int_equal(sr_ticket_open(&ticket, s.group, &s.arena), SR_OK);
        size_t at = i % 2 ? SLOW : 0;
        sr_ticket_begin(&ticket, at);
        answer(&s, &ticket, (at == SLOW ? 200 : 50) * MS, (at == SLOW ? 1400 : 350) * MS);
    }
    assert_false(is_slow(&s));
    site_dispose(&s);
}

static uint32_t retries_of(const struct site *s)
{
    return atomic_load(&s->pool->retries);
}

/* A request at a worker that was found to be slow goes to one that is well and not the busiest. */
static void test_left_behind(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket stays, busy[3];
    site_init(&s, "round_robin", WORKERS, &usual);
    turns(&s, 10, 1, 1);
    while (begin(&s, &stays, NULL) != SLOW)
        answer(&s, &stays, 50 * MS, 350 * MS);
    assert_null(sr_ticket_left_behind(&stays));
    turns(&s, 10, 4, 4);
    assert_string_equal(sr_ticket_left_behind(&stays), "slow");
    for (size_t i = 0; i < 3; i++) { /* all but one of those that are well */
        assert_int_equal(sr_ticket_open(&busy[i], s.group, &s.arena), SR_OK);
        sr_ticket_begin(&busy[i], 0);
    }
    for (int i = 0; i < 2 * WORKERS; i++) {
        struct sr_ticket moves = {0};
        assert_int_equal(sr_ticket_open(&moves, s.group, &s.arena), SR_OK);
        sr_ticket_begin(&moves, SLOW);
        int at = sr_ticket_choose_well(&moves);
        assert_int_not_equal(at, SLOW);
        assert_in_range(at, 1, WORKERS - 1);
        assert_int_equal(retries_of(&s), 1);
        sr_ticket_begin(&moves, (size_t)at);
        assert_null(sr_ticket_left_behind(&moves));
        sr_ticket_dispose(&moves);
        assert_int_equal(retries_of(&s), 0);
    }
    for (size_t i = 0; i < 3; i++)
        sr_ticket_dispose(&busy[i]);
    sr_ticket_dispose(&stays);
    site_dispose(&s);
}

/* Down and ejected workers are left too, and one that cannot be reached again and again. One that asks for a
 * pause, or that closes its listener, answers what it has. */
static void test_left_behind_by_failures(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket ticket;
    struct sr_pool_ejection ejection = usual;
    ejection.failures = 2;
    site_init(&s, "round_robin", 2, &ejection);
    size_t at = (size_t)begin(&s, &ticket, NULL);
    sr_ticket_cool(&ticket, at, 30 * S);
    assert_null(sr_ticket_left_behind(&ticket));
    sr_ticket_report(&ticket, at, SR_TICKET_UNREACHABLE, 0);
    assert_null(sr_ticket_left_behind(&ticket));
    sr_ticket_report(&ticket, at, SR_TICKET_UNREACHABLE, 0);
    assert_string_equal(sr_ticket_left_behind(&ticket), "ejected");
    sr_ticket_report(&ticket, at, SR_TICKET_ANSWERED, 200);
    assert_null(sr_ticket_left_behind(&ticket));
    sr_ticket_report(&ticket, at, SR_TICKET_ANSWERED, 500);
    assert_null(sr_ticket_left_behind(&ticket));
    sr_ticket_report(&ticket, at, SR_TICKET_LOST, 0);
    assert_string_equal(sr_ticket_left_behind(&ticket), "ejected");
    pass(&s, 31 * S);
    assert_null(sr_ticket_left_behind(&ticket));
    assert_int_equal(sr_pool_set_down(s.pool, &s.backends[at], true), SR_OK);
    assert_string_equal(sr_ticket_left_behind(&ticket), "down");
    /* The other one is down as well: it stays, and has no place in the budget. */
    assert_int_equal(sr_pool_set_down(s.pool, &s.backends[1 - at], true), SR_OK);
    assert_int_equal(sr_ticket_choose_well(&ticket), -1);
    assert_int_equal(retries_of(&s), 0);
    assert_int_equal(ticket.at, at);
    assert_true(ticket.in_flight);
    sr_ticket_end(&ticket);
    assert_null(sr_ticket_left_behind(&ticket));
    sr_ticket_dispose(&ticket);
    site_dispose(&s);
}

static void test_prefix_leaves_a_slow_worker(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket ticket, first;
    uint64_t blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = 1000 + i;
    struct sr_pool_ask ask = {.blocks = blocks, .n_blocks = BLOCKS, .prompt_tokens = 16 * BLOCKS};
    site_init(&s, "prefix", WORKERS, &usual);
    int home = begin(&s, &first, &ask);
    for (int i = 0; i < 10 * WORKERS; i++) { /* the others have other prompts */
        begin(&s, &ticket, NULL);
        answer(&s, &ticket, 50 * MS, 350 * MS);
    }
    answer(&s, &first, 50 * MS, 350 * MS);
    for (int i = 0; i < 20 && !sr_outlier_is_slow(worker_of(&s, (size_t)home), s.now); i++)
        for (int k = 0; k < WORKERS; k++) {
            int at = begin(&s, &ticket, k == 0 ? &ask : NULL);
            answer(&s, &ticket, at == home ? 400 * MS : 50 * MS, at == home ? 2800 * MS : 350 * MS);
        }
    assert_true(sr_outlier_is_slow(worker_of(&s, (size_t)home), s.now));
    assert_int_not_equal(begin(&s, &ticket, &ask), home);
    sr_ticket_dispose(&ticket);
    site_dispose(&s);
}

/* Half of the workers at most; and when there is no other one, a slow one has the request. */
static void test_a_slow_worker_is_better_than_none(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket ticket;
    site_init(&s, "round_robin", 2, &usual);
    for (int i = 0; i < 40; i++) {
        int at = begin(&s, &ticket, NULL);
        answer(&s, &ticket, at ? 500 * MS : 50 * MS, at ? 3500 * MS : 350 * MS);
    }
    assert_true(sr_outlier_is_slow(worker_of(&s, 1), s.now));
    assert_int_equal(sr_ticket_open(&ticket, s.group, &s.arena), SR_OK);
    assert_int_equal(sr_ticket_choose(&ticket), 0);
    assert_int_equal(sr_ticket_choose(&ticket), 1);
    assert_int_equal(sr_ticket_choose(&ticket), -1);
    sr_ticket_dispose(&ticket);
    for (int i = 0; i < 40; i++) {
        begin(&s, &ticket, NULL);
        answer(&s, &ticket, 5000 * MS, 35000 * MS);
    }
    assert_false(sr_outlier_is_slow(worker_of(&s, 0), s.now));
    site_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_slow_worker_is_left_and_comes_back),
        cmocka_unit_test(test_again_is_longer),
        cmocka_unit_test(test_what_is_not_slow),
        cmocka_unit_test(test_a_worker_that_stops),
        cmocka_unit_test(test_workers_without_requests),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_left_behind_by_failures),
        cmocka_unit_test(test_prefix_leaves_a_slow_worker),
        cmocka_unit_test(test_a_slow_worker_is_better_than_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
