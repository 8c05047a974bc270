/* The signals that compare vectors, with the real encoder: reask, preference, complexity with a composer, kb,
 * fact_check, user_feedback; one vector for all of them; partitions and projections of what they found. */
#include "tests/unit/signal_kit.h"

#include "signal/topic/kb_file.h"

#include <math.h>

#define MODEL SR_SOURCE_DIR "/models/all-MiniLM-L6-v2"

static struct sr_model_store *models;

static int open_store(void **state)
{
    (void)state;
    return sr_model_store_new(&models, NULL);
}

static int close_store(void **state)
{
    (void)state;
    sr_model_store_free(models);
    return 0;
}

static struct sr_config base(void)
{
    struct sr_config config = {.path = ""};
    config.global.inference.encoder = MODEL;
    config.global.inference.max_windows = 16;
    config.global.fact_check_threshold = config.global.feedback_threshold = 0.5;
    return config;
}

/* The inference engine may let go of the signals after the last result is here: configurations stay. */
static void open_kit(struct kit *kit, const struct sr_config *config)
{
    static struct sr_config kept[64];
    static size_t n;
    struct sr_err err = {0};
    assert_in_range(n, 0, sizeof kept / sizeof kept[0] - 1);
    kept[n] = *config;
    *kit = (struct kit){.result = NULL};
    sr_arena_init(&kit->arena, (size_t)64 << 20);
    if (sr_signals_new(&kit->signals, &kept[n++], models, &err))
        fail_msg("%s", err.message);
}

/* Begins a run over a text, with facts (NULL: none), as the router does. */
static void begin(struct kit *kit, const char *text, const struct sr_signal_facts *facts)
{
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
    if (kit->run)
        sr_signal_run_dispose(kit->run);
    if (facts)
        assert_int_equal(sr_signal_input_add_facts(input, facts), SR_OK);
    assert_int_equal(sr_signal_input_share_vector(input), SR_OK);
    assert_int_equal(
        sr_signal_run_new(&kit->run, kit->signals, input, (struct sr_signal_env){NULL, NULL, 0}, &kit->arena),
        SR_OK);
    sr_signal_input_unref(input);
}

static const struct sr_signal_result *result_of(struct kit *kit, enum sr_signal_type type)
{
    assert_int_equal(sr_signal_run_start(kit->run, type, NULL, NULL), SR_OK);
    const struct sr_signal_result *result = sr_signal_run_result(kit->run, type);
    if (result->status)
        fail_msg("%s: %s", sr_signal_registry[type]->name, sr_strerror(result->status));
    return result;
}

static bool matched(struct kit *kit, enum sr_signal_type type, const char *rule)
{
    const struct sr_signal_result *result = result_of(kit, type);
    int index = sr_signals_find_rule(kit->signals, type, sr_bytes_str(rule));
    if (index < 0)
        fail_msg("no rule %s", rule);
    return result->hits[index].matched;
}

static void test_reask(void **state)
{
    (void)state;
    struct sr_config_reask rules[] = {{"once", "", 0.8, 1}, {"twice", "", 0.8, 2}};
    static const struct {
        const char *turns[3]; /* the newest first */
        size_t n;
        bool once, twice;
    } cases[] = {
        {{0}, 0, false, false},
        {{"How do I sort a list in Python?"}, 1, true, false},
        {{"What is the weather in Rome?"}, 1, false, false},
        {{"How do I sort a list in Python?", "What is the weather?"}, 2, true, false},
        /* Of those that match only the rules with the most turns count. */
        {{"How do I sort a list in Python?", "How can I sort Python lists?"}, 2, false, true},
        {{"What is the weather?", "How do I sort a list in Python?"}, 2, false, false},
    };
    struct sr_config config = base();
    struct kit kit;
    config.reasks = rules;
    config.n_reasks = 2;
    open_kit(&kit, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_bytes turns[3];
        for (size_t k = 0; k < cases[i].n; k++)
            turns[k] = sr_bytes_str(cases[i].turns[k]);
        struct sr_signal_facts facts = {.turns = turns, .n_turns = cases[i].n};
        begin(&kit, "How can I sort a Python list?", &facts);
        if (matched(&kit, SR_SIGNAL_REASK, "once") != cases[i].once ||
            matched(&kit, SR_SIGNAL_REASK, "twice") != cases[i].twice)
            fail_msg("case %zu", i);
    }
    begin(&kit, "How can I sort a Python list?", NULL);
    assert_false(matched(&kit, SR_SIGNAL_REASK, "once"));
    kit_close(&kit);
}

