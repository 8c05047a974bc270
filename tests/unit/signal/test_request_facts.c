/* The signals that read what a request is apart from its text: conversation, metadata, event, authz,
 * modality. */
#include "tests/unit/signal_kit.h"

#include <math.h>

/* Runs a type over a text with facts; no facts: NULL. */
static const struct sr_signal_result *run_with(struct kit *kit, enum sr_signal_type type, const char *text,
                                               const struct sr_signal_facts *facts)
{
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
    if (kit->run)
        sr_signal_run_dispose(kit->run);
    if (facts)
        assert_int_equal(sr_signal_input_add_facts(input, facts), SR_OK);
    assert_int_equal(
        sr_signal_run_new(&kit->run, kit->signals, input, (struct sr_signal_env){NULL, NULL, 0}, &kit->arena),
        SR_OK);
    sr_signal_input_unref(input);
    assert_int_equal(sr_signal_run_start(kit->run, type, NULL, NULL), SR_OK);
    return sr_signal_run_result(kit->run, type);
}

#define CONVERSATION(rule, from, count, whose)                                                               \
    {                                                                                                        \
        .name = rule, .description = "", .counts = count, .source = SR_CONVERSATION_##from, .role = whose,   \
        .predicate = NO_PREDICATE                                                                            \
    }

static void test_conversation(void **state)
{
    (void)state;
    static struct sr_config_conversation rules[] = {
        CONVERSATION("users", MESSAGE, 1, "user"),     CONVERSATION("others", MESSAGE, 1, "non_user"),
        CONVERSATION("all", MESSAGE, 1, ""),           CONVERSATION("developer", MESSAGE, 1, "developer"),
        CONVERSATION("tools", TOOL_DEFINITION, 1, ""), CONVERSATION("required", TOOL_CHOICE_REQUIRED, 0, ""),
        CONVERSATION("none", TOOL_CHOICE_NONE, 0, ""), CONVERSATION("calls", TOOL_CALL, 1, ""),
        CONVERSATION("cycles", TOOL_CYCLE, 0, ""),     CONVERSATION("loop", TOOL_LOOP, 0, ""),
        CONVERSATION("images", IMAGE, 0, ""),
    };
    static const double values[] = {3, 6, 9, 1, 4, 1, 0, 5, 1, 0, 1};
    struct sr_config config = {.conversations = rules, .n_conversations = sizeof rules / sizeof rules[0]};
    struct sr_signal_facts facts = {.users = 3,
                                    .assistants = 2,
                                    .systems = 1,
                                    .tools = 2,
                                    .developer = true,
                                    .definitions = 4,
                                    .calls = 5,
                                    .results = 2,
                                    .images = 7,
                                    .tools_required = true};
    struct kit kit;
    rules[0].predicate.gte = 4;
    kit_open(&kit, &config);
    const struct sr_signal_result *result = run_with(&kit, SR_SIGNAL_CONVERSATION, "hello", &facts);
    for (size_t i = 0; i < result->n_hits; i++)
        if (result->hits[i].value != values[i])
            fail_msg("%s: %g", rules[i].name, result->hits[i].value);
    assert_false(result->hits[0].matched); /* 3 is no 4 */
    assert_true(result->hits[1].matched && result->hits[1].confidence == 1.0f);
    assert_true(result->hits[5].matched && !result->hits[6].matched && result->hits[10].matched);
    /* Without facts nothing is there; a count without a predicate always matches. */
    result = run_with(&kit, SR_SIGNAL_CONVERSATION, "hello", NULL);
    assert_true(result->hits[4].matched && result->hits[4].value == 0);
    assert_false(result->hits[5].matched);
    kit_close(&kit);
}

static void test_metadata(void **state)
{
    (void)state;
    struct sr_config_metadata rules[] = {
        {.name = "equals", .key = "cohort", .equals = "canary"},
        {.name = "in", .key = "cohort", .in = STRINGS("stable", "canary")},
        {.name = "there", .key = "cohort", .exists = true},
        {.name = "gone", .key = "cohort", .exists = false},
        {.name = "empty", .key = "cohort", .equals = ""},
    };
    static const struct {
        const char *value; /* NULL: no such key */
        bool matched[5];
    } cases[] = {
        {"canary", {true, true, true, false, false}},
        {"Canary", {false, false, true, false, false}},
        {"", {false, false, true, false, true}},
        {NULL, {false, false, false, true, false}},
    };
    struct sr_config config = {.metadatas = rules, .n_metadatas = 5};
    struct kit kit;
    kit_open(&kit, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_signal_entry entries[] = {
            {SR_LIT("other"), SR_LIT("canary")},
            {SR_LIT("cohort"), sr_bytes_str(cases[i].value ? cases[i].value : "")}};
        struct sr_signal_facts facts = {.metadata = entries, .n_metadata = cases[i].value ? 2 : 1};
        const struct sr_signal_result *result = run_with(&kit, SR_SIGNAL_METADATA, "hello", &facts);
        for (size_t k = 0; k < 5; k++)
            if (result->hits[k].matched != cases[i].matched[k])
                fail_msg("case %zu, rule %s", i, rules[k].name);
    }
    kit_close(&kit);
}

