/*
 * The engine with real encoders of small shape: a text has the same result in any batch, many threads at
 * once, and a short text does not wait for a document of 6,000 tokens.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/engine/engine.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define SMALL    SR_SOURCE_DIR "/tests/golden/encoder/small/"
#define FLOATS   512u
#define DOCUMENT 6000u
#define CLIENTS  4
#define ROUNDS   12
#define TEXTS    8

static struct sr_encoder *open_encoder(const char *name)
{
    struct sr_encoder_options options = {.precision = SR_PRECISION_FP32};
    struct sr_encoder *encoder = NULL;
    struct sr_err err = {0};
    if (sr_encoder_open(&encoder, name, &options, &err))
        fail_msg("%s", err.message);
    assert_true(sr_encoder_info(encoder)->heads[0].n_labels <= FLOATS);
    return encoder;
}

static struct sr_infer *open_engine(unsigned threads)
{
    struct sr_infer_options options = sr_infer_defaults();
    struct sr_infer *infer = NULL;
    options.threads = threads;
    options.batch_tokens = 256;
    options.long_tokens = 256;
    assert_int_equal(sr_infer_new(&infer, &options, NULL), SR_OK);
    return infer;
}

struct text {
    struct sr_infer_job job;
    int32_t *ids;
    float out[FLOATS];
    _Atomic(int) order; /* of its end, from 1 */
};

static _Atomic(int) ended;

static void text_done(struct sr_infer_job *job, int status)
{
    struct text *text = (struct text *)job;
    assert_int_equal(status, SR_OK);
    atomic_store(&text->order, atomic_fetch_add(&ended, 1) + 1);
}

static void text_init(struct text *text, struct sr_encoder *encoder, size_t n, unsigned seed)
{
    size_t vocab = sr_encoder_info(encoder)->vocab;
    *text = (struct text){.ids = sr_mem_calloc(n, sizeof *text->ids)};
    assert_non_null(text->ids);
    for (size_t i = 0; i < n; i++)
        text->ids[i] = (int32_t)((size_t)rand_r(&seed) % vocab);
    text->job = (struct sr_infer_job){.encoder = encoder, .done = text_done};
    text->job.item = (struct sr_encoder_item){.ids = text->ids, .n_ids = n, .heads = 1, .out = {text->out}};
}

static void same(const struct text *a, const struct text *b)
{
    size_t n = sr_encoder_info(a->job.encoder)->heads[0].n_labels;
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(a->out[i] - b->out[i]) < 1e-4F);
}

static void test_any_company(void **state)
{
    (void)state;
    static const char *const models[] = {SMALL "bert-embed", SMALL "modernbert-cls",
                                         SMALL "roberta-sequence"};
    struct sr_infer *infer = open_engine(2);
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct sr_encoder *encoder = open_encoder(models[m]);
        static struct text alone[TEXTS], together[TEXTS];
        static struct sr_infer_job jobs[TEXTS];
        for (unsigned i = 0; i < TEXTS; i++) {
            text_init(&alone[i], encoder, 1 + 7 * i, i);
            text_init(&together[i], encoder, 1 + 7 * i, i);
            assert_int_equal(sr_infer_run(infer, &alone[i].job, 1), SR_OK);
            assert_int_equal(alone[i].job.batch_jobs, 1);
            jobs[i] = together[i].job;
        }
        assert_int_equal(sr_infer_run(infer, jobs, TEXTS), SR_OK);
        for (unsigned i = 0; i < TEXTS; i++) {
            same(&alone[i], &together[i]);
            sr_mem_free(alone[i].ids);
            sr_mem_free(together[i].ids);
        }
        sr_encoder_unref(encoder);
    }
    sr_infer_free(infer);
}

struct client {
    struct sr_infer *infer;
    struct sr_encoder *encoders[2];
    const struct text *expected[2]; /* [TEXTS] of each encoder */
    unsigned seed;
};

static void *client_main(void *arg)
{
    struct client *client = arg;
    for (int round = 0; round < ROUNDS; round++) {
        struct text texts[3];
        struct sr_infer_job jobs[3];
        unsigned kinds[3], numbers[3];
        for (int i = 0; i < 3; i++) {
            kinds[i] = (unsigned)rand_r(&client->seed) % 2;
            numbers[i] = (unsigned)rand_r(&client->seed) % TEXTS;
            text_init(&texts[i], client->encoders[kinds[i]], 1 + 7 * numbers[i], numbers[i]);
            jobs[i] = texts[i].job;
            jobs[i].priority = rand_r(&client->seed) % 2 ? SR_INFER_BULK : SR_INFER_INTERACTIVE;
        }
        assert_int_equal(sr_infer_run(client->infer, jobs, 3), SR_OK);
        for (int i = 0; i < 3; i++) {
            same(&texts[i], &client->expected[kinds[i]][numbers[i]]);
            sr_mem_free(texts[i].ids);
        }
    }
    return NULL;
}

static void test_many_threads(void **state)
{
    (void)state;
    struct sr_encoder *encoders[2] = {open_encoder(SMALL "bert-embed"),
                                      open_encoder(SMALL "modernbert-embed")};
    static struct text expected[2][TEXTS];
    struct sr_infer *infer = open_engine(3);
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < TEXTS; i++) {
            text_init(&expected[k][i], encoders[k], 1 + 7 * i, i);
            assert_int_equal(sr_infer_run(infer, &expected[k][i].job, 1), SR_OK);
        }
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){infer, {encoders[0], encoders[1]}, {expected[0], expected[1]}, i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, client_main, &clients[i]), 0);
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    sr_infer_free(infer);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < TEXTS; i++)
            sr_mem_free(expected[k][i].ids);
        sr_encoder_unref(encoders[k]);
    }
}

static void test_a_document_holds_nobody_up(void **state)
{
    (void)state;
    struct sr_encoder *encoder = open_encoder(SMALL "mmbert-32k");
    struct sr_infer *infer = open_engine(2);
    static struct text documents[2], brief;
    atomic_store(&ended, 0);
    for (unsigned i = 0; i < 2; i++) {
        text_init(&documents[i], encoder, DOCUMENT, i);
        assert_int_equal(sr_infer_submit(infer, &documents[i].job), SR_OK);
    }
    text_init(&brief, encoder, 12, 3);
    assert_int_equal(sr_infer_submit(infer, &brief.job), SR_OK);
    while (atomic_load(&ended) < 3)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(atomic_load(&brief.order) < atomic_load(&documents[1].order));
    assert_int_equal(brief.job.batch_jobs, 1);
    assert_int_equal(documents[0].job.batch_tokens, DOCUMENT);
    sr_infer_free(infer);
    sr_mem_free(documents[0].ids);
    sr_mem_free(documents[1].ids);
    sr_mem_free(brief.ids);
    sr_encoder_unref(encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_company),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_a_document_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
