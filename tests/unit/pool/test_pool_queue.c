/* Limits of workers, the queue of a group, circuits, and members that come and go. */
#include "base/clock.h"
#include "base/mem.h"
#include "pool/roster.h"
#include "pool/ticket.h"

#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

struct site {
    struct sr_pool *pool;
    struct sr_arena arena;
    struct sr_mailbox box; /* of this thread */
};

static void no_wake(void *ctx)
{
    (void)ctx;
}

static struct site *site_open(void)
{
    struct site *s = calloc(1, sizeof *s);
    assert_int_equal(sr_pool_new(&s->pool), SR_OK);
    sr_arena_init(&s->arena, (size_t)16 << 20);
    sr_mailbox_init(&s->box, no_wake, NULL);
    return s;
}

static void site_close(struct site *s)
{
    assert_null(s->pool->groups);
    assert_int_equal(s->pool->waiting, 0);
    assert_int_equal(s->pool->in_flight, 0);
    sr_mailbox_dispose(&s->box);
    sr_arena_dispose(&s->arena);
    sr_pool_free(s->pool);
    free(s);
}

static struct sr_pool_backend backend(const char *host)
{
    return (struct sr_pool_backend){
        .scheme = "http", .host = host, .base_path = "", .port = 8000, .weight = 1};
}

static struct sr_pool_group *group_of(struct site *s, const char *name, struct sr_pool_limits limits,
                                      const struct sr_pool_backend *backends, size_t n)
{
    struct sr_pool_group *group;
    struct sr_err err = {0};
    struct sr_pool_ejection ejection = {.failures = 2, .base_ns = SR_NS_PER_S, .max_percent = 50};
    assert_int_equal(
        sr_pool_group_get(s->pool, &group, name, NULL, NULL, &ejection, &limits, backends, n, &err), SR_OK);
    return group;
}

static const struct sr_pool_limits ONE = {.max_in_flight = 1, .queue_max = 3, .queue_ns = SR_NS_PER_S};

/* A request of a test. */
struct asker {
    struct sr_ticket ticket;
    struct sr_mailbox *box;
    int told; /* times */
    int at;
    int order; /* in which it was told */
    int *next;
};

static int post(void *ctx, struct sr_message *message)
{
    return sr_mailbox_send(ctx, message);
}

static void on_place(void *ctx, int at)
{
    struct asker *asker = ctx;
    asker->told++;
    asker->at = at;
    if (asker->next)
        asker->order = ++*asker->next;
    if (at >= 0)
        sr_ticket_begin(&asker->ticket, (size_t)at);
}

static void open_ticket(struct site *s, struct asker *asker, struct sr_pool_group *group)
{
    *asker = (struct asker){.box = &s->box, .at = -1};
    assert_int_equal(sr_ticket_open(&asker->ticket, group, &s->arena), SR_OK);
}

static int wait_for(struct asker *asker)
{
    struct sr_ticket_waiting waiting = {.post = post, .post_ctx = asker->box, .done = on_place, .ctx = asker};
    return sr_ticket_wait(&asker->ticket, &waiting);
}

/* Has a place at the only worker of `group`. */
static void begin(struct site *s, struct asker *asker, struct sr_pool_group *group)
{
    open_ticket(s, asker, group);
    int at = sr_ticket_choose(&asker->ticket);
    assert_true(at >= 0);
    sr_ticket_begin(&asker->ticket, (size_t)at);
}

static void test_limit(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b")};
    struct sr_pool_group *group = group_of(s, "m", (struct sr_pool_limits){.max_in_flight = 2}, b, 2);
    struct sr_pool_group *other = group_of(s, "o", (struct sr_pool_limits){.max_in_flight = 3}, b, 1);
    struct asker askers[4], more;
    for (size_t i = 0; i < 4; i++)
        begin(s, &askers[i], group);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(group->roster->members[i]->worker->in_flight, 2);
    open_ticket(s, &more, group);
    assert_int_equal(sr_ticket_choose(&more.ticket), -1);
    assert_true(sr_ticket_is_full(&more.ticket));
    assert_int_equal(wait_for(&more), SR_ELIMIT); /* there is no queue */
    sr_ticket_dispose(&more.ticket);
    begin(s, &more, other); /* the worker is shared, the limit is the group's */
    assert_int_equal(group->roster->members[0]->worker->in_flight, 3);
    sr_ticket_dispose(&more.ticket);
    open_ticket(s, &more, group);
    sr_ticket_dispose(&askers[0].ticket);
    assert_true(sr_ticket_choose(&more.ticket) >= 0); /* a choice counts before it begins */
    struct asker late;
    open_ticket(s, &late, group);
    assert_int_equal(sr_ticket_choose(&late.ticket), -1);
    sr_ticket_dispose(&late.ticket);
    sr_ticket_dispose(&more.ticket);
    for (size_t i = 1; i < 4; i++)
        sr_ticket_dispose(&askers[i].ticket);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(group->roster->members[i]->worker->in_flight, 0);
    sr_pool_group_unref(other);
    sr_pool_group_unref(group);
    site_close(s);
}