static void test_authz(void **state)
{
    (void)state;
    struct sr_config_subject ann[] = {{0, "ann"}}, staff[] = {{1, "staff"}, {0, "bob"}}, eve[] = {{0, "eve"}};
    struct sr_config_binding bindings[] = {
        {.role = "admin", .name = "a", .subjects = ann, .n_subjects = 1},
        {.role = "user", .name = "b", .subjects = staff, .n_subjects = 2},
        {.role = "admin", .name = "c", .subjects = eve, .n_subjects = 1},
    };
    static const struct sr_bytes groups[] = {{"guests", 6}, {"staff", 5}};
    static const struct {
        const char *user;
        size_t n_groups;
        bool admin, common;
    } cases[] = {{"ann", 0, true, false}, {"ann", 2, true, true},   {"bob", 1, false, true},
                 {"eve", 0, true, false}, {"Ann", 0, false, false}, {"staff", 0, false, false}};
    struct sr_config config = {.bindings = bindings, .n_bindings = 3};
    struct kit kit;
    kit_open(&kit, &config);
    assert_int_equal(sr_signals_rules(kit.signals, SR_SIGNAL_AUTHZ), 2); /* a role once */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_signal_facts facts = {
            .user = sr_bytes_str(cases[i].user), .groups = groups, .n_groups = cases[i].n_groups};
        const struct sr_signal_result *result = run_with(&kit, SR_SIGNAL_AUTHZ, "hello", &facts);
        if (result->hits[0].matched != cases[i].admin || result->hits[1].matched != cases[i].common)
            fail_msg("%s", cases[i].user);
    }
    /* Nobody is asking: the signal fails, and on_error decides. */
    struct sr_signal_facts nobody = {.groups = groups, .n_groups = 2};
    assert_int_equal(run_with(&kit, SR_SIGNAL_AUTHZ, "hello", &nobody)->status, SR_ENOENT);
    assert_int_equal(run_with(&kit, SR_SIGNAL_AUTHZ, "hello", NULL)->status, SR_ENOENT);
    kit_close(&kit);
}

static void test_event(void **state)
{
    (void)state;
    struct sr_config_event rules[] = {
        {.name = "pay",
         .event_types = STRINGS("payment_failed", "  "),
         .severities = STRINGS("critical", "high")},
        {.name = "code", .action_codes = STRINGS("TXN_DECLINE")},
        {.name = "soon", .temporal = true},
    };
    static const struct {
        const char *text;
        float confidence[3]; /* 0: no match */
    } cases[] = {
        {"payment_failed, severity CRITICAL", {1, 0, 0}},
        {"Payment_Failed for order 7", {0.75f, 0, 0}},
        {"my payment_failedx", {0, 0, 0}},
        {"code txn_decline, time-sensitive", {0, 1, 1}},
        {"do it asap", {0, 0, 1}},
        {"The server is down, we need it back RIGHT NOW", {0, 0, 1}},
        {"Please handle this request immediately", {0, 0, 1}},
        {"Answer me now!", {0, 0, 1}},
        {"use sql now", {0, 0, 0}},
        {"What is known now about dark matter?", {0, 0, 0}},
        {"now(), then and snow", {0, 0, 0}},
        {"the highway is long, nowhere to go", {0, 0, 0}},
        {"", {0, 0, 0}},
    };
    struct sr_config config = {.events = rules, .n_events = 3};
    struct kit kit;
    kit_open(&kit, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sr_signal_result *result = run_with(&kit, SR_SIGNAL_EVENT, cases[i].text, NULL);
        for (size_t k = 0; k < 3; k++)
            if (result->hits[k].confidence != cases[i].confidence[k] ||
                result->hits[k].matched != (cases[i].confidence[k] > 0))
                fail_msg("%s: %s %g", cases[i].text, rules[k].name, (double)result->hits[k].confidence);
    }
    kit_close(&kit);
}

