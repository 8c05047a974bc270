/* Reads the file in two passes over its spans: the first counts, the second fills. */
#include "select/model/vectors.h"

#include "base/mem.h"
#include "base/read_file.h"
#include "select/model/number.h"

#include <math.h>
#include <string.h>

#define READ_MS       60000
#define QUALITY_SHARE 0.9
#define QUALITY_LEAST 0.01
#define QUALITY_NONE  0.5

static size_t count_of(sr_json_view array)
{
    sr_json_view value;
    size_t at = 0, n = 0;
    while (sr_json_view_next(array, &at, NULL, &value))
        n++;
    return n;
}

static int size_up(struct sr_vectors *v, sr_json_view rows, struct sr_err *err)
{
    sr_json_view first = {0};
    size_t at = 0;
    if (!sr_json_view_is_array(rows) || !sr_json_view_next(rows, &at, NULL, &first) ||
        !sr_json_view_is_array(first))
        return sr_err_set(err, SR_EPARSE, "`embeddings` is not a list of lists of numbers");
    v->n = count_of(rows);
    v->dimensions = count_of(first);
    if (v->n > SR_VECTORS_MAX || v->dimensions > SR_VECTORS_WIDE)
        return sr_err_set(err, SR_ELIMIT, "more than %d embeddings, or more than %d numbers in one",
                          SR_VECTORS_MAX, SR_VECTORS_WIDE);
    if (v->dimensions == 0)
        return sr_err_set(err, SR_EPARSE, "an embedding has no numbers");
    v->rows = sr_arena_calloc(&v->arena, v->n * v->dimensions, sizeof *v->rows);
    v->halves = sr_arena_calloc(&v->arena, v->n, sizeof *v->halves);
    v->labels = sr_arena_calloc(&v->arena, v->n, sizeof *v->labels);
    v->votes = sr_arena_calloc(&v->arena, v->n, sizeof *v->votes);
    return v->rows && v->halves && v->labels && v->votes ? SR_OK
                                                         : sr_err_set(err, SR_ENOMEM, "out of memory");
}

static int fill_row(struct sr_vectors *v, size_t i, sr_json_view row, struct sr_err *err)
{
    sr_json_view value;
    size_t at = 0, d = 0;
    double sum = 0, number;
    for (; sr_json_view_next(row, &at, NULL, &value); d++) {
        if (d == v->dimensions || !sr_number_read(value, &number) || fabs(number) > 1e6)
            return sr_err_set(err, SR_EPARSE, "embedding %zu is not a list of %zu numbers", i, v->dimensions);
        v->rows[i * v->dimensions + d] = (float)number;
        sum += number * number;
    }
    v->halves[i] = (float)(sum / 2);
    return d == v->dimensions
               ? SR_OK
               : sr_err_set(err, SR_EPARSE, "embedding %zu has %zu of %zu numbers", i, d, v->dimensions);
}

static int fill_rows(struct sr_vectors *v, sr_json_view rows, struct sr_err *err)
{
    sr_json_view row;
    size_t at = 0;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && sr_json_view_next(rows, &at, NULL, &row); i++)
        rc = fill_row(v, i, row, err);
    return rc;
}

/* Equal labels follow each other often: they share their text. */
static int fill_labels(struct sr_vectors *v, sr_json_view labels, struct sr_err *err)
{
    sr_json_view label;
    size_t at = 0, i = 0;
    sr_json_view before = {0};
    for (; sr_json_view_next(labels, &at, NULL, &label); i++) {
        struct sr_bytes text;
        if (i == v->n || !sr_json_view_is_string(label))
            return sr_err_set(err, SR_EPARSE, "`labels` is not a list of %zu texts, one an embedding", v->n);
        if (i && label.n == before.n && memcmp(label.p, before.p, label.n) == 0)
            v->labels[i] = v->labels[i - 1];
        else if (!sr_json_view_dup(label, &v->arena, &text))
            return sr_err_set(err, SR_ENOMEM, "out of memory");
        else
            v->labels[i] = text.p;
        before = label;
    }
    return i == v->n ? SR_OK
                     : sr_err_set(err, SR_EPARSE, "`labels` has %zu of %zu texts, one an embedding", i, v->n);
}

/* Numbers of a list that may be missing into out[n]; NAN where there is none. */
static int fill_numbers(const struct sr_vectors *v, sr_json_view list, const char *name, double *out,
                        struct sr_err *err)
{
    sr_json_view value;
    size_t at = 0;
    for (size_t i = 0; i < v->n; i++) {
        out[i] = NAN;
        if (sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value) &&
            !sr_number_read(value, &out[i]))
            return sr_err_set(err, SR_EPARSE, "`%s` has something else than numbers", name);
    }
    return SR_OK;
}

