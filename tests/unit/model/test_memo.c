/* What is remembered: found again, apart by reader and tenant, bounded, oldest out first; and windows of
 * texts. */
#include "model/memo.h"
#include "tests/unit/cmocka_all.h"
#include "text/slices.h"

#include <stdio.h>

static struct sr_memo_key key_of(const char *reader, const char *tenant, const char *text)
{
    struct sr_memo_key key;
    assert_int_equal(sr_memo_key(&key, sr_bytes_str(reader), sr_bytes_str(tenant), sr_bytes_str(text)),
                     SR_OK);
    return key;
}

static bool remembers(struct sr_memo *memo, struct sr_memo_key key, const char *value)
{
    struct sr_arena arena;
    struct sr_bytes got = {NULL, 0};
    sr_arena_init(&arena, 1 << 20);
    int rc = sr_memo_get(memo, &key, &arena, &got);
    bool same = rc == SR_OK && sr_bytes_eq(got, sr_bytes_str(value));
    sr_arena_dispose(&arena);
    return same;
}

static void put(struct sr_memo *memo, struct sr_memo_key key, const char *value)
{
    sr_memo_put(memo, &key, sr_bytes_str(value));
}

static void test_keys(void **state)
{
    (void)state;
    struct sr_memo *memo;
    struct sr_memo_stats stats;
    assert_int_equal(sr_memo_new(&memo, 1 << 20), SR_OK);
    put(memo, key_of("r", "t", "x"), "one");
    assert_true(remembers(memo, key_of("r", "t", "x"), "one"));
    assert_false(remembers(memo, key_of("r", "", "x"), "one"));
    assert_false(remembers(memo, key_of("r", "tx", ""), "one"));
    assert_false(remembers(memo, key_of("q", "t", "x"), "one"));
    put(memo, key_of("r", "t", "x"), "");
    assert_true(remembers(memo, key_of("r", "t", "x"), ""));
    sr_memo_stats(memo, &stats);
    assert_int_equal(stats.hits, 2);
    assert_int_equal(stats.misses, 3);
    assert_int_equal(stats.entries, 1);
    sr_memo_unref(memo);
    sr_memo_unref(NULL);
}

static void test_bounds(void **state)
{
    (void)state;
    struct sr_memo *memo;
    struct sr_memo_stats stats;
    char text[32];
    assert_int_equal(sr_memo_new(&memo, 64 << 10), SR_OK);
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "%d", i);
        put(memo, key_of("r", "", text), text);
        assert_true(remembers(memo, key_of("r", "", "0"), "0")); /* used all the time */
    }
    sr_memo_stats(memo, &stats);
    assert_true(stats.bytes <= 64 << 10 && stats.entries > 100 && stats.entries < 1000);
    assert_true(remembers(memo, key_of("r", "", "4999"), "4999"));
    assert_false(remembers(memo, key_of("r", "", "1"), "1"));
    sr_memo_resize(memo, 0);
    sr_memo_stats(memo, &stats);
    assert_int_equal(stats.entries, 0);
    put(memo, key_of("r", "", "x"), "x");
    assert_false(remembers(memo, key_of("r", "", "x"), "x"));
    sr_memo_unref(memo);
}

static void test_slices(void **state)
{
    (void)state;
    char text[5000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 7 == 6 ? ' ' : 'a';
    struct sr_slices slices = sr_slices_of(sr_bytes_of(text, sizeof text), 640, 128);
    struct sr_slice w, before = {0, 0};
    size_t n = 0;
    while (sr_slices_next(&slices, &w)) {
        assert_true(w.end - w.start <= 640 && w.start < w.end && w.start <= before.end);
        assert_true(n == 0 ? w.start == 0 : w.start > before.start && before.end - w.start >= 128);
        assert_true(w.start == 0 || text[w.start - 1] == ' ');
        before = w;
        n++;
    }
    assert_int_equal(before.end, sizeof text);
    assert_true(n >= 9 && n <= 13);
    slices = sr_slices_of(SR_LIT(""), 64, 0);
    assert_true(sr_slices_next(&slices, &w) && w.end == 0);
    assert_false(sr_slices_next(&slices, &w));
    /* no white space: characters stay whole */
    for (size_t i = 0; i + 3 <= sizeof text; i += 3)
        memcpy(text + i, "\xe4\xbd\xa0", 3);
    slices = sr_slices_of(sr_bytes_of(text, 4998), 100, 40);
    while (sr_slices_next(&slices, &w))
        assert_true(w.start % 3 == 0 && w.end % 3 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
