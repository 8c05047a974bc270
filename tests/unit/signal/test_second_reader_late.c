/* The second reader of uncertain texts is late, or not there yet: the first judgement stands. */
#include "tests/unit/held_engine.h"
#include "tests/unit/mail_kit.h"
#include "tests/unit/second_reader_kit.h"

#include "signal/neural/multilingual.h"
#include "signal/neural/neural.h"

#include <math.h>

/* Keeps the store's thread, so that nobody asks the second reader. */
struct blocker {
    struct sr_job job;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool inside, open;
};

static void block(struct sr_job *job)
{
    struct blocker *b = (struct blocker *)job;
    pthread_mutex_lock(&b->lock);
    b->inside = true;
    pthread_cond_broadcast(&b->changed);
    while (!b->open)
        pthread_cond_wait(&b->changed, &b->lock);
    b->inside = false;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
}

static void block_store(struct blocker *b, struct sr_model_store *store)
{
    *b = (struct blocker){.job = {.run = block}};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    assert_int_equal(sr_model_store_later(store, &b->job), SR_OK);
    pthread_mutex_lock(&b->lock);
    while (!b->inside)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
}

static void free_store(struct blocker *b)
{
    pthread_mutex_lock(&b->lock);
    b->open = true;
    pthread_cond_broadcast(&b->changed);
    while (b->inside)
        pthread_cond_wait(&b->changed, &b->lock);
    pthread_mutex_unlock(&b->lock);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
}

static void never(void *ctx, enum sr_signal_type type)
{
    (void)ctx, (void)type;
    fail_msg("it was told after its end");
}

struct late {
    struct mail mail;
    struct sr_arena arena;
    struct sr_signal_run *run;
};

/* Begins a run whose first judgement is remembered. */
static void late_begin(struct late *late, struct kit *kit, const char *text)
{
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), 1);
    mail_open(&late->mail);
    sr_arena_init(&late->arena, (size_t)16 << 20);
    struct sr_signal_env env = {.mailbox = late->mail.box, .inline_bytes = SIZE_MAX};
    assert_int_equal(sr_signal_run_new(&late->run, kit->signals, input, env, &late->arena), SR_OK);
    sr_signal_input_unref(input);
    assert_int_equal(sr_signal_run_start(late->run, SR_SIGNAL_JAILBREAK, never, NULL), SR_AGAIN);
}

static void late_end(struct late *late)
{
    while (mail_run(&late->mail, false))
        ;
    sr_signal_run_dispose(late->run);
    mail_close(&late->mail);
    sr_arena_dispose(&late->arena);
}

static void check_late(const struct late *late, bool expired, double before)
{
    const struct sr_signal_result *result = sr_signal_run_result(late->run, SR_SIGNAL_JAILBREAK);
    assert_int_equal(result->status, expired ? SR_OK : SR_ECANCELED);
    if (!expired)
        return;
    assert_false(fabs(result->hits[0].value - before) > 0);
    assert_string_equal(result->tier, "linear+neural");
    assert_int_equal(result->neural_bytes, strlen(ATTACK));
    assert_true(!result->neural_late && result->multilingual_bytes == 0);
    assert_true(result->read_twice == 0 && result->not_read_twice == 1);
}

/* The deadline passes, or the client leaves, before anybody has asked it. */
static void test_before_it_is_asked(void **state)
{
    struct blocker blocker;
    struct kit first, both;
    struct late late;
    (void)state;
    write_second(MIXED "\"band\":100}");
    struct sr_model_store *store = open_store();
    load_kit(&first, store, SR_CONFIG_MULTILINGUAL_OFF);
    load_kit(&both, store, SR_CONFIG_MULTILINGUAL_AUTO);
    double before = run(&first, ATTACK)->hits[0].value;
    for (int expires = 0; expires < 2; expires++) {
        block_store(&blocker, store);
        late_begin(&late, &both, ATTACK);
        (expires ? sr_signal_run_expire : sr_signal_run_cancel)(late.run);
        check_late(&late, expires, before);
        free_store(&blocker);
        late_end(&late);
    }
    assert_true(run(&both, ATTACK)->multilingual_bytes > 0);
    kit_close(&first);
    kit_close(&both);
}

