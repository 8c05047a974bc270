/* The embedding signal with the real encoder: matches by meaning, ways of aggregation, windows, late answers,
 * memory, limits, and what happens without an encoder. */
#include "tests/unit/mail_kit.h"
#include "tests/unit/signal_kit.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MODEL SR_SOURCE_DIR "/models/all-MiniLM-L6-v2"

static struct sr_config_embedding rules[] = {
    {.name = "refund",
     .threshold = 0.5,
     .candidates = STRINGS("I want my money back", "How do I return a product?", "The parcel never arrived")},
    {.name = "code",
     .threshold = 0.5,
     .candidates = STRINGS("Fix the bug in this function", "Write a program in Python")},
};

static struct sr_config with(size_t n, const char *encoder)
{
    struct sr_config config = {.embeddings = rules, .n_embeddings = n};
    config.global.inference.encoder = encoder;
    config.global.inference.max_windows = 16;
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
static int load(struct sr_signals **signals, const struct sr_config *config, struct sr_err *err)
{
    static struct sr_config kept[256];
    static size_t n;
    assert_in_range(n, 0, sizeof kept / sizeof kept[0] - 1);
    kept[n] = *config;
    sr_model_store_begin(models);
    int rc = sr_signals_new(signals, &kept[n++], models, err);
    if (rc == SR_OK)
        sr_model_store_sweep(models);
    return rc;
}

static void load_kit(struct kit *kit, const struct sr_config *config)
{
    struct sr_err err = {0};
    *kit = (struct kit){.result = NULL};
    sr_arena_init(&kit->arena, (size_t)64 << 20);
    if (load(&kit->signals, config, &err))
        fail_msg("%s", err.message);
}

static void near(const struct sr_signal_result *result, size_t rule, bool matched)
{
    assert_int_equal(result->status, SR_OK);
    if (result->hits[rule].matched != matched)
        fail_msg("%s: %g", rules[rule].name, result->hits[rule].value);
    assert_true(!matched || result->hits[rule].confidence == (float)result->hits[rule].value);
}

static void test_meaning(void **state)
{
    (void)state;
    struct kit kit;
    struct sr_config config = with(2, MODEL);
    load_kit(&kit, &config);
    const struct sr_signal_result *result =
        kit_run(&kit, SR_SIGNAL_EMBEDDING, SR_LIT("please give me a refund, I want the money back"));
    near(result, 0, true);
    near(result, 1, false);
    assert_string_equal(result->tier, "neural");
    assert_int_equal(result->scanned_bytes, result->all_bytes);
    result = kit_run(&kit, SR_SIGNAL_EMBEDDING, SR_LIT("there is a bug in my python function, fix it"));
    near(result, 0, false);
    near(result, 1, true);
    /* A candidate is as near to itself as can be. */
    result = kit_run(&kit, SR_SIGNAL_EMBEDDING, SR_LIT("Write a program in Python"));
    assert_true(fabs(result->hits[1].value - 1) < 1e-4);
    result = kit_run(&kit, SR_SIGNAL_EMBEDDING, SR_LIT(""));
    near(result, 0, false);
    assert_true(isnan(result->hits[0].value));
    kit_close(&kit);
}

static void test_aggregation(void **state)
{
    (void)state;
    static const struct sr_bytes text = {"How do I return a product?", 26};
    struct sr_config_embedding three[3] = {rules[0], rules[0], rules[0]};
    struct sr_config config = with(3, MODEL);
    struct kit kit;
    config.embeddings = three;
    three[1].aggregation = SR_AGGREGATION_MEAN;
    three[2].aggregation = SR_AGGREGATION_ANY;
    three[2].threshold = 0.1; /* the first candidate reaches it, the second is nearer */
    load_kit(&kit, &config);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_EMBEDDING, text);
    assert_true(fabs(result->hits[0].value - 1) < 1e-4);
    assert_true(result->hits[1].value < result->hits[0].value);
    assert_true(result->hits[2].matched);
    assert_true(result->hits[2].value >= 0.1 && result->hits[2].value < 0.9);
    kit_close(&kit);
}

static void test_windows(void **state)
{
    (void)state;
    struct sr_config config = with(1, MODEL);
    struct kit kit;
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    config.global.inference.max_windows = 2;
    while (text.len < 8000)
        assert_int_equal(sr_buf_printf(&text, "The weather of day %zu was fine. ", text.len), SR_OK);
    load_kit(&kit, &config);
    const struct sr_signal_result *result = kit_run(&kit, SR_SIGNAL_EMBEDDING, sr_buf_view(&text));
    near(result, 0, false);
    assert_int_equal(result->all_bytes, text.len);
    assert_true(result->scanned_bytes < text.len && result->scanned_bytes > 2000);
    kit_close(&kit);
    config.global.inference.max_windows = 1024;
    load_kit(&kit, &config);
    result = kit_run(&kit, SR_SIGNAL_EMBEDDING, sr_buf_view(&text));
    assert_int_equal(result->scanned_bytes, text.len);
    kit_close(&kit);
    config.global.inference.memory_max = 1 << 20; /* less than one window needs */
    load_kit(&kit, &config);
    result = kit_run(&kit, SR_SIGNAL_EMBEDDING, sr_buf_view(&text));
    assert_int_equal(result->status, SR_ELIMIT);
    kit_close(&kit);
    sr_buf_dispose(&text);
}

