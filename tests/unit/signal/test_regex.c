/* Regular expressions over a text: what is counted, and the limits of what it costs. */
#include "signal/keyword/regex.h"

#include "tests/unit/cmocka_all.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static size_t thread_clock_reads;

int clock_gettime(clockid_t id, struct timespec *ts) /* instead of libc's */
{
    thread_clock_reads += id == CLOCK_THREAD_CPUTIME_ID;
    return (int)syscall(SYS_clock_gettime, id, ts);
}

static size_t count_regex(const char *pattern, struct sr_bytes text, size_t max)
{
    struct sr_regex *regex = NULL;
    size_t count = 0;
    assert_int_equal(sr_regex_new(&regex, sr_bytes_str(pattern), false, NULL), SR_OK);
    assert_int_equal(sr_regex_count(regex, text, max, &count), SR_OK);
    sr_regex_free(regex);
    return count;
}

static void test_regex_counts(void **state)
{
    (void)state;
    assert_int_equal(count_regex("a", SR_LIT("banana"), SIZE_MAX), 3);
    assert_int_equal(count_regex("a", SR_LIT("banana"), 2), 2);
    assert_int_equal(count_regex("", SR_LIT("日本"), SIZE_MAX), 3);
    assert_int_equal(count_regex("x*", SR_LIT(""), SIZE_MAX), 1);
    assert_int_equal(count_regex("\\w+", SR_LIT("größe и МИР"), SIZE_MAX), 3);
    assert_int_equal(count_regex("^", SR_LIT("a\nb"), SIZE_MAX), 1);
}

/* Matches that lie across slices are found once each. */
static void test_regex_slices(void **state)
{
    (void)state;
    size_t n = 20000;
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++)
        text[i] = "abcdefghi "[i % 10];
    assert_int_equal(count_regex("[a-i]+ ", sr_bytes_of(text, n), SIZE_MAX), n / 10);
    assert_int_equal(count_regex("(?s)abc.{5000}", sr_bytes_of(text, n), SIZE_MAX), 3);
    assert_int_equal(count_regex("^abc", sr_bytes_of(text, n), SIZE_MAX), 1);
    assert_int_equal(count_regex("ghi $", sr_bytes_of(text, n), SIZE_MAX), 1);
    for (size_t i = 0; i + 3 <= n; i += 3)
        memcpy(text + i, "\xE6\x97\xA5", 3);
    assert_int_equal(count_regex("日", sr_bytes_of(text, n / 3 * 3), SIZE_MAX), n / 3);
    free(text);
}

/* Each start stays just under the step limit, the whole would take minutes: the clock ends it. */
static void test_regex_budget(void **state)
{
    (void)state;
    size_t n = 4 << 20, count = 0;
    struct sr_regex *regex = NULL;
    char *text = malloc(n);
    memset(text, 'a', n);
    for (size_t i = 0; i < n; i += 120)
        text[i] = ' ';
    assert_int_equal(sr_regex_new(&regex, SR_LIT("(a|b)*?(a|b)*?c"), false, NULL), SR_OK);
    int rc = sr_regex_count(regex, sr_bytes_of(text, n), 1, &count);
    assert_int_equal(rc, SR_ELIMIT);
    sr_regex_free(regex);
    free(text);
}

/* Reading the thread's time is a system call: many matches do not need as many. */
static void test_regex_looks_at_the_clock_seldom(void **state)
{
    (void)state;
    char text[31500];
    memset(text, 'a', sizeof text);
    thread_clock_reads = 0;
    assert_int_equal(count_regex("[?!]|", sr_bytes_of(text, sizeof text), SIZE_MAX), sizeof text + 1);
    assert_in_range(thread_clock_reads, 1, sizeof text / 100);
}

static void test_regex_rejects(void **state)
{
    (void)state;
    struct sr_regex *regex = NULL;
    struct sr_err err = {0};
    char *big = calloc(1, 10000);
    memset(big, 'a', 9000);
    assert_int_equal(sr_regex_new(&regex, SR_LIT("ab)"), false, &err), SR_EPARSE);
    assert_int_equal(err.offset, 2);
    assert_int_equal(sr_regex_new(&regex, SR_LIT("\\C"), false, &err), SR_EPARSE);
    assert_int_equal(sr_regex_new(&regex, sr_bytes_str(big), false, &err), SR_ELIMIT);
    sr_regex_free(NULL);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex_counts),  cmocka_unit_test(test_regex_slices),
        cmocka_unit_test(test_regex_budget),  cmocka_unit_test(test_regex_looks_at_the_clock_seldom),
        cmocka_unit_test(test_regex_rejects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
