/* A licence gives orders, as attacks do, and is none: the project's own, piece by piece, by what ships. */
#include "tests/unit/signal_kit.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECE 2048u

static struct sr_config_jailbreak attack = {.name = "attack", .threshold = 0.7, .include_history = true};

static void test_apache(void **state)
{
    static char text[1 << 16];
    static struct sr_config config = {.jailbreaks = &attack, .n_jailbreaks = 1};
    struct sr_model_store *models = *state;
    struct kit kit = {.result = NULL};
    struct sr_err err = {0};
    FILE *file = fopen(SR_SOURCE_DIR "/LICENSE", "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_in_range(n, 5 * PIECE, sizeof text - 1);
    config.global.jailbreak_model = config.global.domain_model = "";
    config.global.inference.encoder = config.global.inference.neural = "";
    config.global.inference.neural_precision = SR_CONFIG_INT8;
    config.global.inference.ask_below = 1;
    sr_arena_init(&kit.arena, (size_t)64 << 20);
    if (sr_signals_new(&kit.signals, &config, models, &err))
        fail_msg("%s", err.message);
    for (size_t at = 0; at < n; at += PIECE) {
        struct sr_bytes piece = sr_bytes_of(text + at, n - at < PIECE ? n - at : PIECE);
        const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_JAILBREAK, piece);
        assert_int_equal(result->status, SR_OK);
        assert_int_equal(result->neural_bytes, piece.n);
        assert_false(result->hits[0].matched);
    }
    kit_close(&kit);
}

static int open_store(void **state)
{
    struct sr_model_store *models;
    setenv("SEMROUTE_MODELS", SR_SOURCE_DIR "/models", 1);
    if (sr_model_store_new(&models, NULL))
        return -1;
    *state = models;
    return 0;
}

/* The engine may let go of the signals after the last result is here: the store stays until then. */
static int close_store(void **state)
{
    sr_model_store_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_apache)};
    return cmocka_run_group_tests(tests, open_store, close_store);
}
