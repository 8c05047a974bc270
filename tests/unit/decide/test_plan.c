/* Decisions: operators, strategies and ties, failed signals, laziness, the override, the choice of a model.
 */
#include "tests/unit/by_hand.h"
#include "tests/unit/cmocka_all.h"

#include "decide/decide.h"

#include <stdio.h>
#include <stdlib.h>

#define BIT(type) (UINT32_C(1) << SR_SIGNAL_##type)

/* Three rules of each type; what they find is made up by the tests. */
static struct sr_config_keyword keywords[] = {{.name = "k0", .keywords = STRINGS("a")},
                                              {.name = "k1", .keywords = STRINGS("a")},
                                              {.name = "k2", .keywords = STRINGS("a")}};
static struct sr_config_context contexts[] = {{"c0", 0, 9}, {"c1", 0, 9}, {"c2", 0, 9}};
static struct sr_config_structure structures[] = {
    {.name = "s0", .source = SR_STRUCTURE_KEYWORD_SET, .keywords = STRINGS("a"), .predicate = NO_PREDICATE},
    {.name = "s1", .source = SR_STRUCTURE_KEYWORD_SET, .keywords = STRINGS("a"), .predicate = NO_PREDICATE},
    {.name = "s2", .source = SR_STRUCTURE_KEYWORD_SET, .keywords = STRINGS("a"), .predicate = NO_PREDICATE}};
static struct sr_config_language languages[] = {{"l0", 0.3}, {"l1", 0.3}, {"l2", 0.3}};
static struct sr_config_model_score scores[] = {{"small", 0.4, false}, {"big", 0.9, true}};
static struct sr_config_domain domains[] = {
    {.name = "d0", .scores = scores, .n_scores = 2}, {.name = "d1"}, {.name = "d2"}};
static struct sr_config_model models[] = {{.name = "small"}, {.name = "big"}, {.name = "unscored"}};

static struct sr_config base(struct sr_config_decision *decisions, size_t n)
{
    return (struct sr_config){
        .keywords = keywords,
        .n_keywords = 3,
        .contexts = contexts,
        .n_contexts = 3,
        .structures = structures,
        .n_structures = 3,
        .languages = languages,
        .n_languages = 3,
        .domains = domains,
        .n_domains = 3,
        .models = models,
        .n_models = 3,
        .default_effort = "",
        .decisions = decisions,
        .n_decisions = n,
        .global = {.domain_threshold = 0.6, .domain_fallback = "other", .domain_model = ""}};
}

struct world {
    struct sr_signals *signals;
    struct sr_plan *plan;
    struct sr_signal_hit hits[SR_SIGNAL_TYPES][3];
    struct sr_signal_result results[SR_SIGNAL_TYPES];
    uint32_t asked; /* types that were revealed */
    int asks;
};

static void world_open(struct world *world, const struct sr_config *config)
{
    struct sr_err err = {0};
    *world = (struct world){.asked = 0};
    if (sr_signals_new(&world->signals, config, NULL, &err) ||
        sr_plan_new(&world->plan, config, world->signals, &err))
        fail_msg("%s", err.message);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        world->results[type] =
            (struct sr_signal_result){.hits = world->hits[type], .n_hits = 3, .top = -1, .tier = ""};
        for (int i = 0; i < 3; i++)
            world->hits[type][i].value = NAN;
    }
}

static void world_close(struct world *world)
{
    sr_plan_free(world->plan);
    sr_signals_unref(world->signals);
}

static void says(struct world *world, enum sr_signal_type type, int rule, float confidence)
{
    world->hits[type][rule] = (struct sr_signal_hit){confidence > 0, confidence, confidence};
}

/* Asks like the router does: the cheapest of what is needed, each once. */
static struct sr_decision decide(struct world *world)
{
    const struct sr_signal_result *known[SR_SIGNAL_TYPES] = {NULL};
    struct sr_decision decision;
    uint32_t needed = 0;
    world->asked = 0;
    world->asks = 0;
    while (sr_plan_decide(world->plan, NULL, known, &decision, &needed) == SR_AGAIN) {
        assert_int_not_equal(needed, 0);
        assert_int_equal(needed & world->asked, 0);
        enum sr_signal_type type = sr_plan_cheapest(needed);
        known[type] = &world->results[type];
        world->asked |= UINT32_C(1) << type;
        world->asks++;
    }
    return decision;
}

