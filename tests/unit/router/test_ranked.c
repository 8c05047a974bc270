/* A decision that ranks its candidates: the best is asked first, the next of the ranking takes over, policies
 * and limits hold, and a model's requests in progress are counted where they are. */
#include "pool/ticket.h"
#include "router/runtime.h"
#include "tests/unit/exchange_util.h"

#define CHAT(text) "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]}"
#define MULTI(more)                                                                                          \
    "algorithm: {type: multi_factor, multi_factor: {weights: {quality: 1, latency: 0, cost: 0, load: "       \
    "0}" more "}}"

static const char yaml[] = TEST_PROVIDERS
    "routing:\n"
    "  modelCards: [{name: plain, quality_score: 0.5}, {name: thinker, quality_score: 0.7},\n"
    "    {name: alias, quality_score: 0.9}, {name: top, quality_score: 0.95}]\n"
    "  signals:\n"
    "    keywords:\n" TEST_KEYWORD("ranked") TEST_KEYWORD("full") TEST_KEYWORD("learns")
        TEST_KEYWORD("seen") "    pii: [{name: private}]\n"
                             "  decisions:\n"
                             "    - {name: ranked, rules: {type: keyword, name: ranked},\n"
                             "       modelRefs: [{model: plain}, {model: thinker, use_reasoning: "
                             "true}, {model: alias}], " MULTI(
                                 "") "}\n"
                                     "    - {name: full, rules: {type: keyword, name: full}, "
                                     "modelRefs: [{model: plain}, {model: alias}],\n"
                                     "       " MULTI(", slo: {max_inflight: 1}, on_no_candidates: "
                                                     "fail") "}\n"
                                                             "    - {name: learns, rules: {type: "
                                                             "keyword, name: learns}, modelRefs: "
                                                             "[{model: plain}, {model: alias}],\n"
                                                             "       algorithm: {type: bandit, "
                                                             "bandit: {exploration: 0}}}\n"
                                                             "    - {name: seen, modelRefs: [{model: "
                                                             "small}, {model: top}], " MULTI(
                                                                 "") ", rules: {operator: AND,\n"
                                                                     "       conditions: [{type: "
                                                                     "keyword, name: seen}, "
                                                                     "{operator: OR, conditions: "
                                                                     "[{type: pii, name: private},\n"
                                                                     "       {operator: NOT, "
                                                                     "conditions: [{type: pii, name: "
                                                                     "private}]}]}]}}\n"
                                                                     "global: {semroute: {inference: "
                                                                     "{ask_below: 0}, models: {top: "
                                                                     "{pii_policy: "
                                                                     "{allow_by_default: "
                                                                     "false}}}}}\n";

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

static uint32_t in_progress(sr_runtime *runtime, const char *model)
{
    return sr_pool_tally_in_flight(sr_pool_tally_get(sr_runtime_pool(runtime), model));
}

static void test_the_next_is_the_next_of_the_ranking(void **state)
{
    sr_exchange *x = ask(*state, CHAT("ranked"));
    assert_string_equal(sr_exchange_verdict(x)->model, "alias");
    assert_int_equal(in_progress(*state, "alias"), 1);
    assert_string_equal(sr_exchange_next_model(x)->model, "thinker");
    assert_true(sr_exchange_verdict(x)->reasoning);
    assert_int_equal(in_progress(*state, "alias"), 0);
    assert_int_equal(in_progress(*state, "thinker"), 1);
    assert_string_equal(sr_exchange_next_model(x)->model, "plain");
    assert_null(sr_exchange_next_model(x));
    sr_exchange_end(x, SR_END_COMPLETE);
    assert_int_equal(in_progress(*state, "plain"), 0);
}

static void test_limits_count_what_is_in_progress(void **state)
{
    sr_exchange *all[5];
    const char *const expected[] = {"alias", "alias", "plain",
                                    "plain"}; /* two are not over one while one is */
    for (size_t i = 0; i < 4; i++) {
        all[i] = ask(*state, CHAT("full"));
        assert_string_equal(sr_exchange_verdict(all[i])->model, expected[i]);
    }
    all[4] = ask(*state, CHAT("full"));
    assert_int_equal(sr_exchange_verdict(all[4])->action, SR_ACTION_REPLY);
    assert_int_equal(sr_exchange_verdict(all[4])->status, 503);
    for (size_t i = 0; i < 5; i++)
        sr_exchange_end(all[i], SR_END_CLIENT_GONE);
    assert_int_equal(in_progress(*state, "alias") + in_progress(*state, "plain"), 0);
}

static void test_a_policy_bars_the_best(void **state)
{
    static const struct {
        const char *body, *model;
    } cases[] = {{CHAT("seen"), "top"}, {CHAT("seen, bob@example.com"), "small"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sr_exchange *x = ask(*state, cases[i].body);
        assert_string_equal(sr_exchange_verdict(x)->model, cases[i].model);
        sr_exchange_end(x, SR_END_COMPLETE);
    }
}

static void test_lost_answers_count_against_a_candidate(void **state)
{
    const char *model = "alias"; /* by its card */
    for (int i = 0; i < 40 && strcmp(model, "alias") == 0; i++) {
        sr_exchange *x = ask(*state, CHAT("learns"));
        model = sr_exchange_verdict(x)->model;
        sr_exchange_end(x, SR_END_UPSTREAM_LOST);
    }
    assert_string_equal(model, "plain");
    struct sr_arm arm = sr_arms_get(sr_runtime_arms(*state), sr_arm_key("learns", "alias", ""));
    assert_true(arm.quality == 0 && arm.quality_weight > 1);
}

static void test_a_client_that_left_says_nothing(void **state)
{
    sr_exchange *x = ask(*state, CHAT("learns"));
    uint64_t key = sr_arm_key("learns", sr_exchange_verdict(x)->model, "");
    struct sr_arm before = sr_arms_get(sr_runtime_arms(*state), key);
    sr_exchange_end(x, SR_END_CLIENT_GONE);
    struct sr_arm after = sr_arms_get(sr_runtime_arms(*state), key);
    assert_true(before.quality_weight == after.quality_weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_is_the_next_of_the_ranking),
        cmocka_unit_test(test_limits_count_what_is_in_progress),
        cmocka_unit_test(test_a_policy_bars_the_best),
        cmocka_unit_test(test_lost_answers_count_against_a_candidate),
        cmocka_unit_test(test_a_client_that_left_says_nothing),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
