/* The runtime: opening, reloading, model lists, the access log, workers and deadlines. */
#include "base/clock.h"
#include "router/runtime.h"
#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"
#include "json/doc.h"

#include <pthread.h>

#define DEEP                                                                                                 \
    "routing:\n"                                                                                             \
    "  signals:\n"                                                                                           \
    "    keywords:\n" TEST_KEYWORD("deep") "  decisions:\n"                                                  \
                                           "    - {name: deep, priority: 10, rules: {type: keyword, name: "  \
                                           "deep}, modelRefs: [{model: plain}]}\n"

#define ASKED "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"go deep, my secret\"}]}"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_open_errors(void **state)
{
    (void)state;
    char error[512] = "";
    assert_null(sr_runtime_open("/nonexistent/x.yaml", NULL, error, sizeof error));
    assert_non_null(strstr(error, "/nonexistent/x.yaml"));
    char path[] = "/tmp/test_runtime.XXXXXX";
    close(mkstemp(path));
    write_file(path, TEST_PROVIDERS "routin: {}\n");
    assert_null(sr_runtime_open(path, NULL, error, sizeof error));
    assert_non_null(strstr(error, "did you mean `routing`"));
    assert_null(sr_runtime_open(path, NULL, NULL, 0));
    write_file(path, TEST_PROVIDERS "routin: {}\n"
                                    "routing: {decisions: [{name: d, modelRefs: [{model: small}]}]}\n");
    struct sr_runtime_options lenient = {.struct_size = sizeof lenient, .lenient = true};
    sr_runtime *runtime = sr_runtime_open(path, &lenient, error, sizeof error);
    assert_non_null(runtime);
    sr_runtime_close(runtime);
    unlink(path);
}

#define WITH_PAIR(more)                                                                                      \
    TEST_PROVIDERS "    - {name: pair, backend_refs: [{name: one, endpoint: '127.0.0.1:9011'},\n"            \
                   "       {name: two, endpoint: '127.0.0.1:9012'}" more "]}\n"

/* The target that a request of the model `pair` is sent to. */
static const char *send_one(sr_runtime *runtime, enum sr_ticket_event event)
{
    static const char body[] = "{\"model\":\"pair\",\"messages\":[]}";
    sr_exchange *x = ask(runtime, body);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    int at = sr_ticket_choose(v->ticket);
    assert_in_range(at, 0, v->n_targets - 1);
    const char *host = v->targets[at].port == 9011 ? "one" : v->targets[at].port == 9012 ? "two" : "more";
    sr_ticket_begin(v->ticket, (size_t)at);
    sr_ticket_report(v->ticket, (size_t)at, event, 0);
    sr_exchange_end(x, SR_END_COMPLETE);
    return host;
}

/* What is known of a worker outlives configurations, and so does the order in which they are chosen. */
static void test_reload_keeps_the_pool(void **state)
{
    (void)state;
    char path[] = "/tmp/test_runtime.XXXXXX", error[512] = "";
    close(mkstemp(path));
    write_file(path, WITH_PAIR(""));
    sr_runtime *runtime = sr_runtime_open(path, NULL, error, sizeof error);
    assert_non_null(runtime);
    assert_string_equal(send_one(runtime, SR_TICKET_ANSWERED), "one");
    assert_true(sr_runtime_reload(runtime, error, sizeof error));
    assert_string_equal(send_one(runtime, SR_TICKET_UNREACHABLE), "two");
    write_file(path, WITH_PAIR(", {name: more, endpoint: '127.0.0.1:9013'}"));
    assert_true(sr_runtime_reload(runtime, error, sizeof error));
    for (int i = 0; i < 6; i++)
        assert_string_not_equal(send_one(runtime, SR_TICKET_ANSWERED), "two");
    sr_runtime_close(runtime);
    unlink(path);
}

/* An exchange keeps the snapshot it started with; a bad file changes nothing. */
static void test_reload(void **state)
{
    (void)state;
    char path[] = "/tmp/test_runtime.XXXXXX", error[512] = "";
    close(mkstemp(path));
    write_file(path, TEST_PROVIDERS DEEP);
    sr_runtime *runtime = sr_runtime_open(path, NULL, error, sizeof error);
    assert_non_null(runtime);
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *old = sr_exchange_new(runtime, &head, NULL);
    write_file(path, TEST_PROVIDERS);
    assert_true(sr_runtime_reload(runtime, error, sizeof error));
    sr_exchange *fresh = ask(runtime, ASKED);
    assert_string_equal(sr_exchange_verdict(fresh)->model, "small");
    feed(old, ASKED, strlen(ASKED), 0, NULL);
    assert_string_equal(sr_exchange_verdict(old)->model, "plain");
    write_file(path, "version: v0.3\nnonsense: 1\n");
    assert_false(sr_runtime_reload(runtime, error, sizeof error));
    assert_non_null(strstr(error, "nonsense"));
    sr_exchange_end(old, SR_END_COMPLETE);
    sr_exchange_end(fresh, SR_END_COMPLETE);
    fresh = ask(runtime, ASKED);
    assert_string_equal(sr_exchange_verdict(fresh)->model, "small");
    sr_exchange_end(fresh, SR_END_COMPLETE);
    sr_runtime_close(runtime);
    unlink(path);
}

