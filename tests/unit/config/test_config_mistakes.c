/* config: every kind of mistake, at its exact line and column, with its hint. */
#include "tests/unit/config_check.h"

#include "base/buf.h"

static void test_no_yaml(void **state)
{
    (void)state;
    config_error("", 0, 0, "the file is empty");
    config_error("# only a comment\n", 0, 0, "the file is empty");
    config_error("~\n", 1, 1, "the file is empty");
    config_error("- a\n", 1, 1, "is a mapping that begins with `version: v0.3`, found a list");
    config_error("just text", 1, 1, "found text");
    config_error("version: v0.3\nrouting: [a\n", 3, 1, "not valid YAML: did not find expected ',' or ']'");
    config_error("version: v0.3\nrouting:\n\tsignals: {}\n", 3, 1, "this line has a tab");
    config_error("version: v0.3\nx: \xff\n", 2, 4, "not valid UTF-8");
    config_error("version: v0.3\n---\nversion: v0.3\n", 2, 1, "a second YAML document");
    config_error("version: !!int v0.3\n", 1, 10, "tags such as");
    config_error("version: v0.3\nglobal: !x {}\n", 2, 9, "tags are not supported");
    config_error("version: v0.3\nglobal: *nowhere\n", 2, 9, "no anchor `&nowhere`");
    config_error("version: v0.3\nglobal: &a {x: *a}\n", 2, 16, "an alias inside its own anchor");
    config_error("version: v0.3\nglobal:\n  <<: x\n", 3, 7, "`<<` takes a mapping");
    config_error("version: v0.3\nglobal:\n  <<: [{}, [{}]]\n", 3, 12, "`<<` takes a mapping");
    config_error("version: v0.3\n---\n---\na: b\n", 3, 1, "a second YAML document");
    config_error("config: {version: v0.3}\n", 1, 1, "values of a Helm chart");
    config_error("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n", 1, 1, "this is a ConfigMap");
    config_error("apiVersion: x/v1\nkind: Router\n", 1, 1, "a resource of Kubernetes (`kind: Router`)");
    config_error("version: v0.3\n? [a, b]\n: c\n", 2, 3, "a key must be plain text");
    config_error("version: v0.3\nglobal: {}\nversion: v0.3\n", 3, 1,
                 "key `version` is given twice; the first is on line 1");
}

static void test_bounds_of_yaml(void **state)
{
    (void)state;
    struct sr_buf text;
    sr_buf_init(&text, (size_t)1 << 24);
    assert_int_equal(sr_buf_printf(&text, "a: &a0 [x,x,x,x,x,x,x,x,x]\n"), SR_OK);
    for (int i = 1; i < 9; i++)
        assert_int_equal(sr_buf_printf(&text, "k%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i,
                                       i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1),
                         SR_OK);
    config_error(text.data, 7, 10, "too large once its aliases are written out");
    sr_buf_clear(&text);
    for (int i = 0; i < 70; i++)
        assert_int_equal(sr_buf_printf(&text, "["), SR_OK);
    config_error(text.data, 1, 66, "nested deeper than 64 levels");
    sr_buf_clear(&text);
    for (int i = 0; i < 1025; i++)
        assert_int_equal(sr_buf_printf(&text, "k%d: 1\n", i), SR_OK);
    config_error(text.data, 1025, 1, "more than 1024 keys");
    sr_buf_clear(&text);
    assert_int_equal(sr_buf_printf(&text, "version: v0.3\nlisteners:\n"), SR_OK);
    for (int i = 0; i < 4097; i++)
        assert_int_equal(sr_buf_printf(&text, "- {port: 1}\n"), SR_OK);
    config_error(text.data, 3, 1, "`listeners`: more than 4096 entries");
    sr_buf_dispose(&text);
}

