/* config: flat files of both eras become text that loads and means the same; the note names what is left out.
 */
#include "config/migrate/migrate.h"
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
    assert_true(warned(&problems, 7, "gave answers of one client to all others"));
    assert_true(c->global.cache.use.set && c->global.cache.use.scope == SR_SCOPE_USER);
    assert_true(c->global.cache.use.threshold == 0.8);
    assert_true(warned(&problems, 30, "`pii_policy` of model `phi4` had no effect without `pii_model`"));
    assert_int_equal(c->global.n_policies, 1);
    assert_int_equal(c->decisions[0].n_refs, 2); /* the other one is for what a policy denies */
    assert_true(warned(&problems, 46, "category without a label"));
    assert_true(warned(&problems, 49, "`recht`"));
    assert_true(warned(&problems, 55, "reasoning family `odd`"));
    assert_non_null(strstr(out.data, "#   line 7: `semantic_cache` gave answers"));
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
    assert_true(c->decisions[1].plugins.response_jailbreak.set);
    assert_true(c->decisions[1].plugins.response_jailbreak.threshold == 0.8);
    assert_int_equal(c->decisions[1].plugins.response_jailbreak.action, SR_RESPONSE_BLOCK);
    assert_true(sr_config_is_auto(c, SR_LIT("any")));
    assert_true(warned(&problems, 42, "decision `lost` was left out"));
    assert_true(warned(&problems, 22, "a condition whose signal"));
    assert_true(c->decisions[0].plugins.response_cache.set || c->decisions[1].plugins.response_cache.set);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
    unsetenv("FLAT_KEY");
}

static uint32_t mask(int a, int b)
{
    return UINT32_C(1) << a | UINT32_C(1) << b;
}

static void test_guard_of_all(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0};
    const struct sr_config *c = migrate("tests/data/config/flat_guards_l0.yaml", &out, &problems);
    assert_true(c->global.jailbreak_threshold == 0.65);
    assert_true(c->global.pii_threshold == 0.8);
    assert_int_equal(c->n_jailbreaks, 1);
    assert_true(c->jailbreaks[0].threshold == 0.65);
    assert_int_equal(c->n_piis, 0); /* a policy needs no rule */
    assert_int_equal(c->n_decisions, 3);
    assert_string_equal(c->decisions[0].name, "block-attacks-guard");
    assert_int_equal(c->decisions[0].plugins.guard.action, SR_GUARD_BLOCK);
    assert_int_equal(c->decisions[0].plugins.guard.status, 200);
    assert_string_equal(c->decisions[0].rules.type, "jailbreak");
    assert_int_equal(c->decisions[1].n_refs, 2);
    assert_string_equal(c->models[c->decisions[1].refs[0].model].name, "strict");
    assert_string_equal(c->models[c->decisions[1].refs[1].model].name, "open");
    assert_int_equal(c->global.n_policies, 2);
    assert_string_equal(c->global.policies[0].model, "strict");
    assert_int_equal(c->global.policies[0].allowed, mask(SR_ENTITY_PERSON, SR_ENTITY_GPE));
    assert_string_equal(c->global.policies[1].model, "unsaid");
    assert_int_equal(c->global.policies[1].allowed, 0);
    assert_non_null(strstr(out.data, "\n        # model_id: \"models/jailbreak: own\"\n"));
    assert_non_null(strstr(out.data, "\n          # model_id: models/pii\n"));
    assert_non_null(strstr(out.data, "\n          # model_id: models/category\n"));
    assert_true(warned(&problems, 4, "`use_modernbert` of prompt_guard is not needed"));
    assert_true(warned(&problems, 5, "the bundled model replaces it"));
    assert_true(warned(&problems, 7, "models run on the CPU"));
    assert_true(warned(&problems, 12, "`model_id` of pii_model"));
    assert_true(warned(&problems, 14, "`pii_mapping_path` of pii_model"));
    assert_true(warned(&problems, 24, "`SHOE_SIZE` is not a type of private data"));
    assert_true(warned(&problems, 25, "model `unsaid` has no `pii_policy`"));
    assert_true(warned(&problems, 29, "`jailbreak_enabled` of a category"));
    assert_true(warned(&problems, 30, "`semantic_cache_enabled` of categories has no equivalent"));
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
}

