/* Another model takes a request over: the next candidate of its decision with its own name, reasoning and
 * targets, or none. */
#include "pool/ticket.h"
#include "router/exchange/next.h"
#include "tests/unit/exchange_util.h"

#define CHAT(model, text)                                                                                    \
    "{\"model\":\"" model "\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  modelCards: [{name: plain, quality_score: 0.9}, {name: alias, quality_score: 0.6}]\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("deep") TEST_KEYWORD("keyed") TEST_KEYWORD("fixed") TEST_KEYWORD("alone")
        TEST_KEYWORD("learns") TEST_KEYWORD(
            "seen") "    pii: [{name: private}]\n"
                    "  decisions:\n"
                    "    - {name: seen, modelRefs: [{model: small}, {model: top}], rules: {operator: AND, "
                    "conditions: [\n"
                    "       {type: keyword, name: seen}, {operator: OR, conditions: [{type: pii, name: "
                    "private},\n"
                    "       {operator: NOT, conditions: [{type: pii, name: private}]}]}]}}\n"
                    "    - {name: deep, rules: {type: keyword, name: deep},\n"
                    "       modelRefs: [{model: thinker, use_reasoning: true}, {model: alias}, {model: "
                    "top}]}\n"
                    "    - {name: keyed, rules: {type: keyword, name: keyed},\n"
                    "       modelRefs: [{model: plain}, {model: cloud}, {model: alias}]}\n"
                    "    - {name: alone, rules: {type: keyword, name: alone}, modelRefs: [{model: plain}]}\n"
                    "    - {name: learns, rules: {type: keyword, name: learns},\n"
                    "       modelRefs: [{model: plain}, {model: alias}],\n"
                    "       algorithm: {type: bandit, bandit: {exploration: 0}}}\n"
                    "    - {name: fixed, rules: {type: keyword, name: fixed}, modelRefs: [{model: plain}],\n"
                    "       plugins: [{type: fast_response, configuration: {message: no}}]}\n"
                    "global: {semroute: {inference: {ask_below: 0}, models: {top: {pii_policy: "
                    "{allow_by_default: false}}}}}\n";

static int open_all(void **state)
{
    *state = open_yaml(yaml);
    return 0;
}

static int close_all(void **state)
{
    sr_runtime_close(*state);
    return 0;
}

static void is_forward(const struct sr_verdict *v, const char *model, const char *body)
{
    assert_non_null(v);
    assert_int_equal(v->action, SR_ACTION_FORWARD);
    assert_string_equal(v->model, model);
    assert_int_equal(v->n_targets, 1);
    assert_int_equal(v->ticket->at, -1);
    char *got = joined(v->body, v->n_body);
    assert_string_equal(got, body);
    assert_int_equal(v->body_size, strlen(body));
    free(got);
}

