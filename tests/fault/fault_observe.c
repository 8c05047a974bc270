/* Fails the Nth allocation of metrics, line sink and mock, for every N: an error or the right thing, never a
 * leak. */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "mock/answer.h"
#include "observe/exposition.h"
#include "observe/lines.h"

#include <stdio.h>
#include <unistd.h>

#define ATTEMPTS_MAX 2000

/* Calls `work` with the 1st, 2nd, ... allocation failing until it needs none of them to fail. */
static void fail_each(bool (*work)(void))
{
    for (size_t nth = 1; nth < ATTEMPTS_MAX; nth++) {
        sr_mem_fail_at(nth);
        bool done = work();
        bool reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        if (!reached) {
            assert_true(done);
            return;
        }
    }
    fail_msg("no end after %d attempts", ATTEMPTS_MAX);
}

static bool use_metrics(void)
{
    struct sr_metrics *metrics = NULL;
    struct sr_buf out;
    if (sr_metrics_new(&metrics) != SR_OK) {
        assert_null(metrics);
        return false;
    }
    for (int i = 0; i < 3; i++) /* a series that cannot be made is lost, no more */
        sr_metrics_add(metrics, SR_METRIC_ERRORS, 1, (struct sr_bytes[]){SR_LIT("m"), SR_LIT("r")});
    sr_metrics_set(metrics, SR_METRIC_INFLIGHT, 1, &SR_LIT("m"));
    sr_buf_init(&out, 1 << 20);
    bool done = sr_expose_metrics(metrics, SR_EXPOSITION_TEXT, &out) == SR_OK &&
                strstr(out.data, "{model=\"m\",reason=\"r\"} 3\n") && strstr(out.data, "inflight");
    sr_buf_dispose(&out);
    sr_metrics_free(metrics);
    return done;
}

static bool use_lines(void)
{
    struct sr_lines *lines = NULL;
    struct sr_err err = {0};
    if (sr_lines_open(&lines, "access", "/dev/null", 1000, &err) != SR_OK) {
        assert_null(lines);
        assert_true(err.message[0]);
        return false;
    }
    sr_lines_write(lines, SR_LIT("one"));
    bool done = sr_lines_dropped(lines) == 0;
    sr_lines_close(lines, 2000);
    return done;
}

static bool use_mock(void)
{
    static const char body[] =
        "{\"model\":\"m\",\"input\":[\"x\",\"y\"],\"messages\":[{\"content\":\"hello\"}]}";
    struct sr_paths *paths = NULL;
    struct sr_scan *scan = NULL;
    struct sr_err err = {0};
    struct sr_mock_ask ask = {.endpoint = SR_MOCK_EMBEDDING};
    struct sr_arena arena;
    struct sr_buf head, tail;
    size_t n = 0;
    sr_arena_init(&arena, 1 << 20);
    sr_buf_init(&head, 1 << 20);
    sr_buf_init(&tail, 1 << 20);
    bool done = sr_mock_paths(&paths, &err) == SR_OK &&
                sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena) == SR_OK &&
                sr_scan_feed(scan, body, sizeof body - 1, &err) == SR_OK &&
                sr_scan_finish(scan, &err) == SR_OK;
    if (done) {
        const struct sr_span *spans = sr_scan_spans(scan, &n);
        sr_mock_ask_read(&ask, spans, n, sr_bytes_of(body, sizeof body - 1));
        assert_int_equal(ask.prompt_bytes, 7);
        done = sr_mock_answer(&ask, &head, &tail) == SR_OK;
        ask.endpoint = SR_MOCK_CHAT;
        done = sr_mock_answer(&ask, &head, &tail) == SR_OK && done;
        done = sr_mock_frame(&ask, 4, 1, 100, &head) == SR_OK && done;
    }
    sr_paths_unref(paths);
    sr_arena_dispose(&arena);
    sr_buf_dispose(&head);
    sr_buf_dispose(&tail);
    return done;
}

static void metrics_survive(void **state)
{
    (void)state;
    fail_each(use_metrics);
}

static void lines_survive(void **state)
{
    (void)state;
    fail_each(use_lines);
}

static void mock_answers_survive(void **state)
{
    (void)state;
    fail_each(use_mock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(metrics_survive), cmocka_unit_test(lines_survive),
                                       cmocka_unit_test(mock_answers_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
