/* config: keys that do not act, what the environment of a server gives, and what is put in place of what is
 * absent. */
#include "tests/unit/config_check.h"

#include "config/bind/idle.h"
#include "config/section/section.h"

#include <stdlib.h>

#define GLOBAL(inside) CONFIG_MODELS "global: {" inside "}\n"

static void test_what_asks_for_nothing(void **state)
{
    (void)state;
    sr_config_unref(config_good(CONFIG_MODELS "recipes: []\nentrypoints: []\n"));
    sr_config_unref(
        config_good(CONFIG_MODELS "routing: {projections: {}, signals: {kb: [], events: null}}\n"));
    sr_config_unref(config_good(GLOBAL("stores: {memory: {embedding_model: mmbert}, vector_store: {}}")));
    sr_config_unref(config_good(GLOBAL("services: {router_replay: {store_backend: memory}, ratelimit: {}}")));
    sr_config_unref(config_good(GLOBAL("services: {authz: {fail_open: false}}")));
    sr_config_unref(config_good(CONFIG_MODELS "routing: {decisions: [{name: d, plugins: [{type: memory, "
                                              "configuration: {enabled: false}}]}]}\n"));
}

static void test_what_asks_for_something(void **state)
{
    (void)state;
    config_error(GLOBAL("stores: {memory: {enabled: true}}"), 5, 19, "`memory` is not supported");
    config_error(GLOBAL("stores: {vector_store: {enabled: \"${SR_T_ON:-true}\"}}"), 5, 19,
                 "is not supported");
    config_error(GLOBAL("stores: {vector_store: {enabled: maybe}}"), 5, 19, "is not supported");
    config_error(CONFIG_MODELS "routing: {decisions: [{name: d, plugins: [{type: memory}]}]}\n", 5, 50,
                 "plugin `memory` is not supported");
    config_error(CONFIG_MODELS
                 "routing: {decisions: [{name: d, plugins: [{type: jailbreak, configuration: {}}]}]}\n",
                 5, 50, "plugin `jailbreak` is not supported");
}

/* Where somebody may count on a key that changes nothing, a warning says so; else nothing does. */
static void test_inert(void **state)
{
    (void)state;
    sr_config_unref(
        config_good(GLOBAL("services: {startup_status: {path: /x}, api: {batch_classification: {}}}")));
    config_problem(GLOBAL("services: {response_api: {enabled: true}}"), false, SR_PROBLEM_WARNING, 5, 21,
                   "`response_api` changes nothing: /v1/responses is forwarded");
    sr_config_unref(config_good(GLOBAL("services: {response_api: {enabled: false}}")));
    config_error(GLOBAL("model_catalog: {modules: {prompt_guard: {on_error: allow}}}"), 5, 61,
                 "is not supported");
    config_error(GLOBAL("model_catalog: {modules: {prompt_guard: {use_vllm: true}}}"), 5, 51,
                 "is not supported");
}

/* No inert key belongs to what says who may do what. */
static void walk(const struct sr_section *section, const struct sr_section **seen, size_t *n)
{
    static const char *const kept[] = {
        "authz",   "ratelimit", "management_api",  "fail_open", "guard", "role_bindings",
        "api_key", "tls",       "allow_anonymous", NULL};
    for (size_t i = 0; i < *n; i++)
        if (seen[i] == section)
            return;
    seen[(*n)++] = section;
    for (const struct sr_inert_key *inert = section->inert; inert && inert->key; inert++) {
        assert_non_null(inert->because);
        assert_false(sr_key_is_among(kept, sr_bytes_str(inert->key)));
    }
    for (const char *const *key = section->switched; key && *key; key++)
        assert_true(sr_key_is_among(section->later, sr_bytes_str(*key)));
    for (size_t i = 0; i < section->n_fields; i++) {
        if (section->fields[i].of)
            walk(section->fields[i].of, seen, n);
        for (const struct sr_variant *const *v = section->fields[i].variants; v && *v; v++)
            walk((*v)->section, seen, n);
    }
}

static void test_lists(void **state)
{
    (void)state;
    const struct sr_section *seen[256];
    size_t n = 0;
    walk(&sr_section_root, seen, &n);
    assert_true(n > 50);
}

static void test_cheap_values(void **state)
{
    (void)state;
    const struct sr_config *c =
        config_good(CONFIG_MODELS
                    "routing:\n"
                    "  modelCards: [{name: one, loras: [{name: expert}]}]\n"
                    "  signals: {keywords: [{name: k, keywords: [a], method: fuzzy, fuzzy_threshold: 80}]}\n"
                    "  decisions:\n"
                    "  - {name: d, rules: {operator: AND, conditions: []}, plugins: [{type: system_prompt}, "
                    "{type: header_mutation}]}\n");
    assert_int_equal(c->decisions[0].rules.op, SR_RULE_AND);
    assert_int_equal(c->decisions[0].rules.n_children, 0);
    assert_false(c->decisions[0].plugins.system_prompt.set);
    assert_false(c->decisions[0].plugins.header_mutation.set);
    assert_int_equal(c->keywords[0].method, SR_KEYWORD_WORDS);
    assert_true(c->keywords[0].fuzzy_match);
    assert_int_equal(c->keywords[0].fuzzy_threshold, 80);
    assert_int_equal(c->keywords[0].places[0].line, 7);
    sr_config_unref(c);
}

#define PROVIDERS(default_model, models)                                                                     \
    "version: v0.3\nproviders:\n  defaults: {default_model: " default_model "}\n  models: [" models "]\n"

