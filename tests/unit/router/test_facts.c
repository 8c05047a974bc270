/* The facts of a request, from its spans: messages by role, tools, images, metadata, earlier turns. */
#include "dialect/registry.h"
#include "router/request/facts.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>

struct kit {
    struct sr_dialect_paths *paths;
    struct sr_arena arena;
    struct sr_signal_facts facts;
};

static const struct sr_signal_facts *read_of(struct kit *kit, const struct sr_dialect_ops *dialect,
                                             const char *body)
{
    struct sr_scan *scan;
    struct sr_request doc = {.dialect = dialect, .body = sr_bytes_str(body)};
    memset(kit, 0, sizeof *kit);
    sr_arena_init(&kit->arena, 1 << 20);
    assert_int_equal(sr_dialect_paths_new(&kit->paths, NULL), SR_OK);
    assert_int_equal(sr_scan_new(&scan, sr_dialect_request_paths(kit->paths, dialect),
                                 sr_scan_limits_defaults(), &kit->arena),
                     SR_OK);
    assert_int_equal(sr_scan_feed(scan, body, strlen(body), NULL), SR_OK);
    doc.spans = sr_scan_spans(scan, &doc.n_spans);
    sr_request_index(&doc);
    assert_int_equal(sr_facts_read(&kit->facts, &doc, true, &kit->arena), SR_OK);
    return &kit->facts;
}

static void close_kit(struct kit *kit)
{
    sr_arena_dispose(&kit->arena);
    sr_dialect_paths_free(kit->paths);
}

static void test_chat(void **state)
{
    (void)state;
    struct kit kit;
    const struct sr_signal_facts *f =
        read_of(&kit, &sr_dialect_chat,
                "{\"model\":\"m\",\"metadata\":{\"a\":\"1\",\"b\\u0063\":\"2\"},\"messages\":["
                "{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"developer\",\"content\":\"d\"},"
                "{\"role\":\"user\",\"content\":\"one\"},"
                "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{"
                "\"name\":\"f\","
                "\"arguments\":\"{}\"}},{\"id\":\"2\",\"type\":\"function\",\"function\":{\"name\":\"f\","
                "\"arguments\":\"{}\"}}]},"
                "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"r\"},{\"role\":\"tool\",\"tool_call_"
                "id\":\"2\","
                "\"content\":\"r\"},"
                "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"},{\"type\":\"image_"
                "url\",\"image_url\":"
                "{\"url\":\"data:image/png;base64,AAAA\"}},{\"type\":\"text\",\"text\":\"more\"}]},"
                "{\"role\":\"assistant\",\"content\":\"ok\"},{\"role\":\"user\",\"content\":\"\"},"
                "{\"role\":\"user\",\"content\":\"three\"}],"
                "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},{\"type\":\"function\","
                "\"function\":"
                "{\"name\":\"g\"}}],\"tool_choice\":\"required\"}");
    assert_int_equal(f->users, 4);
    assert_int_equal(f->assistants, 2);
    assert_int_equal(f->systems, 1);
    assert_true(f->developer);
    assert_int_equal(f->tools, 2);
    assert_int_equal(f->calls, 2);
    assert_int_equal(f->results, 2);
    assert_int_equal(f->images, 1);
    assert_int_equal(f->definitions, 2);
    assert_true(f->tools_required && !f->tools_forbidden && f->replied && !f->tool_loop);
    assert_int_equal(f->n_turns, 2); /* the empty one is none */
    assert_true(sr_bytes_eq(f->turns[0], SR_LIT("two more")));
    assert_true(sr_bytes_eq(f->turns[1], SR_LIT("one")));
    assert_int_equal(f->n_metadata, 2);
    assert_true(sr_bytes_eq(f->metadata[1].key, SR_LIT("bc")) &&
                sr_bytes_eq(f->metadata[1].value, SR_LIT("2")));
    close_kit(&kit);
}

#define MESSAGE(role, content) "{\"role\":\"" role "\",\"content\":\"" content "\"}"
#define CALL                                                                                                 \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\","          \
    "\"function\":{"                                                                                         \
    "\"name\":\"f\",\"arguments\":\"{}\"}}]}"