static char *get(sr_runtime *runtime, const char *target, int status)
{
    struct sr_request_head head = head_of("GET", target);
    head.has_body = false;
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->status, status);
    char *text = joined(&v->reply, 1);
    sr_exchange_end(x, SR_END_COMPLETE);
    return text;
}

static void check_get(sr_runtime *runtime, const char *target, int status, const char *contains)
{
    char *text = get(runtime, target, status);
    if (!strstr(text, contains))
        fail_msg("`%s` is not in %s", contains, text);
    free(text);
}

static void test_models(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(TEST_PROVIDERS "routing: {modelCards: [{name: plain, description: 'A \"plain\" one', "
                                 "context_window_size: 8192, tags: [x], capabilities: [chat]}]}\n"
                                 "global: {router: {auto_model_names: [org/auto]}}\n");
    char *text = get(runtime, "/v1/models", 200);
    assert_non_null(
        strstr(text, "{\"object\":\"list\",\"data\":[{\"id\":\"auto\",\"object\":\"model\",\"created\":"));
    assert_non_null(strstr(text, "\"id\":\"org/auto\""));
    assert_null(strstr(text, "\"id\":\"plain\""));
    free(text);
    check_get(runtime, "/v1/models/plain", 200, "\"description\":\"A \\\"plain\\\" one\"");
    check_get(runtime, "/v1/models/plain", 200, "\"max_model_len\":8192");
    check_get(runtime, "/v1/models/plain?x=1", 200, "\"tags\":[\"x\"]");
    check_get(runtime, "/v1/models/org/auto", 200, "\"resolution\":\"virtual\"");
    check_get(runtime, "/v1/models/org%2fauto", 200, "\"id\":\"org/auto\"");
    check_get(runtime, "/v1/models/no%zzpe", 400, "broken escape");
    check_get(runtime, "/v1/models/%2", 400, "invalid_path");
    sr_runtime_close(runtime);
    runtime = open_yaml(TEST_PROVIDERS "global: {router: {include_config_models_in_list: true}}\n");
    check_get(runtime, "/v1/models/", 200, "\"id\":\"plain\"");
    sr_runtime_close(runtime);
}

struct lines {
    char text[4096];
    int n;
};

static void take_line(void *ctx, const char *line, size_t n)
{
    struct lines *lines = ctx;
    snprintf(lines->text, sizeof lines->text, "%.*s", (int)n, line);
    lines->n++;
}

static void check_json(const char *text)
{
    struct sr_doc *doc = NULL;
    assert_int_equal(sr_doc_parse(&doc, sr_bytes_str(text), 1 << 20, NULL), SR_OK);
    sr_doc_free(doc);
}