static void test_preference(void **state)
{
    (void)state;
    struct sr_config_preference rules[] = {
        {"code", "", STRINGS("Write a function in Python", "Fix this bug"), 0.3},
        {"verse", "Poems and songs", {NULL, 0}, 0.2},
    };
    struct sr_config config = base();
    struct kit kit;
    config.preferences = rules;
    config.n_preferences = 2;
    open_kit(&kit, &config);
    begin(&kit, "Please write a Python function that adds two numbers", NULL);
    assert_true(matched(&kit, SR_SIGNAL_PREFERENCE, "code"));
    assert_false(matched(&kit, SR_SIGNAL_PREFERENCE, "verse"));
    begin(&kit, "Write me a poem, or a song", NULL);
    assert_false(matched(&kit, SR_SIGNAL_PREFERENCE, "code"));
    assert_true(matched(&kit, SR_SIGNAL_PREFERENCE, "verse"));
    begin(&kit, "How tall is the Eiffel tower?", NULL); /* the nearest is not near enough */
    assert_false(matched(&kit, SR_SIGNAL_PREFERENCE, "code"));
    begin(&kit, "", NULL);
    assert_false(matched(&kit, SR_SIGNAL_PREFERENCE, "code"));
    kit_close(&kit);
}

static struct sr_config_keyword keywords[] = {
    {.name = "python", .keywords = STRINGS("python")},
    {.name = "slow", .method = SR_KEYWORD_REGEX, .keywords = STRINGS("(a+)+$")}};

static void test_complexity(void **state)
{
    (void)state;
    struct sr_config_complexity rules[] = {
        {.name = "c",
         .threshold = 0.1,
         .hard_above = NAN,
         .easy_below = NAN,
         .hard =
             STRINGS("Design a distributed database with strong consistency", "Prove the theorem rigorously"),
         .easy = STRINGS("Say hello", "What time is it?")},
        {.name = "composed",
         .threshold = 0.1,
         .hard_above = NAN,
         .easy_below = NAN,
         .hard =
             STRINGS("Design a distributed database with strong consistency", "Prove the theorem rigorously"),
         .easy = STRINGS("Say hello", "What time is it?"),
         .composer = LEAF("keyword", "python"),
         .has_composer = true},
        {.name = "pair",
         .hard_above = 2,
         .easy_below = -2,
         .hard = STRINGS("Design a distributed database"),
         .easy = STRINGS("Say hello")},
    };
    struct sr_config config = base();
    struct kit kit;
    config.complexities = rules;
    config.n_complexities = 3;
    config.keywords = keywords;
    config.n_keywords = 1;
    open_kit(&kit, &config);
    assert_int_equal(sr_signals_needs(kit.signals, SR_SIGNAL_COMPLEXITY), UINT32_C(1) << SR_SIGNAL_KEYWORD);
    begin(&kit, "Design a consistent distributed database in Python and prove it correct", NULL);
    result_of(&kit, SR_SIGNAL_KEYWORD);
    assert_true(matched(&kit, SR_SIGNAL_COMPLEXITY, "c:hard"));
    assert_false(matched(&kit, SR_SIGNAL_COMPLEXITY, "c:medium") ||
                 matched(&kit, SR_SIGNAL_COMPLEXITY, "c:easy"));
    assert_true(matched(&kit, SR_SIGNAL_COMPLEXITY, "composed:hard"));
    assert_true(matched(&kit, SR_SIGNAL_COMPLEXITY, "pair:medium"));
    begin(&kit, "Design a consistent distributed database and prove it correct", NULL);
    /* It is finished only when what it needs is there. */
    result_of(&kit, SR_SIGNAL_COMPLEXITY);
    result_of(&kit, SR_SIGNAL_KEYWORD);
    assert_true(matched(&kit, SR_SIGNAL_COMPLEXITY, "c:hard"));
    assert_false(matched(&kit, SR_SIGNAL_COMPLEXITY, "composed:hard"));
    begin(&kit, "hello, what time is it now?", NULL);
    result_of(&kit, SR_SIGNAL_KEYWORD);
    assert_true(matched(&kit, SR_SIGNAL_COMPLEXITY, "c:easy"));
    kit_close(&kit);
}

