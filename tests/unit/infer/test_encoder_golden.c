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
#include "infer/encoder/encoder.h"
#include "model/safetensors.h"

#define SR_UNUSED_THERE __attribute__((unused)) /* with the thread sanitizer */

#define GOLDEN     SR_SOURCE_DIR "/tests/golden/encoder/"
#define FP32_BOUND 1e-4 /* the bound promised for fp32, of vectors and logits near 1 */

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

/* Size of all differences relative to the size of what is expected. */
static double relative(const float *got, const float *want, size_t n)
{
    double d = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        d += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        all += (double)want[i] * want[i];
    }
    return isnan(d) ? INFINITY : sqrt(d / all);
}

typedef double measure(const float *got, const float *want, size_t n);

static size_t width(const struct sr_encoder *e, int head, const struct sr_encoder_item *item)
{
    const struct sr_head_info *info = &sr_encoder_info(e)->heads[head];
    if (info->kind == SR_HEAD_TOKEN)
        return info->n_labels * item->n_ids;
    return item->dimensions ? item->dimensions : info->n_labels;
}

/* One output of a golden file: texts alone, then all in one batch. Returns the largest difference. */
static double run_output(const struct sr_encoder *e, struct sr_team *team, const struct golden *g,
                         const struct sr_tensor *t, const struct sr_encoder_item *like, int head, measure *by)
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
    alone = by(got, want, n);
    memset(got, 0, n * sizeof *got);
    assert_int_equal(sr_encoder_run(e, team, work, items, g->n, NULL), 0);
    double batch = by(got, want, n);
    assert_true(sr_encoder_work_bytes(work) > 0);
    sr_encoder_work_free(work);
    sr_mem_free(items);
    sr_mem_free(got);
    return fmax(alone, batch);
}

static void run_model(const char *name, const char *const *adapters, size_t n_adapters,
                      enum sr_precision precision, measure *by, double bound)
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
        double worst = run_output(e, team, &g, t, &like, head, by);
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
    {"bert-bundle", {"bundle"}, 1},
    {"bert-upper", {"bundle"}, 1},
    {"bert-patterns", {"adapter-regex", "adapter-suffix"}, 2},
    {"bert-dense", {0}, 0},
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
    {"deberta-v3", {0}, 0},
    {"deberta-piguard", {0}, 0},
    {"deberta-conv", {0}, 0},
    {"deberta-p2c", {0}, 0},
    {"deberta-c2p", {0}, 0},
    {"deberta-absolute", {0}, 0},
    {"xlmr-sequence", {0}, 0},
    {"xlmr-token", {0}, 0},
};

static void run_all(enum sr_precision precision, measure *by, double bound)
{
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        run_model(small[i].name, small[i].adapters, small[i].n_adapters, precision, by, bound);
}

/* Bounds of the size of all differences together, relative to the size of the output. bf16 rounds to 8 bits
 * of mantissa (2e-3 of a value) and int8 to 127 steps (4e-3 of the row's largest value) at each linear layer;
 * these random models, whose attention is sharper than a trained one's, multiply that by up to 40. Both
 * bounds are 1.6 times the worst that was seen; a wrong operation is seen as a difference near 1. */
#define BF16_BOUND 0.06
#define INT8_BOUND 0.25

SR_UNUSED_THERE static void small_models_in_bf16(void **state)
{
    (void)state;
    run_all(SR_PRECISION_BF16, relative, BF16_BOUND);
}

SR_UNUSED_THERE static void small_models_in_int8(void **state)
{
    (void)state;
    run_all(SR_PRECISION_INT8, relative, INT8_BOUND);
}

SR_UNUSED_THERE static void small_models_in_fp32(void **state)
{
    (void)state;
    run_all(SR_PRECISION_FP32, difference, FP32_BOUND);
}

/* ---- the real model ---- */

/* Checked by sanitizers each product takes twenty times as long: fewer of the same. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SLOW 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

#define PROJECTED 96
#define DIM       384
#define BATCH     25

static char *read_texts(size_t *n)
{
    FILE *file = fopen(GOLDEN "texts.txt", "rb");
    assert_non_null(file);
    char *text = sr_mem_alloc((size_t)1 << 20);
    assert_non_null(text);
    *n = fread(text, 1, (size_t)1 << 20, file);
    fclose(file);
    return text;
}

/* The signs of make_encoder.py's projection. */
static float sign_at(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return z >> 63 ? 1.0f : -1.0f;
}

struct real {
    struct sr_encoder *e;
    struct sr_team *team;
    struct sr_encoder_work *work;
    struct sr_safetensors *file;
    char *texts;
    size_t bytes, n;
    struct sr_bytes text[1024];
    float signs[DIM * PROJECTED];
};

static void real_open(struct real *r, enum sr_precision precision)
{
    struct sr_err err = {0};
    r->e = open_encoder(SR_SOURCE_DIR "/models/all-MiniLM-L6-v2", precision, NULL, 0);
    assert_int_equal(sr_team_new(&r->team, 2), 0);
    assert_int_equal(sr_encoder_work_new(&r->work, (size_t)256 << 20), 0);
    assert_int_equal(sr_safetensors_open_file(&r->file, GOLDEN "minilm.safetensors", &err), 0);
    r->texts = read_texts(&r->bytes);
    for (size_t at = 0; at < r->bytes && r->n < 1024;) {
        const char *end = memchr(r->texts + at, '\n', r->bytes - at);
        r->text[r->n++] = sr_bytes_of(r->texts + at, (size_t)(end - r->texts) - at);
        at = (size_t)(end - r->texts) + 1;
    }
    for (size_t i = 0; i < DIM * PROJECTED; i++)
        r->signs[i] = sign_at(i) / sqrtf(DIM);
}