static void test_guards_of_decisions(void **state)
{
    (void)state;
    static const char *const names[] = {"block-attacks", "money-jailbreak", "money-pii", "sums-pii",
                                        "money",         "greeting",        "sums"};
    struct sr_buf out;
    struct sr_problems problems = {0};
    const struct sr_config *c = migrate("tests/data/config/flat_guards_l1.yaml", &out, &problems);
    assert_true(c->global.jailbreak_threshold == 0.9);
    assert_true(c->global.pii_threshold == 0.7);
    assert_int_equal(c->global.n_policies, 0);
    assert_int_equal(c->n_decisions, 7);
    for (size_t i = 0; i < c->n_decisions; i++) {
        assert_string_equal(c->decisions[i].name, names[i]);
        assert_int_equal(c->decisions[i].plugins.guard.set, i < 4);
    }
    assert_int_equal(c->n_jailbreaks, 2);
    assert_string_equal(c->jailbreaks[1].name, "money-jailbreak");
    assert_true(c->jailbreaks[1].threshold == 0.5);
    assert_int_equal(c->n_piis, 2);
    assert_true(c->piis[0].threshold == 0.6);
    assert_int_equal(c->piis[0].allowed, UINT32_C(1) << SR_ENTITY_EMAIL_ADDRESS);
    const struct sr_config_rule *rules = &c->decisions[2].rules;
    assert_int_equal(rules->op, SR_RULE_AND);
    assert_string_equal(rules->children[0].name, "money-pii");
    assert_int_equal(rules->children[1].op, SR_RULE_AND);
    assert_int_equal(rules->children[1].n_children, 2);
    assert_true(warned(&problems, 2, "this version asks no server about attacks"));
    assert_true(warned(&problems, 4, "`0` is not above 0 and at most 1"));
    assert_true(warned(&problems, 25, "the jailbreak guard was off for this decision"));
    assert_true(warned(&problems, 33, "the threshold of prompt_guard, lower or equal"));
    assert_true(warned(&problems, 34, "`enabled` is neither true nor false"));
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
}

/* A guard needs no model to answer with. */
static void test_guard_without_default(void **state)
{
    (void)state;
    const struct sr_config *c;
    struct sr_buf out;
    struct sr_problems problems = {0}, loading = {0};
    sr_buf_init(&out, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(&out, SR_LIT("prompt_guard: {enabled: true}\n"), &problems), SR_OK);
    assert_int_equal(sr_config_load_text(&c, sr_buf_view(&out), "x", (struct sr_load_options){0}, &loading),
                     SR_OK);
    assert_int_equal(c->default_model, -1);
    assert_int_equal(c->n_decisions, 1);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_problems_dispose(&loading);
    sr_buf_dispose(&out);
}

/* What was off stays off, and asks for nothing. */
static void test_guards_that_were_off(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "default_model: a\nprompt_guard: {enabled: false, threshold: 0.7}\nclassifier: {pii_model: }\n",
        "default_model: a\nprompt_guard: {threshold: .nan}\nclassifier: {pii_model: {use_cpu: true}}\n",
        "default_model: a\nprompt_guard:\nmodel_config: {a: {pii_policy: {allow_by_default: true}}}\n",
        "default_model: a\nclassifier: {pii_model: {model_id: m}}\nmodel_config: {a: }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct sr_config *c;
        struct sr_buf out;
        struct sr_problems problems = {0}, loading = {0};
        sr_buf_init(&out, (size_t)1 << 20);
        assert_int_equal(sr_migrate_text(&out, sr_bytes_str(texts[i]), &problems), SR_OK);
        assert_int_equal(
            sr_config_load_text(&c, sr_buf_view(&out), "x", (struct sr_load_options){0}, &loading), SR_OK);
        assert_int_equal(loading.count, 0);
        assert_int_equal(c->n_jailbreaks + c->n_piis + c->n_decisions + c->global.n_policies, 0);
        sr_config_unref(c);
        sr_problems_dispose(&problems);
        sr_problems_dispose(&loading);
        sr_buf_dispose(&out);
    }
}

/* What a flat file's cache becomes. */
static const struct sr_config *migrate_cache(const char *cache, struct sr_buf *out,
                                             struct sr_problems *problems)
{
    char text[1024];
    const struct sr_config *config;
    struct sr_problems loading = {0};
    snprintf(
        text, sizeof text,
        "default_model: m\nvllm_endpoints: [{name: a, address: 127.0.0.1, port: 1}]\nsemantic_cache: {%s}\n"
        "keyword_rules: [{name: k, operator: OR, keywords: [x]}]\n"
        "decisions: [{name: d, priority: 1, rules: {operator: OR, conditions: [{type: keyword, name: k}]}, "
        "modelRefs: [{model: m}], plugins: [{type: semantic-cache, configuration: {enabled: true, "
        "similarity_threshold: 0.92}}]}]\n",
        cache);
    sr_buf_init(out, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(out, sr_bytes_str(text), problems), SR_OK);
    int rc =
        sr_config_load_text(&config, sr_buf_view(out), "new.yaml", (struct sr_load_options){0}, &loading);
    config_print(&loading);
    assert_int_equal(rc, SR_OK);
    sr_problems_dispose(&loading);
    return config;
}

