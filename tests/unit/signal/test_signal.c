/* Context, structure, language, domain; the input block. */
#include "tests/unit/signal_kit.h"

#include "base/utf8.h"

#include <stdlib.h>

static void test_input(void **state)
{
    (void)state;
    struct sr_signal_input *input = sr_signal_input_new(SR_LIT("a\xFFz\xE4\xB8"), 7);
    assert_int_equal(input->text.n, 5);
    assert_memory_equal(input->text.p, "a?z??", 6);
    assert_int_equal(input->total_tokens, 1);
    assert_ptr_equal(sr_signal_input_ref(input), input);
    sr_signal_input_unref(input);
    sr_signal_input_unref(input);
    input = sr_signal_input_new(SR_LIT(""), 0);
    assert_int_equal(input->total_tokens, 0);
    sr_signal_input_unref(input);
    sr_signal_input_unref(NULL);
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(sr_signal_find_type(SR_LIT("context")), SR_SIGNAL_CONTEXT);
    assert_int_equal(sr_signal_find_type(SR_LIT("domain")), SR_SIGNAL_DOMAIN);
    assert_int_equal(sr_signal_find_type(SR_LIT("Domain")), -1);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        assert_int_equal(sr_signal_find_type(sr_bytes_str(sr_signal_registry[type]->name)), type);
}

static void test_nothing_configured(void **state)
{
    (void)state;
    struct sr_config config = {.path = ""};
    struct kit kit;
    kit_open(&kit, &config);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = kit_run(&kit, (enum sr_signal_type)type, SR_LIT("text"));
        assert_int_equal(result->status, SR_OK);
        assert_int_equal(result->n_hits, 0);
    }
    kit_close(&kit);
}

static void test_context(void **state)
{
    (void)state;
    struct sr_config_context rules[] = {{"short", 0, 10}, {"long", 11, UINT64_MAX}, {"ten", 10, 10}};
    struct sr_config config = {.contexts = rules, .n_contexts = 3};
    struct kit kit;
    kit_open(&kit, &config);
    const struct sr_signal_result *result =
        kit_run(&kit, SR_SIGNAL_CONTEXT, SR_LIT("forty bytes are ten tokens by the rule.."));
    assert_true(result->hits[0].matched && result->hits[2].matched);
    assert_false(result->hits[1].matched);
    assert_true(result->hits[0].value == 10.0 && result->hits[0].confidence == 1.0f);
    result = kit_run(&kit, SR_SIGNAL_CONTEXT, SR_LIT("forty-four bytes are eleven tokens by the rule"));
    assert_false(result->hits[0].matched);
    assert_true(result->hits[1].matched);
    kit_close(&kit);
}

static struct sr_signal_hit measure(struct sr_config_structure rule, const char *text)
{
    struct sr_config config = {.structures = &rule, .n_structures = 1};
    struct kit kit;
    kit_open(&kit, &config);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_STRUCTURE, sr_bytes_str(text));
    assert_int_equal(result->status, SR_OK);
    struct sr_signal_hit hit = result->hits[0];
    kit_close(&kit);
    return hit;
}

static void test_structure_regex(void **state)
{
    (void)state;
    struct sr_config_structure rule = {.name = "q",
                                       .feature = SR_STRUCTURE_COUNT,
                                       .source = SR_STRUCTURE_REGEX,
                                       .pattern = "[?\\x{FF1F}]",
                                       .predicate = NO_PREDICATE};
    assert_true(measure(rule, "why? how? 为什么\xEF\xBC\x9F").value == 3);
    assert_true(measure(rule, "why? how?").matched);
    assert_false(measure(rule, "no question").matched);
    rule.predicate.gte = 3;
    assert_false(measure(rule, "why? how?").matched);
    assert_true(measure(rule, "why? how? who?").matched);
    rule.feature = SR_STRUCTURE_EXISTS;
    rule.predicate.gte = NAN;
    assert_true(measure(rule, "why? how?").value == 1);
    rule.feature = SR_STRUCTURE_DENSITY;
    assert_true(measure(rule, "why is it so?").value == 0.25);
    assert_true(measure(rule, "").value == 0);
    rule.predicate.lt = 0.2;
    assert_false(measure(rule, "why is it so?").matched);
}

