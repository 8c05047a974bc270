/*
 * The encoder against Hugging Face transformers in float32: tests/golden/encoder, made by make_encoder.py.
 *
 * Small models cover the architectures, heads, poolings, file types and adapters; the real model covers ten
 * languages. Each text is run alone and in one packed batch: both must agree with the reference.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "infer/encoder.h"
#include "model/safetensors.h"

#define GOLDEN   SR_SOURCE_DIR "/tests/golden/encoder/"
#define FP32_MAX 1e-4 /* the bound promised for fp32, of vectors and logits near 1 */

struct golden {
    struct sr_safetensors *file;
    const int32_t *ids, *lengths;
    size_t n, tokens;
};

static void golden_open(struct golden *g, const char *path)
{
    struct sr_err err = {0};
    int rc = sr_safetensors_open_file(&g->file, path, &err);
    if (rc)
        fail_msg("%s", err.message);
    const struct sr_tensor *ids = sr_safetensors_find(g->file, "ids");
    const struct sr_tensor *lengths = sr_safetensors_find(g->file, "lengths");
    assert_true(ids && lengths && ids->dtype == SR_DTYPE_I32);
    g->ids = (const int32_t *)(const void *)ids->data;
    g->lengths = (const int32_t *)(const void *)lengths->data;
    g->tokens = ids->shape[0];
    g->n = lengths->shape[0];
}

static struct sr_encoder *open_encoder(const char *folder, enum sr_precision precision,
                                       const char *const *heads, size_t n_heads)
{
    struct sr_encoder_options options = {.precision = precision, .heads = heads, .n_heads = n_heads};
    struct sr_encoder *e;
    struct sr_err err = {0};
    int rc = sr_encoder_open(&e, folder, &options, &err);
    if (rc)
        fail_msg("%s: %s", sr_strerror(rc), err.message);
    return e;
}

/* "output.embedding.2.16": head, layers, dimensions. */
static bool parse_output(const struct sr_encoder *e, struct sr_bytes name, int *head,
                         struct sr_encoder_item *item)
{
    char text[64];
    int layers = 0, dimensions = 0;
    if (name.n >= sizeof text || !sr_bytes_starts_with(name, SR_LIT("output.")))
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    char *dot = strchr(text + 7, '.');
    if (dot) {
        *dot = '\0';
        assert_int_equal(sscanf(dot + 1, "%d.%d", &layers, &dimensions), 2);
    }
    *head = sr_encoder_find_head(e, text + 7);
    if (*head < 0)
        fail_msg("no head %s", text + 7);
    item->layers = (uint16_t)layers;
    item->dimensions = (uint16_t)dimensions;
    item->heads = 1u << *head;
    return true;
}

/* Largest difference, relative to the larger of 1 and the expected value's size. */
static double difference(const float *got, const float *want, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]) / fmax(1, fabs((double)want[i]));
        if (!(d <= worst))
            worst = isnan(d) ? INFINITY : d;
    }
    return worst;
}

static size_t width(const struct sr_encoder *e, int head, const struct sr_encoder_item *item)
{
    const struct sr_head_info *info = &sr_encoder_info(e)->heads[head];
    if (info->kind == SR_HEAD_TOKEN)
        return info->n_labels * item->n_ids;
    return item->dimensions ? item->dimensions : info->n_labels;
}

/* One output of a golden file: texts alone, then all in one batch. Returns the largest difference. */
static double run_output(const struct sr_encoder *e, struct sr_team *team, const struct golden *g,
                         const struct sr_tensor *t, const struct sr_encoder_item *like, int head)
{
    const float *want = (const float *)(const void *)t->data;
    size_t n = t->bytes / sizeof *want, at = 0, ids = 0;
    struct sr_encoder_item *items = sr_mem_calloc(g->n, sizeof *items);
    float *got = sr_mem_calloc(n, sizeof *got);
    struct sr_encoder_work *work;
    double alone = 0;
    assert_non_null(items);
    assert_non_null(got);
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 30), 0);
    for (size_t i = 0; i < g->n; i++) {
        items[i] = *like;
        items[i].ids = g->ids + ids;
        items[i].n_ids = (size_t)g->lengths[i];
        items[i].out[head] = got + at;
        ids += items[i].n_ids;
        at += width(e, head, &items[i]);
        assert_true(at <= n);
        assert_int_equal(sr_encoder_run(e, team, work, &items[i], 1, NULL), 0);
    }
    assert_int_equal(at, n);
    alone = difference(got, want, n);
    memset(got, 0, n * sizeof *got);
    assert_int_equal(sr_encoder_run(e, team, work, items, g->n, NULL), 0);
    double batch = difference(got, want, n);
    assert_true(sr_encoder_work_bytes(work) > 0);
    sr_encoder_work_free(work);
    sr_mem_free(items);
    sr_mem_free(got);
    return fmax(alone, batch);
}

static void run_model(const char *name, const char *const *adapters, size_t n_adapters,
                      enum sr_precision precision, double bound)
{
    char folder[512], path[600], heads[2][600];
    const char *list[2];
    struct golden g;
    size_t outputs = 0;
    struct sr_team *team;
    snprintf(folder, sizeof folder, GOLDEN "small/%s", name);
    snprintf(path, sizeof path, "%s/expected.safetensors", folder);
    for (size_t i = 0; i < n_adapters; i++) {
        snprintf(heads[i], sizeof heads[i], "%s/%s", folder, adapters[i]);
        list[i] = heads[i];
    }
    golden_open(&g, path);
    assert_int_equal(sr_team_new(&team, 2), 0);
    struct sr_encoder *e = open_encoder(folder, precision, list, n_adapters);
    for (size_t i = 0; i < sr_safetensors_count(g.file); i++) {
        const struct sr_tensor *t = sr_safetensors_at(g.file, i);
        struct sr_encoder_item like = {0};
        int head;
        if (!parse_output(e, t->name, &head, &like))
            continue;
        double worst = run_output(e, team, &g, t, &like, head);
        print_message("%s %.*s: %.2g\n", name, (int)t->name.n, t->name.p, worst);
        if (!(worst <= bound))
            fail_msg("%s %.*s: %g is over %g", name, (int)t->name.n, t->name.p, worst, bound);
        outputs++;
    }
    assert_true(outputs > 0);
    sr_encoder_unref(e);
    sr_team_free(team);
    sr_safetensors_close(g.file);
}

static const struct {
    const char *name;
    const char *adapters[2];
    size_t n_adapters;
} small[] = {
    {"bert-embed", {"adapter-domain", "adapter-pii"}, 2},
    {"bert-cls", {0}, 0},
    {"bert-sequence", {0}, 0},
    {"bert-token", {0}, 0},
    {"roberta-embed", {0}, 0},
    {"roberta-sequence", {0}, 0},
    {"roberta-token", {0}, 0},
    {"modernbert-embed", {"adapter-jailbreak"}, 1},
    {"modernbert-cls", {0}, 0},
    {"modernbert-mean", {0}, 0},
    {"modernbert-token", {0}, 0},
    {"modernbert-bias", {0}, 0},
    {"mmbert-32k", {0}, 0},
};

static void run_all(enum sr_precision precision, double bound)
{
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        run_model(small[i].name, small[i].adapters, small[i].n_adapters, precision, bound);
}

static void small_models_in_fp32(void **state)
{
    (void)state;
    run_all(SR_PRECISION_FP32, FP32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models_in_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
