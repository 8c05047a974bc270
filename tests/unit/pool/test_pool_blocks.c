/* The blocks of all workers in one table, beside a plain list of each worker's. */
#include "base/mem.h"
#include "pool/warm/blocks.h"
#include "tests/unit/policy_kit.h"

/* A model of one worker: blocks in the order of use, the newest first. */
struct model {
    uint64_t hashes[128];
    size_t n;
};

static void model_use(struct model *m, const uint64_t *hashes, size_t n, size_t most)
{
    n = n < most ? n : most;
    for (size_t i = n; i-- > 0;) {
        size_t at = 0;
        while (at < m->n && m->hashes[at] != hashes[i])
            at++;
        if (at == m->n && m->n < most)
            m->n++;
        else if (at == m->n)
            at--;
        memmove(m->hashes + 1, m->hashes, (at < m->n ? at : m->n - 1) * sizeof m->hashes[0]);
        m->hashes[0] = hashes[i];
    }
}

static bool model_has(const struct model *m, uint64_t hash)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->hashes[i] == hash)
            return true;
    return false;
}

static void model_remove(struct model *m, uint64_t hash)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->hashes[i] == hash) {
            memmove(m->hashes + i, m->hashes + i + 1, (m->n - i - 1) * sizeof m->hashes[0]);
            m->n--;
            return;
        }
    }
}

static void test_blocks_are_as_a_plain_list(void **state)
{
    (void)state;
    enum { SLOTS = 70, MOST = 100 };
    struct sr_pool_blocks *blocks;
    struct model *models = sr_mem_calloc(SLOTS, sizeof *models);
    uint64_t x = 88172645463325252u, hashes[24];
    assert_int_equal(sr_pool_blocks_new(&blocks, MOST), SR_OK);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_int_equal(sr_pool_blocks_join(blocks, i), SR_OK);
    for (int round = 0; round < 20000; round++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        uint32_t slot = (uint32_t)(x % SLOTS);
        size_t n = 1 + (x >> 8) % 24, shared = (x >> 16) % 24;
        prompt(hashes, n, shared, (x >> 24) % 5, (x >> 32) % 40);
        if (x >> 60 == 0) {
            sr_pool_blocks_clear(blocks, slot);
            models[slot].n = 0;
        } else if (x >> 60 < 3) {
            sr_pool_blocks_remove(blocks, slot, hashes[n - 1]);
            model_remove(&models[slot], hashes[n - 1]);
        } else {
            sr_pool_blocks_use(blocks, slot, hashes, n);
            model_use(&models[slot], hashes, n, MOST);
        }
        assert_int_equal(sr_pool_blocks_count(blocks, slot), models[slot].n);
        const uint32_t *depths = sr_pool_blocks_match(blocks, hashes, n);
        for (uint32_t i = 0; i < SLOTS; i++) {
            size_t depth = 0;
            while (depth < n && model_has(&models[i], hashes[depth]))
                depth++;
            if (depth != depths[i]) /* a gap is the only way to differ */
                assert_true(depths[i] > depth && model_has(&models[i], hashes[depths[i] - 1]));
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        sr_pool_blocks_leave(blocks, i);
    sr_pool_blocks_free(blocks);
    sr_mem_free(models);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_are_as_a_plain_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
