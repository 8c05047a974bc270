/*
 * The linear tier: C against the Python reference in tests/golden/linear_domain.jsonl, text in pieces,
 * sharing, and models that must be refused.
 */
#include "base/buf.h"
#include "base/hash.h"
#include "model/linear/linear.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define GOLDEN SR_SOURCE_DIR "/tests/golden/linear_domain.jsonl"
#define MODEL  SR_SOURCE_DIR "/models/domain-linear/model.safetensors"

static struct sr_linear *model;
static struct sr_linear_run run;

static int setup(void **state)
{
    (void)state;
    struct sr_err err = {0};
    int rc = sr_linear_open_domain(&model, &err);
    if (rc)
        print_error("%s\n", err.message);
    return rc;
}

static int teardown(void **state)
{
    (void)state;
    sr_linear_unref(model);
    return 0;
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* The parts of one golden line; `text` holds at least as many bytes as the line. */
static size_t golden_line(const char *line, char *text, char label[64], double *logits)
{
    size_t n = 0;
    const char *p = strstr(line, "\"hex\":\"");
    assert_non_null(p);
    for (p += 7; *p != '"'; p += 2)
        text[n++] = (char)(hex(p[0]) << 4 | hex(p[1]));
    p = strstr(p, "\"label\":\"");
    assert_non_null(p);
    p += 9;
    size_t length = strcspn(p, "\"");
    assert_true(length < 64);
    memcpy(label, p, length);
    label[length] = 0;
    p = strstr(p, "\"logits\":[");
    assert_non_null(p);
    p += 10;
    for (size_t l = 0; l < sr_linear_n_labels(model); l++) {
        char *end;
        logits[l] = strtod(p, &end);
        assert_true(end > p);
        p = end + 1;
    }
    return n;
}

static void check_probabilities(const float *p, size_t top)
{
    double sum = 0;
    for (size_t l = 0; l < sr_linear_n_labels(model); l++) {
        assert_true(p[l] >= 0 && p[l] <= 1);
        sum += p[l];
    }
    assert_true(fabs(sum - 1) < 1e-5);
    assert_true(p[top] == p[sr_classifier_top(p, sr_linear_n_labels(model))]);
}

static void agrees_with_python(void **state)
{
    (void)state;
    static char line[1 << 16], text[1 << 16];
    char label[64];
    double want[SR_CLASSIFIER_LABELS_MAX], got[SR_CLASSIFIER_LABELS_MAX];
    float p[SR_CLASSIFIER_LABELS_MAX], whole[SR_CLASSIFIER_LABELS_MAX];
    size_t lines = 0;
    FILE *f = fopen(GOLDEN, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        size_t n = golden_line(line, text, label, want), top = 0;
        sr_linear_begin(&run, model);
        for (size_t i = 0; i < n; i += lines % 7 + 1) /* pieces of one to seven bytes */
            sr_linear_feed(&run, sr_bytes_of(text + i, n - i < lines % 7 + 1 ? n - i : lines % 7 + 1));
        sr_linear_end(&run, got, p);
        for (size_t l = 0; l < sr_linear_n_labels(model); l++) {
            if (!(fabs(got[l] - want[l]) < 1e-8 * (1 + fabs(want[l]))))
                fail_msg("line %zu label %zu: %.12g, Python says %.12g", lines + 1, l, got[l], want[l]);
            top = got[l] > got[top] ? l : top;
        }
        assert_string_equal(sr_linear_labels(model)[top], label);
        check_probabilities(p, top);
        sr_linear_scores(model, sr_bytes_of(text, n), whole);
        assert_memory_equal(p, whole, sr_linear_n_labels(model) * sizeof *p);
        lines++;
    }
    fclose(f);
    assert_true(lines >= 300);
}

static void names_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(sr_linear_n_labels(model), 14);
    assert_string_equal(sr_linear_labels(model)[0], "biology");
    assert_string_equal(sr_linear_labels(model)[3], "computer science");
    assert_string_equal(sr_linear_labels(model)[13], "psychology");
    assert_string_equal(sr_linear_task(model), "domain");
    assert_int_equal(strlen(sr_linear_sha256(model)), 64);
    assert_true(sr_linear_rows(model) > 1000 && sr_linear_rows(model) <= SR_LINEAR_ROWS_MAX);
}

