/* Code points: decoding and encoding, case folding, word classes. */
#include "tests/unit/cmocka_all.h"

#include "base/unicode.h"

static void test_decode_encode_round_trip(void **state)
{
    (void)state;
    for (int32_t cp = 0; cp < 0x110000; cp++) {
        char bytes[SR_UTF8_MAX];
        int32_t back;
        if (cp >= 0xD800 && cp < 0xE000)
            continue;
        size_t n = sr_utf8_encode(cp, bytes);
        assert_int_equal(sr_utf8_decode(sr_bytes_of(bytes, n), 0, &back), n);
        assert_int_equal(back, cp);
        assert_int_equal(sr_utf8_decode_before(sr_bytes_of(bytes, n), n, &back), n);
        assert_int_equal(back, cp);
        assert_true(sr_utf8_valid(sr_bytes_of(bytes, n)));
    }
}

static void test_broken_bytes(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF0\x9F\x98", "\xFF"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct sr_bytes s = sr_bytes_str(broken[i]);
        char clean[8];
        int32_t cp;
        assert_false(sr_utf8_valid(s));
        assert_int_equal(sr_utf8_decode(s, 0, &cp), 1);
        assert_int_equal(cp, SR_UTF8_REPLACEMENT);
        sr_utf8_clean(s, clean);
        assert_true(sr_utf8_valid(sr_bytes_of(clean, s.n)));
        assert_int_equal(clean[0], '?');
    }
}

static void assert_folds(const char *text, const char *expected)
{
    char out[256];
    size_t at = 0, n = sr_unicode_fold_into(sr_bytes_str(text), &at, out, sizeof out);
    assert_int_equal(at, strlen(text));
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(out, expected, n);
}

static void test_fold(void **state)
{
    (void)state;
    assert_folds("HELLO, World [@Z`]{}", "hello, world [@z`]{}");
    assert_folds("STRASSE Straße", "strasse strasse");
    assert_folds("ΟΔΥΣΣΕΥΣ", "οδυσσευσ");
    assert_folds("ПРИВЕТ", "привет");
    assert_folds("日本語とタイ ไทย", "日本語とタイ ไทย");
}

static void test_fold_stops_before_the_limit(void **state)
{
    (void)state;
    const char *text = "ÀÉÎÕÜÀÉÎÕÜÀÉÎÕÜÀÉÎÕÜ";
    char out[20];
    size_t at = 0, n = 0;
    while (at < strlen(text)) {
        size_t before = at;
        n += sr_unicode_fold_into(sr_bytes_str(text), &at, out, sizeof out);
        assert_true(at > before);
    }
    assert_int_equal(n, strlen(text));
}

static void test_classes(void **state)
{
    (void)state;
    assert_int_equal(sr_unicode_class('a'), SR_UNICODE_WORD);
    assert_int_equal(sr_unicode_class('_'), SR_UNICODE_WORD);
    assert_int_equal(sr_unicode_class('-'), SR_UNICODE_OTHER);
    assert_int_equal(sr_unicode_class(0x0436), SR_UNICODE_WORD);
    assert_int_equal(sr_unicode_class(0x4E2D), SR_UNICODE_DENSE);
    assert_int_equal(sr_unicode_class(0x30AB), SR_UNICODE_DENSE);
    assert_int_equal(sr_unicode_class(0xAC00), SR_UNICODE_KOREAN);
    assert_int_equal(sr_unicode_class(0x3002), SR_UNICODE_OTHER);
    assert_int_equal(sr_unicode_class(0x1F600), SR_UNICODE_OTHER);
}

/* Of every length, with the first other byte at every place and none. */
static void test_ascii_prefix(void **state)
{
    (void)state;
    char text[40];
    for (size_t n = 0; n <= sizeof text; n++) {
        memset(text, 'a', sizeof text);
        assert_int_equal(sr_utf8_ascii_prefix(sr_bytes_of(text, n)), n);
        for (size_t at = 0; at < n; at++) {
            memset(text, 'a', sizeof text);
            text[at] = (char)0xC3;
            assert_int_equal(sr_utf8_ascii_prefix(sr_bytes_of(text, n)), at);
            memset(text + at, 0xC3, n - at);
            assert_int_equal(sr_utf8_ascii_prefix(sr_bytes_of(text, n)), at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_encode_round_trip),
        cmocka_unit_test(test_broken_bytes),
        cmocka_unit_test(test_ascii_prefix),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_fold_stops_before_the_limit),
        cmocka_unit_test(test_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
