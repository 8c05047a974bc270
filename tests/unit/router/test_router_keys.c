/* Configuration keys that the router acts on: changing one changes what happens. */
#include "tests/unit/exchange_util.h"

#define ONE_MODEL(backend, more)                                                                             \
    "version: v0.3\nproviders:\n  defaults: {default_model: m}\n  models:\n    - {name: m, backend_refs: "   \
    "[{name: a, " backend "}]" more "}\n"
#define ASK_NAMED "{\"model\":\"m\",\"messages\":[]}"
#define ASK_AUTO  "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"hello world\"}]}"

/* A header of the first target, or "-". */
static void check_target_header(const char *yaml, const char *name, const char *value)
{
    sr_runtime *runtime = open_yaml(yaml);
    sr_exchange *x = ask(runtime, ASK_NAMED);
    const struct sr_target *target = &sr_exchange_verdict(x)->targets[0];
    const char *got = header_in(target->headers, target->n_headers, name);
    assert_string_equal(got ? got : "-", value);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void test_credentials(void **state)
{
    (void)state;
    setenv("ROUTER_KEYS_TEST", "from-env", 1);
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1'", ""), "authorization", "-");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', api_key: k", ""), "authorization", "Bearer k");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', api_key_env: ROUTER_KEYS_TEST", ""),
                        "authorization", "Bearer from-env");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', api_key: k, auth_header: X-Key", ""), "x-key",
                        "Bearer k");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', api_key: k, auth_prefix: Token", ""),
                        "authorization", "Token k");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', api_key: k, auth_prefix: ''", ""),
                        "authorization", "k");
    check_target_header(ONE_MODEL("endpoint: '127.0.0.1:1', extra_headers: {X-Extra: e}", ""), "x-extra",
                        "e");
}

/* Asks for the model `m` with a client's own credentials. */
static sr_exchange *ask_as(sr_runtime *runtime, bool known, struct sr_bytes name)
{
    const struct sr_header headers[] = {{name, SR_LIT("Bearer mine")},
                                        {SR_LIT("x_api_key"), SR_LIT("mine")},
                                        {SR_LIT("x-more"), SR_LIT("m")}};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    head.client_known = known;
    head.headers = headers;
    head.n_headers = 3;
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    assert_int_equal(sr_exchange_body(x, ASK_NAMED, strlen(ASK_NAMED), true), SR_STEP_VERDICT);
    return x;
}

static bool removes(const struct sr_verdict *v, struct sr_bytes name)
{
    for (size_t i = 0; i < v->n_remove_headers; i++)
        if (sr_bytes_eq(v->remove_headers[i], name))
            return true;
    return false;
}

#define WITH_KEY ONE_MODEL("endpoint: '127.0.0.1:1', api_key: k", "")

/* A key of the operator is for known clients, and then no credentials of the client go beside it. */
static void test_who_may_use_a_key(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        bool known, tenant, forwarded, strips;
    } cases[] = {
        {WITH_KEY, false, false, false, false},
        {ONE_MODEL("endpoint: '127.0.0.1:1', extra_headers: {X-API-Key: k}", ""), false, false, false, false},
        {ONE_MODEL("endpoint: '127.0.0.1:1', extra_headers: {x-team: k}", ""), false, false, true, false},
        {ONE_MODEL("endpoint: '127.0.0.1:1'", ""), false, false, true, false},
        {WITH_KEY, true, false, true, true},
        {WITH_KEY "global: {semroute: {allow_anonymous: true}}\n", false, false, true, true},
        {WITH_KEY "global: {semroute: {guards: {tenant_header: x-t}}}\n", false, false, false, false},
        {WITH_KEY "global: {semroute: {guards: {tenant_header: x-t}}}\n", false, true, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sr_runtime *runtime = open_yaml(cases[i].yaml);
        sr_exchange *x =
            ask_as(runtime, cases[i].known, cases[i].tenant ? SR_LIT("x-t") : SR_LIT("authorization"));
        const struct sr_verdict *v = sr_exchange_verdict(x);
        if (cases[i].forwarded) {
            assert_int_equal(v->action, SR_ACTION_FORWARD);
            assert_int_equal(removes(v, SR_LIT("x_api_key")), cases[i].strips);
            assert_int_equal(removes(v, SR_LIT("authorization")), cases[i].strips && !cases[i].tenant);
            assert_false(removes(v, SR_LIT("x-more")));
        } else {
            check_reply(x, 401, "allow_anonymous");
            assert_int_equal(v->n_targets, 0);
            assert_string_equal(header_in(v->headers, v->n_headers, "www-authenticate"), "Bearer");
        }
        sr_exchange_end(x, SR_END_COMPLETE);
        sr_runtime_close(runtime);
    }
}

