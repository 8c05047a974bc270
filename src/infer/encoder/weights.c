/*
 * Tensors of trunks as vectors, norms and packed matrices, with what an adapter adds. Which ones a trunk
 * needs is said in trunk.c.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <stdio.h>

int sr_enc_vector_load(struct sr_encoder *e, const struct sr_enc_files *files, const struct sr_tensor *tensor,
                       const char *name, size_t n, const float **out, struct sr_err *err)
{
    int rc = sr_enc_check(files, tensor, name, n, 0, err);
    if (rc)
        return rc;
    float *v = sr_arena_alloc(&e->arena, n * sizeof *v);
    if (!v)
        return sr_enc_out_of_memory(err);
    *out = v;
    e->info.parameters += n;
    return sr_enc_floats(files, tensor, v, err);
}

int sr_enc_norm_load(struct sr_encoder *e, const char *module, bool bias, struct sr_enc_norm *norm,
                     struct sr_err *err)
{
    char name[SR_ENC_NAME_MAX];
    snprintf(name, sizeof name, "%s.weight", module);
    int rc = sr_enc_vector_load(e, &e->files, sr_enc_trunk_tensor(&e->files, name), name, e->config.hidden,
                                &norm->weight, err);
    if (rc || !bias)
        return rc;
    snprintf(name, sizeof name, "%s.bias", module);
    return sr_enc_vector_load(e, &e->files, sr_enc_trunk_tensor(&e->files, name), name, e->config.hidden,
                              &norm->bias, err);
}

/* ---- linear layers ---- */

static int tensor_of(struct sr_encoder *e, const char *module, const char *kind, size_t rows, size_t columns,
                     const struct sr_tensor **out, struct sr_err *err)
{
    char name[SR_ENC_NAME_MAX];
    snprintf(name, sizeof name, "%s.%s", module, kind);
    *out = sr_enc_trunk_tensor(&e->files, name);
    return sr_enc_check(&e->files, *out, name, rows, columns, err);
}

static int load_bias(struct sr_encoder *e, const struct sr_enc_linear *l, float *bias, struct sr_err *err)
{
    const struct sr_tensor *t;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < l->parts; i++) {
        rc = tensor_of(e, l->modules[i], "bias", l->rows, 0, &t, err);
        if (rc == SR_OK)
            rc = sr_enc_floats(&e->files, t, bias + i * l->rows, err);
    }
    return rc;
}

/* Before anything of the size that config.json states is allocated. */
static int check_parts(struct sr_encoder *e, const struct sr_enc_linear *l, struct sr_err *err)
{
    const struct sr_tensor *t;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < l->parts; i++) {
        rc = tensor_of(e, l->modules[i], "weight", l->rows, l->depth, &t, err);
        if (rc == SR_OK && l->bias)
            rc = tensor_of(e, l->modules[i], "bias", l->rows, 0, &t, err);
    }
    return rc;
}

/* All parts as floats above each other, each with what the adapter adds. */
static int load_rows(struct sr_encoder *e, const struct sr_enc_linear *l, struct sr_enc_adapter *adapter,
                     float *rows, struct sr_err *err)
{
    const struct sr_tensor *t;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < l->parts; i++) {
        float *part = rows + i * l->rows * l->depth;
        rc = tensor_of(e, l->modules[i], "weight", l->rows, l->depth, &t, err);
        if (rc == SR_OK)
            rc = sr_enc_floats(&e->files, t, part, err);
        if (rc == SR_OK && adapter)
            rc = sr_enc_adapter_merge(adapter, l->modules[i], part, l->rows, l->depth, err);
    }
    return rc;
}

static int pack(struct sr_encoder *e, const struct sr_enc_linear *l, const struct sr_matrix_source *source,
                struct sr_matrix **out, struct sr_err *err)
{
    int rc = sr_matrix_pack(out, source, l->exact ? SR_PRECISION_FP32 : e->info.precision, l->epilogue);
    if (rc)
        return sr_err_set(err, rc, "%s: %s%s could not be packed: %s", e->info.folder, e->files.prefix,
                          l->modules[0], sr_strerror(rc));
    if (l->exact)
        return SR_OK;
    e->info.weight_bytes += sr_matrix_bytes(*out);
    e->info.parameters += source->n * source->k + (source->bias ? source->n : 0);
    return SR_OK;
}

/* A single tensor of floats that nothing is merged into is packed as it lies in the file; others by way of
 * `rows`. */
static int load_source(struct sr_encoder *e, const struct sr_enc_linear *l, struct sr_enc_adapter *adapter,
                       struct sr_matrix_source *source, float **rows, struct sr_err *err)
{
    const struct sr_tensor *t;
    int rc = tensor_of(e, l->modules[0], "weight", l->rows, l->depth, &t, err);
    if (rc)
        return rc;
    if (l->parts > 1 || t->dtype == SR_DTYPE_U8 || (adapter && sr_enc_adapter_has(adapter, l->modules[0]))) {
        *rows = sr_mem_alloc(source->n * source->k * sizeof **rows);
        source->weights = *rows;
        return *rows ? load_rows(e, l, adapter, *rows, err) : sr_enc_out_of_memory(err);
    }
    source->weights = t->data;
    source->type = sr_enc_scalar(t);
    return sr_enc_check_values(&e->files, t, err);
}

int sr_enc_linear_load(struct sr_encoder *e, const struct sr_enc_linear *l, struct sr_enc_adapter *adapter,
                       struct sr_matrix **out, struct sr_err *err)
{
    struct sr_matrix_source source = {.type = SR_SCALAR_F32, .n = l->parts * l->rows, .k = l->depth};
    float *rows = NULL, *bias = NULL;
    int rc = check_parts(e, l, err);
    if (rc == SR_OK)
        rc = load_source(e, l, adapter, &source, &rows, err);
    if (rc == SR_OK && l->bias) {
        source.bias = bias = sr_mem_alloc(source.n * sizeof *bias);
        rc = bias ? load_bias(e, l, bias, err) : sr_enc_out_of_memory(err);
    }
    if (rc == SR_OK)
        rc = pack(e, l, &source, out, err);
    sr_mem_free(rows);
    sr_mem_free(bias);
    return rc;
}