static void test_keys(void **state)
{
    (void)state;
    config_error("providers: {}\n", 1, 1, "`version` is missing in this configuration");
    config_error("version: v0.1\n", 1, 10,
                 "unknown value `v0.1`; a file in today's shape says `version: v0.3`");
    config_error("version: v0.3\nroutng: {}\n", 2, 1, "unknown key `routng`, did you mean `routing`?");
    config_error("version: v0.3\nglobal: {model_catalog: {modules: {classifier: {domain: {treshold: 1}}}}}\n",
                 2, 58, "unknown key `treshold`, did you mean `threshold`?");
    config_error("version: v0.3\ndecisions: []\n", 2, 1,
                 "unknown key `decisions` in a configuration; this key belongs "
                 "under `routing`");
    config_error("version: v0.3\nrouting: {listeners: []}\n", 2, 11, "this key belongs at the top level");
    config_error("version: v0.3\nrouting: {zzzz: 1}\n", 2, 11, "unknown key `zzzz` in a routing");
    config_error("version: v0.3\nrouting: {signals: {hallucination: []}}\n", 2, 21,
                 "unknown key `hallucination` in signals; it has `keywords`, `domains`, ");
    config_error("version: v0.3\nrouting: {signals: {events: [{name: e, zzzz: 1}]}}\n", 2, 40,
                 "unknown key `zzzz` in an event rule; it has `name`, ");
    config_error("version: v0.3\nrouting: {signals: {classifiers: [{name: r}]}}\n", 2, 21,
                 "`classifiers` is not supported by this version of semroute");
    config_error("version: v0.3\nglobal: {router: {model_selection: {method: kmeans}}}\n", 2, 45,
                 "`kmeans` is not supported");
    config_error("version: v0.3\nglobal: {router: {model_selection: {momentum: {enabled: true}}}}\n", 2, 37,
                 "`momentum` is not supported");
    config_error(CONFIG_MODELS "listeners: [{name: x}]\n", 5, 13, "`port` is missing in this listener");
}

static void test_types(void **state)
{
    (void)state;
    config_error("version: v0.3\nlisteners: {port: 1}\n", 2, 12,
                 "`listeners`: expected a list, found a mapping");
    config_error("version: v0.3\nlisteners: [1]\n", 2, 13, "each entry is a mapping, found a whole number");
    config_error("version: v0.3\nrouting: here\n", 2, 10, "`routing`: expected a mapping, found text");
    config_error("version: v0.3\nlisteners: [{port: [1]}]\n", 2, 20,
                 "`port`: expected a whole number, found a list");
    config_error("version: v0.3\nlisteners: [{port: '80'}]\n", 2, 20,
                 "expected a whole number, found the text `80`; write it without quotes");
    config_error("version: v0.3\nlisteners: [{port: 80.5}]\n", 2, 20,
                 "expected a whole number, found `80.5`");
    config_error("version: v0.3\nlisteners: [{port: }]\n", 2, 13, "`port` is missing in this listener");
    config_error("version: v0.3\nglobal: {semroute: {log_level: }}\n", 2, 32, "expected text, found nothing");
    config_error("version: v0.3\nlisteners: [{port: 65536}]\n", 2, 20,
                 "must be between 0 and 65535, found 65536");
    config_error("version: v0.3\nlisteners: [{port: 99999999999999999999}]\n", 2, 20,
                 "expected a whole number");
    config_error("version: v0.3\nlisteners: [{port: 1, name: true}]\n", 2, 29, "put it in quotes");
    config_error("version: v0.3\nlisteners: [{port: 1, name: {}}]\n", 2, 29,
                 "expected text, found a mapping");
    config_error("version: v0.3\nlisteners: [{port: 1, address: ''}]\n", 2, 32,
                 "`address` must not be empty");
    config_error("version: v0.3\nlisteners: [{port: 1, name: \"a\\0b\"}]\n", 2, 29, "NUL");
    config_error("version: v0.3\nlisteners: [{port: 1, timeout: 30}]\n", 2, 32, "a duration with its unit");
    config_error("version: v0.3\nglobal: {router: {include_config_models_in_list: y}}\n", 2, 50,
                 "expected true or false, found `y`");
    config_error("version: v0.3\nglobal: {router: {include_config_models_in_list: 'yes'}}\n", 2, 50,
                 "found the text `yes`; write it without quotes");
    config_error("version: v0.3\nglobal: {semroute: {log_level: loud}}\n", 2, 32,
                 "unknown value `loud`; it is one of `debug`, `info`, `warn`, `error`");
    config_error("version: v0.3\nglobal: {semroute: {log_level: INFO}}\n", 2, 32, "did you mean `info`?");
    config_error("version: v0.3\nglobal: {semroute: {override_confidence: .nan}}\n", 2, 42,
                 "expected a finite number");
    config_error("version: v0.3\nglobal: {semroute: {override_confidence: 1.5}}\n", 2, 42,
                 "must be between 0 and 1");
    config_error("version: v0.3\nglobal: {semroute: {gateway: {max_body_bytes: lots}}}\n", 2, 47,
                 "expected a size");
    config_error("version: v0.3\nglobal: {semroute: {gateway: {max_body_bytes: 10}}}\n", 2, 47,
                 "between 1024 and");
    config_error("version: v0.3\nglobal: {router: {auto_model_names: x}}\n", 2, 37,
                 "expected a list, found `x`");
    config_error("version: v0.3\nglobal: {router: {auto_model_names: [a, []]}}\n", 2, 41,
                 "expected text, found a list");
}

