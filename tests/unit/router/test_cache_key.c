/* Keys and their parts. The body as a part of a partition: what is the same request in another spelling, and
 * what is another one. */
#include "dialect/registry.h"
#include "router/cache/key.h"
#include "tests/unit/cmocka_all.h"

#include <stdlib.h>

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

/* A text in memory of its own; the test frees it. */
static struct sr_bytes text_apart(const char *text)
{
    size_t n = strlen(text);
    char *copy = malloc(n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    return sr_bytes_of(copy, n);
}

/* The same list wherever its texts lie, and another one when a text ends elsewhere. */
static void test_texts_of_a_list_lie_anywhere(void **state)
{
    struct sr_arena arena;
    const char one[] = "a,bc,d";
    struct sr_bytes together[] = {{one, 1}, {one + 2, 2}, {one + 5, 1}};
    struct sr_bytes apart[] = {text_apart("a"), text_apart("bc"), text_apart("d")};
    struct sr_bytes backwards[] = {{one + 5, 1}, {one + 2, 2}, {one, 1}};
    struct sr_bytes moved[] = {SR_LIT("ab"), SR_LIT("c"), SR_LIT("d")};
    (void)state;
    sr_arena_init(&arena, 4096);
    struct sr_bytes list = sr_key_texts(together, 3, &arena);
    assert_int_equal(list.n, 3 * sizeof(uint64_t) + 4);
    assert_true(sr_bytes_eq(list, sr_key_texts(apart, 3, &arena)));
    assert_int_equal(sr_key_texts(backwards, 3, &arena).n, list.n);
    assert_false(sr_bytes_eq(list, sr_key_texts(backwards, 3, &arena)));
    assert_false(sr_bytes_eq(list, sr_key_texts(moved, 3, &arena)));
    assert_false(sr_bytes_eq(list, sr_key_texts(together, 2, &arena)));
    struct sr_bytes none = sr_key_texts(NULL, 0, &arena);
    assert_non_null(none.p);
    assert_int_equal(none.n, 0);
    for (size_t i = 0; i < 3; i++)
        free((char *)apart[i].p);
    sr_arena_dispose(&arena);
}

static struct sr_cache_key request_key(const struct sr_key_request *in)
{
    struct sr_arena arena;
    struct sr_cache_key key;
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_key_of_request(in, &arena, &key), SR_OK);
    sr_arena_dispose(&arena);
    return key;
}

static bool same_request(const struct sr_key_request *a, const struct sr_key_request *b)
{
    struct sr_cache_key one = request_key(a), two = request_key(b);
    return memcmp(one.bytes, two.bytes, sizeof one.bytes) == 0;
}

static struct sr_identity in_groups(const struct sr_bytes *groups, size_t n)
{
    return (struct sr_identity){
        .tenant = SR_LIT("acme"), .user = SR_LIT("eve"), .team = SR_LIT(""), .groups = groups, .n_groups = n};
}

static struct sr_key_request request_of(const struct sr_identity *identity)
{
    return (struct sr_key_request){.epoch = "1",
                                   .profile = "",
                                   .identity = identity,
                                   .target = SR_LIT("/v1/chat/completions"),
                                   .body = SR_LIT("{}"),
                                   .workload = SR_LIT(""),
                                   .session = SR_LIT(""),
                                   .conversation = SR_LIT(""),
                                   .versions = SR_LIT("")};
}

/* Groups of an API key are texts of their own, the last one before the first in memory, too. */
static void test_groups_of_a_request_lie_anywhere(void **state)
{
    char room[64] = "c,bb,aaa,b,b";
    struct sr_bytes near[] = {SR_LIT("aaa"), SR_LIT("bb"), SR_LIT("c")};
    struct sr_bytes far[] = {{room + 5, 3}, {room + 2, 2}, {room, 1}};
    struct sr_bytes others[] = {SR_LIT("aaa"), SR_LIT("bb"), SR_LIT("d")};
    struct sr_bytes cut[] = {{room + 5, 3}, {room + 9, 1}, {room + 11, 1}, {room, 1}};
    struct sr_identity one = in_groups(near, 3), two = in_groups(far, 3), three = in_groups(others, 3);
    struct sr_identity four = in_groups(cut, 4), none = in_groups(NULL, 0);
    struct sr_key_request first = request_of(&one), same = request_of(&two);
    (void)state;
    assert_true(same_request(&first, &same));
    const struct sr_identity *const differ[] = {&three, &four, &none};
    for (size_t i = 0; i < sizeof differ / sizeof differ[0]; i++) {
        struct sr_key_request other = request_of(differ[i]);
        assert_false(same_request(&first, &other));
    }
}

/* Whatever a decision reads keeps requests apart, and no part passes for another. */
static void test_parts_of_a_request(void **state)
{
    const char *small[] = {"small"}, *both[] = {"small", "large"};
    struct sr_config_key free_key = {.name = "all"}, one = {.name = "one", .models = {small, 1}};
    struct sr_config_key two = {.name = "two", .models = {both, 2}};
    struct sr_identity identity = in_groups(NULL, 0), unknown = identity, with_one = identity;
    struct sr_identity with_two = identity, with_all = identity;
    struct sr_key_request all[13];
    size_t n = sizeof all / sizeof all[0];
    (void)state;
    unknown.anonymous = true;
    for (size_t i = 0; i < n; i++)
        all[i] = request_of(&identity);
    all[1].epoch = "2";
    all[2].profile = "other";
    all[3].identity = &unknown;
    all[4].target = SR_LIT("/v1/messages");
    all[5].body = SR_LIT("{ }");
    all[6].streams = true;
    all[7].workload = SR_LIT("batch");
    all[8].session = SR_LIT("batch");
    all[9].conversation = SR_LIT("batch");
    with_one.key = &one;
    with_two.key = &two;
    with_all.key = &free_key;
    all[10].identity = &with_one;
    all[11].identity = &with_two;
    all[12].versions = SR_LIT("batch");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            assert_int_equal(same_request(&all[i], &all[k]), i == k);
    struct sr_key_request free_of_limits = request_of(&with_all);
    assert_true(same_request(&all[0], &free_of_limits));
}

/* Lengths without a sum are refused before anything is copied. */
static void test_lengths_without_a_sum(void **state)
{
    struct sr_arena arena;
    struct sr_cache_key key;
    struct sr_bytes texts[] = {{"a", SIZE_MAX - 8}, {"b", 64}};
    (void)state;
    sr_arena_init(&arena, 4096);
    for (size_t n = 1; n <= 2; n++) {
        struct sr_key_part parts[] = {{"one", texts[0]}, {"two", texts[1]}};
        assert_int_equal(sr_key_of(parts, n, &arena, &key), SR_ENOMEM);
        assert_null(sr_key_texts(texts, n, &arena).p);
    }
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_different),
        cmocka_unit_test(test_texts_of_a_list_lie_anywhere),
        cmocka_unit_test(test_groups_of_a_request_lie_anywhere),
        cmocka_unit_test(test_parts_of_a_request),
        cmocka_unit_test(test_lengths_without_a_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
