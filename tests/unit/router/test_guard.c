/*
 * Guards: redaction and restoring in answers, blocks, flags, policies of models, requests
 * that name their model.
 */
#include "tests/unit/exchange_util.h"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("deep") TEST_KEYWORD("blockme") TEST_KEYWORD("flagme")
        TEST_KEYWORD("letme") TEST_KEYWORD("moveme") TEST_KEYWORD(
            "filterme") "    pii: [{name: private, pii_types_allowed: [DATE_TIME]}, {name: dates, "
                        "pii_types_allowed: [EMAIL_ADDRESS]}]\n"
                        "  decisions:\n"
                        "    - {name: allowed, priority: 2000, rules: {type: keyword, name: letme},\n"
                        "       plugins: [{type: guard, configuration: {action: allow}}]}\n"
                        "    - {name: blocked, priority: 1000, rules: {operator: AND, conditions: [{type: "
                        "keyword, name: blockme},\n"
                        "         {type: pii, name: private}]}, plugins: [{type: guard, configuration: "
                        "{action: block}}]}\n"
                        "    - {name: filtered, priority: 999, rules: {type: keyword, name: filterme},\n"
                        "       plugins: [{type: guard, configuration: {action: block, status: 200, message: "
                        "'Not this.'}}]}\n"
                        "    - {name: flagged, priority: 990, rules: {operator: AND, conditions: [{type: "
                        "keyword, name: flagme},\n"
                        "         {type: pii, name: private}]}, plugins: [{type: guard, configuration: "
                        "{action: flag}}]}\n"
                        "    - {name: moved, priority: 980, rules: {operator: AND, conditions: [{type: "
                        "keyword, name: moveme},\n"
                        "         {type: pii, name: private}]}, plugins: [{type: guard, configuration: "
                        "{action: route}}],\n"
                        "         modelRefs: [{model: plain}]}\n"
                        "    - {name: hidden, priority: 900, rules: {type: pii, name: private},\n"
                        "       plugins: [{type: guard, configuration: {action: redact, restore: true}}]}\n"
                        "    - {name: deep, priority: 5, rules: {type: keyword, name: deep}, modelRefs: "
                        "[{model: plain}]}\n"
                        "global:\n"
                        "  semroute:\n"
                        "    inference: {ask_below: 0}\n" /* what is found is the recognisers' */
                        "    models:\n"
                        "      top: {pii_policy: {allow_by_default: false, pii_types_allowed: "
                        "[DATE_TIME]}}\n";

struct state {
    sr_runtime *runtime;
    struct sr_buf lines;
};

static void keep_line(void *ctx, const char *line, size_t n)
{
    struct sr_buf *lines = ctx;
    assert_int_equal(sr_buf_append(lines, line, n), SR_OK);
    assert_int_equal(sr_buf_append(lines, "\n", 1), SR_OK);
}

static int setup(void **state)
{
    struct state *s = calloc(1, sizeof *s);
    sr_buf_init(&s->lines, 1 << 20);
    struct sr_runtime_options options = {
        .struct_size = sizeof options, .log_line = keep_line, .log_ctx = &s->lines};
    s->runtime = open_yaml_with(yaml, &options);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct state *s = *state;
    sr_runtime_close(s->runtime);
    sr_buf_dispose(&s->lines);
    free(s);
    return 0;
}

#define CHAT(model, text)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static sr_runtime *runtime_of(void **state)
{
    return ((struct state *)*state)->runtime;
}

/* The audit lines so far; forgets them. */
static const char *audit(void **state)
{
    static char text[8192];
    struct state *s = *state;
    snprintf(text, sizeof text, "%.*s", (int)s->lines.len, s->lines.data ? s->lines.data : "");
    sr_buf_clear(&s->lines);
    return text;
}

static struct sr_header_edits answer_begins(sr_exchange *x)
{
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    sr_exchange_answer_head(x, 200, &type, 1, &edits);
    return edits;
}

