/* Hexadecimal and base64: every byte there and back, and what is refused. */
#include "base/base64.h"
#include "base/hex.h"
#include "tests/unit/cmocka_all.h"

#include <string.h>

static void test_hex(void **state)
{
    uint8_t bytes[256], again[256];
    char text[2 * sizeof bytes + 1];
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    sr_hex_write(bytes, sizeof bytes, text);
    assert_int_equal(strlen(text), 2 * sizeof bytes);
    assert_memory_equal(text, "000102", 6);
    assert_string_equal(text + 2 * sizeof bytes - 4, "feff");
    assert_true(sr_hex_read(text, sizeof bytes, again));
    assert_memory_equal(bytes, again, sizeof bytes);
    assert_false(sr_hex_read("0A", 1, again));
    assert_false(sr_hex_read("a/", 1, again));
    assert_false(sr_hex_read("g0", 1, again));
}

/* Bytes whose lower-case bit makes them look like digits are none. */
static void test_hex_digits(void **state)
{
    static const char all[] = "0123456789abcdefABCDEF";
    int digits = 0;
    (void)state;
    for (int c = 0; c < 256; c++) {
        const char *at = c ? strchr(all, c) : NULL;
        int value = sr_hex_digit((char)c);
        assert_int_equal(value, !at ? -1 : (at - all) < 16 ? at - all : at - all - 6);
        digits += value >= 0;
    }
    assert_int_equal(digits, 22);
}

static void test_base64(void **state)
{
    static const struct {
        const char *plain, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}}; /* RFC 4648, 10 */
    static const char *const refused[] = {"Zg", "Zg=", "Zh==", "Zm9v=", "Zm 9", "Z===", "____", "+-+-"};
    char text[16];
    uint8_t bytes[16];
    size_t n;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].plain);
        sr_base64_write((const uint8_t *)cases[i].plain, size, text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(SR_BASE64_SIZE(size), strlen(text));
        assert_int_equal(sr_base64_read(sr_bytes_str(text), (uint8_t *)text, &n), SR_OK); /* in place */
        assert_int_equal(n, size);
        assert_memory_equal(text, cases[i].plain, size);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(sr_base64_read(sr_bytes_str(refused[i]), bytes, &n), SR_EPARSE);
}

static void test_base64_digits(void **state)
{
    int digits = 0;
    (void)state;
    for (int c = 0; c < 256; c++)
        digits += sr_base64_digit((char)c) >= 0;
    assert_int_equal(digits, 66);
    assert_int_equal(sr_base64_digit('-'), sr_base64_digit('+'));
    assert_int_equal(sr_base64_digit('_'), sr_base64_digit('/'));
    assert_int_equal(sr_base64_digit('='), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hex),
        cmocka_unit_test(test_hex_digits),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
