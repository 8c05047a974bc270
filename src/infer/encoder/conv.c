/*
 * The convolution that the larger DeBERTa-v2 models have beside their first layer: what it gives for the rows
 * before that layer is added to the rows after it, and the sum is normed. A product with a matrix whose rows
 * are the neighbouring tokens' rows side by side; beyond a sequence's ends they are zeros.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

/* [hidden][hidden][conv] of the file becomes [hidden][conv * hidden]. */
static void turn(const float *from, size_t hidden, size_t width, float *to)
{
    for (size_t o = 0; o < hidden; o++)
        for (size_t c = 0; c < hidden; c++)
            for (size_t t = 0; t < width; t++)
                to[(o * width + t) * hidden + c] = from[(o * hidden + c) * width + t];
}

static int check_shape(const struct sr_encoder *e, const struct sr_tensor *t, const char *name,
                       struct sr_err *err)
{
    size_t hidden = e->config.hidden;
    if (!t)
        return sr_err_set(err, SR_EMISMATCH, "%s: the weights have no tensor %s%s", e->info.folder,
                          e->files.prefix, name);
    if (t->dtype != SR_DTYPE_F32 && t->dtype != SR_DTYPE_F16 && t->dtype != SR_DTYPE_BF16)
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: tensor %s is %s; F32, F16 and BF16 are supported",
                          e->info.folder, name, sr_dtype_name(t->dtype));
    if (t->rank != 3 || t->shape[0] != hidden || t->shape[1] != hidden || t->shape[2] != e->config.conv)
        return sr_err_set(err, SR_EMISMATCH,
                          "%s: tensor %s has another shape; the configuration asks for [%zu, %zu, %zu]",
                          e->info.folder, name, hidden, hidden, e->config.conv);
    return SR_OK;
}

static int pack(struct sr_encoder *e, const struct sr_tensor *t, const float *bias, struct sr_err *err)
{
    size_t hidden = e->config.hidden, k = e->config.conv * hidden;
    float *file = sr_mem_alloc(hidden * k * sizeof *file), *rows = sr_mem_alloc(hidden * k * sizeof *rows);
    int rc = file && rows ? sr_enc_floats(&e->files, t, file, err) : sr_enc_out_of_memory(err);
    if (rc == SR_OK) {
        struct sr_matrix_source source = {rows, SR_SCALAR_F32, hidden, k, bias};
        turn(file, hidden, e->config.conv, rows);
        rc = sr_matrix_pack(&e->conv.matrix, &source, e->info.precision, e->config.conv_activation);
        if (rc)
            sr_err_set(err, rc, "%s: encoder.conv could not be packed: %s", e->info.folder, sr_strerror(rc));
    }
    sr_mem_free(file);
    sr_mem_free(rows);
    return rc;
}

int sr_enc_conv_load(struct sr_encoder *e, struct sr_err *err)
{
    static const char weight[] = "encoder.conv.conv.weight", bias[] = "encoder.conv.conv.bias";
    const struct sr_tensor *t = sr_enc_trunk_tensor(&e->files, weight);
    const float *added = NULL;
    int rc = check_shape(e, t, weight, err);
    if (rc == SR_OK)
        rc = sr_enc_vector_load(e, &e->files, sr_enc_trunk_tensor(&e->files, bias), bias, e->config.hidden,
                                &added, err);
    if (rc == SR_OK)
        rc = pack(e, t, added, err);
    if (rc)
        return rc;
    e->info.weight_bytes += sr_matrix_bytes(e->conv.matrix);
    e->info.parameters += e->config.hidden * e->config.conv * e->config.hidden;
    return sr_enc_norm_load(e, "encoder.conv.LayerNorm", true, &e->conv.norm, err);
}

/* The rows that token `at` of the sequence [from, to) is computed from. */
static void gather(const struct sr_enc_pass *pass, size_t from, size_t to, size_t at, float *out)
{
    size_t hidden = pass->e->config.hidden, width = pass->e->config.conv, half = width / 2;
    for (size_t t = 0; t < width; t++) {
        size_t row = at + t; /* half too far */
        if (row < from + half || row >= to + half)
            memset(out + t * hidden, 0, hidden * sizeof *out);
        else
            memcpy(out + t * hidden, pass->first + (row - half) * hidden, hidden * sizeof *out);
    }
}

void sr_enc_convolve(struct sr_enc_pass *pass)
{
    const struct sr_encoder *e = pass->e;
    size_t hidden = e->config.hidden, k = e->config.conv * hidden, tokens = pass->starts[pass->n], s = 0;
    struct sr_rows none = {0}, in = {pass->q, k, SR_SCALAR_F32}, x, out = {pass->rows, hidden, SR_SCALAR_F32};
    for (size_t at = 0, m; at < tokens; at += m) {
        m = tokens - at < pass->plan.group ? tokens - at : pass->plan.group;
        for (size_t i = 0; i < m; i++) {
            while (pass->starts[s + 1] <= at + i)
                s++;
            gather(pass, pass->starts[s], pass->starts[s + 1], at + i, (float *)pass->q + i * k);
        }
        x = (struct sr_rows){pass->x + at * hidden, hidden, SR_SCALAR_F32};
        sr_gemm(pass->team, e->conv.matrix, in, m, out, pass->scratch);
        sr_layer_norm(pass->team, x, out, none, e->conv.norm.weight, e->conv.norm.bias, e->config.eps, m,
                      hidden, x);
    }
}
