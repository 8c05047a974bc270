/* The history is in the file, and back after a restart; within its limits; and what is no such file. */
#include "tests/unit/history_kit.h"

#include "history/report.h"
#include "history/select.h"
#include "observe/metrics.h"
#include "store/sqlite/history.h"

#include <sqlcipher/sqlite3.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sr-history-XXXXXX", path[64];

static int make_folder(void **state)
{
    (void)state;
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/replay.db", folder);
    return 0;
}

static int drop_folder(void **state)
{
    char side[80];
    (void)state;
    unlink(path);
    snprintf(side, sizeof side, "%s-wal", path);
    unlink(side);
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

struct both {
    struct sr_history *history;
    struct sr_history_file *file;
};

static struct both open_both(struct sr_history_limits limits)
{
    struct both both;
    struct sr_err err = {0};
    assert_int_equal(sr_history_new(&both.history), SR_OK);
    assert_int_equal(sr_history_set(both.history, &limits), SR_OK);
    int rc = sr_history_file_open(&both.file, path, both.history, &limits, NULL, &err);
    if (rc)
        fail_msg("%s", err.message);
    return both;
}

static void close_both(struct both both)
{
    sr_history_file_close(both.file);
    sr_history_free(both.history);
}

/* A number that the closed file gives. */
static int64_t number(const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static const struct sr_history_limits ten = {10, 1 << 20, 0};

static void test_restarts(void **state)
{
    struct stat info;
    (void)state;
    struct both both = open_both(ten);
    history_add(both.history, 1, 4);
    close_both(both);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    both = open_both(ten);
    assert_string_equal(history_ids(both.history), "1 2 3 4 ");
    history_add(both.history, 5, 30);
    close_both(both);
    assert_int_equal(number("SELECT count(*) FROM history"), 10);
    for (int i = 0; i < 3; i++) {
        both = open_both(ten);
        assert_string_equal(history_ids(both.history), "21 22 23 24 25 26 27 28 29 30 ");
        close_both(both);
    }
    both = open_both((struct sr_history_limits){3, 1 << 20, 0});
    assert_string_equal(history_ids(both.history), "28 29 30 ");
    close_both(both);
    assert_int_equal(number("SELECT count(*) FROM history"), 3);
}

static void test_outcomes_are_in_the_file(void **state)
{
    struct sr_history_outcome o = {1, 1, SR_LIT("a"), SR_LIT(""), SR_LIT(""), SR_LIT("good_fit"), SR_LIT("")};
    (void)state;
    struct both both = open_both(ten);
    history_add(both.history, 1, 4);
    assert_int_equal(sr_history_report(both.history, SR_LIT("2"), false, &o), SR_OK);
    close_both(both);
    assert_int_equal(number("SELECT count(*) FROM history"), 4);
    both = open_both(ten);
    assert_string_equal(history_ids(both.history), "1 2 3 4 ");
    assert_int_equal(sr_history_report(both.history, SR_LIT("3"), false, &o), SR_OK);
    close_both(both);
    both = open_both(ten);
    for (int i = 1; i <= 4; i++) {
        char id[2] = {(char)('0' + i), 0};
        struct sr_history_entry *entry = sr_history_find(both.history, SR_HISTORY_ID, sr_bytes_str(id));
        assert_int_equal(entry->f.n_outcomes, i == 2 || i == 3);
        sr_history_entry_unref(entry);
    }
    close_both(both);
    assert_int_equal(number("SELECT count(*) FROM history"), 4);
}

static void test_many(void **state)
{
    struct sr_history_file_stats stats;
    (void)state;
    struct both both = open_both((struct sr_history_limits){5000, 1 << 24, 0});
    history_add(both.history, 1, 3000);
    do
        sr_history_file_stats(both.file, &stats);
    while (stats.queued);
    assert_int_equal(stats.written, 3000);
    assert_int_equal(stats.dropped, 0);
    sr_history_file_set(both.file, &(struct sr_history_limits){100, 1 << 24, 0});
    history_add(both.history, 3001, 3001);
    close_both(both);
    assert_int_equal(number("SELECT count(*) FROM history"), 100);
}

static void test_bytes_and_age(void **state)
{
    static char body[20000];
    struct sr_history_facts facts;
    (void)state;
    struct both both = open_both((struct sr_history_limits){1000, 100000, 3600000});
    sr_history_facts_init(&facts);
    facts.texts[SR_HISTORY_REQUEST_BODY] = sr_bytes_of(body, sizeof body);
    for (int i = 0; i < 12; i++) {
        struct sr_history_entry *entry = history_entry(&facts, "big", history_now_us());
        sr_history_add(both.history, entry);
        sr_history_entry_unref(entry);
    }
    close_both(both);
    assert_true(number("SELECT sum(length(bytes)) FROM history") <= 100000);
    assert_int_equal(number("SELECT count(*) FROM history"), 4);
    both = open_both((struct sr_history_limits){1000, 100000, 3600000});
    sr_history_clear(both.history);
    struct sr_history_entry *old = history_entry(&facts, "old", history_now_us() - (int64_t)3601 * 1000000);
    sr_history_add(both.history, old);
    sr_history_entry_unref(old);
    close_both(both);
    both = open_both((struct sr_history_limits){1000, 100000, 3600000});
    assert_null(strstr(history_ids(both.history), "old"));
    close_both(both);
}

static void test_one_process(void **state)
{
    struct sr_history_file *second;
    struct sr_history *other;
    struct sr_err err = {0};
    (void)state;
    struct both both = open_both(ten);
    assert_int_equal(sr_history_new(&other), SR_OK);
    assert_int_equal(sr_history_file_open(&second, path, other, &ten, NULL, &err), SR_EBUSY);
    assert_null(second);
    assert_non_null(strstr(err.message, path));
    sr_history_free(other);
    close_both(both);
}

/* Rows that are no entry are passed over. */
static void test_rows_of_others(void **state)
{
    sqlite3 *db;
    (void)state;
    struct both both = open_both(ten);
    history_add(both.history, 1, 2);
    close_both(both);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO history(ended, bytes) VALUES (9e15, x'00'), (9e15, '')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    both = open_both(ten);
    assert_string_equal(history_ids(both.history), "1 2 ");
    close_both(both);
}

static void test_what_is_no_file(void **state)
{
    struct sr_history_file *file;
    struct sr_history *history;
    struct sr_err err = {0};
    (void)state;
    FILE *text = fopen(path, "we");
    assert_non_null(text);
    for (int i = 0; i < 1000; i++)
        assert_true(fputs("no database ", text) >= 0);
    assert_int_equal(fclose(text), 0);
    assert_int_equal(sr_history_new(&history), SR_OK);
    assert_int_equal(sr_history_file_open(&file, path, history, &ten, NULL, &err), SR_EPARSE);
    assert_int_equal(sr_history_file_open(&file, "/nonexistent/a.db", history, &ten, NULL, &err), SR_EIO);
    assert_null(file);
    sr_history_file_close(NULL);
    sr_history_free(history);
}

/* A thread that cannot write does not hold anybody up: what the queue does not take is counted. */
static void test_a_full_queue(void **state)
{
    struct sr_history_file_stats stats;
    struct sr_metrics *metrics;
    struct sr_err err = {0};
    struct both both;
    (void)state;
    assert_int_equal(sr_metrics_new(&metrics), SR_OK);
    struct sr_history_limits limits = {100000, 1 << 28, 0};
    assert_int_equal(sr_history_new(&both.history), SR_OK);
    assert_int_equal(sr_history_set(both.history, &limits), SR_OK);
    assert_int_equal(sr_history_file_open(&both.file, path, both.history, &limits, metrics, &err), SR_OK);
    int added = 0;
    do { /* faster than any disk */
        history_add(both.history, 1, 5000);
        added += 5000;
        sr_history_file_stats(both.file, &stats);
    } while (!stats.dropped && added < 1000000);
    assert_true(stats.dropped > 0);
    assert_true(stats.queued <= SR_HISTORY_QUEUE);
    do
        sr_history_file_stats(both.file, &stats);
    while (stats.queued);
    assert_int_equal(stats.written + stats.dropped, added);
    close_both(both);
    sr_metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_restarts, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_outcomes_are_in_the_file, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_many, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_bytes_and_age, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_one_process, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_rows_of_others, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_what_is_no_file, make_folder, drop_folder),
        cmocka_unit_test_setup_teardown(test_a_full_queue, make_folder, drop_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
