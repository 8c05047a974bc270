/* config: recipes, entrypoints and canaries: what each takes over from the top-level block, and what it
 * changes. */
#include "tests/unit/config_check.h"

#define MODELS                                                                                               \
    "version: v0.3\n"                                                                                        \
    "providers:\n"                                                                                           \
    "  defaults: {default_model: one}\n"                                                                     \
    "  models: [{name: one, backend_refs: [{endpoint: 'a:1'}]}, {name: two, backend_refs: [{endpoint: "      \
    "'b:1'}]}]\n"

#define TOP                                                                                                  \
    MODELS                                                                                                   \
    "routing:\n"                                                                                             \
    "  modelCards: [{name: one, loras: [fine]}]\n"                                                           \
    "  signals:\n"                                                                                           \
    "    keywords: [{name: k, keywords: [a]}, {name: only, keywords: [b]}]\n"                                \
    "    jailbreak: [{name: j}]\n"                                                                           \
    "    context: [{name: long, min_tokens: 9}]\n"                                                           \
    "    complexity: [{name: hardness, hard: {candidates: [x]}, easy: {candidates: [y]}, composer: {type: "  \
    "context, name: long}}]\n"                                                                               \
    "  projections:\n"                                                                                       \
    "    scores: [{name: s, inputs: [{type: keyword, name: only, weight: 1}]}]\n"                            \
    "    mappings: [{name: m, source: s, method: threshold_bands, outputs: [{name: high, gte: 1}]}]\n"       \
    "  decisions:\n"                                                                                         \
    "    - {name: guard, rules: {type: jailbreak, name: j}, plugins: [{type: guard, configuration: "         \
    "{action: block}}]}\n"                                                                                   \
    "    - {name: answer, rules: {type: jailbreak, name: j}, plugins: [{type: fast_response, "               \
    "configuration: {message: no}}]}\n"                                                                      \
    "    - {name: plain, rules: {type: keyword, name: k}, modelRefs: [{model: one, lora_name: fine}, "       \
    "{model: two}]}\n"

#define RECIPE(name, routing) "recipes: [{name: " name ", routing: " routing "}]\n"

static const struct sr_config *load(const char *text)
{
    const struct sr_config *c = NULL;
    struct sr_problems problems = {0};
    int rc = sr_config_load_text(&c, sr_bytes_str(text), "x", (struct sr_load_options){0}, &problems);
    if (rc)
        config_print(&problems);
    assert_int_equal(rc, SR_OK);
    sr_problems_dispose(&problems);
    return c;
}

static const struct sr_config_decision *find(const struct sr_config *c, const char *name)
{
    for (size_t i = 0; i < c->n_decisions; i++)
        if (strcmp(c->decisions[i].name, name) == 0)
            return &c->decisions[i];
    return NULL;
}

static void test_what_protects_is_in_every_recipe(void **state)
{
    (void)state;
    const struct sr_config *c =
        load(TOP RECIPE("r", "{decisions: [{name: own, modelRefs: [{model: two}]}]}"));
    const struct sr_config *r = &c->recipes[0].config;
    assert_int_equal(r->n_decisions, 3);
    assert_false(find(r, "own")->everywhere);
    assert_true(find(r, "guard")->everywhere && find(r, "answer")->everywhere);
    assert_null(find(r, "plain"));
    assert_int_equal(r->n_jailbreaks, 1); /* that they name; nothing names the others */
    assert_int_equal(r->n_keywords, 0);
    assert_int_equal(r->n_complexities, 0);
    assert_int_equal(r->n_models, c->n_models);
    assert_int_equal(r->default_model, c->default_model);
    assert_string_equal(r->revision, c->revision);
    assert_string_equal(r->path, "x");
    assert_false(find(c, "guard")->everywhere);
    sr_config_unref(c);
}

/* A recipe keeps the snapshot, and looks models up in it. */
static void test_a_recipe_is_a_reference(void **state)
{
    (void)state;
    const struct sr_config *c = load(TOP RECIPE("r", "{}"));
    const struct sr_config *r = sr_config_ref(&c->recipes[0].config);
    sr_config_unref(c);
    assert_int_equal(sr_config_find_model(r, SR_LIT("two")), 1);
    sr_config_unref(r);
}

static void test_own_rules_count(void **state)
{
    (void)state;
    const struct sr_config *c =
        load(TOP RECIPE("r", "{signals: {keywords: [{name: k, keywords: [own]}]}, decisions: [{name: own, "
                             "rules: {operator: OR, conditions: [{type: keyword, name: k}, {type: keyword, "
                             "name: only}]}}]}"));
    const struct sr_config *r = &c->recipes[0].config;
    assert_int_equal(r->n_keywords, 2);
    assert_string_equal(r->keywords[0].keywords.items[0], "own");
    assert_string_equal(r->keywords[1].name, "only");
    assert_int_equal(c->n_keywords, 2);
    assert_string_equal(c->keywords[0].keywords.items[0], "a");
    sr_config_unref(c);
}