static void test_the_candidates_in_order(void **state)
{
    sr_exchange *x = ask(*state, CHAT("auto", "deep"));
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_string_equal(v->model, "thinker");
    assert_true(v->reasoning);
    assert_int_equal(sr_ticket_choose(v->ticket), 0);
    sr_ticket_begin(v->ticket, 0);
    assert_true(sr_ticket_retry(v->ticket));
    v = sr_exchange_next_model(x);
    is_forward(v, "alias", CHAT("vendor/real-name", "deep"));
    assert_false(v->reasoning);
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-selected-model"), "alias");
    assert_true(v->ticket->retries);        /* it keeps its place in the budget */
    assert_null(sr_exchange_next_model(x)); /* `top` may see nothing private, and nobody has looked for it */
    assert_string_equal(sr_exchange_verdict(x)->model, "alias");
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* Where private data was looked for, what was found decides. */
static void test_the_policy_holds(void **state)
{
    static const struct {
        const char *body, *next;
    } cases[] = {{CHAT("auto", "seen"), "top"}, {CHAT("auto", "seen, bob@example.com"), NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sr_exchange *x = ask(*state, cases[i].body);
        assert_string_equal(sr_exchange_verdict(x)->model, "small");
        const struct sr_verdict *v = sr_exchange_next_model(x);
        assert_int_equal(v != NULL, cases[i].next != NULL);
        if (v)
            assert_string_equal(v->model, cases[i].next);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

/* An anonymous client gets no model whose backend has a key, and its own credentials go to no such one. */
static void test_keys_are_for_known_clients(void **state)
{
    const struct sr_header own = {SR_LIT("authorization"), SR_LIT("Bearer mine")};
    for (int known = 0; known < 2; known++) {
        struct sr_request_head head = head_of("POST", "/v1/chat/completions");
        head.client_known = known;
        head.headers = &own;
        head.n_headers = 1;
        sr_exchange *x = sr_exchange_new(*state, &head, NULL);
        (void)sr_exchange_body(x, CHAT("auto", "keyed"), strlen(CHAT("auto", "keyed")), true);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        assert_string_equal(v->model, "plain");
        assert_int_equal(v->n_remove_headers, 0);
        v = sr_exchange_next_model(x);
        assert_non_null(v);
        assert_string_equal(v->model, known ? "cloud" : "alias");
        assert_int_equal(v->n_remove_headers, known);
        const char *key = header_in(v->targets[0].headers, v->targets[0].n_headers, "authorization");
        assert_int_equal(key != NULL, known);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static bool fails(sr_exchange *x)
{
    bool plain = strcmp(sr_exchange_verdict(x)->model, "plain") == 0;
    if (plain) {
        assert_string_equal(sr_exchange_next_model(x)->model, "alias");
        sr_exchange_take_model(x);
    }
    sr_exchange_end(x, SR_END_COMPLETE);
    return plain;
}

/* Who cannot answer is not asked first for ever, although another model answers each time. */
static void test_a_bandit_hears_of_it(void **state)
{
    int tries = 0;
    while (fails(ask(*state, CHAT("auto", "learns"))))
        assert_true(++tries < 20);
    assert_true(tries > 0);
}

static void test_there_is_none(void **state)
{
    static const char *const bodies[] = {CHAT("thinker", "deep"), CHAT("auto", "anything"),
                                         CHAT("auto", "alone"), CHAT("auto", "fixed"), "{\"model\":"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        sr_exchange *x = ask(*state, bodies[i]);
        const struct sr_verdict *v = sr_exchange_verdict(x);
        const char *model = v->model;
        enum sr_action action = v->action;
        assert_null(sr_exchange_next_model(x));
        assert_int_equal(v->action, action);
        assert_ptr_equal(v->model, model);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_not_before_the_verdict(void **state)
{
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(*state, &head, NULL);
    assert_null(sr_exchange_next_model(x));
    (void)sr_exchange_body(x, "{\"mod", 5, false);
    assert_null(sr_exchange_next_model(x));
    sr_exchange_end(x, SR_END_CLIENT_GONE);
}

/* A model at which no worker was found is left without a trace. */
static void test_there_and_back(void **state)
{
    sr_exchange *x = ask(*state, CHAT("auto", "deep"));
    const struct sr_verdict *v = sr_exchange_verdict(x);
    char *body = joined(v->body, v->n_body);
    const struct sr_target *targets = v->targets;
    sr_ticket_begin(v->ticket, 0);
    assert_true(sr_ticket_retry(v->ticket));
    assert_false(sr_exchange_go_back(x));
    is_forward(sr_exchange_next_model(x), "alias", CHAT("vendor/real-name", "deep"));
    assert_true(sr_exchange_tries_model(x) && sr_exchange_go_back(x));
    assert_false(sr_exchange_tries_model(x) || sr_exchange_go_back(x));
    assert_ptr_equal(sr_exchange_verdict(x), v);
    assert_string_equal(v->model, "thinker");
    assert_true(v->reasoning && v->ticket->retries && sr_ticket_is_tried(v->ticket, 0));
    assert_ptr_equal(v->targets, targets);
    assert_string_equal(header_in(v->set_headers, v->n_set_headers, "x-selected-model"), "thinker");
    char *now = joined(v->body, v->n_body);
    assert_string_equal(now, body);
    free(now);
    free(body);
    assert_null(sr_exchange_next_model(x));
    sr_exchange_end(x, SR_END_COMPLETE);
}

/* ---- limits ---- */

#define WORDS                                                                                                \
    "deep deep deep deep deep deep deep deep deep deep" /* 13 tokens by the estimate, or a few more */

static sr_runtime *open_limits(const char *rules)
{
    char text[4096];
    snprintf(text, sizeof text,
             "%srouting:\n  signals:\n    keywords:\n%s  decisions:\n"
             "    - {name: deep, rules: {type: keyword, name: deep}, modelRefs: [{model: thinker}, {model: "
             "alias}, {model: plain}]}\n"
             "global: {semroute: {limits: {rules: [%s]}}}\n",
             TEST_PROVIDERS, TEST_KEYWORD("deep"), rules);
    return open_yaml(text);
}

/* How often, of `n` times, a request that names this model is forwarded. */
static int forwarded(sr_runtime *runtime, const char *body, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        sr_exchange *x = ask(runtime, body);
        count += sr_exchange_verdict(x)->action == SR_ACTION_FORWARD;
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    return count;
}

/* The next model's limits are asked too; where they have no room, the model after it takes over. */
static void test_limits_of_the_next_model(void **state)
{
    (void)state;
    static const char *const expected[] = {"alias", "plain"};
    sr_runtime *runtime = open_limits("{name: one, match: {model: alias}, requests_per_unit: 1, unit: day}");
    for (size_t i = 0; i < 2; i++) {
        sr_exchange *x = ask(runtime, CHAT("auto", "deep"));
        const struct sr_verdict *v = sr_exchange_next_model(x);
        assert_non_null(v);
        assert_string_equal(v->model, expected[i]);
        sr_ticket_begin(v->ticket, 0);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
    assert_int_equal(forwarded(runtime, CHAT("alias", "deep"), 1), 0);
    sr_runtime_close(runtime);
}

static void test_a_model_that_was_left_takes_nothing(void **state)
{
    (void)state;
    sr_runtime *runtime = open_limits("{name: one, match: {model: alias}, requests_per_unit: 1, "
                                      "tokens_per_unit: 100, unit: day}");
    sr_exchange *x = ask(runtime, CHAT("auto", "deep"));
    assert_string_equal(sr_exchange_next_model(x)->model, "alias");
    assert_true(sr_exchange_go_back(x));
    assert_int_equal(forwarded(runtime, CHAT("alias", "deep"), 2), 1);
    assert_string_equal(sr_exchange_next_model(x)->model, "plain");
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

/* What it has taken from a counter of both models stays; tokens of the first one's own go back at once. */
static void test_counters_of_both_models(void **state)
{
    (void)state;
    sr_runtime *runtime = open_limits("{name: all, requests_per_unit: 3, unit: day}, "
                                      "{name: own, match: {model: thinker}, tokens_per_unit: 20, unit: day}");
    sr_exchange *x = ask(runtime, CHAT("auto", WORDS));
    assert_string_equal(sr_exchange_verdict(x)->model, "thinker");
    assert_int_equal(forwarded(runtime, CHAT("thinker", WORDS), 1), 0);
    assert_string_equal(sr_exchange_next_model(x)->model, "alias");
    sr_exchange_take_model(x);
    assert_int_equal(forwarded(runtime, CHAT("thinker", WORDS), 3), 2);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_candidates_in_order),
        cmocka_unit_test(test_the_policy_holds),
        cmocka_unit_test(test_keys_are_for_known_clients),
        cmocka_unit_test(test_there_is_none),
        cmocka_unit_test(test_not_before_the_verdict),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_limits_of_the_next_model),
        cmocka_unit_test(test_a_model_that_was_left_takes_nothing),
        cmocka_unit_test(test_counters_of_both_models),
        cmocka_unit_test(test_a_bandit_hears_of_it),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
