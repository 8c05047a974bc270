/* config: forms in which people write files: keys without a value, merged mappings, addresses, stores that
 * are not used, algorithms that were not chosen, domains that nobody declared. */
#include "tests/unit/config_check.h"

#define ROUTING(inside) CONFIG_MODELS "routing: {" inside "}\n"
#define STORE(inside)   CONFIG_MODELS "global: {stores: {response_cache: {" inside "}}}\n"
#define BACKEND(inside)                                                                                      \
    "version: v0.3\n"                                                                                        \
    "providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{" inside "}]}]}\n"

static void test_nothing_is_absent(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(
        "version: v0.3\n"
        "listeners:\n"
        "providers:\n"
        "  defaults: {default_model: m, default_reasoning_effort: ~, reasoning_families: null}\n"
        "  models: [{name: m, reasoning_family: , pricing: {currency: , prompt_per_1m: }, backend_refs: "
        "[{endpoint: "
        "'a:1', weight: , api_key: '', api_key_env: , base_url: '', provider: '', extra_headers: {}}]}]\n"
        "routing: {strategy: , modelCards: [{name: m, loras: , tags: null}], decisions: [{name: d, plugins: "
        "}]}\n"
        "global: {router: {clear_route_cache: , strategy: ''}, services: ~}\n");
    assert_true(c->models[0].backends[0].weight == 1);
    assert_string_equal(c->models[0].backends[0].api_key, "");
    assert_string_equal(c->models[0].pricing.currency, "USD");
    assert_true(c->global.extproc.clear_route_cache);
    sr_config_unref(c);
    config_error("version: v0.3\nproviders: {models: [{name: }]}\n", 2, 22,
                 "`name` is missing in this model");
    config_error(CONFIG_MODELS "global: {semroute: {allow_anonymous: }}\n", 5, 38, "found nothing");
}

/* What a variable leaves empty was meant. */
static void test_an_empty_variable_is_no_absence(void **state)
{
    (void)state;
    config_error(BACKEND("endpoint: 'a:1', weight: \"${SR_T_NONE:-}\""), 2, 103, "expected a number");
    config_error(
        "version: v0.3\nlisteners: [{port: 1}]\nglobal:\n  router:\n    clear_route_cache: ${SR_T_NONE:-}\n",
        5, 24, "expected true or false, found nothing");
}

static void test_words_of_older_yaml(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(
        CONFIG_MODELS "global: {router: {clear_route_cache: off, include_config_models_in_list: Yes}}\n");
    assert_false(c->global.extproc.clear_route_cache);
    assert_true(c->global.include_config_models_in_list);
    sr_config_unref(c);
}

static void test_notes_for_people(void **state)
{
    (void)state;
    sr_config_unref(config_good("version: v0.3\ndescription: a file\nproviders: {description: all, defaults: "
                                "{default_model: m, description: x}, "
                                "models: [{name: m, description: x, backend_refs: [{endpoint: 'a:1', "
                                "description: x}]}]}\nrouting: {decisions: "
                                "[{name: d, modelRefs: [{model: m, description: x}], rules: {operator: AND, "
                                "conditions: [{type: always, "
                                "description: x}]}}]}\n"));
    config_error(CONFIG_MODELS "global: {semroute: {description: x}}\n", 5, 21, "unknown key `description`");
    config_error(CONFIG_MODELS "global: {router: {description: [x]}}\n", 5, 19, "unknown key `description`");
}

static void test_merged_mappings(void **state)
{
    (void)state;
    const struct sr_config *c = config_good("---\n"
                                            "version: v0.3\n"
                                            "x-worker: &worker {endpoint: 'a:1', weight: 3}\n"
                                            "x-key: &key {weight: 4, api_key: k}\n"
                                            "providers:\n"
                                            "  defaults: {default_model: m}\n"
                                            "  models:\n"
                                            "    - name: m\n"
                                            "      backend_refs:\n"
                                            "        - {name: one, <<: *worker}\n"
                                            "        - {<<: [*key, *worker], name: two, endpoint: 'b:2'}\n"
                                            "global: {semroute: {allow_anonymous: true}}\n"
                                            "---\n"
                                            "...\n");
    const struct sr_config_backend *backends = c->models[0].backends;
    assert_string_equal(backends[0].host, "a");
    assert_true(backends[0].weight == 3 && backends[1].weight == 4);
    assert_string_equal(backends[1].host, "b");
    assert_string_equal(backends[1].api_key, "k");
    sr_config_unref(c);
}

