/* Fails the Nth allocation of the cache, for every N: an error or the right record, never a leak or a wrong
 * one. */
#include "tests/unit/cache_kit.h"

#include "base/mem.h"

#define ATTEMPTS_MAX 2000

static bool put(struct sr_cache *cache, const struct kit_record *r)
{
    struct sr_cache_record *record;
    if (kit_try_record(&record, r) != SR_OK)
        return false;
    int rc = sr_cache_put(cache, record);
    struct sr_cache_key name = kit_key(KIT_REQUEST, 1000 + r->question);
    sr_cache_alias(cache, &name, record);
    sr_cache_record_unref(record);
    assert_true(rc == SR_OK || rc == SR_ENOMEM);
    return rc == SR_OK;
}

/* Looks up a question, near to one that was put or not, as the leader of a flight when it is a miss. */
static bool look_up(struct sr_cache *cache, uint32_t partition, uint32_t question, bool there)
{
    float unit[KIT_DIMENSIONS];
    struct sr_cache_lookup *lookup;
    kit_unit(question, unit);
    struct sr_cache_query query = kit_query(partition, question, unit);
    query.join = true;
    int rc = sr_cache_lookup(cache, &query, NULL, NULL, NULL, &lookup);
    if (rc != SR_OK) {
        assert_int_equal(rc, SR_ENOMEM);
        assert_null(lookup);
        return false;
    }
    bool done = there ? lookup->hit == SR_CACHE_HIT_SEMANTIC : lookup->flight != NULL;
    if (lookup->record)
        assert_true(there && kit_is(lookup->record, partition, question - 1));
    sr_task_unref(&lookup->task);
    return done;
}

static bool use_cache(void)
{
    struct sr_cache_limits limits = kit_limits(70);
    struct sr_cache_selector selector = {.partition = kit_key(KIT_PARTITION, 1)};
    struct sr_cache *cache;
    bool done = true;
    if (sr_cache_new(&cache, &limits) != SR_OK) {
        assert_null(cache);
        return false;
    }
    for (uint32_t i = 0; i < 75; i++) { /* some are evicted, tables grow */
        struct kit_record r = {.partition = i % 3, .question = i * 10, .request = i + 1};
        done = put(cache, &r) && done;
    }
    done = look_up(cache, 2, 741, true) && done;
    done = look_up(cache, 1, 741, false) && done;
    sr_cache_remove(cache, &selector, false);
    struct sr_cache_stats stats = kit_stats(cache);
    assert_true(stats.entries <= 70 && stats.partitions <= 3);
    sr_cache_free(cache);
    return done;
}

static void the_cache(void **state)
{
    (void)state;
    for (size_t nth = 1; nth < ATTEMPTS_MAX; nth++) {
        sr_mem_fail_at(nth);
        bool done = use_cache(), reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        if (!reached) {
            assert_true(done);
            return;
        }
    }
    fail_msg("no end after %d attempts", ATTEMPTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
