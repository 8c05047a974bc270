/* Days and moments, against the C library's calendar. */
#include "tests/unit/cmocka_all.h"

#include "config/bind/date.h"

#include <stdio.h>
#include <time.h>

static void test_every_day(void **state)
{
    (void)state;
    for (time_t day = 0; day < (time_t)86400 * 366 * 600; day += (time_t)86400 * 13 + 3671) {
        struct tm tm;
        char text[64];
        int64_t got = -1;
        assert_non_null(gmtime_r(&day, &tm));
        assert_true(strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 20);
        assert_true(sr_date_read(sr_bytes_str(text), &got));
        assert_int_equal(got, day);
        assert_true(sr_date_read(sr_bytes_of(text, 10), &got));
        assert_int_equal(got, day - day % 86400);
    }
}

static void test_no_dates(void **state)
{
    static const char *const bad[] = {
        "",           "2027",       "2027-13-01",           "2027-00-01",          "2027-02-29",
        "1900-01-01", "2027/01/01", "2027-01-01T24:00:00Z", "2027-01-01T00:00:00", "2027-01-01T00:00:60Z",
        "2O27-01-01", "2027-1-001"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t out = 7;
        assert_false(sr_date_read(sr_bytes_str(bad[i]), &out));
        assert_int_equal(out, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_day), cmocka_unit_test(test_no_dates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