static struct sr_decision decide_all(struct world *world)
{
    const struct sr_signal_result *known[SR_SIGNAL_TYPES];
    struct sr_decision decision;
    uint32_t needed;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        known[type] = &world->results[type];
    assert_int_equal(sr_plan_decide(world->plan, NULL, known, &decision, &needed), SR_OK);
    return decision;
}

#define DECISION(n, p, ...)                                                                                  \
    {                                                                                                        \
        .name = (n), .priority = (p), .has_rules = true, .rules = __VA_ARGS__                                \
    }
#define K(i) LEAF("keyword", "k" #i)
#define D(i) LEAF("domain", "d" #i)
#define C(i) LEAF("context", "c" #i)
#define L(i) LEAF("language", "l" #i)

static bool near(float a, float b)
{
    return fabsf(a - b) < 1e-6f;
}

static void test_operators(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {
        DECISION("and", 5, TREE(SR_RULE_AND, D(0), D(1))),
        DECISION("or", 4, TREE(SR_RULE_OR, D(1), D(2))),
        DECISION("not", 3, TREE(SR_RULE_AND, D(0), TREE(SR_RULE_NOT, D(1)))),
        DECISION("leaf", 2, K(0)),
    };
    struct sr_config config = base(decisions, 4);
    struct world world;
    world_open(&world, &config);
    assert_int_equal(sr_plan_signals(world.plan), BIT(KEYWORD) | BIT(DOMAIN));
    assert_int_equal(decide(&world).decision, -1);
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.6f);
    assert_int_equal(decide(&world).decision, 2);
    assert_true(near(decide(&world).confidence, 0.8f));
    says(&world, SR_SIGNAL_DOMAIN, 1, 0.9f);
    assert_int_equal(decide(&world).decision, 0);
    assert_true(near(decide(&world).confidence, 0.75f));
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.0f);
    says(&world, SR_SIGNAL_DOMAIN, 2, 0.95f);
    assert_int_equal(decide(&world).decision, 1);
    assert_true(near(decide(&world).confidence, 0.95f));
    world.hits[SR_SIGNAL_DOMAIN][1] = world.hits[SR_SIGNAL_DOMAIN][2] = (struct sr_signal_hit){false, 0, NAN};
    world.hits[SR_SIGNAL_KEYWORD][0] = (struct sr_signal_hit){true, 0.0f, NAN};
    assert_int_equal(decide(&world).decision, 3);
    assert_true(near(decide(&world).confidence, 1.0f));
    world_close(&world);
}

static void test_catch_all_and_empty_trees(void **state)
{
    (void)state;
    struct sr_config_rule none_and = {.op = SR_RULE_AND}, none_or = {.op = SR_RULE_OR};
    struct sr_config_decision decisions[] = {
        {.name = "all", .priority = 1},
        {.name = "or", .priority = 3, .has_rules = true, .rules = none_or},
        {.name = "and", .priority = 2, .has_rules = true, .rules = none_and},
    };
    struct sr_config config = base(decisions, 3);
    struct world world;
    world_open(&world, &config);
    assert_int_equal(decide(&world).decision, 2);
    assert_true(decide(&world).confidence == 0.0f);
    decisions[2].priority = 0;
    world_close(&world);
    world_open(&world, &config);
    assert_int_equal(decide(&world).decision, 0);
    assert_int_equal(world.asks, 0);
    world_close(&world);
}

static void test_predicates(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("big", 1, C(0))};
    struct sr_config config = base(decisions, 1);
    struct world world;
    decisions[0].rules.predicate.gt = 100;
    decisions[0].rules.predicate.lte = 200;
    world_open(&world, &config);
    static const struct {
        double value;
        int expected;
    } cases[] = {{100, -1}, {100.5, 0}, {200, 0}, {201, -1}, {NAN, -1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        world.hits[SR_SIGNAL_CONTEXT][0] = (struct sr_signal_hit){true, 1.0f, cases[i].value};
        assert_int_equal(decide(&world).decision, cases[i].expected);
    }
    world.hits[SR_SIGNAL_CONTEXT][0] = (struct sr_signal_hit){false, 0.0f, 150};
    assert_int_equal(decide(&world).decision, 0);
    world_close(&world);
}

