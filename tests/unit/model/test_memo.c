/* The memo: entries are found again, separate by reader and tenant, bounded, the oldest evicted first, copies
 * and objects alike; and windows of texts. */
#include "base/mem.h"
#include "model/memo.h"
#include "tests/unit/cmocka_all.h"
#include "text/slices.h"

#include <pthread.h>
#include <stdio.h>

static struct sr_memo_key key_of(const char *reader, const char *tenant, const char *text)
{
    struct sr_memo_key key;
    struct sr_memo_scope scope;
    assert_int_equal(sr_memo_scope(&scope, sr_bytes_str(reader), sr_bytes_str(tenant)), SR_OK);
    assert_int_equal(sr_memo_key(&key, &scope, sr_bytes_str(text)), SR_OK);
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

/* ---- objects ---- */

struct object {
    struct sr_memo_entry entry;
    char text[16];
};

static atomic_int n_objects;

static void free_object(struct sr_memo_entry *entry)
{
    atomic_fetch_sub(&n_objects, 1);
    sr_mem_free((struct object *)entry);
}

static struct sr_memo_key object_key(uint64_t reader, uint64_t salt, const char *text)
{
    struct sr_memo_key key = {.salt = salt, .reader = reader};
    assert_int_equal(sr_sha256(sr_bytes_str(text), key.digest), SR_OK);
    return key;
}

/* Keeps an object that says it is of so many bytes; the reference of the test. */
static struct object *keep(struct sr_memo *memo, struct sr_memo_key key, const char *text, size_t bytes)
{
    struct object *object = sr_mem_calloc(1, sizeof *object);
    assert_non_null(object);
    atomic_fetch_add(&n_objects, 1);
    sr_ref_init(&object->entry.ref);
    object->entry.key = key;
    object->entry.bytes = bytes;
    object->entry.free = free_object;
    snprintf(object->text, sizeof object->text, "%s", text);
    sr_memo_keep(memo, &object->entry);
    return object;
}

static bool finds(struct sr_memo *memo, struct sr_memo_key key, const struct object *object)
{
    struct sr_memo_entry *found = sr_memo_find(memo, &key);
    bool same = found == (object ? &object->entry : NULL);
    sr_memo_entry_unref(found);
    return same;
}

static void test_objects(void **state)
{
    (void)state;
    struct sr_memo *memo;
    assert_int_equal(sr_memo_new(&memo, 64 << 10), SR_OK);
    uint64_t one = sr_memo_reader(memo), two = sr_memo_reader(memo);
    assert_true(one && two && one != two);
    struct object *first = keep(memo, object_key(one, 7, "x"), "x", 1000);
    assert_true(finds(memo, object_key(one, 7, "x"), first));
    assert_true(finds(memo, object_key(one, 8, "x"), NULL));
    assert_true(finds(memo, object_key(two, 7, "x"), NULL));
    /* Another one with its key: the first lives as long as it is referenced. */
    struct object *second = keep(memo, object_key(one, 7, "x"), "y", 1000);
    assert_true(finds(memo, object_key(one, 7, "x"), second));
    assert_string_equal(first->text, "x");
    sr_memo_entry_unref(&first->entry);
    sr_memo_entry_unref(&second->entry);
    assert_int_equal(atomic_load(&n_objects), 1);
    /* More than the maximum is not kept, and makes no room for itself. */
    sr_memo_entry_unref(&keep(memo, object_key(one, 0, "big"), "big", 64 << 10)->entry);
    assert_true(finds(memo, object_key(one, 7, "x"), second));
    sr_memo_unref(memo);
    assert_int_equal(atomic_load(&n_objects), 0);
}

/* One limit and one order of use, whatever shard a key is of: the oldest goes, copy or object. */
static void test_order(void **state)
{
    (void)state;
    enum { N = 10, BYTES = 1000 };
    struct sr_memo *memo;
    struct sr_memo_stats stats;
    char text[16];
    assert_int_equal(sr_memo_new(&memo, N * (BYTES + 200)), SR_OK);
    uint64_t reader = sr_memo_reader(memo);
    put(memo, key_of("r", "", "copy"), "copy");
    for (int i = 0; i < 3 * N; i++) {
        snprintf(text, sizeof text, "%d", i);
        sr_memo_entry_unref(&keep(memo, object_key(reader, 0, text), text, BYTES)->entry);
        assert_true(remembers(memo, key_of("r", "", "copy"), "copy"));
    }
    sr_memo_stats(memo, &stats);
    assert_true(stats.bytes <= N * (BYTES + 200) && stats.entries > N &&
                stats.dropped == 3 * N + 1 - stats.entries);
    for (int i = 0; i < 3 * N; i++) {
        snprintf(text, sizeof text, "%d", i);
        struct sr_memo_key key = object_key(reader, 0, text);
        struct sr_memo_entry *found = sr_memo_find(memo, &key);
        assert_int_equal(found != NULL, (size_t)i >= 3 * N + 1 - stats.entries);
        sr_memo_entry_unref(found);
    }
    sr_memo_unref(memo);
    assert_int_equal(atomic_load(&n_objects), 0);
}

struct worker {
    struct sr_memo *memo;
    uint64_t reader;
    int wrong;
};

static void *work(void *arg)
{
    struct worker *worker = arg;
    char text[16];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "%d", i * 7 % 101);
        struct sr_memo_key key = object_key(worker->reader, 0, text);
        struct sr_memo_entry *found = sr_memo_find(worker->memo, &key);
        if (found)
            worker->wrong += strcmp(((struct object *)found)->text, text) != 0;
        else
            found = &keep(worker->memo, key, text, 500)->entry;
        sr_memo_entry_unref(found);
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    struct sr_memo_stats stats;
    struct worker workers[4];
    pthread_t threads[4];
    struct sr_memo *memo;
    assert_int_equal(sr_memo_new(&memo, 16 << 10), SR_OK);
    uint64_t reader = sr_memo_reader(memo);
    for (int i = 0; i < 4; i++) {
        workers[i] = (struct worker){memo, reader, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    sr_memo_stats(memo, &stats);
    assert_true(stats.bytes <= 16 << 10 && stats.entries > 10);
    assert_int_equal(atomic_load(&n_objects), stats.entries);
    sr_memo_unref(memo);
    assert_int_equal(atomic_load(&n_objects), 0);
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
        cmocka_unit_test(test_keys),  cmocka_unit_test(test_bounds),  cmocka_unit_test(test_objects),
        cmocka_unit_test(test_order), cmocka_unit_test(test_threads), cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
