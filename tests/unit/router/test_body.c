/* The stage that reads a body: what it returns for each chunk, without an exchange. */
#include "router/request/body.h"
#include "router/runtime.h"
#include "tests/unit/exchange_util.h"

// clang-format off
static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n"
    TEST_KEYWORD("word")
    "global: {semroute: {gateway: {max_body_bytes: 1048576}}}\n";
// clang-format on

struct fixture {
    struct sr_router *router;
    struct sr_head head;
    struct sr_arena arena;
    struct sr_body body;
    struct sr_refusal refusal;
};

static void begin(struct fixture *f, void **state, const struct sr_dialect_ops *dialect)
{
    *f = (struct fixture){.router = sr_runtime_router(*state)};
    sr_arena_init(&f->arena, (size_t)64 << 20);
    sr_body_init(&f->body, f->router->max_body);
    f->body.doc.dialect = dialect;
    assert_int_equal(sr_body_begin(&f->body, f->router, &f->head, &f->arena), SR_OK);
}

static void end(struct fixture *f)
{
    sr_body_dispose(&f->body);
    sr_arena_dispose(&f->arena);
    sr_router_unref(f->router);
}

/* Feeds a text in pieces of `step` bytes; the first step that is not MORE, or the last one. */
static enum sr_body_step give(struct fixture *f, const char *text, size_t step)
{
    size_t n = strlen(text);
    for (size_t at = 0; at < n; at += step) {
        size_t piece = n - at < step ? n - at : step;
        enum sr_body_step got = sr_body_feed(&f->body, text + at, piece, at + piece == n, &f->refusal);
        if (got != SR_BODY_MORE)
            return got;
    }
    return SR_BODY_MORE;
}

static void check_refused(void **state, const struct sr_dialect_ops *dialect, const char *text, int status,
                          const char *code)
{
    for (size_t step = 1; step <= 64; step += 21) {
        struct fixture f;
        begin(&f, state, dialect);
        assert_int_equal(give(&f, text, step), SR_BODY_REFUSED);
        assert_int_equal(f.refusal.status, status);
        assert_string_equal(f.refusal.code, code);
        end(&f);
    }
}

#define MESSAGES "\"messages\":[{\"role\":\"user\",\"content\":\"word\"}]"

static void test_complete(void **state)
{
    for (size_t step = 1; step <= 64; step += 7) {
        struct fixture f;
        begin(&f, state, &sr_dialect_chat);
        assert_int_equal(give(&f, "{\"model\":\"auto\",\"stream\":true," MESSAGES "}", step),
                         SR_BODY_COMPLETE);
        assert_true(f.body.automatic && f.body.is_stream && f.body.whole);
        assert_false(sr_body_is_named(&f.body));
        assert_true(f.body.complete_ns > 0);
        assert_int_equal(f.body.arrived, f.body.bytes.len);
        assert_true(sr_body_check(&f.body, &f.refusal));
        end(&f);
    }
}

/* The model is known before the end, and what passes afterwards is checked but not kept. */
static void test_pass(void **state)
{
    static const char first[] = "{\"model\":\"plain\",", rest[] = MESSAGES "}";
    static const char again[] = "\"model\":\"small\"," MESSAGES "}";
    struct fixture f;
    begin(&f, state, &sr_dialect_chat);
    assert_int_equal(sr_body_feed(&f.body, first, strlen(first), false, &f.refusal), SR_BODY_MORE);
    assert_true(sr_body_is_named(&f.body));
    sr_body_pass(&f.body);
    assert_int_equal(sr_body_feed(&f.body, rest, strlen(rest), true, &f.refusal), SR_BODY_COMPLETE);
    assert_int_equal(f.body.bytes.len, strlen(first));
    assert_int_equal(f.body.arrived, strlen(first) + strlen(rest));
    end(&f);
    begin(&f, state, &sr_dialect_chat);
    assert_int_equal(sr_body_feed(&f.body, first, strlen(first), false, &f.refusal), SR_BODY_MORE);
    sr_body_pass(&f.body);
    assert_int_equal(sr_body_feed(&f.body, again, strlen(again), true, &f.refusal), SR_BODY_REFUSED);
    assert_string_equal(f.refusal.code, "duplicate_field");
    end(&f);
}

static void test_refused(void **state)
{
    check_refused(state, &sr_dialect_chat, "{\"model\":\"auto\",}", 400, "invalid_json");
    check_refused(state, &sr_dialect_chat, "[1]", 400, "invalid_type");
    check_refused(state, &sr_dialect_chat, "{\"model\":7," MESSAGES "}", 400, "invalid_type");
    check_refused(state, &sr_dialect_chat, "{\"model\":\"unknown\"," MESSAGES "}", 404, "model_not_found");
    check_refused(state, &sr_dialect_chat, "{\"model\":\"auto\"}", 400, "missing_required_field");
    check_refused(state, &sr_dialect_chat, "{" MESSAGES "}", 400, "missing_required_field");
    check_refused(state, &sr_dialect_other, "{\"input\":1}", 404, "endpoint_not_found");
    check_refused(state, &sr_dialect_other, "{\"model\":\"auto\"}", 404, "model_not_automatic");
    check_refused(state, &sr_dialect_embeddings, "{\"model\":\"auto\",\"input\":\"x\"}", 400,
                  "model_not_automatic");
}

