/*
 * Encoders of full shape against Hugging Face transformers: tests/golden/encoder/full, made by
 * make_encoder.py.
 *
 * The weights are not kept: both sides make them from the names of the tensors (see `generated` there), here
 * into a folder that is removed again. The vocabulary is small, everything else is as in the published
 * models.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "infer/encoder/encoder.h"
#include "model/safetensors.h"

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

#define FULL     SR_SOURCE_DIR "/tests/golden/encoder/full/"
#define FP32_MAX 1e-4
#define BLOCK    65536

struct tensor {
    char name[128];
    size_t rows, columns; /* columns 0: one dimension */
    size_t n;
};

static struct {
    struct tensor tensors[512];
    size_t n;
    char folder[128];
} made;

/* ---- the portable generator ---- */

static uint64_t splitmix(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static bool is_norm(const char *name)
{
    size_t n = strlen(name);
    bool weight = n > 6 && strcmp(name + n - 6, "weight") == 0;
    return weight && (strstr(name, "norm") || strstr(name, "Norm"));
}

static uint16_t to_bf16(float f) /* exact for what is generated */
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    assert_int_equal(bits & 0xFFFF, 0);
    return (uint16_t)(bits >> 16);
}

/* Matrices as BF16, which is exact for them, vectors as F32. */
static void generate(const struct tensor *t, FILE *file)
{
    static uint16_t table[255], block[BLOCK];
    uint64_t seed = UINT64_C(0xCBF29CE484222325);
    for (const char *p = t->name; *p; p++)
        seed = (seed ^ (unsigned char)*p) * UINT64_C(0x100000001B3);
    for (size_t i = 0; i < t->n && !t->columns; i++) {
        float value = ((float)(splitmix(seed + i) % 255) - 127) / 512 + (is_norm(t->name) ? 1.0f : 0.0f);
        assert_int_equal(fwrite(&value, sizeof value, 1, file), 1);
    }
    if (!t->columns)
        return;
    float scale = strstr(t->name, "embeddings") ? 1 : (float)exp2(-floor(log2((double)t->columns) / 2));
    for (int v = 0; v < 255; v++)
        table[v] = to_bf16((float)(v - 127) / 128 * scale);
    for (size_t i = 0; i < t->n; i += BLOCK) {
        size_t m = t->n - i < BLOCK ? t->n - i : BLOCK;
        for (size_t k = 0; k < m; k++)
            block[k] = table[splitmix(seed + i + k) % 255];
        assert_int_equal(fwrite(block, 2, m, file), m);
    }
}

/* ---- the folder ---- */

static void read_tensors(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, FULL "%s.tensors", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (made.n = 0; made.n < 512; made.n++) {
        struct tensor *t = &made.tensors[made.n];
        char line[256];
        if (!fgets(line, sizeof line, file))
            break;
        t->columns = 0;
        assert_true(sscanf(line, "%127s %zu %zu", t->name, &t->rows, &t->columns) >= 2);
        t->n = t->rows * (t->columns ? t->columns : 1);
    }
    fclose(file);
}

static void write_weights(void)
{
    char path[512];
    struct sr_buf header;
    size_t at = 0;
    sr_buf_init(&header, (size_t)1 << 20);
    for (size_t i = 0; i < made.n; i++) {
        const struct tensor *t = &made.tensors[i];
        char shape[64];
        size_t size = t->n * (t->columns ? 2 : 4);
        snprintf(shape, sizeof shape, t->columns ? "%zu,%zu" : "%zu", t->rows, t->columns);
        assert_int_equal(
            sr_buf_printf(&header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                          i ? "," : "{", t->name, t->columns ? "BF16" : "F32", shape, at, at + size),
            0);
        at += size;
    }
    assert_int_equal(sr_buf_append(&header, "}", 1), 0);
    while (header.len % 8)
        assert_int_equal(sr_buf_append(&header, " ", 1), 0);
    snprintf(path, sizeof path, "%s/model.safetensors", made.folder);
    FILE *file = fopen(path, "wb");
    uint64_t length = header.len;
    assert_non_null(file);
    assert_int_equal(fwrite(&length, 8, 1, file), 1);
    assert_int_equal(fwrite(header.data, 1, header.len, file), header.len);
    for (size_t i = 0; i < made.n; i++)
        generate(&made.tensors[i], file);
    assert_int_equal(fclose(file), 0);
    sr_buf_dispose(&header);
}

