/*
 * Trunks: which tensors make which layer of which architecture, and what all trunks share.
 *
 * Word embeddings keep the file's type, but floats are kept as fp16 where matrices are rounded more than
 * that; matrices are packed; small vectors are floats in the encoder's arena. An adapted trunk packs the
 * matrices that its adapter changes and borrows the rest from the plain one; the layers before the first that
 * is changed are shared, and run once for both (run.c).
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

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

/* The nearest fp16, ties to even; `f` is finite and below 65520. Scaled down, the float has the exponent and
 * the subnormals of the fp16, in its higher bits. */
static uint16_t half_of(float f)
{
    float scaled = fabsf(f) * 0x1p-112F;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    return (uint16_t)((bits + 0xFFF + (bits >> 13 & 1)) >> 13 | (signbit(f) ? 0x8000 : 0));
}

/* The floats of a table as fp16, on the heap; NULL: some are too large or no finite numbers, or there is no
 * memory. */
static uint16_t *halves_of(const struct sr_tensor *t)
{
    size_t n = t->bytes / sizeof(float);
    uint16_t *out = sr_mem_alloc(n * sizeof *out);
    for (size_t i = 0; out && i < n; i++) {
        float f;
        memcpy(&f, t->data + i * sizeof f, sizeof f);
        if (!(fabsf(f) < 65520)) {
            sr_mem_free(out);
            return NULL;
        }
        out[i] = half_of(f);
    }
    return out;
}

static int load_words(struct sr_encoder *e, const struct names *names, struct sr_err *err)
{
    const struct sr_tensor *t = sr_enc_trunk_tensor(&e->files, names->words);
    int rc = sr_enc_check(&e->files, t, names->words, e->config.vocab, e->config.hidden, err);
    if (rc)
        return rc;
    bool rounds = e->info.precision != SR_PRECISION_FP32 && t->dtype == SR_DTYPE_F32;
    uint16_t *halves = rounds ? halves_of(t) : NULL;
    if (!halves &&
        (rc = sr_enc_check_values(&e->files, t, err))) /* else halves_of has seen that all are finite */
        return rc;
    struct sr_bytes table = sr_bytes_of(t->data, t->bytes);
    e->word_type = sr_enc_scalar(t);
    if (halves) {
        table = sr_bytes_of(halves, t->bytes / 2);
        e->word_type = SR_SCALAR_F16;
    }
    rc = sr_enc_words_take(&e->word_table, table);
    sr_mem_free(halves);
    if (rc)
        return sr_enc_out_of_memory(err);
    e->words = sr_enc_words_data(e->word_table);
    e->info.parameters += e->config.vocab * e->config.hidden;
    e->info.word_bytes = table.n;
    return SR_OK;
}

/* A table as floats; on the heap. */
static int load_table(struct sr_encoder *e, const char *name, size_t rows, float **out, struct sr_err *err)
{
    const struct sr_tensor *t = sr_enc_trunk_tensor(&e->files, name);
    size_t n = rows * e->config.hidden;
    int rc = sr_enc_check(&e->files, t, name, rows, e->config.hidden, err);
    if (rc)
        return rc;
    e->info.parameters += n;
    *out = sr_mem_alloc(n * sizeof **out);
    return *out ? sr_enc_floats(&e->files, t, *out, err) : sr_enc_out_of_memory(err);
}

/* Row p: position p + the only token type there is at inference; a model may have one of them, or neither.
 * Without positions there is one row. */
static int load_places(struct sr_encoder *e, const struct names *names, struct sr_err *err)
{
    const struct sr_enc_config *c = &e->config;
    size_t n = (c->no_positions ? 1 : c->positions) * c->hidden;
    float *places = NULL, *types = NULL, *sum = NULL;
    int rc = c->no_positions ? SR_OK : load_table(e, names->places, c->positions, &places, err);
    if (rc == SR_OK && c->types)
        rc = load_table(e, names->types, c->types, &types, err);
    if (rc == SR_OK && (places || types)) {
        sum = sr_arena_alloc(&e->arena, n * sizeof *sum);
        rc = sum ? SR_OK : sr_enc_out_of_memory(err);
    }
    for (size_t i = 0; rc == SR_OK && sum && i < n; i++)
        sum[i] = (places ? places[i] : 0) + (types ? types[i % c->hidden] : 0);
    sr_mem_free(places);
    sr_mem_free(types);
    e->places = sum;
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
        rc = sr_enc_norm_load(e, names->embedding_norm, bias, &e->embedding_norm, err);
    if (rc == SR_OK)
        rc = modern ? sr_enc_norm_load(e, names->final_norm, bias, &e->final_norm, err)
                    : load_places(e, names, err);
    if (rc == SR_OK && e->config.relative)
        rc = sr_enc_relative_load(e, err);
    if (rc == SR_OK && e->config.conv)
        rc = sr_enc_conv_load(e, err);
    return rc == SR_OK && modern ? make_ropes(e, err) : rc;
}

