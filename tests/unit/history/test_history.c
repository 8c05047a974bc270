/* The bounded list: order, limits of every kind, changing them, keepers, and threads that add and read. */
#include "tests/unit/history_kit.h"

#include "history/report.h"
#include "history/select.h"

#include <pthread.h>
#include <stdatomic.h>

static struct sr_history *open_history(size_t entries, size_t bytes, int64_t ttl_ms)
{
    struct sr_history *history;
    struct sr_history_limits limits = {entries, bytes, ttl_ms};
    assert_int_equal(sr_history_new(&history), SR_OK);
    assert_int_equal(sr_history_set(history, &limits), SR_OK);
    return history;
}

static void test_order_and_number_of_entries(void **state)
{
    struct sr_history *history = open_history(3, 1 << 20, 0);
    struct sr_history_stats stats;
    (void)state;
    assert_string_equal(history_ids(history), "");
    history_add(history, 1, 2);
    assert_string_equal(history_ids(history), "1 2 ");
    history_add(history, 3, 7);
    assert_string_equal(history_ids(history), "5 6 7 ");
    sr_history_stats(history, &stats);
    assert_int_equal(stats.entries, 3);
    assert_int_equal(stats.added, 7);
    assert_int_equal(stats.evicted, 4);
    assert_int_equal(sr_history_next(history), 8);
    sr_history_clear(history);
    assert_string_equal(history_ids(history), "");
    sr_history_stats(history, &stats);
    assert_int_equal(stats.bytes, 0);
    sr_history_free(history);
}

static void test_nothing_is_kept_without_limits(void **state)
{
    struct sr_history *history;
    (void)state;
    assert_int_equal(sr_history_new(&history), SR_OK);
    history_add(history, 1, 3);
    assert_string_equal(history_ids(history), "");
    sr_history_free(history);
    sr_history_free(NULL);
}

static void test_bytes(void **state)
{
    struct sr_history *history = open_history(100, 64 << 10, 0);
    struct sr_history_facts facts;
    struct sr_history_stats stats;
    static char body[40000];
    (void)state;
    memset(body, 'x', sizeof body);
    history_add(history, 1, 3);
    sr_history_facts_init(&facts);
    facts.texts[SR_HISTORY_REQUEST_BODY] = sr_bytes_of(body, sizeof body);
    for (int i = 0; i < 3; i++) {
        struct sr_history_entry *entry = history_entry(&facts, "big", history_now_us());
        sr_history_add(history, entry);
        sr_history_entry_unref(entry);
        sr_history_stats(history, &stats);
        assert_true(stats.bytes <= 64 << 10);
    }
    assert_string_equal(history_ids(history), "big ");
    struct sr_history_limits small = {100, 10000, 0};
    assert_int_equal(sr_history_set(history, &small), SR_OK);
    assert_string_equal(history_ids(history), "");
    history_add(history, 4, 4);
    struct sr_history_entry *entry = history_entry(&facts, "big", history_now_us());
    sr_history_add(history, entry); /* never fits: others do not leave for it */
    sr_history_entry_unref(entry);
    assert_string_equal(history_ids(history), "4 ");
    sr_history_free(history);
}

static void test_age(void **state)
{
    struct sr_history *history = open_history(10, 1 << 20, 60000);
    struct sr_history_facts facts;
    (void)state;
    sr_history_facts_init(&facts);
    struct sr_history_entry *old = history_entry(&facts, "old", history_now_us() - 61000000);
    sr_history_add(history, old);
    sr_history_entry_unref(old);
    assert_string_equal(history_ids(history), "");
    history_add(history, 1, 1);
    struct sr_history_stats stats;
    sr_history_stats(history, &stats);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(stats.evicted, 0); /* it left because of its age */
    sr_history_free(history);
}

static void test_new_limits(void **state)
{
    struct sr_history *history = open_history(200, 1 << 20, 0);
    (void)state;
    history_add(history, 1, 200);
    for (size_t n = 5; n > 1; n--) {
        struct sr_history_limits limits = {n, 1 << 20, 0};
        assert_int_equal(sr_history_set(history, &limits), SR_OK);
    }
    assert_string_equal(history_ids(history), "199 200 ");
    struct sr_history_limits more = {4, 1 << 20, 0}, none = {0};
    assert_int_equal(sr_history_set(history, &more), SR_OK);
    history_add(history, 201, 203);
    assert_string_equal(history_ids(history), "200 201 202 203 ");
    assert_int_equal(sr_history_set(history, &none), SR_OK);
    assert_string_equal(history_ids(history), "");
    history_add(history, 204, 204);
    assert_string_equal(history_ids(history), "");
    sr_history_free(history);
}

static void test_reading_on(void **state)
{
    struct sr_history *history = open_history(4, 1 << 20, 0);
    struct sr_history_entry *entries[8];
    uint64_t from;
    (void)state;
    history_add(history, 1, 2);
    from = sr_history_next(history);
    assert_int_equal(sr_history_take(history, &from, entries, 8), 0);
    history_add(history, 3, 4);
    assert_int_equal(sr_history_take(history, &from, entries, 1), 1);
    assert_int_equal(from, 4);
    sr_history_entry_unref(entries[0]);
    history_add(history, 5, 20); /* the reader is overrun: it goes on with the oldest */
    assert_int_equal(sr_history_take(history, &from, entries, 8), 4);
    assert_int_equal(from, 21);
    for (int i = 0; i < 4; i++)
        sr_history_entry_unref(entries[i]);
    sr_history_free(history);
}

