/*
 * Which signals read a long text compressed, when, and what the result reports; and the configuration of
 * that.
 */
#include "tests/unit/config_check.h"
#include "tests/unit/signal_kit.h"

#include "serve/admin/compress.h"

static struct sr_config_language languages[] = {{.name = "de"}, {.name = "en"}};
static struct sr_config_compression on = {.enabled = true, .profile = "default", .max_tokens = 40};

/* English at both ends, much German in between that a keyword sits in. */
static struct sr_buf long_text(void)
{
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    assert_int_equal(sr_buf_printf(&text,
                                   "The first sentence of this text is in English. So is the second one. "
                                   "And the third sentence is English as well. "),
                     SR_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sr_buf_printf(&text, "Hier steht ein deutscher Satz mit der Nummer %d. ", i), SR_OK);
    assert_int_equal(sr_buf_printf(&text, "Das Wort Xylograph steht auch da. "), SR_OK);
    for (int i = 0; i < 100; i++)
        assert_int_equal(sr_buf_printf(&text, "Hier steht noch ein deutscher Satz mit der Nummer %d. ", i),
                         SR_OK);
    assert_int_equal(sr_buf_printf(&text, "The last but one is English. What is the answer?"), SR_OK);
    return text;
}

struct seen {
    bool keyword, german, english, stats;
    struct sr_signal_brief_stats of;
};

static struct seen look(const struct sr_config_compression *compression)
{
    static const char *words[] = {"xylograph"};
    static struct sr_config_keyword keyword = {.name = "k"};
    keyword.keywords = (struct sr_strings){words, 1};
    struct sr_config config = {
        .keywords = &keyword, .n_keywords = 1, .languages = languages, .n_languages = 2};
    config.global.compression = *compression;
    struct sr_buf text = long_text();
    struct seen seen = {0};
    struct kit kit;
    kit_open(&kit, &config);
    struct sr_signal_input *input = sr_signal_input_new(sr_buf_view(&text), text.len);
    assert_int_equal(sr_signal_input_shorten(input, kit.signals, NULL), SR_OK);
    assert_int_equal(sr_signal_run_new(&kit.run, kit.signals, input, (struct sr_signal_env){0}, &kit.arena),
                     SR_OK);
    assert_int_equal(sr_signal_run_start(kit.run, SR_SIGNAL_KEYWORD, NULL, NULL), SR_OK);
    assert_false(sr_signal_input_stats(input, &seen.of)); /* nobody has wanted the short text yet */
    assert_int_equal(sr_signal_run_start(kit.run, SR_SIGNAL_LANGUAGE, NULL, NULL), SR_OK);
    seen.keyword = sr_signal_run_result(kit.run, SR_SIGNAL_KEYWORD)->hits[0].matched;
    const struct sr_signal_result *language = sr_signal_run_result(kit.run, SR_SIGNAL_LANGUAGE);
    seen.german = language->hits[0].matched;
    seen.english = language->hits[1].matched;
    seen.stats = sr_signal_input_stats(input, &seen.of);
    sr_signal_input_unref(input);
    kit_close(&kit);
    sr_buf_dispose(&text);
    return seen;
}

static void test_who_reads_what(void **state)
{
    (void)state;
    struct sr_config_compression off = on;
    off.enabled = false;
    struct seen whole = look(&off), brief = look(&on);
    assert_true(whole.keyword && whole.german && !whole.stats);
    assert_true(brief.keyword && brief.english && brief.stats);
    assert_true(brief.of.compressed_tokens <= 40 && brief.of.original_tokens > 1000 && brief.of.ns > 0);
}

static void test_exceptions(void **state)
{
    (void)state;
    static const char *skip[] = {"jailbreak", "language"};
    struct sr_config_compression c = on;
    c.skip_signals = (struct sr_strings){skip, 2};
    assert_false(look(&c).stats);
    c = on;
    c.min_length = 1 << 20;
    assert_false(look(&c).stats);
    c = on;
    c.max_tokens = 100000;
    assert_false(look(&c).stats);
    c.max_tokens = 0;
    assert_false(look(&c).stats);
}

