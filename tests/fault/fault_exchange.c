/*
 * Fails the Nth allocation of an exchange's life, for every N: never a crash or a leak, and the caller always
 * gets NULL, a 503, or the whole right thing.
 */
#include "base/mem.h"
#include "tests/unit/exchange_util.h"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("deep") TEST_KEYWORD(
        "canned") "    context: [{name: any, min_tokens: '0'}]\n"
                  "  decisions:\n"
                  "    - {name: deep, priority: 10, rules: {operator: AND, conditions: [{type: keyword, "
                  "name: deep}, {type: context, "
                  "name: any}]}, modelRefs: [{model: thinker, use_reasoning: true}], plugins: [{type: "
                  "system_prompt, configuration: "
                  "{system_prompt: Think}}, {type: request_params, configuration: {strip_unknown: true, "
                  "max_n: 1}}, {type: "
                  "header_mutation, configuration: {add: [{name: X-A, value: b}], delete: [X-C]}}]}\n"
                  "    - {name: canned, priority: 10, rules: {type: keyword, name: canned}, modelRefs: "
                  "[{model: plain}],\n"
                  "       plugins: [{type: fast_response, configuration: {message: Not now}}]}\n";

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

static const char stream[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"alpha\"}}],\"usage\":null}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"
    "data: [DONE]\n\n";
static const char stripped[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"alpha\"}}]}\n\ndata: [DONE]\n\n";

/* Nothing of the text is ever lost; usage may stay in when there was no memory to take it out. */
static void send_answer(sr_exchange *x, size_t failing)
{
    struct sr_header header = {SR_LIT("content-type"), SR_LIT("text/event-stream")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    char got[sizeof stream] = "";
    size_t n = 0;
    sr_exchange_answer_head(x, 200, &header, 1, &edits);
    for (size_t at = 0; at < sizeof stream - 1; at += 20) {
        const struct sr_bytes *slices;
        size_t take = sizeof stream - 1 - at < 20 ? sizeof stream - 1 - at : 20, count;
        sr_exchange_answer_body(x, stream + at, take, at + take == sizeof stream - 1, &slices, &count);
        for (size_t i = 0; i < count; i++) {
            assert_true(n + slices[i].n < sizeof got);
            memcpy(got + n, slices[i].p, slices[i].n);
            n += slices[i].n;
        }
    }
    assert_non_null(strstr(got, "\"alpha\"}}]"));
    assert_string_equal(got + n - 14, "data: [DONE]\n\n");
    if (failing == 0)
        assert_string_equal(got, stripped);
}

/* One exchange; returns the allocations it made. */
static size_t live(sr_runtime *runtime, const char *path, const char *body, size_t chunk, size_t failing)
{
    struct sr_header headers[] = {{SR_LIT("x-vsr-debug"), SR_LIT("true")},
                                  {SR_LIT("x-authz-user"), SR_LIT("x")}};
    struct sr_request_head head = head_of(body ? "POST" : "GET", path);
    head.headers = headers;
    head.n_headers = 2;
    head.has_body = body != NULL;
    sr_mem_fail_at(failing);
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    if (x) {
        size_t n = body ? strlen(body) : 0;
        for (size_t at = 0; at < n; at += chunk) {
            size_t take = n - at < chunk ? n - at : chunk;
            if (sr_exchange_body(x, body + at, take, at + take == n) == SR_STEP_ABORT)
                break;
        }
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_non_null(v);
        if (v->action == SR_ACTION_REPLY) {
            assert_true(v->status == 503 || v->status == 200);
            assert_true(v->n_headers > 0 && v->reply.n > 0);
        } else {
            assert_true(v->n_set_headers > 0);
            send_answer(x, v->decision[0] ? failing : 1);
        }
        sr_exchange_explain(x, false, 0, false);
        sr_exchange_explain(x, true, 80, true);
        if (v->action == SR_ACTION_FORWARD)
            sr_exchange_fail(x, 502, NULL, "gone");
        sr_exchange_end(x, SR_END_COMPLETE);
    } else {
        assert_true(failing > 0);
    }
    size_t count = sr_mem_count();
    sr_mem_fail_at(0);
    return count;
}

static void every_failure(const char *path, const char *body, size_t chunk)
{
    struct sr_runtime_options options = {.struct_size = sizeof options, .log_line = drop_line};
    sr_runtime *runtime = open_yaml_with(yaml, &options);
    live(runtime, path, body, chunk, 0); /* metrics keep what they allocate once */
    size_t count = live(runtime, path, body, chunk, 0);
    assert_true(count > 0);
    for (size_t n = 1; n <= count + 1; n++)
        live(runtime, path, body, chunk, n);
    sr_runtime_close(runtime);
}

static void test_routed(void **state)
{
    (void)state;
    every_failure(
        "/v1/chat/completions",
        "{\"model\":\"auto\",\"stream\":true,\"x\":1,\"n\":4,\"messages\":[{\"role\":\"user\",\"content\":"
        "[{\"type\":\"text\",\"text\":\"go \\u0064eep\"},{\"type\":\"text\",\"text\":\"now\"}]}]}",
        40);
}

static void test_passed(void **state)
{
    (void)state;
    every_failure("/v1/chat/completions", "{\"model\":\"thinker\",\"stream\":true,\"messages\":[]}", 25);
    every_failure("/v1/chat/completions", "{\"model\":\"alias\",\"stream\":true,\"messages\":[]}", 25);
}

static void test_fast(void **state)
{
    (void)state;
    every_failure("/v1/chat/completions",
                  "{\"model\":\"auto\",\"stream\":true,\"messages\":[{\"role\":\"user\","
                  "\"content\":\"canned\"}]}",
                  1000);
}

static void test_models(void **state)
{
    (void)state;
    every_failure("/v1/models", NULL, 1);
    every_failure("/v1/models/plain", NULL, 1);
}

/* Opening makes thousands of allocations: each of the first ones fails, then one in 23. `make nightly` sets
 * SEMROUTE_FAULT_ALL, and every one does. */
static size_t next_failure(size_t n)
{
    return n < 200 || getenv("SEMROUTE_FAULT_ALL") ? n + 1 : n + 23;
}

/* Opening a runtime fails cleanly, with a message. */
static void test_open(void **state)
{
    (void)state;
    char path[] = "/tmp/fault_exchange.XXXXXX", error[512];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, yaml, sizeof yaml - 1), (ssize_t)(sizeof yaml - 1));
    close(fd);
    for (size_t n = 1;; n = next_failure(n)) {
        error[0] = 0;
        sr_mem_fail_at(n);
        sr_runtime *runtime = sr_runtime_open(path, NULL, error, sizeof error);
        size_t count = sr_mem_count();
        sr_mem_fail_at(0);
        assert_true(runtime || error[0]);
        if (runtime)
            sr_runtime_close(runtime);
        if (count < n)
            break;
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routed), cmocka_unit_test(test_passed), cmocka_unit_test(test_fast),
        cmocka_unit_test(test_models), cmocka_unit_test(test_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