static void test_listeners_and_gateway(void **state)
{
    (void)state;
    config_error("version: v0.3\nlisteners: [{name: a, port: 1}, {name: a, port: 2}]\n", 2, 40,
                 "listener `a` is given twice; the first is on line 2");
    config_error("version: v0.3\nlisteners:\n- {port: 1}\n- {port: 1, address: 127.0.0.2}\n- {port: 2}\n"
                 "- {port: 1, address: 127.0.0.1}\n",
                 6, 10, "listener 4 has the address and port of listener 1: 127.0.0.1:1");
    sr_config_unref(config_good(CONFIG_MODELS "listeners: [{port: 0}, {port: 0}]\n"));
    config_error("version: v0.3\nglobal: {semroute: {gateway: {tls: {cert_file: c}}}}\n", 2, 36,
                 "`key_file` is missing");
    config_error("version: v0.3\nglobal: {semroute: {gateway: {tls: {key_file: c}}}}\n", 2, 36,
                 "`cert_file` is missing");
}

#define BACKEND(inside) "version: v0.3\nproviders: {models: [{name: m, backend_refs: [{" inside "}]}]}\n"

static void test_backends(void **state)
{
    (void)state;
    config_error(BACKEND("name: x"), 2, 47, "needs `endpoint` (host:port) or `base_url`");
    config_error(BACKEND("endpoint: 'a:1', base_url: 'http://a'"), 2, 75, "not both");
    config_error(BACKEND("endpoint: 'a?b'"), 2, 58, "expected `host:port`");
    config_problem(BACKEND("endpoint: a"), false, SR_PROBLEM_WARNING, 2, 58, "it is 80, the one of http");
    config_problem(
        BACKEND("base_url: 'http://a/v1/chat/completions'"), false, SR_PROBLEM_WARNING, 2, 58,
        "`base_url` ends with `/v1/chat/completions`, which is added to it: write only what stands");
    config_problem(BACKEND("endpoint: 'a:1/x/v1/embeddings/'"), false, SR_PROBLEM_WARNING, 2, 58,
                   "`endpoint` ends with `/v1/embeddings`");
    config_problem(BACKEND("base_url: 'http://a/openai/chat/completions'"), false, SR_PROBLEM_WARNING, 2, 58,
                   "ends with `/chat/completions`");
    config_error(BACKEND("endpoint: 'a:0'"), 2, 58, "expected `host:port`");
    config_error(BACKEND("endpoint: 'a:65536'"), 2, 58, "expected `host:port`");
    config_error(BACKEND("endpoint: '::1:80'"), 2, 58, "IPv6 as `[::1]:8000`");
    config_error(BACKEND("endpoint: '[::1:80'"), 2, 58, "expected `host:port`");
    config_error(BACKEND("endpoint: 'ftp://a:1'"), 2, 58, "expected `host:port`");
    config_error(BACKEND("endpoint: 'a b:1'"), 2, 58, "expected `host:port`");
    config_error(BACKEND("base_url: 'ftp://a'"), 2, 58, "expected a URL");
    config_error(BACKEND("base_url: 'http://u:p@a/'"), 2, 58, "expected a URL");
    config_error(BACKEND("base_url: 'http://a/?q'"), 2, 58, "expected a URL");
    config_error(BACKEND("base_url: 'http://'"), 2, 58, "expected a URL");
    config_error(BACKEND("base_url: 'http://a', protocol: https"), 2, 80, "another one than that of the URL");
    config_error(BACKEND("endpoint: 'a:1', weight: 0"), 2, 73, "`weight` must be above 0");
    config_error(BACKEND("endpoint: 'a:1', weight: -1"), 2, 73, "`weight` must be above 0");
    config_error(BACKEND("endpoint: 'a:1', provider: cohere"), 2, 75, "cohere");
    config_error(BACKEND("endpoint: 'a:1', api_key_env: SR_TEST_UNSET"), 2, 78, "`SR_TEST_UNSET` is not set");
    config_error(BACKEND("endpoint: 'a:1', api_key: x, api_key_env: HOME"), 2, 90, "not both");
    config_error(BACKEND("endpoint: 'a:1', auth_header: 'a b'"), 2, 78, "cannot be used as a header name");
    config_error(BACKEND("endpoint: 'a:1', auth_header: Host"), 2, 78, "cannot be used as a header name");
    config_error(BACKEND("endpoint: 'a:1', api_key: \"a\\nb\""), 2, 74, "control characters");
    config_error(BACKEND("endpoint: 'a:1', chat_path: x"), 2, 76, "must begin with `/`");
    config_error(BACKEND("endpoint: 'a:1', extra_headers: {Content-Length: 1}"), 2, 81, "cannot be set here");
    config_error(BACKEND("endpoint: 'a:1', extra_headers: {a: \"x\\ny\"}"), 2, 84, "control characters");
    config_error(BACKEND("endpoint: 'a:1', extra_headers: [a]"), 2, 80, "expected a mapping");
    config_error(
        "version: v0.3\nproviders: {models: [{name: m, backend_refs: [{name: x, endpoint: 'a:1'}, {name: x, "
        "endpoint: 'a:1'}]}]}\n",
        2, 82, "backend `x` is given twice");
}

