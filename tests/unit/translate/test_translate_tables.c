/* What each API becomes in each other one: tests/data/translate has a table for requests, answers, errors and
 * streams. */
#include "tests/unit/cmocka_all.h"
#include "translate/translate.h"

#include <jansson.h>

#define MEMORY ((size_t)64 << 20)
#define UNIQUE "0123456789abcdef0123456789abcdef" /* the id of an answer without one */

static json_t *load(const char *name)
{
    char path[512];
    json_error_t error;
    snprintf(path, sizeof path, "%s/tests/data/translate/%s.json", SR_SOURCE_DIR, name);
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        fail_msg("%s:%d: %s", path, error.line, error.text);
    return json;
}

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static enum sr_translate_api api_of(const json_t *row, const char *key)
{
    int api = sr_translate_api_named(text_of(row, key));
    assert_true(api >= 0);
    return (enum sr_translate_api)api;
}

static void same(const json_t *row, struct sr_bytes got, const json_t *wanted)
{
    json_error_t error;
    json_t *json = json_loadb(got.p ? got.p : "", got.n, JSON_DECODE_ANY, &error);
    if (!json_equal(json, wanted))
        fail_msg("%s, %s to %s:\ngot    %.*s\nwanted %s", text_of(row, "name"), text_of(row, "from"),
                 text_of(row, "to"), (int)got.n, got.p ? got.p : "", json_dumps(wanted, JSON_COMPACT));
    json_decref(json);
}

static void same_warnings(const json_t *row, const struct sr_translate_warnings *warnings)
{
    const json_t *wanted = json_object_get(row, "warnings");
    if (json_array_size(wanted) != warnings->n || warnings->more)
        fail_msg("%s: %zu warnings, the first %s", text_of(row, "name"), warnings->n, warnings->items[0]);
    for (size_t i = 0; i < warnings->n; i++)
        assert_string_equal(warnings->items[i], json_string_value(json_array_get(wanted, i)));
}

typedef int (*translate)(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                         const struct sr_translate_settings *settings, struct sr_arena *arena,
                         struct sr_buf *out, struct sr_translate_warnings *warnings, struct sr_err *err);

/* Each row is translated into exactly what stands in it, or refused with its message. */
static void check_rows(const char *name, translate function)
{
    json_t *rows = load(name), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        struct sr_translate_warnings warnings = {.n = 0};
        struct sr_err err = {.code = 0};
        struct sr_arena arena;
        struct sr_buf out;
        char *in = json_dumps(json_object_get(row, "in"), JSON_COMPACT);
        char *asked = json_dumps(json_object_get(row, "asked"), JSON_COMPACT);
        struct sr_translate_settings settings = {.now_s = 1700000000,
                                                 .unique = SR_LIT(UNIQUE),
                                                 .asked = sr_bytes_str(asked),
                                                 .counts = json_is_true(json_object_get(row, "counts")),
                                                 .stores = json_is_true(json_object_get(row, "stores"))};
        sr_arena_init(&arena, MEMORY);
        sr_buf_init(&out, MEMORY);
        int rc = function(api_of(row, "from"), api_of(row, "to"), sr_bytes_str(in), &settings, &arena, &out,
                          &warnings, &err);
        if (text_of(row, "error")) {
            assert_true(rc == SR_EPARSE || rc == SR_EUNSUPPORTED);
            assert_string_equal(err.message, text_of(row, "error"));
            assert_int_equal(out.len, 0);
        } else {
            if (rc)
                fail_msg("%s: %s", text_of(row, "name"), err.message);
            same(row, sr_buf_view(&out), json_object_get(row, "out"));
            same_warnings(row, &warnings);
        }
        sr_buf_dispose(&out);
        sr_arena_dispose(&arena);
        free(in);
        free(asked);
    }
    json_decref(rows);
}

static void test_requests(void **state)
{
    (void)state;
    check_rows("requests", sr_translate_request);
}

