/* The memory store through the cache: limits, eviction, expiry by both clocks, ages, names, removal,
 * dimensions. */
#define CACHE_KIT_CLOCK
#include "tests/unit/cache_kit.h"

#include "cache/gate/gate.h"

#define KB ((size_t)1 << 10)

static void a_record_is_found_by_its_keys(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    float unit[KIT_DIMENSIONS];
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .request = 5});
    struct sr_cache_key request = kit_key(KIT_REQUEST, 5), other = kit_key(KIT_REQUEST, 6);
    struct sr_cache_record *record = sr_cache_get(cache, &request, 0);
    assert_non_null(record);
    assert_true(kit_is(record, 1, 10));
    assert_null(sr_cache_get(cache, &other, 0));
    assert_true(kit_has(cache, 1, 10));
    assert_false(kit_has(cache, 2, 10));
    kit_unit(11, unit);
    struct sr_cache_query query = kit_query(1, 11, unit);
    struct sr_cache_lookup *lookup = kit_lookup(cache, &query);
    assert_int_equal(lookup->hit, SR_CACHE_HIT_SEMANTIC);
    assert_ptr_equal(lookup->record, record);
    assert_true(lookup->similarity > 0.9f && lookup->similarity < 1);
    sr_task_unref(&lookup->task);
    query = kit_query(2, 11, unit);
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    query = kit_query(1, 19, unit); /* asks for the opposite */
    lookup = kit_lookup(cache, &query);
    assert_int_equal(lookup->hit, SR_CACHE_MISS);
    assert_int_equal(lookup->rejected, 1u << SR_GATE_NEGATION);
    sr_task_unref(&lookup->task);
    assert_int_equal(kit_stats(cache).rejected[SR_GATE_NEGATION], 1);
    kit_unit(500, unit);
    query = kit_query(1, 500, unit);
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    struct sr_cache_stats stats = kit_stats(cache);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(stats.partitions, 1);
    assert_int_equal(stats.exact_hits, 2);
    assert_int_equal(stats.semantic_hits, 1);
    assert_int_equal(stats.misses, 4);
    assert_string_equal(stats.backend_name, "memory");
    sr_cache_record_unref(record);
    sr_cache_free(cache);
}

static void a_later_record_takes_the_place_of_one_with_its_key(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .request = 5});
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .answer = 500});
    struct sr_cache_query query = kit_query(1, 10, NULL);
    struct sr_cache_lookup *lookup = kit_lookup(cache, &query);
    assert_int_equal(lookup->record->f.answer.n, 500);
    sr_task_unref(&lookup->task);
    struct sr_cache_key request = kit_key(KIT_REQUEST, 5);
    assert_null(sr_cache_get(cache, &request, 0)); /* of the record before */
    assert_int_equal(kit_stats(cache).entries, 1);
    sr_cache_free(cache);
}

static void limits_hold(void **state)
{
    struct sr_cache_limits limits = kit_limits(1000);
    struct sr_cache *cache;
    (void)state;
    limits.max_bytes = 256 * KB;
    assert_int_equal(sr_cache_new(&cache, &limits), SR_OK);
    for (uint32_t i = 0; i < 3000; i++) {
        kit_put(cache, (struct kit_record){.partition = i % 7, .question = i, .answer = i % 50 * 100});
        assert_true(kit_stats(cache).bytes <= 256 * KB);
    }
    struct sr_cache_stats stats = kit_stats(cache);
    assert_true(stats.entries > 40 && stats.entries < 200);
    assert_int_equal(stats.entries + stats.evicted, 3000);
    struct sr_cache_record *large = kit_record((struct kit_record){.partition = 1, .answer = 300 * KB});
    assert_int_equal(sr_cache_put(cache, large), SR_ELIMIT);
    assert_int_equal(kit_stats(cache).entries, stats.entries); /* it cost nobody a place */
    sr_cache_record_unref(large);
    limits.max_entries = 5;
    sr_cache_set(cache, &limits);
    assert_int_equal(kit_stats(cache).entries, 5);
    limits.max_entries = 0;
    sr_cache_set(cache, &limits);
    struct sr_cache_record *record = kit_record((struct kit_record){.partition = 1});
    assert_int_equal(sr_cache_put(cache, record), SR_ELIMIT);
    sr_cache_record_unref(record);
    stats = kit_stats(cache);
    assert_int_equal(stats.entries, 0);
    assert_int_equal(stats.partitions, 0);
    assert_true(stats.bytes < 4 * KB); /* what is empty keeps nothing */
    sr_cache_free(cache);
}