#define RESULT "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"r\"}"

static void test_loops(void **state)
{
    (void)state;
    static const struct {
        const char *messages;
        bool loop, replied;
    } cases[] = {
        {MESSAGE("user", "a"), false, false},
        {MESSAGE("user", "a") "," MESSAGE("assistant", "b"), false, false},
        {MESSAGE("user", "a") "," MESSAGE("assistant", "b") "," MESSAGE("user", "c"), false, true},
        {MESSAGE("user", "a") "," CALL, true, false},
        {MESSAGE("user", "a") "," CALL "," RESULT, true, false},
        {MESSAGE("user", "a") "," CALL "," RESULT "," MESSAGE("user", "c"), true, true},
        {MESSAGE("user", "a") "," CALL "," RESULT "," MESSAGE("assistant", "b") "," MESSAGE("user", "c"),
         false, true},
        {MESSAGE("system", "a") "," MESSAGE("user", "c"), false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct kit kit;
        char body[2048];
        snprintf(body, sizeof body, "{\"model\":\"m\",\"messages\":[%s],\"tool_choice\":\"none\"}",
                 cases[i].messages);
        const struct sr_signal_facts *f = read_of(&kit, &sr_dialect_chat, body);
        if (f->tool_loop != cases[i].loop || f->replied != cases[i].replied || !f->tools_forbidden)
            fail_msg("case %zu: loop %d, replied %d", i, f->tool_loop, f->replied);
        close_kit(&kit);
    }
}

/* Anthropic's messages and OpenAI's responses have calls and results as parts and items. */
static void test_other_dialects(void **state)
{
    (void)state;
    struct kit kit;
    const struct sr_signal_facts *f =
        read_of(&kit, &sr_dialect_messages,
                "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"f\","
                "\"input\":{}}]},"
                "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":"
                "\"r\"}]}],"
                "\"tools\":[{\"name\":\"f\",\"input_schema\":{}}],\"tool_choice\":{\"type\":\"any\"}}");
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->results, 1);
    assert_true(f->tool_loop);
    assert_int_equal(f->definitions, 1);
    assert_true(f->tools_required);
    close_kit(&kit);
    f = read_of(&kit, &sr_dialect_responses,
                "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"a\"},"
                "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"{}\"},"
                "{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"r\"}]}");
    assert_int_equal(f->users, 1);
    assert_int_equal(f->calls, 1);
    assert_int_equal(f->results, 1);
    assert_true(f->tool_loop);
    close_kit(&kit);
}

static void test_many_turns(void **state)
{
    (void)state;
    static char body[SR_SIGNAL_TURN_BYTES * 4];
    struct kit kit;
    size_t n = (size_t)snprintf(body, sizeof body, "{\"model\":\"m\",\"messages\":[");
    for (int i = 0; i < 20; i++)
        n += (size_t)snprintf(body + n, sizeof body - n, "%s{\"role\":\"user\",\"content\":\"turn %d\"}",
                              i ? "," : "", i);
    snprintf(body + n, sizeof body - n, "]}");
    const struct sr_signal_facts *f = read_of(&kit, &sr_dialect_chat, body);
    assert_int_equal(f->n_turns, SR_SIGNAL_TURNS_MAX);
    assert_true(sr_bytes_eq(f->turns[0], SR_LIT("turn 18")) && sr_bytes_eq(f->turns[7], SR_LIT("turn 11")));
    close_kit(&kit);
    /* A long turn is cut between characters. */
    n = (size_t)snprintf(body, sizeof body,
                         "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x");
    for (size_t i = 0; i < SR_SIGNAL_TURN_BYTES; i += 2, n += 2)
        memcpy(body + n, "\xC3\xA4", 2);
    snprintf(body + n, sizeof body - n, "\"},{\"role\":\"user\",\"content\":\"b\"}]}");
    f = read_of(&kit, &sr_dialect_chat, body);
    assert_int_equal(f->turns[0].n, SR_SIGNAL_TURN_BYTES - 1);
    close_kit(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chat), cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_other_dialects),
                                       cmocka_unit_test(test_many_turns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
