/* config: flat files of both eras become text that loads and means the same; what is left out is said. */
#include "config/migrate.h"
#include "tests/unit/config_check.h"

static const struct sr_config *migrate(const char *path, struct sr_buf *out, struct sr_problems *problems)
{
    const struct sr_config *config;
    struct sr_problems loading = {0};
    char *old = config_file(path);
    sr_buf_init(out, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(out, sr_bytes_str(old), problems), SR_OK);
    assert_int_equal(problems->errors, 0);
    int rc =
        sr_config_load_text(&config, sr_buf_view(out), "new.yaml", (struct sr_load_options){0}, &loading);
    config_print(&loading);
    assert_int_equal(rc, SR_OK);
    sr_problems_dispose(&loading);
    free(old);
    return config;
}

static bool warned(const struct sr_problems *problems, uint32_t line, const char *message)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->items[i].line == line && problems->items[i].severity == SR_PROBLEM_WARNING &&
            strstr(problems->items[i].message, message))
            return true;
    return false;
}

static void test_categories(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0};
    const struct sr_config *c = migrate("tests/data/config/flat_l0.yaml", &out, &problems);
    assert_int_equal(c->n_models, 2);
    assert_string_equal(c->models[c->default_model].name, "gemma3:27b");
    assert_string_equal(c->default_effort, "low");
    assert_int_equal(c->models[0].n_backends, 1);
    assert_string_equal(c->models[0].backends[0].host, "10.0.0.1");
    assert_string_equal(c->models[1].backends[0].host, "::1");
    assert_true(c->models[1].backends[0].weight == 2);
    assert_string_equal(c->models[0].pricing.currency, "EUR");
    assert_int_equal(c->n_families, 1);
    assert_int_equal(c->n_domains, 3);
    assert_int_equal(c->n_decisions, 3);
    assert_int_equal(c->decisions[0].refs[0].model, 1);
    assert_true(c->decisions[0].refs[0].use_reasoning);
    assert_string_equal(c->decisions[0].refs[0].reasoning_effort, "high");
    assert_string_equal(c->decisions[0].plugins.system_prompt.text,
                        "You are a \"careful\" mathematician.\nShow each step.");
    assert_int_equal(c->decisions[0].plugins.system_prompt.mode, SR_PROMPT_REPLACE);
    assert_int_equal(c->decisions[1].plugins.system_prompt.mode, SR_PROMPT_INSERT);
    assert_string_equal(c->domains[1].mmlu_categories.items[0], "computer science");
    assert_true(c->global.domain_threshold == 0.55);
    assert_true(warned(&problems, 6, "`semantic_cache` has no place"));
    assert_true(warned(&problems, 30, "`pii_policy`"));
    assert_true(warned(&problems, 46, "category without a label"));
    assert_true(warned(&problems, 49, "`recht`"));
    assert_true(warned(&problems, 55, "reasoning family `odd`"));
    assert_non_null(strstr(out.data, "#   line 6: `semantic_cache`"));
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
}

static void test_decisions(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0};
    setenv("FLAT_KEY", "key", 1);
    const struct sr_config *c = migrate("tests/data/config/flat_l1.yaml", &out, &problems);
    assert_int_equal(c->strategy, SR_STRATEGY_CONFIDENCE);
    assert_int_equal(c->n_models, 1);
    assert_string_equal(c->models[0].backends[0].api_key, "key");
    assert_non_null(strstr(out.data, "api_key: ${FLAT_KEY}"));
    assert_int_equal(c->models[0].n_backends, 1);
    assert_string_equal(c->models[0].loras.items[0].name, "math-lora");
    assert_int_equal(c->n_keywords, 1);
    assert_int_equal(c->keywords[0].keywords.count, 3);
    assert_true(c->keywords[0].case_sensitive);
    assert_int_equal(c->n_embeddings, 1);
    assert_true(c->embeddings[0].threshold == 0.7);
    assert_int_equal(c->embeddings[0].candidates.count, 2);
    assert_int_equal(c->embeddings[0].aggregation, SR_AGGREGATION_MEAN);
    assert_int_equal(c->n_decisions, 2);
    assert_int_equal(c->decisions[0].priority, 10);
    assert_int_equal(c->decisions[0].rules.n_children, 2);
    assert_string_equal(c->decisions[0].refs[0].lora_name, "math-lora");
    assert_int_equal(c->decisions[0].plugins.system_prompt.mode, SR_PROMPT_REPLACE);
    assert_string_equal(c->decisions[0].plugins.header_mutation.add.items[0].value, "7");
    assert_string_equal(c->decisions[0].plugins.header_mutation.remove.items[0], "X-Secret");
    assert_int_equal(c->decisions[1].rules.op, SR_RULE_AND);
    assert_int_equal(c->decisions[1].rules.n_children, 2);
    assert_true(sr_config_is_auto(c, SR_LIT("any")));
    assert_true(warned(&problems, 41, "decision `lost` was left out"));
    assert_true(warned(&problems, 22, "a condition whose signal"));
    assert_true(warned(&problems, 32, "plugin `semantic-cache`"));
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
    unsetenv("FLAT_KEY");
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        const char *message;
    } cases[] = {
        {"version: v0.3\n", SR_EINVAL, "has a `version` already"},
        {"hello: 1\n", SR_EINVAL, "no flat configuration"},
        {"", SR_EINVAL, "no flat configuration"},
        {"a: [", SR_EPARSE, "not valid YAML"},
        {"categories: {a: b}\n", SR_EINVAL, "`categories`: expected a list, found a mapping"},
        {"default_model: [a]\n", SR_EINVAL, "`default_model`: expected a value, found a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sr_buf out;
        struct sr_problems problems = {0};
        sr_buf_init(&out, (size_t)1 << 20);
        assert_int_equal(sr_migrate_text(&out, sr_bytes_str(cases[i].text), &problems), cases[i].rc);
        assert_true(problems.errors > 0);
        assert_non_null(strstr(problems.items[0].message, cases[i].message));
        sr_problems_dispose(&problems);
        sr_buf_dispose(&out);
    }
}

static void test_no_endpoint(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0}, loading = {0};
    const struct sr_config *c;
    sr_buf_init(&out, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(&out, SR_LIT("default_model: 'yes: no'\n"), &problems), SR_OK);
    assert_true(warned(&problems, 1, "127.0.0.1:8000 stands there now"));
    assert_int_equal(sr_config_load_text(&c, sr_buf_view(&out), "x", (struct sr_load_options){0}, &loading),
                     SR_OK);
    assert_string_equal(c->models[0].name, "yes: no");
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_problems_dispose(&loading);
    sr_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_categories),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