static void works_as_classifier(void **state)
{
    (void)state;
    float p[SR_CLASSIFIER_LABELS_MAX];
    struct sr_classifier *c = sr_classifier_ref(sr_linear_classifier(model));
    struct sr_classifier_query query = {.text = SR_LIT("Find the eigenvalues of a symmetric 2 by 2 matrix."),
                                        .probabilities = p};
    assert_string_equal(c->ops->name, "linear");
    assert_int_equal(sr_classifier_answer(c, &query), SR_OK);
    assert_string_equal(c->labels[sr_classifier_top(p, c->n_labels)], "math");
    assert_true(sr_classifier_entropy(p, c->n_labels) < 0.8f);
    sr_classifier_unref(c);
}

static void entropy_has_its_ends(void **state)
{
    (void)state;
    const float even[] = {0.25f, 0.25f, 0.25f, 0.25f}, sure[] = {0, 1, 0, 0};
    assert_true(fabsf(sr_classifier_entropy(even, 4) - 1) < 1e-6f);
    assert_true(sr_classifier_entropy(sure, 4) == 0);
    assert_true(sr_classifier_entropy(sure, 1) == 0);
    assert_int_equal(sr_classifier_top(sure, 4), 1);
    assert_int_equal(sr_classifier_top(even, 4), 0);
}

static char *read_model(size_t *n)
{
    FILE *f = fopen(MODEL, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*n);
    assert_non_null(p);
    assert_int_equal(fread(p, 1, *n, f), *n);
    fclose(f);
    return p;
}

static void verifies_hashes(void **state)
{
    (void)state;
    struct sr_err err = {0};
    struct sr_linear *other;
    size_t n;
    char *p = read_model(&n);
    assert_int_equal(sr_linear_open_file(&other, MODEL, sr_linear_sha256(model), &err), SR_OK);
    sr_linear_unref(sr_linear_ref(other));
    sr_linear_unref(other);
    char wrong[SR_SHA256_HEX];
    memcpy(wrong, sr_linear_sha256(model), sizeof wrong);
    wrong[5] = wrong[5] == '0' ? '1' : '0';
    assert_int_equal(sr_linear_open_file(&other, MODEL, wrong, &err), SR_EMISMATCH);
    assert_null(other);
    p[n - 1] ^= 1; /* one bit of one weight */
    assert_int_equal(sr_linear_open_memory(&other, p, n, NULL, &err), SR_EMISMATCH);
    assert_non_null(strstr(err.message, "SHA-256"));
    assert_int_equal(sr_linear_open_memory(&other, p, n - 1, NULL, &err), SR_EPARSE);
    free(p);
    assert_int_equal(sr_linear_open_file(&other, "/nonexistent/model", NULL, &err), SR_ENOENT);
}

/* A file whose data is one bias; `metadata` and `tensors` are the rest of the header. */
static int open_made(const char *metadata, const char *tensors, size_t data, struct sr_err *err)
{
    static unsigned char file[8192];
    char text[4096], digest[SR_SHA256_HEX];
    struct sr_linear *other;
    memset(file, 0, sizeof file);
    assert_int_equal(sr_sha256_hex(sr_bytes_of(file, data), digest), 0);
    int n = snprintf(text, sizeof text, "{\"__metadata__\":{%s,\"sha256\":\"%s\"},%s}", metadata, digest,
                     tensors);
    file[0] = (unsigned char)n;
    file[1] = (unsigned char)(n >> 8);
    memcpy(file + 8, text, (size_t)n);
    int rc = sr_linear_open_memory(&other, file, 8 + (size_t)n + data, NULL, err);
    assert_null(other);
    return rc;
}

static void refuses_wrong_models(void **state)
{
    (void)state;
    struct sr_err err = {0};
    const char *meta = "\"format\":\"semroute-linear-1\",\"task\":\"t\",\"labels\":\"a|b\"";
    const char *one = "\"bias\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]}";
    assert_int_equal(open_made("\"format\":\"other\"", one, 16, &err), SR_EUNSUPPORTED);
    assert_int_equal(open_made("\"format\":\"semroute-linear-1\",\"task\":\"t\"", one, 16, &err), SR_EPARSE);
    assert_int_equal(
        open_made("\"format\":\"semroute-linear-1\",\"task\":\"t\",\"labels\":\"a||b\"", one, 16, &err),
        SR_EPARSE);
    assert_int_equal(open_made(meta, one, 16, &err), SR_EPARSE);
    assert_non_null(strstr(err.message, "fingerprints"));
    /* All there and of the right shape, but a scale of zero. */
    assert_int_equal(
        open_made(meta,
                  "\"bias\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                  "\"figures\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[16,40]},"
                  "\"fingerprints\":{\"dtype\":\"U16\",\"shape\":[1,8],\"data_offsets\":[40,56]},"
                  "\"weights\":{\"dtype\":\"I8\",\"shape\":[8,2],\"data_offsets\":[56,72]}",
                  72, &err),
        SR_EPARSE);
    assert_non_null(strstr(err.message, "positive"));
    assert_int_equal(
        open_made(meta,
                  "\"bias\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                  "\"fingerprints\":{\"dtype\":\"U16\",\"shape\":[1,8],\"data_offsets\":[16,32]},"
                  "\"weights\":{\"dtype\":\"I8\",\"shape\":[7,2],\"data_offsets\":[32,46]}",
                  46, &err),
        SR_EPARSE);
    assert_non_null(strstr(err.message, "weights"));
}