/* The budget is counted by the model's own tokenizer. */
static void test_tokenizer(void **state)
{
    (void)state;
    struct sr_config_compression c = on;
    struct sr_err err = {0};
    struct sr_signals *signals = NULL;
    c.tokenizer = SR_SOURCE_DIR "/tests/golden/tokenizers/bert-uncased.json";
    struct seen exact = look(&c), estimated = look(&on);
    assert_true(exact.stats && exact.of.compressed_tokens <= 40);
    assert_int_not_equal(exact.of.compressed_tokens, estimated.of.compressed_tokens);
    struct sr_config config = {.languages = languages, .n_languages = 2};
    config.global.compression = c;
    config.global.compression.tokenizer = SR_SOURCE_DIR "/README.md";
    config.global.compression.tokenizer_at.line = 7;
    config.global.compression.tokenizer_at.column = 9;
    assert_int_equal(sr_signals_new(&signals, &config, NULL, &err), SR_EPARSE);
    assert_non_null(strstr(err.message, "`tokenizer`: " SR_SOURCE_DIR "/README.md: "));
    assert_true(err.line == 7 && err.column == 9);
}

static int ask(const char *body, struct sr_buf *out, struct sr_err *err)
{
    *err = (struct sr_err){0};
    sr_buf_clear(out);
    return sr_api_compress(sr_bytes_str(body), out, err);
}

static void test_api(void **state)
{
    (void)state;
    struct sr_buf out;
    struct sr_err err;
    sr_buf_init(&out, 1 << 20);
    assert_int_equal(
        ask("{\"text\":\"One \\u00e9t\\u00e9. Two.\",\"budget\":1,\"profile\":\"multi-turn\"}", &out, &err),
        200);
    assert_non_null(strstr(out.data, "\"text\":\"Two.\""));
    assert_non_null(strstr(out.data, "\"kept\":[{\"start\":11,\"end\":15,"));
    assert_int_equal(ask("{\"text\":\"\"}", &out, &err), 200);
    static const char *const wrong[] = {"",
                                        "{",
                                        "[]",
                                        "{\"text\":1}",
                                        "{\"text\":\"x\",\"budget\":0}",
                                        "{\"text\":\"x\",\"budget\":1.5}",
                                        "{\"text\":\"x\",\"profile\":\"legal\"}",
                                        "{\"text\":\"x\",\"profile\":3}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(ask(wrong[i], &out, &err), 400);
        assert_true(err.message[0] && out.len == 0);
    }
    sr_buf_dispose(&out);
}

static void test_configuration(void **state)
{
    (void)state;
    const struct sr_config *config = config_good(
        CONFIG_MODELS
        "global: {model_catalog: {modules: {prompt_compression: {enabled: true, profile: security, "
        "max_tokens: 300, min_length: 1KiB, skip_signals: [jailbreak, pii, domain], "
        "textrank_weight: 0.1, position_weight: 0.2, tfidf_weight: 0.3, novelty_weight: 0.4, "
        "position_depth: 0.7, preserve_first_n: 4, preserve_last_n: 5, tokenizer: t.json}}}}\n");
    const struct sr_config_compression *c = &config->global.compression;
    assert_true(c->enabled && c->max_tokens == 300 && c->min_length == 1024 && c->skip_signals.count == 3);
    assert_string_equal(c->profile, "security");
    assert_string_equal(c->tokenizer, "t.json");
    assert_int_equal(c->tokenizer_at.line, 5);
    assert_true(c->textrank > 0.09 && c->position > 0.19 && c->tfidf > 0.29 && c->novelty > 0.39);
    assert_true(c->depth > 0.69 && c->first == 4 && c->last == 5);
    sr_config_unref(config);
    config = config_good(CONFIG_MODELS);
    assert_true(!config->global.compression.enabled && config->global.compression.max_tokens == 512);
    sr_config_unref(config);
    config_error(CONFIG_MODELS
                 "global: {model_catalog: {modules: {prompt_compression: {skip_signals: [domian]}}}}\n",
                 5, 56, "skip_signals: there is no signal type `domian`, did you mean `domain`?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_reads_what),
                                       cmocka_unit_test(test_exceptions), cmocka_unit_test(test_tokenizer),
                                       cmocka_unit_test(test_configuration), cmocka_unit_test(test_api)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