/* Puts 1 to 4, uses them, and says who is left after one more. */
static void check_eviction(enum sr_cache_eviction eviction, uint32_t evicted)
{
    static const uint32_t uses[] = {1, 1, 1, 2, 3, 3, 4, 4, 4, 2};
    struct sr_cache_limits limits = kit_limits(4);
    struct sr_cache *cache;
    limits.eviction = eviction;
    assert_int_equal(sr_cache_new(&cache, &limits), SR_OK);
    /* The order in which they come is 3, 1, 2, 4. */
    static const uint32_t order[] = {3, 1, 2, 4};
    for (size_t i = 0; i < 4; i++)
        kit_put(cache, (struct kit_record){.partition = 1, .question = order[i]});
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        assert_true(kit_has(cache, 1, uses[i]));
    if (eviction == SR_CACHE_LFU)
        assert_true(kit_has(cache, 1, 3)); /* 2 was used twice, the others more often */
    kit_put(cache, (struct kit_record){.partition = 1, .question = 5});
    for (uint32_t i = 1; i <= 5; i++) {
        struct sr_cache_query query = kit_query(1, i, NULL);
        assert_int_equal(kit_hit(cache, &query), i == evicted ? SR_CACHE_MISS : SR_CACHE_HIT_EXACT);
    }
    sr_cache_free(cache);
}

static void the_policy_says_who_goes(void **state)
{
    (void)state;
    check_eviction(SR_CACHE_FIFO, 3);
    check_eviction(SR_CACHE_LRU, 1);
    check_eviction(SR_CACHE_LFU, 2);
}

static void a_new_policy_holds_for_old_records(void **state)
{
    struct sr_cache_limits limits = kit_limits(3);
    struct sr_cache *cache;
    (void)state;
    limits.eviction = SR_CACHE_FIFO;
    assert_int_equal(sr_cache_new(&cache, &limits), SR_OK);
    for (uint32_t i = 1; i <= 3; i++)
        kit_put(cache, (struct kit_record){.partition = 1, .question = i});
    assert_true(kit_has(cache, 1, 1));
    limits.eviction = SR_CACHE_LRU;
    sr_cache_set(cache, &limits);
    kit_put(cache, (struct kit_record){.partition = 1, .question = 4});
    assert_true(kit_has(cache, 1, 1));
    assert_false(kit_has(cache, 1, 2));
    sr_cache_free(cache);
}

static void nothing_expired_is_found(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    float unit[KIT_DIMENSIONS];
    (void)state;
    kit_unit(10, unit);
    struct sr_cache_query query = kit_query(1, 11, unit);
    int64_t now = kit_now_ms();
    kit_put(cache,
            (struct kit_record){.partition = 1, .question = 10, .request = 3, .expires_ms = now + 60000});
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_HIT_SEMANTIC);
    kit_wall_ms += 61000; /* both clocks go on */
    kit_mono_ms += 61000;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    assert_false(kit_has(cache, 1, 10));
    struct sr_cache_key request = kit_key(KIT_REQUEST, 3);
    assert_null(sr_cache_get(cache, &request, 0));
    assert_int_equal(kit_stats(cache).entries, 0);
    assert_int_equal(kit_stats(cache).expired, 1);
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .expires_ms = kit_now_ms() - 1});
    assert_int_equal(kit_stats(cache).entries, 0); /* it had expired before it came */
    sr_cache_free(cache);
}

static void a_wall_clock_that_jumps_back_keeps_nothing_alive(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 1, .expires_ms = kit_now_ms() + 60000});
    kit_wall_ms -= 3600000;
    assert_true(kit_has(cache, 1, 1));
    kit_mono_ms += 61000;
    assert_false(kit_has(cache, 1, 1));
    /* A record of the future: its life is what is left of it by the clock now. */
    kit_put(cache, (struct kit_record){.partition = 1,
                                       .question = 2,
                                       .created_ms = kit_now_ms() + 10000000,
                                       .expires_ms = kit_now_ms() + 20000});
    assert_true(kit_has(cache, 1, 2));
    kit_mono_ms += 21000;
    assert_false(kit_has(cache, 1, 2));
    kit_wall_ms += 3600000;
    sr_cache_free(cache);
}

