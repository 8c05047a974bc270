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
    static const char *const elsewhere[] = {"modules: {prompt_guard: {use_vllm: true}}",
                                            "modules: {prompt_guard: {protocol: http_classify}}",
                                            "embeddings: {semantic: {endpoint: {base_url: 'http://a/v1'}}}"};
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, CONFIG_MODELS "global: {model_catalog: {\n%s}}\n", elsewhere[i]);
        const char *key = strstr(elsewhere[i], i == 0 ? "use_vllm" : i == 1 ? "protocol" : "endpoint");
        config_problem(text, false, SR_PROBLEM_WARNING, 6, (uint32_t)(key - elsewhere[i]) + 1,
                       "changes nothing: no other service is asked");
    }
    config_problem(GLOBAL("router: {learning: {adaptation: {enabled: true}}}"), false, SR_PROBLEM_WARNING, 5,
                   30, "learns (`bandit`)");
    sr_config_unref(config_good(GLOBAL("router: {learning: {adaptation: {enabled: false}}}")));
    config_problem(CONFIG_MODELS "global: {model_catalog: {\nexternal: [{model_role: guardrail}]}}\n", false,
                   SR_PROBLEM_WARNING, 6, 25, "models of the role `guardrail` are not asked");
    sr_config_unref(
        config_good(GLOBAL("model_catalog: {external: [], modules: {prompt_guard: {use_vllm: false}}}")));
    sr_config_unref(config_good(GLOBAL("integrations: {tools: {model_type: mmbert, target_dim: 0}}")));
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

