/* Every edit of a body: what changes, and that all other bytes stay identical. */
#include "tests/unit/exchange_util.h"

#define DECISION(name, model, rest)                                                                          \
    "    - {name: " name ", priority: 10, rules: {type: keyword, name: " name                                \
    "}, modelRefs: [{model: " model rest "\n"
#define PLUGIN(type, settings) "}], plugins: [{type: " type ", configuration: {" settings "}}]}"

// clang-format off
static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n"
    TEST_KEYWORD("kwon") TEST_KEYWORD("kwoff") TEST_KEYWORD("osson") TEST_KEYWORD("ossoff")
    TEST_KEYWORD("cloudon") TEST_KEYWORD("cloudoff") TEST_KEYWORD("topon") TEST_KEYWORD("topoff")
    TEST_KEYWORD("none") TEST_KEYWORD("inserted") TEST_KEYWORD("replaced") TEST_KEYWORD("limited")
    TEST_KEYWORD("strict") TEST_KEYWORD("blockers") TEST_KEYWORD("mutated") TEST_KEYWORD("lora")
    "  decisions:\n"
    DECISION("kwon", "thinker", ", use_reasoning: true}]}")
    DECISION("kwoff", "thinker", "}]}")
    DECISION("osson", "oss", ", use_reasoning: true, reasoning_effort: low}]}")
    DECISION("ossoff", "oss", "}]}")
    DECISION("cloudon", "cloud", ", use_reasoning: true}]}")
    DECISION("cloudoff", "cloud", "}]}")
    DECISION("topon", "top", ", use_reasoning: true}]}")
    DECISION("topoff", "top", "}]}")
    DECISION("none", "plain", ", use_reasoning: true}]}")
    DECISION("inserted", "plain", PLUGIN("system_prompt", "system_prompt: \"Be \\\"brief\\\".\""))
    DECISION("replaced", "plain", PLUGIN("system_prompt", "system_prompt: New, mode: replace"))
    DECISION("limited", "plain",
             PLUGIN("request_params", "blocked_params: [seed, user], max_tokens_limit: 100, max_n: 2"))
    DECISION("strict", "plain", PLUGIN("request_params", "strip_unknown: true"))
    DECISION("blockers", "thinker",
             PLUGIN("request_params", "blocked_params: [chat_template_kwargs, stream_options, logprobs]"))
    DECISION("mutated", "cloud",
             PLUGIN("header_mutation", "add: [{name: X-Team, value: a}], "
                                       "update: [{name: X-Selected-Model, value: mine}], "
                                       "delete: [X-Secret, X-VSR-Model]"))
    DECISION("lora", "withlora", ", lora_name: adapter}]}")
    "global: {semroute: {allow_anonymous: true}}\n";
// clang-format on

static int setup(void **state)
{
    /* One model has an adapter, named by its card. */
    static char text[sizeof yaml + 1000];
    const char *routing = strstr(yaml, "routing:\n");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(routing - yaml), yaml,
             "    - {name: withlora, backend_refs: [{name: l, endpoint: '127.0.0.1:9008'}]}\n"
             "routing:\n"
             "  modelCards: [{name: withlora, loras: [{name: adapter}]}]\n",
             routing + strlen("routing:\n"));
    *state = open_yaml(text);
    return 0;
}

static int teardown(void **state)
{
    sr_runtime_close(*state);
    return 0;
}

/* `in` and `out` are what stands around the member that carries the keyword. */
#define ASK(word, members)                                                                                   \
    "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"" word "\"}]" members "}"
#define GET(model, word, members)                                                                            \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"" word "\"}]" members "}"

static void test_template_kwargs(void **state)
{
    check_forward(*state, ASK("kwon", ""), "thinker",
                  GET("thinker", "kwon", ",\"chat_template_kwargs\":{\"enable_thinking\":true}"));
    check_forward(*state, ASK("kwoff", ""), "thinker",
                  GET("thinker", "kwoff", ",\"chat_template_kwargs\":{\"enable_thinking\":false}"));
    check_forward(
        *state,
        ASK("kwon",
            ",\"chat_template_kwargs\" : { \"a\" : 1.50 , \"enable_thinking\" : false }, \"top_k\":1"),
        "thinker",
        GET("thinker", "kwon",
            ",\"chat_template_kwargs\" : { \"a\" : 1.50 , \"enable_thinking\" : true }, \"top_k\":1"));
    check_forward(*state, ASK("kwoff", ",\"chat_template_kwargs\":{\"a\":[1]}"), "thinker",
                  GET("thinker", "kwoff", ",\"chat_template_kwargs\":{\"a\":[1],\"enable_thinking\":false}"));
    check_forward(*state, ASK("kwon", ",\"chat_template_kwargs\":null"), "thinker",
                  GET("thinker", "kwon", ",\"chat_template_kwargs\":{\"enable_thinking\":true}"));
    check_forward(*state, ASK("kwon", ",\"reasoning_effort\":\"low\",\"z\":0"), "thinker",
                  GET("thinker", "kwon", ",\"z\":0,\"chat_template_kwargs\":{\"enable_thinking\":true}"));
}

