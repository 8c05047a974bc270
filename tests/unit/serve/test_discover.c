/* Lists of workers: the text of a file, and DNS messages. */
#include "serve/discover/list.h"

#include "tests/unit/cmocka_all.h"

#include <string.h>

static void bad(const char *text, const char *message)
{
    struct sr_discovered_list list = {0};
    struct sr_err err = {0};
    assert_int_equal(sr_discovered_read(&list, sr_bytes_str(text), &err), SR_EPARSE);
    if (!strstr(err.message, message))
        fail_msg("`%s` instead of `%s`", err.message, message);
    sr_discovered_dispose(&list);
}

static void test_file(void **state)
{
    (void)state;
    struct sr_discovered_list list = {0};
    struct sr_err err = {0};
    const char *text = "# workers\r\n\n10.0.0.1:8000\n  gpu-1:8001\t2.5 # fast\r\n[::1]:8002 7\nGPU-1:8001 9";
    assert_int_equal(sr_discovered_read(&list, sr_bytes_str(text), &err), SR_OK);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.items[0].host, "10.0.0.1");
    assert_true(list.items[0].weight == 1);
    assert_string_equal(list.items[1].host, "gpu-1");
    assert_int_equal(list.items[1].port, 8001);
    assert_true(list.items[1].weight == 2.5);
    assert_string_equal(list.items[2].host, "::1");
    sr_discovered_dispose(&list);
    bad("", "line 1: there is no worker");
    bad("# a\n# b\n", "line 2: there is no worker");
    bad("a:1\nb", "line 2: expected `host:port`, found `b`");
    bad("a:1 x", "line 1: expected a weight");
    bad("a:1 0", "line 1: expected a weight");
    bad("a:1 -2", "line 1: expected a weight");
    bad("a:1 nan", "line 1: expected a weight");
    bad("\na:1 1 1", "line 2: expected a weight");
    bad("http://a:1", "line 1: expected `host:port`");
}

static void test_limit(void **state)
{
    (void)state;
    struct sr_discovered_list list = {0};
    for (int i = 1; i <= SR_DISCOVER_MAX; i++)
        assert_int_equal(sr_discovered_add(&list, SR_LIT("a"), i, 1), SR_OK);
    assert_int_equal(sr_discovered_add(&list, SR_LIT("a"), SR_DISCOVER_MAX, 1), SR_OK);
    assert_int_equal(sr_discovered_add(&list, SR_LIT("b"), 1, 1), SR_ELIMIT);
    assert_int_equal(sr_discovered_add(&list, SR_LIT(""), 1, 1), SR_EINVAL);
    sr_discovered_dispose(&list);
}

/* Those over the lowest priority are backups; a weight of 0 is one; the shortest TTL is told. */
static void test_services(void **state)
{
    (void)state;
    static const char message[] = "\0\1\x81\x80\0\1\0\3\0\0\0\0\1w\0\0\x21\0\1"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x09\0\x09\0\2\0\5\x1f\x40\1a\0"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x05\0\x09\0\1\0\0\x1f\x41\1b\0"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x07\0\x09\0\1\0\3\x1f\x42\1c\0";
    struct sr_dns_records records = {.ttl_s = 0};
    struct sr_bytes bytes = sr_bytes_of(message, sizeof message - 1);
    assert_int_equal(sr_dns_read(&records, bytes, true, 0), SR_OK);
    assert_int_equal(records.ttl_s, 5);
    assert_int_equal(records.list.n, 3);
    assert_string_equal(records.list.items[1].host, "b");
    assert_int_equal(records.list.items[1].port, 8001);
    assert_true(records.list.items[1].weight == 1);
    assert_true(records.list.items[2].weight == 3);
    assert_true(records.list.items[0].backup && !records.list.items[1].backup &&
                !records.list.items[2].backup);
    sr_discovered_dispose(&records.list);
    bytes.n -= 3;
    assert_int_equal(sr_dns_read(&records, bytes, true, 0), SR_EPARSE);
    sr_discovered_dispose(&records.list);
}

/* A target that stands in two priorities counts in the lower one, whichever comes first. */
static void test_a_service_in_two_priorities(void **state)
{
    (void)state;
    static const char message[] = "\0\1\x81\x80\0\1\0\3\0\0\0\0\1w\0\0\x21\0\1"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x09\0\x09\0\2\0\5\x1f\x40\1a\0"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x05\0\x09\0\1\0\7\x1f\x40\1a\0"
                                  "\xc0\x0c\0\x21\0\1\0\0\0\x07\0\x09\0\3\0\3\x1f\x40\1a\0";
    struct sr_dns_records records = {.ttl_s = 0};
    assert_int_equal(sr_dns_read(&records, sr_bytes_of(message, sizeof message - 1), true, 0), SR_OK);
    assert_int_equal(records.list.n, 1);
    assert_false(records.list.items[0].backup);
    assert_true(records.list.items[0].weight == 7);
    sr_discovered_dispose(&records.list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_services),
        cmocka_unit_test(test_a_service_in_two_priorities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
