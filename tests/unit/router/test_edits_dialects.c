/* The edits of Responses and Messages: what changes, and that all other bytes stay identical. */
#include "tests/unit/exchange_util.h"

#define DECISION(name, model, rest)                                                                          \
    "    - {name: " name ", priority: 10, rules: {type: keyword, name: " name                                \
    "}, modelRefs: [{model: " model rest "\n"
#define PLUGIN(type, settings) "}], plugins: [{type: " type ", configuration: {" settings "}}]}"

// clang-format off
static const char yaml[] = TEST_PROVIDERS
    "    - {name: opus, provider_model_id: claude-opus-4-7, reasoning_family: oss, backend_refs: [{name: q, endpoint: '127.0.0.1:9008'}]}\n"
    "routing:\n"
    "  signals:\n"
    "    keywords:\n"
    TEST_KEYWORD("kwon") TEST_KEYWORD("kwoff") TEST_KEYWORD("osson") TEST_KEYWORD("ossoff")
    TEST_KEYWORD("opuson") TEST_KEYWORD("none") TEST_KEYWORD("inserted") TEST_KEYWORD("appended") TEST_KEYWORD("replaced")
    TEST_KEYWORD("limited") TEST_KEYWORD("strict") TEST_KEYWORD("toolless") TEST_KEYWORD("filtered")
    "  decisions:\n"
    DECISION("kwon", "thinker", ", use_reasoning: true}]}")
    DECISION("kwoff", "thinker", "}]}")
    DECISION("osson", "oss", ", use_reasoning: true, reasoning_effort: low}]}")
    DECISION("ossoff", "oss", "}]}")
    DECISION("opuson", "opus", ", use_reasoning: true}]}")
    DECISION("none", "plain", ", use_reasoning: true}]}")
    DECISION("inserted", "plain", PLUGIN("system_prompt", "system_prompt: \"Be \\\"brief\\\".\""))
    DECISION("appended", "plain", PLUGIN("system_prompt", "system_prompt: Last, mode: append"))
    DECISION("replaced", "plain", PLUGIN("system_prompt", "system_prompt: New, mode: replace"))
    DECISION("limited", "plain",
             PLUGIN("request_params", "blocked_params: [seed, input, max_tokens], max_tokens_limit: 100"))
    DECISION("strict", "plain", PLUGIN("request_params", "strip_unknown: true"))
    DECISION("toolless", "plain", PLUGIN("tools", "enabled: true, mode: none, strip_tool_history: true"))
    DECISION("filtered", "plain", PLUGIN("tools", "enabled: true, mode: filtered, block_tools: [find, web_search]"))
    "global: {semroute: {allow_anonymous: true}}\n";
// clang-format on

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

