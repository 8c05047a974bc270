/* The body as a part of a partition: what is the same request in another spelling, and what is another one.
 */
#include "dialect/registry.h"
#include "router/cache/key.h"
#include "tests/unit/cmocka_all.h"

/* The part of a body without a question, copied. */
static void part_of(const char *body, char out[512])
{
    struct sr_dialect_paths *paths;
    struct sr_arena arena;
    struct sr_scan *scan;
    struct sr_question none = {.text = SR_LIT("")};
    struct sr_request doc = {.dialect = &sr_dialect_chat, .body = sr_bytes_str(body)};
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_dialect_paths_new(&paths, NULL), SR_OK);
    assert_int_equal(
        sr_scan_new(&scan, sr_dialect_request_paths(paths, doc.dialect), sr_scan_limits_defaults(), &arena),
        SR_OK);
    assert_int_equal(sr_scan_feed(scan, body, strlen(body), NULL), SR_OK);
    doc.spans = sr_scan_spans(scan, &doc.n_spans);
    struct sr_bytes part = sr_key_body(&doc, &none, &arena);
    assert_non_null(part.p);
    assert_true(part.n < 500);
    memset(out, 0, 512);
    out[0] = (char)part.n;
    memcpy(out + 1, part.p, part.n);
    sr_arena_dispose(&arena);
    sr_dialect_paths_free(paths);
}

static bool same(const char *a, const char *b)
{
    char one[512], two[512];
    part_of(a, one);
    part_of(b, two);
    return memcmp(one, two, sizeof one) == 0;
}

static void test_same(void **state)
{
    static const char *const pairs[][2] = {
        {"{\"a\":\"\\u00e9\\u6f22\\uD83D\\uDE42\"}", "{\"a\":\"é漢🙂\"}"},
        {"{\"a\":\"\\/\\u002f\\u0061\"}", "{\"a\":\"//a\"}"},
        {"{\"a\":\"\\u0022\\u005C\\u005c\"}", "{\"a\":\"\\\"\\\\\\\\\"}"},
        {"{\"a\":\"\\u000A\\u0009\\u000d\\u0008\\u000C\"}", "{\"a\":\"\\n\\t\\r\\b\\f\"}"},
        {"{\"a\":\"\\u001F\\u0000\"}", "{\"a\":\"\\u001f\\u0000\"}"},
        {"{\"a\":\"\\uD83D\"}", "{\"a\":\"\\ud83d\"}"},
        {"{\"a\" : [ 1, {\"b\" : \"c d\"} ] , \"e\":2}", "{\"e\":2,\"a\":[1,{\"b\":\"c d\"}]}"},
        {"{\"a\":1,\"stream\":false}", "{\"a\":1}"},
        {"{\"a\":1,\"user\":\"u\",\"stream_options\":{}}", "{\"a\":1}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_true(same(pairs[i][0], pairs[i][1]));
}

static void test_different(void **state)
{
    static const char *const pairs[][2] = {
        {"{\"a\":\"\\\\u00e9\"}", "{\"a\":\"\\u00e9\"}"},
        {"{\"a\":\"\\\\n\"}", "{\"a\":\"\\n\"}"},
        {"{\"a\":\"\\u005cn\"}", "{\"a\":\"\\u000a\"}"},
        {"{\"a\":\"\\u0022,\\u0022b\"}", "{\"a\":\"\",\"b\":\"\"}"},
        {"{\"a\":\"\\ud83d\"}", "{\"a\":\"\\ufffd\"}"},
        {"{\"a\":\"\\ud83d\"}", "{\"a\":\"\\ud83e\"}"},
        {"{\"a\":\"\\ud83d\"}", "{\"a\":\"\\\\ud83d\"}"},
        {"{\"a\":\"\\ude42\\ud83d\"}", "{\"a\":\"\\ud83d\\ude42\"}"},
        {"{\"a\":\"b c\"}", "{\"a\":\"bc\"}"},
        {"{\"a\":\"\\u0020\"}", "{\"a\":\"\"}"},
        {"{\"a\":0.7}", "{\"a\":0.70}"},
        {"{\"a\":1,\"stream\":true}", "{\"a\":1}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_false(same(pairs[i][0], pairs[i][1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