/* ---- a trunk ---- */

#define NAMES 10u /* of the modules of a layer */

/* The linear layers and two norms of layer `i`; names are written into `text`. */
static void describe_bert(const struct sr_enc_config *c, size_t i, char text[NAMES][SR_ENC_NAME_MAX],
                          struct sr_enc_linear linear[SR_ENC_LINEARS])
{
    static const char *const ends[8] = {
        "attention.self.query", "attention.self.key", "attention.self.value",       "attention.output.dense",
        "intermediate.dense",   "output.dense",       "attention.output.LayerNorm", "output.LayerNorm"};
    for (size_t k = 0; k < 8; k++)
        snprintf(text[k], SR_ENC_NAME_MAX, "encoder.layer.%zu.%s", i, ends[k]);
    linear[SR_ENC_QKV] = (struct sr_enc_linear){
        {text[0], text[1], text[2]}, 3, c->hidden, c->hidden, true, SR_EPILOGUE_NONE, false};
    linear[SR_ENC_OUT] =
        (struct sr_enc_linear){{text[3]}, 1, c->hidden, c->hidden, true, SR_EPILOGUE_ADD, false};
    linear[SR_ENC_UP] =
        (struct sr_enc_linear){{text[4]}, 1, c->intermediate, c->hidden, true, SR_EPILOGUE_GELU, false};
    linear[SR_ENC_DOWN] =
        (struct sr_enc_linear){{text[5]}, 1, c->hidden, c->intermediate, true, SR_EPILOGUE_ADD, false};
}

/* As BERT's, with other names of the projections, and where relative positions have some of their own. */
static void describe_deberta(const struct sr_enc_config *c, size_t i, char text[NAMES][SR_ENC_NAME_MAX],
                             struct sr_enc_linear linear[SR_ENC_LINEARS])
{
    static const char *const parts[5] = {"query_proj", "key_proj", "value_proj", "pos_query_proj",
                                         "pos_key_proj"};
    describe_bert(c, i, text, linear);
    for (size_t k = 0; k < 5; k++)
        snprintf(text[k < 3 ? k : 5 + k], SR_ENC_NAME_MAX, "encoder.layer.%zu.attention.self.%s", i,
                 parts[k]);
    linear[SR_ENC_TERMS] = (struct sr_enc_linear){{text[c->share_keys ? 0 : 8], text[c->share_keys ? 1 : 9]},
                                                  2,
                                                  c->hidden,
                                                  c->hidden,
                                                  true,
                                                  SR_EPILOGUE_NONE,
                                                  true};
}

static void describe_modern(const struct sr_enc_config *c, size_t i, char text[NAMES][SR_ENC_NAME_MAX],
                            struct sr_enc_linear linear[SR_ENC_LINEARS])
{
    static const char *const ends[8] = {"attn.Wqkv", "",       "",          "attn.Wo",
                                        "mlp.Wi",    "mlp.Wo", "attn_norm", "mlp_norm"};
    for (size_t k = 0; k < 8; k++)
        snprintf(text[k], SR_ENC_NAME_MAX, "layers.%zu.%s", i, ends[k]);
    linear[SR_ENC_QKV] = (struct sr_enc_linear){
        {text[0]}, 1, 3 * c->hidden, c->hidden, c->attention_bias, SR_EPILOGUE_NONE, false};
    linear[SR_ENC_OUT] =
        (struct sr_enc_linear){{text[3]}, 1, c->hidden, c->hidden, c->attention_bias, SR_EPILOGUE_ADD, false};
    linear[SR_ENC_UP] = (struct sr_enc_linear){
        {text[4]}, 1, 2 * c->intermediate, c->hidden, c->mlp_bias, SR_EPILOGUE_GEGLU, false};
    linear[SR_ENC_DOWN] =
        (struct sr_enc_linear){{text[5]}, 1, c->hidden, c->intermediate, c->mlp_bias, SR_EPILOGUE_ADD, false};
}

