/* serve/address: how doors' addresses may be written. */
#include "serve/process/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void expect(const char *text, const char *host, int port)
{
    struct sr_address address;
    assert_int_equal(sr_address_parse(&address, text, NULL), SR_OK);
    assert_false(address.off);
    assert_string_equal(address.host, host);
    assert_int_equal(address.port, port);
}

static void test_forms(void **state)
{
    (void)state;
    expect("10.0.0.1:80", "10.0.0.1", 80);
    expect("8801", "127.0.0.1", 8801);
    expect(":8801", "", 8801);
    expect("[::1]:443", "::1", 443);
    expect("gateway.local:0", "gateway.local", 0);
    struct sr_address address;
    assert_int_equal(sr_address_parse(&address, "off", NULL), SR_OK);
    assert_true(address.off);
}

static void test_mistakes(void **state)
{
    static const char *const wrong[] = {"", ":", "x", "1:2:3", "::1:80", "a:70000", "a:-1", "a:80x", "[::1]"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sr_address address;
        struct sr_err err = {0};
        assert_int_equal(sr_address_parse(&address, wrong[i], &err), SR_EINVAL);
        assert_non_null(strstr(err.message, "ADDRESS:PORT"));
    }
}

static void test_long_host(void **state)
{
    (void)state;
    char text[400];
    struct sr_address address;
    memset(text, 'a', sizeof text);
    memcpy(text + sizeof text - 4, ":80", 4);
    assert_int_equal(sr_address_parse(&address, text, NULL), SR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_long_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