static void test_target(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(ONE_MODEL("base_url: 'https://h.example:444/p/v1', weight: 3, tls_verify: false", ""));
    sr_exchange *x = ask(runtime, ASK_NAMED);
    const struct sr_target *target = &sr_exchange_verdict(x)->targets[0];
    assert_string_equal(target->name, "a");
    assert_string_equal(target->scheme, "https");
    assert_string_equal(target->host, "h.example");
    assert_int_equal(target->port, 444);
    assert_true(target->weight == 3);
    assert_false(target->tls_verify);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void check_limit(const char *global, int status)
{
    char yaml[1000], body[2400];
    snprintf(yaml, sizeof yaml, ONE_MODEL("endpoint: '127.0.0.1:1'", "") "%s", global);
    sr_runtime *runtime = open_yaml(yaml);
    snprintf(body, sizeof body, "{\"model\":\"m\",\"x\":\"%02000d\",\"messages\":[]}", 0);
    sr_exchange *x = ask(runtime, body);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->action == SR_ACTION_REPLY ? v->status : 0, status);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void test_body_limits(void **state)
{
    (void)state;
    check_limit("", 0);
    check_limit("global: {semroute: {gateway: {max_body_bytes: 1024}}}\n", 413);
}

static bool has_metric(sr_runtime *runtime, const char *series)
{
    size_t n = sr_runtime_metrics(runtime, NULL, 0);
    char *text = malloc(n + 1);
    sr_runtime_metrics(runtime, text, n + 1);
    bool found = strstr(text, series) != NULL;
    free(text);
    return found;
}

/* The bodies of all requests have a limit together: a body leaves room for another of its size, and what has
 * ended leaves all of its room. */
static void test_buffered_limit(void **state)
{
    sr_runtime *runtime = open_yaml(ONE_MODEL(
        "endpoint: '127.0.0.1:1'", "") "global: {semroute: {gateway: {max_buffered_bytes: 4096}}}\n");
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    char part[2048];
    (void)state;
    snprintf(part, sizeof part, "{\"x\":\"%01992d", 0); /* 1998 bytes */
    sr_exchange *first = sr_exchange_new(runtime, &head, NULL),
                *second = sr_exchange_new(runtime, &head, NULL);
    assert_int_equal(sr_exchange_body(first, part, strlen(part), false), SR_STEP_MORE);
    assert_int_equal(sr_exchange_body(second, part, 1000, false), SR_STEP_MORE);
    assert_int_equal(sr_exchange_body(second, part + 1000, 900, false), SR_STEP_VERDICT);
    const struct sr_verdict *v = sr_exchange_verdict(second);
    assert_int_equal(v->status, 503);
    assert_int_equal(v->outcome, SR_OUTCOME_SHED);
    assert_non_null(header_in(v->headers, v->n_headers, "retry-after"));
    assert_true(has_metric(runtime, "semroute_buffered_bytes 2998\n"));
    sr_exchange_end(second, SR_END_COMPLETE);
    sr_exchange_end(first, SR_END_CLIENT_GONE);
    assert_true(has_metric(runtime, "semroute_buffered_bytes 0\n"));
    first = sr_exchange_new(runtime, &head, NULL); /* alone it may have all */
    for (int i = 0; i < 4; i++)
        assert_int_equal(sr_exchange_body(first, i ? "0000" : part, i ? 4 : 1998, false), SR_STEP_MORE);
    sr_exchange_end(first, SR_END_CLIENT_GONE);
    sr_runtime_close(runtime);
}

static void test_debug_headers(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        sr_runtime *runtime = open_yaml(
            on ? ONE_MODEL("endpoint: '127.0.0.1:1'", "") "global: {semroute: {debug_headers: true}}\n"
               : ONE_MODEL("endpoint: '127.0.0.1:1'", ""));
        sr_exchange *x = ask(runtime, ASK_AUTO);
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        sr_exchange_answer_head(x, 200, NULL, 0, &edits);
        assert_int_equal(header_in(edits.set, edits.n_set, "x-vsr-context-token-count") != NULL, on);
        sr_exchange_end(x, SR_END_COMPLETE);
        sr_runtime_close(runtime);
    }
}