static void check(void **state, const char *path, const char *body, const char *expected)
{
    static const size_t chunks[] = {0, 1, 7};
    for (size_t i = 0; i < 3; i++) {
        sr_exchange *x = ask_path(*state, path, body, chunks[i]);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_non_null(v);
        if (v->action != SR_ACTION_FORWARD)
            fail_msg("%.*s", (int)v->reply.n, v->reply.p);
        char *got = joined(v->body, v->n_body);
        assert_string_equal(got, expected);
        assert_true(sr_bytes_eq(v->target, sr_bytes_str(path)));
        free(got);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

#define RESPONSES            "/v1/responses"
#define MESSAGES             "/v1/messages"
#define R(model, word, more) "{\"model\":\"" model "\",\"input\":\"" word "\"" more "}"
#define M(model, word, more)                                                                                 \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"" word "\"}]" more "}"

static void test_effort(void **state)
{
    check(state, RESPONSES, R("auto", "osson", ""), R("oss", "osson", ",\"reasoning\":{\"effort\":\"low\"}"));
    check(state, RESPONSES,
          R("auto", "osson", ",\"reasoning\" : { \"summary\":\"auto\" , \"effort\":\"high\"}"),
          R("oss", "osson", ",\"reasoning\" : { \"summary\":\"auto\" , \"effort\":\"low\"}"));
    check(state, RESPONSES, R("auto", "osson", ",\"reasoning\":{\"summary\":\"auto\"},\"x\":1"),
          R("oss", "osson", ",\"reasoning\":{\"summary\":\"auto\",\"effort\":\"low\"},\"x\":1"));
    check(state, RESPONSES, R("auto", "ossoff", ",\"reasoning\":{\"effort\":\"minimal\"}"),
          R("oss", "ossoff", ",\"reasoning\":{\"effort\":\"minimal\"}"));
    check(state, RESPONSES, R("auto", "kwon", ",\"reasoning\":null"),
          R("thinker", "kwon", ",\"reasoning\":{\"effort\":\"high\"}"));
    check(state, RESPONSES, R("auto", "kwoff", ""),
          R("thinker", "kwoff", ",\"reasoning\":{\"effort\":\"none\"}"));
    check(state, RESPONSES, R("auto", "none", ",\"reasoning\":{\"effort\":\"low\"}"),
          R("plain", "none", ",\"reasoning\":{\"effort\":\"low\"}"));
}

static void test_thinking(void **state)
{
#define TOKENS ",\"max_tokens\":30000"
    check(state, MESSAGES, M("auto", "kwon", TOKENS),
          M("thinker", "kwon", TOKENS ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":24576}"));
    check(
        state, MESSAGES, M("auto", "osson", ",\"max_tokens\":2000,\"thinking\":{\"type\":\"disabled\"}"),
        M("oss", "osson", ",\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1999}"));
    /* The client's own budget stays. */
    check(state, MESSAGES,
          M("auto", "osson", TOKENS ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":5000}"),
          M("oss", "osson", TOKENS ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":5000}"));
    /* There is no room for it, or the API does not take it with the rest. */
    check(state, MESSAGES, M("auto", "kwon", ",\"max_tokens\":1024"),
          M("thinker", "kwon", ",\"max_tokens\":1024"));
    check(state, MESSAGES, M("auto", "kwon", TOKENS ",\"temperature\":0"),
          M("thinker", "kwon", TOKENS ",\"temperature\":0"));
    check(state, MESSAGES, M("auto", "kwon", TOKENS ",\"tool_choice\":{\"type\":\"any\"}"),
          M("thinker", "kwon", TOKENS ",\"tool_choice\":{\"type\":\"any\"}"));
    check(state, MESSAGES,
          M("auto", "kwoff", TOKENS ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":5000}"),
          M("thinker", "kwoff", TOKENS ",\"thinking\":{\"type\":\"disabled\"}"));
    check(state, MESSAGES, M("auto", "kwoff", TOKENS), M("thinker", "kwoff", TOKENS));
    check(state, MESSAGES, M("auto", "none", TOKENS ",\"thinking\":{\"type\":\"adaptive\"}"),
          M("plain", "none", TOKENS ",\"thinking\":{\"type\":\"adaptive\"}"));
}

/* Claude 4.6 and later choose their budget. */
static void test_adaptive_thinking(void **state)
{
#define ADAPTIVE ",\"thinking\":{\"type\":\"adaptive\",\"display\":\"summarized\"}"
#define OPUS     "claude-opus-4-7"
    check(state, MESSAGES, M("auto", "opuson", TOKENS),
          M(OPUS, "opuson", TOKENS ADAPTIVE ",\"output_config\":{\"effort\":\"high\"}"));
    check(state, MESSAGES,
          M("auto", "opuson",
            TOKENS ",\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":{}}}"),
          M(OPUS, "opuson",
            TOKENS ",\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":{}},\"effort\":"
                   "\"high\"}" ADAPTIVE));
    /* What the client says stays. */
    check(state, MESSAGES, M("auto", "opuson", TOKENS ",\"output_config\":{\"effort\":\"low\"}"),
          M(OPUS, "opuson", TOKENS ",\"output_config\":{\"effort\":\"low\"}" ADAPTIVE));
    check(state, MESSAGES, M("auto", "opuson", TOKENS ",\"thinking\":{\"type\":\"adaptive\"}"),
          M(OPUS, "opuson", TOKENS ",\"thinking\":{\"type\":\"adaptive\"}"));
    check(state, MESSAGES, M("auto", "opuson", ",\"max_tokens\":1024"),
          M(OPUS, "opuson", ",\"max_tokens\":1024"));
    check(state, MESSAGES, M("auto", "opuson", TOKENS ",\"tool_choice\":{\"type\":\"any\"}"),
          M(OPUS, "opuson", TOKENS ",\"tool_choice\":{\"type\":\"any\"}"));
    /* Calls without thinking are no obstacle here. */
#define CALLED                                                                                               \
    "\"messages\":[{\"role\":\"user\",\"content\":\"opuson\"},{\"role\":\"assistant\",\"content\":[{"        \
    "\"type\":"                                                                                              \
    "\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":"    \
    "\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}]}]" TOKENS
    check(state, MESSAGES, "{\"model\":\"auto\"," CALLED "}",
          "{\"model\":\"" OPUS "\"," CALLED ADAPTIVE ",\"output_config\":{\"effort\":\"high\"}}");
}