static void test_answers(void **state)
{
    (void)state;
    check_rows("answers", sr_translate_answer);
}

/* What a request that is not translated loses; `out` null: nothing. White space in it changes nothing. */
static void check_clean(const json_t *row, size_t flags)
{
    struct sr_translate_warnings warnings = {.n = 0};
    const json_t *wanted = json_object_get(row, "out");
    char *in = json_dumps(json_object_get(row, "in"), flags);
    struct sr_arena arena;
    struct sr_buf out;
    sr_arena_init(&arena, MEMORY);
    sr_buf_init(&out, MEMORY);
    int rc = sr_translate_clean(api_of(row, "from"), sr_bytes_str(in), &arena, &out, &warnings);
    if (json_is_null(wanted)) {
        assert_int_equal(rc, SR_ENOENT);
        assert_int_equal(out.len, 0);
    } else {
        assert_int_equal(rc, SR_OK);
        same(row, sr_buf_view(&out), wanted);
    }
    same_warnings(row, &warnings);
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
    free(in);
}

static void test_clean(void **state)
{
    (void)state;
    json_t *rows = load("clean"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        check_clean(row, JSON_COMPACT);
        check_clean(row, JSON_INDENT(3));
    }
    json_decref(rows);
}

static void test_counts(void **state)
{
    (void)state;
    json_t *rows = load("counts"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        struct sr_buf out;
        sr_buf_init(&out, MEMORY);
        int rc = sr_translate_count(api_of(row, "from"), api_of(row, "to"), sr_bytes_str(text_of(row, "in")),
                                    &out);
        if (json_is_null(json_object_get(row, "out"))) {
            assert_int_equal(rc, SR_EPARSE);
            assert_int_equal(out.len, 0);
        } else {
            assert_int_equal(rc, SR_OK);
            same(row, sr_buf_view(&out), json_object_get(row, "out"));
        }
        sr_buf_dispose(&out);
    }
    json_decref(rows);
}

static void test_errors(void **state)
{
    (void)state;
    json_t *rows = load("errors"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        struct sr_arena arena;
        struct sr_buf out;
        sr_arena_init(&arena, MEMORY);
        sr_buf_init(&out, MEMORY);
        assert_int_equal(sr_translate_error(api_of(row, "to"),
                                            (int)json_integer_value(json_object_get(row, "status")),
                                            sr_bytes_str(text_of(row, "in")), &arena, &out),
                         SR_OK);
        same(row, sr_buf_view(&out), json_object_get(row, "out"));
        sr_buf_dispose(&out);
        sr_arena_dispose(&arena);
    }
    json_decref(rows);
}

/* ---- streams ---- */

/* Rows have the events of a stream as [name, data]; name null: none. */
static void write_stream(const json_t *events, struct sr_buf *out)
{
    json_t *event;
    size_t i;
    json_array_foreach(events, i, event)
    {
        const char *name = json_string_value(json_array_get(event, 0));
        const json_t *data = json_array_get(event, 1);
        char *text = json_is_string(data) ? strdup(json_string_value(data)) : json_dumps(data, JSON_COMPACT);
        if (name)
            assert_int_equal(sr_buf_printf(out, "event: %s\n", name), SR_OK);
        assert_int_equal(sr_buf_printf(out, "data: %s\n\n", text), SR_OK);
        free(text);
    }
}

/* The events of a stream as rows have them, and what its comment names. */
static json_t *read_stream(struct sr_bytes text, json_t *warnings)
{
    static const char mark[] = ": x-vsr-protocol-warnings: ";
    json_t *events = json_array();
    const char *name = NULL;
    char *copy = strndup(text.p ? text.p : "", text.n), *rest = copy, *line;
    while ((line = strsep(&rest, "\n"))) {
        if (strncmp(line, "event: ", 7) == 0)
            name = line + 7;
        if (strncmp(line, mark, sizeof mark - 1) == 0)
            for (char *names = line + sizeof mark - 1, *one; (one = strsep(&names, ","));)
                json_array_append_new(warnings, json_string(one + (*one == ' ')));
        if (strncmp(line, "data: ", 6) != 0)
            continue;
        json_t *data = json_loads(line + 6, JSON_DECODE_ANY, NULL);
        json_array_append_new(events, json_pack("[s?,o]", name, data ? data : json_string(line + 6)));
        name = NULL;
    }
    free(copy);
    return events;
}

