/*
 * Decisions on trial: in shadow they are recorded and change nothing, whatever they would do and whatever
 * others do; with a share they count for the same requests every time.
 */
#include "router/exchange/exchange.h"

#include "router/route/trial.h"
#include "tests/unit/exchange_util.h"

#define SIGNALS                                                                                              \
    TEST_PROVIDERS "routing:\n"                                                                              \
                   "  signals:\n"                                                                            \
                   "    keywords:\n" TEST_KEYWORD("deep") "    pii: [{name: p}]\n"                           \
                                                          "  decisions:\n"
#define DECISION(name, priority, more, rules)                                                                \
    "    - {name: " name ", priority: " priority ", modelRefs: [{model: plain}], rules: " rules ", " more    \
    "}\n"
#define GUARD(action)  "plugins: [{type: guard, configuration: {action: " action "}}]"
#define SHADOW(action) "mode: shadow, " GUARD(action)
#define MAIL           "{type: pii, name: p}"
#define DEEP           "{type: keyword, name: deep}"
#define REST           "    - {name: rest, modelRefs: [{model: thinker}]}\n"
#define TAIL           "global: {semroute: {access_log: stdout, inference: {ask_below: 0}}}\n"
#define QUIET          "global: {semroute: {guards: {audit_log: 'off'}, inference: {ask_below: 0}}}\n"
#define CHAT(model, text)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static void keep_line(void *ctx, const char *line, size_t n)
{
    struct sr_buf *lines = ctx;
    assert_int_equal(sr_buf_append(lines, line, n), SR_OK);
    assert_int_equal(sr_buf_append(lines, "\n", 1), SR_OK);
}

struct outcome {
    int action;         /* of the record's guard */
    const char *model;  /* that the request went to; "" = blocked */
    const char *shadow; /* name of the decision in shadow that matched; "" = none */
};

static void check(const char *yaml, const char *body, struct outcome expected)
{
    static char metrics[1 << 18];
    struct sr_buf lines;
    sr_buf_init(&lines, 1 << 20);
    struct sr_runtime_options options = {
        .struct_size = sizeof options, .log_line = keep_line, .log_ctx = &lines};
    sr_runtime *runtime = open_yaml_with(yaml, &options);
    sr_exchange *x = ask(runtime, body);
    const struct sr_record *r = &x->record;
    assert_int_equal(r->guard.action, expected.action);
    if (expected.model[0])
        assert_string_equal(sr_exchange_verdict(x)->model, expected.model);
    else
        assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_BLOCKED);
    assert_int_equal(r->n_shadows, expected.shadow[0] ? 1 : 0);
    if (expected.shadow[0]) {
        char text[128];
        const char *name = x->router->config->decisions[r->shadows[0].decision].name;
        assert_string_equal(name, expected.shadow);
        struct sr_bytes why = sr_exchange_explain(x, false, 0, false);
        char *json = joined(&why, 1);
        snprintf(text, sizeof text, "\"shadow\":[{\"decision\":\"%s\"", name);
        assert_non_null(strstr(json, text));
        free(json);
    }
    sr_exchange_end(x, SR_END_COMPLETE);
    assert_true(sr_runtime_metrics(runtime, metrics, sizeof metrics) < sizeof metrics);
    assert_int_equal(strstr(metrics, "semroute_shadow_matches_total{") != NULL, expected.shadow[0] != 0);
    assert_int_equal(strstr(lines.data ? lines.data : "", "\"shadow\":[\"") != NULL, expected.shadow[0] != 0);
    sr_runtime_close(runtime);
    sr_buf_dispose(&lines);
}

/* What each action in shadow does alone: nothing, to automatic and to named models. */
static void test_shadow_alone(void **state)
{
    (void)state;
    static const char *const yamls[] = {
        SIGNALS DECISION("s", "9", SHADOW("allow"), MAIL) REST TAIL,
        SIGNALS DECISION("s", "9", SHADOW("flag"), MAIL) REST TAIL,
        SIGNALS DECISION("s", "9", SHADOW("route"), MAIL) REST TAIL,
        SIGNALS DECISION("s", "9", SHADOW("redact"), MAIL) REST TAIL,
        SIGNALS DECISION("s", "9", SHADOW("block"), MAIL) REST TAIL,
    };
    for (size_t i = 0; i < sizeof yamls / sizeof yamls[0]; i++) {
        check(yamls[i], CHAT("auto", "bob@example.com"), (struct outcome){-1, "thinker", "s"});
        check(yamls[i], CHAT("small", "bob@example.com"), (struct outcome){-1, "small", "s"});
        check(yamls[i], CHAT("auto", "hello"), (struct outcome){-1, "thinker", ""});
    }
    /* a redaction in shadow changes no byte */
    sr_runtime *runtime = open_yaml(yamls[3]);
    check_forward(runtime, CHAT("small", "bob@example.com"), "small", CHAT("small", "bob@example.com"));
    sr_runtime_close(runtime);
}

