/* The picking policies: what each prefers, what makes it leave that, what it forgets, and all of them by
 * threads. */
#include "base/mem.h"
#include "pool/roster.h"
#include "tests/unit/policy_kit.h"

/* ---- least_load ---- */

static void test_least_load_reads_reports(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "least_load", NULL);
    struct sr_pool_reported busy = {.running = 8, .waiting = 4, .kv_usage = 0.3};
    struct sr_pool_reported idle = {.running = 0, .waiting = 0, .kv_usage = 0.1};
    struct sr_pool_reported full = {.running = 0, .waiting = 0, .kv_usage = 0.99};
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[0], &busy), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[1], &idle), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[2], &full), SR_OK);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[3], &busy), SR_OK);
    struct sr_pool_ask ask = {0};
    assert_int_equal(ask_once(&s, &ask), 1);
    assert_int_equal(ask_once(&s, &ask), 1);
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[1], &busy), SR_OK);
    assert_int_equal(ask_once(&s, &ask), 2);
    /* what is stale does not count any more: all are equal */
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(sr_pool_report_load(s.pool, &s.backends[i], NULL), SR_OK);
    unsigned seen = 0;
    for (size_t i = 0; i < WORKERS; i++)
        seen |= 1u << ask_once(&s, &ask);
    assert_int_equal(seen, (1u << WORKERS) - 1);
    site_dispose(&s);
}

/* The worker's report holds this process's own requests too: they count once. */
static void test_own_requests_count_once(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "least_load", NULL);
    struct sr_ticket tickets[3];
    struct sr_pool_ask ask = {0};
    for (size_t i = 0; i < 3; i++)
        begin(&s, &tickets[i], &ask);
    size_t at = (size_t)tickets[0].at;
    struct sr_pool_reported own = {.running = 1, .waiting = 0, .kv_usage = -1};
    assert_int_equal(sr_pool_report_load(s.pool, &s.backends[at], &own), SR_OK);
    assert_true(fabs(sr_pool_member_load(tickets[0].candidates[at].member) - 2) < 1e-9);
    for (size_t i = 0; i < 3; i++)
        sr_ticket_dispose(&tickets[i]);
    site_dispose(&s);
}

/* ---- session ---- */

static void test_sessions_stay(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "session", NULL);
    int at[200], counts[WORKERS] = {0}, moved = 0;
    for (uint64_t i = 0; i < 200; i++) {
        struct sr_pool_ask ask = {.session = i * 2654435761u + 1};
        at[i] = ask_once(&s, &ask);
        counts[at[i]]++;
        assert_int_equal(ask_once(&s, &ask), at[i]);
    }
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 25, 80);
    /* without a worker only its own sessions move */
    struct sr_err err = {0};
    sr_pool_group_unref(s.group);
    assert_int_equal(
        sr_pool_group_get(s.pool, &s.group, "m", "session", NULL, NULL, NULL, s.backends, WORKERS - 1, &err),
        SR_OK);
    for (uint64_t i = 0; i < 200; i++) {
        struct sr_pool_ask ask = {.session = i * 2654435761u + 1};
        int now = ask_once(&s, &ask);
        moved += now != at[i];
        assert_true(at[i] == WORKERS - 1 || now == at[i]);
    }
    assert_int_equal(moved, counts[WORKERS - 1]);
    site_dispose(&s);
}

static void test_session_has_a_bound(void **state)
{
    (void)state;
    struct site s;
    site_init(&s, "session", NULL);
    enum { N = 40 };
    struct sr_ticket tickets[N];
    struct sr_pool_ask ask = {.session = 7};
    unsigned counts[WORKERS] = {0};
    for (size_t i = 0; i < N; i++)
        counts[begin(&s, &tickets[i], &ask)]++;
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 1, 13); /* 1.25 times 40 / 4, and one for the rounding */
    for (size_t i = 0; i < N; i++)
        sr_ticket_dispose(&tickets[i]);
    site_dispose(&s);
}

/* ---- prefix ---- */