static void test_remembered(void **state)
{
    (void)state;
    struct sr_config config = with(2, MODEL);
    struct sr_memo_stats before, after;
    struct kit kit;
    sr_memo_resize(sr_model_store_memo(models), 1 << 20);
    sr_memo_stats(sr_model_store_memo(models), &before);
    for (unsigned round = 0; round < 2; round++) {
        load_kit(&kit, &config);
        const struct sr_signal_result *result =
            kit_run(&kit, SR_SIGNAL_EMBEDDING, SR_LIT("give me my money"));
        assert_int_equal(result->remembered, round);
        near(result, 0, true);
        kit_close(&kit);
    }
    sr_memo_stats(sr_model_store_memo(models), &after);
    assert_int_equal(after.entries, 6); /* five candidates and a text */
    assert_int_equal(after.misses - before.misses, 6);
    sr_memo_resize(sr_model_store_memo(models), 0);
}

/* ---- late answers ---- */

struct owner {
    struct mail mail;
    int done;
};

static void owner_done(void *ctx, enum sr_signal_type type)
{
    struct owner *owner = ctx;
    assert_int_equal(type, SR_SIGNAL_EMBEDDING);
    owner->done++;
}

static void owner_wait(struct owner *owner, int done)
{
    while (owner->done < done)
        mail_run(&owner->mail, true);
}

#define RUNS 24

static void test_late_and_cancelled(void **state)
{
    (void)state;
    struct owner owner = {.done = 0};
    struct sr_config config = with(2, MODEL);
    struct sr_signals *signals = NULL;
    struct sr_workers *workers = NULL;
    struct sr_arena arena;
    struct sr_signal_run *runs[RUNS];
    int wanted = 0;
    mail_open(&owner.mail);
    sr_arena_init(&arena, (size_t)64 << 20);
    assert_int_equal(sr_workers_new(&workers, 2, 64), SR_OK);
    assert_int_equal(load(&signals, &config, NULL), SR_OK);
    assert_true(sr_signals_may_be_late(signals));
    for (int i = 0; i < RUNS; i++) {
        char text[64];
        snprintf(text, sizeof text, "order %d: I want my money back now", i);
        struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
        struct sr_signal_env env = {workers, owner.mail.box, i % 2 ? 0 : 1000}; /* on a worker, or here */
        assert_int_equal(sr_signal_run_new(&runs[i], signals, input, env, &arena), SR_OK);
        sr_signal_input_unref(input);
        assert_int_equal(sr_signal_run_start(runs[i], SR_SIGNAL_EMBEDDING, owner_done, &owner), SR_AGAIN);
        assert_null(sr_signal_run_result(runs[i], SR_SIGNAL_EMBEDDING));
    }
    for (int i = 0; i < RUNS; i++)
        if (i % 3)
            wanted++;
        else
            sr_signal_run_expire(runs[i]);
    owner_wait(&owner, wanted);
    for (int i = 0; i < RUNS; i++) {
        const struct sr_signal_result *result = sr_signal_run_result(runs[i], SR_SIGNAL_EMBEDDING);
        if (i % 3)
            near(result, 0, true);
        else if (result->status) /* the engine may have been quicker than this thread */
            assert_int_equal(result->status, SR_ETIMEOUT);
        sr_signal_run_dispose(runs[i]);
    }
    sr_workers_free(workers);
    sr_signals_unref(signals);
    mail_close(&owner.mail);
    assert_int_equal(owner.done, wanted);
    sr_arena_dispose(&arena);
}

static void test_without_an_encoder(void **state)
{
    (void)state;
    struct sr_config config = with(1, "/nowhere/model");
    struct sr_signals *signals = NULL;
    struct sr_err err = {0};
    assert_int_equal(load(&signals, &config, &err), SR_ENOENT);
    assert_non_null(strstr(err.message, "/nowhere/model"));
    config.global.inference.encoder = MODEL;
    config.global.inference.dimensions = 385;
    assert_int_equal(load(&signals, &config, &err), SR_EINVAL);
    config.global.inference.dimensions = 0;
    config.global.inference.cpus = "none";
    assert_int_equal(load(&signals, &config, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "none"));
}

/* Every allocation of loading the rules fails once: an error comes back, nothing leaks. */
static void test_out_of_memory(void **state)
{
    (void)state;
    struct sr_config config = with(2, MODEL);
    struct sr_signals *signals = NULL;
    int rc = SR_ENOMEM;
    for (size_t nth = 1; rc != SR_OK && nth < 2000; nth++) {
        sr_model_store_begin(models);
        sr_mem_fail_at(nth);
        rc = sr_signals_new(&signals, &config, models, NULL);
        sr_mem_fail_at(0);
        assert_true(rc == SR_OK || rc == SR_ENOMEM);
    }
    assert_int_equal(rc, SR_OK);
    sr_signals_unref(signals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning),
        cmocka_unit_test(test_aggregation),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_remembered),
        cmocka_unit_test(test_late_and_cancelled),
        cmocka_unit_test(test_without_an_encoder),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
