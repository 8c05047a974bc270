/* Keyword rules: operators, case, scripts, expressions, BM25, n-grams, slips. */
#include "tests/unit/signal_kit.h"

#include <stdlib.h>

static struct sr_config_keyword rule_of(enum sr_keyword_operator op, enum sr_keyword_method method)
{
    return (struct sr_config_keyword){.name = "r",
                                      .op = op,
                                      .method = method,
                                      .fuzzy_threshold = 2,
                                      .bm25_threshold = 0.1,
                                      .ngram_threshold = 0.4,
                                      .ngram_arity = 3};
}

#define WITH(rule, ...) ((rule).keywords = (struct sr_strings)STRINGS(__VA_ARGS__))

static struct sr_signal_hit hit_of(const struct sr_config_keyword *rule, const char *text)
{
    struct sr_config_keyword copy = *rule;
    struct sr_config config = {.keywords = &copy, .n_keywords = 1};
    struct kit kit;
    kit_open(&kit, &config);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_KEYWORD, sr_bytes_str(text));
    assert_int_equal(result->status, SR_OK);
    assert_int_equal(result->n_hits, 1);
    struct sr_signal_hit hit = result->hits[0];
    kit_close(&kit);
    assert_true(hit.confidence == (hit.matched ? 1.0f : 0.0f));
    return hit;
}

static bool matches(const struct sr_config_keyword *rule, const char *text)
{
    return hit_of(rule, text).matched;
}

static void test_operators(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
    WITH(rule, "kubernetes", "docker");
    assert_true(matches(&rule, "my Docker image"));
    assert_false(matches(&rule, "my dockers"));
    assert_true(hit_of(&rule, "docker on Kubernetes").value == 2);
    rule.op = SR_KEYWORD_AND;
    assert_false(matches(&rule, "my Docker image"));
    assert_true(matches(&rule, "docker, kubernetes"));
    rule.op = SR_KEYWORD_NOR;
    assert_false(matches(&rule, "my Docker image"));
    assert_true(matches(&rule, "my ship"));
    assert_true(matches(&rule, ""));
}

static void test_quoting_and_case(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
    WITH(rule, "a.c", "C++", "ASAP");
    assert_false(matches(&rule, "abc"));
    assert_true(matches(&rule, "see a.c"));
    assert_true(matches(&rule, "in C++, please"));
    assert_true(matches(&rule, "asap!"));
    rule.case_sensitive = true;
    assert_false(matches(&rule, "asap!"));
    assert_true(matches(&rule, "ASAP!"));
}

static void test_languages(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
    WITH(rule, "人工智能", "срочно", "größe", "파이썬", "ação", "عاجل");
    assert_true(matches(&rule, "请解释人工智能的历史"));
    assert_true(matches(&rule, "СРОЧНО нужен ответ"));
    assert_true(matches(&rule, "Welche GRÖSSE hat das?"));
    assert_true(matches(&rule, "파이썬을 배우고 싶어요"));
    assert_true(matches(&rule, "plano de AÇÃO"));
    assert_true(matches(&rule, "هذا عاجل جدا"));
    assert_false(matches(&rule, "关于智能手机"));
}

static void test_many_rules_share_a_scan(void **state)
{
    (void)state;
    struct sr_config_keyword rules[3] = {rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS),
                                         rule_of(SR_KEYWORD_AND, SR_KEYWORD_WORDS),
                                         rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS)};
    struct sr_config config = {.keywords = rules, .n_keywords = 3};
    struct kit kit;
    rules[1].name = "both";
    rules[2].name = "exact";
    rules[2].case_sensitive = true;
    WITH(rules[0], "sql", "join");
    WITH(rules[1], "sql", "index");
    WITH(rules[2], "SQL");
    kit_open(&kit, &config);
    assert_int_equal(sr_signals_rules(kit.signals, SR_SIGNAL_KEYWORD), 3);
    assert_int_equal(sr_signals_find_rule(kit.signals, SR_SIGNAL_KEYWORD, SR_LIT("both")), 1);
    assert_int_equal(sr_signals_find_rule(kit.signals, SR_SIGNAL_KEYWORD, SR_LIT("none")), -1);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_KEYWORD, SR_LIT("an sql index"));
    assert_true(result->hits[0].matched);
    assert_true(result->hits[1].matched);
    assert_false(result->hits[2].matched);
    kit_close(&kit);
}

static void test_regex(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_REGEX);
    WITH(rule, "err(or)?\\s+\\d+", "^сро");
    assert_true(matches(&rule, "an ERROR  404"));
    assert_true(matches(&rule, "Срочно"));
    assert_false(matches(&rule, "errors"));
    rule.op = SR_KEYWORD_AND;
    assert_false(matches(&rule, "an ERROR  404"));
    assert_true(matches(&rule, "срок: err 5"));
    rule.op = SR_KEYWORD_NOR;
    assert_true(matches(&rule, "nothing"));
    assert_false(matches(&rule, "err 5"));
}

static void assert_refused(struct sr_config_keyword *rule, int code, const char *word)
{
    struct sr_config config = {.keywords = rule, .n_keywords = 1};
    struct sr_signals *signals = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_signals_new(&signals, &config, NULL, &err), code);
    assert_non_null(strstr(err.message, word));
}

static void test_bad_rules(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_REGEX);
    WITH(rule, "fine", "(open");
    assert_refused(&rule, SR_EPARSE, "keyword 2");
    rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_BM25);
    WITH(rule, "word");
    rule.fuzzy_match = true;
    assert_refused(&rule, SR_EUNSUPPORTED, "fuzzy_match");
}

