/* The JSON of a call's arguments stays JSON, whatever of it is replaced. */
#include "router/edit/arguments.h"

#include "base/json_read.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

/* Writes `text` with "X" for the first piece of [start, end), and nothing for the others. */
static void replace(struct sr_arguments *arguments, const char *text, size_t start, size_t end, char *out,
                    size_t room)
{
    struct sr_arguments_piece piece;
    size_t at = 0, n = 0;
    const char *put = "X";
    sr_arguments_read(arguments, sr_bytes_str(text));
    while (sr_arguments_next(arguments, &start, end, &piece)) {
        n += (size_t)snprintf(out + n, room - n, "%.*s%s%s%s", (int)(piece.start - at), text + at,
                              piece.open ? "\"" : "", put, piece.close ? "\"" : "");
        at = piece.end;
        put = "";
    }
    snprintf(out + n, room - n, "%s", text + at);
}

static void test_pieces(void **state)
{
    static const struct {
        const char *text, *from, *to, *wanted;
    } cases[] = {
        {"{\"to\":\"a@b.de, c@d.de, e@f.de\"}", "c@", ", e", "{\"to\":\"a@b.de, X, e@f.de\"}"},
        {"{\"csv\":\"id,4111,paid\"}", "4111", ",paid", "{\"csv\":\"id,X,paid\"}"},
        {"{\"s\":\"say \\\"a\\\", 4111, b\"}", "4111", ", b", "{\"s\":\"say \\\"a\\\", X, b\"}"},
        {"{\"n\":-4111.0}", "4111", ".0", "{\"n\":\"X\"}"},
        {"{\"n\":[41, 11]}", "41", "]", "{\"n\":[\"X\"]}"},
        {"{\"n\":[\"41\", 11, \"11\"]}", "41", "\"]", "{\"n\":[\"X\"]}"},
        {"{\"n\":[\"41\", 11, \"11\", 11]}", "41", "]", "{\"n\":[\"X\"]}"},
        {"{\"n\":[[41],[11]]}", "41", "]]", "{\"n\":[[\"X\"],[\"\"]]}"},
        {"{\"n\":41,\"11\":1}", "41", "\":1", "{\"n\":\"X\",\"\":1}"},
        {"{\"n\":\"a\\nbob@b.de\"}", "nbob", "\"}", "{\"n\":\"a\\nX\"}"},
        {"{\"n\":\"\\u0062ob@b.de\"}", "u0062", "\"}", "{\"n\":\"X\"}"},
        {"[1,4111,2", "4111", ",2", "[1,X,2"},
        {"see [a], 4111, and", "4111", ", and", "see [a], X, and"},
        {"4111", "4111", "", "X"},
    };
    char out[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_arguments arguments = {.at = 0};
        const char *text = cases[i].text, *from = strstr(text, cases[i].from);
        const char *to = *cases[i].to ? strstr(from, cases[i].to) : text + strlen(text);
        replace(&arguments, text, (size_t)(from - text), (size_t)(to - text), out, sizeof out);
        assert_string_equal(out, cases[i].wanted);
    }
}

/* Every range, in any order of ranges. */
static void test_stays_json(void **state)
{
    static const char *const texts[] = {
        "{\"a\":\"x, \\\"y\\\" \\u00e9\\n z\",\"b\":[1, "
        "-2.5e3,\"c\",[true,null],{}],\"d\":{\"e\":7,\"\":\"\"}}",
        " [ {\"4\" : 1 , \"5\":\"\\\\\"} , 6,7 , \"8\" ] ",
    };
    struct sr_arguments arguments = {.at = 0};
    char out[512];
    sr_json_view root;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t start = 0; start < strlen(texts[i]); start++)
            for (size_t end = start + 1; end <= strlen(texts[i]); end++) {
                replace(&arguments, texts[i], start, end, out, sizeof out);
                if (sr_json_view_open(&root, sr_bytes_str(out), NULL))
                    fail_msg("%zu to %zu: %s", start, end, out);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_stays_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
