/* config: a lenient load opens nothing. What depends on a dropped condition is said, and is decided safely.
 */
#include "tests/unit/config_check.h"

#define DECISIONS(inside)                                                                                    \
    CONFIG_MODELS                                                                                            \
    "routing:\n  signals: {keywords: [{name: k, keywords: [a]}], jailbreak: [{name: j}, {name: own, "        \
    "jailbreak_patterns: [x]}]}\n  decisions:\n" inside

#define PLAIN(rules)                                                                                         \
    DECISIONS("  - {name: d, modelRefs: [{model: one}], rules: " rules "}\n  - {name: rest}\n")
#define ANSWERS(rules)                                                                                       \
    DECISIONS("  - {name: d, plugins: [{type: fast_response, configuration: {message: no}}], rules: " rules  \
              "}\n")
#define GUARD(action, rules)                                                                                 \
    DECISIONS("  - {name: d, plugins: [{type: guard, configuration: {action: " action "}}], rules: " rules   \
              "}\n  - {name: rest}\n")

#define NEW     "{type: nobody_knows, name: x}"
#define K       "{type: keyword, name: k}"
#define NOT_NEW "{operator: NOT, conditions: [" NEW "]}"

/* What the first decision's dropped condition is worth, with the warning that says what is lost. */
static void check(const char *text, enum sr_on_error value, size_t depth, const char *says)
{
    const struct sr_config *c = NULL;
    struct sr_problems problems = {0};
    bool said = false;
    int rc = sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){.lenient = true},
                                 &problems);
    for (size_t i = 0; i < problems.count; i++)
        said |= strstr(problems.items[i].message, says) != NULL;
    if (rc || !said)
        config_print(&problems);
    assert_int_equal(rc, SR_OK);
    assert_true(said);
    const struct sr_config_rule *rule = &c->decisions[0].rules;
    while (depth--)
        rule = &rule->children[0];
    assert_int_equal(rule->op, SR_RULE_UNKNOWN);
    assert_int_equal(rule->on_error, value);
    sr_problems_dispose(&problems);
    sr_config_unref(c);
}

static void test_ordinary_decisions_do_not_match(void **state)
{
    (void)state;
    check(PLAIN(NEW), SR_ON_ERROR_NO_MATCH, 0, "it matches no requests, and sends them to `one`");
    check(PLAIN(NOT_NEW), SR_ON_ERROR_NO_MATCH, 1, "it matches no requests");
    check(PLAIN("{operator: OR, conditions: [" NEW ", " K "]}"), SR_ON_ERROR_NO_MATCH, 1,
          "where they decide, it does not match");
    check(PLAIN("{operator: AND, conditions: [" NEW ", " K "]}"), SR_ON_ERROR_NO_MATCH, 1, "it matches no");
    check(PLAIN("{type: nobody_knows, name: x, on_error: match}"), SR_ON_ERROR_NO_MATCH, 0, "it matches no");
    check(PLAIN("{type: kb, name: x}"), SR_ON_ERROR_NO_MATCH, 0, "lost 1 condition:");
    check(PLAIN("{type: keyword, name: absent}"), SR_ON_ERROR_NO_MATCH, 0, "it matches no");
    check(PLAIN("{operator: AND, conditions: [" NEW ", {operator: NOT, conditions: [{type: jailbreak, name: "
                "j}]}]}"),
          SR_ON_ERROR_NO_MATCH, 1, "it matches no");
}

static void test_what_protects_matches(void **state)
{
    (void)state;
    check(ANSWERS(NEW), SR_ON_ERROR_MATCH, 0, "it matches all requests, and they are refused (503)");
    check(ANSWERS(NOT_NEW), SR_ON_ERROR_MATCH, 1, "it matches all requests");
    check(GUARD("block", NEW), SR_ON_ERROR_MATCH, 0, "it matches all requests, and blocks them");
    check(GUARD("flag", "{operator: AND, conditions: [" NEW ", " K "]}"), SR_ON_ERROR_MATCH, 1,
          "where they decide, it matches requests, and flags them");
    check(GUARD("allow", NEW), SR_ON_ERROR_NO_MATCH, 0, "it matches no requests, and lets them pass");
    check(PLAIN("{operator: OR, conditions: [" NEW ", {type: jailbreak, name: j}]}"), SR_ON_ERROR_MATCH, 1,
          "it matches all requests, and sends them to `one`");
    check(PLAIN("{type: jailbreak, name: own}"), SR_ON_ERROR_MATCH, 0, "it matches all requests");
}