static void test_default_model(void **state)
{
    (void)state;
    const char *base = PROVIDERS(
        "expert", "{name: base, backend_refs: [{endpoint: 'a:1'}]}") "routing: {modelCards: [{name: base, "
                                                                     "loras: [{name: expert}]}]}\n";
    const struct sr_config *c = config_good(base);
    assert_int_equal(c->default_model, 0);
    assert_string_equal(c->default_lora, "expert");
    sr_config_unref(c);
    config_problem(PROVIDERS("elsewhere", "{name: base, backend_refs: [{endpoint: 'a:1'}]}"), false,
                   SR_PROBLEM_WARNING, 3, 29, "a request that no decision matches is refused");
    config_error(PROVIDERS("bsae", "{name: base, backend_refs: [{endpoint: 'a:1'}]}"), 3, 29,
                 "did you mean `base`?");
}

static void test_endpoints(void **state)
{
    (void)state;
    const struct sr_config *c =
        config_good(PROVIDERS("base", "{name: base, external_model_ids: {openai: o, vllm: v}, backend_refs: "
                                      "[{endpoint: 'a:1/llm/v1/', type: vllm}]}"));
    assert_string_equal(c->models[0].backends[0].base_path, "/llm");
    assert_int_equal(c->models[0].backends[0].port, 1);
    assert_string_equal(c->models[0].provider_model_id, "v");
    sr_config_unref(c);
    config_error(PROVIDERS("base", "{name: base, backend_refs: [{endpoint: '{{HOST}}:1'}]}"), 4, 51,
                 "is a template");
    config_error(PROVIDERS("base", "{name: base, backend_refs: [{endpoint: 'a.<namespace>.svc:1'}]}"), 4, 51,
                 "is a template");
}

/* A draft needs no secrets; a server does. */
static void test_draft(void **state)
{
    (void)state;
    const char *text = PROVIDERS(
        "base", "{name: base, backend_refs: [{endpoint: '${SR_T_UNSET}:1', api_key_env: "
                "SR_T_UNSET}, {endpoint: '{{HOST}}:1'}]}") "listeners: [{port: \"${SR_T_UNSET}\"}]\n";
    const struct sr_config *c;
    struct sr_problems problems = {0};
    assert_int_equal(
        sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){.draft = true}, &problems),
        SR_OK);
    assert_int_equal(problems.count, 4);
    for (size_t i = 0; i < problems.count; i++)
        assert_int_equal(problems.items[i].severity, SR_PROBLEM_WARNING);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    assert_int_equal(sr_config_load_text(&c, sr_bytes_str(text), "x",
                                         (struct sr_load_options){.lenient = true}, &problems),
                     SR_EINVAL);
    assert_int_equal(problems.errors, 4);
    sr_problems_dispose(&problems);
}

#define CATALOG                                                                                              \
    CONFIG_MODELS                                                                                            \
    "routing: {signals: {domains: [{name: m, mmlu_categories: [maths9]}, {name: law}]}}\n"                   \
    "global:\n  model_catalog:\n"                                                                            \
    "    modules: {classifier: {domain: {model_id: no/domain}, pii: {model_id: no/pii}}, prompt_guard: "     \
    "{model_id: no/guard}}\n"                                                                                \
    "    embeddings: {semantic: {mmbert_model_path: no/encoder, embedding_config: {target_layer: 22}}}\n"

static void test_absent_models(void **state)
{
    (void)state;
    const struct sr_config *c;
    struct sr_problems problems = {0};
    assert_int_equal(
        sr_config_load_text(&c, SR_LIT(CATALOG), "x", (struct sr_load_options){.files = true}, &problems),
        SR_OK);
    assert_int_equal(problems.count, 5); /* four models, and a label that only the absent one knows */
    for (size_t i = 0; i < 4; i++)
        assert_non_null(strstr(problems.items[i + 1].message, "the built-in model takes its place"));
    assert_string_equal(c->global.domain_model, "");
    assert_string_equal(c->global.pii_model, "");
    assert_string_equal(c->global.jailbreak_model, "");
    assert_string_equal(c->global.inference.encoder, "");
    assert_int_equal(c->global.inference.layers, 0);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    config_problem(CONFIG_MODELS "routing: {signals: {domains: [{name: urgent_request}]}}\n", false,
                   SR_PROBLEM_WARNING, 5, 38, "it never matches");
}

static void test_files_of_others(void **state)
{
    (void)state;
    config_error("model_list:\n  - {model_name: a}\n", 2, 3, "configuration of LiteLLM");
    config_error("version: v0.2\n", 1, 10, "`semroute migrate FILE` converts it");
    config_error("version: 1\n", 1, 10, "says `version: v0.3`");
    config_error("version: v0.3\nlisteners: [{port: 1, name: ${NAME}}]\n", 2, 30,
                 "inside `{}` and `[]` a value with braces needs quotes: \"${NAME}\"");
    config_error("version: v0.3\nlisteners: [{port: 1, name: {{NAME}}:1}]\n", 2, 30, "needs quotes");
    config_error("version: v0.3\nlisteners: [{port: 1, name: '${NAME}' }]]\n", 2, 41,
                 "not valid YAML: did not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_asks_for_nothing),
        cmocka_unit_test(test_what_asks_for_something),
        cmocka_unit_test(test_inert),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_cheap_values),
        cmocka_unit_test(test_default_model),
        cmocka_unit_test(test_endpoints),
        cmocka_unit_test(test_draft),
        cmocka_unit_test(test_absent_models),
        cmocka_unit_test(test_files_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