static void test_models(void **state)
{
    (void)state;
    config_error(CONFIG_MODELS "x: 1\n", 5, 1, "unknown key `x`");
    config_error("version: v0.3\nproviders:\n  defaults: {default_model: oen}\n  models: [{name: one}]\n", 3,
                 29, "no model `oen` in providers.models, did you mean `one`?");
    config_problem("version: v0.3\nproviders:\n  defaults: {default_model: one}\n  models: [{name: one}]\n",
                   false, SR_PROBLEM_WARNING, 3, 29, "model `one` has no backend_refs: only an Envoy");
    config_error("version: v0.3\nproviders:\n  models: [{name: a}, {name: a}]\n", 3, 30,
                 "model `a` is given twice");
    config_problem("version: v0.3\nproviders:\n  models: [{name: auto}]\n", false, SR_PROBLEM_WARNING, 3, 19,
                   "asks the router to choose");
    config_error("version: v0.3\nproviders:\n  models: [{provider_model_id: x}]\n", 3, 12,
                 "`name` is missing in this model");
    config_error("version: v0.3\nproviders:\n  defaults: {reasoning_families: {qwen3: {type: "
                 "reasoning_effort, parameter: "
                 "x}}}\n  models: [{name: a, reasoning_family: qwen}]\n",
                 4, 40, "did you mean `qwen3`?");
    config_error("version: v0.3\nproviders:\n  defaults: {reasoning_families: {q: {type: effort}}}\n", 3, 38,
                 "`parameter` is missing in this reasoning family");
    config_error(
        "version: v0.3\nproviders:\n  defaults: {reasoning_families: {q: {type: effort, parameter: x}}}\n", 3,
        45, "unknown value `effort`");
    config_error("version: v0.3\nproviders:\n  defaults: {default_reasoning_effort: hihg}\n", 3, 40,
                 "did you mean `high`?");
    config_problem("version: v0.3\nproviders:\n  models: [{name: a}]\n", false, SR_PROBLEM_WARNING, 3, 3,
                   "no default_model");
    config_problem(CONFIG_MODELS "routing: {modelCards: [{name: other}]}\n", false, SR_PROBLEM_WARNING, 5, 31,
                   "has no model of that name");
    config_error(CONFIG_MODELS "routing: {modelCards: [{name: one, loras: [{x: 1}]}]}\n", 5, 44,
                 "an entry is a name");
    config_error(CONFIG_MODELS "routing: {modelCards: [{name: one}, {name: one}]}\n", 5, 44,
                 "is given twice");
}

#define POOLS(inside) CONFIG_MODELS "global: {semroute: {pools: [" inside "]}}\n"

static void test_pools(void **state)
{
    (void)state;
    config_error(POOLS("{model: tow}"), 5, 37, "no model `tow` in providers.models, did you mean `two`?");
    config_error(POOLS("{model: one, name: two}"), 5, 48, "a pool of another model cannot be named `two`");
    config_error(POOLS("{model: one, name: a}, {model: two, name: a}"), 5, 71, "pool `a` is given twice");
    config_error(POOLS("{name: a}"), 5, 29, "`model` is missing in this pool");
    config_error(POOLS("{model: one, policy: least_requests}"), 5, 50, "did you mean `least_request`?");
    config_error(POOLS("{model: one, queue: {priorities: {x: 1}}}"), 5, 63, "no decision `x`");
    config_error(POOLS("{model: one, queue: {priorities: {x: 1001}}}"), 5, 66,
                 "a whole number from -1000 to 1000, found `1001`");
    config_error(POOLS("{model: one, queue: {timeout: 0s}}"), 5, 59, "`timeout` must be above 0");
    config_error(POOLS("{model: one, queue: {priority_header: a b}}"), 5, 67, "no header name");
    config_error(POOLS("{model: one, queue: {max: 10001}}"), 5, 55, "10000");
}