static void copy_file(const char *from, const char *name)
{
    char to[512], text[8192];
    snprintf(to, sizeof to, "%s/%s", made.folder, name);
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    for (size_t n; (n = fread(text, 1, sizeof text, in));)
        assert_int_equal(fwrite(text, 1, n, out), n);
    fclose(in);
    fclose(out);
}

static void make_folder(const char *name)
{
    const char *tmp = getenv("TMPDIR");
    char path[512];
    snprintf(made.folder, sizeof made.folder, "%.90s/sr-shapes-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(made.folder));
    snprintf(path, sizeof path, FULL "%s.config.json", name);
    copy_file(path, "config.json");
    copy_file(SR_SOURCE_DIR "/tests/golden/encoder/small/bert-embed/tokenizer.json", "tokenizer.json");
    read_tensors(name);
    write_weights();
}

/* Also when a test failed. */
static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"config.json", "tokenizer.json", "model.safetensors"};
    char path[512];
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", made.folder, names[i]);
        unlink(path);
    }
    rmdir(made.folder);
    return 0;
}

/* ---- comparing ---- */

struct wanted {
    struct sr_safetensors *file;
    const int32_t *ids, *lengths;
    const float *output;
    size_t n, n_output;
};

static void open_wanted(struct wanted *w, const char *name, const char *head)
{
    char path[512], output[64];
    struct sr_err err = {0};
    snprintf(path, sizeof path, FULL "%s.safetensors", name);
    snprintf(output, sizeof output, "output.%s", head);
    assert_int_equal(sr_safetensors_open_file(&w->file, path, &err), 0);
    const struct sr_tensor *lengths = sr_safetensors_find(w->file, "lengths");
    const struct sr_tensor *logits = sr_safetensors_find(w->file, output);
    assert_true(lengths && logits);
    w->lengths = (const int32_t *)(const void *)lengths->data;
    w->ids = (const int32_t *)(const void *)sr_safetensors_find(w->file, "ids")->data;
    w->output = (const float *)(const void *)logits->data;
    w->n = lengths->shape[0];
    w->n_output = logits->shape[0];
}

/* All sequences in one batch; of token heads the first, the middle and the last row are kept. */
static void run(const struct sr_encoder *e, const struct wanted *w, float *out)
{
    const struct sr_head_info *head = sr_encoder_info(e)->heads;
    struct sr_encoder_item items[8] = {0};
    struct sr_encoder_work *work;
    struct sr_team *team;
    bool token = head->kind == SR_HEAD_TOKEN;
    size_t ids = 0, at = 0, width = head->n_labels;
    float *rows[8];
    assert_int_equal(sr_team_new(&team, 2), 0);
    assert_int_equal(sr_encoder_work_new(&work, (size_t)1 << 28), 0);
    for (size_t i = 0; i < w->n; i++) {
        items[i].ids = w->ids + ids;
        items[i].n_ids = (size_t)w->lengths[i];
        items[i].heads = 1;
        items[i].out[0] = rows[i] = sr_mem_calloc(width * items[i].n_ids, sizeof(float));
        assert_non_null(rows[i]);
        ids += items[i].n_ids;
    }
    assert_int_equal(sr_encoder_run(e, team, work, items, w->n, NULL), 0);
    for (size_t i = 0; i < w->n; i++) {
        size_t kept[3] = {0, items[i].n_ids / 2, items[i].n_ids - 1};
        for (size_t k = 0; k < (token ? 3 : 1); k++, at += width) {
            assert_true(at + width <= w->n_output);
            memcpy(out + at, rows[i] + kept[k] * width, width * sizeof(float));
        }
        sr_mem_free(rows[i]);
    }
    assert_int_equal(at, w->n_output);
    sr_encoder_work_free(work);
    sr_team_free(team);
}