static void test_shadow_beside_enforcing(void **state)
{
    (void)state;
    check(SIGNALS DECISION("s", "9", SHADOW("allow"), MAIL) DECISION("g", "1", GUARD("block"), MAIL)
              REST TAIL,
          CHAT("auto", "bob@example.com"), (struct outcome){SR_GUARD_BLOCK, "", "s"});
    check(SIGNALS DECISION("s", "1", SHADOW("block"), MAIL) DECISION("g", "9", GUARD("flag"), MAIL) REST TAIL,
          CHAT("auto", "bob@example.com"), (struct outcome){SR_GUARD_FLAG, "plain", "s"});
    check(SIGNALS DECISION("s", "9", SHADOW("route"), MAIL) DECISION("g", "1", GUARD("redact"), MAIL)
              REST TAIL,
          CHAT("small", "bob@example.com"), (struct outcome){SR_GUARD_REDACT, "small", "s"});
}

/* A decision without a guard: it does not route, and is not for requests that name their model. */
static void test_shadow_route(void **state)
{
    (void)state;
    static const char yaml[] = SIGNALS DECISION("s", "9", "mode: shadow", DEEP) REST TAIL;
    static const char both[] =
        SIGNALS DECISION("s", "9", "mode: shadow", DEEP) DECISION("r", "5", "mode: enforce", DEEP) REST TAIL;
    static const char fast[] = SIGNALS DECISION(
        "s", "9", "mode: shadow, plugins: [{type: fast_response, configuration: {message: no}}]", MAIL)
        REST TAIL;
    check(yaml, CHAT("auto", "deep"), (struct outcome){-1, "thinker", "s"});
    check(yaml, CHAT("small", "deep"), (struct outcome){-1, "small", ""});
    check(both, CHAT("auto", "deep"), (struct outcome){-1, "plain", "s"});
    check(fast, CHAT("auto", "bob@example.com"), (struct outcome){-1, "thinker", "s"});
    check(fast, CHAT("small", "bob@example.com"), (struct outcome){-1, "small", "s"});
}

/* What is blocked does not wait for signals that only a shadow needs. */
static void test_shadow_of_a_block(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(SIGNALS DECISION("s", "9", SHADOW("flag"), MAIL)
                                        DECISION("g", "1", GUARD("block"), DEEP) REST QUIET);
    sr_exchange *x = ask(runtime, CHAT("auto", "deep bob@example.com"));
    assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_BLOCKED);
    assert_null(x->record.results[SR_SIGNAL_PII]);
    assert_int_equal(x->record.n_shadows, 0);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static const char *blocked_or_model(sr_runtime *runtime, const char *id, const char *body, char model[32])
{
    struct sr_header headers[] = {{SR_LIT("x-request-id"), sr_bytes_str(id)}};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    head.headers = headers;
    head.n_headers = id[0] ? 1 : 0;
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    (void)feed(x, body, strlen(body), 0, NULL);
    snprintf(model, 32, "%s",
             sr_exchange_verdict(x)->outcome == SR_OUTCOME_BLOCKED ? "blocked"
                                                                   : sr_exchange_verdict(x)->model);
    sr_exchange_end(x, SR_END_COMPLETE);
    return model;
}

/* A share of the requests, and for one request id, or one text without an id, always the same answer. */
static void test_share(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(SIGNALS DECISION("g", "9", "share: 0.25, " GUARD("block"), MAIL) REST QUIET);
    char first[32], again[32], id[32], body[128];
    int by_id = 0, by_text = 0;
    for (int i = 0; i < 400; i++) {
        snprintf(id, sizeof id, "request-%d", i);
        blocked_or_model(runtime, id, CHAT("auto", "bob@example.com"), first);
        assert_string_equal(first,
                            blocked_or_model(runtime, id, CHAT("auto", "other: bob@example.com"), again));
        by_id += strcmp(first, "blocked") == 0;
        snprintf(body, sizeof body, CHAT("auto", "%d bob@example.com"), i);
        blocked_or_model(runtime, "", body, first);
        assert_string_equal(first, blocked_or_model(runtime, "", body, again));
        by_text += strcmp(first, "blocked") == 0;
    }
    assert_in_range(by_id, 60, 140); /* 100 of 400 are expected; 4.6 standard deviations on both sides */
    assert_in_range(by_text, 60, 140);
    sr_runtime_close(runtime);
}

/* Decisions have shares of their own, an excluded guard leaves the field to the next, and a share of a shadow
 * is what is recorded. */
static void test_shares_of_several(void **state)
{
    (void)state;
    sr_runtime *runtime =
        open_yaml(SIGNALS DECISION("a", "9", "share: 0.5, " GUARD("allow"), MAIL)
                      DECISION("b", "1", "share: 0.5, " GUARD("block"), MAIL)
                          DECISION("s", "1", "share: 0.5, " SHADOW("flag"), MAIL) REST QUIET);
    int blocked = 0, shadows = 0;
    for (int i = 0; i < 400; i++) {
        char body[128];
        snprintf(body, sizeof body, CHAT("auto", "%d bob@example.com"), i);
        sr_exchange *x = ask(runtime, body);
        blocked += sr_exchange_verdict(x)->outcome == SR_OUTCOME_BLOCKED;
        shadows += (int)x->record.n_shadows;
        if (x->record.without[0] && !x->record.without[1])
            assert_int_equal(sr_exchange_verdict(x)->outcome, SR_OUTCOME_BLOCKED);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    assert_in_range(blocked, 60, 140);
    assert_in_range(shadows, 150, 250);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shadow_alone), cmocka_unit_test(test_shadow_beside_enforcing),
        cmocka_unit_test(test_shadow_route), cmocka_unit_test(test_shadow_of_a_block),
        cmocka_unit_test(test_share),        cmocka_unit_test(test_shares_of_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