static void test_reasoning_effort(void **state)
{
    /* Away from the known clouds the effort is an argument of the chat template. */
    check_forward(*state, ASK("osson", ""), "oss",
                  GET("oss", "osson", ",\"chat_template_kwargs\":{\"reasoning_effort\":\"low\"}"));
    check_forward(*state, ASK("ossoff", ",\"reasoning_effort\":\"medium\""), "oss",
                  GET("oss", "ossoff", ",\"chat_template_kwargs\":{\"reasoning_effort\":\"medium\"}"));
    check_forward(*state, ASK("cloudon", ""), "cloud",
                  GET("gpt", "cloudon", ",\"reasoning_effort\":\"high\""));
    check_forward(*state, ASK("cloudoff", ""), "cloud",
                  GET("gpt", "cloudoff", ",\"reasoning_effort\":\"low\""));
    check_forward(*state, ASK("cloudoff", ",\"reasoning_effort\":\"minimal\""), "cloud",
                  GET("gpt", "cloudoff", ",\"reasoning_effort\":\"minimal\""));
}

static void test_top_level_effort(void **state)
{
    check_forward(*state, ASK("topon", ",\"reasoning_effort\":\"low\",\"q\":1"), "top",
                  GET("top", "topon", ",\"reasoning_effort\":\"high\",\"q\":1"));
    check_forward(*state, ASK("topoff", ""), "top", GET("top", "topoff", ",\"reasoning_effort\":\"low\""));
}

static void test_no_family(void **state)
{
    check_forward(*state, ASK("none", ",\"reasoning_effort\":\"high\",\"chat_template_kwargs\":{\"a\":1}"),
                  "plain", GET("plain", "none", ",\"chat_template_kwargs\":{\"a\":1}"));
}

static void test_named_model_is_untouched(void **state)
{
    static const char body[] =
        "{\"model\":\"thinker\",\"messages\":[{\"role\":\"user\",\"content\":\"kwon\"}],"
        "\"reasoning_effort\":\"low\",\"stream\":true,\"guided_json\":{\"type\":\"object\"}}";
    check_forward(*state, body, "thinker", body);
}