static void real_close(struct real *r)
{
    sr_encoder_unref(r->e);
    sr_team_free(r->team);
    sr_encoder_work_free(r->work);
    sr_safetensors_close(r->file);
    sr_mem_free(r->texts);
}

/* Vectors of `n` texts, every `step`th from `first`. */
static void real_embed(struct real *r, size_t first, size_t step, size_t n, float *out)
{
    static int32_t ids[BATCH][4096];
    struct sr_encoder_item items[BATCH] = {0};
    for (size_t i = 0; i < n; i++) {
        struct sr_tokens tokens = {.ids = ids[i], .cap = 4096};
        assert_int_equal(sr_tokenizer_encode(sr_encoder_tokenizer(r->e), r->text[first + i * step],
                                             SR_TOKENIZER_SPECIAL | SR_TOKENIZER_NO_OFFSETS, &tokens),
                         0);
        if (tokens.n > 512) /* what sentence-transformers does */
            ids[i][511] = ids[i][tokens.n - 1];
        items[i].ids = ids[i];
        items[i].n_ids = tokens.n < 512 ? tokens.n : 512;
        items[i].heads = 1;
        items[i].out[0] = out + i * DIM;
    }
    assert_int_equal(sr_encoder_run(r->e, r->team, r->work, items, n, NULL), 0);
}

static double worst_projected(const struct real *r, const float *vectors, size_t first, size_t n)
{
    const int16_t *want =
        (const int16_t *)(const void *)sr_safetensors_find(r->file, "projected")->data + first * PROJECTED;
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t p = 0; p < PROJECTED; p++) {
            double sum = 0;
            for (size_t d = 0; d < DIM; d++)
                sum += (double)vectors[i * DIM + d] * r->signs[d * PROJECTED + p];
            worst = fmax(worst, fabs(sum - want[i * PROJECTED + p] / 65536.0));
        }
    return worst;
}

/* All texts (SLOW: the first batch): the projection of each vector, which is stored in
 * steps of 1.5e-5. */
static void a_thousand_texts_in_ten_languages(void **state)
{
    static float vectors[BATCH * DIM];
    static struct real r;
    double worst = 0;
    (void)state;
    real_open(&r, SR_PRECISION_FP32);
    assert_int_equal(r.n, 1000);
    for (size_t i = 0; i < r.n; i += SLOW ? r.n : BATCH) {
        real_embed(&r, i, 1, BATCH, vectors);
        worst = fmax(worst, worst_projected(&r, vectors, i, BATCH));
    }
    print_message("1000 texts, fp32: %.2g\n", worst);
    assert_true(worst <= FP32_BOUND);
    real_close(&r);
}

/* Every tenth text against its whole vector: largest difference of an element, smallest cosine. */
static void whole_vectors(enum sr_precision precision, double bound, double cosine)
{
    static float vectors[BATCH * DIM];
    static struct real r;
    double worst = 0, least = 1;
    memset(&r, 0, sizeof r);
    real_open(&r, precision);
    const float *want = (const float *)(const void *)sr_safetensors_find(r.file, "whole")->data;
    for (size_t i = 0; i < 100; i += BATCH) {
        real_embed(&r, i * 10, 10, BATCH, vectors);
        worst = fmax(worst, difference(vectors, want + i * DIM, BATCH * DIM));
        for (size_t k = 0; k < BATCH; k++) {
            double dot = 0;
            for (size_t d = 0; d < DIM; d++)
                dot += (double)vectors[k * DIM + d] * want[(i + k) * DIM + d];
            least = fmin(least, dot);
        }
    }
    print_message("100 vectors, precision %d: difference %.2g, cosine %.6f\n", (int)precision, worst, least);
    assert_true(worst <= bound && least >= cosine);
    real_close(&r);
}

SR_UNUSED_THERE static void whole_vectors_in_bf16(void **state)
{
    (void)state;
    whole_vectors(SR_PRECISION_BF16, 4e-3, 0.9998);
}

static void whole_vectors_in_int8(void **state)
{
    (void)state;
    whole_vectors(SR_PRECISION_INT8, 4e-2, 0.985);
}

SR_UNUSED_THERE static void whole_vectors_in_fp32(void **state)
{
    (void)state;
    whole_vectors(SR_PRECISION_FP32, FP32_BOUND, 1 - 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_texts_in_ten_languages),
        cmocka_unit_test(whole_vectors_in_int8),
#ifndef __SANITIZE_THREAD__ /* arithmetic has no races, and takes a quarter of an hour there */
        cmocka_unit_test(small_models_in_fp32),
        cmocka_unit_test(whole_vectors_in_fp32),
        cmocka_unit_test(whole_vectors_in_bf16),
        cmocka_unit_test(small_models_in_bf16),
        cmocka_unit_test(small_models_in_int8),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