static void test_hostile_regex_is_an_error(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_REGEX);
    struct sr_config config = {.keywords = &rule, .n_keywords = 1};
    struct kit kit;
    char text[4000];
    WITH(rule, "(a+)+$");
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 'b';
    kit_open(&kit, &config);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_KEYWORD, sr_bytes_of(text, sizeof text));
    assert_int_equal(result->status, SR_ELIMIT);
    assert_int_equal(result->n_hits, 0);
    kit_close(&kit);
}

static void test_bm25(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_BM25);
    WITH(rule, "code review", "pull request", "state of the art");
    assert_true(matches(&rule, "Could you review my change?"));
    assert_true(matches(&rule, "three pull requests are open"));
    assert_false(matches(&rule, "the weather of the day"));
    assert_false(matches(&rule, ""));
    double one = hit_of(&rule, "review").value, two = hit_of(&rule, "code review").value;
    assert_true(two > one && one > 0.1);
    rule.bm25_threshold = (one + two) / 2;
    assert_false(matches(&rule, "review"));
    assert_true(matches(&rule, "review of code"));
    rule.op = SR_KEYWORD_NOR;
    assert_true(matches(&rule, "hello"));
    rule.op = SR_KEYWORD_AND;
    rule.bm25_threshold = 0.1;
    assert_false(matches(&rule, "review"));
    assert_true(matches(&rule, "art review: request it"));
}

static void test_bm25_chinese(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_BM25);
    WITH(rule, "人工智能", "税");
    assert_true(matches(&rule, "我想了解人工智能的发展"));
    assert_true(matches(&rule, "智能手机"));
    assert_false(matches(&rule, "人和工厂"));
    assert_true(matches(&rule, "a 税 b"));
    assert_false(matches(&rule, "今天天气很好"));
}

static void test_ngram(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_NGRAM);
    WITH(rule, "kubernetes", "machine learning", "人工智能");
    assert_true(matches(&rule, "how do I scale kubernets pods"));
    assert_true(matches(&rule, "Machin learning is fun"));
    assert_true(matches(&rule, "谈谈人工智能吧"));
    assert_false(matches(&rule, "a cube in a net"));
    assert_true(hit_of(&rule, "KUBERNETES").value == 1.0);
    rule.ngram_threshold = 0.95;
    assert_false(matches(&rule, "kubernets"));
    rule.ngram_arity = 2;
    assert_true(matches(&rule, "kubernetes"));
    rule.ngram_threshold = 0.4;
    assert_true(matches(&rule, "人工智慧"));
    rule.case_sensitive = true;
    assert_false(matches(&rule, "KUBERNETES"));
}

static void test_fuzzy(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
    WITH(rule, "urgent", "credit card", "sql");
    assert_false(matches(&rule, "this is urgnet"));
    rule.fuzzy_match = true;
    assert_true(matches(&rule, "this is urgnet"));
    assert_true(matches(&rule, "my Credti card"));
    assert_true(matches(&rule, "my credit cards"));
    assert_false(matches(&rule, "this is a gene"));
    assert_false(matches(&rule, "credit the cart"));
    assert_false(matches(&rule, "all"));
    assert_true(matches(&rule, "sq"));
    rule.fuzzy_threshold = 1;
    assert_false(matches(&rule, "this is urgnet"));
    assert_true(matches(&rule, "this is urgen"));
    rule.fuzzy_threshold = 0;
    assert_false(matches(&rule, "this is urgen"));
}

static void test_fuzzy_other_scripts(void **state)
{
    (void)state;
    struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
    rule.fuzzy_match = true;
    WITH(rule, "срочно", "größe");
    assert_true(matches(&rule, "СРОЧЬНО"));
    assert_true(matches(&rule, "Welche Grösse"));
    assert_true(matches(&rule, "Welche grose"));
    assert_false(matches(&rule, "почта тут"));
}

/* Random words against the textbook's table. */
static int table_distance(const char *a, const char *b)
{
    int row[80];
    size_t n = strlen(a), m = strlen(b);
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int cost = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = row[j] + 1 < cost ? row[j] + 1 : cost;
            row[j] = row[j - 1] + 1 < row[j] ? row[j - 1] + 1 : row[j];
        }
    }
    return row[m];
}

static void random_word(char *out, size_t max, int letters)
{
    size_t n = 1 + (size_t)rand() % max;
    for (size_t i = 0; i < n; i++)
        out[i] = (char)('a' + rand() % letters);
    out[n] = 0;
}

static void test_fuzzy_equals_table(void **state)
{
    (void)state;
    srand(11);
    for (int round = 0; round < 3000; round++) {
        char keyword[80], word[80];
        random_word(keyword, round % 3 ? 8 : 64, 3);
        random_word(word, round % 3 ? 8 : 64, 3);
        if (round % 3 == 0) {
            strcpy(word, keyword);
            word[(size_t)rand() % strlen(word)] = 'z';
        }
        struct sr_config_keyword rule = rule_of(SR_KEYWORD_OR, SR_KEYWORD_WORDS);
        rule.fuzzy_match = true;
        rule.fuzzy_threshold = rand() % 5;
        WITH(rule, keyword);
        int distance = table_distance(keyword, word), half = (int)strlen(keyword) / 2;
        bool expected = distance <= rule.fuzzy_threshold && distance <= half;
        assert_int_equal(matches(&rule, word), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_quoting_and_case),
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_many_rules_share_a_scan),
        cmocka_unit_test(test_regex),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_hostile_regex_is_an_error),
        cmocka_unit_test(test_bm25),
        cmocka_unit_test(test_bm25_chinese),
        cmocka_unit_test(test_ngram),
        cmocka_unit_test(test_fuzzy),
        cmocka_unit_test(test_fuzzy_other_scripts),
        cmocka_unit_test(test_fuzzy_equals_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
