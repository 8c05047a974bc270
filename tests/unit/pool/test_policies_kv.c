/* The policies that read KV events: what workers tell is followed, forgotten and bounded. */
#include "base/mem.h"
#include "tests/unit/policy_kit.h"

static uint32_t overlap_of(struct site *s, const struct tokens *t, int *at)
{
    struct sr_ticket ticket;
    uint64_t blocks[BLOCKS];
    static uint64_t unique;
    prompt(blocks, BLOCKS, 0, 0, 500 + unique++);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    ask.kv_blocks = t->own;
    ask.n_kv_blocks = BLOCKS;
    *at = begin(s, &ticket, &ask);
    uint32_t overlap = ticket.why.overlap;
    sr_ticket_dispose(&ticket);
    return overlap;
}

static void test_kv_follows_events(void **state)
{
    (void)state;
    static const char *const policies[] = {"kv", "cost", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        struct tokens *t = sr_mem_alloc(sizeof *t);
        int at;
        site_init(&s, policies[p], NULL);
        tokens_init(t, 3);
        store(&s, 2, t, 0, 40);
        assert_int_equal(overlap_of(&s, t, &at), 40);
        assert_int_equal(at, 2);
        store(&s, 2, t, 40, 10); /* goes on after a block that is known */
        assert_int_equal(overlap_of(&s, t, &at), 50);
        store(&s, 1, t, 20, 30); /* after one that is not */
        assert_int_equal(overlap_of(&s, t, &at), 50);
        assert_int_equal(at, 2);
        struct sr_pool_kv_event removed = {.kind = SR_POOL_KV_REMOVED, .hashes = t->engine + 10, .n = 40};
        assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[2], &removed), SR_OK);
        assert_int_equal(overlap_of(&s, t, &at), 10);
        struct sr_pool_kv_event cleared = {.kind = SR_POOL_KV_CLEARED};
        assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[2], &cleared), SR_OK);
        assert_int_equal(overlap_of(&s, t, &at), 0);
        sr_mem_free(t);
        site_dispose(&s);
    }
}

static void tell(struct site *s, size_t worker, enum sr_pool_kv_kind kind)
{
    struct sr_pool_kv_event event = {.kind = kind};
    assert_int_equal(sr_pool_report_kv(s->pool, &s->backends[worker], &event), SR_OK);
}

/* Workers that tell are not estimated by what was sent there, but by what requests in progress will leave. */
static void test_what_comes_counts_until_it_is_told(void **state)
{
    (void)state;
    static const char *const policies[] = {"kv", "cost", "auto"};
    for (size_t p = 0; p < 3; p++) {
        struct site s;
        struct sr_ticket first, second;
        struct tokens *t = sr_mem_alloc(sizeof *t);
        uint64_t blocks[BLOCKS];
        site_init(&s, policies[p], NULL);
        tokens_init(t, 3);
        prompt(blocks, BLOCKS, BLOCKS, 1, 0);
        struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
        ask.kv_blocks = t->own;
        ask.n_kv_blocks = BLOCKS;
        for (size_t i = 0; i < WORKERS; i++)
            tell(&s, i, SR_POOL_KV_CLEARED);
        int at = begin(&s, &first, &ask);
        assert_int_equal(first.why.overlap, 0);
        assert_int_equal(sr_ticket_open(&second, s.group, &s.arena), SR_OK);
        sr_ticket_ask(&second, &ask);
        for (int i = 0; i < WORKERS; i++)
            second.candidates[i].tried = i != at;
        assert_int_equal(sr_ticket_choose(&second), at);
        assert_int_equal(second.why.overlap, BLOCKS);
        sr_ticket_dispose(&second);
        sr_ticket_dispose(&first); /* it was not computed: nothing is told, and nothing comes any more */
        int again;
        assert_int_equal(overlap_of(&s, t, &again), 0);
        sr_mem_free(t);
        site_dispose(&s);
    }
}

/* What was told is not relied on any more: what was sent counts again. */
static void test_a_worker_that_tells_no_more_is_estimated(void **state)
{
    (void)state;
    struct site s;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    uint64_t blocks[BLOCKS];
    int at;
    site_init(&s, "kv", NULL);
    tokens_init(t, 3);
    store(&s, 2, t, 0, 40);
    assert_int_equal(overlap_of(&s, t, &at), 40);
    tell(&s, 2, SR_POOL_KV_UNKNOWN);
    assert_int_equal(overlap_of(&s, t, &at), 0);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    at = ask_once(&s, &ask);
    assert_int_equal(ask_once(&s, &ask), at);
    tell(&s, (size_t)at, SR_POOL_KV_CLEARED); /* its process ended: what was sent is gone too */
    tell(&s, (size_t)at, SR_POOL_KV_UNKNOWN);
    struct sr_ticket ticket;
    begin(&s, &ticket, &ask);
    assert_int_equal(ticket.why.overlap, 0);
    sr_ticket_dispose(&ticket);
    sr_mem_free(t);
    site_dispose(&s);
}

/* Over the limit blocks are not known, and those that are known stay. */
static void test_events_are_bounded(void **state)
{
    (void)state;
    struct site s;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    int at;
    settings.kv_blocks = 24;
    site_init(&s, "kv", &settings);
    tokens_init(t, 3);
    store(&s, 1, t, 0, 40);
    assert_int_equal(overlap_of(&s, t, &at), 24);
    struct sr_pool_kv_event removed = {.kind = SR_POOL_KV_REMOVED, .hashes = t->engine + 20, .n = 4};
    assert_int_equal(sr_pool_report_kv(s.pool, &s.backends[1], &removed), SR_OK);
    store(&s, 1, t, 20, 20);
    assert_int_equal(overlap_of(&s, t, &at), 24);
    sr_mem_free(t);
    site_dispose(&s);
}

/* Of a prompt only the beginning is known: what a worker has of it is not all of the prompt. */
static void test_a_part_of_the_tokens_counts_as_a_part(void **state)
{
    (void)state;
    struct site s;
    struct sr_ticket ticket;
    struct tokens *t = sr_mem_alloc(sizeof *t);
    uint64_t blocks[BLOCKS];
    site_init(&s, "kv", NULL);
    tokens_init(t, 3);
    store(&s, 1, t, 0, BLOCKS / 4);
    prompt(blocks, BLOCKS, BLOCKS, 1, 0);
    struct sr_pool_ask ask = ask_of(blocks, BLOCKS);
    ask.kv_blocks = t->own;
    ask.n_kv_blocks = BLOCKS / 4;
    ask.kv_total = BLOCKS;
    assert_int_equal(begin(&s, &ticket, &ask), 1);
    assert_int_equal(ticket.why.overlap, BLOCKS / 4);
    sr_ticket_dispose(&ticket);
    sr_mem_free(t);
    site_dispose(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kv_follows_events),
        cmocka_unit_test(test_what_comes_counts_until_it_is_told),
        cmocka_unit_test(test_a_worker_that_tells_no_more_is_estimated),
        cmocka_unit_test(test_events_are_bounded),
        cmocka_unit_test(test_a_part_of_the_tokens_counts_as_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
