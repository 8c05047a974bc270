/*
 * The pooling `sliding` of a bundle's head, against a token head of the same weights: the mean of some
 * tokens' logits is what the head says of them, since nothing but a linear layer stands behind the pooling.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "infer/encoder/encoder.h"

#define FOLDER SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"
#define LABELS 7u
#define TOKENS 220u
#define ITEMS  8u
#define BOUND  1e-4f

static const size_t lengths[ITEMS] = {1, 3, 4, 5, 6, 41, 130, TOKENS};

/* The head `pii` of the folder, pooled as `pooling` says. */
static struct sr_encoder *open_pooled(const char *pooling, int *head)
{
    char folder[256], command[1024], path[300];
    const char *tmp = getenv("TMPDIR"), *list[1] = {folder};
    struct sr_encoder_options options = {.heads = list, .n_heads = 1};
    struct sr_encoder *e;
    struct sr_err err = {0};
    snprintf(folder, sizeof folder, "%.200s/sr-sliding-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "cp '" FOLDER "/bundle/'* '%s' && chmod u+w '%s/config.json'", folder,
             folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"heads\": {\"pii\": {%s}}}\n", pooling);
    assert_int_equal(fclose(file), 0);
    int rc = sr_encoder_open(&e, FOLDER, &options, &err);
    if (rc)
        fail_msg("%s", err.message);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
    *head = sr_encoder_find_head(e, "pii");
    assert_true(*head >= 0);
    return e;
}

static float margin(const float *logits)
{
    float most = -INFINITY;
    for (size_t i = 1; i < LABELS; i++)
        most = fmaxf(most, logits[i] - logits[0]);
    return most;
}

/* What the head should say of `n` tokens with these logits. */
static void expect(const float *tokens, size_t n, size_t width, size_t step, float out[LABELS])
{
    for (size_t from = 0, to = 0; to < n; from += step) {
        float mean[LABELS] = {0};
        to = from + width < n ? from + width : n;
        for (size_t i = from; i < to; i++)
            for (size_t k = 0; k < LABELS; k++)
                mean[k] += tokens[i * LABELS + k] / (float)(to - from);
        if (!from || margin(mean) > margin(out))
            memcpy(out, mean, sizeof mean);
    }
}

static void run(const struct sr_encoder *e, int head, struct sr_encoder_item *items, size_t n,
                float out[][TOKENS * LABELS])
{
    struct sr_encoder_work *work;
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 26), 0);
    for (size_t i = 0; i < n; i++) {
        items[i].heads = 1u << head;
        items[i].out[head] = out[i];
    }
    assert_int_equal(sr_encoder_run(e, NULL, work, items, n, NULL), 0);
    sr_encoder_work_free(work);
}

/* Sequences shorter and longer than a mean is wide, and with more means than the head works on at a time. */
static void the_mean_that_stands_out(void **state)
{
    static const struct {
        size_t width, step;
    } shapes[] = {{4, 2}, {5, 5}, {3, 1}, {48, 16}, {1000, 7}};
    static float tokens[ITEMS][TOKENS * LABELS], got[ITEMS][TOKENS * LABELS], alone[1][TOKENS * LABELS];
    static int32_t ids[ITEMS][TOKENS];
    struct sr_encoder_item items[ITEMS] = {0};
    int head;
    (void)state;
    for (size_t i = 0; i < ITEMS; i++) {
        for (size_t k = 0; k < TOKENS; k++)
            ids[i][k] = (int32_t)(4 + (i * 53 + k * k * 37 + k * 11) % 180);
        items[i] = (struct sr_encoder_item){.ids = ids[i], .n_ids = lengths[i]};
    }
    struct sr_encoder *e = open_pooled("\"pooling\": \"token\"", &head);
    run(e, head, items, ITEMS, tokens);
    sr_encoder_unref(e);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        char pooling[128];
        size_t changed = 0;
        snprintf(pooling, sizeof pooling, "\"pooling\": \"sliding\", \"width\": %zu, \"step\": %zu",
                 shapes[s].width, shapes[s].step);
        e = open_pooled(pooling, &head);
        assert_int_equal(sr_encoder_info(e)->heads[head].kind, SR_HEAD_SEQUENCE);
        run(e, head, items, ITEMS, got);
        for (size_t i = 0; i < ITEMS; i++) {
            float want[LABELS], whole[LABELS];
            expect(tokens[i], lengths[i], shapes[s].width, shapes[s].step, want);
            expect(tokens[i], lengths[i], TOKENS, TOKENS, whole);
            for (size_t k = 0; k < LABELS; k++)
                if (!(fabsf(got[i][k] - want[k]) <= BOUND))
                    fail_msg("%zu tokens, %s, label %zu: %f, not %f", lengths[i], pooling, k,
                             (double)got[i][k], (double)want[k]);
            changed += fabsf(whole[0] - want[0]) > 10 * BOUND;
            struct sr_encoder_item one = items[i];
            run(e, head, &one, 1, alone);
            assert_memory_equal(alone[0], got[i], LABELS * sizeof(float));
        }
        /* Not what the mean of all says, of texts that are longer. */
        assert_true(changed >= (shapes[s].width > TOKENS ? 0 : shapes[s].width > 41 ? 2 : 3));
        sr_encoder_unref(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_mean_that_stands_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