static void test_plugins_that_restrict(void **state)
{
    (void)state;
    static const char *const plugins[] = {
        "{type: jailbreak, configuration: {enabled: true}}",
        "{type: hallucination, configuration: {hallucination_action: block}}",
        "{type: header_mutation, configuration: {delte: [X-Secret]}}",
        "{type: request_params, max_tokens_limit: 9}",
        "{type: nobody_knows, configuration: {enabled: true}}",
        "{type: gaurd, configuration: {action: block}}",
        "{type: memory, configuration: {}}"};
    char text[1024];
    for (size_t i = 0; i < 7; i++) {
        const struct sr_config *c = NULL;
        struct sr_problems problems = {0};
        snprintf(text, sizeof text, DECISIONS("  - {name: d, rules: " K ", plugins: [%s]}\n"), plugins[i]);
        assert_int_equal(sr_config_load_text(&c, sr_bytes_str(text), "x",
                                             (struct sr_load_options){.lenient = true}, &problems),
                         SR_OK);
        assert_int_equal(c->decisions[0].plugins.guard.set, i < 6);
        if (i < 6)
            assert_int_equal(c->decisions[0].plugins.guard.action, SR_GUARD_BLOCK);
        sr_problems_dispose(&problems);
        sr_config_unref(c);
    }
}

/* A key that is not known may have been about who passes. */
static void test_unknown_keys(void **state)
{
    (void)state;
    static const char *const rules[] = {"rule: " K, "rules: {type: keyword, name: k, negate: true}",
                                        "rules: {operator: AND, conditions: [" K "], not: true}",
                                        "unless: " K ", rules: " K,
                                        "rules: {type: keyword, name: k, predicate: {gte: 1, eq: 3}}"};
    char text[1024];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct sr_config *c = NULL;
        struct sr_problems problems = {0};
        bool said = false;
        snprintf(text, sizeof text,
                 DECISIONS("  - {name: d, modelRefs: [{model: one}], %s}\n  - {name: rest}\n"), rules[i]);
        int rc = sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){.lenient = true},
                                     &problems);
        for (size_t k = 0; k < problems.count; k++)
            said |= strstr(problems.items[k].message, "it matches no") != NULL;
        if (rc || !said)
            config_print(&problems);
        assert_int_equal(rc, SR_OK);
        assert_true(said && c->decisions[0].has_rules);
        const struct sr_config_rule *rule = &c->decisions[0].rules;
        assert_int_equal((rule->n_children == 2 ? &rule->children[1] : rule)->op, SR_RULE_UNKNOWN);
        sr_problems_dispose(&problems);
        sr_config_unref(c);
    }
}

/* What only this program has is strict. */
static void test_own_keys(void **state)
{
    (void)state;
    config_problem(CONFIG_MODELS
                   "global: {semroute: {models: {one: {pii_polcy: {allow_by_default: false}}}}}\n",
                   true, SR_PROBLEM_ERROR, 5, 36, "did you mean `pii_policy`?");
    config_problem(
        DECISIONS("  - {name: d, plugins: [{type: guard, configuration: {action: block, statu: 403}}]}\n"),
        true, SR_PROBLEM_ERROR, 8, 70, "did you mean `status`?");
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    config_problem(DECISIONS("  - {name: d, rules: " NEW "}\n  - {name: e, rules: " NOT_NEW "}\n"), true,
                   SR_PROBLEM_ERROR, 8, 3, "no decision is left");
    config_problem(CONFIG_MODELS "routin: [{name: r}]\n", true, SR_PROBLEM_ERROR, 1, 1,
                   "no decision is left");
    config_problem(DECISIONS("  - {name: d, rules: " NEW "}\n"), false, SR_PROBLEM_ERROR, 8, 29,
                   "unknown value");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary_decisions_do_not_match),
        cmocka_unit_test(test_what_protects_matches),
        cmocka_unit_test(test_plugins_that_restrict),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_own_keys),
        cmocka_unit_test(test_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