static void test_modality(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int label;
    } cases[] = {
        {"What is the capital of France?", 0},
        {"Generate an image of a cat on a bicycle", 1},
        {"draw me a dragon", 1},
        {"Draw a conclusion from these numbers", 0},
        {"Create a logo for my bakery", 1},
        {"Draw a picture of a cell and explain how it divides", 2},
        {"Make an illustration of the moon with a short caption", 2},
        {"Zeichne ein Bild von einem Haus", 1},
        {"画一只猫", 1},
        {"画一只猫并解释它的习性", 2},
        {"Describe this picture", 0},
        {"Write a poem and draw a picture of it", 2},
        {"Write a poem about the sea. Then paint a picture of it.", 2},
        {"Explain photosynthesis, then create a simple illustration", 2},
        {"Tell me a story about a fox; also make a drawing", 2},
        {"Write a poem about the sea and make it rhyme", 0},
        {"Schreib ein Gedicht und male ein Bild dazu", 2},
        {"Écris un poème et dessine une image du héros", 2},
        {"Escribe un poema y dibuja un retrato", 2},
        {"写一首诗，然后画一只猫", 2},
        {"Create a logo with the text ACME", 1},
        {"How do I draw a picture of a cat?", 0},
        {"Explain how to create an image with GIMP", 0},
        {"Write a Python script to generate an image", 0},
        {"Write a prompt to create a logo", 0},
        {"Create a Docker image for my service", 0},
        {"Give me the big picture", 0},
        {"Can you show me how to paint a portrait?", 0},
        {"Show me a photo of the Eiffel tower", 1},
        {"Generate image captions for this data", 0},
        {"Design an image processing pipeline", 0},
        {"Illustrate the concept of recursion with an example", 0},
        {"Sketch a proof of the theorem", 0},
        {"Paint a picture of how the economy works", 0},
        {"Write a poem about paint", 0},
        {"", 0},
    };
    struct sr_config_label rules[] = {{"AR", "", 0}, {"DIFFUSION", "", 1}, {"BOTH", "", 2}};
    struct sr_config config = {.modalities = rules, .n_modalities = 3};
    struct kit kit;
    kit_open(&kit, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sr_signal_result *result = run_with(&kit, SR_SIGNAL_MODALITY, cases[i].text, NULL);
        for (int k = 0; k < 3; k++)
            if (result->hits[k].matched != (k == cases[i].label))
                fail_msg("%s: %s", cases[i].text, rules[k].name);
    }
    kit_close(&kit);
    config.global.image_words = (struct sr_strings)STRINGS("fresco");
    config.global.both_words = (struct sr_strings)STRINGS("lyrics");
    kit_open(&kit, &config);
    assert_true(run_with(&kit, SR_SIGNAL_MODALITY, "a Fresco please", NULL)->hits[1].matched);
    assert_true(run_with(&kit, SR_SIGNAL_MODALITY, "a fresco with lyrics", NULL)->hits[2].matched);
    assert_true(run_with(&kit, SR_SIGNAL_MODALITY, "draw a picture of a cat", NULL)->hits[0].matched);
    kit_close(&kit);
}

/* The copy keeps nothing of the caller's, and has valid UTF-8. */
static void test_copy(void **state)
{
    (void)state;
    char user[] = "ann", group[] = "staff", key[] = "k", value[] = "v\xFF", turn[] = "t";
    struct sr_bytes groups[] = {sr_bytes_str(group)}, turns[] = {sr_bytes_str(turn)};
    struct sr_signal_entry entries[] = {{sr_bytes_str(key), sr_bytes_str(value)}};
    struct sr_signal_facts facts = {.user = sr_bytes_str(user),
                                    .groups = groups,
                                    .n_groups = 1,
                                    .metadata = entries,
                                    .n_metadata = 1,
                                    .turns = turns,
                                    .n_turns = 1};
    struct sr_signal_input *input = sr_signal_input_new(SR_LIT("x"), 1);
    assert_int_equal(sr_signal_input_add_facts(input, &facts), SR_OK);
    user[0] = group[0] = key[0] = value[0] = turn[0] = '-';
    assert_true(sr_bytes_eq(input->facts->user, SR_LIT("ann")));
    assert_true(sr_bytes_eq(input->facts->groups[0], SR_LIT("staff")));
    assert_true(sr_bytes_eq(input->facts->metadata[0].key, SR_LIT("k")));
    assert_true(sr_bytes_eq(input->facts->metadata[0].value, SR_LIT("v?")));
    assert_true(sr_bytes_eq(input->facts->turns[0], SR_LIT("t")));
    sr_signal_input_unref(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversation), cmocka_unit_test(test_metadata), cmocka_unit_test(test_authz),
        cmocka_unit_test(test_event),        cmocka_unit_test(test_modality), cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