/* One line of JSON for each exchange, with nothing of what the user wrote. */
static void test_access_log(void **state)
{
    (void)state;
    struct lines lines = {.n = 0};
    struct sr_runtime_options options = {
        .struct_size = sizeof options, .log_line = take_line, .log_ctx = &lines};
    sr_runtime *runtime = open_yaml_with(TEST_PROVIDERS DEEP, &options);
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    const struct sr_bytes *slices;
    size_t n;
    static const char body[] = "{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}";
    sr_exchange *x = ask(runtime, ASKED);
    sr_ticket *ticket = sr_exchange_verdict(x)->ticket;
    assert_int_equal(sr_ticket_choose(ticket), 0);
    sr_ticket_begin(ticket, 0);
    sr_exchange_answer_head(x, 200, &type, 1, &edits);
    sr_exchange_answer_body(x, body, sizeof body - 1, true, &slices, &n);
    sr_exchange_end(x, SR_END_COMPLETE);
    assert_int_equal(lines.n, 1);
    check_json(lines.text);
    static const char *const expected[] = {
        "\"door\":\"library\"",
        "\"method\":\"POST\"",
        "\"path\":\"/v1/chat/completions\"",
        "\"model\":\"plain\"",
        "\"target\":\"b\"",
        "\"decision\":\"deep\"",
        "\"outcome\":\"routed\"",
        "\"status\":200",
        "\"prompt_tokens\":3",
        "\"completion_tokens\":2",
        "\"requested_model\":\"auto\"",
        "\"reasoning\":\"off\"",
        "\"overhead_us\":",
        "\"upstream_ms\":",
        "\"ttft_ms\":",
        "\"request_id\":\"",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (!strstr(lines.text, expected[i]))
            fail_msg("%s is not in %s", expected[i], lines.text);
    assert_null(strstr(lines.text, "secret"));
    x = ask(runtime, "{\"model\":\"my \\\"secret\\\" model\",\"messages\":[]}");
    sr_exchange_end(x, SR_END_COMPLETE);
    check_json(lines.text);
    assert_null(strstr(lines.text, "secret"));
    assert_non_null(strstr(lines.text, "\"outcome\":\"refused\""));
    assert_non_null(strstr(lines.text, "\"error\":\"model_not_found\""));
    x = ask(runtime, "{\"model\":\"small\",\"messages\":[]}");
    sr_exchange_end(x, SR_END_CLIENT_GONE);
    assert_non_null(strstr(lines.text, "\"outcome\":\"canceled\""));
    sr_runtime_close(runtime);
}

/* A client's model name never becomes a label. */
static void test_metrics(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(TEST_PROVIDERS DEEP);
    sr_exchange_end(ask(runtime, "{\"model\":\"made-up\",\"messages\":[]}"), SR_END_COMPLETE);
    sr_exchange_end(ask(runtime, ASKED), SR_END_COMPLETE);
    size_t n = sr_runtime_metrics(runtime, NULL, 0);
    char *text = calloc(1, n + 1);
    assert_int_equal(sr_runtime_metrics(runtime, text, n + 1), n);
    assert_null(strstr(text, "made-up"));
    static const char *const expected[] = {
        "llm_request_errors_total{model=\"unknown\",reason=\"model_not_found\"} 1",
        "llm_model_requests_total{model=\"plain\"} 1",
        "llm_decision_match_total{decision_name=\"deep\"} 1",
        "llm_signal_match_total{signal_type=\"keyword\",signal_name=\"deep\"} 1",
        "llm_routing_reason_codes_total{reason_code=\"auto_routing\",model=\"plain\"} 1",
        "llm_model_routing_modifications_total{source_model=\"auto\",target_model=\"plain\"} 1",
        "semroute_requests_total{door=\"library\",outcome=\"refused\"} 1",
        "semroute_requests_total{door=\"library\",outcome=\"routed\"} 1",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        if (!strstr(text, expected[i]))
            fail_msg("%s is not there", expected[i]);
    char small[8];
    assert_int_equal(sr_runtime_metrics(runtime, small, sizeof small), n);
    assert_int_equal(strlen(small), 7);
    free(text);
    sr_runtime_close(runtime);
}

static void test_explain(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(TEST_PROVIDERS DEEP);
    sr_exchange *x = ask(runtime, ASKED);
    struct sr_bytes json = sr_exchange_explain(x, false, 0, false);
    char *text = joined(&json, 1);
    check_json(text);
    assert_non_null(strstr(text, "\"decision\":{\"name\":\"deep\""));
    assert_non_null(strstr(text, "{\"name\":\"deep\",\"matched\":true,\"confidence\":1"));
    assert_non_null(
        strstr(text, "\"edits\":[{\"at\":9,\"removed\":\"\\\"auto\\\"\",\"inserted\":\"\\\"plain\\\"\"}]"));
    free(text);
    struct sr_bytes picture = sr_exchange_explain(x, true, 80, false);
    text = joined(&picture, 1);
    assert_non_null(strstr(text, "✓ keyword deep"));
    assert_null(strchr(text, '\033'));
    free(text);
    picture = sr_exchange_explain(x, true, 80, true);
    assert_non_null(memchr(picture.p, '\033', picture.n));
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask(runtime, "{");
    json = sr_exchange_explain(x, false, 0, false);
    text = joined(&json, 1);
    check_json(text);
    assert_non_null(strstr(text, "\"action\":\"reply\""));
    free(text);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

/* A provider's own path for chat takes the place of the client's, its query stays. */
static void test_chat_path(void **state)
{
    (void)state;
    static const char form[] =
        "version: v0.3\nproviders:\n  models:\n    - {name: m, backend_refs: [{name: a, endpoint: "
        "'127.0.0.1:1', chat_path: /chat}, {name: b, endpoint: '127.0.0.1:2'%s}]}\n";
    char text[500], path[] = "/tmp/test_runtime.XXXXXX", error[512] = "";
    snprintf(text, sizeof text, form, ", chat_path: /chat");
    sr_runtime *runtime = open_yaml(text);
    sr_exchange *x = ask_path(runtime, "/v1/chat/completions?v=1", "{\"model\":\"m\",\"messages\":[]}", 0);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->n_targets, 2);
    assert_int_equal(v->target.n, strlen("/chat?v=1"));
    assert_memory_equal(v->target.p, "/chat?v=1", v->target.n);
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask_path(runtime, "/v1/completions", "{\"model\":\"m\",\"prompt\":\"\"}", 0);
    assert_int_equal(sr_exchange_verdict(x)->target.n, strlen("/v1/completions"));
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
    close(mkstemp(path));
    snprintf(text, sizeof text, form, "");
    write_file(path, text);
    assert_null(sr_runtime_open(path, NULL, error, sizeof error));
    assert_non_null(strstr(error, "chat_path"));
    unlink(path);
}

/* ---- a loop for one thread ---- */

static void on_ready(void *ctx, sr_exchange *x)
{
    struct loop *loop = ctx;
    loop->ready++;
    assert_string_equal(sr_exchange_verdict(x)->decision, "deep");
}

/* A request whose text is too long to be read on the caller's thread. */
static char *long_request(void)
{
    size_t text = (size_t)100 << 10;
    char *body = calloc(1, text + 200), *p = body;
    p += sprintf(p, "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (size_t i = 0; i + 6 < text; i += 6)
        p += sprintf(p, "words ");
    sprintf(p, "deep\"}]}");
    return body;
}

static sr_exchange *start_long(sr_runtime *runtime, struct loop *loop, const char *body)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    assert_int_equal(feed(x, body, strlen(body), 4096, NULL), SR_STEP_WAIT);
    assert_null(sr_exchange_verdict(x));
    assert_true(sr_exchange_deadline_ns(x) > sr_clock_ns());
    return x;
}

static void test_workers(void **state)
{
    (void)state;
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .workers = 2};
    sr_runtime *runtime = open_yaml_with(TEST_PROVIDERS DEEP, &options);
    char *body = long_request();
    sr_exchange *x = start_long(runtime, &loop, body);
    while (!loop.ready)
        loop_turn(&loop);
    assert_int_equal(loop.ready, 1);
    assert_true(sr_exchange_verdict(x)->overhead_ns > 0);
    sr_exchange_end(x, SR_END_COMPLETE);
    free(body);
    sr_runtime_close(runtime);
}

/* The client may leave, and the deadline may pass, while workers read; late results are dropped. */
static void test_leaving_and_deadline(void **state)
{
    (void)state;
    struct sr_runtime_options options = {.struct_size = sizeof options, .workers = 1};
    sr_runtime *runtime = open_yaml_with(TEST_PROVIDERS DEEP, &options);
    char *body = long_request();
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    sr_exchange *waiting[8];
    for (int i = 0; i < 8; i++)
        waiting[i] = start_long(runtime, &loop, body);
    for (int i = 0; i < 8; i++) {
        if (i % 2) {
            sr_exchange_timeout(waiting[i]);
            const struct sr_verdict *v = sr_exchange_verdict(waiting[i]);
            assert_non_null(v);
            assert_int_equal(v->action, SR_ACTION_FORWARD);
            if (v->outcome == SR_OUTCOME_DEGRADED)
                assert_string_equal(v->model, "small");
            else /* the worker was faster */
                assert_string_equal(v->decision, "deep");
            sr_exchange_timeout(waiting[i]);
        }
        sr_exchange_end(waiting[i], i % 2 ? SR_END_COMPLETE : SR_END_CLIENT_GONE);
    }
    sr_runtime_close(runtime); /* workers end here: whatever was to be posted is */
    if (loop.n)
        loop_turn(&loop);
    assert_int_equal(loop.ready, 0);
    free(body);
}

/* Without an env, or without workers, long texts are read at once. */
static void test_long_text_inline(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(TEST_PROVIDERS DEEP);
    char *body = long_request();
    sr_exchange *x = ask(runtime, body);
    assert_string_equal(sr_exchange_verdict(x)->decision, "deep");
    sr_exchange_end(x, SR_END_COMPLETE);
    free(body);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_reload_keeps_the_pool),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_access_log),
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_chat_path),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_leaving_and_deadline),
        cmocka_unit_test(test_long_text_inline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
