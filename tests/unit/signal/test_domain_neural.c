/* The domain signal with heads on the real encoder after the linear tier, and with folders that do not fit.
 * The training decides which label results; this test checks which tier answers. */
#include "tests/unit/signal_kit.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL  SR_SOURCE_DIR "/models/all-MiniLM-L6-v2"
#define NEURAL SR_SOURCE_DIR "/models/neural"

static struct sr_config_domain domains[] = {{.name = "math"}, {.name = "other"}};

static struct sr_config with(const char *neural, double ask_below)
{
    struct sr_config config = {.domains = domains, .n_domains = 2};
    config.global.domain_threshold = 0.6;
    config.global.domain_fallback = "other";
    config.global.domain_model = "";
    config.global.inference.encoder = MODEL;
    config.global.inference.neural = neural;
    config.global.inference.ask_below = ask_below;
    return config;
}

/* One store for all tests: the encoder is opened once. */
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

/* The inference engine may let go of the signals after the last result is here: configurations stay. */
static void load_kit(struct kit *kit, const struct sr_config *config)
{
    static struct sr_config kept[64];
    static size_t n;
    struct sr_err err = {0};
    *kit = (struct kit){.result = NULL};
    sr_arena_init(&kit->arena, (size_t)64 << 20);
    assert_in_range(n, 0, sizeof kept / sizeof kept[0] - 1);
    kept[n] = *config;
    if (sr_signals_new(&kit->signals, &kept[n++], models, &err))
        fail_msg("%s", err.message);
}

static void sums_to_one(const struct sr_signal_result *result)
{
    double sum = 0;
    assert_int_equal(result->status, SR_OK);
    assert_int_equal(result->n_labels, 14);
    for (size_t i = 0; i < result->n_labels; i++)
        sum += (double)result->probabilities[i];
    assert_true(fabs(sum - 1) < 1e-4);
}

static void test_who_answers(void **state)
{
    (void)state;
    static const struct sr_bytes text = {"hello there", 11};
    static const struct {
        const char *neural;
        double ask_below;
        const char *tier;
    } cases[] = {{NEURAL, 1, "neural"}, {NEURAL, 0, "linear"}, {NEURAL, 0.01, "linear"}, {"", 0, "linear"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_config config = with(cases[i].neural, cases[i].ask_below);
        struct kit kit;
        load_kit(&kit, &config);
        assert_int_equal(sr_signals_may_be_late(kit.signals), *cases[i].neural && cases[i].ask_below > 0);
        const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_DOMAIN, text);
        assert_string_equal(result->tier, cases[i].tier);
        assert_int_equal(result->scanned_bytes, text.n);
        sums_to_one(result);
        result = kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT(""));
        assert_string_equal(result->tier, "linear");
        kit_close(&kit);
    }
}

static void test_too_little_memory(void **state)
{
    (void)state;
    struct sr_config config = with(NEURAL, 1);
    struct kit kit;
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    while (text.len < 3000)
        assert_int_equal(sr_buf_printf(&text, "Day %zu was fine. ", text.len), SR_OK);
    config.global.inference.memory_max = 1 << 18;
    sr_model_store_begin(models);
    load_kit(&kit, &config);
    sr_model_store_sweep(models); /* the engine's options are in force from here on */
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_DOMAIN, sr_buf_view(&text));
    assert_string_equal(result->tier, "linear"); /* its answer stands */
    sums_to_one(result);
    kit_close(&kit);
    sr_buf_dispose(&text);
}

static void refused(const struct sr_config *config, int code, const char *says)
{
    struct sr_signals *signals = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_signals_new(&signals, config, models, &err), code);
    if (!strstr(err.message, says))
        fail_msg("%s", err.message);
}

static void test_what_does_not_fit(void **state)
{
    (void)state;
    struct sr_config config = with("/nowhere/neural", 0.9);
    refused(&config, SR_EINVAL, "/nowhere/neural");
    config = with("", 0);
    config.global.domain_model = MODEL; /* an encoder without a head that classifies */
    refused(&config, SR_EUNSUPPORTED, "no head");
    char empty[] = "/tmp/sr-domain-XXXXXX";
    assert_non_null(mkdtemp(empty));
    config.global.domain_model = empty;
    refused(&config, SR_ENOENT, "config.json");
    rmdir(empty);
}

static void test_a_folder_of_ones_own(void **state)
{
    (void)state;
    struct sr_config config = with("", 0);
    struct kit kit;
    config.global.domain_model = SR_SOURCE_DIR "/tests/golden/encoder/small/bert-sequence";
    config.global.domain_threshold = 0;
    load_kit(&kit, &config);
    assert_true(sr_signals_may_be_late(kit.signals));
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_DOMAIN, SR_LIT("hello"));
    assert_int_equal(result->status, SR_OK);
    assert_string_equal(result->tier, "neural");
    assert_int_equal(result->n_labels, 5);
    kit_close(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_answers),
        cmocka_unit_test(test_too_little_memory),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_a_folder_of_ones_own),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