static void a_wall_clock_that_jumps_ahead_ends_what_it_ends(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 1, .expires_ms = kit_now_ms() + 60000});
    kit_put(cache, (struct kit_record){.partition = 1, .question = 2});
    kit_wall_ms += 3600000;
    assert_false(kit_has(cache, 1, 1));
    assert_true(kit_has(cache, 1, 2)); /* never expires */
    kit_wall_ms -= 3600000;
    sr_cache_free(cache);
}

static void room_is_made_of_what_has_expired(void **state)
{
    struct sr_cache *cache = kit_cache(3);
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 1});
    kit_put(cache, (struct kit_record){.partition = 1, .question = 2, .expires_ms = kit_now_ms() + 1000});
    kit_put(cache, (struct kit_record){.partition = 1, .question = 3});
    kit_mono_ms += 2000;
    kit_wall_ms += 2000;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 4});
    assert_true(kit_has(cache, 1, 1) && kit_has(cache, 1, 3) && kit_has(cache, 1, 4));
    assert_int_equal(kit_stats(cache).expired, 1);
    assert_int_equal(kit_stats(cache).evicted, 0);
    sr_cache_free(cache);
}

static void a_query_may_want_a_young_record(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    float unit[KIT_DIMENSIONS];
    (void)state;
    kit_unit(11, unit);
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .created_ms = kit_now_ms() - 5000});
    struct sr_cache_query query = kit_query(1, 10, NULL), near = kit_query(1, 11, unit);
    query.max_age_ms = near.max_age_ms = 60000;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_HIT_EXACT);
    assert_int_equal(kit_hit(cache, &near), SR_CACHE_HIT_SEMANTIC);
    kit_wall_ms -= 3600000; /* it does not get younger */
    kit_mono_ms += 56000;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    assert_int_equal(kit_hit(cache, &near), SR_CACHE_MISS);
    query.max_age_ms = 0;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_HIT_EXACT);
    kit_wall_ms += 3600000;
    sr_cache_free(cache);
}

static void a_record_has_a_few_more_names(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    (void)state;
    struct sr_cache_record *record =
        kit_record((struct kit_record){.partition = 1, .question = 1, .request = 1});
    struct sr_cache_record *other =
        kit_record((struct kit_record){.partition = 1, .question = 2, .request = 2});
    assert_int_equal(sr_cache_put(cache, record), SR_OK);
    assert_int_equal(sr_cache_put(cache, other), SR_OK);
    for (uint32_t i = 100; i < 120; i++) {
        struct sr_cache_key name = kit_key(KIT_REQUEST, i);
        sr_cache_alias(cache, &name, record);
        sr_cache_alias(cache, &name, record);
    }
    for (uint32_t i = 100; i < 120; i++) {
        struct sr_cache_key name = kit_key(KIT_REQUEST, i);
        struct sr_cache_record *got = sr_cache_get(cache, &name, 0);
        assert_ptr_equal(got, i < 112 ? NULL : record); /* the latest eight */
        sr_cache_record_unref(got);
    }
    /* A name that another record has becomes this one's. */
    struct sr_cache_key name = kit_key(KIT_REQUEST, 119), own = kit_key(KIT_REQUEST, 1);
    sr_cache_alias(cache, &name, other);
    sr_cache_alias(cache, &own, other);
    struct sr_cache_record *got = sr_cache_get(cache, &name, 0), *got_own = sr_cache_get(cache, &own, 0);
    assert_ptr_equal(got, other);
    assert_ptr_equal(got_own, other);
    struct sr_cache_selector selector = {.exact = other->f.exact};
    assert_int_equal(sr_cache_remove(cache, &selector, false), 1);
    assert_null(sr_cache_get(cache, &name, 0));
    sr_cache_alias(cache, &name, other); /* it is not there any more */
    assert_null(sr_cache_get(cache, &name, 0));
    sr_cache_record_unref(got);
    sr_cache_record_unref(got_own);
    sr_cache_record_unref(record);
    sr_cache_record_unref(other);
    sr_cache_free(cache);
}