static void test_redact(void **state)
{
    check_forward(runtime_of(state),
                  CHAT("auto", "deep: bob@example.com, ann@example.com and bob@example.com"), "plain",
                  CHAT("plain", "deep: [EMAIL_ADDRESS_1], [EMAIL_ADDRESS_2] and [EMAIL_ADDRESS_1]"));
    /* no model of its own: the default one where nothing else matches; escapes around stay as they were */
    check_forward(
        runtime_of(state),
        CHAT("auto", "caf\\u00e9 \\\"bob@example.com\\\"\\n\\ud83d\\ude00 card 4111-1111-1111-1111"), "small",
        CHAT("small", "caf\\u00e9 \\\"[EMAIL_ADDRESS_1]\\\"\\n\\ud83d\\ude00 card [CREDIT_CARD_1]"));
    /* escapes inside */
    check_forward(runtime_of(state), CHAT("auto", "x bob\\u0040example.com y"), "small",
                  CHAT("small", "x [EMAIL_ADDRESS_1] y"));
}

static void test_redact_every_turn(void **state)
{
    check_forward(
        runtime_of(state),
        "{\"model\":\"plain\",\"messages\":[{\"content\":\"for bob@example.com\",\"role\":\"system\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"I am "
        "ann@example.com\"},{\"type\":\"text\","
        "\"text\":\"call "
        "541-714-1388\"}]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"mail\\\": "
        "\\\"bob@example.com\\\", "
        "\\\"card\\\": 4111111111111111}\"}}]},{\"role\":\"tool\",\"content\":\"sent to ann@example.com\"}]}",
        "plain",
        "{\"model\":\"plain\",\"messages\":[{\"content\":\"for [EMAIL_ADDRESS_1]\",\"role\":\"system\"},"
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"I am "
        "[EMAIL_ADDRESS_2]\"},{\"type\":\"text\","
        "\"text\":\"call "
        "[PHONE_NUMBER_1]\"}]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
        "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"mail\\\": "
        "\\\"[EMAIL_ADDRESS_1]\\\", "
        "\\\"card\\\": \\\"[CREDIT_CARD_1]\\\"}\"}}]},{\"role\":\"tool\",\"content\":\"sent to "
        "[EMAIL_ADDRESS_2]\"}]}");
    check_forward(runtime_of(state), CHAT("alias", "bob@example.com"), "alias",
                  CHAT("vendor/real-name", "[EMAIL_ADDRESS_1]"));
    check_forward(runtime_of(state), CHAT("plain", "nothing here"), "plain", CHAT("plain", "nothing here"));
}

/* What stands across two parts is one value; what one part shows better than its neighbour does is its own.
 */
static void test_redact_across_parts(void **state)
{
    check_forward(
        runtime_of(state),
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"card 4111 1111\"},{\"type\":\"text\",\"text\":\"1111 1111 of bob@example.com\"},"
        "{\"type\":\"text\",\"text\":\"bob@example.com\"}]}]}",
        "plain",
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"card [CREDIT_CARD_1]\"},{\"type\":\"text\",\"text\":\" of [EMAIL_ADDRESS_1]\"},"
        "{\"type\":\"text\",\"text\":\"[EMAIL_ADDRESS_1]\"}]}]}");
}

/* A value that is cut inside a word, beside one that is cut at a space. */
static void test_redact_cut_words(void **state)
{
    check_forward(
        runtime_of(state),
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"mail bob@exam\"},{\"type\":\"text\",\"text\":\"ple.com, card 4111 1111\"},"
        "{\"type\":\"text\",\"text\":\"1111 1111\"}]}]}",
        "plain",
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
        "\"text\":\"mail [EMAIL_ADDRESS_1]\"},{\"type\":\"text\",\"text\":\", card [CREDIT_CARD_1]\"},"
        "{\"type\":\"text\",\"text\":\"\"}]}]}");
}