static double largest(const float *got, const float *want, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]) / fmax(1, fabs((double)want[i]));
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    return worst;
}

static double relative(const float *got, const float *want, size_t n)
{
    double d = 0, all = 0;
    for (size_t i = 0; i < n; i++) {
        d += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        all += (double)want[i] * want[i];
    }
    return isnan(d) ? INFINITY : sqrt(d / all);
}

static void check(const char *name, const char *head, enum sr_precision precision, double bound)
{
    struct sr_encoder_options options = {.precision = precision, .task = head};
    struct sr_encoder *e;
    struct wanted w;
    struct sr_err err = {0};
    bool vector = strcmp(head, "embedding") == 0;
    options.task = vector ? NULL : head;
    if (sr_encoder_open(&e, made.folder, &options, &err))
        fail_msg("%s", err.message);
    assert_int_equal(sr_encoder_find_head(e, head), 0);
    open_wanted(&w, name, head);
    float *got = sr_mem_calloc(w.n_output, sizeof *got);
    assert_non_null(got);
    run(e, &w, got);
    double worst = (precision == SR_PRECISION_FP32 ? largest : relative)(got, w.output, w.n_output);
    print_message("%s, precision %d: %.2g\n", name, (int)precision, worst);
    assert_true(worst <= bound);
    sr_mem_free(got);
    sr_safetensors_close(w.file);
    sr_encoder_unref(e);
}

/* fp32: largest difference. bf16 and int8: size of all differences relative to the outputs' size, each
 * bounded by a little over twice the worst that was seen (roberta-base: 0.007 and 0.05). */
static void shape(const char *name, const char *head)
{
    make_folder(name);
    check(name, head, SR_PRECISION_FP32, FP32_MAX);
    if (!SLOW)
        check(name, head, SR_PRECISION_BF16, 0.02);
    check(name, head, SR_PRECISION_INT8, 0.12);
    remove_folder(NULL);
}

static void minilm_l12(void **state)
{
    (void)state;
    shape("minilm-l12", "embedding");
}

static void mmbert_small(void **state)
{
    (void)state;
    shape("mmbert-small", "embedding");
}

#if !SLOW
static void bert_base(void **state)
{
    (void)state;
    shape("bert-base", "sequence");
}

static void roberta_base(void **state)
{
    (void)state;
    shape("roberta-base", "sequence");
}

static void modernbert_base(void **state)
{
    (void)state;
    shape("modernbert-base", "token");
}

static void mmbert_base(void **state)
{
    (void)state;
    shape("mmbert-base", "sequence");
}

static void deberta_v3_base(void **state) /* of ProtectAI's guard, PIGuard and Prompt Guard 2 of 86M */
{
    (void)state;
    shape("deberta-v3-base", "sequence");
}

static void deberta_v3_xsmall(void **state) /* of Prompt Guard 2 of 22M */
{
    (void)state;
    shape("deberta-v3-xsmall", "token");
}

static void xlmr_base(void **state)
{
    (void)state;
    shape("xlmr-base", "token");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minilm_l12),
        cmocka_unit_test(mmbert_small),
#if !SLOW
        cmocka_unit_test(bert_base),
        cmocka_unit_test(roberta_base),
        cmocka_unit_test(modernbert_base),
        cmocka_unit_test(mmbert_base),
        cmocka_unit_test(deberta_v3_base),
        cmocka_unit_test(deberta_v3_xsmall),
        cmocka_unit_test(xlmr_base),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, remove_folder);
}
