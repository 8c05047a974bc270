/*
 * Vectors of groups of texts, with a small real encoder and engine: the same as the encoder's own, whatever
 * else is in the group; limits; cancellation; out of memory.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/embed.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#define SMALL SR_SOURCE_DIR "/tests/golden/encoder/small/"
#define WIDTH 32u

static struct sr_encoder *encoder;
static struct sr_infer *infer;

static int set_up(void **state)
{
    struct sr_encoder_options options = {.precision = SR_PRECISION_FP32};
    struct sr_infer_options engine = sr_infer_defaults();
    struct sr_err err = {0};
    (void)state;
    engine.threads = 1;
    int rc = sr_encoder_open(&encoder, SMALL "bert-embed", &options, &err);
    if (rc == SR_OK)
        rc = sr_infer_new(&infer, &engine, &err);
    if (rc != SR_OK)
        print_error("%s\n", err.message);
    return rc;
}

static int tear_down(void **state)
{
    (void)state;
    sr_infer_free(infer);
    sr_encoder_unref(encoder);
    return 0;
}

static struct sr_embed *group_of(const struct sr_embed_options *options, const char *const *texts, size_t n)
{
    struct sr_embed *group;
    struct sr_err err = {0};
    if (sr_embed_new(&group, encoder, options, &err) != SR_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sr_embed_add(group, sr_bytes_str(texts[i])), SR_OK);
    assert_int_equal(sr_embed_count(group), n);
    return group;
}

static void assert_near(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) < 1e-5F))
            fail_msg("number %zu: %g and %g", i, (double)a[i], (double)b[i]);
}

/* A text of so many letters, each of which is a token or more. */
static const char *long_text(char *room, size_t words)
{
    for (size_t i = 0; i < words; i++) {
        room[2 * i] = (char)('a' + i % 26);
        room[2 * i + 1] = ' ';
    }
    room[2 * words] = '\0';
    return room;
}

static void same_alone_and_together(void **state)
{
    static char room[4000];
    const char *texts[] = {"a cat", "", "one two three", long_text(room, 900), "a cat"};
    struct sr_embed_options options = sr_embed_defaults(encoder);
    struct sr_embed *all = group_of(&options, texts, 5);
    float vectors[5][WIDTH], alone[WIDTH];
    (void)state;
    assert_int_equal(sr_embed_dimensions(all), WIDTH);
    assert_int_equal(sr_embed_run(all, infer), SR_OK);
    for (size_t i = 0; i < 5; i++) {
        double norm = 0;
        sr_embed_vector(all, i, vectors[i]);
        struct sr_embed *one = group_of(&options, &texts[i], 1);
        assert_int_equal(sr_embed_run(one, infer), SR_OK);
        sr_embed_vector(one, 0, alone);
        assert_near(vectors[i], alone, WIDTH);
        for (size_t k = 0; k < WIDTH; k++)
            norm += (double)alone[k] * (double)alone[k];
        assert_true(fabs(norm - 1) < 1e-5);
        sr_embed_free(one);
    }
    assert_near(vectors[0], vectors[4], WIDTH);
    assert_true(sr_embed_windows(all, 3)->n > 2);
    assert_int_equal(sr_embed_windows(all, 3)->read, sr_embed_windows(all, 3)->tokens);
    sr_embed_free(all);
}

static void mean_of_its_windows(void **state)
{
    static char room[4000];
    const char *text = long_text(room, 400);
    struct sr_embed_options options = sr_embed_defaults(encoder);
    struct sr_embed *group = group_of(&options, &text, 1);
    const struct sr_windows *w = sr_embed_windows(group, 0);
    float vectors[8 * WIDTH], wanted[WIDTH], got[WIDTH];
    int head = sr_encoder_find_head(encoder, "embedding");
    (void)state;
    assert_true(w->n > 1 && w->n <= 8);
    for (size_t i = 0; i < w->n; i++) {
        struct sr_infer_job job = {.encoder = encoder};
        job.item.ids = w->items[i].ids;
        job.item.n_ids = w->items[i].n_ids;
        job.item.heads = UINT32_C(1) << head;
        job.item.out[head] = vectors + i * WIDTH;
        assert_int_equal(sr_infer_run(infer, &job, 1), SR_OK);
    }
    sr_windows_join(w, vectors, WIDTH, wanted);
    assert_int_equal(sr_embed_run(group, infer), SR_OK);
    sr_embed_vector(group, 0, got);
    assert_near(got, wanted, WIDTH);
    sr_embed_free(group);
}