static void test_caches(void **state)
{
    static const struct {
        const char *old;
        enum sr_cache_store store;
        bool on;
        double threshold;
        const char *note; /* NULL: none of this kind */
    } cases[] = {
        {"enabled: true, similarity_threshold: 0.9", SR_STORE_MEMORY, true, 0.9,
         "whatever the system prompt"},
        {"enabled: true, backend_type: memory", SR_STORE_MEMORY, true, 0.85, "the threshold of `bert_model`"},
        {"enabled: true, backend_type: milvus, backend_config_path: m.yaml", SR_STORE_MILVUS, true, 0.85,
         "copy `connection` and `collection` of `m.yaml` to global.stores.response_cache.milvus"},
        {"enabled: true, backend_type: hybrid, max_memory_entries: 7", SR_STORE_MILVUS, true, 0.85,
         "memory is in front of every store"},
        {"enabled: true, backend_type: redis", SR_STORE_REDIS, true, 0.85, "copy `connection` and `index`"},
        {"enabled: true, backend_type: other", SR_STORE_MEMORY, true, 0.85, "no such store"},
        {"enabled: true, similarity_threshold: 0", SR_STORE_MEMORY, true, 0.85, "not above 0"},
        {"enabled: true, ttl_seconds: -1, eviction_policy: odd, use_hnsw: true", SR_STORE_MEMORY, true, 0.85,
         "not from when it was used last"},
        {"enabled: false, similarity_threshold: 0.9", SR_STORE_MEMORY, false, 0, NULL},
        {"backend_type: memory", SR_STORE_MEMORY, false, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_buf out;
        struct sr_problems problems = {0};
        const struct sr_config *c = migrate_cache(cases[i].old, &out, &problems);
        const struct sr_config_cache *cache = &c->global.cache;
        assert_int_equal(cache->enabled, cases[i].on);
        assert_int_equal(cache->store, cases[i].store);
        assert_int_equal(cache->use.set, cases[i].on);
        if (cases[i].on)
            assert_true(cache->use.scope == SR_SCOPE_USER && cache->use.threshold == cases[i].threshold);
        assert_true(!cases[i].note || warned(&problems, 3, cases[i].note));
        assert_true(c->decisions[0].plugins.response_cache.set);
        assert_true(c->decisions[0].plugins.response_cache.threshold == 0.92);
        assert_int_equal(cache->max_entries, strstr(cases[i].old, "max_memory") ? 7 : 10000);
        sr_config_unref(c);
        sr_problems_dispose(&problems);
        sr_buf_dispose(&out);
    }
}

/* What moved as it was, and what a file in today's shape becomes: itself. */
static void test_moved(void **state)
{
    (void)state;
    static const char old[] =
        "default_model: m\nvllm_endpoints: [{name: a, address: a, port: 1, weight: 1}]\n"
        "model_config: {m: {preferred_endpoints: [a]}}\nclear_route_cache: false\nconfig_source: file\n"
        "prompt_compression: {enabled: true, max_tokens: 300, skip_signals: [domain], preserve_first_n: 2, "
        "odd: 1}\n"
        "observability: {metrics: {enabled: false}, tracing: {enabled: false}}\n"
        "api: {batch_classification: {max_batch_size: 9}}\n"
        "tools: {enabled: true, top_k: 3, tools_db_path: \"${SR_T_NONE:-a: b}\"}\n"
        "response_api: {enabled: false}\n"
        "hallucination_mitigation: {enabled: false, fact_check_model: {threshold: 0.6}}\n"
        "feedback_detector: {threshold: 0.7}\n";
    struct sr_buf out, again;
    struct sr_problems problems = {0}, loading = {0};
    const struct sr_config *c;
    sr_buf_init(&out, (size_t)1 << 20);
    sr_buf_init(&again, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(&out, sr_bytes_str(old), &problems), SR_OK);
    assert_true(warned(&problems, 6, "`odd` of prompt_compression has no equivalent"));
    assert_int_equal(problems.count, 1);
    assert_int_equal(sr_config_load_text(&c, sr_buf_view(&out), "x", (struct sr_load_options){0}, &loading),
                     SR_OK);
    config_print(&loading);
    assert_int_equal(loading.count, 0);
    assert_false(c->global.extproc.clear_route_cache);
    assert_false(c->global.metrics);
    assert_true(c->global.fact_check_threshold == 0.6 && c->global.feedback_threshold == 0.7);
    assert_true(c->global.compression.enabled);
    assert_int_equal(c->global.compression.max_tokens, 300);
    assert_int_equal(c->global.compression.first, 2);
    assert_string_equal(c->global.compression.skip_signals.items[0], "domain");
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    problems = (struct sr_problems){0};
    assert_int_equal(sr_migrate_text(&again, sr_buf_view(&out), &problems), SR_OK);
    assert_string_equal(again.data, out.data);
    assert_true(problems.count == 1 && strstr(problems.items[0].message, "already current"));
    sr_problems_dispose(&problems);
    sr_problems_dispose(&loading);
    sr_buf_dispose(&again);
    sr_buf_dispose(&out);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
        const char *message;
    } cases[] = {
        {"version: v0.2\n", SR_EINVAL, "only flat files, which have no `version`"},
        {"hello: 1\n", SR_EINVAL, "not a flat v0.1 configuration"},
        {"", SR_EINVAL, "not a flat v0.1 configuration"},
        {"a: [", SR_EPARSE, "not valid YAML"},
        {"categories: {a: b}\n", SR_EINVAL, "`categories`: expected a list, found a mapping"},
        {"prompt_guard: [a]\n", SR_EINVAL, "`prompt_guard`: expected a mapping, found a list"},
        {"model_config: {a: {pii_policy: x}}\n", SR_EINVAL, "`pii_policy`: expected a mapping"},
        {"default_model: [a]\n", SR_EINVAL, "`default_model`: expected a value, found a list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sr_buf out;
        struct sr_problems problems = {0};
        sr_buf_init(&out, (size_t)1 << 20);
        assert_int_equal(sr_migrate_text(&out, sr_bytes_str(cases[i].text), &problems), cases[i].rc);
        size_t at = 0;
        while (at < problems.count && problems.items[at].severity != SR_PROBLEM_ERROR)
            at++;
        assert_true(at < problems.count);
        assert_non_null(strstr(problems.items[at].message, cases[i].message));
        sr_problems_dispose(&problems);
        sr_buf_dispose(&out);
    }
}

/* Entries without a name are left out whole: what they say is said of no other entry. */
static void test_without_names(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0}, loading = {0};
    const struct sr_config *c;
    sr_buf_init(&out, (size_t)1 << 20);
    assert_int_equal(
        sr_migrate_text(&out,
                        SR_LIT("categories:\n"
                               "  - {name: math, model_scores: [{model: null, score: 1}]}\n"
                               "  - {name: null, mmlu_categories: [law]}\n"
                               "keyword_rules:\n"
                               "  - {name: code, keywords: [segfault]}\n"
                               "  - {name: null, keywords: [urgent]}\n"
                               "model_config:\n"
                               "  a: {loras: [{name: one}, {description: none}]}\n"
                               "decisions:\n"
                               "  - name: d\n"
                               "    rules: {conditions: [{type: keyword, name: code},"
                               " {type: keyword, name: null}]}\n"
                               "    modelRefs: [{model: a}, {use_reasoning: true}]\n"
                               "    plugins:\n"
                               "      - type: header_mutation\n"
                               "        configuration: {add: [{name: x-a, value: b}, {value: c}]}\n"),
                        &problems),
        SR_OK);
    static const struct {
        uint32_t line;
        const char *message;
    } notes[] = {{2, "a model score needs a `model`"}, {3, "category without a label"},
                 {6, "keyword rule without name"},     {8, "a LoRA needs a `name`"},
                 {11, "a condition whose signal"},     {12, "a model reference needs a `model`"},
                 {15, "a header needs a `name`"}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (!warned(&problems, notes[i].line, notes[i].message))
            fail_msg("no warning in line %u: %s", notes[i].line, notes[i].message);
    int rc = sr_config_load_text(&c, sr_buf_view(&out), "x", (struct sr_load_options){0}, &loading);
    config_print(&loading);
    assert_int_equal(rc, SR_OK);
    assert_int_equal(c->n_domains, 1);
    assert_int_equal(c->n_decisions, 1);
    assert_int_equal(c->decisions[0].n_refs, 1);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
    sr_problems_dispose(&loading);
    sr_buf_dispose(&out);
}

static void test_no_endpoint(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_problems problems = {0}, loading = {0};
    const struct sr_config *c;
    sr_buf_init(&out, (size_t)1 << 20);
    assert_int_equal(sr_migrate_text(&out, SR_LIT("default_model: 'yes: no'\n"), &problems), SR_OK);
    assert_true(warned(&problems, 1, "127.0.0.1:8000 was written"));
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
        cmocka_unit_test(test_guard_of_all),
        cmocka_unit_test(test_guards_of_decisions),
        cmocka_unit_test(test_guard_without_default),
        cmocka_unit_test(test_guards_that_were_off),
        cmocka_unit_test(test_caches),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_names),
        cmocka_unit_test(test_no_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