static void test_kb(void **state)
{
    (void)state;
    struct sr_config_kb_rule rules[] = {
        {"math", "mmlu_kb", 0, "math", 1},         {"law", "mmlu_kb", 0, "law", 1},
        {"escalate", "mmlu_kb", 1, "escalate", 1}, {"keep", "mmlu_kb", 1, "keep", 1},
        {"any law", "mmlu_kb", 0, "law", 0},
    };
    struct sr_config config = base();
    struct kit kit;
    config.kb_rules = rules;
    config.n_kb_rules = 5;
    open_kit(&kit, &config);
    begin(&kit, "Two fair dice are rolled. What is the probability that the sum is a prime number?", NULL);
    assert_true(matched(&kit, SR_SIGNAL_KB, "math") && matched(&kit, SR_SIGNAL_KB, "escalate"));
    assert_false(matched(&kit, SR_SIGNAL_KB, "law") || matched(&kit, SR_SIGNAL_KB, "keep"));
    assert_true(matched(&kit, SR_SIGNAL_KB, "any law") ==
                (result_of(&kit, SR_SIGNAL_KB)->hits[4].value >= 0)); /* its threshold is 0 */
    assert_false(matched(&kit, SR_SIGNAL_KB, "mmlu_kb/best_score"));  /* a number, no match */
    int margin = sr_signals_find_rule(kit.signals, SR_SIGNAL_KB, SR_LIT("mmlu_kb/escalate_vs_keep"));
    assert_true(margin >= 0 && result_of(&kit, SR_SIGNAL_KB)->hits[margin].value > 0);
    kit_close(&kit);
}

static void test_kb_file(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int rc;
    } cases[] = {
        {"{\"labels\":{\"b\":{\"exemplars\":[\"x\",\"\"]},\"a\":{\"exemplars\":[\"y\"]},\"c\":{}}}", SR_OK},
        {"{\"labels\":{}}", SR_EINVAL},
        {"{}", SR_EINVAL},
        {"[]", SR_EINVAL},
        {"{\"labels\":{\"a\":{\"exemplars\":[7]}}}", SR_EINVAL},
        {"{\"labels\":{\"a\":", SR_EPARSE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_kb_labels labels;
        struct sr_arena arena;
        struct sr_err err = {0};
        sr_arena_init(&arena, 1 << 20);
        assert_int_equal(sr_kb_parse(&labels, sr_bytes_str(cases[i].json), &arena, &err), cases[i].rc);
        if (cases[i].rc == SR_OK) {
            assert_int_equal(labels.n, 2);
            assert_string_equal(labels.items[0].name, "a");
            assert_int_equal(labels.items[1].texts.count, 1);
        }
        sr_arena_dispose(&arena);
    }
}

static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int fact, feedback; /* labels; -1: none */
    } cases[] = {
        {"Who was the first president of the United States?", 1, -1},
        {"When did the Berlin wall fall?", 1, -1},
        {"What is the height of Mount Everest?", 1, -1},
        {"Write a short story about a robot", 0, -1},
        {"Write a Python function for a binary search tree", 0, -1},
        {"Thank you, that works!", 0, 0},
        {"I don't understand this step, can you explain it again?", 0, 1},
        {"That answer is wrong", 0, 2},
        {"Your code does not compile", 0, 2},
        {"Give me another option", 0, 3},
    };
    struct sr_config_label facts_rules[] = {{"no", "", 0}, {"yes", "", 1}};
    struct sr_config_label feedback_rules[] = {{"0", "", 0}, {"1", "", 1}, {"2", "", 2}, {"3", "", 3}};
    struct sr_config config = base();
    struct kit kit;
    config.fact_checks = facts_rules;
    config.n_fact_checks = 2;
    config.feedbacks = feedback_rules;
    config.n_feedbacks = 4;
    open_kit(&kit, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_signal_facts facts = {.replied = true};
        begin(&kit, cases[i].text, &facts);
        const struct sr_signal_result *result = result_of(&kit, SR_SIGNAL_FACT_CHECK);
        if (!result->hits[cases[i].fact].matched || result->hits[!cases[i].fact].matched)
            fail_msg("%s", cases[i].text);
        result = result_of(&kit, SR_SIGNAL_USER_FEEDBACK);
        for (int k = 0; k < 4; k++)
            if (result->hits[k].matched != (k == cases[i].feedback))
                fail_msg("%s: %d", cases[i].text, k);
        /* The vector was computed once for both. */
        assert_int_equal(result->scanned_bytes, strlen(cases[i].text));
    }
    begin(&kit, "That answer is wrong", NULL); /* there is no answer yet */
    assert_false(matched(&kit, SR_SIGNAL_USER_FEEDBACK, "2"));
    kit_close(&kit);
}

