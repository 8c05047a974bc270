/* What is remembered of the tokens of prompts: whole prompts, their prefixes, and its limits. */
#include "router/token_memo.h"
#include "tests/unit/cmocka_all.h"

#define BLOCKS 100

/* Blocks of a prompt that has the first `shared` of family 1. */
static void make(uint64_t out[BLOCKS], uint64_t family, size_t shared)
{
    for (size_t i = 0; i < BLOCKS; i++)
        out[i] = ((i < shared ? 1 : family) * 1000003 + i + 1) * UINT64_C(0x9E3779B97F4A7C15);
}

struct fixture {
    struct sr_token_memo *memo;
    struct sr_arena arena;
    uint64_t kv[BLOCKS], *found;
    size_t n;
};

static void begin(struct fixture *f)
{
    assert_int_equal(sr_token_memo_new(&f->memo), 0);
    sr_arena_init(&f->arena, 1 << 20);
    for (size_t i = 0; i < BLOCKS; i++)
        f->kv[i] = 7000 + i;
}

static void end(struct fixture *f)
{
    sr_arena_dispose(&f->arena);
    sr_token_memo_free(f->memo);
}

static size_t get(struct fixture *f, uint64_t kind, const uint64_t *blocks, size_t n)
{
    return sr_token_memo_get(f->memo, kind, blocks, n, &f->arena, &f->found, &f->n);
}

static void test_prefixes(void **state)
{
    struct fixture f;
    uint64_t first[BLOCKS], second[BLOCKS];
    (void)state;
    begin(&f);
    make(first, 1, 0);
    make(second, 2, 40);
    assert_int_equal(get(&f, 5, first, BLOCKS), 0);
    assert_null(f.found);
    sr_token_memo_put(f.memo, 5, first, BLOCKS, f.kv, 50);
    assert_int_equal(get(&f, 5, first, BLOCKS), BLOCKS);
    assert_int_equal(f.n, 50);
    assert_memory_equal(f.found, f.kv, 50 * sizeof *f.kv);
    assert_int_equal(get(&f, 5, second, BLOCKS),
                     40); /* a part of it is shared: the same part of its tokens */
    assert_int_equal(f.n, 20);
    for (size_t n = 1; n <= BLOCKS; n++)
        assert_int_equal(get(&f, 5, first, n), n);
    assert_int_equal(get(&f, 6, first, BLOCKS), 0); /* of another model */
    assert_int_equal(get(&f, 5, first, 0), 0);
    sr_token_memo_put(f.memo, 5, second, BLOCKS, f.kv, 60); /* the shared part is the latest prompt's */
    assert_int_equal(get(&f, 5, first, BLOCKS), BLOCKS);
    assert_int_equal(f.n, 50);
    end(&f);
}

static void test_limits(void **state)
{
    struct fixture f;
    uint64_t blocks[BLOCKS];
    (void)state;
    begin(&f);
    for (uint64_t i = 0; i < SR_TOKEN_MEMO_PROMPTS + 10; i++) {
        make(blocks, 10 + i, 0);
        sr_token_memo_put(f.memo, 1, blocks, 4, f.kv, 4);
    }
    make(blocks, 10, 0); /* the oldest ones are forgotten */
    assert_int_equal(get(&f, 1, blocks, 4), 0);
    make(blocks, 10 + SR_TOKEN_MEMO_PROMPTS + 9, 0);
    assert_int_equal(get(&f, 1, blocks, 4), 4);
    sr_token_memo_put(f.memo, 2, blocks, 0, f.kv, 4);
    sr_token_memo_put(f.memo, 2, blocks, 4, f.kv, 0);
    assert_int_equal(get(&f, 2, blocks, 4), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_prefixes), cmocka_unit_test(test_limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