static void test_failed_signals(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("guard", 2, K(0)), DECISION("other", 1, D(0))};
    struct sr_config config = base(decisions, 2);
    struct world world;
    world_open(&world, &config);
    world.results[SR_SIGNAL_KEYWORD] = (struct sr_signal_result){.status = SR_ETIMEOUT, .tier = ""};
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.9f);
    assert_int_equal(decide(&world).decision, 1);
    assert_int_equal(decide(&world).errors, BIT(KEYWORD));
    world_close(&world);
    decisions[0].rules.on_error = SR_ON_ERROR_MATCH;
    world_open(&world, &config);
    world.results[SR_SIGNAL_KEYWORD] = (struct sr_signal_result){.status = SR_ETIMEOUT, .tier = ""};
    assert_int_equal(decide(&world).decision, 0);
    assert_true(decide(&world).confidence == 1.0f);
    assert_int_equal(decide(&world).errors, BIT(KEYWORD));
    assert_int_equal(world.asked, BIT(KEYWORD));
    world_close(&world);
}

/* What was found counts; of what could not be read on_error decides, and the decision says so. */
static void test_unread(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("guard", 2, TREE(SR_RULE_OR, K(0), K(1))),
                                             DECISION("none", 1, TREE(SR_RULE_NOT, K(2)))};
    struct sr_config config = base(decisions, 2);
    struct world world;
    decisions[0].rules.children[1].on_error = SR_ON_ERROR_MATCH;
    world_open(&world, &config);
    assert_int_equal(decide(&world).decision, 1);
    assert_false(decide(&world).unsure);
    world.results[SR_SIGNAL_KEYWORD].unread_bytes = 7;
    assert_int_equal(decide(&world).decision, 0);
    assert_true(decide(&world).unsure);
    says(&world, SR_SIGNAL_KEYWORD, 0, 0.4f);
    assert_int_equal(decide(&world).decision, 0);
    assert_false(decide(&world).unsure);
    world_close(&world);
    decisions[0].rules.children[1].on_error = SR_ON_ERROR_NO_MATCH;
    world_open(&world, &config);
    world.results[SR_SIGNAL_KEYWORD].unread_bytes = 7;
    assert_int_equal(decide(&world).decision, 1); /* `no_match` below NOT: it matches, but nothing says so */
    assert_true(decide(&world).unsure);
    says(&world, SR_SIGNAL_KEYWORD, 2, 1);
    assert_int_equal(decide(&world).decision, -1);
    world_close(&world);
}

static void test_without(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {
        DECISION("first", 2, K(0)), DECISION("second", 2, K(0)), {.name = "rest", .priority = 1}};
    struct sr_config config = base(decisions, 3);
    struct world world;
    const struct sr_signal_result *none[SR_SIGNAL_TYPES] = {NULL};
    struct sr_decision decision;
    uint32_t needed;
    bool without[3] = {true, true, false};
    world_open(&world, &config);
    assert_int_equal(sr_plan_decide(world.plan, without, none, &decision, &needed), SR_OK);
    assert_int_equal(decision.decision, 2); /* no signal is needed for what does not count */
    without[0] = without[2] = false;
    says(&world, SR_SIGNAL_KEYWORD, 0, 1);
    none[SR_SIGNAL_KEYWORD] = &world.results[SR_SIGNAL_KEYWORD];
    assert_int_equal(sr_plan_decide(world.plan, without, none, &decision, &needed), SR_OK);
    assert_int_equal(decision.decision, 0);
    world_close(&world);
}

static int winner(struct sr_config *config, float k0, float d0, float d1)
{
    struct world world;
    world_open(&world, config);
    says(&world, SR_SIGNAL_KEYWORD, 0, k0);
    says(&world, SR_SIGNAL_DOMAIN, 0, d0);
    says(&world, SR_SIGNAL_DOMAIN, 1, d1);
    int lazy = decide(&world).decision;
    assert_int_equal(lazy, decide_all(&world).decision);
    world_close(&world);
    return lazy;
}