static void count(void *ctx, struct sr_history_entry *entry)
{
    assert_non_null(entry);
    ++*(int *)ctx;
}

static void test_a_keeper(void **state)
{
    struct sr_history *history = open_history(2, 1 << 20, 0);
    int n = 0;
    (void)state;
    sr_history_set_keeper(history, &(struct sr_history_keeper){count, count, &n});
    history_add(history, 1, 5);
    assert_int_equal(n, 5);
    sr_history_set_keeper(history, NULL);
    history_add(history, 6, 6);
    assert_int_equal(n, 5);
    sr_history_free(history);
}

/* ---- outcomes ---- */

static struct sr_history_outcome outcome(const char *source, const char *verdict)
{
    struct sr_bytes none = SR_LIT("");
    return (struct sr_history_outcome){1, 0.5, sr_bytes_str(source), none, none, sr_bytes_str(verdict), none};
}

static void report(struct sr_history *history, const char *source, const char *verdict, int expected)
{
    struct sr_history_outcome o = outcome(source, verdict);
    assert_int_equal(sr_history_report(history, SR_LIT("2"), false, &o), expected);
}

static void test_outcomes(void **state)
{
    struct sr_history *history = open_history(3, 1 << 20, 0);
    struct sr_history_stats before, after;
    int n = 0;
    (void)state;
    history_add(history, 1, 4);
    sr_history_stats(history, &before);
    sr_history_set_keeper(history, &(struct sr_history_keeper){NULL, count, &n});
    report(history, "a", "bad", SR_OK);
    report(history, "b", "bad", SR_OK);
    report(history, "a", "good", SR_OK);
    assert_int_equal(n, 3);
    assert_string_equal(history_ids(history), "2 3 4 ");
    struct sr_history_entry *entry = sr_history_find(history, SR_HISTORY_ID, SR_LIT("2"));
    assert_int_equal(entry->f.n_outcomes, 2); /* one of a source */
    assert_true(sr_bytes_eq(entry->f.outcomes[0].source, SR_LIT("b")));
    assert_true(sr_bytes_eq(entry->f.outcomes[1].verdict, SR_LIT("good")));
    sr_history_entry_unref(entry);
    for (char source[2] = "c"; source[0] < 'r'; source[0]++)
        report(history, source, "bad", SR_OK);
    entry = sr_history_find(history, SR_HISTORY_ID, SR_LIT("2"));
    assert_int_equal(entry->f.n_outcomes, SR_HISTORY_OUTCOMES_MAX);
    assert_true(sr_bytes_eq(entry->f.outcomes[SR_HISTORY_OUTCOMES_MAX - 1].source, SR_LIT("q")));
    sr_history_stats(history, &after);
    assert_true(after.bytes > before.bytes && after.bytes < before.bytes + 4096);
    sr_history_entry_unref(entry);
    sr_history_set_keeper(history, NULL);
    history_add(history, 5, 5);
    report(history, "a", "good", SR_ENOENT);
    history_add(history, 6, 8);
    sr_history_stats(history, &after);
    assert_int_equal(after.bytes, before.bytes);
    sr_history_free(history);
}

/* ---- threads ---- */

#define ADDERS 3
#define EACH   400

static atomic_int adding;

static void *add_many(void *history)
{
    history_add(history, 1, EACH);
    atomic_fetch_sub(&adding, 1);
    return NULL;
}

static void *read_many(void *history)
{
    struct sr_history_entry *entries[16];
    uint64_t from = 0;
    size_t n;
    do {
        bool last = atomic_load(&adding) == 0;
        n = sr_history_take(history, &from, entries, 16);
        for (size_t i = 0; i < n; i++) {
            assert_true(entries[i]->f.texts[SR_HISTORY_ID].n > 0);
            sr_history_entry_unref(entries[i]);
        }
        if (last && !n)
            return NULL;
    } while (true);
}

static void test_threads(void **state)
{
    struct sr_history *history = open_history(50, 1 << 20, 0);
    pthread_t threads[ADDERS + 1];
    struct sr_history_stats stats;
    (void)state;
    atomic_store(&adding, ADDERS);
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, history), 0);
    assert_int_equal(pthread_create(&threads[ADDERS], NULL, read_many, history), 0);
    for (size_t n = 10; n < 60; n++) {
        struct sr_history_limits limits = {n, n * 500, 0};
        assert_int_equal(sr_history_set(history, &limits), SR_OK);
    }
    for (int i = 0; i <= ADDERS; i++)
        pthread_join(threads[i], NULL);
    sr_history_stats(history, &stats);
    assert_true(stats.entries > 0 && stats.entries <= 59);
    assert_int_equal(sr_history_next(history), stats.added + 1);
    sr_history_free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_number_of_entries),
        cmocka_unit_test(test_nothing_is_kept_without_limits),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_new_limits),
        cmocka_unit_test(test_reading_on),
        cmocka_unit_test(test_a_keeper),
        cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
