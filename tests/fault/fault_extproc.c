/*
 * Every allocation of a request of Envoy's fails once, and all after it, in every mode: each message has its
 * reply or the stream an end, a body that goes on is whole, and nothing leaks. The wire format too.
 */
#include "base/mem.h"
#include "router/runtime.h"
#include "serve/extproc/core.h"
#include "tests/unit/exchange_util.h"

#define PICKER                                                                                               \
    "global: {semroute: {extproc: {destination_header: x-gateway-destination-endpoint, streamed_replies: "   \
    "true}}}\n"

static const char yaml[] =
    TEST_PROVIDERS "routing:\n  signals:\n    keywords:\n" TEST_KEYWORD("code") TEST_KEYWORD(
        "hello") "  decisions:\n"
                 "    - {name: code, priority: 10, rules: {type: keyword, name: code}, modelRefs: [{model: "
                 "plain}]}\n"
                 "    - {name: fast, priority: 8, rules: {type: keyword, name: hello}, plugins: [{type: "
                 "fast_response, configuration: {message: Hi.}}]}\n" PICKER;

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

struct seen {
    int status;        /* of an answer given here */
    size_t upstream;   /* bytes in pieces, or in replaced bodies */
    size_t continued;  /* replies that kept the body */
    bool failed, lost; /* the core gave up; a reply could not be written */
};

static void on_send(void *ctx, const struct sr_extproc_reply *reply)
{
    struct seen *seen = ctx;
    struct sr_arena arena;
    sr_arena_init(&arena, (size_t)1 << 20);
    struct sr_bytes bytes = sr_extproc_encode(reply, &arena);
    seen->lost |= !bytes.p;
    sr_arena_dispose(&arena);
    if (reply->action == SR_EXTPROC_IMMEDIATE || reply->action == SR_EXTPROC_ANSWER) {
        assert_int_equal(seen->status, 0);
        seen->status = reply->status;
    } else if (reply->action == SR_EXTPROC_CONTINUE && reply->phase == SR_EXTPROC_REQUEST_BODY) {
        seen->continued += reply->change == SR_EXTPROC_KEEP;
        for (size_t i = 0; i < reply->n_body; i++)
            seen->upstream += reply->body[i].n;
    }
}

static void on_fail(void *ctx, const char *why)
{
    (void)why;
    ((struct seen *)ctx)->failed = true;
}

static const struct sr_extproc_core_ops OPS = {.send = on_send, .fail = on_fail};

static void body(struct sr_extproc_core *core, const char *p, size_t n, bool end)
{
    struct sr_extproc_message message = {
        .phase = SR_EXTPROC_REQUEST_BODY, .body = {p, n}, .end_of_stream = end};
    sr_extproc_core_message(core, &message);
}

static void answer(struct sr_extproc_core *core)
{
    struct sr_header type = {{"content-type", 12}, {"text/event-stream", 17}};
    struct sr_extproc_message head = {
        .phase = SR_EXTPROC_RESPONSE_HEADERS, .status = {"200", 3}, .headers = &type, .n_headers = 1};
    struct sr_extproc_message end = {
        .phase = SR_EXTPROC_RESPONSE_BODY, .body = {"data: [DONE]\n\n", 14}, .end_of_stream = true};
    sr_extproc_core_message(core, &head);
    sr_extproc_core_message(core, &end);
}

/* One request; the allocations that it made. `want` bytes reach the upstream when nothing fails. */
static size_t live(struct sr_extproc_core_options options, enum sr_extproc_mode mode, const char *text,
                   size_t want, size_t failing)
{
    struct seen seen = {.status = 0};
    struct sr_bytes subset = {"127.0.0.1:9007", 14};
    struct sr_header headers[] = {{{"content-type", 12}, {"application/json", 16}},
                                  {{"x-selected-model", 16}, {"spoofed", 7}}};
    struct sr_extproc_message head = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                      .has_config = true,
                                      .request_mode = mode,
                                      .response_mode = SR_EXTPROC_MODE_STREAMED,
                                      .method = {"POST", 4},
                                      .path = {"/v1/chat/completions", 20},
                                      .headers = headers,
                                      .n_headers = 2,
                                      .has_subset = true,
                                      .subset = &subset,
                                      .n_subset = 1};
    options.ctx = &seen;
    sr_mem_fail_at(failing);
    struct sr_extproc_core *core = sr_extproc_core_new(&options);
    if (core) {
        size_t n = strlen(text), cut = mode == SR_EXTPROC_MODE_BUFFERED ? n : n / 2;
        sr_extproc_core_message(core, &head);
        body(core, text, cut, cut == n);
        if (cut < n)
            body(core, text + cut, n - cut, true);
        if (seen.status == 0 && !seen.failed) {
            assert_true(seen.upstream == want || (seen.upstream == 0 && seen.continued > 0));
            answer(core);
        } else {
            assert_true(seen.failed || seen.status == 503 || (want == 0 && seen.status == 200));
        }
        sr_extproc_core_free(core);
    }
    assert_true(failing > 0 || (core && !seen.lost && !seen.failed && (seen.status == 200) == (want == 0)));
    size_t count = sr_mem_count();
    sr_mem_fail_at(0);
    return count;
}

#define AUTO(text)                                                                                           \
    "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static void test_every_failure(void **state)
{
    (void)state;
    static const enum sr_extproc_mode modes[] = {SR_EXTPROC_MODE_BUFFERED, SR_EXTPROC_MODE_STREAMED,
                                                 SR_EXTPROC_MODE_FULL_DUPLEX};
    static const char known[] = "{\"model\":\"plain\",\"messages\":[]}";
    static const char usage[] = "\"stream_options\":{\"include_usage\":true},";
    static const struct {
        const char *body;
        size_t want;
    } cases[] = {{AUTO("code"), sizeof AUTO("code") + sizeof "plain" - sizeof "auto" + sizeof usage - 2},
                 {known, sizeof known - 1},
                 {AUTO("hello"), 0}};
    struct sr_runtime_options runtime_options = {.struct_size = sizeof runtime_options,
                                                 .log_line = drop_line};
    sr_runtime *runtime = open_yaml_with(yaml, &runtime_options);
    struct sr_extproc_core_options options = {
        .runtime = runtime, .config = sr_runtime_config(runtime), .peer = {"10.0.0.1:1", 10}, .ops = &OPS};
    for (size_t m = 0; m < 3; m++) {
        for (size_t i = 0; i < 3; i++) {
            live(options, modes[m], cases[i].body, cases[i].want,
                 0); /* metrics keep what they allocate once */
            size_t count = live(options, modes[m], cases[i].body, cases[i].want, 0);
            assert_true(count > 10);
            for (size_t n = 1; n <= count + 1; n++)
                live(options, modes[m], cases[i].body, cases[i].want, n);
        }
    }
    sr_config_unref(options.config);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