static void test_strategies_and_ties(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("b", 10, D(0)), DECISION("a", 10, D(1)),
                                             DECISION("c", 20, K(0))};
    struct sr_config config = base(decisions, 3);
    assert_int_equal(winner(&config, 0.1f, 0.9f, 0.9f), 2);
    assert_int_equal(winner(&config, 0, 0.9f, 0.8f), 0);
    assert_int_equal(winner(&config, 0, 0.8f, 0.8f), 1);
    config.strategy = SR_STRATEGY_CONFIDENCE;
    assert_int_equal(winner(&config, 0.1f, 0.9f, 0.8f), 0);
    assert_int_equal(winner(&config, 0.9f, 0.9f, 0.8f), 2);
    assert_int_equal(winner(&config, 0, 0.8f, 0.8f), 1);
    decisions[0].tier = 2;
    decisions[1].tier = 1;
    assert_int_equal(winner(&config, 1, 0.9f, 0.1f), 1);
    assert_int_equal(winner(&config, 1, 0.1f, 0), 0);
    assert_int_equal(winner(&config, 1, 0, 0), 2);
    decisions[1].tier = 2;
    assert_int_equal(winner(&config, 1, 0.2f, 0.3f), 1);
    decisions[0].priority = 11;
    assert_int_equal(winner(&config, 1, 0.3f, 0.3f), 0);
    decisions[0].priority = INT64_MIN;
    decisions[1].priority = INT64_MAX;
    decisions[0].tier = decisions[1].tier = 0;
    config.strategy = SR_STRATEGY_PRIORITY;
    assert_int_equal(winner(&config, 1, 1, 1), 1);
    assert_int_equal(winner(&config, 0, 1, 0), 0);
}

static void test_asks_only_what_matters(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {
        DECISION("code", 30, K(0)),
        DECISION("science", 20, TREE(SR_RULE_AND, D(0), C(0))),
        DECISION("german", 10, L(0)),
    };
    struct sr_config config = base(decisions, 3);
    struct world world;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_KEYWORD, 0, 1);
    assert_int_equal(decide(&world).decision, 0);
    assert_int_equal(world.asked, BIT(KEYWORD));
    says(&world, SR_SIGNAL_KEYWORD, 0, 0);
    says(&world, SR_SIGNAL_LANGUAGE, 0, 0.9f);
    assert_int_equal(decide(&world).decision, 2);
    assert_int_equal(world.asked, BIT(KEYWORD) | BIT(CONTEXT) | BIT(LANGUAGE));
    says(&world, SR_SIGNAL_CONTEXT, 0, 1);
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.7f);
    assert_int_equal(decide(&world).decision, 1);
    assert_int_equal(world.asked, BIT(KEYWORD) | BIT(CONTEXT) | BIT(DOMAIN));
    world_close(&world);
}

/* A cheap signal of a lower decision is of no use while a higher one waits for a dear one. */
static void test_no_cheap_detours(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("first", 2, D(0)), DECISION("second", 1, K(0))};
    struct sr_config config = base(decisions, 2);
    struct world world;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.7f);
    assert_int_equal(decide(&world).decision, 0);
    assert_int_equal(world.asked, BIT(DOMAIN));
    world_close(&world);
}

static void test_confidence_is_not_sought_without_rivals(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("any", 2, TREE(SR_RULE_OR, K(0), D(0))),
                                             DECISION("rival", 2, L(0))};
    struct sr_config config = base(decisions, 1);
    struct world world;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_KEYWORD, 0, 0.5f);
    assert_int_equal(decide(&world).decision, 0);
    assert_int_equal(world.asked, BIT(KEYWORD));
    world_close(&world);
    config.n_decisions = 2;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_KEYWORD, 0, 1.0f);
    assert_int_equal(decide(&world).decision, 0);
    assert_int_equal(world.asked, BIT(KEYWORD));
    says(&world, SR_SIGNAL_KEYWORD, 0, 0.5f);
    says(&world, SR_SIGNAL_LANGUAGE, 0, 0.6f);
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.7f);
    assert_int_equal(decide(&world).decision, 0);
    assert_true(near(decide(&world).confidence, 0.7f));
    world_close(&world);
}

