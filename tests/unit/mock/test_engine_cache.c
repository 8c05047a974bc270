/* The paged prefix cache: what is found, what is forgotten first, what is told. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "mock/engine/cache.h"

#define TOKENS (8 * SR_MOCK_BLOCK)

static struct sr_mock_cache *cache;
static struct sr_mock_events events;

static void new_cache(size_t blocks)
{
    sr_mock_events_init(&events, SR_MOCK_EVENTS_ARRAYS);
    assert_int_equal(sr_mock_cache_new(&cache, blocks, &events), SR_OK);
}

static int dispose(void **state)
{
    (void)state;
    sr_mock_cache_free(cache);
    cache = NULL;
    sr_mock_events_dispose(&events);
    return 0;
}

/* Tokens first .. first+n-1, and the hashes of their blocks. */
static void make(uint32_t *tokens, uint64_t *hashes, size_t blocks, uint32_t first)
{
    for (size_t i = 0; i < blocks * SR_MOCK_BLOCK; i++)
        tokens[i] = first + (uint32_t)i;
    for (size_t i = 0; i < blocks; i++)
        hashes[i] = sr_mock_block_hash(i ? &hashes[i - 1] : NULL, &tokens[i * SR_MOCK_BLOCK]);
}

/* A sequence of `n` blocks comes and goes; the number of blocks that were cached. */
static size_t pass(uint32_t first, size_t n)
{
    uint32_t tokens[TOKENS], table[8];
    uint64_t hashes[8];
    size_t idle = 0;
    make(tokens, hashes, n, first);
    size_t hits = sr_mock_cache_match(cache, hashes, n, &idle);
    sr_mock_cache_hold(cache, hashes, hits, table);
    for (size_t i = hits; i < n; i++)
        assert_int_equal(sr_mock_cache_take(cache, &table[i]), SR_OK);
    sr_mock_cache_commit(cache, table, hashes, tokens, hits, n);
    sr_mock_cache_release(cache, table, n);
    return hits;
}

static void test_hits_and_eviction_order(void **state)
{
    (void)state;
    new_cache(4);
    assert_int_equal(pass(0, 2), 0);
    assert_int_equal(pass(0, 2), 2);
    assert_int_equal(pass(1000, 2), 0); /* fills the cache */
    assert_int_equal(sr_mock_cache_stored(cache), 4);
    assert_int_equal(pass(0, 2), 2);    /* now 1000 is the one that was used longest ago */
    assert_int_equal(pass(2000, 1), 0); /* takes its last block, not the first one */
    assert_int_equal(pass(0, 2), 2);
    assert_int_equal(pass(1000, 1), 1);
    assert_int_equal(sr_mock_cache_available(cache), 4);
}

static void test_a_prefix_is_shared_and_a_middle_is_not(void **state)
{
    uint32_t tokens[TOKENS];
    uint64_t hashes[8], moved[8];
    size_t idle = 0;
    (void)state;
    new_cache(8);
    assert_int_equal(pass(0, 4), 0);
    make(tokens, hashes, 4, 0);
    tokens[0]++;
    for (size_t i = 0; i < 4; i++)
        moved[i] = sr_mock_block_hash(i ? &moved[i - 1] : NULL, &tokens[i * SR_MOCK_BLOCK]);
    assert_int_equal(sr_mock_cache_match(cache, moved, 4, &idle), 0);
    assert_int_equal(sr_mock_cache_match(cache, hashes, 3, &idle), 3);
    assert_int_equal(idle, 3);
}

static void test_held_blocks_stay(void **state)
{
    uint32_t tokens[TOKENS], table[3], other;
    uint64_t hashes[8];
    size_t idle = 0;
    (void)state;
    new_cache(3);
    make(tokens, hashes, 3, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sr_mock_cache_take(cache, &table[i]), SR_OK);
    sr_mock_cache_commit(cache, table, hashes, tokens, 0, 3);
    assert_int_equal(sr_mock_cache_take(cache, &other), SR_AGAIN);
    assert_int_equal(sr_mock_cache_match(cache, hashes, 3, &idle), 3);
    assert_int_equal(idle, 0);
    sr_mock_cache_release(cache, table, 3);
    assert_int_equal(sr_mock_cache_take(cache, &other), SR_OK);
    assert_int_equal(sr_mock_cache_match(cache, hashes, 3, &idle), 2);
}

