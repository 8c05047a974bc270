/* Records in a file: restarts, limits, removal, keys, and a cache above it. What goes wrong is in
 * test_sqlite_trouble. */
#define CACHE_KIT_CLOCK
#include "tests/unit/sqlite_kit.h"

#include "store/sqlite/sqlite.h"

#define KB ((size_t)1 << 10)

#define KEY_ONE "first-key-0123456789abcdefghijklmnopqrstuvwxyz"
#define KEY_TWO "second-key-0123456789abcdefghijklmnopqrstuvwxyz"

static struct store_folder folder;
static struct store_seen seen;

static int make_folder(void **state)
{
    (void)state;
    store_folder_make(&folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    store_folder_drop(&folder);
    return 0;
}

static struct sr_cache_backend *begin(struct sr_sqlite_options options)
{
    struct sr_cache_backend *backend;
    struct sr_err err = {0};
    store_forget(&seen);
    options.path = folder.path;
    assert_int_equal(sr_sqlite_backend(&backend, &options, &store_events, &seen, &err), SR_OK);
    return backend;
}

static struct sr_cache_backend *begin_ready(struct sr_sqlite_options options)
{
    struct sr_cache_backend *backend = begin(options);
    store_await(backend, SR_CACHE_BACKEND_READY);
    return backend;
}

static const struct sr_sqlite_options plain = {.eviction = SR_CACHE_LRU};

static void records_outlive_a_restart(void **state)
{
    struct sr_cache_backend *backend = begin_ready(plain);
    int64_t now = kit_now_ms();
    (void)state;
    assert_string_equal(backend->ops->name, "sqlite");
    for (uint32_t i = 0; i < 1000; i++)
        store_put(backend, (struct kit_record){.partition = i % 9,
                                               .question = i,
                                               .answer = i % 10 * 1000,
                                               .expires_ms = i % 4 == 0   ? now + 3600000
                                                             : i % 4 == 1 ? now + 50
                                                                          : 0});
    store_await_written(backend, 1000);
    assert_int_equal(store_health(backend).queued, 0);
    backend->ops->close(backend);
    kit_wall_ms += 1000;
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 750);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(store_has(&seen, i), i % 4 != 1);
    assert_string_equal(store_health(backend).message, "");
    backend->ops->close(backend);
    struct stat st;
    assert_int_equal(stat(folder.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_close_writes_what_is_queued(void **state)
{
    struct sr_cache_backend *backend = begin(plain);
    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        store_put(backend, (struct kit_record){.question = i});
    backend->ops->close(backend);
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 300);
    backend->ops->close(backend);
}

static void a_record_takes_the_place_of_the_one_before(void **state)
{
    struct sr_cache_backend *backend = begin_ready(plain);
    (void)state;
    for (int i = 0; i < 3; i++)
        store_put(backend, (struct kit_record){.question = 7, .answer = 100});
    backend->ops->close(backend);
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 1);
    backend->ops->close(backend);
}

/* What is left of questions 1 to 5, which came in the order 3, 1, 2, 4, 5, in a file for four. */
static void check_eviction(enum sr_cache_eviction eviction, uint32_t evicted)
{
    static const uint32_t order[] = {3, 1, 2, 4}, uses[] = {1, 1, 1, 2, 3, 3, 4, 4, 4, 2, 3};
    struct sr_sqlite_options options = {.max_entries = 4, .eviction = eviction};
    struct sr_cache_backend *backend = begin_ready(options);
    for (size_t i = 0; i < 4; i++)
        store_put(backend, (struct kit_record){.question = order[i]});
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        struct sr_cache_key exact = kit_key(KIT_EXACT, kit_exact(0, uses[i]));
        backend->ops->used(backend, &exact);
    }
    backend->ops->close(backend);
    backend = begin_ready(options); /* the order is kept too */
    assert_int_equal(seen.n, 4);
    assert_int_equal(seen.questions[0], evicted);
    store_put(backend, (struct kit_record){.question = 5});
    backend->ops->close(backend);
    backend = begin_ready(options);
    assert_int_equal(seen.n, 4);
    for (uint32_t i = 1; i <= 5; i++)
        assert_int_equal(store_has(&seen, i), i != evicted);
    backend->ops->close(backend);
    unlink(folder.path);
}