static void test_limit(void **state)
{
    struct fixture f;
    char *large = calloc(1, 2 << 20);
    memset(large, ' ', 2 << 20);
    begin(&f, state, &sr_dialect_chat);
    assert_int_equal(sr_body_feed(&f.body, large, 1 << 20, false, &f.refusal), SR_BODY_MORE);
    assert_int_equal(sr_body_feed(&f.body, large, 1, false, &f.refusal), SR_BODY_REFUSED);
    assert_int_equal(f.refusal.status, 413);
    end(&f);
    free(large);
}

/* Too many values are 413 with the key, too deep ones malformed. */
static void test_limit_of_values(void **state)
{
    size_t n = 300000;
    char *many = malloc(64 + 3 * n), deep[512];
    assert_non_null(many);
    size_t at = (size_t)sprintf(many, "{\"model\":\"auto\",\"messages\":[");
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(many + at, "%s{}", i ? "," : "");
    memcpy(many + at, "]}", 3);
    check_refused(state, &sr_dialect_chat, many, 413, "request_too_large");
    free(many);
    at = (size_t)sprintf(deep, "{\"model\":\"auto\",\"x\":");
    for (size_t i = 0; i < 200; i++)
        deep[at++] = '[';
    deep[at] = '\0';
    check_refused(state, &sr_dialect_chat, deep, 400, "invalid_json");
}

static void test_check(void **state)
{
    struct fixture f;
    begin(&f, state, &sr_dialect_chat);
    assert_int_equal(give(&f, "{\"model\":\"auto\"," MESSAGES "," MESSAGES "}", 64), SR_BODY_COMPLETE);
    assert_false(sr_body_check(&f.body, &f.refusal));
    assert_string_equal(f.refusal.code, "duplicate_field");
    assert_string_equal(f.refusal.reason, "parse_error");
    end(&f);
}

/* What some parsers take for a member that decides is refused, also where it stands alone. */
static void test_alike(void **state)
{
    static const struct {
        const struct sr_dialect_ops *dialect;
        const char *body, *key;
    } cases[] = {
#define AUTO   "{\"model\":\"auto\","
#define ONE(m) AUTO "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"," m "}]}"
        {&sr_dialect_chat, AUTO MESSAGES ",\"Messages\":[]}", "Messages"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"\\u004dESSAGES\":[]}", "MESSAGES"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"me\\u017fsages\":[]}", "me\xC5\xBFsages"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"\xEF\xBD\x8Dodel\":\"m\"}", "\xEF\xBD\x8Dodel"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"too\xE2\x84\xAAs\":1,\"too\xE2\x80\x8Bls\":[]}",
         "too\xE2\x80\x8Bls"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"STREAM\":true}", "STREAM"},
        {&sr_dialect_chat, AUTO MESSAGES ",\"stop\\u0000x\":\"s\"}", "stop"},
        {&sr_dialect_chat, "{\"MODEL\":\"auto\"," MESSAGES "}", "MODEL"},
        {&sr_dialect_chat, ONE("\"Content\":\"x\""), "Content"},
        {&sr_dialect_chat, ONE("\"Tool_calls\":[]"), "Tool_calls"},
        {&sr_dialect_chat, AUTO "\"messages\":[{\"Role\":\"user\",\"content\":[{\"type\":\"text\"}]}]}",
         "Role"},
        {&sr_dialect_chat, AUTO "\"messages\":[{\"content\":[{\"Type\":\"text\",\"text\":\"x\"}]}]}", "Type"},
        {&sr_dialect_messages, "{\"model\":\"small\"," MESSAGES ",\"System\":\"x\"}", "System"},
        {&sr_dialect_completions, AUTO "\"Prompt\":\"x\"}", "Prompt"},
        {&sr_dialect_responses, "{\"model\":\"small\",\"Input\":\"x\"}", "Input"},
    };
    struct fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(&f, state, cases[i].dialect);
        if (give(&f, cases[i].body, 7) == SR_BODY_COMPLETE && sr_body_check(&f.body, &f.refusal))
            fail_msg("%s was not refused", cases[i].body);
        assert_string_equal(f.refusal.code, "ambiguous_field");
        assert_string_equal(f.refusal.param, cases[i].key);
        assert_int_equal(f.refusal.status, 400);
        end(&f);
    }
    begin(&f, state, &sr_dialect_chat);
    assert_int_equal(give(&f, AUTO MESSAGES ",\"metadata\":{\"Content\":\"x\"},\"Modelx\":1,\"Mode\":1}", 7),
                     SR_BODY_COMPLETE);
    assert_true(sr_body_check(&f.body, &f.refusal));
    end(&f);
}

static int setup(void **state)
{
    *state = open_yaml(yaml);
    return 0;
}

static int teardown(void **state)
{
    sr_runtime_close(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),        cmocka_unit_test(test_pass),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_limit),
        cmocka_unit_test(test_limit_of_values), cmocka_unit_test(test_check),
        cmocka_unit_test(test_alike),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