/* Feeds a stream in pieces of `size` bytes. */
static void feed(const json_t *row, struct sr_bytes in, size_t size, struct sr_buf *out)
{
    struct sr_translate_stream *stream;
    char *asked = json_dumps(json_object_get(row, "asked"), JSON_COMPACT);
    struct sr_translate_settings settings = {
        .now_s = 1700000000, .unique = SR_LIT(UNIQUE), .usage = true, .asked = sr_bytes_str(asked)};
    assert_int_equal(sr_translate_stream_new(&stream, api_of(row, "from"), api_of(row, "to"), &settings),
                     SR_OK);
    for (size_t at = 0; at < in.n; at += size) {
        size_t n = in.n - at < size ? in.n - at : size;
        int rc = sr_translate_stream_feed(stream, sr_bytes_of(in.p + at, n), out);
        if (rc)
            assert_non_null(json_object_get(row, "fails"));
    }
    assert_int_equal(sr_translate_stream_end(stream, out), SR_OK);
    sr_translate_stream_free(stream);
    free(asked);
}

/* Feeds a stream in two pieces, cut at each of its bytes in turn: the same comes out. */
static void check_every_cut(const json_t *row, struct sr_bytes in, const struct sr_buf *wanted)
{
    struct sr_translate_settings settings = {.now_s = 1700000000, .unique = SR_LIT(UNIQUE), .usage = true};
    char *asked = json_dumps(json_object_get(row, "asked"), JSON_COMPACT);
    settings.asked = sr_bytes_str(asked);
    for (size_t cut = 1; cut < in.n; cut++) {
        struct sr_translate_stream *stream;
        struct sr_buf out;
        sr_buf_init(&out, MEMORY);
        assert_int_equal(sr_translate_stream_new(&stream, api_of(row, "from"), api_of(row, "to"), &settings),
                         SR_OK);
        assert_int_equal(sr_translate_stream_feed(stream, sr_bytes_of(in.p, cut), &out), SR_OK);
        assert_int_equal(sr_translate_stream_feed(stream, sr_bytes_of(in.p + cut, in.n - cut), &out), SR_OK);
        assert_int_equal(sr_translate_stream_end(stream, &out), SR_OK);
        assert_int_equal(out.len, wanted->len);
        assert_memory_equal(out.data, wanted->data, wanted->len);
        sr_translate_stream_free(stream);
        sr_buf_dispose(&out);
    }
    free(asked);
}

/* Each stream becomes what stands in its row, wherever its bytes are cut. */
static void test_streams(void **state)
{
    (void)state;
    json_t *rows = load("streams"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        struct sr_buf in, out, again;
        sr_buf_init(&in, MEMORY);
        sr_buf_init(&out, MEMORY);
        sr_buf_init(&again, MEMORY);
        write_stream(json_object_get(row, "in"), &in);
        feed(row, sr_buf_view(&in), in.len, &out);
        json_t *warnings = json_array(), *none = json_array();
        json_t *got = read_stream(sr_buf_view(&out), warnings);
        const json_t *wanted = json_object_get(row, "warnings");
        if (!json_equal(got, json_object_get(row, "out")))
            fail_msg("%s, %s to %s:\ngot %s", text_of(row, "name"), text_of(row, "from"), text_of(row, "to"),
                     json_dumps(got, JSON_COMPACT));
        if (!json_equal(warnings, wanted ? wanted : none))
            fail_msg("%s, %s to %s: %s", text_of(row, "name"), text_of(row, "from"), text_of(row, "to"),
                     json_dumps(warnings, JSON_COMPACT));
        for (size_t size = 1; size < 40; size += size < 8 ? 1 : 7) {
            sr_buf_clear(&again);
            feed(row, sr_buf_view(&in), size, &again);
            assert_int_equal(again.len, out.len);
            assert_memory_equal(again.data, out.data, out.len);
        }
        if (strcmp(text_of(row, "name"), "all") == 0)
            check_every_cut(row, sr_buf_view(&in), &out);
        json_decref(got);
        json_decref(warnings);
        json_decref(none);
        sr_buf_dispose(&in);
        sr_buf_dispose(&out);
        sr_buf_dispose(&again);
    }
    json_decref(rows);
}