static void test_system_prompt(void **state)
{
    check(state, RESPONSES, R("auto", "inserted", ""),
          R("plain", "inserted", ",\"instructions\":\"Be \\\"brief\\\".\""));
    check(state, RESPONSES, R("auto", "inserted", ",\"instructions\" : \"Mine\""),
          R("plain", "inserted", ",\"instructions\" : \"Be \\\"brief\\\".\\n\\nMine\""));
    check(state, RESPONSES, R("auto", "appended", ",\"instructions\":\"Mine\""),
          R("plain", "appended", ",\"instructions\":\"Mine\\n\\nLast\""));
    check(state, RESPONSES, R("auto", "replaced", ",\"instructions\":\"Mine\""),
          R("plain", "replaced", ",\"instructions\":\"New\""));
    check(state, RESPONSES, R("auto", "inserted", ",\"instructions\":null"),
          R("plain", "inserted", ",\"instructions\":\"Be \\\"brief\\\".\""));
    check(state, MESSAGES, M("auto", "inserted", ",\"system\":\"Mine\""),
          M("plain", "inserted", ",\"system\":\"Be \\\"brief\\\".\\n\\nMine\""));
    check(state, MESSAGES,
          M("auto", "inserted",
            ",\"system\":[{\"type\":\"text\",\"text\":\"Mine\",\"cache_control\":{\"type\":\"ephemeral\"}}]"),
          M("plain", "inserted",
            ",\"system\":[{\"type\":\"text\",\"text\":\"Be "
            "\\\"brief\\\".\\n\\n\"},{\"type\":\"text\",\"text\":\"Mine\","
            "\"cache_control\":{\"type\":\"ephemeral\"}}]"));
    check(state, MESSAGES, M("auto", "appended", ""), M("plain", "appended", ",\"system\":\"Last\""));
}

static void test_params(void **state)
{
    check(state, RESPONSES, R("auto", "limited", ",\"max_output_tokens\":5000,\"seed\":1"),
          R("plain", "limited", ",\"max_output_tokens\":100"));
    check(state, MESSAGES, M("auto", "limited", ",\"max_tokens\":5000"),
          M("plain", "limited", ",\"max_tokens\":5000"));
    check(
        state, RESPONSES,
        R("auto", "strict", ",\"instructions\":\"a\",\"store\":false,\"strange\":1,\"truncation\":\"auto\""),
        R("plain", "strict", ",\"instructions\":\"a\",\"store\":false,\"truncation\":\"auto\""));
    check(state, MESSAGES,
          M("auto", "strict", ",\"max_tokens\":9,\"system\":\"a\",\"strange\":1,\"stop_sequences\":[\"x\"]"),
          M("plain", "strict", ",\"max_tokens\":9,\"system\":\"a\",\"stop_sequences\":[\"x\"]"));
}

