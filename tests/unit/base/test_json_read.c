/* The reader of whole JSON texts: what it accepts, where it finds mistakes, and values as spans. */
#include "tests/unit/cmocka_all.h"

#include "base/json_read.h"

static void test_values_are_spans(void **state)
{
    (void)state;
    struct sr_err err = {0};
    struct sr_arena arena;
    struct sr_bytes text = SR_LIT("");
    sr_json_view root, value, name;
    int64_t number;
    size_t at = 0, n = 0;
    sr_arena_init(&arena, 4096);
    assert_int_equal(
        sr_json_view_open(
            &root, SR_LIT(" {\"a\":[1, -2,{}],\"b\":\"x\\n\\u00e9\\ud83d\\ude42\",\"b\":true,\"c\":null} "),
            &err),
        SR_OK);
    assert_true(sr_json_view_is_object(root));
    value = sr_json_view_get(root, "a");
    assert_true(sr_json_view_is_array(value));
    while (sr_json_view_next(value, &at, NULL, &name))
        if (n++ == 1)
            assert_true(sr_json_view_int(name, &number) && number == -2);
    assert_int_equal(n, 3);
    size_t start = 0;
    assert_false(sr_json_view_next(value, &start, &text, &name)); /* its elements have no names */
    assert_true(sr_json_view_bool(sr_json_view_get(root, "b"), false));
    at = 0;
    assert_true(sr_json_view_next(root, &at, &name, &value) && sr_json_view_next(root, &at, &name, &value));
    assert_true(sr_json_view_eq(name, "b") && sr_json_view_dup(value, &arena, &text));
    assert_true(sr_bytes_eq(text, SR_LIT("x\n\xC3\xA9\xF0\x9F\x99\x82")));
    assert_true(sr_json_view_is_null(sr_json_view_get(root, "c")));
    assert_null(sr_json_view_get(root, "d").p);
    sr_arena_dispose(&arena);
}

static void test_mistakes_have_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
        uint32_t line, column;
    } bad[] = {
        {"", "the end", 1, 1},
        {"{\n \"a\" 1}", "`:`", 2, 6},
        {"[1,\n 01]", "leading zero", 2, 4},
        {"[\"\\ud800\"]", "\\u escape", 1, 3},
        {"[\"\\x\"]", "unknown escape", 1, 3},
        {"[\"a", "unfinished string", 1, 4},
        {"[\"a\\", "unfinished string", 1, 5},
        {"[\"\xFF\"]", "not UTF-8", 1, 3},
        {"[\"\x01\"]", "control character", 1, 3},
        {"[1] 2", "after the end", 1, 5},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_err err = {0};
        sr_json_view root;
        int rc = sr_json_view_open(&root, sr_bytes_str(bad[i].text), &err);
        if (rc != SR_EPARSE || !strstr(err.message, bad[i].says) || err.line != bad[i].line ||
            err.column != bad[i].column)
            fail_msg("%s: %d, %u:%u, %s", bad[i].text, rc, err.line, err.column, err.message);
    }
}

static void test_tokens_one_after_the_other(void **state)
{
    (void)state;
    struct sr_bytes text = SR_LIT(" { \"k\\t\" : 12 } ");
    struct sr_json_cursor cursor = {.p = text.p, .n = text.n};
    sr_json_view found;
    char key[16];
    assert_false(sr_json_cursor_take(&cursor, '['));
    assert_true(sr_json_cursor_take(&cursor, '{'));
    assert_false(sr_json_cursor_number(&cursor, &found));
    assert_true(sr_json_cursor_string(&cursor, &found));
    assert_true(sr_bytes_eq(sr_bytes_of(key, sr_json_view_decode(found, key)), SR_LIT("k\t")));
    assert_true(sr_json_cursor_take(&cursor, ':'));
    assert_true(sr_json_cursor_number(&cursor, &found) && sr_bytes_eq(found, SR_LIT("12")));
    assert_true(sr_json_cursor_take(&cursor, '}'));
    assert_int_equal(sr_json_cursor_next(&cursor), text.n);
    assert_false(sr_json_cursor_take(&cursor, '}'));
    assert_false(sr_json_cursor_string(&cursor, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_spans),
        cmocka_unit_test(test_mistakes_have_their_place),
        cmocka_unit_test(test_tokens_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