static void test_projection(void **state)
{
    (void)state;
    struct sr_config_label facts_rules[] = {{"needs_fact_check", "", 1}};
    struct sr_config_score_input inputs[] = {
        {.type = "keyword", .name = "python", .kb = "", .metric = "", .weight = 0.5, .match = 1},
        {.type = "fact_check", .name = "needs_fact_check", .weight = 0.25, .match = 2, .miss = -1},
        {.type = "context", .name = "all", .weight = 0.01, .value = SR_PROJECTION_RAW},
    };
    struct sr_config_score scores[] = {{"s", inputs, 3}};
    struct sr_config_band bands[] = {
        {"low", {NAN, NAN, 0.3, NAN}}, {"mid", {NAN, 0.3, NAN, NAN}}, {"all", NO_PREDICATE}};
    struct sr_config_mapping mappings[] = {{"first", "s", 0, 12, bands, 3}, {"every", "s", 1, 12, bands, 3}};
    struct sr_config_context contexts[] = {{"all", 0, UINT64_MAX}};
    struct sr_config config = base();
    struct kit kit;
    config.keywords = keywords;
    config.n_keywords = 1;
    config.contexts = contexts;
    config.n_contexts = 1;
    config.fact_checks = facts_rules;
    config.n_fact_checks = 1;
    config.scores = scores;
    config.n_scores = 1;
    config.mappings = mappings;
    config.n_mappings = 2;
    open_kit(&kit, &config);
    assert_int_equal(sr_signals_needs(kit.signals, SR_SIGNAL_PROJECTION),
                     UINT32_C(1) << SR_SIGNAL_KEYWORD | UINT32_C(1) << SR_SIGNAL_FACT_CHECK |
                         UINT32_C(1) << SR_SIGNAL_CONTEXT);
    begin(&kit, "Write a Python function for a web form", NULL); /* 38 bytes: 9 tokens */
    result_of(&kit, SR_SIGNAL_KEYWORD);
    result_of(&kit, SR_SIGNAL_FACT_CHECK);
    result_of(&kit, SR_SIGNAL_CONTEXT);
    const struct sr_signal_result *result = result_of(&kit, SR_SIGNAL_PROJECTION);
    static const bool wanted[] = {false, true, false, false, true, true};
    assert_int_equal(result->n_hits, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_true(fabs(result->hits[i].value - (0.5 - 0.25 + 0.09)) < 1e-6);
        assert_int_equal(result->hits[i].matched, wanted[i]);
    }
    assert_true(fabs((double)result->hits[1].confidence - 1 / (1 + exp(-12 * 0.04))) < 1e-4);
    kit_close(&kit);
}

static void test_partition(void **state)
{
    (void)state;
    struct sr_config_embedding rules[] = {
        {.name = "sort", .threshold = 0.3, .candidates = STRINGS("How do I sort a list in Python?")},
        {.name = "list", .threshold = 0.3, .candidates = STRINGS("Python lists")},
        {.name = "apart", .threshold = 0.1, .candidates = STRINGS("sorting")},
    };
    struct sr_config_partition partitions[] = {
        {.name = "p", .temperature = 1, .members = STRINGS("sort", "list"), .fallback = "list"}};
    struct sr_config config = base();
    struct kit kit;
    config.embeddings = rules;
    config.n_embeddings = 3;
    open_kit(&kit, &config);
    begin(&kit, "How do I sort a list in Python?", NULL);
    assert_true(matched(&kit, SR_SIGNAL_EMBEDDING, "sort") && matched(&kit, SR_SIGNAL_EMBEDDING, "list"));
    kit_close(&kit);
    config.partitions = partitions;
    config.n_partitions = 1;
    for (int softmax = 0; softmax < 2; softmax++) {
        partitions[0].softmax = softmax;
        open_kit(&kit, &config);
        begin(&kit, "How do I sort a list in Python?", NULL);
        const struct sr_signal_result *result = result_of(&kit, SR_SIGNAL_EMBEDDING);
        assert_true(result->hits[0].matched && !result->hits[1].matched && result->hits[2].matched);
        assert_true(softmax ? result->hits[0].confidence < 0.9f : result->hits[0].confidence > 0.99f);
        begin(&kit, "The weather was fine in May", NULL); /* none matches: the default does */
        result = result_of(&kit, SR_SIGNAL_EMBEDDING);
        assert_true(!result->hits[0].matched && result->hits[1].matched);
        kit_close(&kit);
    }
}

/* Without an encoder the rules fail; nothing else does. */
static void test_no_encoder(void **state)
{
    (void)state;
    struct sr_config_reask rules[] = {{"once", "", 0.8, 1}};
    struct sr_config config = {.path = "", .reasks = rules, .n_reasks = 1};
    struct sr_err err = {0};
    struct sr_signals *signals = NULL;
    config.global.inference.encoder = SR_SOURCE_DIR "/nowhere";
    assert_int_equal(sr_signals_new(&signals, &config, models, &err), SR_ENOENT);
    assert_non_null(strstr(err.message, "routing.signals.reasks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reask),      cmocka_unit_test(test_preference),
        cmocka_unit_test(test_complexity), cmocka_unit_test(test_kb),
        cmocka_unit_test(test_kb_file),    cmocka_unit_test(test_labels),
        cmocka_unit_test(test_projection), cmocka_unit_test(test_partition),
        cmocka_unit_test(test_no_encoder),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