/* What a rule is computed from comes with it. */
static void test_rules_bring_what_they_need(void **state)
{
    (void)state;
    const struct sr_config *c = load(
        TOP RECIPE("r", "{decisions: [{name: own, rules: {operator: AND, conditions: [{type: projection, "
                        "name: high}, {type: complexity, name: 'hardness:hard'}]}}]}"));
    const struct sr_config *r = &c->recipes[0].config;
    assert_int_equal(r->n_mappings, 1);
    assert_int_equal(r->n_scores, 1);
    assert_int_equal(r->n_keywords, 2);
    assert_int_equal(r->n_complexities, 1);
    assert_int_equal(r->n_contexts, 1);
    sr_config_unref(c);
}

/* Of what a guard is computed from, a recipe has nothing by the same name. */
static void test_a_recipe_does_not_change_guards(void **state)
{
    (void)state;
    static const char guarded[] = MODELS
        "routing:\n  signals:\n    keywords: [{name: a, keywords: [a]}, {name: free, keywords: [b]}]\n"
        "    context: [{name: long, min_tokens: 9}]\n    domains: [{name: math}, {name: law}]\n"
        "    complexity: [{name: hardness, hard: {candidates: [x]}, easy: {candidates: [y]}, composer: "
        "{type: context, name: long}}]\n"
        "  projections:\n    scores: [{name: s, inputs: [{type: keyword, name: a, weight: 1}]}]\n"
        "    mappings: [{name: m, source: s, method: threshold_bands, outputs: [{name: high, gte: 1}]}]\n"
        "  decisions:\n    - {name: g, plugins: [{type: guard, configuration: {action: block}}], rules: "
        "{operator: OR, conditions: [{type: projection, name: high}, {type: complexity, name: "
        "'hardness:hard'}, {type: domain, name: law}]}}\n";
    static const struct {
        const char *routing, *says;
    } cases[] = {
        {"{signals: {keywords: [{name: a, keywords: [never]}]}}", "rule `a`"},
        {"{signals: {context: [{name: long, min_tokens: 99}]}}", "rule `long`"},
        {"{signals: {domains: [{name: law}]}}", "rule `law`"},
        {"{projections: {scores: [{name: s, inputs: [{type: keyword, name: free, weight: 0}]}]}}",
         "score `s`"},
        {"{projections: {mappings: [{name: m, source: s, method: threshold_bands, outputs: [{name: x, gte: "
         "1}]}]}}",
         "mapping `m`"},
        {"{projections: {partitions: [{name: p, members: [math, law]}]}}", "member of a partition `law`"},
        {"{decisions: [{name: g}]}", "`g` holds in every recipe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[4096];
        snprintf(text, sizeof text, "%srecipes: [{name: r, routing: %s}]\n", guarded, cases[i].routing);
        config_problem(text, false, SR_PROBLEM_ERROR, 16, 11, cases[i].says);
    }
    char text[4096];
    snprintf(text, sizeof text,
             "%srecipes: [{name: r, routing: {signals: {keywords: [{name: free, keywords: [own]}]}}}]\n",
             guarded);
    const struct sr_config *c = load(text);
    assert_int_equal(c->recipes[0].config.n_keywords, 2);
    sr_config_unref(c);
}

static void test_names(void **state)
{
    (void)state;
    const struct sr_config *c =
        load(TOP RECIPE("r", "{}") "entrypoints: [{model_names: [v/r, v/s], recipe: r}, {model_names: [v/d], "
                                   "recipe: default}]\n");
    assert_true(sr_config_is_auto(c, SR_LIT("v/s")) && sr_config_is_auto(c, SR_LIT("auto")));
    assert_false(sr_config_is_auto(c, SR_LIT("r")) || sr_config_is_auto(c, SR_LIT("")));
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("v/s")), 0);
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("v/d")), -1);
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("MoM")), -1);
    assert_string_equal(sr_config_recipe_name(c, 0), "r");
    assert_string_equal(sr_config_recipe_name(c, -1), "default");
    sr_config_unref(c);
}