static void test_structure_words(void **state)
{
    (void)state;
    struct sr_config_structure rule = {.name = "w",
                                       .feature = SR_STRUCTURE_COUNT,
                                       .source = SR_STRUCTURE_KEYWORD_SET,
                                       .keywords = STRINGS("must", "should", "必须"),
                                       .predicate = NO_PREDICATE};
    assert_true(measure(rule, "You MUST and should, musty").value == 2);
    assert_true(measure(rule, "你必须去").value == 1);
    rule.case_sensitive = true;
    assert_true(measure(rule, "You MUST and should").value == 1);
    rule.feature = SR_STRUCTURE_DENSITY;
    assert_true(measure(rule, "you should go now").value == 0.25);
    rule.feature = SR_STRUCTURE_SEQUENCE;
    assert_false(measure(rule, "you should, you must").matched);
    assert_true(measure(rule, "you must, you should, 必须").matched);
}

static void test_structure_sequences(void **state)
{
    (void)state;
    struct sr_strings lists[] = {STRINGS("first", "then", "finally"), STRINGS("if", "else")};
    struct sr_config_structure rule = {.name = "s",
                                       .feature = SR_STRUCTURE_SEQUENCE,
                                       .source = SR_STRUCTURE_SEQUENCES,
                                       .sequences = lists,
                                       .n_sequences = 2,
                                       .predicate = NO_PREDICATE};
    assert_true(measure(rule, "First do this, then that, and finally rest.").matched);
    assert_false(measure(rule, "Finally rest, then do this first").matched);
    assert_true(measure(rule, "First if, then, else finally").value == 1);
    rule.feature = SR_STRUCTURE_COUNT;
    assert_true(measure(rule, "First if, then, else finally").value == 2);
    lists[1] = (struct sr_strings)STRINGS("go", "go");
    assert_true(measure(rule, "go").value == 0);
    assert_true(measure(rule, "go go").value == 1);
}

static void test_bad_structure(void **state)
{
    (void)state;
    struct sr_config_structure rule = {.name = "broken",
                                       .feature = SR_STRUCTURE_COUNT,
                                       .source = SR_STRUCTURE_REGEX,
                                       .pattern = "[",
                                       .predicate = NO_PREDICATE};
    struct sr_config config = {.structures = &rule, .n_structures = 1};
    struct sr_signals *signals = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_signals_new(&signals, &config, NULL, &err), SR_EPARSE);
    assert_non_null(strstr(err.message, "broken"));
}

static void test_language(void **state)
{
    (void)state;
    struct sr_config_language rules[] = {{"en", 0.3}, {"zh", 0.3}, {"pt-BR", 0.3}, {"de", 0.99}};
    struct sr_config config = {.languages = rules, .n_languages = 4};
    struct kit kit;
    kit_open(&kit, &config);
    const struct sr_signal_result *result =
        kit_run(&kit, SR_SIGNAL_LANGUAGE, SR_LIT("What is the capital of this country?"));
    assert_true(result->hits[0].matched && !result->hits[1].matched && !result->hits[2].matched);
    assert_true(result->hits[0].confidence >= 0.3f && result->hits[0].confidence <= 1.0f);
    result = kit_run(&kit, SR_SIGNAL_LANGUAGE, SR_LIT("请告诉我这个国家的首都是哪里。"));
    assert_true(result->hits[1].matched && !result->hits[0].matched);
    result = kit_run(&kit, SR_SIGNAL_LANGUAGE,
                     SR_LIT("Você pode me explicar como funciona este programa de computador?"));
    assert_true(result->hits[2].matched);
    kit_close(&kit);
}

#define NO_DOMAIN_GLOBALS                                                                                    \
    {                                                                                                        \
        .domain_threshold = 0.6, .domain_fallback = "other", .domain_model = ""                              \
    }