/* A model of one bucket whose weights depend on row and label alone; the file's bytes stay for good. */
static struct sr_linear *one_bucket(unsigned labels)
{
    static unsigned char files[3][4096];
    static size_t used;
    assert_true(used < 3);
    unsigned char *file = files[used++], *data;
    char text[2048], names[256] = "l0", digest[SR_SHA256_HEX];
    size_t bias = labels * sizeof(double), figures = bias + 3 * sizeof(double), rows = figures + 16;
    size_t end = rows + (size_t)8 * labels;
    struct sr_linear *made;
    struct sr_err err = {0};
    for (unsigned l = 1; l < labels; l++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "|l%u", l);
    unsigned char body[1024] = {0};
    assert_true(end <= sizeof body);
    memcpy(body + bias, (double[]){0.01, 1, 20}, 3 * sizeof(double));
    for (size_t i = 0; i < 8; i++)
        memcpy(body + figures + 2 * i, &(uint16_t){(uint16_t)(4096 * i + 77)}, 2);
    for (size_t row = 0; row < 8; row++)
        for (unsigned l = 0; l < labels; l++)
            body[rows + row * labels + l] = (unsigned char)(row * 37 + l * 53 + 128);
    assert_int_equal(sr_sha256_hex(sr_bytes_of(body, end), digest), 0);
    int n = snprintf(text, sizeof text,
                     "{\"__metadata__\":{\"format\":\"semroute-linear-1\",\"task\":\"t\",\"labels\":\"%s\","
                     "\"sha256\":\"%s\"},"
                     "\"bias\":{\"dtype\":\"F64\",\"shape\":[%u],\"data_offsets\":[0,%zu]},"
                     "\"figures\":{\"dtype\":\"F64\",\"shape\":[3],\"data_offsets\":[%zu,%zu]},"
                     "\"fingerprints\":{\"dtype\":\"U16\",\"shape\":[1,8],\"data_offsets\":[%zu,%zu]},"
                     "\"weights\":{\"dtype\":\"I8\",\"shape\":[8,%u],\"data_offsets\":[%zu,%zu]}}",
                     names, digest, labels, bias, bias, figures, figures, rows, labels, rows, end);
    while (n % 8)
        text[n++] = ' ';
    file[0] = (unsigned char)n;
    file[1] = (unsigned char)(n >> 8);
    memcpy(file + 8, text, (size_t)n);
    data = file + 8 + n;
    memcpy(data, body, end);
    if (sr_linear_open_memory(&made, file, 8 + (size_t)n + end, NULL, &err))
        fail_msg("%s", err.message);
    return made;
}

/* However many labels a row has, and however near the table's end it lies, it counts the same. */
static void rows_of_any_width_count_alike(void **state)
{
    (void)state;
    static char text[1 << 18];
    static const unsigned widths[] = {2, 14, 40};
    double z[3][SR_CLASSIFIER_LABELS_MAX];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof text; i++) {
        random = random * 1664525u + 1013904223u;
        text[i] = (char)(random >> 28 ? 'a' + (random >> 20) % 26 : ' ');
    }
    for (size_t i = 0; i < 3; i++) {
        struct sr_linear *made = one_bucket(widths[i]);
        sr_linear_begin(&run, made);
        sr_linear_feed(&run, sr_bytes_of(text, sizeof text));
        sr_linear_end(&run, z[i], NULL);
        assert_int_equal(run.known, 8);
        for (size_t l = 0; l < widths[i]; l++) {
            int sum = 0;
            for (size_t row = 0; row < 8; row++)
                sum += (int8_t)(row * 37 + l * 53 + 128);
            assert_true(fabs(z[i][l] - sum * 0.01 / sqrt(28)) < 1e-12);
        }
        sr_linear_unref(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_python),
        cmocka_unit_test(names_what_it_is),
        cmocka_unit_test(works_as_classifier),
        cmocka_unit_test(entropy_has_its_ends),
        cmocka_unit_test(verifies_hashes),
        cmocka_unit_test(refuses_wrong_models),
        cmocka_unit_test(rows_of_any_width_count_alike),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