static void the_policy_says_who_goes(void **state)
{
    (void)state;
    check_eviction(SR_CACHE_FIFO, 3);
    check_eviction(SR_CACHE_LRU, 1);
    check_eviction(SR_CACHE_LFU, 2);
}

static void a_file_has_a_size(void **state)
{
    struct sr_sqlite_options options = {.max_bytes = 400 * KB, .eviction = SR_CACHE_LRU};
    struct sr_cache_backend *backend = begin_ready(options);
    struct stat st;
    (void)state;
    for (uint32_t i = 0; i < 500; i++)
        store_put(backend, (struct kit_record){.question = i, .answer = i % 20 * 500});
    store_put(backend, (struct kit_record){.question = 1000, .answer = 500 * KB}); /* can never fit */
    backend->ops->close(backend);
    assert_int_equal(stat(folder.path, &st), 0);
    assert_true((size_t)st.st_size <= 420 * KB);
    backend = begin_ready(options);
    assert_true(seen.n > 20 && seen.n < 200);
    assert_true(store_has(&seen, 499) && !store_has(&seen, 0) && !store_has(&seen, 1000));
    backend->ops->close(backend);
    options.max_bytes = 100 * KB;
    backend = begin_ready(options);
    backend->ops->close(backend);
    assert_int_equal(stat(folder.path, &st), 0);
    assert_true((size_t)st.st_size <= 110 * KB); /* the disk has it back */
}

static void what_is_removed_is_gone_from_the_file(void **state)
{
    static const struct kit_record people[] = {
        {.question = 11, .tenant = 1, .user = 1, .model = "model-of-one"},
        {.question = 12, .tenant = 1, .user = 2, .model = "model-of-two"},
        {.question = 13, .tenant = 2, .user = 3, .model = "model-of-three"},
        {.question = 14, .tenant = 2, .user = 4, .model = "model-of-four", .created_ms = 1000},
        {.question = 15, .tenant = 3, .user = 5, .model = "model-of-five"},
    };
    const struct sr_cache_selector selectors[] = {
        {.user = kit_key(KIT_USER, 1)},
        {.tenant = kit_key(KIT_TENANT, 1), .model = SR_LIT("model-of-two")},
        {.exact = kit_key(KIT_EXACT, kit_exact(0, 13)), .tenant = kit_key(KIT_TENANT, 2)},
        {.created_before_ms = 2000},
    };
    struct sr_cache_backend *backend = begin_ready(plain);
    (void)state;
    for (size_t i = 0; i < 5; i++)
        store_put(backend, people[i]);
    for (uint32_t i = 100; i < 200; i++)
        store_put(backend, (struct kit_record){.question = i, .tenant = 9});
    store_await_written(backend, 105);
    for (size_t i = 0; i < 4; i++) {
        bool there = true;
        assert_true(store_file_contains(folder.path, "", people[i].model) ||
                    store_file_contains(folder.path, "-wal", people[i].model));
        assert_int_equal(backend->ops->remove(backend, &selectors[i]), SR_OK);
        for (int ms = 0; ms < STORE_WAIT_MS && there; ms++) {
            usleep(1000);
            there = store_file_contains(folder.path, "", people[i].model) ||
                    store_file_contains(folder.path, "-wal", people[i].model);
        }
        assert_false(there); /* while it is running */
    }
    struct sr_cache_selector other = {.tenant = kit_key(KIT_TENANT, 3), .user = kit_key(KIT_USER, 1)};
    assert_int_equal(backend->ops->remove(backend, &other), SR_OK); /* both must agree */
    backend->ops->close(backend);
    assert_true(store_file_contains(folder.path, "", "model-of-five"));
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 101);
    assert_true(store_has(&seen, 15));
    struct sr_cache_selector all = {0};
    assert_int_equal(backend->ops->remove(backend, &all), SR_OK);
    backend->ops->close(backend);
    struct stat st;
    assert_int_equal(stat(folder.path, &st), 0);
    assert_true((size_t)st.st_size < 64 * KB);
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 0);
    backend->ops->close(backend);
}

