/* Patterns of endpoints: what they become for a worker, and what is none. */
#include "config/worker_pattern.h"
#include "tests/unit/cmocka_all.h"

#include <string.h>

static void expect(const char *pattern, const char *host, int port, const char *out)
{
    char text[SR_WORKER_PATTERN_MAX];
    bool good = sr_worker_pattern(text, pattern, sr_bytes_str(host), port);
    assert_int_equal(good, out != NULL);
    if (out)
        assert_string_equal(text, out);
}

static void test_patterns(void **state)
{
    (void)state;
    expect("", "h", 1, "");
    expect("tcp://{host}:5557", "10.0.0.1", 8000, "tcp://10.0.0.1:5557");
    expect("tcp://{host}:{port}", "::1", 8000, "tcp://[::1]:8000");
    expect("tcp://{host}:{port+8}", "h", 8000, "tcp://h:8008");
    expect("tcp://{host}:{port-8}", "h", 8000, "tcp://h:7992");
    expect("{port+57535}", "h", 8000, "65535");
    expect("{port+57536}", "h", 8000, NULL);
    expect("{port-8000}", "h", 8000, NULL);
    expect("{port+}", "h", 8000, NULL);
    expect("{port+x}", "h", 8000, NULL);
    expect("{port*2}", "h", 8000, NULL);
    expect("{ports}", "h", 8000, NULL);
    expect("{hosts}", "h", 8000, NULL);
    expect("{host", "h", 8000, NULL);
    expect("{}", "h", 8000, NULL);
}

static void test_length(void **state)
{
    char pattern[SR_WORKER_PATTERN_MAX + 1], text[SR_WORKER_PATTERN_MAX];
    (void)state;
    memset(pattern, 'x', sizeof pattern);
    pattern[SR_WORKER_PATTERN_MAX - 1] = '\0';
    assert_true(sr_worker_pattern(text, pattern, SR_LIT("h"), 1));
    pattern[SR_WORKER_PATTERN_MAX - 1] = 'x';
    pattern[SR_WORKER_PATTERN_MAX] = '\0';
    assert_false(sr_worker_pattern(text, pattern, SR_LIT("h"), 1));
    memcpy(pattern + SR_WORKER_PATTERN_MAX - 7, "{host}", 7);
    assert_false(sr_worker_pattern(text, pattern, SR_LIT("hostname"), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns), cmocka_unit_test(test_length)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
