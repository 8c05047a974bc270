/* The forms of a log line: JSON, and text in which nothing moves the cursor. */
#include "tests/unit/cmocka_all.h"

#include "base/log.h"

#include <unistd.h>

static char last[512];

static void keep(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)ctx, (void)level;
    assert_true(line.n < sizeof last);
    memcpy(last, line.p, line.n);
    last[line.n] = 0;
}

static const char *logged(enum sr_log_form form, const char *text)
{
    sr_log_set_sink(keep, NULL);
    sr_log_set_form(form);
    sr_log(SR_LOG_WARN, "event", "%s", text);
    sr_log_set_form(SR_LOG_JSON);
    sr_log_set_sink(NULL, NULL);
    return last;
}

static void test_forms(void **state)
{
    (void)state;
    assert_non_null(
        strstr(logged(SR_LOG_JSON, "a\nb"), "\"level\":\"warn\",\"event\":\"event\",\"msg\":\"a\\nb\"}"));
    assert_string_equal(logged(SR_LOG_TEXT, "a\nb\033[2J\x7f") + 12, " warn  event  a?b?[2J?");
    assert_int_equal(last[2], ':');
    assert_string_equal(logged(SR_LOG_COLOURED, "x") + 12, " \033[33mwarn \033[0m event  x");
}

static void test_which(void **state)
{
    int pipes[2];
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(sr_log_form_of(SR_LOG_AUTO, pipes[1]), SR_LOG_JSON);
    assert_int_equal(sr_log_form_of(SR_LOG_AUTO, -1), SR_LOG_JSON);
    assert_int_equal(sr_log_form_of(SR_LOG_ALWAYS_JSON, pipes[1]), SR_LOG_JSON);
    assert_int_equal(sr_log_form_of(SR_LOG_ALWAYS_TEXT, pipes[1]), SR_LOG_TEXT);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_which)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