static void test_order(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a")};
    struct sr_pool_group *group = group_of(s, "m", ONE, b, 1);
    struct asker first, waiting[4];
    int next = 0;
    begin(s, &first, group);
    const int priorities[] = {0, 5, 0, 9};
    for (size_t i = 0; i < 4; i++) {
        open_ticket(s, &waiting[i], group);
        waiting[i].ticket.priority = priorities[i];
        waiting[i].next = &next;
        assert_int_equal(sr_ticket_choose(&waiting[i].ticket), -1);
        assert_int_equal(wait_for(&waiting[i]), i < 3 ? SR_OK : SR_ELIMIT);
    }
    assert_int_equal(group->n_waiting, 3);
    sr_ticket_end(&first.ticket);
    for (size_t i = 0; i < 3; i++) {
        sr_mailbox_run(&s->box);
        assert_int_equal(group->roster->members[0]->worker->in_flight, 1);
        for (size_t k = 0; k < 3; k++)
            if (waiting[k].told && waiting[k].ticket.in_flight)
                sr_ticket_end(&waiting[k].ticket);
    }
    assert_int_equal(waiting[0].order, 2);
    assert_int_equal(waiting[1].order, 1);
    assert_int_equal(waiting[2].order, 3);
    for (size_t k = 0; k < 4; k++)
        sr_ticket_dispose(&waiting[k].ticket);
    sr_ticket_dispose(&first.ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* A request that comes while others wait does not overtake them. */
static void test_no_overtaking(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a")};
    struct sr_pool_group *group = group_of(s, "m", ONE, b, 1);
    struct asker first, waiting, late;
    begin(s, &first, group);
    open_ticket(s, &waiting, group);
    assert_int_equal(sr_ticket_choose(&waiting.ticket), -1);
    assert_int_equal(wait_for(&waiting), SR_OK);
    sr_ticket_end(&first.ticket); /* the place is given, the message has not arrived */
    open_ticket(s, &late, group);
    assert_int_equal(sr_ticket_choose(&late.ticket), -1);
    assert_int_equal(wait_for(&late), SR_OK);
    assert_int_equal(waiting.told, 0);
    sr_mailbox_run(&s->box);
    assert_int_equal(waiting.told, 1);
    assert_int_equal(late.told, 0);
    sr_ticket_dispose(&waiting.ticket);
    sr_mailbox_run(&s->box);
    assert_int_equal(late.told, 1);
    sr_ticket_dispose(&late.ticket);
    sr_ticket_dispose(&first.ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* One that leaves is not told, also when it has been given a place already, which goes to the next. */
static void test_leaving(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a")};
    struct sr_pool_group *group = group_of(s, "m", ONE, b, 1);
    struct asker first, waiting[3];
    begin(s, &first, group);
    for (size_t i = 0; i < 3; i++) {
        open_ticket(s, &waiting[i], group);
        assert_int_equal(sr_ticket_choose(&waiting[i].ticket), -1);
        assert_int_equal(wait_for(&waiting[i]), SR_OK);
    }
    sr_ticket_leave(&waiting[0].ticket);
    sr_ticket_end(&first.ticket);
    sr_ticket_dispose(&waiting[1].ticket); /* it had the place */
    sr_mailbox_run(&s->box);
    assert_int_equal(waiting[0].told + waiting[1].told, 0);
    assert_int_equal(waiting[2].told, 1);
    for (size_t i = 0; i < 3; i++)
        sr_ticket_dispose(&waiting[i].ticket);
    sr_ticket_dispose(&first.ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* A place at a worker that two groups share goes to the one whose request waits for longer. */
static void test_shared_worker(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a")};
    struct sr_pool_group *groups[] = {group_of(s, "m", ONE, b, 1), group_of(s, "o", ONE, b, 1)};
    for (size_t k = 0; k < 2;
         k++) { /* the one that waits for longer is first in one group, then in the other */
        struct asker first, older, newer;
        begin(s, &first, groups[0]);
        open_ticket(s, &older, groups[k]);
        open_ticket(s, &newer, groups[1 - k]);
        older.ticket.waits_since_ns = 100;
        newer.ticket.waits_since_ns = 200;
        assert_int_equal(sr_ticket_choose(&older.ticket), -1);
        assert_int_equal(wait_for(&older), SR_OK);
        assert_int_equal(sr_ticket_choose(&newer.ticket), -1);
        assert_int_equal(wait_for(&newer), SR_OK);
        sr_ticket_end(&first.ticket);
        sr_mailbox_run(&s->box);
        assert_int_equal(older.told, 1);
        assert_int_equal(newer.told, 0);
        sr_ticket_dispose(&older.ticket);
        sr_mailbox_run(&s->box);
        assert_int_equal(newer.told, 1);
        sr_ticket_dispose(&newer.ticket);
        sr_ticket_dispose(&first.ticket);
    }
    sr_pool_group_unref(groups[0]);
    sr_pool_group_unref(groups[1]);
    site_close(s);
}

/* ---- circuits ---- */

static void fail_until_open(struct site *s, struct sr_pool_group *group)
{
    struct asker asker;
    for (int i = 0; i < 2; i++) {
        open_ticket(s, &asker, group);
        sr_ticket_begin(&asker.ticket, 0);
        sr_ticket_report(&asker.ticket, 0, SR_TICKET_ANSWERED, 500);
        sr_ticket_dispose(&asker.ticket);
    }
}

static void test_half_open(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b")};
    struct sr_pool_group *group = group_of(s, "m", (struct sr_pool_limits){0}, b, 2);
    struct sr_pool_worker *worker = group->roster->members[0]->worker;
    struct asker trial, others[8];
    fail_until_open(s, group);
    assert_true(worker->cooldown_until_ns > sr_clock_ns());
    assert_int_equal(worker->ejected, 1);
    worker->cooldown_until_ns = 0; /* time passes: half open */
    size_t at_first = 0, trials = 0;
    for (size_t i = 0; i < 8; i++) {
        begin(s, &others[i], group);
        at_first += others[i].ticket.at == 0;
        trials += others[i].ticket.trial;
    }
    assert_int_equal(at_first, 1);
    assert_int_equal(trials, 1);
    for (size_t i = 0; i < 8; i++) {
        if (others[i].ticket.trial) /* it fails: open again, for longer */
            sr_ticket_report(&others[i].ticket, 0, SR_TICKET_ANSWERED, 503);
        sr_ticket_dispose(&others[i].ticket);
    }
    assert_true(worker->cooldown_until_ns > sr_clock_ns() + SR_NS_PER_S);
    assert_int_equal(worker->ejected, 2);
    assert_false(worker->trial);
    worker->cooldown_until_ns = 0;
    do { /* until the turn is the first one's */
        begin(s, &trial, group);
        if (trial.ticket.at == 0)
            sr_ticket_report(&trial.ticket, 0, SR_TICKET_ANSWERED, 200);
        sr_ticket_dispose(&trial.ticket);
    } while (worker->half_open);
    at_first = 0;
    for (size_t i = 0; i < 8; i++) { /* closed */
        begin(s, &others[i], group);
        at_first += others[i].ticket.at == 0;
    }
    assert_int_equal(at_first, 4);
    for (size_t i = 0; i < 8; i++)
        sr_ticket_dispose(&others[i].ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* A worker that is open is no reason to wait for one that has room; one in cooldown is not chosen while the
 * others are full. */
static void test_open_and_full(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b")};
    struct sr_pool_group *group = group_of(s, "m", ONE, b, 2);
    struct asker first, waiting;
    fail_until_open(s, group);
    begin(s, &first, group);
    assert_int_equal(first.ticket.at, 1);
    open_ticket(s, &waiting, group);
    assert_int_equal(sr_ticket_choose(&waiting.ticket), -1);
    assert_true(sr_ticket_is_full(&waiting.ticket));
    assert_int_equal(wait_for(&waiting), SR_OK);
    group->roster->members[0]->worker->cooldown_until_ns = 0;
    sr_mailbox_run(&s->box);
    assert_int_equal(waiting.told, 0);
    sr_pool_serve_waiting(s->pool); /* the end of a cooldown is no event */
    sr_mailbox_run(&s->box);
    assert_int_equal(waiting.told, 1);
    assert_int_equal(waiting.at, 0);
    sr_ticket_dispose(&waiting.ticket);
    sr_ticket_dispose(&first.ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* ---- members that come and go ---- */

static const struct sr_pool_limits FOUND = {.discovered = true,
                                            .max_in_flight = 1,
                                            .queue_max = 3,
                                            .queue_ns = SR_NS_PER_S,
                                            .slow_start_ns = 3600 * SR_NS_PER_S};

static void test_members(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b"), backend("c")};
    struct sr_pool_group *group = group_of(s, "m", FOUND, NULL, 0);
    struct asker none, first, second, waiting, third;
    open_ticket(s, &none, group);
    assert_int_equal(sr_ticket_choose(&none.ticket), -1);
    assert_false(sr_ticket_is_full(&none.ticket));
    assert_false(sr_ticket_is_stale(&none.ticket));
    assert_int_equal(sr_pool_set_members(s->pool, "other", b, 1), SR_OK);
    assert_int_equal(sr_pool_set_members(s->pool, "m", b, 2), SR_OK);
    assert_true(sr_ticket_is_stale(&none.ticket));
    sr_ticket_dispose(&none.ticket);
    begin(s, &first, group);
    begin(s, &second, group);
    assert_int_equal(first.ticket.at + second.ticket.at, 1);
    struct sr_pool_worker *a = group->roster->members[0]->worker;
    open_ticket(s, &waiting, group);
    assert_int_equal(sr_ticket_choose(&waiting.ticket), -1);
    assert_int_equal(wait_for(&waiting), SR_OK);
    assert_int_equal(sr_pool_set_members(s->pool, "m", b + 1, 2), SR_OK); /* `a` leaves, `c` joins */
    sr_mailbox_run(&s->box);
    assert_int_equal(waiting.at, SR_AGAIN); /* to ask for the members of now */
    assert_int_equal(a->in_flight, 1);      /* it finishes its request */
    begin(s, &third, group);
    assert_int_equal(group->roster->members[third.ticket.at]->worker->key.p[7], 'c');
    /* what joins begins with a part of its weight, what was there keeps it */
    assert_true(sr_pool_member_weight(group->roster->members[0]) == 1);
    assert_true(sr_pool_member_weight(group->roster->members[1]) < 0.2);
    open_ticket(s, &none, group);
    sr_ticket_take_over(&none.ticket, &waiting.ticket);
    assert_true(none.ticket.waits_since_ns > 0);
    assert_int_equal(sr_ticket_choose(&none.ticket), -1);
    assert_int_equal(wait_for(&none), SR_OK);
    sr_ticket_dispose(&first.ticket);
    sr_ticket_dispose(&second.ticket); /* one of them is at `b` */
    sr_mailbox_run(&s->box);
    assert_int_equal(none.at, 0);
    sr_ticket_dispose(&none.ticket);
    sr_ticket_dispose(&third.ticket);
    sr_pool_group_unref(group);
    site_close(s);
}

/* A reload keeps what was discovered. */
static void test_members_over_reload(void **state)
{
    (void)state;
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b")};
    struct sr_pool_limits wider = FOUND;
    wider.max_in_flight = 7;
    struct sr_pool_group *group = group_of(s, "m", FOUND, NULL, 0);
    assert_int_equal(sr_pool_set_members(s->pool, "m", b, 2), SR_OK);
    struct sr_pool_group *same = group_of(s, "m", FOUND, NULL, 0), *next = group_of(s, "m", wider, NULL, 0);
    assert_ptr_equal(group, same);
    assert_ptr_not_equal(group, next);
    assert_int_equal(next->roster->n, 2);
    assert_int_equal(sr_pool_set_members(s->pool, "m", b, 1), SR_OK); /* of both */
    assert_int_equal(next->roster->n, 1);
    assert_int_equal(group->roster->n, 1);
    sr_pool_group_unref(next);
    sr_pool_group_unref(same);
    sr_pool_group_unref(group);
    site_close(s);
}

/* ---- threads ---- */

#define THREADS  4
#define REQUESTS 400

struct shared {
    struct sr_pool *pool;
    struct sr_pool_group *group;
    _Atomic int most, now, served, left;
    _Atomic bool over;
};

static void at_worker(struct shared *shared, struct asker *asker, unsigned random)
{
    int now = atomic_fetch_add(&shared->now, 1) + 1, most = atomic_load(&shared->most);
    while (now > most && !atomic_compare_exchange_weak(&shared->most, &most, now))
        ;
    sr_ticket_report(&asker->ticket, (size_t)asker->ticket.at, SR_TICKET_ANSWERED, random % 7 ? 200 : 500);
    atomic_fetch_sub(&shared->now, 1);
    sr_ticket_end(&asker->ticket);
    atomic_fetch_add(&shared->served, 1);
}

/* One loop with several requests at a time. */
static void *loop_main(void *arg)
{
    struct shared *shared = arg;
    struct site s = {.pool = shared->pool};
    struct asker askers[3];
    unsigned random = (unsigned)(uintptr_t)&s;
    sr_arena_init(&s.arena, (size_t)16 << 20);
    sr_mailbox_init(&s.box, no_wake, NULL);
    for (int i = 0; i < REQUESTS; i++) {
        for (size_t k = 0; k < 3; k++) {
            open_ticket(&s, &askers[k], shared->group);
            int at = sr_ticket_choose(&askers[k].ticket);
            if (at >= 0)
                on_place(&askers[k], at);
            else if (wait_for(&askers[k]))
                askers[k].told = -1;
        }
        for (size_t done = 0; done < 3;) {
            done = 0;
            for (size_t k = 0; k < 3; k++) {
                random = random * 1103515245u + 12345u;
                if (askers[k].told == 0 && (random >> 16) % 50 == 0) {
                    sr_ticket_leave(&askers[k].ticket);
                    atomic_fetch_add(&shared->left, 1);
                    askers[k].told = -1;
                } else if (askers[k].told > 0 && askers[k].ticket.in_flight) {
                    at_worker(shared, &askers[k], random >> 16);
                }
                done += askers[k].told != 0 && !askers[k].ticket.in_flight;
            }
            sr_mailbox_run(&s.box);
            sr_pool_serve_waiting(s.pool);
        }
        for (size_t k = 0; k < 3; k++)
            sr_ticket_dispose(&askers[k].ticket);
        sr_arena_dispose(&s.arena);
    }
    sr_mailbox_dispose(&s.box);
    return NULL;
}

static void *members_main(void *arg)
{
    struct shared *shared = arg;
    struct sr_pool_backend b[] = {backend("a"), backend("b"), backend("c")};
    for (size_t i = 0; !atomic_load(&shared->over); i++) {
        assert_int_equal(sr_pool_set_members(shared->pool, "m", b + i % 2, 2), SR_OK);
        assert_int_equal(sr_pool_set_down(shared->pool, &b[1], i % 3 == 0), SR_OK);
        sr_pool_serve_waiting(shared->pool);
    }
    return NULL;
}

static void run_threads(bool discovered)
{
    struct site *s = site_open();
    struct sr_pool_backend b[] = {backend("a"), backend("b")};
    struct sr_pool_limits limits = {
        .max_in_flight = 2, .queue_max = 5, .queue_ns = SR_NS_PER_S, .discovered = discovered};
    struct shared shared = {.pool = s->pool, .group = group_of(s, "m", limits, b, 2)};
    pthread_t threads[THREADS], changes;
    if (discovered)
        assert_int_equal(pthread_create(&changes, NULL, members_main, &shared), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, loop_main, &shared), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    shared.over = true;
    if (discovered)
        pthread_join(changes, NULL);
    else
        assert_in_range(shared.most, 1, 4);
    assert_true(shared.served > 0);
    for (size_t i = 0; i < shared.group->roster->n; i++)
        assert_int_equal(shared.group->roster->members[i]->worker->in_flight, 0);
    assert_int_equal(shared.group->n_waiting, 0);
    sr_pool_group_unref(shared.group);
    site_close(s);
}

static void test_threads(void **state)
{
    (void)state;
    run_threads(false);
}

static void test_threads_and_members(void **state)
{
    (void)state;
    run_threads(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_overtaking),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_shared_worker),
        cmocka_unit_test(test_half_open),
        cmocka_unit_test(test_open_and_full),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_members_over_reload),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_and_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
