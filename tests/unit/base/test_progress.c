/* Steps in progress: their order, their numbers, and what the log has of them. */
#include "tests/unit/cmocka_all.h"

#include "base/log.h"
#include "base/progress.h"

#include <stdio.h>

static void test_order_and_numbers(void **state)
{
    struct sr_progress first, second, third;
    struct sr_progress_view views[4];
    (void)state;
    assert_int_equal(sr_progress_now(views, 4), 0);
    sr_progress_begin(&first, "configuration %s", "a.yaml");
    sr_progress_begin(&second, "model %s", "small");
    sr_progress_begin(&third, "tool database %s", "tools.json");
    sr_progress_set(&third, 5, 20);
    assert_int_equal(sr_progress_now(views, 4), 3);
    assert_string_equal(views[0].name, "configuration a.yaml");
    assert_string_equal(views[1].name, "model small");
    assert_true(views[1].done == 0 && views[1].total == 0);
    assert_string_equal(views[2].name, "tool database tools.json");
    assert_true(views[2].done == 5 && views[2].total == 20);
    assert_int_equal(sr_progress_now(views, 2), 2); /* the first ones */
    assert_string_equal(views[1].name, "model small");
    sr_progress_end(&second);
    assert_int_equal(sr_progress_now(views, 4), 2);
    assert_string_equal(views[1].name, "tool database tools.json");
    sr_progress_end(&third);
    sr_progress_end(&first);
    assert_int_equal(sr_progress_now(views, 4), 0);
}

static unsigned lines;
static char last[256];

static void keep(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)ctx, (void)level;
    lines++;
    snprintf(last, sizeof last, "%.*s", (int)line.n, line.p);
}

/* A step is logged when its parts are known, then not before five more seconds, and at its end. */
static void test_log(void **state)
{
    struct sr_progress step;
    (void)state;
    sr_log_set_sink(keep, NULL);
    for (unsigned on = 0; on < 2; on++) {
        sr_progress_log(on);
        lines = 0;
        sr_progress_begin(&step, "step");
        sr_progress_set(&step, 0, 4);
        sr_progress_set(&step, 1, 4);
        assert_int_equal(lines, on);
        step.began_ns -= 6 * UINT64_C(1000000000);
        step.said_ns -= 6 * UINT64_C(1000000000);
        sr_progress_set(&step, 2, 4);
        assert_int_equal(lines, 2 * on);
        sr_progress_end(&step);
        assert_int_equal(lines, 3 * on);
    }
    assert_non_null(strstr(last, "step: done in "));
    sr_log_set_sink(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_numbers),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