/* Where tools that were called before count. */
static void test_tool_history(void **state)
{
    (void)state;
#define TOOLS(configuration)                                                                                 \
    CONFIG_MODELS "routing: {decisions: [{name: d, plugins: [" configuration                                 \
                  "]}]}\nglobal: {integrations: {tools: {enabled: true}}}\n"
#define DYNAMIC(dynamic) TOOLS("{type: tools, configuration: {dynamic_retrieval: {" dynamic "}}}")
    static const struct {
        const char *text;
        bool on;
        int window;
    } cases[] = {
        {DYNAMIC("enabled: true, strategy: hybrid_history"), true, SR_TOOL_HISTORY_WINDOW},
        {DYNAMIC("enabled: true, strategy: hybrid_history, history_window: 3"), true, 3},
        {DYNAMIC("enabled: true"), false, SR_TOOL_HISTORY_WINDOW},
        {DYNAMIC("strategy: hybrid_history"), false, SR_TOOL_HISTORY_WINDOW},
        {TOOLS("{type: tools, configuration: {strategy: hybrid_history, dynamic_retrieval: {history_window: "
               "3}}}"),
         true, 3},
        {TOOLS("{type: tools, configuration: {enabled: false, strategy: hybrid_history}}"), false,
         SR_TOOL_HISTORY_WINDOW},
        {TOOLS("{type: tool_selection, configuration: {strategy: hybrid_history}}"), true,
         SR_TOOL_HISTORY_WINDOW},
        {TOOLS("{type: tool_selection, configuration: {strategy: hybrid_history}}, {type: tools, "
               "configuration: "
               "{dynamic_retrieval: {history_window: 3}}}"),
         true, 3},
        {TOOLS("{type: tool_selection, configuration: {strategy: hybrid_history}}, {type: tools, "
               "configuration: "
               "{enabled: false, dynamic_retrieval: {history_window: 3}}}"),
         true, SR_TOOL_HISTORY_WINDOW},
        {TOOLS("{type: tool_selection, configuration: {strategy: semantic_only}}"), false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sr_config *c = config_good(cases[i].text);
        const struct sr_config_tool_history *history = &c->decisions[0].plugins.tools.history;
        assert_int_equal(history->on, cases[i].on);
        assert_int_equal(history->window, cases[i].window);
        assert_true(!history->on || (history->falls_back && history->semantic > 0 && history->history > 0));
        sr_config_unref(c);
    }
    /* Without a choice by meaning there is no order to change. */
    config_problem(CONFIG_MODELS "routing: {decisions: [{name: d, plugins: [{type: tools, configuration: "
                                 "{strategy: hybrid_history}}]}]}\n",
                   false, SR_PROBLEM_WARNING, 5, 42, "no tool is chosen by its meaning");
    config_problem(
        TOOLS("{type: tools, configuration: {strategy: hybrid_history, semantic_selection: false}}"), false,
        SR_PROBLEM_WARNING, 5, 42, "no tool is chosen by its meaning");
}

/* Where the endpoints of each provider are below what a file gives, and where the key goes. */
static void test_providers(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *path, *query, *header, *prefix;
        bool unversioned;
    } cases[] = {
        {"base_url: 'https://h/v1', type: openai", "", "", "Authorization", "Bearer", false},
        {"base_url: 'https://h', provider: minimax", "", "", "Authorization", "Bearer", false},
        {"base_url: 'https://r.x/openai/deployments/d', type: azure-openai, api_version: 2024-10-21",
         "/openai/deployments/d", "api-version=2024-10-21", "api-key", "", true},
        {"base_url: 'https://r.x/openai/deployments/d/', type: azure-openai", "/openai/deployments/d", "",
         "api-key", "", true},
        {"base_url: 'https://r.x', type: azure-openai, api_version: v", "/openai/deployments/base",
         "api-version=v", "api-key", "", true},
        {"base_url: 'https://r.x/openai', type: azure-openai, api_version: v", "/openai/deployments/base",
         "api-version=v", "api-key", "", true},
        {"base_url: 'https://r.x', type: azure-openai", "/openai", "", "api-key", "", false},
        {"base_url: 'https://r.x/openai/v1', type: azure-openai, api_version: preview", "/openai",
         "api-version=preview", "api-key", "", false},
        {"base_url: 'https://r.x', type: azure-openai, auth_header: Authorization, auth_prefix: Bearer",
         "/openai", "", "Authorization", "Bearer", false},
        {"base_url: 'https://b.r.x', type: bedrock", "/openai", "", "Authorization", "Bearer", false},
        {"base_url: 'https://b.r.x/openai/v1', type: bedrock", "/openai", "", "Authorization", "Bearer",
         false},
        {"base_url: 'https://g.x', type: gemini", "/v1beta/openai", "", "Authorization", "Bearer", true},
        {"base_url: 'https://g.x/v1beta', type: gemini", "/v1beta/openai", "", "Authorization", "Bearer",
         true},
        {"base_url: 'https://g.x/v1beta/openai/', provider: gemini", "/v1beta/openai", "", "Authorization",
         "Bearer", true},
        {"base_url: 'https://v.x/v1/projects/p/locations/l', type: vertex-ai",
         "/v1/projects/p/locations/l/endpoints/openapi", "", "Authorization", "Bearer", true},
        {"base_url: 'https://v.x/v1/projects/p/locations/l/endpoints/openapi', type: vertex-ai",
         "/v1/projects/p/locations/l/endpoints/openapi", "", "Authorization", "Bearer", true},
        {"base_url: 'https://a.x', type: anthropic", "", "", "x-api-key", "", false},
        {"base_url: 'https://a.x/v1', provider: anthropic, auth_header: Authorization, auth_prefix: Bearer",
         "", "", "Authorization", "Bearer", false},
        {"base_url: 'https://h', provider: azure-openai, type: vllm", "", "", "Authorization", "Bearer",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, PROVIDERS("base", "{name: base, backend_refs: [{%s}]}"), cases[i].keys);
        const struct sr_config *c = config_good(text);
        const struct sr_config_backend *backend = &c->models[0].backends[0];
        assert_string_equal(backend->base_path, cases[i].path);
        assert_string_equal(backend->query, cases[i].query);
        assert_string_equal(backend->auth_header, cases[i].header);
        assert_string_equal(backend->auth_prefix, cases[i].prefix);
        assert_int_equal(backend->unversioned, cases[i].unversioned);
        assert_int_equal(c->models[0].api_format == SR_SPEAKS_MESSAGES,
                         strstr(cases[i].keys, "anthropic") != NULL);
        sr_config_unref(c);
    }
    config_error(
        PROVIDERS("base",
                  "{name: base, backend_refs: [{endpoint: 'a:1', type: anthropic}, {endpoint: 'b:1'}]}"),
        4, 39, "speak one API");
    config_error(
        PROVIDERS("base", "{name: base, backend_refs: [{base_url: 'https://v.x', type: vertex-ai}]}"), 4, 40,
        "/v1/projects/PROJECT/locations/REGION");
    config_error(PROVIDERS("base",
                           "{name: base, backend_refs: [{base_url: 'https://r.x', type: azure-openai, "
                           "api_version: 'a b'}]}"),
                 4, 99, "expected a version");
    config_problem(
        PROVIDERS("base", "{name: base, backend_refs: [{base_url: 'https://r.x', api_version: v}]}"), false,
        SR_PROBLEM_WARNING, 4, 79, "only azure-openai has versions");
}

#define MANAGEMENT(auth)                                                                                     \
    GLOBAL("services: {management_api: {port: 1, remote_exposure: true, auth: {" auth "}}}")