static void test_prefix_is_followed(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    site_init(&s, "prefix", NULL);
    int of[8];
    for (uint64_t family = 0; family < 8; family++) {
        prompt(blocks, BLOCKS, BLOCKS, family + 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        of[family] = ask_once(&s, &ask);
    }
    for (uint64_t family = 0; family < 8; family++) {
        prompt(blocks, BLOCKS, 48, family + 1, 100 + family);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        struct sr_ticket ticket;
        assert_int_equal(begin(&s, &ticket, &ask), of[family]);
        assert_int_equal(ticket.why.overlap, 48);
        assert_int_equal(ticket.why.blocks, BLOCKS);
        assert_string_equal(ticket.why.reason, "prefix");
        sr_ticket_dispose(&ticket);
    }
    site_dispose(&s);
}

static void test_prefix_is_forgotten_when_it_was_evicted(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    settings.blocks = BLOCKS; /* one prompt fills a worker */
    site_init(&s, "prefix", &settings);
    for (uint64_t family = 0; family < 2 * WORKERS; family++) {
        prompt(blocks, BLOCKS, BLOCKS, family + 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask_once(&s, &ask);
    }
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    struct sr_ticket ticket;
    begin(&s, &ticket, &ask);
    assert_int_equal(ticket.why.overlap, 0);
    sr_ticket_dispose(&ticket);
    site_dispose(&s);
}

static void test_a_loaded_worker_is_left(void **state)
{
    (void)state;
    static const char *const policies[] = {"prefix", "kv", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        enum { N = 40 };
        struct sr_ticket tickets[N];
        uint64_t blocks[BLOCKS];
        unsigned counts[WORKERS] = {0};
        site_init(&s, policies[p], NULL);
        prompt(blocks, BLOCKS, BLOCKS, 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        for (size_t i = 0; i < N; i++)
            counts[begin(&s, &tickets[i], &ask)]++;
        for (size_t i = 0; i < WORKERS; i++)
            assert_in_range(counts[i], 0, N / 2);
        for (size_t i = 0; i < N; i++)
            sr_ticket_dispose(&tickets[i]);
        site_dispose(&s);
    }
}

/* ---- auto ---- */

/* Sessions that begin with the same instructions: where a cache holds one of them, each has a worker of its
 * own, from the first ones on, and stays there. */
static void test_auto_spreads_what_does_not_fit(void **state)
{
    (void)state;
    enum { SHARED = 40, TURNS = 5 };
    struct site s;
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    struct sr_ticket tickets[WORKERS];
    uint64_t blocks[WORKERS][BLOCKS];
    int homes[WORKERS];
    settings.blocks = BLOCKS + 8;
    settings.guard = 100;
    site_init(&s, "auto", &settings);
    for (size_t turn = 0; turn < TURNS; turn++) {
        struct sr_pool_ask asks[WORKERS];
        for (size_t i = 0; i < WORKERS; i++) {
            prompt(blocks[i], BLOCKS, SHARED, 1, 100 + i);
            asks[i] = ask_of(blocks[i], BLOCKS - TURNS + turn + 1);
            int at = begin(&s, &tickets[i], &asks[i]);
            for (size_t k = 0; k < i; k++)
                assert_int_not_equal(at, homes[k]);
            assert_true(turn == 0 || at == homes[i]);
            homes[i] = at;
        }
        for (size_t i = 0; i < WORKERS; i++) {
            sr_ticket_report(&tickets[i], (size_t)homes[i], SR_TICKET_ANSWERED, 200);
            sr_ticket_dispose(&tickets[i]);
        }
    }
    site_dispose(&s);
}

/* ---- cost ---- */

static void test_cost_weighs_overlap_and_load(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_ticket first, second;
    site_init(&s, "cost", NULL);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    int warm = begin(&s, &first, &ask);
    /* its prefill waits there: the same prompt goes elsewhere */
    assert_int_not_equal(begin(&s, &second, &ask), warm);
    sr_ticket_dispose(&second);
    sr_ticket_dispose(&first);
    /* idle, it is the cheapest */
    assert_int_equal(ask_once(&s, &ask), warm);
    site_dispose(&s);
}

static void test_temperature_spreads(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    unsigned counts[WORKERS] = {0};
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    settings.temperature = 5;
    site_init(&s, "cost", &settings);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    for (size_t i = 0; i < 400; i++)
        counts[ask_once(&s, &ask)]++;
    for (size_t i = 0; i < WORKERS; i++)
        assert_in_range(counts[i], 40, 200);
    site_dispose(&s);
}

/* ---- all ---- */

/* A reload that changes the workers keeps what is known of those that stay. */
static void test_reload_keeps_what_is_known(void **state)
{
    (void)state;
    struct site s;
    uint64_t blocks[BLOCKS];
    struct sr_err err = {0};
    site_init(&s, "prefix", NULL);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    struct sr_ticket ticket, after;
    int at = begin(&s, &ticket, &ask);
    struct sr_pool_group *before = s.group;
    struct sr_pool_backend other[] = {s.backends[(at + 1) % WORKERS], s.backends[at]};
    assert_int_equal(sr_pool_group_get(s.pool, &s.group, "m", "prefix", NULL, NULL, NULL, other, 2, &err),
                     SR_OK);
    sr_ticket_dispose(&ticket); /* ends in the group before */
    sr_pool_group_unref(before);
    assert_int_equal(begin(&s, &after, &ask), 1);
    assert_int_equal(after.why.overlap, BLOCKS);
    sr_ticket_dispose(&after);
    site_dispose(&s);
}

struct totals {
    size_t members;
    uint64_t blocks, asked, expected, bytes;
};

static void add(void *ctx, const struct sr_pool_member_view *view)
{
    struct totals *t = ctx;
    t->members++;
    t->blocks += view->seat.blocks;
    t->asked += view->seat.asked;
    t->expected += view->seat.expected;
    t->bytes += view->seat.bytes;
}

static void test_what_is_known_is_shown_and_bounded(void **state)
{
    (void)state;
    static const char *const policies[] = {"prefix", "kv", "cost", "auto"};
    for (size_t p = 0; p < 4; p++) {
        struct site s;
        uint64_t blocks[BLOCKS];
        struct totals t = {0};
        struct sr_pool_settings settings = sr_pool_settings_defaults();
        settings.blocks = 1000;
        site_init(&s, policies[p], &settings);
        for (uint64_t i = 0; i < 1000; i++) {
            prompt(blocks, BLOCKS, BLOCKS / 2, 1, i + 2);
            struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
            ask_once(&s, &ask);
        }
        sr_pool_each_member(s.pool, add, &t);
        assert_int_equal(t.members, WORKERS);
        assert_true(t.blocks <= WORKERS * 1000);
        assert_int_equal(t.asked, 1000 * BLOCKS);
        assert_in_range(t.expected, (1000 - WORKERS) * BLOCKS / 2, 1000 * BLOCKS / 2);
        assert_true(t.bytes > 0 && t.bytes < 1 << 20);
        site_dispose(&s);
    }
}

#define THREADS 4

static void *thread_main(void *arg)
{
    struct site *s = arg;
    struct sr_arena arena;
    uint64_t blocks[BLOCKS];
    float v[64];
    struct tokens *t = sr_mem_alloc(sizeof *t);
    tokens_init(t, 5);
    sr_arena_init(&arena, (size_t)16 << 20);
    for (uint64_t i = 0; i < 400; i++) {
        struct sr_ticket ticket;
        prompt(blocks, BLOCKS, BLOCKS / 2, i % 7, i);
        vector_of(v, 64, (uint32_t)i % 9, 0.3f, (uint32_t)i);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask.session = i % 11 + 1;
        ask.vector = v;
        ask.dimensions = 64;
        ask.kv_blocks = t->own;
        ask.n_kv_blocks = BLOCKS;
        struct sr_pool_reported load = {.running = (uint32_t)i % 5, .kv_usage = 0.5};
        assert_int_equal(sr_ticket_open(&ticket, s->group, &arena), SR_OK);
        sr_ticket_ask(&ticket, &ask);
        int at = sr_ticket_choose(&ticket);
        sr_ticket_begin(&ticket, (size_t)at);
        assert_int_equal(sr_pool_report_load(s->pool, &s->backends[i % WORKERS], i % 8 ? &load : NULL),
                         SR_OK);
        store(s, i % WORKERS, t, 0, 1 + i % BLOCKS);
        sr_ticket_report(&ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
        sr_ticket_dispose(&ticket);
        struct totals totals = {0};
        sr_pool_each_member(s->pool, add, &totals);
        sr_arena_dispose(&arena);
    }
    sr_mem_free(t);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static const char *const policies[] = {"least_load", "session", "prefix", "kv",
                                           "cost",       "meaning", "auto"};
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        struct site s;
        pthread_t threads[THREADS];
        site_init(&s, policies[p], NULL);
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, thread_main, &s), 0);
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        site_dispose(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_load_reads_reports),
        cmocka_unit_test(test_own_requests_count_once),
        cmocka_unit_test(test_sessions_stay),
        cmocka_unit_test(test_session_has_a_bound),
        cmocka_unit_test(test_prefix_is_followed),
        cmocka_unit_test(test_prefix_is_forgotten_when_it_was_evicted),
        cmocka_unit_test(test_a_loaded_worker_is_left),
        cmocka_unit_test(test_auto_spreads_what_does_not_fit),
        cmocka_unit_test(test_cost_weighs_overlap_and_load),
        cmocka_unit_test(test_temperature_spreads),
        cmocka_unit_test(test_reload_keeps_what_is_known),
        cmocka_unit_test(test_what_is_known_is_shown_and_bounded),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
