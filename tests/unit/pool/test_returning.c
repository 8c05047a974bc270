/* Conversations whose next turn is due: what of a worker's cache will be asked for again. On a simulated
 * clock. */
#include "pool/warm/returning.h"

#include "pool/clock.h"
#include "tests/unit/cmocka_all.h"

#define MS     UINT64_C(1000000)
#define BLOCKS 64

struct site {
    struct sr_returning returning;
    struct sr_returning_seat seat;
    uint64_t now;
};

/* A prompt of conversation `of` with so many blocks. */
struct prompt {
    uint64_t blocks[BLOCKS];
    struct sr_pool_ask ask;
};

static const struct sr_pool_ask *prompt(struct prompt *p, uint64_t of, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->blocks[i] = (of << 32) + i + 1;
    p->ask = (struct sr_pool_ask){.blocks = p->blocks, .n_blocks = n};
    return &p->ask;
}

static void pass(struct site *s, uint64_t ns)
{
    s->now += ns;
    sr_pool_clock_set(s->now);
}

static void site_init(struct site *s)
{
    *s = (struct site){.now = 1000 * MS};
    sr_pool_clock_set(s->now);
}

static void begin(struct site *s, uint64_t of, size_t n, uint32_t overlap)
{
    struct prompt p;
    sr_returning_placed(&s->returning, &s->seat, prompt(&p, of, n), overlap);
}

static void end(struct site *s, uint64_t of, size_t n)
{
    struct prompt p;
    sr_returning_ended(&s->seat, prompt(&p, of, n));
}

static int known(const struct site *s, uint64_t of, size_t n)
{
    struct prompt p;
    return (int)sr_returning_blocks(&s->returning, &s->seat, prompt(&p, of, n), s->now);
}

/* What is new in a conversation counts, for others than its own next turn; what it shares does not. */
static void test_a_conversation_is_awaited(void **state)
{
    (void)state;
    struct site s;
    site_init(&s);
    assert_int_equal(known(&s, 2, 20), 0);
    begin(&s, 1, 12, 8);
    assert_int_equal(known(&s, 2, 20), 4);
    end(&s, 1, 12);
    assert_int_equal(known(&s, 2, 20), 4);
    assert_int_equal(known(&s, 1, 16), 0);
    pass(&s, 500 * MS);
    begin(&s, 1, 20, 12); /* its base stays */
    assert_int_equal(known(&s, 2, 20), 12);
    end(&s, 1, 20);
    sr_pool_clock_set(0);
}

/* After pauses of half a second no turn is awaited for long; after pauses of ten seconds one is. */
static void test_pauses_are_learned(void **state)
{
    (void)state;
    struct site s;
    site_init(&s);
    for (size_t n = 4; n < 40; n++) {
        begin(&s, 1, n, 0);
        pass(&s, 100 * MS);
        end(&s, 1, n);
        pass(&s, 500 * MS);
    }
    assert_int_equal(known(&s, 2, 8), 39);
    pass(&s, 400 * MS);
    assert_int_equal(known(&s, 2, 8), 0);
    for (size_t n = 40; n < 60; n++) {
        begin(&s, 1, n, 0);
        end(&s, 1, n);
        pass(&s, 10000 * MS);
    }
    assert_int_equal(known(&s, 2, 8), 59);
    pass(&s, 60000 * MS);
    assert_int_equal(known(&s, 2, 8), 0);
    sr_pool_clock_set(0);
}

/* The table is bounded: requests in progress are kept, then the latest that ended. */
static void test_the_latest_are_known(void **state)
{
    (void)state;
    struct site s;
    site_init(&s);
    begin(&s, 1, 10, 0);
    for (uint64_t of = 2; of < 100; of++) {
        begin(&s, of, 10, 0);
        end(&s, of, 10);
        pass(&s, MS);
    }
    assert_int_equal(known(&s, 200, 8), 10 * SR_RETURNING_MOST);
    for (uint64_t of = 100; of < 200; of++)
        begin(&s, of, 10, 0);
    end(&s, 199, 10); /* it had no place */
    assert_int_equal(known(&s, 200, 8), 10 * SR_RETURNING_MOST);
    end(&s, 1, 10);
    pass(&s, 10000 * MS);
    assert_int_equal(known(&s, 200, 8), 10 * (SR_RETURNING_MOST - 1));
    sr_pool_clock_set(0);
}

/* More overlap than blocks, equal prompts at once, a prompt without blocks. */
static void test_edges(void **state)
{
    (void)state;
    struct site s;
    site_init(&s);
    begin(&s, 1, 10, 99);
    assert_int_equal(known(&s, 2, 8), 0);
    begin(&s, 3, 10, 0);
    begin(&s, 3, 10, 0);
    assert_int_equal(known(&s, 2, 8), 20);
    end(&s, 3, 10);
    end(&s, 3, 10);
    end(&s, 3, 10);
    pass(&s, 10000 * MS);
    assert_int_equal(known(&s, 2, 8), 0);
    begin(&s, 0, 0, 0);
    end(&s, 0, 0);
    assert_int_equal(known(&s, 2, 0), 0);
    sr_pool_clock_set(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_conversation_is_awaited),
        cmocka_unit_test(test_pauses_are_learned),
        cmocka_unit_test(test_the_latest_are_known),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
