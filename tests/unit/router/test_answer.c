/* Answers: headers, usage removed from streams, token counts, pass-through. */
#include "router/exchange/exchange.h"
#include "tests/unit/exchange_util.h"

static const char yaml[] =
    TEST_PROVIDERS "routing:\n"
                   "  signals:\n"
                   "    keywords:\n" TEST_KEYWORD(
                       "deep") "  decisions:\n"
                               "    - {name: deep, priority: 10, rules: {type: keyword, name: deep},\n"
                               "       modelRefs: [{model: small}]}\n";

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

static const char asked_stream[] =
    "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"deep\"}]}";
static const char asked_plain[] =
    "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"deep\"}]}";
static const char asked_usage[] =
    "{\"model\":\"auto\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
    "\"messages\":[{\"role\":\"user\",\"content\":\"deep\"}]}";

/* Sends an answer through in chunks; what the client gets. */
static char *answer(sr_exchange *x, int status, const char *type, const char *body, size_t chunk,
                    struct sr_header_edits *edits)
{
    struct sr_header header = {SR_LIT("content-type"), {type, strlen(type)}};
    struct sr_buf got;
    size_t n = strlen(body);
    sr_buf_init(&got, 1 << 20);
    sr_exchange_answer_head(x, status, &header, 1, edits);
    for (size_t at = 0; at <= n; at += chunk) {
        size_t take = n - at < chunk ? n - at : chunk, n_slices;
        const struct sr_bytes *slices;
        char *copy = malloc(take ? take : 1);
        memcpy(copy, body + at, take);
        sr_exchange_answer_body(x, copy, take, at + take == n, &slices, &n_slices);
        for (size_t i = 0; i < n_slices; i++)
            assert_int_equal(sr_buf_append_bytes(&got, slices[i]), SR_OK);
        free(copy);
        if (at + take == n)
            break;
    }
    char *out = calloc(1, got.len + 1);
    if (got.len)
        memcpy(out, got.data, got.len);
    sr_buf_dispose(&got);
    return out;
}