/* An event goes on with its last byte: nothing waits for the next one. */
static void test_events_go_at_once(void **state)
{
    (void)state;
    static const char *const chunks[] = {
        "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n",
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"}}]}\n\n",
    };
    for (int to = SR_TRANSLATE_RESPONSES; to <= SR_TRANSLATE_MESSAGES; to++) {
        struct sr_translate_stream *stream;
        struct sr_translate_settings settings = {.now_s = 1};
        struct sr_buf out;
        sr_buf_init(&out, MEMORY);
        assert_int_equal(
            sr_translate_stream_new(&stream, SR_TRANSLATE_CHAT, (enum sr_translate_api)to, &settings), SR_OK);
        for (size_t i = 0; i < 3; i++) {
            size_t before = out.len;
            assert_int_equal(sr_translate_stream_feed(stream, sr_bytes_str(chunks[i]), &out), SR_OK);
            assert_true(out.len > before);
            assert_false(sr_translate_stream_done(stream));
        }
        sr_translate_stream_free(stream);
        sr_buf_dispose(&out);
    }
}

/* A stream is bounded: an endless event and endless texts end with an error. */
static void test_limits(void **state)
{
    (void)state;
    struct sr_translate_stream *stream;
    struct sr_translate_settings settings = {.now_s = 1};
    struct sr_buf out, piece;
    sr_buf_init(&out, MEMORY);
    sr_buf_init(&piece, MEMORY);
    assert_int_equal(sr_buf_printf(&piece, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\""),
                     SR_OK);
    for (size_t i = 0; i < 1 << 20; i++)
        assert_int_equal(sr_buf_append(&piece, "x", 1), SR_OK);
    assert_int_equal(sr_translate_stream_new(&stream, SR_TRANSLATE_CHAT, SR_TRANSLATE_RESPONSES, &settings),
                     SR_OK);
    int rc = SR_OK;
    for (int i = 0; i < 20 && !rc; i++) {
        rc = sr_translate_stream_feed(stream, sr_buf_view(&piece), &out);
        if (!rc)
            rc = sr_translate_stream_feed(stream, SR_LIT("\"}}]}\n\n"), &out);
    }
    assert_int_equal(rc, SR_ELIMIT);
    assert_true(sr_translate_stream_done(stream));
    size_t before = out.len;
    assert_int_equal(sr_translate_stream_feed(stream, sr_buf_view(&piece), &out), SR_OK);
    assert_int_equal(out.len, before);
    sr_translate_stream_free(stream);
    assert_int_equal(sr_translate_stream_new(&stream, SR_TRANSLATE_CHAT, SR_TRANSLATE_MESSAGES, &settings),
                     SR_OK);
    rc = SR_OK;
    for (int i = 0; i < 20 && !rc; i++)
        rc = sr_translate_stream_feed(stream, sr_buf_view(&piece), &out);
    assert_int_equal(rc, SR_ELIMIT);
    sr_translate_stream_free(stream);
    sr_buf_dispose(&piece);
    sr_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests), cmocka_unit_test(test_answers),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_streams),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_events_go_at_once),
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