static void test_tools(void **state)
{
    check(state, RESPONSES,
          "{\"model\":\"auto\",\"input\":[{\"role\":\"user\",\"content\":\"toolless\"},{\"type\":\"function_"
          "call\","
          "\"call_id\":\"c\",\"name\":\"find\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\","
          "\"call_id\":\"c\","
          "\"output\":\"x\"}],\"tools\":[{\"type\":\"function\",\"name\":\"find\"}],\"parallel_tool_calls\":"
          "true}",
          "{\"model\":\"plain\",\"input\":[{\"role\":\"user\",\"content\":\"toolless\"}]}");
    check(state, MESSAGES,
          "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"toolless\"},{\"role\":"
          "\"assistant\",\"content\":["
          "{\"type\":\"text\",\"text\":\"I "
          "look\"},{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"find\",\"input\":{}}]},"
          "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}"
          "]}],"
          "\"tools\":[{\"name\":\"find\",\"input_schema\":{}}]}",
          "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":\"toolless\"},{\"role\":"
          "\"assistant\",\"content\":["
          "{\"type\":\"text\",\"text\":\"I look\"}]}]}");
    check(state, RESPONSES,
          R("auto", "filtered",
            ",\"tools\":[{\"type\":\"web_search\"},{\"type\":\"function\",\"name\":\"keep\"}]"),
          R("plain", "filtered", ",\"tools\":[{\"type\":\"function\",\"name\":\"keep\"}]"));
    check(state, MESSAGES,
          M("auto", "filtered",
            ",\"tools\":[{\"name\":\"find\"},{\"name\":\"keep\"}],\"tool_choice\":{\"type\":\"tool\","
            "\"name\":\"find\"}"),
          M("plain", "filtered", ",\"tools\":[{\"name\":\"keep\"}],\"tool_choice\":{\"type\":\"auto\"}"));
}

/* What is read is the newest turn of the user; results of tools are none. */
static void test_the_newest_turn_routes(void **state)
{
    check(state, RESPONSES,
          "{\"model\":\"auto\",\"input\":[{\"role\":\"user\",\"content\":\"ossoff\"},{\"type\":\"message\","
          "\"role\":\"assistant\","
          "\"content\":[{\"type\":\"output_text\",\"text\":\"kwon\"}]},{\"role\":\"user\",\"content\":[{"
          "\"type\":\"input_text\","
          "\"text\":\"none\"}]},{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"kwon\"}]}",
          "{\"model\":\"plain\",\"input\":[{\"role\":\"user\",\"content\":\"ossoff\"},{\"type\":\"message\","
          "\"role\":\"assistant\","
          "\"content\":[{\"type\":\"output_text\",\"text\":\"kwon\"}]},{\"role\":\"user\",\"content\":[{"
          "\"type\":\"input_text\","
          "\"text\":\"none\"}]},{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"kwon\"}]}");
    check(state, MESSAGES,
          "{\"model\":\"auto\",\"system\":\"kwon\",\"messages\":[{\"role\":\"user\",\"content\":\"none\"},{"
          "\"role\":\"assistant\","
          "\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]},{\"role\":"
          "\"user\",\"content\":["
          "{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"kwon\"}]}]}",
          "{\"model\":\"plain\",\"system\":\"kwon\",\"messages\":[{\"role\":\"user\",\"content\":\"none\"},{"
          "\"role\":\"assistant\","
          "\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}]},{\"role\":"
          "\"user\",\"content\":["
          "{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"kwon\"}]}]}");
    check(state, "/v1/messages/count_tokens", M("auto", "none", ""), M("plain", "none", ""));
}

static void test_background(void **state)
{
    static const char *const models[] = {"auto", "plain"};
    for (size_t i = 0; i < 2; i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"model\":\"%s\",\"input\":\"x\",\"background\":true}", models[i]);
        sr_exchange *x = ask_path(*state, RESPONSES, body, 0);
        check_reply(x, 400, "\"param\":\"background\"");
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_effort),        cmocka_unit_test(test_thinking),
        cmocka_unit_test(test_system_prompt), cmocka_unit_test(test_params),
        cmocka_unit_test(test_tools),         cmocka_unit_test(test_the_newest_turn_routes),
        cmocka_unit_test(test_background),    cmocka_unit_test(test_adaptive_thinking),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
