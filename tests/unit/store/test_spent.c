/* What is spent of budgets is in the file, and back in the table after a restart. */
#include "tests/unit/cmocka_all.h"

#include "base/clock.h"
#include "store/sqlite/spent.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DAY_MS 86400000u

static uint64_t now_ms(void)
{
    return sr_clock_wall_ns() / SR_NS_PER_MS;
}

static struct sr_limit limit_of(unsigned char number, int64_t cost, uint64_t ends_ms)
{
    struct sr_limit limit = {.max = 1000000, .cost = cost, .unit_ms = DAY_MS, .ends_ms = ends_ms};
    memset(limit.key.bytes, number, sizeof limit.key.bytes);
    return limit;
}

static int64_t spent(struct sr_limit_table *table, unsigned char number, uint64_t ends_ms)
{
    struct sr_limit limit = limit_of(number, 0, ends_ms);
    struct sr_limit_result result;
    sr_limit_take(table, &limit, 1, now_ms(), &result);
    return limit.max - result.remaining;
}

static void open_both(struct sr_limit_table **table, struct sr_spent_file **file, const char *path, int code)
{
    struct sr_err err = {0};
    assert_int_equal(sr_limit_table_new(table, 1000), SR_OK);
    int rc = sr_spent_file_open(file, path, *table, &err);
    if (rc != code)
        print_message("%s\n", err.message);
    assert_int_equal(rc, code);
    if (code)
        assert_non_null(strstr(err.message, path));
}

static void test_over_restarts(void **state)
{
    char folder[] = "/tmp/sr-spent-XXXXXX", path[64], side[80];
    struct sr_limit_table *table, *other;
    struct sr_spent_file *file, *second;
    struct sr_limit_result result;
    uint64_t ends = now_ms() + DAY_MS, soon = now_ms() + 1;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/budgets.db", folder);
    open_both(&table, &file, path, SR_OK);
    struct sr_limit limits[] = {limit_of(1, 100, ends), limit_of(2, 7, ends), limit_of(3, 5, 0),
                                limit_of(4, 9, soon)};
    sr_limit_take(table, limits, 4, now_ms(), &result);
    assert_true(result.allowed);
    open_both(&other, &second, path, SR_EBUSY); /* one process has it */
    assert_null(second);
    sr_limit_table_free(other);
    sr_spent_file_close(file);
    sr_limit_table_free(table);
    for (int i = 1; i <= 3; i++) {
        open_both(&table, &file, path, SR_OK);
        assert_int_equal(spent(table, 1, ends), 100 * i);
        assert_int_equal(spent(table, 2, ends), 7);
        assert_int_equal(spent(table, 3, 0), 0); /* a window that slides is not kept */
        struct sr_limit_change more = {.key = limits[0].key, .ends_ms = ends, .more = 100};
        sr_limit_change(table, &more, 1, now_ms());
        sr_spent_file_close(file);
        sr_limit_table_free(table);
    }
    assert_int_equal(unlink(path), 0);
    snprintf(side, sizeof side, "%s-wal", path);
    unlink(side);
    assert_int_equal(rmdir(folder), 0);
}

static void test_what_is_no_file(void **state)
{
    char folder[] = "/tmp/sr-spent-XXXXXX", path[64];
    struct sr_limit_table *table;
    struct sr_spent_file *file;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/budgets.db", folder);
    FILE *text = fopen(path, "we");
    assert_non_null(text);
    for (int i = 0; i < 1000; i++)
        assert_true(fputs("no database ", text) >= 0);
    assert_int_equal(fclose(text), 0);
    open_both(&table, &file, path, SR_EPARSE);
    sr_limit_table_free(table);
    assert_int_equal(unlink(path), 0);
    open_both(&table, &file, "/nonexistent/budgets.db", SR_EIO);
    sr_limit_table_free(table);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_over_restarts),
                                       cmocka_unit_test(test_what_is_no_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
