/*
 * The weights of trunks: which tensors make which layer, in what shape, packed for the kernels.
 *
 * Word embeddings keep the file's type; matrices are packed; small vectors are floats in the encoder's
 * arena. An adapted trunk packs the matrices that its adapter changes and borrows the rest from the plain
 * one.
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
    int rc = sr_matrix_pack(out, source, e->info.precision, l->epilogue);
    if (rc)
        return sr_err_set(err, rc, "%s: %s%s could not be packed: %s", e->info.folder, e->files.prefix,
                          l->modules[0], sr_strerror(rc));
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

/* ---- what all trunks share ---- */

struct names {
    const char *words, *places, *types, *embedding_norm, *final_norm;
};

static const struct names *names_of(const struct sr_encoder *e)
{
    static const struct names bert = {
        "embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
        "embeddings.token_type_embeddings.weight", "embeddings.LayerNorm", NULL};
    static const struct names modern = {"embeddings.tok_embeddings.weight", NULL, NULL, "embeddings.norm",
                                        "final_norm"};
    return e->config.family == SR_ENC_MODERNBERT ? &modern : &bert;
}

static int load_norm(struct sr_encoder *e, const char *module, bool bias, struct sr_enc_norm *norm,
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

static int load_words(struct sr_encoder *e, const struct names *names, struct sr_err *err)
{
    const struct sr_tensor *t = sr_enc_trunk_tensor(&e->files, names->words);
    int rc = sr_enc_check(&e->files, t, names->words, e->config.vocab, e->config.hidden, err);
    if (rc)
        return rc;
    if (sr_enc_words_take(&e->word_table, sr_bytes_of(t->data, t->bytes)) != SR_OK)
        return sr_enc_out_of_memory(err);
    e->words = sr_enc_words_data(e->word_table);
    e->word_type = sr_enc_scalar(t);
    e->info.parameters += e->config.vocab * e->config.hidden;
    e->info.word_bytes = t->bytes;
    return SR_OK;
}

/* Row p: position p + the only token type there is at inference. */
static int load_places(struct sr_encoder *e, const struct names *names, struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    const struct sr_tensor *places = sr_enc_trunk_tensor(&e->files, names->places),
                           *types = sr_enc_trunk_tensor(&e->files, names->types);
    float *sum = NULL, *type = NULL;
    int rc = sr_enc_check(&e->files, places, names->places, c->positions, c->hidden, err);
    if (rc == SR_OK)
        rc = sr_enc_check(&e->files, types, names->types, c->types, c->hidden, err);
    if (rc)
        return rc;
    sum = sr_arena_alloc(&e->arena, c->positions * c->hidden * sizeof *sum);
    type = sr_mem_alloc(c->types * c->hidden * sizeof *type);
    rc = sum && type ? sr_enc_floats(&e->files, places, sum, err) : sr_enc_out_of_memory(err);
    if (rc == SR_OK)
        rc = sr_enc_floats(&e->files, types, type, err);
    if (rc == SR_OK)
        for (size_t i = 0; i < c->positions * c->hidden; i++)
            sum[i] += type[i % c->hidden];
    sr_mem_free(type);
    e->places = sum;
    e->info.parameters += (c->positions + c->types) * c->hidden;
    return rc;
}

static int make_ropes(struct sr_encoder *e, struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    int rc = sr_rope_new(&e->rope[1], c->theta_global, c->head_dim, e->info.max_tokens);
    if (rc == SR_OK && c->theta_local != c->theta_global)
        rc = sr_rope_new(&e->rope[0], c->theta_local, c->head_dim, e->info.max_tokens);
    else
        e->rope[0] = e->rope[1];
    return rc ? sr_err_set(err, rc, "%s: rotary embedding: %s", e->info.folder, sr_strerror(rc)) : SR_OK;
}

int sr_enc_shared_load(struct sr_encoder *e, struct sr_err *err)
{
    const struct names *names = names_of(e);
    bool modern = e->config.family == SR_ENC_MODERNBERT, bias = !modern || e->config.norm_bias;
    int rc = sr_enc_find_prefix(&e->files, names->words, err);
    if (rc == SR_OK)
        rc = load_words(e, names, err);
    if (rc == SR_OK)
        rc = load_norm(e, names->embedding_norm, bias, &e->embedding_norm, err);
    if (rc == SR_OK)
        rc = modern ? load_norm(e, names->final_norm, bias, &e->final_norm, err) : load_places(e, names, err);
    return rc == SR_OK && modern ? make_ropes(e, err) : rc;
}

/* ---- a trunk ---- */

enum { QKV, OUT, UP, DOWN };

/* The four linear layers and two norms of layer `i`; names are written into `text`. */
static void describe_bert(const struct sr_enc_config *c, size_t i, char text[8][SR_ENC_NAME_MAX],
                          struct sr_enc_linear linear[4])
{
    static const char *const ends[8] = {
        "attention.self.query", "attention.self.key", "attention.self.value",       "attention.output.dense",
        "intermediate.dense",   "output.dense",       "attention.output.LayerNorm", "output.LayerNorm"};
    for (size_t k = 0; k < 8; k++)
        snprintf(text[k], SR_ENC_NAME_MAX, "encoder.layer.%zu.%s", i, ends[k]);
    linear[QKV] =
        (struct sr_enc_linear){{text[0], text[1], text[2]}, 3, c->hidden, c->hidden, true, SR_EPILOGUE_NONE};
    linear[OUT] = (struct sr_enc_linear){{text[3]}, 1, c->hidden, c->hidden, true, SR_EPILOGUE_ADD};
    linear[UP] = (struct sr_enc_linear){{text[4]}, 1, c->intermediate, c->hidden, true, SR_EPILOGUE_GELU};
    linear[DOWN] = (struct sr_enc_linear){{text[5]}, 1, c->hidden, c->intermediate, true, SR_EPILOGUE_ADD};
}

static void describe_modern(const struct sr_enc_config *c, size_t i, char text[8][SR_ENC_NAME_MAX],
                            struct sr_enc_linear linear[4])
{
    static const char *const ends[8] = {"attn.Wqkv", "",       "",          "attn.Wo",
                                        "mlp.Wi",    "mlp.Wo", "attn_norm", "mlp_norm"};
    for (size_t k = 0; k < 8; k++)
        snprintf(text[k], SR_ENC_NAME_MAX, "layers.%zu.%s", i, ends[k]);
    linear[QKV] =
        (struct sr_enc_linear){{text[0]}, 1, 3 * c->hidden, c->hidden, c->attention_bias, SR_EPILOGUE_NONE};
    linear[OUT] =
        (struct sr_enc_linear){{text[3]}, 1, c->hidden, c->hidden, c->attention_bias, SR_EPILOGUE_ADD};
    linear[UP] =
        (struct sr_enc_linear){{text[4]}, 1, 2 * c->intermediate, c->hidden, c->mlp_bias, SR_EPILOGUE_GEGLU};
    linear[DOWN] =
        (struct sr_enc_linear){{text[5]}, 1, c->hidden, c->intermediate, c->mlp_bias, SR_EPILOGUE_ADD};
}

static bool adapts(const struct sr_enc_adapter *adapter, const struct sr_enc_linear *linear)
{
    for (size_t i = 0; i < linear->parts; i++)
        if (sr_enc_adapter_has(adapter, linear->modules[i]))
            return true;
    return false;
}

static int load_layer(struct sr_encoder *e, size_t i, struct sr_enc_adapter *adapter,
                      struct sr_enc_trunk *trunk, struct sr_err *err)
{
    char text[8][SR_ENC_NAME_MAX];
    struct sr_enc_linear linear[4];
    struct sr_enc_layer *layer = &trunk->layers[i];
    struct sr_enc_layer *plain = e->n_trunks ? &e->trunks[0]->layers[i] : NULL;
    struct sr_matrix **to[4] = {&layer->qkv, &layer->out, &layer->up, &layer->down};
    bool modern = e->config.family == SR_ENC_MODERNBERT, bias = !modern || e->config.norm_bias;
    int rc = SR_OK;
    (modern ? describe_modern : describe_bert)(&e->config, i, text, linear);
    if (plain)
        *layer = *plain;
    for (size_t k = 0; k < 4; k++) {
        trunk->borrowed[i][k] = plain && !adapts(adapter, &linear[k]);
        if (plain && !trunk->borrowed[i][k])
            *to[k] = NULL;
    }
    for (size_t k = 0; rc == SR_OK && k < 4; k++)
        if (!trunk->borrowed[i][k])
            rc = sr_enc_linear_load(e, &linear[k], adapter, to[k], err);
    if (plain)
        return rc;
    if (rc == SR_OK && !(modern && i == 0))
        rc = load_norm(e, text[6], bias, &layer->attention_norm, err);
    return rc ? rc : load_norm(e, text[7], bias, &layer->mlp_norm, err);
}

int sr_enc_trunk_load(struct sr_encoder *e, struct sr_enc_adapter *adapter, struct sr_err *err)
{
    if (e->n_trunks == SR_ENC_TRUNKS_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: more than %u adapted trunks", e->info.folder,
                          SR_ENC_TRUNKS_MAX - 1);
    struct sr_enc_trunk *trunk = sr_mem_calloc(1, sizeof *trunk);
    if (!trunk)
        return sr_enc_out_of_memory(err);
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < e->config.layers; i++)
        rc = load_layer(e, i, adapter, trunk, err);
    e->trunks[e->n_trunks++] = trunk;
    return rc;
}