#define TWO                                                                                                  \
    "version: v0.3\nproviders:\n  models:\n"                                                                 \
    "  - {name: one, backend_refs: [{name: a, endpoint: 'h:1'}, {name: b, endpoint: 'h:2'}, {name: c, "      \
    "endpoint: 'h:2'}]}\n"
#define TIERS(inside) TWO "global:\n  semroute:\n    pools:\n    - " inside "\n"

static void test_tiers(void **state)
{
    (void)state;
    config_error(TIERS("{model: one}\n    - {model: one}"), 9, 7,
                 "pool `one` is given twice: each pool of a model needs its own `name`");
    config_error(TIERS("{model: one}\n    - {model: one, name: x, backends: [b]}"), 8, 7,
                 "model `one` has several pools: name the workers of this one in `backends`");
    config_error(TIERS("{model: one, backends: [d]}"), 8, 31, "model `one` has no backend with the name `d`");
    config_error(TIERS("{model: one, backups: [d]}"), 8, 30, "model `one` has no backend with the name `d`");
    config_error(TIERS("{model: one, backends: [a], backups: [b]}"), 8, 44,
                 "backend `b` is not among the pool's `backends`");
    config_error(TIERS("{model: one, backends: [a], backups: [a]}"), 8, 44,
                 "all workers of pool `one` are backups");
    config_error(TIERS("{model: one, backends: [a], endpoints: {file: f}}"), 8, 30, "not both");
    config_error(TIERS("{model: one, workloads: [chat]}"), 8, 32, "found `chat`");
    config_error(TIERS("{model: one, max_tokens: 8K, max_prompt_tokens: 8K}"), 8, 55,
                 "`max_prompt_tokens` must be below `max_tokens`");
    config_error(TIERS("{model: one, backends: [a]}\n    - {model: one, name: x, backends: [b]}"), 9, 7,
                 "pools `one` and `x` take the same requests");
    config_error(TIERS("{model: one, backends: [a], max_tokens: 8K}\n"
                       "    - {model: one, name: x, backends: [a, b]}"),
                 9, 39, "`a` (h:1) is in pool `one` too");
    config_error(TIERS("{model: one, backends: [b], max_tokens: 8K}\n"
                       "    - {model: one, name: x, backends: [c]}"),
                 9, 39, "`c` (h:2) is in pool `one` too");
    config_error(TIERS("{model: one, endpoints: {file: f}, max_tokens: 8K}\n"
                       "    - {model: one, name: x, endpoints: {file: f}}"),
                 9, 40, "have the same `endpoints`");
    config_error(TWO "global: {semroute: {workloads: {header: a b}}}\n", 5, 41, "no header name");
}

#define SIGNALS(inside) CONFIG_MODELS "routing: {signals: {" inside "}}\n"