static void a_removal_while_records_are_loaded_is_told(void **state)
{
    struct sr_cache_backend *backend = begin_ready(plain);
    struct sr_cache_selector selector = {.tenant = kit_key(KIT_TENANT, 1)};
    struct sr_cache *cache;
    struct sr_cache_limits limits = kit_limits(10000);
    struct sr_sqlite_options options = plain;
    (void)state;
    for (uint32_t i = 0; i < 3000; i++)
        store_put(backend, (struct kit_record){.question = i, .tenant = i % 2 + 1});
    store_await_written(backend, 3000);
    backend->ops->close(backend);
    assert_int_equal(sr_cache_new(&cache, &limits), SR_OK);
    options.path = folder.path;
    assert_int_equal(sr_sqlite_backend(&backend, &options, sr_cache_events(), cache, NULL), SR_OK);
    sr_cache_set_backend(cache, backend);
    sr_cache_remove(cache, &selector, false);
    store_await(backend, SR_CACHE_BACKEND_READY);
    for (int ms = 0; ms < STORE_WAIT_MS && kit_stats(cache).entries != 1500; ms++)
        usleep(1000);
    assert_int_equal(kit_stats(cache).entries, 1500);
    assert_int_equal(sr_cache_remove(cache, &selector, true), 0);
    sr_cache_free(cache);
    backend = begin_ready(plain);
    assert_int_equal(seen.n, 1500);
    backend->ops->close(backend);
}

static struct sr_cache *cache_with(struct sr_sqlite_options options, struct sr_cache_backend **backend)
{
    struct sr_cache *cache = kit_cache(100);
    options.path = folder.path;
    assert_int_equal(sr_sqlite_backend(backend, &options, sr_cache_events(), cache, NULL), SR_OK);
    sr_cache_set_backend(cache, *backend);
    store_await(*backend, SR_CACHE_BACKEND_READY);
    return cache;
}

static void a_cache_finds_near_questions_after_a_restart(void **state)
{
    struct sr_cache_backend *backend;
    struct sr_cache *cache = cache_with(plain, &backend);
    float unit[KIT_DIMENSIONS];
    (void)state;
    kit_put(cache, (struct kit_record){.partition = 1, .question = 10, .request = 4});
    sr_cache_free(cache);
    cache = cache_with(plain, &backend);
    kit_unit(11, unit);
    struct sr_cache_query query = kit_query(1, 11, unit);
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_HIT_SEMANTIC);
    query = kit_query(2, 11, unit);
    assert_int_equal(kit_hit(cache, &query), SR_CACHE_MISS);
    struct sr_cache_key request = kit_key(KIT_REQUEST, 4);
    struct sr_cache_record *record = sr_cache_get(cache, &request, 0);
    assert_non_null(record);
    sr_cache_record_unref(record);
    assert_string_equal(kit_stats(cache).backend_name, "sqlite");
    sr_cache_free(cache);
}

/* ---- keys ---- */

static struct sr_sqlite_options locked(const char *keys)
{
    struct sr_sqlite_options options = plain;
    store_write_file(folder.key_file, keys);
    options.key_file = folder.key_file;
    return options;
}