static void test_metrics_off(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        sr_runtime *runtime = open_yaml(
            on ? ONE_MODEL("endpoint: '127.0.0.1:1'", "")
               : ONE_MODEL("endpoint: '127.0.0.1:1'",
                           "") "global: {services: {observability: {metrics: {enabled: false}}}}\n");
        sr_exchange_end(ask(runtime, ASK_NAMED), SR_END_COMPLETE);
        assert_int_equal(has_metric(runtime, "llm_model_requests_total{model=\"m\"} 1"), on);
        sr_runtime_close(runtime);
    }
}

static void test_prices(void **state)
{
    (void)state;
    static const char answer[] =
        "{\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"cache_creation_input_tokens\":1,"
        "\"prompt_tokens_details\":{\"cached_tokens\":4}}}";
    static const char of_openai[] =
        "{\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,"
        "\"prompt_tokens_details\":{\"cached_tokens\":4,\"cache_write_tokens\":1}}}";
    static const struct {
        const char *pricing, *cost;
    } cases[] = {
        {"prompt_per_1m: 1000000", "currency=\"USD\"} 10\n"},
        {"currency: EUR, prompt_per_1m: 1000000, completion_per_1m: 3000000", "currency=\"EUR\"} 16\n"},
        {"prompt_per_1m: 1000000, cached_input_per_1m: 500000", "currency=\"USD\"} 8\n"},
        {"prompt_per_1m: 1000000, cache_write_per_1m: 2000000", "currency=\"USD\"} 11\n"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const char *pricing = cases[i / 2].pricing, *body = i % 2 ? of_openai : answer;
        char yaml[1000];
        struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
        struct sr_header_edits edits = {.struct_size = sizeof edits};
        const struct sr_bytes *slices;
        size_t n;
        snprintf(yaml, sizeof yaml, ONE_MODEL("endpoint: '127.0.0.1:1'", ", pricing: {%s}"), pricing);
        sr_runtime *runtime = open_yaml(yaml);
        sr_exchange *x = ask(runtime, ASK_NAMED);
        sr_exchange_answer_head(x, 200, &type, 1, &edits);
        sr_exchange_answer_body(x, body, strlen(body), true, &slices, &n);
        sr_exchange_end(x, SR_END_COMPLETE);
        assert_true(has_metric(runtime, cases[i / 2].cost));
        sr_runtime_close(runtime);
    }
}

static void test_access_log_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_router_keys.XXXXXX", yaml[1000], line[4096] = "";
    close(mkstemp(path));
    snprintf(yaml, sizeof yaml,
             ONE_MODEL("endpoint: '127.0.0.1:1'", "") "global: {semroute: {access_log: %s}}\n", path);
    sr_runtime *runtime = open_yaml(yaml);
    sr_exchange_end(ask(runtime, ASK_NAMED), SR_END_COMPLETE);
    sr_runtime_close(runtime);
    FILE *f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    assert_non_null(strstr(line, "\"outcome\":\"passed\""));
    fclose(f);
    unlink(path);
}

static void test_no_default_model(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml("version: v0.3\nproviders:\n  models:\n    - {name: m, backend_refs: [{name: a, endpoint: "
                  "'127.0.0.1:1'}]}\n    - {name: n, backend_refs: [{name: b, endpoint: '127.0.0.1:2'}]}\n");
    sr_exchange *x = ask(runtime, ASK_AUTO);
    check_reply(x, 400, "no model selected and no default model configured");
    sr_exchange_end(x, SR_END_COMPLETE);
    assert_true(has_metric(runtime, "reason=\"no_model_selected\""));
    sr_runtime_close(runtime);
}

static void test_auto_names(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(ONE_MODEL("endpoint: '127.0.0.1:1'",
                            "") "global: {router: {auto_model_name: pick, auto_model_names: [a, b]}}\n");
    static const char *const names[] = {"auto", "vllm-sr/auto", "pick", "a", "b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char body[200];
        snprintf(body, sizeof body, "{\"model\":\"%s\",\"messages\":[]}", names[i]);
        sr_exchange *x = ask(runtime, body);
        assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_DEFAULT);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    sr_exchange *x = ask(runtime, "{\"model\":\"MoM\",\"messages\":[]}");
    check_reply(x, 404, "model_not_found");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_target),
        cmocka_unit_test(test_body_limits),
        cmocka_unit_test(test_buffered_limit),
        cmocka_unit_test(test_debug_headers),
        cmocka_unit_test(test_metrics_off),
        cmocka_unit_test(test_prices),
        cmocka_unit_test(test_access_log_file),
        cmocka_unit_test(test_no_default_model),
        cmocka_unit_test(test_auto_names),
        cmocka_unit_test(test_who_may_use_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