static void test_signals(void **state)
{
    (void)state;
    config_error(SIGNALS("keywords: [{name: k}]"), 5, 32, "`keywords` is missing in this keyword rule");
    config_error(SIGNALS("keywords: [{name: k, keywords: []}]"), 5, 52, "`keywords` must not be empty");
    config_error(SIGNALS("embeddings: [{name: e, candidates: ['']}]"), 5, 57, "must not be empty");
    config_error(SIGNALS("keywords: [{name: k, keywords: [a], operator: XOR}]"), 5, 67, "did you mean `OR`?");
    config_error(SIGNALS("keywords: [{name: k, keywords: [a], method: bm52}]"), 5, 65,
                 "did you mean `bm25`?");
    config_error(SIGNALS("keywords: [{name: k, keywords: [a]}, {name: k, keywords: [a]}]"), 5, 65,
                 "given twice");
    config_error(SIGNALS("domains: [{name: maths}]"), 5, 38, "did you mean `math`?");
    config_error(SIGNALS("domains: [{name: x, mmlu_categories: [law, lwa]}]"), 5, 64, "`lwa` is not a label");
    config_error(SIGNALS("domains: [{name: law, model_scores: [{model: tow, score: 1}]}]"), 5, 66,
                 "did you mean `two`?");
    config_error(SIGNALS("domains: [{name: law, model_scores: [{model: two, score: 0}]}]"), 5, 78,
                 "must be above 0");
    config_error(SIGNALS("domains: [{name: law, model_scores: [{model: two}]}]"), 5, 58,
                 "`score` is missing");
    config_error(SIGNALS("context: [{name: c, min_tokens: 2K, max_tokens: 1K}]"), 5, 69,
                 "is below `min_tokens`");
    config_error(SIGNALS("context: [{name: c, min_tokens: 4Q}]"), 5, 53, "a number of tokens");
    config_error(SIGNALS("language: [{name: english}]"), 5, 39, "expected a language code");
    config_error(SIGNALS("language: [{name: en, threshold: 2}]"), 5, 54, "must be between 0 and 1");
    config_error(SIGNALS("structure: [{name: s}]"), 5, 33, "`feature` is missing");
    config_error(SIGNALS("structure: [{name: s, feature: {type: count, source: {type: regex}}}]"), 5, 74,
                 "needs a `pattern`");
    config_error(SIGNALS("structure: [{name: s, feature: {type: count, source: {type: keyword_set}}}]"), 5,
                 74, "needs `keywords`");
    config_error(SIGNALS("structure: [{name: s, feature: {type: count, source: {type: sequence}}}]"), 5, 74,
                 "needs `sequences`");
    config_error(
        SIGNALS("structure: [{name: s, predicate: {}, feature: {type: count, source: {type: regex, pattern: "
                "a}}}]"),
        5, 54, "a predicate needs at least one");
    config_error(
        SIGNALS(
            "structure: [{name: s, predicate: {gt: 3, lt: 3}, feature: {type: count, source: {type: regex, "
            "pattern: a}}}]"),
        5, 54, "no number satisfies");
    config_error(SIGNALS("classifiers: [{name: f}]"), 5, 21, "`classifiers` is not supported");
}

#define DECISION(inside)                                                                                     \
    CONFIG_MODELS                                                                                            \
    "routing:\n  signals: {domains: [{name: math}, {name: law}]}\n  decisions:\n  - {name: d, " inside "}\n"

static void test_decisions(void **state)
{
    (void)state;
    config_error(DECISION("modelRefs: [{model: thre}]"), 8, 35, "no model `thre`");
    config_problem(DECISION("modelRefs: [{model: two}]"), false, SR_PROBLEM_WARNING, 8, 35,
                   "model `two` has no backend_refs");
    config_error(DECISION("modelRefs: [{model: one, reasoning_effort: lots}]"), 8, 58,
                 "unknown value `lots`");
    config_problem(DECISION("modelRefs: [{model: one, use_reasoning: true}]"), false, SR_PROBLEM_WARNING, 8,
                   55, "`use_reasoning` changes nothing");
    config_error(DECISION("rules: {type: domain, name: maht}"), 8, 43,
                 "no rule `maht` in routing.signals.domains, did you mean `math`?");
    config_error(CONFIG_MODELS "routing: {decisions: [{name: d, rules: {type: domain, name: maths}}]}\n", 5,
                 61,
                 "no rule `maths` in routing.signals.domains; without rules there, labels of the domain "
                 "classifier may be named, did you mean `math`?");
    config_error(DECISION("rules: {type: hallucination, name: h}"), 8, 29,
                 "`reask`, `preference`, `complexity`, `kb`, `workload`, `projection`, `always`");
    config_error(DECISION("rules: {type: keyword, name: math}"), 8, 44,
                 "no rule `math` in routing.signals.keywords");
    config_error(DECISION("rules: {type: domian, name: math}"), 8, 29, "did you mean `domain`?");
    config_error(DECISION("rules: {type: classifier, name: x}"), 8, 29, "`classifier` is not supported");
    config_error(DECISION("rules: {type: pii, name: x}"), 8, 40, "no rule `x` in routing.signals.pii");
    config_error(
        DECISION(
            "rules: {operator: NOT, conditions: [{type: domain, name: math}, {type: domain, name: law}]}"),
        8, 50, "NOT takes exactly one condition, found 2");
    config_error(DECISION("rules: {operator: OR}"), 8, 22, "OR needs at least one condition");
    config_error(DECISION("rules: {operator: OR, type: domain, conditions: []}"), 8, 22, "either `operator`");
    config_error(DECISION("rules: {conditions: []}"), 8, 22, "`operator` is missing");
    config_error(DECISION("rules: {name: math}"), 8, 22, "`type` is missing in this rule");
    config_error(DECISION("rules: {type: domain}"), 8, 22, "`name` is missing in this rule");
    config_error(DECISION("rules: {type: domain, name: math, on_error: block}"), 8, 59,
                 "unknown value `block`");
    config_error(DECISION("rules: {type: domain, name: math, label: x}"), 8, 49, "`label` is not supported");
    config_error(DECISION("algorithm: {type: kmeans}"), 8, 33, "`kmeans` is not supported");
    config_error(DECISION("algorithm: {type: knn}"), 8, 33, "the type `knn` needs the block `knn`");
    config_error(DECISION("algorithm: {type: sttic}"), 8, 33, "did you mean `static`?");
    config_error(DECISION("adaptations: {mode: sometimes}"), 8, 35, "unknown value `sometimes`");
    config_error(DECISION("candidateIterations: [{model: a}]"), 8, 15,
                 "`candidateIterations` is not supported");
    config_error(DECISION("tier: -1"), 8, 21, "`tier` must be between 0");
    config_error("version: v0.3\nrouting: {decisions: [{name: d}]}\n", 2, 23,
                 "no modelRefs, and there is no default_model");
    config_error(CONFIG_MODELS "routing: {decisions: [{name: d}, {name: d}]}\n", 5, 41,
                 "decision `d` is given twice");
    config_error(CONFIG_MODELS
                 "routing: {modelCards: [{name: one, loras: [sql]}], decisions: [{name: d, modelRefs: "
                 "[{model: one, lora_name: slq}]}]}\n",
                 5, 110, "lists no lora `slq`, did you mean `sql`?");
}