static void fill(struct sr_sqlite_options options, uint32_t n)
{
    struct sr_cache_backend *backend = begin_ready(options);
    for (uint32_t i = 0; i < n; i++)
        store_put(backend, (struct kit_record){.question = i, .model = "a-name-that-is-to-be-found"});
    store_await_written(backend, n);
    assert_int_equal(store_file_contains(folder.path, "-wal", "a-name-that-is-to-be-found"),
                     !options.key_file);
    backend->ops->close(backend);
    assert_int_equal(store_file_contains(folder.path, "", "a-name-that-is-to-be-found"), !options.key_file);
    assert_int_equal(store_file_contains(folder.path, "", "SQLite format 3"), !options.key_file);
}

static void check_loads(struct sr_sqlite_options options, size_t n)
{
    struct sr_cache_backend *backend = begin_ready(options);
    assert_int_equal(seen.n, n);
    backend->ops->close(backend);
}

/* The file cannot be opened, nothing happens to it, and the message says why. */
static void check_refused(struct sr_sqlite_options options, const char *message)
{
    struct sr_cache_backend *backend = begin(options);
    store_await(backend, SR_CACHE_BACKEND_AWAY);
    store_assert_says(backend, message);
    store_put(backend, (struct kit_record){.question = 9999});
    assert_int_equal(seen.n, 0);
    backend->ops->close(backend);
    char moved[128];
    snprintf(moved, sizeof moved, "%s.damaged", folder.path);
    assert_int_not_equal(access(moved, F_OK), 0);
}

static void an_encrypted_file_needs_its_key(void **state)
{
    (void)state;
    fill(locked(KEY_ONE "\n"), 200);
    check_loads(locked(KEY_ONE), 200); /* with or without an end of line */
    check_refused(locked(KEY_TWO), "the key is not the one of this file");
    check_refused(locked("short"), "fewer than 32");
    check_refused(locked(""), "one line with the key");
    check_refused(locked(KEY_ONE "\n" KEY_TWO "\n" KEY_ONE "\n"), "at most one with the key before");
    struct sr_sqlite_options missing = plain;
    missing.key_file = "/nowhere/key";
    check_refused(missing, "/nowhere/key");
    check_loads(locked(KEY_ONE "\n"), 200);
}

static void a_key_is_replaced(void **state)
{
    (void)state;
    fill(locked(KEY_ONE), 200);
    check_loads(locked(KEY_TWO "\n" KEY_ONE "\n"), 200);
    check_loads(locked(KEY_TWO "\n" KEY_ONE "\n"), 200); /* once more does no harm */
    check_loads(locked(KEY_TWO), 200);
    check_refused(locked(KEY_ONE), "the key is not the one of this file");
    check_loads(locked(KEY_TWO), 200);
}

static void a_key_that_comes_right_later_is_enough(void **state)
{
    (void)state;
    fill(locked(KEY_ONE), 50);
    struct sr_cache_backend *backend = begin(locked(KEY_TWO));
    store_await(backend, SR_CACHE_BACKEND_AWAY);
    store_put(backend, (struct kit_record){.question = 777});
    locked(KEY_ONE);
    store_await(backend, SR_CACHE_BACKEND_READY);
    store_await_written(backend, 1);
    assert_string_equal(store_health(backend).message, "");
    backend->ops->close(backend);
    check_loads(locked(KEY_ONE), 51);
}

static void a_plain_file_is_not_taken_for_an_encrypted_one(void **state)
{
    (void)state;
    fill(plain, 50);
    check_refused(locked(KEY_ONE), "not encrypted");
    check_loads(plain, 50);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(records_outlive_a_restart),
        TEST(a_close_writes_what_is_queued),
        TEST(a_record_takes_the_place_of_the_one_before),
        TEST(the_policy_says_who_goes),
        TEST(a_file_has_a_size),
        TEST(what_is_removed_is_gone_from_the_file),
        TEST(a_removal_while_records_are_loaded_is_told),
        TEST(a_cache_finds_near_questions_after_a_restart),
        TEST(an_encrypted_file_needs_its_key),
        TEST(a_key_is_replaced),
        TEST(a_key_that_comes_right_later_is_enough),
        TEST(a_plain_file_is_not_taken_for_an_encrypted_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
