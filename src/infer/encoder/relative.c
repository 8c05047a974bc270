/*
 * Relative positions of DeBERTa (disentangled attention): the buckets of distances, the rows that stand for
 * them, and what each layer makes of the rows.
 *
 * A layer's projections of the rows depend on weights alone, so they are made when the model is opened, in
 * fp32, and packed for each head. Formulas: transformers, models/deberta_v2/modeling_deberta_v2.py.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

#define ALIGN 64u

/* The bucket, from -span to span, of the distance query - key (make_log_bucket_position of transformers, in
 * its float arithmetic). Beyond `distances` it may be larger; callers clamp it. */
static long bucket_of(const struct sr_enc_config *c, long distance)
{
    long middle = (long)c->buckets / 2, away = labs(distance);
    if (!c->buckets || away <= middle)
        return distance;
    float ratio = (float)away / (float)middle;
    float most = (float)((double)(c->distances - 1) / (double)middle);
    long bucket = (long)ceilf(logf(ratio) / logf(most) * (float)(middle - 1)) + middle;
    return distance < 0 ? -bucket : bucket;
}

/* The row, of those as they are loaded, for the distance query - key. */
static int32_t row_of(const struct sr_enc_config *c, long distance)
{
    long span = (long)c->span, row = bucket_of(c, distance) + span;
    return (int32_t)(row < 0 ? 0 : row > 2 * span - 1 ? 2 * span - 1 : row);
}

/* Keys' rows are packed in reverse order, so that they ascend with key - query. */
static int make_rows(struct sr_encoder *e, struct sr_err *err)
{
    long positions = (long)(e->info.max_tokens + SR_RELATIVE_ROOM);
    size_t n = 2 * (size_t)positions + 1;
    int32_t *rows = sr_arena_alloc(&e->arena, 2 * n * sizeof *rows);
    if (!rows)
        return sr_enc_out_of_memory(err);
    for (long i = 0; i < (long)n; i++) {
        rows[i] = (int32_t)(2 * e->config.span - 1) - row_of(&e->config, positions - i);
        rows[(long)n + i] = row_of(&e->config, i - positions);
    }
    e->relative.key_rows = rows + positions;
    e->relative.query_rows = rows + n + positions;
    e->relative.positions = (size_t)positions;
    return SR_OK;
}

int sr_enc_relative_load(struct sr_encoder *e, struct sr_err *err)
{
    static const char name[] = "encoder.rel_embeddings.weight";
    const struct sr_enc_config *c = &e->config;
    const struct sr_tensor *t = sr_enc_trunk_tensor(&e->files, name);
    struct sr_enc_norm norm = {0};
    size_t rows = 2 * c->span;
    int rc = sr_enc_check(&e->files, t, name, rows, c->hidden, err);
    if (rc == SR_OK)
        rc = make_rows(e, err);
    if (rc == SR_OK && c->norm_relative)
        rc = sr_enc_norm_load(e, "encoder.LayerNorm", true, &norm, err);
    if (rc)
        return rc;
    e->info.parameters += rows * c->hidden;
    e->relative.rows = sr_mem_alloc(rows * c->hidden * sizeof *e->relative.rows);
    rc = e->relative.rows ? sr_enc_floats(&e->files, t, e->relative.rows, err) : sr_enc_out_of_memory(err);
    struct sr_rows x = {e->relative.rows, c->hidden, SR_SCALAR_F32}, none = {0};
    if (rc == SR_OK && c->norm_relative)
        sr_layer_norm(NULL, x, none, none, norm.weight, norm.bias, c->eps, rows, c->hidden, x);
    return rc;
}

/* out[2 * span][hidden]: the rows through a projection. On the heap. */
static int project(struct sr_encoder *e, const struct sr_enc_linear *projection,
                   struct sr_enc_adapter *adapter, float **out, struct sr_err *err)
{
    size_t rows = 2 * e->config.span, hidden = e->config.hidden;
    struct sr_matrix *matrix = NULL;
    int rc = sr_enc_linear_load(e, projection, adapter, &matrix, err);
    if (rc)
        return rc;
    unsigned char *scratch = sr_mem_alloc(sr_gemm_scratch(matrix, rows) + ALIGN);
    *out = sr_mem_alloc(rows * hidden * sizeof **out);
    if (scratch && *out) {
        struct sr_rows x = {e->relative.rows, hidden, SR_SCALAR_F32}, y = {*out, hidden, SR_SCALAR_F32};
        sr_gemm(NULL, matrix, x, rows, y, scratch + (ALIGN - (uintptr_t)scratch % ALIGN));
    } else {
        rc = sr_enc_out_of_memory(err);
    }
    sr_mem_free(scratch);
    sr_matrix_free(matrix);
    return rc;
}

/* Each head's part of the projected rows, as a matrix; `reverse`: the last row first. */
static int pack_heads(struct sr_encoder *e, const float *rows, bool reverse, struct sr_matrix **out,
                      struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    size_t n = 2 * c->span, d = c->head_dim;
    bool fp32 = e->info.precision == SR_PRECISION_FP32;
    float *block = sr_mem_alloc(n * d * sizeof *block);
    struct sr_matrix_source source = {block, SR_SCALAR_F32, n, d, NULL};
    int rc = block ? SR_OK : SR_ENOMEM;
    for (size_t h = 0; rc == SR_OK && h < c->heads; h++) {
        for (size_t i = 0; i < n; i++)
            memcpy(block + i * d, rows + (reverse ? n - 1 - i : i) * c->hidden + h * d, d * sizeof *block);
        rc = sr_matrix_pack(&out[h], &source, fp32 ? SR_PRECISION_FP32 : SR_PRECISION_BF16, SR_EPILOGUE_NONE);
        if (rc == SR_OK)
            e->info.weight_bytes += sr_matrix_bytes(out[h]);
    }
    sr_mem_free(block);
    return rc ? sr_err_set(err, rc, "%s: relative positions could not be packed: %s", e->info.folder,
                           sr_strerror(rc))
              : SR_OK;
}

int sr_enc_terms_load(struct sr_encoder *e, const struct sr_enc_linear *projections,
                      struct sr_enc_adapter *adapter, struct sr_matrix **terms[2], struct sr_err *err)
{
    bool wanted[2] = {e->config.c2p, e->config.p2c};
    int rc = SR_OK;
    for (size_t part = 0; rc == SR_OK && part < 2; part++) {
        struct sr_enc_linear one = *projections;
        float *rows = NULL;
        if (!wanted[part])
            continue;
        one.modules[0] = projections->modules[1 - part]; /* queries meet positions as keys */
        one.parts = 1;
        terms[part] = sr_mem_calloc(e->config.heads, sizeof *terms[part]);
        rc = terms[part] ? project(e, &one, adapter, &rows, err) : sr_enc_out_of_memory(err);
        if (rc == SR_OK)
            rc = pack_heads(e, rows, part == 0, terms[part], err);
        sr_mem_free(rows);
    }
    return rc;
}

void sr_enc_terms_free(const struct sr_encoder *e, struct sr_matrix **terms[2])
{
    for (size_t part = 0; part < 2; part++) {
        for (size_t h = 0; terms[part] && h < e->config.heads; h++)
            sr_matrix_free(terms[part][h]);
        sr_mem_free(terms[part]);
        terms[part] = NULL;
    }
}