#define PLUGIN(inside) DECISION("plugins: [" inside "]")

static void test_plugins(void **state)
{
    (void)state;
    config_error(PLUGIN("{type: system_promt}"), 8, 32,
                 "unknown plugin `system_promt`, did you mean `system_prompt`?");
    config_error(PLUGIN("{type: image_gen}"), 8, 32, "plugin `image_gen` is not supported");
    config_error(
        DECISION(
            "plugins: [{type: router_replay, configuration: {enabled: true}}]") "global: "
                                                                                "{services: {router_replay: "
                                                                                "{store_backend: "
                                                                                "postgres}}}\n",
        9, 52, "`store_backend: postgres` is not supported");
    config_error(CONFIG_MODELS
                 "global: {services: {router_replay: {enabled: true, store_backend: sqlite}}}\n",
                 5, 67, "`store_backend: sqlite` needs `global.semroute.replay.path`");
    config_error(PLUGIN("{system_prompt: x}"), 8, 25, "a plugin is a mapping of `type` and `configuration`");
    config_error(PLUGIN("word"), 8, 25, "a plugin is a mapping");
    config_error(PLUGIN("{type: system_prompt, system_prompt: x}"), 8, 47, "belong under `configuration`");
    config_error(PLUGIN("{type: system_prompt, configuration: []}"), 8, 62,
                 "`configuration`: expected a mapping");
    config_error(
        PLUGIN("{type: fast_response, configuration: {message: a}}, {type: fast_response, configuration: "
               "{message: a}}"),
        8, 84, "plugin `fast_response` is given twice");
    config_error(PLUGIN("{type: system_prompt, configuration: {system_prompt: a, mode: appended}}"), 8, 87,
                 "unknown value");
    config_error(PLUGIN("{type: header_mutation, configuration: {add: [{name: 'a b', value: x}]}}"), 8, 78,
                 "not a header name");
    config_error(PLUGIN("{type: header_mutation, configuration: {delete: [Content-Length]}}"), 8, 73,
                 "belongs to the connection");
    config_error(PLUGIN("{type: header_mutation, configuration: {add: [{name: a, value: \"x\\r\\n\"}]}}"), 8,
                 88, "control characters");
    config_error(PLUGIN("{type: request_params, configuration: {max_n: -1}}"), 8, 71, "must be between 0");
}