static void test_stream_options(void **state)
{
    check_forward(*state, ASK("none", ",\"stream\":true"), "plain",
                  GET("plain", "none", ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    check_forward(*state, ASK("none", ",\"stream\":true,\"stream_options\":null"), "plain",
                  GET("plain", "none", ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    check_forward(
        *state, ASK("none", ",\"stream\":true,\"stream_options\":{\"include_usage\":false,\"x\":1}"), "plain",
        GET("plain", "none", ",\"stream\":true,\"stream_options\":{\"include_usage\":true,\"x\":1}"));
    check_forward(
        *state, ASK("none", ",\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true}"), "plain",
        GET("plain", "none",
            ",\"stream\":true,\"stream_options\":{\"continuous_usage_stats\":true,\"include_usage\":true}"));
    check_forward(*state, ASK("none", ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"),
                  "plain",
                  GET("plain", "none", ",\"stream\":true,\"stream_options\":{\"include_usage\":true}"));
    check_forward(*state, ASK("none", ",\"stream\":false"), "plain",
                  GET("plain", "none", ",\"stream\":false"));
}

#define MESSAGES(model, messages) "{\"model\":\"" model "\",\"messages\":[" messages "]}"
#define ASKING(word)              "{\"role\":\"user\",\"content\":\"" word "\"}"

static void test_system_prompt_insert(void **state)
{
    check_forward(
        *state, MESSAGES("auto", ASKING("inserted")), "plain",
        MESSAGES("plain", "{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"}," ASKING("inserted")));
    check_forward(
        *state, MESSAGES("auto", "{\"role\":\"system\",\"content\" : \"Old \\u00e4\"}," ASKING("inserted")),
        "plain",
        MESSAGES("plain",
                 "{\"role\":\"system\",\"content\" : \"Be \\\"brief\\\".\\n\\nOld \\u00e4\"}," ASKING(
                     "inserted")));
    check_forward(
        *state,
        MESSAGES("auto", "{\"content\":\"\",\"role\":\"developer\",\"name\":\"n\"}," ASKING("inserted")),
        "plain",
        MESSAGES("plain",
                 "{\"content\":\"Be \\\"brief\\\".\\n\\n\",\"role\":\"developer\",\"name\":\"n\"}," ASKING(
                     "inserted")));
    check_forward(
        *state,
        MESSAGES("auto", "{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"Old\"}]}," ASKING(
                             "inserted")),
        "plain",
        MESSAGES("plain",
                 "{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"Be \\\"brief\\\".\\n\\n\"},"
                 "{\"type\":\"text\",\"text\":\"Old\"}]}," ASKING("inserted")));
    check_forward(
        *state, MESSAGES("auto", "{\"role\":\"system\",\"content\":null}," ASKING("inserted")), "plain",
        MESSAGES("plain", "{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"}," ASKING("inserted")));
    check_forward(
        *state, MESSAGES("auto", "{\"role\":\"system\"}," ASKING("inserted")), "plain",
        MESSAGES("plain", "{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"}," ASKING("inserted")));
}

static void test_system_prompt_replace(void **state)
{
    check_forward(*state, MESSAGES("auto", "{\"role\":\"system\",\"content\":\"Old\"}," ASKING("replaced")),
                  "plain",
                  MESSAGES("plain", "{\"role\":\"system\",\"content\":\"New\"}," ASKING("replaced")));
    check_forward(
        *state,
        MESSAGES("auto", "{\"role\":\"system\",\"content\":[{\"text\":\"a\"}],\"x\":1}," ASKING("replaced")),
        "plain", MESSAGES("plain", "{\"role\":\"system\",\"content\":\"New\",\"x\":1}," ASKING("replaced")));
    check_forward(*state, MESSAGES("auto", ASKING("replaced")), "plain",
                  MESSAGES("plain", "{\"role\":\"system\",\"content\":\"New\"}," ASKING("replaced")));
    /* Only the first message counts. */
    check_forward(*state, MESSAGES("auto", ASKING("replaced") ",{\"role\":\"system\",\"content\":\"Old\"}"),
                  "plain",
                  MESSAGES("plain", "{\"role\":\"system\",\"content\":\"New\"}," ASKING(
                                        "replaced") ",{\"role\":\"system\",\"content\":\"Old\"}"));
}

static void test_request_params(void **state)
{
    check_forward(
        *state,
        ASK("limited", ",\"seed\":1,\"max_tokens\":200,\"user\":\"u\",\"n\":3,\"max_completion_tokens\":1e9"),
        "plain", GET("plain", "limited", ",\"max_tokens\":100,\"n\":2,\"max_completion_tokens\":100"));
    check_forward(*state, ASK("limited", ",\"max_tokens\":100,\"n\":2"), "plain",
                  GET("plain", "limited", ",\"max_tokens\":100,\"n\":2"));
    check_forward(*state, ASK("limited", ",\"max_tokens\":\"200\",\"n\":null"), "plain",
                  GET("plain", "limited", ",\"max_tokens\":100,\"n\":null"));
    check_forward(*state, "{\"seed\":1,\"model\":\"auto\",\"messages\":[" ASKING("limited") "],\"seed\":2}",
                  "plain", "{\"model\":\"plain\",\"messages\":[" ASKING("limited") "]}");
}

static void test_strip_unknown(void **state)
{
    check_forward(
        *state, ASK("strict", ",\"x\":{\"model\":1},\"guided_json\":{\"a\":1},\"temperature\":0.5,\"zz\":[]"),
        "plain", GET("plain", "strict", ",\"guided_json\":{\"a\":1},\"temperature\":0.5"));
}

/* What the router sets itself survives the plugin; the client's own does not. */
static void test_blocked_and_ours(void **state)
{
    check_forward(*state,
                  ASK("blockers", ",\"chat_template_kwargs\":{\"a\":1},\"logprobs\":true,\"stream\":true,"
                                  "\"stream_options\":{\"include_usage\":false}"),
                  "thinker",
                  GET("thinker", "blockers",
                      ",\"chat_template_kwargs\":{\"enable_thinking\":false},\"stream\":true,"
                      "\"stream_options\":{\"include_usage\":true}"));
}

static void test_lora(void **state)
{
    check_forward(*state, ASK("lora", ""), "withlora", GET("adapter", "lora", ""));
}

/* A member that is written twice is edited twice, so that no parser sees the old value. */
static void test_duplicates(void **state)
{
    check_forward(*state, ASK("cloudon", ",\"reasoning_effort\":\"low\",\"reasoning_effort\":\"low\""),
                  "cloud",
                  GET("gpt", "cloudon", ",\"reasoning_effort\":\"high\",\"reasoning_effort\":\"high\""));
}

static sr_exchange *ask_with(sr_runtime *runtime, const char *body, const struct sr_header *headers, size_t n)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    head.headers = headers;
    head.n_headers = n;
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    feed(x, body, strlen(body), 0, NULL);
    return x;
}

static void test_upstream_headers(void **state)
{
    const struct sr_header headers[] = {
        {SR_LIT("x-vsr-debug"), SR_LIT("true")},        {SR_LIT("x-vsr-selected-model"), SR_LIT("spoof")},
        {SR_LIT("x-authz-user-id"), SR_LIT("root")},    {SR_LIT("x-selected-model"), SR_LIT("spoof")},
        {SR_LIT("x-user-openai-key"), SR_LIT("k")},     {SR_LIT("x-user-agent"), SR_LIT("k")},
        {SR_LIT("x-vsr-internal-auth"), SR_LIT("k")},   {SR_LIT("x-request-id"), SR_LIT("abc")},
        {SR_LIT("authorization"), SR_LIT("Bearer me")},
    };
    sr_exchange *x = ask_with(*state, ASK("kwon", ""), headers, sizeof headers / sizeof headers[0]);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->n_remove_headers, 5);
    assert_true(names_header(v->remove_headers, 5, "x-vsr-selected-model"));
    assert_true(names_header(v->remove_headers, 5, "x-authz-user-id"));
    assert_true(names_header(v->remove_headers, 5, "x-selected-model"));
    assert_true(names_header(v->remove_headers, 5, "x-user-openai-key"));
    assert_true(names_header(v->remove_headers, 5, "x-vsr-internal-auth"));
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-selected-model"), "thinker");
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "accept-encoding"), "identity");
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-vsr-model"), "thinker");
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-vsr-reasoning"), "true");
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-vsr-reasoning-effort"), "high");
    assert_null(header_in(v->set_headers, v->n_set_headers, "x-request-id"));
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_header_mutation(void **state)
{
    const struct sr_header headers[] = {{SR_LIT("x-secret"), SR_LIT("1")},
                                        {SR_LIT("authorization"), SR_LIT("Bearer mine")}};
    sr_exchange *x = ask_with(*state, ASK("mutated", ""), headers, 2);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-team"), "a");
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-selected-model"), "mine");
    assert_null(header_in(v->set_headers, v->n_set_headers, "x-vsr-model"));
    assert_true(names_header(v->remove_headers, v->n_remove_headers, "x-secret"));
    /* The target has credentials of its own: the client's stay here. */
    assert_true(names_header(v->remove_headers, v->n_remove_headers, "authorization"));
    assert_string_equal(header_in(v->targets[0].headers, v->targets[0].n_headers, "authorization"),
                        "Bearer secret");
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_injected_header(void **state)
{
    static const struct {
        const char *word, *injected;
    } cases[] = {{"inserted", "true"}, {"replaced", "true"}, {"strict", "false"}};
    for (size_t i = 0; i < 3; i++) {
        char body[200];
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        snprintf(body, sizeof body,
                 "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}", cases[i].word);
        sr_exchange *x = ask(*state, body);
        sr_exchange_answer_head(x, 200, NULL, 0, &edits);
        assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-injected-system-prompt"),
                            cases[i].injected);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_request_headers_off(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(TEST_PROVIDERS "global: {semroute: {request_headers: false}}\n");
    sr_exchange *x = ask(runtime, ASK("x", ""));
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_null(header_in(v->set_headers, v->n_set_headers, "x-vsr-model"));
    assert_non_null(header_in(v->set_headers, v->n_set_headers, "x-selected-model"));
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_kwargs),
        cmocka_unit_test(test_reasoning_effort),
        cmocka_unit_test(test_top_level_effort),
        cmocka_unit_test(test_no_family),
        cmocka_unit_test(test_named_model_is_untouched),
        cmocka_unit_test(test_stream_options),
        cmocka_unit_test(test_system_prompt_insert),
        cmocka_unit_test(test_system_prompt_replace),
        cmocka_unit_test(test_request_params),
        cmocka_unit_test(test_strip_unknown),
        cmocka_unit_test(test_blocked_and_ours),
        cmocka_unit_test(test_lora),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_upstream_headers),
        cmocka_unit_test(test_header_mutation),
        cmocka_unit_test(test_injected_header),
        cmocka_unit_test(test_request_headers_off),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