/* The same while its words are computed. */
static void test_while_it_reads(void **state)
{
    struct kit first, both;
    struct sr_infer *infer;
    struct sr_encoder *encoder;
    struct sr_err err = {0};
    struct late late;
    struct held held;
    (void)state;
    write_second(MIXED "\"band\":100}");
    struct sr_model_store *store = open_store();
    const struct sr_config *config = with(SR_CONFIG_MULTILINGUAL_AUTO);
    load_kit(&first, store, SR_CONFIG_MULTILINGUAL_OFF);
    load_kit(&both, store, SR_CONFIG_MULTILINGUAL_AUTO);
    double before = run(&first, ATTACK)->hits[0].value;
    assert_true(run(&both, PLAIN)->multilingual_bytes > 0); /* it is open */
    assert_int_equal(sr_signal_infer(config, store, &infer, &err), SR_OK);
    assert_int_equal(sr_signal_encoder(config, store, &encoder, &err), SR_OK);
    for (int expires = 0; expires < 2; expires++) {
        hold(&held, infer, encoder);
        late_begin(&late, &both, ATTACK);
        while (sr_infer_stats(infer).jobs == 0)
            usleep(1000);
        (expires ? sr_signal_run_expire : sr_signal_run_cancel)(late.run);
        check_late(&late, expires, before);
        let_go(&held);
        late_end(&late);
    }
    sr_encoder_unref(encoder);
    kit_close(&first);
    kit_close(&both);
}

/* At any moment: whatever the race, the run ends with one of the two judgements. */
static void test_at_any_moment(void **state)
{
    struct kit first, both;
    struct late late;
    (void)state;
    write_second(MIXED "\"band\":100}");
    struct sr_model_store *store = open_store();
    load_kit(&first, store, SR_CONFIG_MULTILINGUAL_OFF);
    load_kit(&both, store, SR_CONFIG_MULTILINGUAL_AUTO);
    (void)run(&both, PLAIN);
    for (unsigned i = 0; i < 60; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s Request %u.", ATTACK, i);
        double before = run(&first, text)->hits[0].value;
        struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), 1);
        mail_open(&late.mail);
        sr_arena_init(&late.arena, (size_t)16 << 20);
        struct sr_signal_env env = {.mailbox = late.mail.box, .inline_bytes = SIZE_MAX};
        assert_int_equal(sr_signal_run_new(&late.run, both.signals, input, env, &late.arena), SR_OK);
        sr_signal_input_unref(input);
        assert_int_equal(sr_signal_run_start(late.run, SR_SIGNAL_JAILBREAK, never, NULL), SR_AGAIN);
        usleep(i * 250);
        (i % 4 == 3 ? sr_signal_run_cancel : sr_signal_run_expire)(late.run);
        const struct sr_signal_result *result = sr_signal_run_result(late.run, SR_SIGNAL_JAILBREAK);
        assert_int_equal(result->status, i % 4 == 3 ? SR_ECANCELED : SR_OK);
        assert_true(i % 4 == 3 || result->multilingual_bytes || !(fabs(result->hits[0].value - before) > 0));
        late_end(&late);
    }
    kit_close(&first);
    kit_close(&both);
}

static bool is_open(struct sr_model_store *store)
{
    struct sr_multilingual *other;
    struct sr_err err = {0};
    assert_int_equal(sr_multilingual_new(&other, with(SR_CONFIG_MULTILINGUAL_AUTO), store, &err), SR_OK);
    bool open = sr_multilingual_peek(other) != NULL;
    sr_multilingual_free(other);
    return open;
}

/* It is opened ahead where it reads English texts, and nowhere else; not at all once its owner is gone. */
static void test_ahead(void **state)
{
    struct blocker blocker;
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct kit kit;
        write_second(i ? MIXED "\"band\":1}" : NULL);
        struct sr_model_store *store = open_store();
        load_kit(&kit, store, i == 1 ? SR_CONFIG_MULTILINGUAL_OFF : SR_CONFIG_MULTILINGUAL_AUTO);
        block_store(&blocker, store);
        sr_signals_open_ahead(kit.signals);
        sr_signals_open_ahead(kit.signals);
        if (i == 2)
            kit_close(&kit);
        free_store(&blocker);
        block_store(&blocker, store); /* behind what waited */
        free_store(&blocker);
        assert_int_equal(is_open(store), i == 3);
        if (i != 2)
            kit_close(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_it_is_asked),
        cmocka_unit_test(test_while_it_reads),
        cmocka_unit_test(test_at_any_moment),
        cmocka_unit_test(test_ahead),
    };
    return cmocka_run_group_tests(tests, open_folder, close_all);
}