/* Tokens count with `mode: bearer` alone; what a lenient load does not understand closes the listeners. */
static void test_management(void **state)
{
    (void)state;
    setenv("SR_T_TOKEN", "t0ken", 1);
    const struct sr_config *c =
        config_good(MANAGEMENT("mode: bearer, tokens: [{env: SR_T_TOKEN, role: admin}, {env: SR_T_TOKEN}]"));
    const struct sr_config_access *access = &c->global.access;
    assert_true(access->admin_bearer);
    assert_int_equal(access->n_tokens, 2);
    assert_string_equal(access->tokens[0].token, "t0ken");
    assert_true(access->tokens[0].acts && access->tokens[0].reads);
    assert_true(access->tokens[1].reads && !access->tokens[1].acts);
    sr_config_unref(c);
    config_problem(MANAGEMENT("tokens: [{env: SR_T_TOKEN}]"), false, SR_PROBLEM_WARNING, 5, 85,
                   "open nothing");
    config_problem(
        MANAGEMENT("mode: bearer, tokens: [{env: SR_T_TOKEN, role: own}], roles: {own: [cache.read]}"), false,
        SR_PROBLEM_WARNING, 5, 100, "may only read");
    config_problem(MANAGEMENT("mode: bearer, tokens: [{env: SR_T_TOKEN, role: own}], roles: {own: [x]}"),
                   false, SR_PROBLEM_WARNING, 5, 100, "opens nothing");
    config_error(MANAGEMENT("mode: bearer, tokens: [{env: SR_T_NONE}]"), 5, 106, "`SR_T_NONE` is not set");
    config_error(MANAGEMENT("mode: oidc"), 5, 83, "unknown value `oidc`");
    c = NULL;
    struct sr_problems problems = {0};
    assert_int_equal(sr_config_load_text(&c, SR_LIT(MANAGEMENT("modes: bearer")), "x",
                                         (struct sr_load_options){.lenient = true}, &problems),
                     SR_OK);
    assert_true(c->global.access.admin_bearer);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
}

static void test_always(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(
        CONFIG_MODELS
        "routing: {decisions: [{name: d, rules: {operator: OR, conditions: [{type: always}]}}]}\n");
    assert_int_equal(c->decisions[0].rules.children[0].op, SR_RULE_AND);
    assert_int_equal(c->decisions[0].rules.children[0].n_children, 0);
    sr_config_unref(c);
}

/* `prompt_guard.on_error: allow` holds where a condition says nothing, and is told where it opens. */
static void test_guard_default(void **state)
{
    (void)state;
    const char *text =
        CONFIG_MODELS "routing:\n  signals: {jailbreak: [{name: j}], pii: [{name: p}]}\n  decisions:\n"
                      "  - {name: a, rules: {operator: OR, conditions: [{type: jailbreak, name: j}, {type: "
                      "pii, name: p}, {type: "
                      "jailbreak, name: j, on_error: match}]}, plugins: [{type: fast_response, "
                      "configuration: {message: no}}]}\n"
                      "global: {model_catalog: {modules: {prompt_guard: {on_error: allow}}}}\n";
    const struct sr_config *c;
    struct sr_problems problems = {0};
    assert_int_equal(sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){0}, &problems),
                     SR_OK);
    assert_int_equal(problems.count, 1);
    assert_non_null(strstr(problems.items[0].message, "is open"));
    const struct sr_config_rule *rules = c->decisions[0].rules.children;
    assert_int_equal(rules[0].on_error, SR_ON_ERROR_NO_MATCH);
    assert_int_equal(rules[1].on_error, SR_ON_ERROR_MATCH);
    assert_int_equal(rules[2].on_error, SR_ON_ERROR_MATCH);
    sr_config_unref(c);
    sr_problems_dispose(&problems);
}

static void test_label_thresholds(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(CONFIG_MODELS);
    assert_true(c->global.fact_check_threshold == 0.5 && c->global.feedback_threshold == 0.5);
    sr_config_unref(c);
    c = config_good(
        GLOBAL("model_catalog: {modules: {hallucination_mitigation: {fact_check: {threshold: 0.8}, detector: "
               "{model_id: x}}, feedback_detector: {threshold: 0, enabled: true}}}"));
    assert_true(c->global.fact_check_threshold == 0.8 && c->global.feedback_threshold == 0.5);
    sr_config_unref(c);
    config_error(GLOBAL("model_catalog: {modules: {hallucination_mitigation: {enabled: true}}}"), 5, 72,
                 "`hallucination_mitigation` is not supported");
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

#define CACHED(scope, more) GLOBAL("semroute: {cache: {default: {scope: " scope "}}" more "}")
#define KEYS(members)                                                                                        \
    ", identity: {keys: [{name: k, key: sk-sr-0123456789" members "}, {name: l, key: sk-sr-9876543210}]}"

/* A cache whose scope has no identity: a key that gives it is as good as a header. */
static void test_scopes(void **state)
{
    (void)state;
    static const char *const idle[] = {CACHED("user", ""), CACHED("team", ""), CACHED("tenant", ""),
                                       CACHED("team", KEYS(", tenant: t")), CACHED("tenant", KEYS(""))};
    static const char *const good[] = {
        CACHED("global", ""), CACHED("user", KEYS("")), CACHED("team", KEYS(", team: t")),
        CACHED("tenant", KEYS(", tenant: t")), CACHED("tenant", ", identity: {keys_file: /k}")};
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        config_problem(idle[i], false, SR_PROBLEM_WARNING, 5, 38, "nothing is cached here: `scope: ");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        sr_config_unref(config_good(good[i]));
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
        cmocka_unit_test(test_tool_history),
        cmocka_unit_test(test_providers),
        cmocka_unit_test(test_management),
        cmocka_unit_test(test_always),
        cmocka_unit_test(test_guard_default),
        cmocka_unit_test(test_label_thresholds),
        cmocka_unit_test(test_draft),
        cmocka_unit_test(test_absent_models),
        cmocka_unit_test(test_files_of_others),
        cmocka_unit_test(test_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