static int fill_votes(struct sr_vectors *v, sr_json_view root, struct sr_err *err)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    double *latencies = sr_mem_calloc(v->n, sizeof *latencies);
    int rc = latencies ? fill_numbers(v, sr_json_view_get(root, "qualities"), "qualities", v->votes, err)
                       : sr_err_set(err, SR_ENOMEM, "out of memory");
    if (rc == SR_OK)
        rc = fill_numbers(v, sr_json_view_get(root, "latencies"), "latencies", latencies, err);
    for (size_t i = 0; rc == SR_OK && i < v->n; i++) {
        low = latencies[i] < low ? latencies[i] : low;
        high = latencies[i] > high ? latencies[i] : high;
    }
    for (size_t i = 0; rc == SR_OK && i < v->n; i++) {
        double speed = isnan(latencies[i]) ? 0.5 : 1 - (latencies[i] - low) / (high > low ? high - low : 1);
        double quality = isnan(v->votes[i]) ? QUALITY_NONE : v->votes[i];
        quality = quality > QUALITY_LEAST ? quality : QUALITY_LEAST;
        v->votes[i] = QUALITY_SHARE * quality + (1 - QUALITY_SHARE) * speed;
    }
    sr_mem_free(latencies);
    return rc;
}

int sr_vectors_parse(struct sr_vectors *out, struct sr_bytes text, struct sr_err *err)
{
    sr_json_view root;
    int64_t k = 0;
    *out = (struct sr_vectors){0};
    sr_arena_init(&out->arena, SR_VECTORS_FILE_MAX * 2);
    int rc = sr_json_view_open(&root, text, err);
    if (rc)
        return rc;
    sr_json_view rows = sr_json_view_get(root, "embeddings");
    rc = size_up(out, rows, err);
    if (rc == SR_OK)
        rc = fill_rows(out, rows, err);
    if (rc == SR_OK)
        rc = fill_labels(out, sr_json_view_get(root, "labels"), err);
    if (rc == SR_OK)
        rc = fill_votes(out, root, err);
    if (rc == SR_OK && sr_json_view_int(sr_json_view_get(root, "k"), &k) && k > 0)
        out->k = (int)(k < SR_VECTORS_K_MAX ? k : SR_VECTORS_K_MAX);
    if (rc)
        sr_vectors_dispose(out);
    return rc;
}

int sr_vectors_load(struct sr_vectors *out, const char *path, struct sr_err *err)
{
    struct sr_buf file;
    struct sr_err why = {0};
    *out = (struct sr_vectors){0};
    sr_buf_init(&file, SR_VECTORS_FILE_MAX);
    int rc = sr_read_file(&file, path, READ_MS, &why);
    if (rc == SR_OK)
        rc = sr_vectors_parse(out, sr_buf_view(&file), &why);
    if (rc)
        sr_err_set(err, rc, "%.120s: %.180s", path, why.message[0] ? why.message : sr_strerror(rc));
    sr_buf_dispose(&file);
    return rc;
}

void sr_vectors_dispose(struct sr_vectors *vectors)
{
    sr_arena_dispose(&vectors->arena);
    *vectors = (struct sr_vectors){0};
}

/* Eight sums, so that the compiler can use vectors without changing the order of any sum. */
static float dot(const float *a, const float *b, size_t n)
{
    float sums[8] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (size_t k = 0; k < 8; k++)
            sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (size_t k = 0; k < 8; k++)
        sum += sums[k];
    return sum;
}

size_t sr_vectors_nearest(const struct sr_vectors *vectors, const float *vector, size_t k, size_t *nearest)
{
    float far[SR_VECTORS_K_MAX];
    size_t n = 0;
    k = k < SR_VECTORS_K_MAX ? k : SR_VECTORS_K_MAX;
    for (size_t i = 0; i < vectors->n && k; i++) {
        float distance =
            vectors->halves[i] - dot(vectors->rows + i * vectors->dimensions, vector, vectors->dimensions);
        if (n == k && distance >= far[n - 1])
            continue;
        size_t at = n < k ? n++ : n - 1;
        for (; at > 0 && far[at - 1] > distance; at--) {
            far[at] = far[at - 1];
            nearest[at] = nearest[at - 1];
        }
        far[at] = distance;
        nearest[at] = i;
    }
    return n;
}
