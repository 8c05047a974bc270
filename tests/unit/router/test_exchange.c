/* The path of a request: states, verdicts, refusals, at every chunk size. */
#include "tests/unit/exchange_util.h"
#include "json/doc.h"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("deep") TEST_KEYWORD("canned") TEST_KEYWORD(
        "other") "  decisions:\n"
                 "    - {name: deep, priority: 10, rules: {type: keyword, name: deep},\n"
                 "       modelRefs: [{model: plain}]}\n"
                 "    - {name: canned, priority: 10, rules: {type: keyword, name: canned},\n"
                 "       modelRefs: [{model: plain}], plugins: [{type: fast_response, configuration: "
                 "{message: \"  No.\\n\\n\\tNot \\\"now\\\".  \"}}]}\n"
                 "global:\n"
                 "  router: {skip_processing: {enabled: true}}\n"
                 "  semroute: {gateway: {max_body_bytes: 4096}}\n";

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

#define USER(text) "\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]"

static void test_routes_by_decision(void **state)
{
    check_forward(
        *state,
        "{ \"x\" : [1 , 2],\n\"model\" : \"auto\", " USER("go deep") ",\"guided_json\":{\"a\": 1e3} }",
        "plain",
        "{ \"x\" : [1 , 2],\n\"model\" : \"plain\", " USER("go deep") ",\"guided_json\":{\"a\": 1e3} }");
    sr_exchange *x = ask(*state, "{\"model\":\"MoM\"," USER("Deep?") "}");
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(v->decision, "deep");
    assert_int_equal(v->outcome, SR_OUTCOME_ROUTED);
    assert_true(v->edited);
    assert_false(v->streaming);
    assert_int_equal(v->n_targets, 1);
    assert_string_equal(v->targets[0].host, "127.0.0.1");
    assert_int_equal(v->targets[0].port, 9007);
    assert_true(v->overhead_ns > 0);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_default_model(void **state)
{
    check_forward(*state, "{\"model\":\"auto\"," USER("nothing special") "}", "small",
                  "{\"model\":\"small\"," USER("nothing special") "}");
    sr_exchange *x = ask(*state, "{\"model\":\"auto\"," USER("nothing special") "}");
    assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_DEFAULT);
    assert_string_equal(sr_exchange_verdict(x)->decision, "");
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* A known model is passed on from the byte where it is known; what is sent equals what came. */
static void test_streams_a_named_model(void **state)
{
    static const char body[] = "{\"a\":\"\\u00e9\",\"model\":\"thinker\",\"temperature\": 0.10," USER(
        "go deep") ",\"chat_template_kwargs\":{\"x\":null},\"stream\":true}\n";
    for (size_t chunk = 1; chunk <= sizeof body; chunk++) {
        struct sr_request_head head = head_of("POST", "/v1/chat/completions?x=1");
        struct sr_buf rest;
        sr_buf_init(&rest, 1 << 16);
        sr_exchange *x = sr_exchange_new(*state, &head, NULL);
        enum sr_step step = feed(x, body, sizeof body - 1, chunk, &rest);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_int_equal(v->action, SR_ACTION_FORWARD);
        assert_int_equal(v->outcome, SR_OUTCOME_PASSED);
        assert_string_equal(v->model, "thinker");
        assert_false(v->edited);
        assert_true(chunk < sizeof body - 1 ? v->streaming && step == SR_STEP_PASS : !v->streaming);
        char *sent = joined(v->body, v->n_body), whole[512];
        snprintf(whole, sizeof whole, "%s%.*s", sent, (int)rest.len, rest.data ? rest.data : "");
        assert_string_equal(whole, body);
        assert_int_equal(v->target.n, strlen("/v1/chat/completions?x=1"));
        free(sent);
        sr_buf_dispose(&rest);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void check_abort(sr_runtime *runtime, const char *begin, const char *rest, const char *message)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    assert_int_equal(sr_exchange_body(x, begin, strlen(begin), false), SR_STEP_VERDICT);
    assert_true(sr_exchange_verdict(x)->streaming);
    assert_int_equal(sr_exchange_body(x, rest, strlen(rest), true), SR_STEP_ABORT);
    check_reply(x, 400, message);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_breaks_off_a_stream(void **state)
{
    check_abort(*state, "{\"model\":\"small\",", "\"model\":\"plain\"," USER("x") "}", "more than once");
    check_abort(*state, "{\"model\":\"small\",", USER("x") ",}", "at byte ");
    check_abort(*state, "{\"model\":\"small\",", USER("x"), "malformed JSON body");
    check_abort(*state, "{\"model\":\"small\",", "\"n\":1}", "messages field is required");
    check_abort(*state, "{\"model\":\"small\",", "\"messages\":{}}", "must be an array");
    check_abort(*state, "{\"model\":\"small\",", "\"stream\":\"yes\"," USER("x") "}",
                "field stream must be boolean, got string");
}

static void test_alias_is_rewritten(void **state)
{
    check_forward(*state, "{\"model\": \"alias\" ,\"z\":1.0," USER("x") "}", "alias",
                  "{\"model\": \"vendor/real-name\" ,\"z\":1.0," USER("x") "}");
}

struct refusal {
    const char *path, *body, *message;
    int status;
};

static const struct refusal refusals[] = {
    {"/v1/chat/completions", "", "malformed JSON body", 400},
    {"/v1/chat/completions", "[]", "must be a JSON object", 400},
    {"/v1/chat/completions", "nul", "at byte ", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\"," USER("x") "} x", "at byte ", 400},
    {"/v1/chat/completions", "{" USER("x") "}", "missing required field: model", 400},
    {"/v1/chat/completions", "{\"model\":7," USER("x") "}", "field model must be string, got number", 400},
    {"/v1/chat/completions", "{\"model\":[\"auto\"]," USER("x") "}", "field model must be string, got array",
     400},
    {"/v1/chat/completions", "{\"model\":null," USER("x") "}", "field model must be string, got null", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\"}", "messages field is required", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"messages\":\"hi\"}", "messages field must be an array",
     400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"stream\":1," USER("x") "}", "must be boolean, got number",
     400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"model\":\"auto\"," USER("x") "}", "more than once", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"metadata\":[]," USER("x") "}",
     "field metadata must be object", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"metadata\":{\"a\":1}," USER("x") "}",
     "values must be strings", 400},
    {"/v1/chat/completions", "{\"model\":\"auto\",\"metadata\":{\"\":\"1\"}," USER("x") "}", "1 to 128 bytes",
     400},
    {"/v1/chat/completions", "{\"model\":\"gpt-9\"," USER("x") "}", "model \\\"gpt-9\\\" is not available",
     404},
    {"/v1/chat/completions", "{\"model\":\"\"," USER("x") "}", "model_not_found", 404},
    {"/v1/embeddings", "{\"model\":\"auto\",\"input\":\"x\"}", "not routed automatically", 400},
    {"/v1/embeddings", "{\"model\":\"nope\",\"input\":\"x\"}", "is not available", 404},
    {"/v1/audio/transcriptions", "{\"query\":\"x\"}", "endpoint not found", 404},
    {"/v1/audio/transcriptions", "{\"model\":\"auto\"}", "not routed automatically", 404},
    {"/v1/rerank", "{\"query\":\"x\"}", "missing required field: model", 400},
    {"/v1/rerank", "{\"model\":\"auto\"}", "not routed automatically", 400},
};

static void test_refusals(void **state)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        for (size_t chunk = 0; chunk < 3; chunk++) {
            sr_exchange *x = ask_path(*state, refusals[i].path, refusals[i].body, chunk);
            check_reply(x, refusals[i].status, refusals[i].message);
            const struct sr_verdict *v = sr_exchange_verdict(x);
            assert_int_equal(v->outcome, SR_OUTCOME_REFUSED);
            assert_string_equal(header_in(v->headers, v->n_headers, "content-type"), "application/json");
            assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-response-path"), "error");
            assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-schema-version"), "2");
            assert_non_null(header_in(v->headers, v->n_headers, "x-request-id"));
            sr_exchange_end(x, SR_END_COMPLETE);
        }
    }
}

static void test_error_shape(void **state)
{
    sr_exchange *x = ask(*state, "{\"model\":\"gpt-9\"," USER("x") "}");
    const struct sr_verdict *v = sr_exchange_verdict(x);
    static const char expected[] = "{\"error\":{\"message\":\"model \\\"gpt-9\\\" is not available\","
                                   "\"type\":\"invalid_request_error\",\"param\":\"model\","
                                   "\"code\":\"model_not_found\"}}";
    assert_int_equal(v->reply.n, sizeof expected - 1);
    assert_memory_equal(v->reply.p, expected, sizeof expected - 1);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_metadata_limits(void **state)
{
    char body[4000] = "{\"model\":\"auto\",\"metadata\":{", *p = body + strlen(body);
    for (int i = 0; i < 33; i++)
        p += sprintf(p, "%s\"k%d\":\"v\"", i ? "," : "", i);
    sprintf(p, "}," USER("x") "}");
    sr_exchange *x = ask(*state, body);
    check_reply(x, 400, "at most 32 keys");
    sr_exchange_end(x, SR_END_COMPLETE);
    sprintf(body, "{\"model\":\"auto\",\"metadata\":{\"k\":\"%01025d\"}," USER("x") "}", 0);
    x = ask(*state, body);
    check_reply(x, 400, "at most 1024 bytes");
    sr_exchange_end(x, SR_END_COMPLETE);
    sprintf(body, "{\"model\":\"auto\",\"metadata\":{\"%0128d\":\"%01024d\"}," USER("x") "}", 0, 0);
    x = ask(*state, body);
    assert_int_equal(sr_exchange_verdict(x)->action, SR_ACTION_FORWARD);
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* The limit counts all bytes, also those behind a streaming verdict and those that content-length promises.
 */
static void test_body_limit(void **state)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    char big[5000];
    memset(big, ' ', sizeof big);
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    assert_int_equal(sr_exchange_body(x, big, sizeof big, false), SR_STEP_VERDICT);
    check_reply(x, 413, "larger than 4096 bytes");
    sr_exchange_end(x, SR_END_COMPLETE);

    static const char begin[] = "{\"model\":\"small\",";
    x = sr_exchange_new(*state, &head, NULL);
    assert_int_equal(sr_exchange_body(x, begin, sizeof begin - 1, false), SR_STEP_VERDICT);
    assert_int_equal(sr_exchange_body(x, big, 4000, false), SR_STEP_PASS);
    assert_int_equal(sr_exchange_body(x, big, 4000, false), SR_STEP_ABORT);
    check_reply(x, 413, "request_too_large");
    sr_exchange_end(x, SR_END_COMPLETE);

    struct sr_header length = {SR_LIT("content-length"), SR_LIT("99999999999")};
    head.headers = &length;
    head.n_headers = 1;
    x = sr_exchange_new(*state, &head, NULL);
    check_reply(x, 413, "request_too_large");
    assert_int_equal(sr_exchange_body(x, big, 10, false), SR_STEP_VERDICT);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void check_head(sr_runtime *runtime, const char *method, const char *target, const char *name,
                       const char *value, int status, const char *message)
{
    struct sr_request_head head = head_of(method, target);
    struct sr_header header = {{name, strlen(name)}, {value, strlen(value)}};
    head.headers = &header;
    head.n_headers = 1;
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    check_reply(x, status, message);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_head_refusals(void **state)
{
    check_head(*state, "GET", "/v1/chat/completions", "a", "b", 405, "method not allowed");
    check_head(*state, "PUT", "/v1/embeddings", "a", "b", 405, "method not allowed");
    check_head(*state, "POST", "/v1/models", "a", "b", 405, "method not allowed");
    check_head(*state, "GET", "/", "a", "b", 404, "endpoint not found");
    check_head(*state, "GET", "/v1/files", "a", "b", 404, "endpoint not found");
    check_head(*state, "POST", "/v2/chat", "a", "b", 404, "endpoint not found");
    check_head(*state, "POST", "/v1/../metrics", "a", "b", 404, "endpoint not found");
    check_head(*state, "POST", "/v1/%2E%2e/metrics", "a", "b", 404, "endpoint not found");
    check_head(*state, "POST", "/v1/chat%2fcompletions", "a", "b", 400, "invalid_path");
    check_head(*state, "GET", "/v1/models/%2e%2e/chat/completions", "a", "b", 405, "method not allowed");
    check_head(*state, "POST", "/v1/chat/completions", "content-encoding", "br", 415, "use gzip or deflate");
    check_head(*state, "POST", "/v1/chat/completions", "content-encoding", "gzip, gzip", 415, "not known");
    check_head(*state, "POST", "/v1/audio/transcriptions", "content-type", "multipart/mixed; boundary=x", 400,
               "multipart/form-data");
    check_head(*state, "POST", "/v1/chat/completions", "content-type", "multipart/form-data; boundary=x", 400,
               "send JSON");
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    head.has_body = false;
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    check_reply(x, 400, "no body");
    sr_exchange_end(x, SR_END_COMPLETE);
    head = head_of("DELETE", "/v1/completions");
    x = sr_exchange_new(*state, &head, NULL);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(header_in(v->headers, v->n_headers, "allow"), "POST");
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_other_paths(void **state)
{
    sr_exchange *x = ask_path(*state, "/v1/rerank?q=1", "{\"query\":\"x\",\"model\":\"small\"}", 0);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->action, SR_ACTION_FORWARD);
    assert_string_equal(v->model, "small");
    assert_int_equal(v->target.n, strlen("/v1/rerank?q=1"));
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask_path(*state, "/v1/embeddings", "{\"model\":\"small\",\"input\":[[1,2],[3]]}", 0);
    assert_int_equal(sr_exchange_verdict(x)->action, SR_ACTION_FORWARD);
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* The upstream gets the path on which the router decided. */
static void test_normal_form_is_forwarded(void **state)
{
    static const char *const spellings[] = {"/v1/chat/completion%73?q=%2f",
                                            "//V1/./chat/x/../completions/?q=%2f",
                                            "http://h/v1/chat;a=b/completions?q=%2f"};
    for (size_t i = 0; i < 3; i++) {
        sr_exchange *x = ask_path(*state, spellings[i], "{\"model\":\"auto\"," USER("go deep") "}", 0);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_int_equal(v->action, SR_ACTION_FORWARD);
        assert_string_equal(v->decision, "deep");
        assert_true(sr_bytes_eq(v->target, SR_LIT("/v1/chat/completions?q=%2f")));
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_completions(void **state)
{
    sr_exchange *x =
        ask_path(*state, "/v1/completions", "{\"model\":\"auto\",\"prompt\":[\"a\",\"go deep\"]}", 0);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(v->decision, "deep");
    char *body = joined(v->body, v->n_body);
    assert_string_equal(body, "{\"model\":\"plain\",\"prompt\":[\"a\",\"go deep\"]}");
    free(body);
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask_path(*state, "/v1/completions", "{\"model\":\"auto\",\"prompt\":\"\\u0064eep\"}", 0);
    assert_string_equal(sr_exchange_verdict(x)->decision, "deep");
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Which text the signals read. */
static void test_text(void **state)
{
    static const struct {
        const char *messages, *decision;
    } cases[] = {
        {"{\"role\":\"user\",\"content\":\"deep\"},{\"role\":\"user\",\"content\":\"no\"}", ""},
        {"{\"role\":\"user\",\"content\":\"no\"},{\"role\":\"user\",\"content\":\"deep\"}", "deep"},
        {"{\"content\":\"deep\",\"role\":\"user\"},{\"role\":\"assistant\",\"content\":\"x\"}", "deep"},
        {"{\"role\":\"system\",\"content\":\"deep\"},{\"role\":\"user\",\"content\":\"no\"}", ""},
        {"{\"role\":\"system\",\"content\":\"deep\"},{\"role\":\"assistant\",\"content\":\"x\"}", "deep"},
        {"{\"role\":\"tool\",\"content\":\"deep\"},{\"role\":\"assistant\",\"content\":\"x\"}", ""},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"so\"},{\"type\":\"image_url\","
         "\"image_url\":"
         "{\"url\":\"data:deep\"}},{\"type\":\"text\",\"text\":\"deep\"}]}",
         "deep"},
        {"{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"deep\"}}]}", ""},
        {"{\"role\":\"user\",\"content\":\"de\\u0065p\"}", "deep"},
        {"{\"role\":\"user\",\"content\":null}", ""},
        {"{\"role\":\"user\"}", ""},
        {"7,null,[],\"deep\"", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[600];
        snprintf(body, sizeof body, "{\"messages\":[%s],\"model\":\"auto\"}", cases[i].messages);
        sr_exchange *x = ask(*state, body);
        assert_string_equal(sr_exchange_verdict(x)->decision, cases[i].decision);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_fast_response(void **state)
{
    sr_exchange *x = ask(*state, "{\"model\":\"auto\"," USER("canned") "}");
    const struct sr_verdict *v = sr_exchange_verdict(x);
    check_reply(x, 200, "\"content\":\"  No.\\n\\n\\tNot \\\"now\\\".  \"");
    assert_int_equal(v->outcome, SR_OUTCOME_FAST);
    assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-fast-response"), "true");
    assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-selected-decision"), "canned");
    assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-response-path"), "fast_response");
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* The streamed pieces, put together, are the message to the last blank. */
static void test_fast_response_streamed(void **state)
{
    sr_exchange *x = ask(*state, "{\"model\":\"auto\",\"stream\":true," USER("canned") "}");
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(header_in(v->headers, v->n_headers, "content-type"), "text/event-stream");
    char *text = joined(&v->reply, 1), content[200] = "";
    int events = 0;
    for (char *p = text; (p = strstr(p, "data: ")); p++, events++) {
        char *piece = strstr(p, "\"content\":\""), *end = strstr(p, "\n\n");
        if (!piece || piece > end)
            continue;
        piece += strlen("\"content\":\"");
        strncat(content, piece, (size_t)(strstr(piece, "\"},\"logprobs\"") - piece));
    }
    assert_string_equal(content, "  No.\\n\\n\\tNot \\\"now\\\".  ");
    assert_int_equal(events, 5);
    assert_non_null(strstr(text, "\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\""));
    assert_string_equal(text + strlen(text) - 14, "data: [DONE]\n\n");
    free(text);
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Replies are JSON, each event of a stream too, for both dialects. */
static void test_fast_response_shapes(void **state)
{
    static const struct {
        const char *path, *body;
    } cases[] = {
        {"/v1/chat/completions", "{\"model\":\"auto\"," USER("canned") "}"},
        {"/v1/completions", "{\"model\":\"auto\",\"prompt\":\"canned\"}"},
        {"/v1/chat/completions",
         "{\"model\":\"auto\",\"stream\":true,\"stream_options\":{\"include_usage\":true}," USER(
             "canned") "}"},
        {"/v1/completions", "{\"model\":\"auto\",\"stream\":true,\"prompt\":\"canned\"}"},
    };
    for (size_t i = 0; i < 4; i++) {
        sr_exchange *x = ask_path(*state, cases[i].path, cases[i].body, 0);
        char *text = joined(&sr_exchange_verdict(x)->reply, 1), *next = text;
        for (char *p = text; *p && *(p += i < 2 ? 0 : strlen("data: ")) != '['; p = next) {
            struct sr_doc *doc = NULL;
            next = i < 2 ? p + strlen(p) : strstr(p, "\n\n");
            assert_int_equal(sr_doc_parse(&doc, sr_bytes_of(p, (size_t)(next - p)), 1 << 16, NULL), SR_OK);
            sr_doc_free(doc);
            next += i < 2 ? 0 : 2;
        }
        assert_int_equal(strstr(text, "\"choices\":[],\"usage\":{") != NULL, i == 2);
        assert_int_equal(strstr(text, "\"text\":") != NULL, i % 2);
        free(text);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_skip_processing(void **state)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    struct sr_header skip = {SR_LIT("x-vsr-skip-processing"), SR_LIT("true")};
    head.headers = &skip;
    head.n_headers = 1;
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    static const char body[] = "{\"model\":\"auto\",\"stream\":true," USER("go deep") "}";
    feed(x, body, sizeof body - 1, 0, NULL);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(v->model, "small");
    assert_string_equal(v->decision, "");
    char *sent = joined(v->body, v->n_body);
    assert_string_equal(sent, "{\"model\":\"small\",\"stream\":true," USER("go deep") "}");
    free(sent);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_fail(void **state)
{
    sr_exchange *x = ask(*state, "{\"model\":\"small\"," USER("x") "}");
    const struct sr_verdict *v = sr_exchange_fail(x, 502, NULL, "the upstream cannot be reached");
    assert_int_equal(v->action, SR_ACTION_REPLY);
    assert_int_equal(v->outcome, SR_OUTCOME_FAILED);
    check_reply(x, 502, "\"type\":\"server_error\"");
    sr_exchange_fail(x, 503, "overloaded", "no room");
    check_reply(x, 503, "\"type\":\"overloaded\"");
    assert_string_equal(header_in(v->headers, v->n_headers, "retry-after"), "1");
    sr_exchange_end(x, SR_END_COMPLETE);
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    x = sr_exchange_new(*state, &head, NULL);
    sr_exchange_fail(x, 408, NULL, "too slow");
    check_reply(x, 408, "too slow");
    sr_exchange_end(x, SR_END_CLIENT_GONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes_by_decision),
        cmocka_unit_test(test_default_model),
        cmocka_unit_test(test_streams_a_named_model),
        cmocka_unit_test(test_breaks_off_a_stream),
        cmocka_unit_test(test_alias_is_rewritten),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_error_shape),
        cmocka_unit_test(test_metadata_limits),
        cmocka_unit_test(test_body_limit),
        cmocka_unit_test(test_head_refusals),
        cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_normal_form_is_forwarded),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_fast_response),
        cmocka_unit_test(test_fast_response_streamed),
        cmocka_unit_test(test_fast_response_shapes),
        cmocka_unit_test(test_skip_processing),
        cmocka_unit_test(test_fail),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