static bool adapts(const struct sr_enc_adapter *adapter, const struct sr_enc_linear *linear)
{
    for (size_t i = 0; i < linear->parts; i++)
        if (sr_enc_adapter_has(adapter, linear->modules[i]))
            return true;
    return false;
}

static void describe(const struct sr_enc_config *c, size_t i, char text[NAMES][SR_ENC_NAME_MAX],
                     struct sr_enc_linear linear[SR_ENC_LINEARS])
{
    memset(linear, 0, SR_ENC_LINEARS * sizeof *linear);
    if (c->family == SR_ENC_MODERNBERT)
        describe_modern(c, i, text, linear);
    else if (c->family == SR_ENC_DEBERTA)
        describe_deberta(c, i, text, linear);
    else
        describe_bert(c, i, text, linear);
}

/* What the adapter does not change is the plain layer's; the rest is made. */
static void borrow(struct sr_enc_layer *layer, const struct sr_enc_layer *plain,
                   const struct sr_enc_adapter *adapter, const struct sr_enc_linear *linear,
                   bool borrowed[SR_ENC_LINEARS])
{
    struct sr_matrix **to[4] = {&layer->qkv, &layer->out, &layer->up, &layer->down};
    *layer = *plain;
    for (size_t k = 0; k < SR_ENC_LINEARS; k++)
        borrowed[k] = !adapts(adapter, &linear[k]);
    for (size_t k = 0; k < 4; k++)
        if (!borrowed[k])
            *to[k] = NULL;
    if (!borrowed[SR_ENC_TERMS])
        layer->terms[0] = layer->terms[1] = NULL;
}

static int load_layer(struct sr_encoder *e, size_t i, struct sr_enc_adapter *adapter,
                      struct sr_enc_trunk *trunk, struct sr_err *err)
{
    char text[NAMES][SR_ENC_NAME_MAX];
    struct sr_enc_linear linear[SR_ENC_LINEARS];
    struct sr_enc_layer *layer = &trunk->layers[i];
    struct sr_enc_layer *plain = e->n_trunks ? &e->trunks[0]->layers[i] : NULL;
    struct sr_matrix **to[4] = {&layer->qkv, &layer->out, &layer->up, &layer->down};
    bool modern = e->config.family == SR_ENC_MODERNBERT, bias = !modern || e->config.norm_bias;
    int rc = SR_OK;
    describe(&e->config, i, text, linear);
    if (plain)
        borrow(layer, plain, adapter, linear, trunk->borrowed[i]);
    if (e->config.relative && !trunk->borrowed[i][SR_ENC_TERMS])
        rc = sr_enc_terms_load(e, &linear[SR_ENC_TERMS], adapter, layer->terms, err);
    for (size_t k = 0; rc == SR_OK && k < 4; k++)
        if (!trunk->borrowed[i][k])
            rc = sr_enc_linear_load(e, &linear[k], adapter, to[k], err);
    if (plain)
        return rc;
    if (rc == SR_OK && !(modern && i == 0))
        rc = sr_enc_norm_load(e, text[6], bias, &layer->attention_norm, err);
    return rc ? rc : sr_enc_norm_load(e, text[7], bias, &layer->mlp_norm, err);
}

static bool is_plain(const bool borrowed[SR_ENC_LINEARS])
{
    bool all = true;
    for (size_t k = 0; k < SR_ENC_LINEARS; k++)
        all &= borrowed[k];
    return all;
}

size_t sr_enc_trunk_read(const struct sr_encoder *e, size_t trunk, size_t layers)
{
    return layers <= e->trunks[trunk]->shared ? 0 : trunk;
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
    while (e->n_trunks && trunk->shared < e->config.layers && is_plain(trunk->borrowed[trunk->shared]))
        trunk->shared++;
    e->trunks[e->n_trunks++] = trunk;
    return rc;
}