static void test_guards(void **state)
{
    (void)state;
    config_error(SIGNALS("jailbreak: [{name: j, method: contrastive}]"), 5, 33, "needs `jailbreak_patterns`");
    config_error(SIGNALS("jailbreak: [{name: j, threshold: 0}]"), 5, 54, "above 0");
    config_error(SIGNALS("pii: [{name: p}, {name: p}]"), 5, 45, "pii rule `p` is given twice");
    config_error(SIGNALS("pii: [{name: p, pii_types_allowed: [PERSN]}]"), 5, 57,
                 "`PERSN` is not a type of private data, did you mean `PERSON`?");
    config_error(SIGNALS("pii: [{name: p, type_thresholds: {AGE: high}}]"), 5, 60, "expected a number");
    config_error(SIGNALS("pii: [{name: p, type_thresholds: {AGES: 0.5}}]"), 5, 61, "did you mean `AGE`?");
    config_error(PLUGIN("{type: guard}"), 8, 25, "`action` is missing");
    config_error(PLUGIN("{type: guard, configuration: {action: stop}}"), 8, 63, "unknown value");
    config_error(PLUGIN("{type: guard, configuration: {action: flag, restore: true}}"), 8, 78,
                 "goes with the action `redact` only");
    config_error(PLUGIN("{type: guard, configuration: {action: flag, message: no}}"), 8, 54,
                 "go with the action `block` only");
    config_error(PLUGIN("{type: guard, configuration: {action: block, status: 302}}"), 8, 78,
                 "expected 200 or 400 to 499");
    config_error(PLUGIN("{type: guard, configuration: {action: redact}}"), 8, 5,
                 "routing.signals.pii has no rule");
    config_error("version: v0.3\nglobal: {semroute: {models: {nobody: {pii_policy: {}}}}}\n", 2, 38,
                 "no model `nobody` in providers.models");
}

static void test_lenient(void **state)
{
    (void)state;
    config_problem("version: v0.3\nroutng: {}\n", true, SR_PROBLEM_WARNING, 2, 1, "did you mean `routing`?");
    config_problem("version: v0.3\nglobal: {router: {model_selection: {method: kmeans}}}\n", true,
                   SR_PROBLEM_WARNING, 2, 45, "is not supported");
    config_problem(PLUGIN("{type: pii}"), true, SR_PROBLEM_WARNING, 8, 32, "is not supported");
    config_problem(DECISION("tier: x"), true, SR_PROBLEM_ERROR, 8, 21, "expected a whole number");
}

static void test_all_are_collected_in_order(void **state)
{
    (void)state;
    const struct sr_config *c;
    struct sr_problems problems = {0};
    struct sr_buf text, line;
    sr_buf_init(&text, (size_t)1 << 20);
    sr_buf_init(&line, 1000);
    assert_int_equal(sr_buf_printf(&text, CONFIG_MODELS "routing:\n  decisions:\n"), SR_OK);
    for (int i = 0; i < 300; i++)
        assert_int_equal(sr_buf_printf(&text, "  - {name: d%d, tier: x, modelRefs: [{model: nobody}]}\n", i),
                         SR_OK);
    assert_int_equal(sr_config_load_text(&c, sr_buf_view(&text), "x", (struct sr_load_options){0}, &problems),
                     SR_EINVAL);
    assert_int_equal(problems.errors, 600);
    assert_int_equal(problems.count, SR_PROBLEMS_MAX);
    assert_int_equal(problems.dropped, 600 - SR_PROBLEMS_MAX);
    for (size_t i = 1; i < problems.count; i++)
        assert_true(problems.items[i].line >= problems.items[i - 1].line);
    assert_int_equal(sr_problem_format(&line, "a.yaml", &problems.items[0]), SR_OK);
    assert_string_equal(line.data, "a.yaml:7:22: error: `tier`: expected a whole number, found `x`");
    sr_problems_dispose(&problems);
    sr_buf_dispose(&text);
    sr_buf_dispose(&line);
}

/* A message is one line of whole characters, whatever the file says. */
static void test_messages_are_clean(void **state)
{
    (void)state;
    config_error("version: v0.3\n\"a\\n\\e[31mb\": 1\n", 2, 1, "unknown key `a  [31mb`");
    config_error(
        "version: v0.3\na\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD"
        "\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD"
        "\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD\xE4\xB8\xAD: 1\n",
        2, 1, "\xAD??` in a configuration");
}

static void test_flat_file(void **state)
{
    (void)state;
    config_error("bert_model: {}\n", 1, 1, "`semroute migrate FILE`");
    config_error("default_model: x\nvllm_endpoints: []\n", 1, 1, "flat v0.1 configuration");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_yaml),
        cmocka_unit_test(test_bounds_of_yaml),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_listeners_and_gateway),
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_lenient),
        cmocka_unit_test(test_all_are_collected_in_order),
        cmocka_unit_test(test_messages_are_clean),
        cmocka_unit_test(test_flat_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