static void test_the_same_content_twice_is_found_once(void **state)
{
    uint32_t tokens[TOKENS], a, b;
    uint64_t hashes[8];
    (void)state;
    new_cache(4);
    make(tokens, hashes, 1, 0);
    assert_int_equal(sr_mock_cache_take(cache, &a), SR_OK);
    assert_int_equal(sr_mock_cache_take(cache, &b), SR_OK);
    sr_mock_cache_commit(cache, &a, hashes, tokens, 0, 1);
    sr_mock_cache_commit(cache, &b, hashes, tokens, 0, 1);
    assert_int_equal(sr_mock_cache_stored(cache), 1);
    assert_int_equal(events.n, 1);
    sr_mock_cache_release(cache, &a, 1);
    sr_mock_cache_release(cache, &b, 1);
    assert_int_equal(sr_mock_cache_stored(cache), 1);
    assert_int_equal(sr_mock_cache_available(cache), 4);
}

static void test_clear(void **state)
{
    (void)state;
    new_cache(4);
    assert_int_equal(pass(0, 3), 0);
    sr_mock_cache_clear(cache);
    assert_int_equal(sr_mock_cache_stored(cache), 0);
    assert_int_equal(pass(0, 3), 0);
    assert_int_equal(pass(0, 3), 3);
}

/* Many sequences through a small cache: the table never loses or invents a block. */
static void test_churn(void **state)
{
    (void)state;
    new_cache(37);
    for (uint32_t i = 0; i < 5000; i++) {
        pass((i * 7919 % 61) * 100, 1 + i % 8);
        assert_true(sr_mock_cache_stored(cache) <= 37);
        assert_int_equal(sr_mock_cache_available(cache), 37);
    }
    pass(123456, 8);
    assert_int_equal(pass(123456, 8), 8);
}

static void test_events_are_vllms(void **state)
{
    struct sr_buf out;
    (void)state;
    new_cache(2);
    sr_buf_init(&out, 4096);
    assert_int_equal(pass(0, 2), 0);
    assert_int_equal(pass(7000, 1), 0);
    sr_mock_cache_clear(cache);
    assert_int_equal(events.n, 4); /* stored, removed, stored, cleared */
    assert_int_equal(sr_mock_events_take(&events, 1.5, &out), SR_OK);
    const uint8_t *p = (const uint8_t *)out.data;
    static const uint8_t head[] = {0x93, 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0x94, 0x97, 0xab};
    assert_memory_equal(p, head, sizeof head);
    assert_memory_equal(p + sizeof head, "BlockStored", 11);
    assert_int_equal(p[sizeof head + 11], 0x92); /* two hashes */
    assert_int_equal(p[out.len - 1], 0);         /* the rank */
    assert_memory_equal(p + out.len - 19,
                        "\x91\xb0"
                        "AllBlocksCleared",
                        18);
    assert_int_equal(events.n, 0);
    sr_buf_dispose(&out);
}

static void test_maps(void **state)
{
    struct sr_buf out;
    (void)state;
    sr_mock_events_init(&events, SR_MOCK_EVENTS_MAPS);
    assert_int_equal(sr_mock_cache_new(&cache, 2, &events), SR_OK);
    sr_buf_init(&out, 4096);
    sr_mock_events_removed(&events, 5);
    assert_int_equal(sr_mock_events_take(&events, 0, &out), SR_OK);
    static const char event[] = "\x82\xa4type\xac"
                                "BlockRemoved\xac"
                                "block_hashes\x91\x05";
    assert_memory_equal(out.data + 11, event, sizeof event - 1);
    sr_buf_dispose(&out);
}

static void test_wrong_budgets(void **state)
{
    (void)state;
    sr_mock_events_init(&events, SR_MOCK_EVENTS_ARRAYS);
    assert_int_equal(sr_mock_cache_new(&cache, 0, NULL), SR_EINVAL);
    assert_int_equal(sr_mock_cache_new(&cache, SR_MOCK_BLOCKS_MAX + 1, NULL), SR_EINVAL);
    for (size_t nth = 1; nth <= 2; nth++) {
        sr_mem_fail_at(nth);
        assert_int_equal(sr_mock_cache_new(&cache, 4, NULL), SR_ENOMEM);
        sr_mem_fail_at(0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_hits_and_eviction_order, dispose),
        cmocka_unit_test_teardown(test_a_prefix_is_shared_and_a_middle_is_not, dispose),
        cmocka_unit_test_teardown(test_held_blocks_stay, dispose),
        cmocka_unit_test_teardown(test_the_same_content_twice_is_found_once, dispose),
        cmocka_unit_test_teardown(test_clear, dispose),
        cmocka_unit_test_teardown(test_churn, dispose),
        cmocka_unit_test_teardown(test_events_are_vllms, dispose),
        cmocka_unit_test_teardown(test_maps, dispose),
        cmocka_unit_test_teardown(test_wrong_budgets, dispose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