static void test_override(void **state)
{
    (void)state;
    struct sr_config_decision decisions[] = {DECISION("code", 10, K(0)), DECISION("math", 10, D(0)),
                                             DECISION("law", 5, D(1)), DECISION("guard", 99, K(1))};
    struct sr_config config = base(decisions, 4);
    assert_int_equal(winner(&config, 1, 0.95f, 0), 0);
    config.global.override_confidence = 0.9;
    assert_int_equal(winner(&config, 1, 0.95f, 0), 1);
    assert_int_equal(winner(&config, 1, 0.9f, 0), 1);
    assert_int_equal(winner(&config, 1, 0.89f, 0), 0);
    assert_int_equal(winner(&config, 1, 0, 0.99f), 0);
    config.strategy = SR_STRATEGY_CONFIDENCE;
    assert_int_equal(winner(&config, 1, 0.91f, 0.99f), 1);
    assert_int_equal(winner(&config, 1, 0.5f, 0.99f), 0);
    struct world world;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_KEYWORD, 0, 1);
    says(&world, SR_SIGNAL_DOMAIN, 0, 0.95f);
    assert_true(decide(&world).overridden);
    says(&world, SR_SIGNAL_KEYWORD, 1, 1);
    assert_int_equal(decide(&world).decision, 3);
    assert_false(decide(&world).overridden);
    world_close(&world);
}

static void test_category(void **state)
{
    (void)state;
    static const char *const labels[] = {"x", "y"};
    float probabilities[] = {0.1f, 0.9f};
    struct sr_config_decision decisions[] = {DECISION("d", 1, TREE(SR_RULE_OR, K(0), D(1)))};
    struct sr_config config = base(decisions, 1);
    struct world world;
    world_open(&world, &config);
    says(&world, SR_SIGNAL_DOMAIN, 1, 0.9f);
    world.results[SR_SIGNAL_DOMAIN].labels = labels;
    world.results[SR_SIGNAL_DOMAIN].probabilities = probabilities;
    world.results[SR_SIGNAL_DOMAIN].n_labels = 2;
    world.results[SR_SIGNAL_DOMAIN].top = 1;
    struct sr_decision decision = decide(&world);
    assert_string_equal(decision.category_name, "d1");
    assert_int_equal(decision.category, 1);
    says(&world, SR_SIGNAL_DOMAIN, 1, 0);
    says(&world, SR_SIGNAL_KEYWORD, 0, 1);
    decision = decide(&world);
    assert_string_equal(decision.category_name, "");
    assert_int_equal(decision.category, -1);
    world_close(&world);
}

static void test_choose(void **state)
{
    (void)state;
    struct sr_config_model_ref refs[] = {
        {.model = 2, .lora_name = "", .reasoning_effort = ""},
        {.model = 0, .lora_name = "", .reasoning_effort = ""},
        {.model = 1, .lora_name = "tuned", .use_reasoning = true, .reasoning_effort = ""}};
    struct sr_config_decision decisions[] = {DECISION("math", 1, D(0)), DECISION("none", 2, K(0))};
    struct sr_config config = base(decisions, 2);
    struct world world;
    struct sr_choice choice;
    config.default_model = 1;
    decisions[0].refs = refs;
    decisions[0].n_refs = 3;
    world_open(&world, &config);
    struct sr_decision decision = {.decision = -1, .category_name = ""};
    const struct sr_signal_result *results[SR_SIGNAL_TYPES] = {NULL};
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 1);
    assert_string_equal(choice.algorithm, "default");
    decision.decision = 1;
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 1);
    decision = (struct sr_decision){.decision = 0, .category_name = "d0"};
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 2);
    assert_string_equal(choice.algorithm, "static");
    decisions[0].refs = refs + 1;
    decisions[0].n_refs = 2;
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 1);
    assert_string_equal(choice.lora_name, "tuned");
    assert_true(choice.use_reasoning);
    assert_string_equal(choice.effort, "medium");
    config.default_effort = "low";
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_string_equal(choice.effort, "low");
    refs[2].reasoning_effort = "high";
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_string_equal(choice.effort, "high");
    decision.category_name = "d1";
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 0);
    assert_string_equal(choice.effort, "");
    decision.category_name = "";
    decisions[0].name = "d0";
    sr_plan_choose(world.plan, &decision, results, &choice);
    assert_int_equal(choice.model, 1);
    world_close(&world);
}

static void assert_no_plan(struct sr_config_rule rule, int code, const char *word)
{
    struct sr_config_decision decisions[] = {{.name = "wrong", .has_rules = true, .rules = rule}};
    struct sr_config config = base(decisions, 1);
    struct sr_signals *signals = NULL;
    struct sr_plan *plan = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_signals_new(&signals, &config, NULL, &err), SR_OK);
    assert_int_equal(sr_plan_new(&plan, &config, signals, &err), code);
    assert_non_null(strstr(err.message, "wrong"));
    assert_non_null(strstr(err.message, word));
    sr_signals_unref(signals);
}