static void check_stream(sr_runtime *runtime, const char *asked, const char *from, const char *to)
{
    for (size_t chunk = 1; chunk <= strlen(from); chunk++) {
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        sr_exchange *x = ask(runtime, asked);
        char *got = answer(x, 200, "text/event-stream; charset=utf-8", from, chunk, &edits);
        assert_string_equal(got, to);
        free(got);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

#define CHUNK(text) "data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]"
#define USAGE       "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}"

static void test_usage_is_taken_out(void **state)
{
    check_stream(*state, asked_stream,
                 ": ping\n\n" CHUNK("a") "}\n\n" CHUNK(
                     "b \\\"usage\\\"") ",\"usage\":null}\n\n"
                                        "data: {\"choices\":[],\"id\":\"1\"," USAGE "}\n\ndata: [DONE]\n\n",
                 ": ping\n\n" CHUNK("a") "}\n\n" CHUNK("b \\\"usage\\\"") "}\n\ndata: [DONE]\n\n");
    check_stream(*state, asked_stream,
                 "data: {\"usage\" : null , \"choices\":[{}]}\r\n\r\ndata: {" USAGE
                 ",\"choices\":[]}\r\n\r\ndata: [DONE]\r\n\r\n",
                 "data: { \"choices\":[{}]}\r\n\r\ndata: [DONE]\r\n\r\n");
    /* Counts beside a choice: only the member goes. */
    check_stream(*state, asked_stream, CHUNK("a") "," USAGE "}\n\ndata: [DONE]\n\n",
                 CHUNK("a") "}\n\ndata: [DONE]\n\n");
}

static void test_usage_that_was_asked_for_stays(void **state)
{
    static const char stream[] =
        CHUNK("a") ",\"usage\":null}\n\ndata: {\"choices\":[]," USAGE "}\n\ndata: [DONE]\n\n";
    check_stream(*state, asked_usage, stream, stream);
    check_stream(*state, "{\"model\":\"small\",\"stream\":true,\"messages\":[]}", stream, stream);
}

/* What is not understood passes as it is. */
static void test_odd_streams_pass(void **state)
{
    static const char stream[] =
        "data: \"usage\" {broken\n\ndata: {\"error\":{\"usage\":1}}\n\nevent: x\ndata: {\"a\":\n"
        "data: \"usage\"}\n\ndata: tail \"usage\"";
    check_stream(*state, asked_stream, stream, stream);
}

/* Slices of a stream that is only read are the input itself. */
static void test_pass_through_is_not_copied(void **state)
{
    struct sr_header header = {SR_LIT("content-type"), SR_LIT("text/event-stream")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    const struct sr_bytes *slices;
    size_t n;
    static const char half[] = "data: {\"cho";
    sr_exchange *x = ask(*state, asked_usage);
    sr_exchange_answer_head(x, 200, &header, 1, &edits);
    sr_exchange_answer_body(x, half, sizeof half - 1, false, &slices, &n);
    assert_int_equal(n, 1);
    assert_ptr_equal(slices[0].p, half);
    assert_int_equal(slices[0].n, sizeof half - 1);
    sr_exchange_end(x, SR_END_UPSTREAM_LOST);
}

static char *metrics_of(sr_runtime *runtime)
{
    size_t n = sr_runtime_metrics(runtime, NULL, 0);
    char *text = malloc(n + 1);
    assert_int_equal(sr_runtime_metrics(runtime, text, n + 1), n);
    return text;
}

static double metric(sr_runtime *runtime, const char *series)
{
    char *text = metrics_of(runtime), *line = strstr(text, series);
    double value = line ? strtod(line + strlen(series), NULL) : -1;
    free(text);
    return value;
}

/* Counts arrive whatever the chunks, from JSON and from streams, and cost what the prices say. */
static void test_token_metrics(void **state)
{
    (void)state;
    static const char plain[] =
        "{\"id\":\"x\",\"choices\":[{\"message\":{\"content\":\"\\\"usage\\\":9\"}}],\n" USAGE "}";
    static const char stream[] = CHUNK("a") "}\n\ndata: {\"choices\":[]," USAGE "}\n\ndata: [DONE]\n\n";
    for (size_t chunk = 1; chunk < 80; chunk += 3) {
        sr_runtime *runtime = open_yaml(yaml);
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        sr_exchange *x = ask(runtime, asked_plain);
        free(answer(x, 200, "application/json", plain, chunk, &edits));
        sr_exchange_end(x, SR_END_COMPLETE);
        x = ask(runtime, asked_stream);
        free(answer(x, 200, "text/event-stream", stream, chunk, &edits));
        sr_exchange_end(x, SR_END_COMPLETE);
        assert_true(metric(runtime, "llm_model_prompt_tokens_total{model=\"small\"} ") == 6);
        assert_true(metric(runtime, "llm_model_completion_tokens_total{model=\"small\"} ") == 4);
        assert_true(metric(runtime, "llm_model_tokens_total{model=\"small\"} ") == 10);
        assert_true(metric(runtime, "llm_model_cost_total{model=\"small\",currency=\"EUR\"} ") == 14);
        assert_true(metric(runtime, "llm_model_tpot_seconds_count{model=\"small\"} ") == 1);
        assert_true(metric(runtime, "llm_model_ttft_seconds_count{model=\"small\"} ") == 2);
        assert_true(metric(runtime, "llm_model_inflight_requests{model=\"small\"} ") == 0);
        sr_runtime_close(runtime);
    }
}

/* Messages count cached tokens beside the others, and tell them when a stream begins; Responses when it ends.
 */
static void test_tokens_of_dialects(void **state)
{
    static const struct {
        const char *path, *body, *type, *answer;
    } cases[] = {
        {"/v1/messages", "{\"model\":\"small\",\"messages\":[]}", "application/json",
         "{\"type\":\"message\",\"content\":[],\"usage\":{\"input_tokens\":2,\"cache_creation_input_tokens\":"
         "3,"
         "\"cache_read_input_tokens\":4,\"output_tokens\":5}}"},
        {"/v1/messages", "{\"model\":\"small\",\"messages\":[],\"stream\":true}", "text/event-stream",
         "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":2,"
         "\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\n\n"
         "event: message_delta\ndata: "
         "{\"usage\":{\"output_tokens\":5},\"type\":\"message_delta\",\"delta\":{}}\n\n"
         "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
        {"/v1/responses", "{\"model\":\"small\",\"input\":\"x\",\"stream\":true}", "text/event-stream",
         "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n"
         "data: { \"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,"
         "\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":5}}}\n\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t chunk = 1; chunk < 300; chunk += 7) {
            sr_runtime *runtime = open_yaml(yaml);
            struct sr_header_edits edits = {.struct_size = sizeof edits};
            sr_exchange *x = ask_path(runtime, cases[i].path, cases[i].body, 0);
            char *got = answer(x, 200, cases[i].type, cases[i].answer, chunk, &edits);
            assert_string_equal(got, cases[i].answer);
            free(got);
            sr_exchange_end(x, SR_END_COMPLETE);
            assert_true(metric(runtime, "llm_model_prompt_tokens_total{model=\"small\"} ") == 9);
            assert_true(metric(runtime, "llm_model_completion_tokens_total{model=\"small\"} ") == 5);
            sr_runtime_close(runtime);
        }
}

/* Why answers end, whatever the chunks; a word that no API has is not told. */
static void test_finish_reasons(void **state)
{
    static const char json[] = "application/json", stream[] = "text/event-stream";
    static const struct {
        const char *path, *type, *answer, *reasons[3];
    } cases[] = {
        {"/v1/chat/completions",
         json,
         "{\"choices\":[{\"finish_reason\":\"length\",\"message\":{\"content\":\"\\\"finish_reason\\\":"
         "\\\"abort\\\"\"}},"
         "{\"finish_reason\":\"tool_calls\"},{\"finish_reason\":\"length\"}]}",
         {"length", "tool_calls"}},
        {"/v1/chat/completions",
         json,
         "{\"choices\":[{\"finish_reason\":\"secret of the user\"}]}",
         {"other"}},
        {"/v1/chat/completions",
         json,
         "{\"choices\":[{\"finish_reason\":null},{\"finish_reason\":\"\"}]}",
         {0}},
        {"/v1/chat/completions",
         stream,
         "data: {\"choices\":[{\"delta\":{\"content\":\"a_reason\\\": "
         "\\\"abort\"},\"finish_reason\":null}]}\n\n"
         "data: {\"choices\":[{\"delta\":{},\"finish_reason\" : \"stop\"}]}\n\ndata: [DONE]\n\n",
         {"stop"}},
        {"/v1/messages",
         stream,
         "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
         "\"usage\":{\"output_tokens\":5}}\n\n",
         {"end_turn"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t chunk = 1; chunk < 90; chunk += 2) {
            struct sr_header_edits edits = {.struct_size = sizeof edits};
            bool streamed = cases[i].type == stream;
            sr_exchange *x = ask_path(*state, cases[i].path,
                                      streamed ? "{\"model\":\"small\",\"messages\":[],\"stream\":true}"
                                               : "{\"model\":\"small\",\"messages\":[]}",
                                      0);
            uint32_t expected = 0;
            for (size_t k = 0; cases[i].reasons[k]; k++)
                expected |= sr_finish_bit(sr_bytes_str(cases[i].reasons[k]));
            free(answer(x, 200, cases[i].type, cases[i].answer, chunk, &edits));
            if (x->answer.usage.usage.finish != expected)
                fail_msg("%zu in chunks of %zu: %x", i, chunk, x->answer.usage.usage.finish);
            sr_exchange_end(x, SR_END_COMPLETE);
        }
    assert_string_equal(sr_finish_name(SR_FINISH_REASONS - 1), "other");
}

static void test_answer_headers(void **state)
{
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    struct sr_header debug[] = {{SR_LIT("x-vsr-debug"), SR_LIT("true")},
                                {SR_LIT("x-request-id"), SR_LIT("id-1")}};
    head.headers = debug;
    head.n_headers = 2;
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    feed(x, asked_plain, sizeof asked_plain - 1, 0, NULL);
    free(answer(x, 200, "application/json", "{}", 9, &edits));
    static const char *const expected[][2] = {
        {"x-vsr-selected-model", "small"},       {"x-vsr-selected-decision", "deep"},
        {"x-vsr-selected-reasoning", "off"},     {"x-vsr-injected-system-prompt", "false"},
        {"x-vsr-selected-confidence", "1.0000"}, {"x-vsr-schema-version", "2"},
        {"x-vsr-response-path", "upstream"},     {"x-vsr-matched-keywords", "deep"},
        {"x-vsr-context-token-count", "1"},      {"x-request-id", "id-1"},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const char *value = header_in(edits.set, edits.n_set, expected[i][0]);
        assert_non_null(value);
        assert_string_equal(value, expected[i][1]);
    }
    assert_non_null(header_in(edits.set, edits.n_set, "x-vsr-overhead-us"));
    assert_null(header_in(edits.set, edits.n_set, "x-vsr-cache-hit"));
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Errors of the upstream keep every byte and get no decision headers. */
static void test_upstream_errors(void **state)
{
    static const char body[] = "data: {\"choices\":[]," USAGE "}\n\n";
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    sr_exchange *x = ask(*state, asked_stream);
    char *got = answer(x, 429, "text/event-stream", body, 5, &edits);
    assert_string_equal(got, body);
    assert_null(header_in(edits.set, edits.n_set, "x-vsr-selected-model"));
    assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-response-path"), "upstream");
    free(got);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_upstream_may_not_speak_for_us(void **state)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("text/event-stream")},
                                  {SR_LIT("x-vsr-cache-hit"), SR_LIT("true")},
                                  {SR_LIT("content-length"), SR_LIT("10")},
                                  {SR_LIT("x-request-id"), SR_LIT("theirs")}};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    sr_exchange *x = ask(*state, asked_stream);
    sr_exchange_answer_head(x, 200, headers, 4, &edits);
    assert_true(names_header(edits.remove, edits.n_remove, "x-vsr-cache-hit"));
    assert_true(names_header(edits.remove, edits.n_remove, "content-length"));
    assert_null(header_in(edits.set, edits.n_set, "x-request-id"));
    sr_exchange_end(x, SR_END_CLIENT_GONE);
}

static void test_odd_usage(void **state)
{
    static const char *const bodies[] = {
        "{\"usage\":null}",
        "{\"usage\":[1,2]}",
        "{\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":1e3}}",
        "[[[",
        "{\"usage\":{\"prompt_tokens\":99999999999999999999999999999999999999999}}",
        "not json",
        ""};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        for (size_t chunk = 1; chunk < 4; chunk++) {
            struct sr_header_edits edits = {.struct_size = sizeof edits};
            sr_exchange *x = ask(*state, asked_plain);
            char *got = answer(x, 200, "application/json", bodies[i], chunk, &edits);
            assert_string_equal(got, bodies[i]);
            free(got);
            sr_exchange_end(x, SR_END_COMPLETE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage_is_taken_out), cmocka_unit_test(test_usage_that_was_asked_for_stays),
        cmocka_unit_test(test_odd_streams_pass),   cmocka_unit_test(test_pass_through_is_not_copied),
        cmocka_unit_test(test_token_metrics),      cmocka_unit_test(test_tokens_of_dialects),
        cmocka_unit_test(test_finish_reasons),     cmocka_unit_test(test_answer_headers),
        cmocka_unit_test(test_upstream_errors),    cmocka_unit_test(test_upstream_may_not_speak_for_us),
        cmocka_unit_test(test_odd_usage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