static void a_selector_means_what_agrees_in_all_members(void **state)
{
    struct sr_cache *cache = kit_cache(1000);
    struct sr_cache_selector all = {0}, selector = {0};
    (void)state;
    for (uint32_t i = 0; i < 600; i++)
        kit_put(cache, (struct kit_record){.partition = i % 5,
                                           .question = i,
                                           .tenant = i % 2 + 1,
                                           .user = i % 3 + 1,
                                           .model = i % 4 ? "small" : "large",
                                           .created_ms = kit_now_ms() - (i < 100 ? 100000 : 0)});
    assert_int_equal(sr_cache_remove(cache, &all, true), 600);
    selector.tenant = kit_key(KIT_TENANT, 1);
    assert_int_equal(sr_cache_remove(cache, &selector, true), 300);
    selector.user = kit_key(KIT_USER, 1);
    assert_int_equal(sr_cache_remove(cache, &selector, true), 100);
    selector.model = SR_LIT("large");
    assert_int_equal(sr_cache_remove(cache, &selector, true), 50);
    selector.created_before_ms = kit_now_ms() - 50000;
    assert_int_equal(sr_cache_remove(cache, &selector, true), 9);
    assert_int_equal(kit_stats(cache).entries, 600);
    assert_int_equal(sr_cache_remove(cache, &selector, false), 9);
    assert_int_equal(kit_stats(cache).entries, 591);
    assert_int_equal(kit_stats(cache).removed, 9);
    selector = (struct sr_cache_selector){.partition = kit_key(KIT_PARTITION, 3)};
    size_t n = sr_cache_remove(cache, &selector, true);
    assert_int_equal(sr_cache_remove(cache, &selector, false), n);
    assert_int_equal(kit_stats(cache).partitions, 4);
    assert_int_equal(sr_cache_remove(cache, &all, false), 591 - n);
    assert_int_equal(kit_stats(cache).partitions, 0);
    sr_cache_free(cache);
}

static void vectors_of_other_dimensions_are_not_compared(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_limits limits = kit_limits(10);
    float unit[KIT_DIMENSIONS] = {0};
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10});
    limits.dimensions = 8;
    sr_cache_set(cache, &limits);
    assert_int_equal(kit_stats(cache).partitions, 0);
    assert_true(kit_has(cache, 1, 10));
    kit_unit(11, unit);
    struct sr_cache_query query = kit_query(1, 11, unit);
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    kit_put(cache, (struct kit_record){.partition = 1, .question = 12}); /* has 16: for exact hits */
    assert_int_equal(kit_stats(cache).partitions, 0);
    assert_true(kit_has(cache, 1, 12));
    query.dimensions = 8;
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    sr_cache_free(cache);
}

static void what_has_no_key_is_no_record_of_the_cache(void **state)
{
    struct sr_cache *cache = kit_cache(10);
    struct sr_cache_fields f = {.form = SR_CACHE_JSON, .answer = SR_LIT("x")};
    struct sr_cache_record *record;
    (void)state;
    assert_int_equal(sr_cache_record_new(&record, &f), SR_OK);
    assert_int_equal(sr_cache_put(cache, record), SR_EINVAL);
    sr_cache_record_unref(record);
    f.exact = kit_key(KIT_EXACT, 1);
    f.vector = SR_LIT("vector");
    assert_int_equal(sr_cache_record_new(&record, &f), SR_OK);
    assert_int_equal(sr_cache_put(cache, record), SR_EINVAL);
    sr_cache_record_unref(record);
    f.partition = kit_key(KIT_PARTITION, 1); /* bytes that are no vector: for exact hits */
    assert_int_equal(sr_cache_record_new(&record, &f), SR_OK);
    assert_int_equal(sr_cache_put(cache, record), SR_OK);
    sr_cache_record_unref(record);
    sr_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_found_by_its_keys),
        cmocka_unit_test(a_later_record_takes_the_place_of_one_with_its_key),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(the_policy_says_who_goes),
        cmocka_unit_test(a_new_policy_holds_for_old_records),
        cmocka_unit_test(nothing_expired_is_found),
        cmocka_unit_test(a_wall_clock_that_jumps_back_keeps_nothing_alive),
        cmocka_unit_test(a_wall_clock_that_jumps_ahead_ends_what_it_ends),
        cmocka_unit_test(room_is_made_of_what_has_expired),
        cmocka_unit_test(a_query_may_want_a_young_record),
        cmocka_unit_test(a_record_has_a_few_more_names),
        cmocka_unit_test(a_selector_means_what_agrees_in_all_members),
        cmocka_unit_test(vectors_of_other_dimensions_are_not_compared),
        cmocka_unit_test(what_has_no_key_is_no_record_of_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