static void check_place(const char *text, const char *scheme, const char *host, int port, const char *path)
{
    const struct sr_config *c = config_good(text);
    const struct sr_config_backend *backend = &c->models[0].backends[0];
    assert_string_equal(backend->scheme, scheme);
    assert_string_equal(backend->host, host);
    assert_int_equal(backend->port, port);
    assert_string_equal(backend->base_path, path);
    sr_config_unref(c);
}

static void test_addresses(void **state)
{
    (void)state;
    check_place(BACKEND("endpoint: api.example, protocol: https"), "https", "api.example", 443, "");
    check_place(BACKEND("endpoint: api.example/openai, protocol: https"), "https", "api.example", 443,
                "/openai");
    check_place(BACKEND("endpoint: 'http://10.0.0.1:8000/v1'"), "http", "10.0.0.1", 8000, "");
    check_place(BACKEND("endpoint: 'https://api.example/', protocol: https"), "https", "api.example", 443,
                "");
    check_place(BACKEND("base_url: 'http://a', protocol: http"), "http", "a", 80, "");
    config_problem(BACKEND("endpoint: vllm.default.svc/v1"), false, SR_PROBLEM_WARNING, 2, 88, "it is 80");
    config_error(BACKEND("endpoint: 'http://a:1', protocol: https"), 2, 112,
                 "another one than that of the URL");
}

/* Blocks of algorithms that `type` or `method` does not name. */
static void test_algorithms_not_chosen(void **state)
{
    (void)state;
    const struct sr_config *c =
        config_good(ROUTING("decisions: [{name: d, algorithm: {type: static, elo: {k_factor: 2}}}]"));
    assert_string_equal(c->decisions[0].algorithm.type, "static");
    sr_config_unref(c);
    sr_config_unref(config_good(
        CONFIG_MODELS
        "global: {router: {model_selection: {method: static, elo: {k_factor: 2}, hybrid: {}, momentum: "
        "{attack: 1}, model_switch_gate: {enabled: false, mode: shadow}, lookup_tables: {}}}}\n"));
    config_error(ROUTING("decisions: [{name: d, algorithm: {type: elo}}]"), 5, 51,
                 "the algorithm `bandit` learns");
    config_problem(ROUTING("decisions: [{name: d, algorithm: {type: session_aware}}]"), true,
                   SR_PROBLEM_WARNING, 5, 51, "keeps a conversation at its model");
    config_problem(ROUTING("decisions: [{name: d, algorithm: {type: knn}}]"), true, SR_PROBLEM_WARNING, 5, 51,
                   "needs the block `knn`");
    config_error(CONFIG_MODELS "global: {router: {model_selection: {model_switch_gate: {enabled: true}}}}\n",
                 5, 37, "`model_switch_gate` is not supported");
}

static void test_stores(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(STORE(
        "backend_type: valkey, valkey: {connection: {host: v, auth: {enabled: false, username: ''}}, index: "
        "{prefix: 'x:', vector_field: {dimension: 384}, params: {M: 16}}, development: {auto_create_index: "
        "true}}"));
    assert_int_equal(c->global.cache.store, SR_STORE_REDIS);
    assert_string_equal(c->global.cache.redis.server.host, "v");
    assert_int_equal(c->global.cache.redis.server.port, 6379);
    assert_string_equal(c->global.cache.redis.prefix, "x:");
    sr_config_unref(c);
    config_error(STORE("valkey: {connection: {auth: {enabled: true, username: u}}}"), 5, 58,
                 "give `user` and `password`");
    c = config_good(STORE("backend_type: qdrant, qdrant: {host: q}"));
    assert_int_equal(c->global.cache.store, SR_STORE_MEMORY);
    sr_config_unref(c);
    sr_config_unref(
        config_good(STORE("backend_type: milvus, milvus: {performance: {a: 1}, data_management: {}, "
                          "logging: {level: info}, collection: {vector_field: {dimension: 8}}}")));
}