static void test_domain(void **state)
{
    (void)state;
    struct sr_config_domain rules[] = {
        {.name = "math"},
        {.name = "nature", .mmlu_categories = STRINGS("Physics", "CHEMISTRY", "biology")},
        {.name = "code", .mmlu_categories = STRINGS("computer_science")},
        {.name = "other"}};
    struct sr_config config = {.domains = rules, .n_domains = 4, .global = NO_DOMAIN_GLOBALS};
    struct kit kit;
    kit_open(&kit, &config);
    const struct sr_signal_result *result =
        kit_run(&kit, SR_SIGNAL_DOMAIN,
                SR_LIT("Prove that the integral of the derivative of a polynomial equals it plus a constant, "
                       "and find the eigenvalues of the matrix."));
    assert_int_equal(result->status, SR_OK);
    assert_string_equal(result->tier, "linear");
    assert_int_equal(result->n_labels, 14);
    assert_string_equal(result->labels[result->top], "math");
    float sum = 0;
    for (size_t i = 0; i < result->n_labels; i++)
        sum += result->probabilities[i];
    assert_true(fabsf(sum - 1.0f) < 1e-3f);
    assert_true(result->entropy >= 0 && result->entropy <= 1);
    assert_true(result->hits[0].matched && !result->hits[1].matched && !result->hits[3].matched);
    assert_true(result->hits[0].confidence == result->probabilities[result->top]);
    result = kit_run(
        &kit, SR_SIGNAL_DOMAIN,
        SR_LIT("What force acts on an electron that moves through a magnetic field at the speed of light?"));
    assert_true(result->hits[1].matched && !result->hits[0].matched);
    kit_close(&kit);
}

static void test_domain_threshold_and_fallback(void **state)
{
    (void)state;
    struct sr_config_domain rules[] = {{.name = "math"},
                                       {.name = "rest", .mmlu_categories = STRINGS("Other")}};
    struct sr_config config = {.domains = rules, .n_domains = 2, .global = NO_DOMAIN_GLOBALS};
    struct kit kit;
    config.global.domain_threshold = 1.01;
    kit_open(&kit, &config);
    const struct sr_signal_result *result =
        kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT("Solve the equation x^2 = 4 for x."));
    assert_false(result->hits[0].matched);
    assert_true(result->hits[1].matched);
    assert_true(result->hits[1].confidence == result->probabilities[result->top]);
    kit_close(&kit);
    config.global.domain_fallback = "math";
    kit_open(&kit, &config);
    result = kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT("Solve the equation x^2 = 4 for x."));
    assert_true(result->hits[0].matched && !result->hits[1].matched);
    kit_close(&kit);
    config.global.domain_threshold = 0.0001;
    kit_open(&kit, &config);
    result = kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT("hello"));
    assert_true(result->entropy >= 0.4f && result->hits[0].matched && result->hits[1].matched);
    kit_close(&kit);
}

static void test_domain_model_file(void **state)
{
    (void)state;
    struct sr_config_domain rules[] = {{.name = "math"}};
    struct sr_config config = {.domains = rules, .n_domains = 1, .global = NO_DOMAIN_GLOBALS};
    struct sr_signals *signals = NULL;
    struct sr_err err = {0};
    struct kit kit;
    config.global.domain_model = SR_SOURCE_DIR "/models/domain-linear/model.safetensors";
    kit_open(&kit, &config);
    kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT("Solve the equation x^2 = 4 for x."));
    kit_close(&kit);
    config.global.domain_model = SR_SOURCE_DIR "/models/none.safetensors";
    assert_int_not_equal(sr_signals_new(&signals, &config, NULL, &err), SR_OK);
    assert_true(err.message[0] != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_nothing_configured),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_structure_regex),
        cmocka_unit_test(test_structure_words),
        cmocka_unit_test(test_structure_sequences),
        cmocka_unit_test(test_bad_structure),
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_domain),
        cmocka_unit_test(test_domain_threshold_and_fallback),
        cmocka_unit_test(test_domain_model_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
