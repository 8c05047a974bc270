/*
 * Guards whose signal fails or does not end before the deadline: what they do, what the client gets, and
 * that they keep no stricter guard from what it finds.
 */
#include "router/exchange/exchange.h"

#include "tests/unit/exchange_util.h"
#include "tests/unit/hand_loop.h"
#include "tests/unit/held_engine.h"

#define MODEL SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"

/* The pattern `hard` takes more steps than a match may, so the keyword signal fails. */
#define FAILING "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
#define SIGNALS                                                                                              \
    TEST_PROVIDERS "routing:\n"                                                                              \
                   "  signals:\n"                                                                            \
                   "    keywords: [{name: hard, operator: OR, method: regex, keywords: ['(a+)+$']}]\n"       \
                   "    pii: [{name: p}]\n"                                                                  \
                   "  decisions:\n"
#define GUARD(name, priority, action, rules)                                                                 \
    "    - {name: " name ", priority: " priority ", modelRefs: [{model: plain}], rules: " rules              \
    ", plugins: [{type: guard, configuration: {action: " action "}}]}\n"
#define HARD       "{type: keyword, name: hard}"
#define REST       "    - {name: rest, modelRefs: [{model: thinker}]}\n"
#define TAIL       "global: {semroute: {inference: {ask_below: 0}}}\n"
#define CHAT(text) "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static void check_why(sr_exchange *x, const char *why)
{
    assert_string_equal(x->record.guard.why, why);
}

