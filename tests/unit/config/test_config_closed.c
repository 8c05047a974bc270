/* config: what a file leaves out is closed, and what it opens is a warning. */
#include "tests/unit/config_check.h"

#define RULES                                                                                                \
    "routing:\n"                                                                                             \
    "  signals: {jailbreak: [{name: j}], pii: [{name: p}], keywords: [{name: k, operator: OR, keywords: "    \
    "[k]}]}\n"                                                                                               \
    "  decisions:\n"

#define GUARD(action, rules)                                                                                 \
    CONFIG_MODELS RULES "  - name: g\n"                                                                      \
                        "    modelRefs: [{model: one}]\n"                                                    \
                        "    plugins: [{type: guard, configuration: {action: " action "}}]\n"                \
                        "    rules: " rules "\n"
#define PLAIN(rules)                                                                                         \
    CONFIG_MODELS RULES "  - name: g\n"                                                                      \
                        "    modelRefs: [{model: one}]\n"                                                    \
                        "    rules: " rules "\n"

#define J "{type: jailbreak, name: j}"
#define K "{type: keyword, name: k}"

static enum sr_on_error leaf_of(const char *text, size_t depth)
{
    const struct sr_config *config = config_good(text);
    const struct sr_config_rule *rule = &config->decisions[0].rules;
    for (size_t i = 0; i < depth; i++)
        rule = &rule->children[0];
    assert_int_equal(rule->op, SR_RULE_LEAF);
    enum sr_on_error value = rule->on_error;
    sr_config_unref(config);
    return value;
}

static void test_guards(void **state)
{
    (void)state;
    assert_int_equal(leaf_of(GUARD("block", J), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("redact", "{type: pii, name: p}"), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("route", J), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("flag", J), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("allow", J), 0), SR_ON_ERROR_NO_MATCH);
    assert_int_equal(leaf_of(GUARD("block", K), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("block", "{operator: NOT, conditions: [" J "]}"), 1),
                     SR_ON_ERROR_NO_MATCH);
    assert_int_equal(leaf_of(GUARD("allow", "{operator: NOT, conditions: [" J "]}"), 1), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(GUARD("block", "{operator: NOT, conditions: [{operator: NOT, conditions: "
                                            "[" J "]}]}"),
                             2),
                     SR_ON_ERROR_MATCH);
}

static void test_other_decisions(void **state)
{
    (void)state;
    assert_int_equal(leaf_of(PLAIN(J), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(PLAIN("{type: pii, name: p}"), 0), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(PLAIN("{operator: NOT, conditions: [" J "]}"), 1), SR_ON_ERROR_MATCH);
    assert_int_equal(leaf_of(PLAIN(K), 0), SR_ON_ERROR_NO_MATCH);
    assert_int_equal(leaf_of(PLAIN("{type: jailbreak, name: j, on_error: no_match}"), 0),
                     SR_ON_ERROR_NO_MATCH);
}

static void test_opened(void **state)
{
    (void)state;
    config_problem(GUARD("block", "{type: jailbreak, name: j, on_error: no_match}"), false,
                   SR_PROBLEM_WARNING, 11, 49,
                   "decision `g` is open: requests that `jailbreak` could not read pass it");
    config_problem(GUARD("allow", "{type: jailbreak, name: j, on_error: match}"), false, SR_PROBLEM_WARNING,
                   11, 49, "is open");
    sr_config_unref(config_good(GUARD("block", "{type: jailbreak, name: j, on_error: match}")));
}

#define OPEN(router, guards)                                                                                 \
    GUARD("block", J) "global: {router: " router ", semroute: {guards: " guards "}}\n"

static void test_opened_for_all(void **state)
{
    (void)state;
    config_problem(OPEN("{}", "{explicit_models: false}"), false, SR_PROBLEM_WARNING, 12, 59,
                   "guards are open: requests that name their model pass unread");
    config_error(OPEN("{}", "{skip_tenants: [a]}"), 12, 56, "needs `tenant_header`");
    config_error(OPEN("{}", "{system_prompts: {trusted_tenants: [a]}}"), 12, 76, "needs `tenant_header`");
    config_error(OPEN("{}", "{system_prompts: {sha256: [12ab]}}"), 12, 67, "is not a SHA-256");
    config_problem(OPEN("{}", "{tenant_header: t, skip_tenants: [a]}"), false, SR_PROBLEM_WARNING, 12, 74,
                   "changes nothing");
    config_problem(OPEN("{skip_processing: {enabled: true}}", "{tenant_header: t, skip_tenants: [a]}"), false,
                   SR_PROBLEM_WARNING, 12, 106, "guards are open: these tenants skip them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_other_decisions),
        cmocka_unit_test(test_opened),
        cmocka_unit_test(test_opened_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