static void test_the_recipe_default(void **state)
{
    (void)state;
    const struct sr_config *c = load(
        MODELS
        "recipes:\n- {name: r, routing: {decisions: [{name: own}]}}\n- {name: default, routing: "
        "{strategy: confidence, signals: {jailbreak: [{name: j}]}, decisions: [{name: g, rules: {type: "
        "jailbreak, name: j}, plugins: [{type: guard, configuration: {action: block}}]}]}}\n- {name: s}\n"
        "entrypoints: [{model_names: [v/d], recipe: default}, {model_names: [v/s], recipe: s}]\n");
    assert_int_equal(c->n_recipes, 2);
    assert_string_equal(c->decisions[0].name, "g");
    assert_int_equal(c->strategy, SR_STRATEGY_CONFIDENCE);
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("auto")), -1);
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("v/d")), -1);
    assert_int_equal(sr_config_recipe_of(c, SR_LIT("v/s")), 1);
    assert_string_equal(c->recipes[1].name, "s");
    for (size_t i = 0; i < c->n_recipes; i++) /* its guard holds everywhere, as it is the top-level block */
        assert_true(find(&c->recipes[i].config, "g")->everywhere);
    assert_non_null(find(&c->recipes[0].config, "own"));
    sr_config_unref(c);
}

#define CANARY(how) "global: {semroute: {canaries: [{name: c, " how "}]}}\n"

static void test_a_canary_changes_models(void **state)
{
    (void)state;
    const struct sr_config *c = load(TOP CANARY("share: 0.1, models: {one: two}"));
    const struct sr_config_canary *canary = &c->global.canaries[0];
    assert_int_equal(canary->of, -1);
    const struct sr_config_model_ref *old = find(c, "plain")->refs,
                                     *fresh = find(canary->config, "plain")->refs;
    assert_int_equal(old[0].model, 0);
    assert_string_equal(old[0].lora_name, "fine");
    assert_int_equal(fresh[0].model, 1);
    assert_string_equal(fresh[0].lora_name, ""); /* the new model has no such adapter */
    assert_int_equal(fresh[1].model, 1);
    assert_int_equal(canary->config->default_model, 1);
    assert_int_equal(c->default_model, 0);
    sr_config_unref(c);
}

static void test_a_canary_of_a_recipe(void **state)
{
    (void)state;
    const struct sr_config *c = load(TOP RECIPE("r", "{strategy: confidence}") CANARY(
        "of: r, share: 1, recipe: default, classifiers: {jailbreak: j.bin}"));
    const struct sr_config_canary *canary = &c->global.canaries[0];
    assert_int_equal(canary->of, 0);
    assert_int_equal(canary->recipe, -1);
    assert_int_equal(canary->config->n_decisions, 3);
    assert_string_equal(canary->config->global.jailbreak_model, "j.bin");
    assert_string_equal(c->global.jailbreak_model, "");
    sr_config_unref(c);
}

static void test_a_share_of_0_makes_no_side(void **state)
{
    (void)state;
    const struct sr_config *c = load(TOP CANARY("share: 0, models: {one: two}"));
    assert_null(c->global.canaries[0].config);
    sr_config_unref(c);
}

static void test_what_protects_counts_in_recipes(void **state)
{
    (void)state;
    const struct sr_config *c = load(MODELS RECIPE(
        "r", "{signals: {jailbreak: [{name: j}]}, decisions: [{name: g, rules: {type: jailbreak, name: j}, "
             "plugins: [{type: guard, configuration: {action: block}}, {type: response_cache, configuration: "
             "{scope: global}}]}]}"));
    assert_true(sr_config_protects(c));
    assert_true(sr_config_caches(c, true));
    sr_config_unref(c);
}

/* Recipes that no name tells apart are refused, and none is read by the lines of another. */
static void test_names_of_recipes(void **state)
{
    (void)state;
    config_error(MODELS "recipes: [{name: , routing: {decisions: [{name: d, rules: {type: always}}]}}]\n", 5,
                 11, "`name` is missing in this recipe");
    config_error(MODELS
                 "recipes: [{name: a}, {name: a, routing: {decisions: [{name: d}, {name: e, rules: {type: "
                 "always}, modelRefs: [{model: one}]}]}}]\n",
                 5, 29, "recipe `a` is given twice");
    config_error(MODELS
                 "recipes: [{name: default}, {name: default, routing: {decisions: [{name: d, rules: {type: "
                 "always}}]}}]\n",
                 5, 35, "recipe `default` is given twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_protects_is_in_every_recipe),
        cmocka_unit_test(test_a_recipe_is_a_reference),
        cmocka_unit_test(test_own_rules_count),
        cmocka_unit_test(test_names_of_recipes),
        cmocka_unit_test(test_rules_bring_what_they_need),
        cmocka_unit_test(test_a_recipe_does_not_change_guards),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_the_recipe_default),
        cmocka_unit_test(test_a_canary_changes_models),
        cmocka_unit_test(test_a_canary_of_a_recipe),
        cmocka_unit_test(test_a_share_of_0_makes_no_side),
        cmocka_unit_test(test_what_protects_counts_in_recipes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