static void test_failed(void **state)
{
    static const struct {
        const char *yaml;
        int action; /* of the record; -1 = none */
        int status; /* 0: forwarded */
    } cases[] = {
        {SIGNALS GUARD("g", "1", "block", HARD) REST TAIL, SR_GUARD_BLOCK, 403},
        {SIGNALS GUARD("g", "1", "block", "{operator: NOT, conditions: [" HARD "]}") REST TAIL,
         SR_GUARD_BLOCK, 403},
        {SIGNALS GUARD("g", "1", "flag", HARD) REST TAIL, SR_GUARD_FLAG, 0},
        {SIGNALS GUARD("g", "1", "route", HARD) REST TAIL, SR_GUARD_ROUTE, 0},
        {SIGNALS GUARD("g", "1", "allow", HARD) REST TAIL, -1, 0},
        {SIGNALS GUARD("g", "1", "block", "{type: keyword, name: hard, on_error: no_match}") REST TAIL, -1,
         0},
        /* it matches by what it found, whatever failed besides */
        {SIGNALS GUARD("a", "2", "flag", HARD) GUARD("g", "1", "block", HARD) REST TAIL, SR_GUARD_BLOCK, 403},
        {SIGNALS GUARD("a", "2", "block", HARD) GUARD("g", "1", "flag", HARD) REST TAIL, SR_GUARD_BLOCK, 403},
        {SIGNALS GUARD("a", "2", "flag", HARD) GUARD("g", "1", "allow", "{type: pii, name: p}") REST TAIL,
         SR_GUARD_FLAG, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sr_runtime *runtime = open_yaml(cases[i].yaml);
        sr_exchange *x = ask(runtime, CHAT(FAILING " bob@example.com"));
        assert_int_equal(x->record.guard.action, cases[i].action);
        if (cases[i].status)
            check_reply(x, cases[i].status, "\"code\":\"classification_error\"");
        else
            assert_int_equal(sr_exchange_verdict(x)->action, SR_ACTION_FORWARD);
        if (cases[i].action == SR_GUARD_ROUTE)
            assert_string_equal(sr_exchange_verdict(x)->model, "plain");
        if (cases[i].action >= 0)
            check_why(x, "classification_error");
        sr_exchange_end(x, SR_END_COMPLETE);
        sr_runtime_close(runtime);
    }
}

/* A guard that found something is stricter than one that only could not read. */
static void test_found_beside_failed(void **state)
{
    (void)state;
    sr_runtime *runtime = open_yaml(SIGNALS GUARD("a", "2", "flag", HARD)
                                        GUARD("g", "1", "block", "{type: pii, name: p}") REST TAIL);
    sr_exchange *x = ask(runtime, CHAT(FAILING " bob@example.com"));
    check_reply(x, 403, "pii_blocked");
    check_why(x, "");
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask(runtime, CHAT(FAILING));
    assert_int_equal(x->record.guard.action, SR_GUARD_FLAG);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

static void on_ready(void *ctx, sr_exchange *x)
{
    struct loop *loop = ctx;
    (void)x;
    loop->ready++;
}

static sr_exchange *start(sr_runtime *runtime, struct loop *loop, const char *body)
{
    struct sr_exchange_env env = {
        .struct_size = sizeof env, .post = loop_post, .ready = on_ready, .ctx = loop};
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(runtime, &head, &env);
    (void)feed(x, body, strlen(body), 0, NULL);
    return x;
}

/* The deadline passes before the signal has read anything: the client may try again. */
static void test_late(void **state)
{
    struct loop loop = {.lock = PTHREAD_MUTEX_INITIALIZER, .posted = PTHREAD_COND_INITIALIZER};
    struct sr_runtime_options options = {.struct_size = sizeof options, .encoder = true};
    sr_runtime *runtime = open_yaml_with(
        TEST_PROVIDERS
        "routing:\n"
        "  signals: {embeddings: [{name: near, threshold: 0.99, candidates: [the weather is fine]}]}\n"
        "  decisions:\n" GUARD("g", "1", "block", "{type: embedding, name: near}") REST
        "global: {model_catalog: {embeddings: {semantic: {mmbert_model_path: '" MODEL "'}}}}\n",
        &options);
    struct sr_infer *infer = NULL;
    struct sr_encoder *encoder = sr_runtime_encoder(runtime, &infer);
    struct held held;
    (void)state;
    hold(&held, infer, encoder);
    sr_exchange *x = start(runtime, &loop, CHAT("how is the harbour"));
    assert_null(sr_exchange_verdict(x));
    sr_exchange_timeout(x);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    check_reply(x, 503, "\"code\":\"overloaded\"");
    assert_int_equal(v->outcome, SR_OUTCOME_SHED);
    assert_string_equal(header_in(v->headers, v->n_headers, "retry-after"), "1");
    check_why(x, "overloaded");
    sr_exchange_end(x, SR_END_COMPLETE);
    let_go(&held);
    if (loop.n)
        loop_turn(&loop);
    sr_encoder_unref(encoder);
    sr_runtime_close(runtime);
}

/* A header of the client skips what protects only for tenants that the configuration trusts with it. */
static void test_skip(void **state)
{
    static const char routes[] = SIGNALS "    - {name: all, modelRefs: [{model: thinker}]}\n";
    static const char guards[] = SIGNALS GUARD("g", "1", "block", "{type: pii, name: p}") REST;
    static const char private_ones[] = SIGNALS "    - {name: p, rules: {type: pii, name: p}, modelRefs: "
                                               "[{model: thinker}]}\n";
    static const char tail[] = "global: {router: {skip_processing: {enabled: true}}, semroute: {inference: "
                               "{ask_below: 0}, guards: {tenant_header: x-tenant, skip_tenants: [ops]}}}\n";
    static const struct {
        const char *head, *tenant;
        const char *model; /* "" = blocked */
    } cases[] = {
        {routes, "", "small"},          {guards, "", ""},    {guards, "op", ""},
        {guards, "ops", "small"},       {guards, "OPS", ""}, {private_ones, "", "thinker"},
        {private_ones, "ops", "small"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char yaml[8192];
        struct sr_header headers[] = {{SR_LIT("x-vsr-skip-processing"), SR_LIT("true")},
                                      {SR_LIT("x-tenant"), sr_bytes_str(cases[i].tenant)}};
        struct sr_request_head head = head_of("POST", "/v1/chat/completions");
        static const char body[] = CHAT("bob@example.com");
        snprintf(yaml, sizeof yaml, "%s%s", cases[i].head, tail);
        sr_runtime *runtime = open_yaml(yaml);
        head.headers = headers;
        head.n_headers = 2;
        sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
        (void)feed(x, body, sizeof body - 1, 0, NULL);
        if (cases[i].model[0])
            assert_string_equal(sr_exchange_verdict(x)->model, cases[i].model);
        else
            check_reply(x, 403, "pii_blocked");
        sr_exchange_end(x, SR_END_COMPLETE);
        sr_runtime_close(runtime);
    }
}

#define AUDIO_CHAT(model)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"    \
    "\"hello\"},{\"type\":\"input_audio\",\"input_audio\":{\"data\":"                                        \
    "\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw==\","          \
    "\"format\":\"wav\"}}]}]}"

/* A model's policy: what could not be read may be any private data. */
static void test_policy(void **state)
{
    static const char policy[] =
        "global: {semroute: {inference: {ask_below: 0}, models: {small: {pii_policy: "
        "{allow_by_default: false}}}}}\n";
    char yaml[8192];
    (void)state;
    snprintf(yaml, sizeof yaml, "%s%s",
             SIGNALS "    - {name: all, modelRefs: [{model: small}, {model: plain}]}\n", policy);
    sr_runtime *runtime = open_yaml(yaml);
    sr_exchange *x = ask(runtime, AUDIO_CHAT("small"));
    check_reply(x, 403, "\"code\":\"unread_content\"");
    assert_int_equal(x->record.guard.types, 0);
    sr_exchange_end(x, SR_END_COMPLETE);
    x = ask(runtime, AUDIO_CHAT("auto"));
    assert_string_equal(sr_exchange_verdict(x)->model, "plain");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed), cmocka_unit_test(test_found_beside_failed),
        cmocka_unit_test(test_late),   cmocka_unit_test(test_skip),
        cmocka_unit_test(test_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