static void test_bad_rules(void **state)
{
    (void)state;
    assert_no_plan((struct sr_config_rule)LEAF("keyword", "k9"), SR_ENOENT, "k9");
    assert_no_plan((struct sr_config_rule)LEAF("mood", "k0"), SR_ENOENT, "mood");
    assert_no_plan((struct sr_config_rule)TREE(SR_RULE_NOT, K(0), K(1)), SR_EINVAL, "exactly one");
    struct sr_config_rule deep[40] = {LEAF("keyword", "k0")};
    for (int i = 1; i < 40; i++)
        deep[i] = (struct sr_config_rule){.op = SR_RULE_AND, .children = &deep[i - 1], .n_children = 1};
    assert_no_plan(deep[39], SR_ELIMIT, "nested");
}

/* The property: for random rules and findings, asking lazily ends where knowing everything ends; and both are
 * what a plain reading of the rules gives. */
static const char *const type_names[] = {"context", "keyword", "structure", "language", "domain"};
static const char type_letters[] = "cksld";
#define DRAWN 5 /* the types that rules are drawn from: the first ones */
static char leaf_names[DRAWN][3][16];

static struct sr_config_rule random_rule(int depth, struct sr_config_rule *pool, size_t *used)
{
    int kind = depth == 0 ? 0 : rand() % 6;
    if (kind < 3) {
        int type = rand() % DRAWN;
        struct sr_config_rule leaf = LEAF(type_names[type], leaf_names[type][rand() % 3]);
        leaf.on_error = rand() % 3 == 0 ? SR_ON_ERROR_MATCH : SR_ON_ERROR_NO_MATCH;
        if (rand() % 8 == 0)
            leaf.predicate.gte = (double)(rand() % 10) / 10;
        return leaf;
    }
    struct sr_config_rule rule = {.op = kind == 3 ? SR_RULE_AND : kind == 4 ? SR_RULE_OR : SR_RULE_NOT};
    rule.n_children = rule.op == SR_RULE_NOT ? 1 : (size_t)(rand() % 4);
    rule.children = &pool[*used];
    *used += rule.n_children;
    for (size_t i = 0; i < rule.n_children; i++)
        rule.children[i] = random_rule(depth - 1, pool, used);
    return rule;
}

static bool plain_eval(const struct sr_config_rule *rule, const struct world *world, float *confidence)
{
    float sum = 0, best = 0, one = 0;
    bool all = true, any = false;
    *confidence = 1;
    if (rule->op == SR_RULE_LEAF) {
        int type = sr_signal_find_type(sr_bytes_str(rule->type));
        const struct sr_signal_hit *hit = &world->hits[type][rule->name[1] - '0'];
        if (world->results[type].status)
            return rule->on_error == SR_ON_ERROR_MATCH;
        if (hit->confidence > 0)
            *confidence = hit->confidence;
        return isnan(rule->predicate.gte) ? hit->matched : hit->value >= rule->predicate.gte;
    }
    for (size_t i = 0; i < rule->n_children; i++) {
        bool yes = plain_eval(&rule->children[i], world, &one);
        all &= yes;
        any |= yes;
        sum += one;
        best = yes && one > best ? one : best;
    }
    if (rule->op == SR_RULE_NOT)
        return !any;
    *confidence = rule->op == SR_RULE_OR ? best : rule->n_children ? sum / (float)rule->n_children : 0;
    return rule->op == SR_RULE_OR ? any : all;
}

static bool plainly_before(const struct sr_config *config, bool tiers, int a, float ca, int b, float cb)
{
    const struct sr_config_decision *x = &config->decisions[a], *y = &config->decisions[b];
    int64_t tx = x->tier ? x->tier : INT64_MAX, ty = y->tier ? y->tier : INT64_MAX;
    bool priority_first = !tiers && config->strategy == SR_STRATEGY_PRIORITY;
    if (tiers && tx != ty)
        return tx < ty;
    if (priority_first && x->priority != y->priority)
        return x->priority > y->priority;
    if (ca != cb)
        return ca > cb;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    return strcmp(x->name, y->name) < 0;
}