/* A value that is cut beside a mark. Two sentences are no domain name. */
static void test_redact_cut_at_marks(void **state)
{
#define PARTS(a, b)                                                                                          \
    "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"" a    \
    "\"},{\"type\":\"text\",\"text\":\"" b "\"}]}]}"
    static const struct {
        const char *body, *seen;
    } cases[] = {
        {PARTS("write to john.doe@example.", "com please"), PARTS("write to [EMAIL_ADDRESS_1]", " please")},
        {PARTS("write to john.doe", "@example.com"), PARTS("write to [EMAIL_ADDRESS_1]", "")},
        {PARTS("write to john.doe@", "example.com"), PARTS("write to [EMAIL_ADDRESS_1]", "")},
        {PARTS("the host is 192.168.", "10.25 ok"), PARTS("the host is [IP_ADDRESS_1]", " ok")},
        {PARTS("my ssn is 123-45-", "6789 ok"), PARTS("my ssn is [US_SSN_1]", " ok")},
        {PARTS("see intranet.example.", "com please"), PARTS("see [DOMAIN_NAME_1]", " please")},
        {PARTS("So he told me.", "in short, nothing"), PARTS("So he told me.", "in short, nothing")},
        {PARTS("Answer in English.", "Is it ok?"), PARTS("Answer in English.", "Is it ok?")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_forward(runtime_of(state), cases[i].body, "plain", cases[i].seen);
}

/* A number that only a reader of JSON sees, in the arguments of a call. */
static void test_redact_numbers_of_arguments(void **state)
{
#define CALL(number)                                                                                         \
    "{\"model\":\"plain\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":"    \
    "\"f\","                                                                                                 \
    "\"arguments\":\"{\\\"n\\\":" number ",\\\"x\\\":1}\"}}]},{\"role\":\"user\",\"content\":\"go on\"}]}"
    check_forward(runtime_of(state), CALL("4.111111111111111e15"), "plain", CALL("\\\"[CREDIT_CARD_1]\\\""));
    check_forward(runtime_of(state), CALL("4.111111111111111\\u006515"), "plain",
                  CALL("\\\"[CREDIT_CARD_1]\\\""));
    check_forward(runtime_of(state), CALL("4.1e15"), "plain", CALL("4.1e15"));
}

/* Two values that share bytes are hidden together. */
static void test_redact_overlaps(void **state)
{
    static const char *const bodies[] = {
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"user\",\"content\":\"5\"},{\"role\":\"user\","
        "\"content\":"
        "[{\"type\":\"text\",\"text\":\"411111111111 1111-\"},{\"type\":\"text\",\"text\":\"@e\"},"
        "{\"type\":\"text\",\"text\":\"e.co\"}]}]}",
        "{\"model\":\"plain\",\"messages\":[{\"role\":\"assistant\",\"content\":\"card "
        "3\"},{\"role\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"111111111111 "
        "2.1\"},{\"type\":\"text\",\"text\":\"8.0.\"},"
        "{\"type\":\"text\",\"text\":\"5\"}]}]}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        sr_exchange *x = ask(runtime_of(state), bodies[i]);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_int_equal(v->action, SR_ACTION_FORWARD);
        for (size_t k = 0; k < v->n_body; k++)
            assert_false(sr_bytes_contains(v->body[k], SR_LIT("11111111")));
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

/* Members that the router does not know are redacted too; the conversation is numbered first. */
static void test_redact_anywhere(void **state)
{
    check_forward(
        runtime_of(state),
        "{\"mine\":{\"who\":[\"bob@example.com\",{\"x\":\"ann@example.com\"}]},\"model\":\"plain\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"ann\\u0040example.com\"}],"
        "\"user\":\"eve@example.com\"}",
        "plain",
        "{\"mine\":{\"who\":[\"[EMAIL_ADDRESS_2]\",{\"x\":\"[EMAIL_ADDRESS_1]\"}]},\"model\":\"plain\","
        "\"messages\":[{\"role\":\"user\",\"content\":\"[EMAIL_ADDRESS_1]\"}],"
        "\"user\":\"[EMAIL_ADDRESS_3]\"}");
    check_forward(
        runtime_of(state),
        "{\"model\":\"plain\",\"mine\":[4111111111111111,{\"card\":4111111111111111}],\"n\":4111111111111111,"
        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"yours\":4111111111111111}",
        "plain",
        "{\"model\":\"plain\",\"mine\":[\"[CREDIT_CARD_1]\",{\"card\":\"[CREDIT_CARD_1]\"}],\"n\":"
        "4111111111111111,"
        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"yours\":\"[CREDIT_CARD_1]\"}");
}

static void test_completions(void **state)
{
    sr_exchange *x =
        ask_path(runtime_of(state), "/v1/completions",
                 "{\"model\":\"plain\",\"prompt\":[\"bob@example.com\",\"ann@example.com\"]}", 3);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    char *got = joined(v->body, v->n_body);
    assert_string_equal(got,
                        "{\"model\":\"plain\",\"prompt\":[\"[EMAIL_ADDRESS_1]\",\"[EMAIL_ADDRESS_2]\"]}");
    free(got);
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void check_other(sr_runtime *runtime, const char *path, const char *body, const char *expected)
{
    sr_exchange *x = ask_path(runtime, path, body, 3);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    char *got = joined(v->body, v->n_body);
    assert_string_equal(got, expected);
    free(got);
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Named models of other APIs are guarded too. */
static void test_other_apis(void **state)
{
    check_other(runtime_of(state), "/v1/embeddings",
                "{\"model\":\"plain\",\"input\":[\"bob@example.com\",\"x\"]}",
                "{\"model\":\"plain\",\"input\":[\"[EMAIL_ADDRESS_1]\",\"x\"]}");
    check_other(runtime_of(state), "/v1/responses",
                "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"ann@example."
                "com\"}]}],"
                "\"instructions\":\"bob@example.com\",\"model\":\"plain\"}",
                "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"[EMAIL_"
                "ADDRESS_1]\"}]}],"
                "\"instructions\":\"[EMAIL_ADDRESS_2]\",\"model\":\"plain\"}");
}

/* ---- answers ---- */

static const char asked[] = CHAT("auto", "bob@example.com and 541-714-1388 and C\\u00f4te d'Ivoire");
static const char asked_stream[] =
    "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"bob@example.com and "
    "541-714-1388\"}]}";

/* What the client gets of an answer that comes in chunks. */
static char *answered(sr_runtime *runtime, const char *request, const char *type, const char *body,
                      size_t chunk)
{
    sr_exchange *x = ask(runtime, request);
    struct sr_header headers[] = {{SR_LIT("content-type"), {type, strlen(type)}},
                                  {SR_LIT("content-length"), SR_LIT("77")}};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    struct sr_buf got;
    size_t n = strlen(body);
    sr_buf_init(&got, 1 << 20);
    assert_int_equal(sr_buf_append(&got, "", 0), SR_OK);
    sr_exchange_answer_head(x, 200, headers, 2, &edits);
    bool told = false;
    for (size_t i = 0; i < edits.n_remove; i++)
        told |= sr_bytes_eq(edits.remove[i], SR_LIT("content-length"));
    assert_true(told);
    for (size_t at = 0; at <= n; at += chunk) {
        const struct sr_bytes *slices;
        size_t count, take = n - at < chunk ? n - at : chunk;
        char *copy = malloc(take + 1);
        memcpy(copy, body + at, take);
        sr_exchange_answer_body(x, copy, take, at + chunk > n, &slices, &count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(sr_buf_append_bytes(&got, slices[i]), SR_OK);
        free(copy);
    }
    sr_exchange_end(x, SR_END_COMPLETE);
    char *text = strdup(got.data ? got.data : "");
    sr_buf_dispose(&got);
    return text;
}

static void test_restore_json(void **state)
{
    static const char body[] = "{\"id\":\"[EMAIL_ADDRESS_1]\",\"choices\":[{\"index\":0,\"message\":{"
                               "\"role\":\"assistant\",\"content\":"
                               "\"Write to [EMAIL_ADDRESS_1], not [EMAIL_ADDRESS_2]; \\u005bPHONE_NUMBER_1] "
                               "[x]\",\"tool_calls\":[{\"function\":"
                               "{\"arguments\":\"{\\\"to\\\":\\\"[EMAIL_ADDRESS_1]\\\"}\"}}]}}]}";
    for (size_t chunk = 1; chunk < sizeof body + 8; chunk += chunk < 20 ? 1 : 37) {
        char *got = answered(runtime_of(state), asked, "application/json", body, chunk);
        assert_non_null(strstr(got, "\"id\":\"[EMAIL_ADDRESS_1]\""));
        assert_non_null(strstr(got, "Write to bob@example.com, not [EMAIL_ADDRESS_2]; 541-714-1388 [x]"));
        assert_non_null(strstr(got, "{\\\"to\\\":\\\"bob@example.com\\\"}"));
        free(got);
    }
    char *got = answered(runtime_of(state), asked, "application/json", "no JSON [EMAIL_ADDRESS_1]", 5);
    assert_string_equal(got, "no JSON [EMAIL_ADDRESS_1]");
    free(got);
}

#define EVENT(choice, text)                                                                                  \
    "data: {\"id\":\"1\",\"choices\":[{\"index\":" choice ",\"delta\":{\"content\":\"" text                  \
    "\"},\"finish_reason\":null}]}\n\n"

/* The contents of one choice's events, joined. */
static void contents(const char *stream, char choice, char *out, size_t size)
{
    char start[64];
    size_t n = 0;
    snprintf(start, sizeof start, "\"index\":%c,\"delta\":{\"content\":\"", choice);
    for (const char *at = stream; (at = strstr(at, start));) {
        at += strlen(start);
        while (*at != '"' && n + 1 < size)
            out[n++] = *at++;
    }
    out[n] = 0;
}

static void test_restore_stream(void **state)
{
    static const char body[] = ": hello\n\n" EVENT("0", "Mail [EMA") EVENT("1", "[") EVENT("0", "IL_ADDR")
        EVENT("1", "PHONE_NUMBER_1") EVENT("0", "ESS_1] and [not") EVENT("1", "]!")
            EVENT("0", " this] [EMAIL_ADDRESS_1")
                EVENT("1", " [EMAIL_") "data: "
                                       "{\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_"
                                       "reason\":\"stop\"}]}\n\n"
                                       "data: [DONE]\n\n";
    for (size_t chunk = 1; chunk < sizeof body + 8; chunk += chunk < 30 ? 1 : 41) {
        char *got = answered(runtime_of(state), asked_stream, "text/event-stream", body, chunk), text[256];
        contents(got, '0', text, sizeof text);
        assert_string_equal(text, "Mail bob@example.com and [not this] [EMAIL_ADDRESS_1");
        contents(got, '1', text, sizeof text);
        assert_string_equal(text, "541-714-1388! [EMAIL_");
        assert_ptr_equal(got, strstr(got, ": hello\n\n"));
        const char *done = strstr(got, "data: [DONE]\n\n"), *stop = strstr(got, "\"stop\"");
        assert_true(stop && done && stop < done && !done[sizeof "data: [DONE]\n\n" - 1]);
        assert_true(strstr(got, "[EMAIL_ADDRESS_1\"") < stop); /* what waited came before the choice ended */
        free(got);
    }
}

static void test_restore_calls(void **state)
{
    static const char body[] = "data: "
                               "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
                               "\"function\":{\"arguments\":\"{\\\"to\\\":"
                               "\\\"[EMAIL_\"}}]}}]}\n\n"
                               "data: "
                               "{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
                               "\"function\":{\"arguments\":\"ADDRESS_1]\\\"}\""
                               "}}]}}]}\n\n";
    char *got = answered(runtime_of(state), asked_stream, "text/event-stream", body, 11);
    assert_non_null(strstr(got, "{\\\"to\\\":\\\"\"}"));
    assert_non_null(strstr(got, "\"bob@example.com\\\"}\"}"));
    free(got);
}

/* ---- the other actions ---- */

static void test_block(void **state)
{
    static const char *const models[] = {"auto", "plain"};
    for (size_t i = 0; i < 2; i++) {
        char body[256];
        (void)audit(state);
        snprintf(body, sizeof body, CHAT("%s", "blockme bob@example.com"), models[i]);
        sr_exchange *x = ask(runtime_of(state), body);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        check_reply(x, 403, "pii_blocked");
        check_reply(x, 403, "EMAIL_ADDRESS");
        assert_int_equal(v->outcome, SR_OUTCOME_BLOCKED);
        assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-pii-violation"), "true");
        assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-pii-types"), "EMAIL_ADDRESS");
        assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-response-path"), "blocked");
        assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-selected-decision"), "blocked");
        assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-scan-coverage"), "1.0000");
        assert_null(header_in(v->headers, v->n_headers, "x-vsr-jailbreak-blocked"));
        const char *line = audit(state);
        assert_non_null(strstr(line, "\"event\":\"security_block\",\"action\":\"block\""));
        assert_non_null(strstr(line, "\"decision\":\"blocked\""));
        assert_non_null(strstr(line, "\"pii_types\":[\"EMAIL_ADDRESS\"]"));
        assert_null(strstr(line, "bob"));
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_filtered(void **state)
{
    sr_exchange *x = ask(runtime_of(state), CHAT("auto", "filterme"));
    check_reply(x, 200, "\"content\":\"Not this.\"");
    check_reply(x, 200, "\"finish_reason\":\"content_filter\"");
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask(
        runtime_of(state),
        "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"filterme\"}]}");
    check_reply(x, 200, "\"finish_reason\":\"content_filter\"");
    check_reply(x, 200, "data: [DONE]");
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_flag_and_route(void **state)
{
    sr_exchange *x = ask(runtime_of(state), CHAT("auto", "deep flagme bob@example.com"));
    assert_string_equal(sr_exchange_verdict(x)->model, "plain"); /* the route is the other decisions' */
    struct sr_header_edits edits = answer_begins(x);
    assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-guard-action"), "flag");
    assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-guard-decision"), "flagged");
    assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-pii-types"), "EMAIL_ADDRESS");
    assert_string_equal(header_in(edits.set, edits.n_set, "x-vsr-selected-decision"), "deep");
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask(runtime_of(state), CHAT("small", "moveme bob@example.com"));
    assert_string_equal(sr_exchange_verdict(x)->model, "plain");
    char *got = joined(sr_exchange_verdict(x)->body, sr_exchange_verdict(x)->n_body);
    assert_string_equal(got, CHAT("plain", "moveme bob@example.com"));
    free(got);
    sr_exchange_end(x, SR_END_COMPLETE);
    check_forward(runtime_of(state), CHAT("plain", "letme bob@example.com"), "plain",
                  CHAT("plain", "letme bob@example.com"));
}

static void test_policy(void **state)
{
    /* what is redacted the model does not see; what it may see is none of the guard's business */
    check_forward(runtime_of(state), CHAT("top", "on 3 March 2021 to bob@example.com"), "top",
                  CHAT("top", "on 3 March 2021 to [EMAIL_ADDRESS_1]"));
    /* the guard lets it pass, the model's policy does not */
    sr_exchange *x = ask(runtime_of(state), CHAT("top", "letme bob@example.com"));
    check_reply(x, 403, "may see");
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(header_in(v->headers, v->n_headers, "x-vsr-pii-types"), "EMAIL_ADDRESS");
    assert_non_null(strstr(audit(state), "\"decision\":\"pii_policy\""));
    sr_exchange_end(x, SR_END_COMPLETE);
}

static void test_policy_moves(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(TEST_PROVIDERS "routing:\n"
                                 "  decisions:\n"
                                 "    - {name: all, modelRefs: [{model: plain}, {model: small}]}\n"
                                 "global: {semroute: {inference: {ask_below: 0}, models: {plain: "
                                 "{pii_policy: {allow_by_default: false}}}}}\n");
    check_forward(runtime, CHAT("auto", "hello"), "plain", CHAT("plain", "hello"));
    check_forward(runtime, CHAT("auto", "bob@example.com"), "small", CHAT("small", "bob@example.com"));
    check_forward(runtime, CHAT("plain", "hello"), "plain", CHAT("plain", "hello"));
    sr_exchange *x = ask(runtime, CHAT("plain", "bob@example.com"));
    check_reply(x, 403, "pii_blocked");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void test_explicit_models_off(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(
        TEST_PROVIDERS
        "routing:\n"
        "  signals: {pii: [{name: private}]}\n"
        "  decisions:\n"
        "    - {name: no, rules: {type: pii, name: private}, plugins: [{type: "
        "guard, configuration: {action: block}}]}\n"
        "global: {semroute: {inference: {ask_below: 0}, guards: {explicit_models: false}, models: {top: "
        "{pii_policy: {allow_by_default: false}}}}}\n");
    check_forward(runtime, CHAT("plain", "bob@example.com"), "plain", CHAT("plain", "bob@example.com"));
    check_forward(runtime, CHAT("top", "bob@example.com"), "top", CHAT("top", "bob@example.com"));
    sr_exchange *x = ask(runtime, CHAT("auto", "bob@example.com"));
    check_reply(x, 403, "pii_blocked");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void test_remembered(void **state)
{
    static char metrics[1 << 18];
    for (int i = 0; i < 2; i++) {
        sr_exchange *x = ask(runtime_of(state), CHAT("auto", "remember bob@example.com please"));
        assert_int_equal(sr_exchange_verdict(x)->action, SR_ACTION_FORWARD);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    assert_true(sr_runtime_metrics(runtime_of(state), metrics, sizeof metrics) < sizeof metrics);
    assert_non_null(strstr(metrics, "semroute_guard_remembered_units_total{signal=\"pii\"}"));
    assert_non_null(strstr(metrics, "semroute_guard_actions_total{decision=\"hidden\",action=\"redact\"}"));
    assert_non_null(strstr(metrics, "llm_pii_violations_total{model=\"small\",pii_type=\"EMAIL_ADDRESS\"}"));
    assert_null(strstr(metrics, "bob"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact),
        cmocka_unit_test(test_redact_every_turn),
        cmocka_unit_test(test_redact_across_parts),
        cmocka_unit_test(test_redact_anywhere),
        cmocka_unit_test(test_redact_cut_words),
        cmocka_unit_test(test_redact_cut_at_marks),
        cmocka_unit_test(test_redact_overlaps),
        cmocka_unit_test(test_redact_numbers_of_arguments),
        cmocka_unit_test(test_completions),
        cmocka_unit_test(test_other_apis),
        cmocka_unit_test(test_restore_json),
        cmocka_unit_test(test_restore_stream),
        cmocka_unit_test(test_restore_calls),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_flag_and_route),
        cmocka_unit_test(test_policy),
        cmocka_unit_test(test_policy_moves),
        cmocka_unit_test(test_explicit_models_off),
        cmocka_unit_test(test_remembered),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