/* A store that is not there is refused where something is cached, also by a recipe. */
static void test_stores_that_are_not_there(void **state)
{
    static const char *const use = "{name: d, modelRefs: [{model: one}], plugins: [{type: response_cache, "
                                   "configuration: {scope: global}}]}";
    static const char *const store = "global: {stores: {response_cache: {backend_type: qdrant}}}\n";
    char text[1024];
    (void)state;
    snprintf(text, sizeof text, CONFIG_MODELS "routing: {decisions: [%s]}\n%s", use, store);
    config_error(text, 6, 50, "`backend_type: qdrant` is not supported");
    config_problem(text, true, SR_PROBLEM_WARNING, 6, 50, "is not supported");
    snprintf(text, sizeof text, CONFIG_MODELS "recipes: [{name: r, routing: {decisions: [%s]}}]\n%s", use,
             store);
    config_error(text, 6, 50, "`backend_type: qdrant` is not supported");
}

static void test_domains_without_a_declaration(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(ROUTING(
        "decisions: [{name: d, rules: {operator: OR, conditions: [{type: domain, name: computer_science}, "
        "{operator: NOT, conditions: [{type: domain, name: math}]}, {type: domain, name: math}]}}]"));
    assert_int_equal(c->n_domains, 2);
    assert_string_equal(c->domains[0].name, "computer_science");
    assert_string_equal(c->domains[0].mmlu_categories.items[0], "computer science");
    assert_string_equal(c->domains[1].mmlu_categories.items[0], "math");
    sr_config_unref(c);
    config_error(ROUTING("decisions: [{name: d, rules: {type: domain, name: cooking}}]"), 5, 61,
                 "no rule `cooking` in routing.signals.domains");
    config_error(
        ROUTING(
            "signals: {domains: [{name: law}]}, decisions: [{name: d, rules: {type: domain, name: math}}]"),
        5, 96, "no rule `math` in routing.signals.domains");
}

static void test_words_of_envoy(void **state)
{
    (void)state;
    const char *text =
        "version: v0.3\nproviders: {defaults: {default_model: m}, models: [{name: m, reliability: "
        "{retry_on: 'reset,retriable-4xx'}, backend_refs: [{endpoint: 'a:1'}]}]}\n";
    config_problem(text, false, SR_PROBLEM_WARNING, 2, 86, "`retriable-4xx` changes nothing");
}

/* Some read it as always, others as never: a lenient load knows neither. */
static void test_an_or_of_nothing(void **state)
{
    const char *text =
        ROUTING("decisions: [{name: d, rules: {operator: NOT, conditions: [{operator: OR, conditions: "
                "[]}]}}, {name: e}]");
    const struct sr_config *c;
    struct sr_problems problems = {0};
    (void)state;
    config_error(text, 5, 96, "OR needs at least one condition");
    assert_int_equal(sr_config_load_text(&c, sr_bytes_str(text), "x",
                                         (struct sr_load_options){.lenient = true}, &problems),
                     SR_OK);
    assert_int_equal(c->decisions[0].rules.children[0].op, SR_RULE_UNKNOWN);
    sr_problems_dispose(&problems);
    sr_config_unref(c);
}

static void test_preferences_by_name(void **state)
{
    const char *text = ROUTING("signals: {preferences: [{name: code_generation}]}");
    const struct sr_config *c;
    struct sr_problems problems = {0};
    (void)state;
    config_problem(text, false, SR_PROBLEM_WARNING, 5, 35, "requests are compared with its name");
    assert_int_equal(sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){0}, &problems),
                     SR_OK);
    assert_string_equal(c->preferences[0].description, "code generation");
    sr_problems_dispose(&problems);
    sr_config_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_absent),
        cmocka_unit_test(test_an_empty_variable_is_no_absence),
        cmocka_unit_test(test_words_of_older_yaml),
        cmocka_unit_test(test_notes_for_people),
        cmocka_unit_test(test_merged_mappings),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_algorithms_not_chosen),
        cmocka_unit_test(test_stores),
        cmocka_unit_test(test_stores_that_are_not_there),
        cmocka_unit_test(test_domains_without_a_declaration),
        cmocka_unit_test(test_words_of_envoy),
        cmocka_unit_test(test_an_or_of_nothing),
        cmocka_unit_test(test_preferences_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