static void fewer_layers_and_dimensions(void **state)
{
    const char *text = "the quick brown fox";
    struct sr_embed_options options = sr_embed_defaults(encoder);
    float whole[WIDTH], part[WIDTH];
    double dot = 0, norm = 0;
    (void)state;
    struct sr_embed *group = group_of(&options, &text, 1);
    assert_int_equal(sr_embed_run(group, infer), SR_OK);
    sr_embed_vector(group, 0, whole);
    sr_embed_free(group);
    options.dimensions = 8;
    group = group_of(&options, &text, 1);
    assert_int_equal(sr_embed_dimensions(group), 8);
    assert_int_equal(sr_embed_run(group, infer), SR_OK);
    sr_embed_vector(group, 0, part);
    sr_embed_free(group);
    for (size_t i = 0; i < 8; i++) {
        dot += (double)whole[i] * (double)part[i];
        norm += (double)whole[i] * (double)whole[i];
    }
    assert_true(fabs(dot - sqrt(norm)) < 1e-5);
    options.dimensions = 0;
    options.layers = 2;
    group = group_of(&options, &text, 1);
    assert_int_equal(sr_embed_run(group, infer), SR_OK);
    sr_embed_free(group);
}

static void keeps_its_limits(void **state)
{
    static char room[4000];
    struct sr_embed_options options = sr_embed_defaults(encoder);
    struct sr_embed *group;
    struct sr_err err = {0};
    (void)state;
    options.max_texts = 2;
    options.max_ids = 600;
    assert_int_equal(sr_embed_new(&group, encoder, &options, &err), SR_OK);
    assert_int_equal(sr_embed_run(group, infer), SR_EINVAL);
    assert_int_equal(sr_embed_add(group, sr_bytes_str(long_text(room, 900))), SR_ELIMIT);
    assert_int_equal(sr_embed_add(group, SR_LIT("a")), SR_OK);
    assert_int_equal(sr_embed_add(group, SR_LIT("b")), SR_OK);
    assert_int_equal(sr_embed_add(group, SR_LIT("c")), SR_ELIMIT);
    assert_int_equal(sr_embed_run(group, infer), SR_OK);
    sr_embed_free(group);
    options.dimensions = WIDTH + 1;
    assert_int_equal(sr_embed_new(&group, encoder, &options, &err), SR_EINVAL);
    assert_null(group);
    options.dimensions = 0;
    options.layers = 5;
    assert_int_equal(sr_embed_new(&group, encoder, &options, &err), SR_EINVAL);
    struct sr_encoder *neural;
    struct sr_encoder_options plain = {.precision = SR_PRECISION_FP32};
    assert_int_equal(sr_encoder_open(&neural, SMALL "bert-sequence", &plain, &err), SR_OK);
    options = sr_embed_defaults(neural);
    assert_int_equal(sr_embed_new(&group, neural, &options, &err), SR_EUNSUPPORTED);
    sr_encoder_unref(neural);
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t calls;
    int status;
} told = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void tell(void *ctx, int status)
{
    (void)ctx;
    pthread_mutex_lock(&told.lock);
    told.calls++;
    told.status = status;
    pthread_cond_signal(&told.changed);
    pthread_mutex_unlock(&told.lock);
}

static void told_once(void **state)
{
    static char room[4000];
    const char *texts[] = {long_text(room, 1500), "a", "b"};
    struct sr_embed_options options = sr_embed_defaults(encoder);
    (void)state;
    for (size_t round = 0; round < 40; round++) {
        struct sr_embed *group = group_of(&options, texts, 3);
        told.calls = 0;
        assert_int_equal(sr_embed_submit(group, infer, tell, NULL), SR_OK);
        if (round % 2)
            sr_embed_cancel(group);
        pthread_mutex_lock(&told.lock);
        while (told.calls == 0)
            pthread_cond_wait(&told.changed, &told.lock);
        assert_true(told.status == SR_OK || (round % 2 && told.status == SR_ECANCELED));
        pthread_mutex_unlock(&told.lock);
        sr_embed_cancel(group);
        assert_int_equal(told.calls, 1);
        sr_embed_free(group);
    }
}

static void survives_without_memory(void **state)
{
    const char *text = "a text of a few words";
    struct sr_embed_options options = sr_embed_defaults(encoder);
    (void)state;
    for (size_t nth = 1;; nth++) {
        struct sr_embed *group = NULL;
        struct sr_err err = {0};
        sr_mem_fail_at(nth);
        int rc = sr_embed_new(&group, encoder, &options, &err);
        if (rc == SR_OK)
            rc = sr_embed_add(group, sr_bytes_str(text));
        if (rc == SR_OK)
            rc = sr_embed_run(group, infer);
        bool reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        sr_embed_free(group);
        if (!reached) {
            assert_int_equal(rc, SR_OK);
            break;
        }
        assert_int_equal(rc, SR_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_alone_and_together),
        cmocka_unit_test(mean_of_its_windows),
        cmocka_unit_test(fewer_layers_and_dimensions),
        cmocka_unit_test(keeps_its_limits),
        cmocka_unit_test(told_once),
        cmocka_unit_test(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
