/*
 * Fails the Nth allocation while an encoder with an adapter and a bundle of heads is opened and run, for
 * every N: never a crash or a leak; a failed open says so and gives nothing, and what opened and ran is
 * right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "infer/encoder/encoder.h"

#define SMALL SR_SOURCE_DIR "/tests/golden/encoder/small/"

struct scene {
    const char *folder;
    const char *heads[1];
    size_t n_heads, n_out;
};

/* The first head's output, or an error. */
static int open_and_run(const struct scene *scene, float *out)
{
    static const int32_t ids[] = {2, 50, 60, 3};
    struct sr_encoder_options options = {.heads = scene->heads, .n_heads = scene->n_heads};
    struct sr_encoder *e;
    struct sr_encoder_work *work = NULL;
    struct sr_err err = {0};
    int rc = sr_encoder_open(&e, scene->folder, &options, &err);
    if (rc) {
        assert_null(e);
        assert_true(err.message[0]);
        return rc;
    }
    struct sr_encoder_item item = {.ids = ids, .n_ids = 4, .heads = 1};
    item.out[0] = out;
    rc = sr_encoder_work_new(&work, (size_t)1 << 24);
    if (rc == SR_OK)
        rc = sr_encoder_run(e, NULL, work, &item, 1, NULL);
    sr_encoder_work_free(work);
    sr_encoder_unref(e);
    return rc;
}

static void play(const struct scene *scene)
{
    float want[64], got[64];
    sr_mem_fail_at(0);
    assert_int_equal(open_and_run(scene, want), SR_OK);
    size_t all = sr_mem_count();
    assert_true(all > 20);
    for (size_t n = 1; n <= all; n += n < 400 ? 1 : 37) {
        sr_mem_fail_at(n);
        int rc = open_and_run(scene, got);
        sr_mem_fail_at(0);
        if (rc == SR_OK)
            assert_memory_equal(want, got, scene->n_out * sizeof *got);
        else
            assert_int_equal(rc, SR_ENOMEM);
    }
}

static void an_adapter(void **state)
{
    static const struct scene scene = {SMALL "bert-embed", {SMALL "bert-embed/adapter-domain"}, 1, 32};
    (void)state;
    play(&scene);
}

static void a_bundle(void **state)
{
    static const struct scene scene = {SMALL "bert-bundle", {SMALL "bert-bundle/bundle"}, 1, 32};
    (void)state;
    play(&scene);
}

static void shards(void **state)
{
    static const struct scene scene = {SMALL "modernbert-mean", {NULL}, 0, 5};
    (void)state;
    play(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adapter),
        cmocka_unit_test(a_bundle),
        cmocka_unit_test(shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