static bool only_type(const struct sr_config_rule *rule, bool domain, bool *leaf)
{
    bool only = true;
    if (rule->op == SR_RULE_LEAF) {
        *leaf = true;
        return (strcmp(rule->type, "domain") == 0) == domain;
    }
    for (size_t i = 0; i < rule->n_children; i++)
        only &= only_type(&rule->children[i], domain, leaf);
    return only;
}

static int plain_decide(const struct sr_config *config, const struct world *world, float *confidence)
{
    float confidences[16];
    bool yes[16], tiers = false, leaf = false;
    int best = -1, other = -1;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        confidences[i] = 0;
        yes[i] = !decision->has_rules || plain_eval(&decision->rules, world, &confidences[i]);
        tiers |= decision->tier > 0;
    }
    for (int i = 0; i < (int)config->n_decisions; i++)
        if (yes[i] && (best < 0 || plainly_before(config, tiers, i, confidences[i], best, confidences[best])))
            best = i;
    const struct sr_config_decision *first = best < 0 ? NULL : &config->decisions[best];
    if (first && config->global.override_confidence > 0 &&
        (!first->has_rules || only_type(&first->rules, false, &leaf)))
        for (int i = 0; i < (int)config->n_decisions; i++) {
            const struct sr_config_decision *decision = &config->decisions[i];
            leaf = false;
            bool fits = yes[i] && decision->has_rules && only_type(&decision->rules, true, &leaf) && leaf &&
                        decision->priority >= first->priority && (!tiers || decision->tier == first->tier) &&
                        confidences[i] >= (float)config->global.override_confidence;
            if (fits &&
                (other < 0 || plainly_before(config, tiers, i, confidences[i], other, confidences[other])))
                other = i;
        }
    best = other >= 0 ? other : best;
    *confidence = best < 0 ? 0 : confidences[best];
    return best;
}

static void test_lazy_equals_full(void **state)
{
    (void)state;
    struct sr_config_rule pool[4096];
    struct sr_config_decision decisions[16];
    char names[16][32];
    srand(3);
    for (int type = 0; type < DRAWN; type++)
        for (int i = 0; i < 3; i++)
            snprintf(leaf_names[type][i], 16, "%c%d", type_letters[type], i);
    for (int round = 0; round < 400; round++) {
        size_t used = 0, n = (size_t)(rand() % 9);
        int tiers = rand() % 3 == 0;
        struct sr_config config = base(decisions, n);
        struct world world;
        config.strategy = rand() % 2 ? SR_STRATEGY_PRIORITY : SR_STRATEGY_CONFIDENCE;
        config.global.override_confidence = rand() % 3 ? 0 : 0.5;
        for (size_t i = 0; i < n; i++) {
            snprintf(names[i], sizeof names[i], "n%d%zu", rand() % 10, i);
            decisions[i] = (struct sr_config_decision){.name = names[i],
                                                       .priority = rand() % 4,
                                                       .tier = tiers ? rand() % 3 : 0,
                                                       .has_rules = rand() % 12 != 0,
                                                       .rules = random_rule(4, pool, &used)};
        }
        world_open(&world, &config);
        for (int draw = 0; draw < 20; draw++) {
            for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
                for (int i = 0; i < 3; i++)
                    says(&world, (enum sr_signal_type)type, i,
                         rand() % 2 ? 0.0f : (float)(1 + rand() % 10) / 10);
                world.results[type].status = rand() % 8 ? SR_OK : SR_EBUSY;
            }
            float confidence = 0;
            int expected = plain_decide(&config, &world, &confidence);
            struct sr_decision full = decide_all(&world), lazy = decide(&world);
            assert_int_equal(full.decision, expected);
            assert_true(near(full.confidence, confidence));
            assert_int_equal(lazy.decision, expected);
            assert_true(lazy.confidence <= full.confidence + 1e-6f);
        }
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_catch_all_and_empty_trees),
        cmocka_unit_test(test_predicates),
        cmocka_unit_test(test_failed_signals),
        cmocka_unit_test(test_unread),
        cmocka_unit_test(test_without),
        cmocka_unit_test(test_strategies_and_ties),
        cmocka_unit_test(test_asks_only_what_matters),
        cmocka_unit_test(test_no_cheap_detours),
        cmocka_unit_test(test_confidence_is_not_sought_without_rivals),
        cmocka_unit_test(test_override),
        cmocka_unit_test(test_category),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_lazy_equals_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
