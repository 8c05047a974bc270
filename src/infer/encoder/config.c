/*
 * config.json of a model folder.
 *
 * Reads what changes the numbers and refuses what would change them in a way that is not implemented. Sizes
 * are bounded here, so that later products of them cannot overflow. Meanings and defaults: the configuration
 * classes of Hugging Face transformers (BertConfig, RobertaConfig, ModernBertConfig);
 * DeBERTa's members are in config_deberta.c.
 */
#include "infer/encoder/private.h"

#include <math.h>
#include <stdio.h>

const char *sr_enc_family_name(enum sr_enc_family family)
{
    static const char *const names[] = {"bert", "roberta", "modernbert", "deberta-v2"};
    return names[family];
}

bool sr_enc_family_of(sr_json_view model_type, enum sr_enc_family *family)
{
    static const struct {
        const char *name;
        enum sr_enc_family family;
    } types[] = {
        {"bert", SR_ENC_BERT},           {"roberta", SR_ENC_ROBERTA},       {"xlm-roberta", SR_ENC_ROBERTA},
        {"camembert", SR_ENC_ROBERTA},   {"modernbert", SR_ENC_MODERNBERT}, {"deberta-v2", SR_ENC_DEBERTA},
        {SR_ENC_PIGUARD, SR_ENC_DEBERTA}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (sr_json_view_eq(model_type, types[i].name)) {
            *family = types[i].family;
            return true;
        }
    return false;
}

static int read_family(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(json->root, "model_type");
    if (sr_enc_family_of(type, &c->family))
        return SR_OK;
    if (!type.p)
        return sr_err_set(err, SR_EPARSE, "%s: `model_type` is missing", json->path);
    return sr_err_set(
        err, SR_EUNSUPPORTED,
        "%s: model_type %.*s is not supported (bert, roberta, xlm-roberta, camembert, modernbert, "
        "deberta-v2, piguard)",
        json->path, (int)(type.n < 64 ? type.n : 64), type.p);
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

/* "BertForSequenceClassification"; PIGuard has a class of its own. */
static void read_task(struct sr_enc_config *c, const struct sr_enc_json *json)
{
    sr_json_view name;
    size_t at = 0;
    while (sr_json_view_next(sr_json_view_get(json->root, "architectures"), &at, NULL, &name)) {
        if (!sr_json_view_is_string(name))
            continue;
        if (ends_with(name.p, name.n, "ForSequenceClassification\"") || sr_json_view_eq(name, "PIGuard"))
            c->task = SR_ENC_TASK_SEQUENCE;
        else if (ends_with(name.p, name.n, "ForTokenClassification\""))
            c->task = SR_ENC_TASK_TOKEN;
    }
}

static int need_size(const struct sr_enc_json *json, const char *name, size_t max, size_t *out,
                     struct sr_err *err)
{
    *out = 0;
    int rc = sr_enc_json_size(json, json->root, name, 1, max, out, err);
    if (rc == SR_OK && *out == 0)
        rc = sr_err_set(err, SR_EPARSE, "%s: `%s` is missing", json->path, name);
    return rc;
}

static int read_sizes(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    int rc = need_size(json, "num_hidden_layers", SR_ENC_LAYERS_MAX, &c->layers, err);
    if (rc == SR_OK)
        rc = need_size(json, "hidden_size", SR_ENC_HIDDEN_MAX, &c->hidden, err);
    if (rc == SR_OK)
        rc = need_size(json, "num_attention_heads", SR_ENC_HIDDEN_MAX, &c->heads, err);
    if (rc == SR_OK)
        rc = need_size(json, "intermediate_size", SR_ENC_WIDE_MAX, &c->intermediate, err);
    if (rc == SR_OK)
        rc = need_size(json, "vocab_size", SR_TOKENIZER_VOCAB_MAX, &c->vocab, err);
    if (rc == SR_OK)
        rc = need_size(json, "max_position_embeddings", SR_ENC_TOKENS_MAX, &c->positions, err);
    if (rc)
        return rc;
    c->head_dim = c->hidden / c->heads;
    if (c->hidden % c->heads)
        return sr_err_set(err, SR_EPARSE,
                          "%s: `hidden_size` %zu is not a multiple of `num_attention_heads` %zu", json->path,
                          c->hidden, c->heads);
    if (c->head_dim != 16 && c->head_dim != 32 && c->head_dim != 64 && c->head_dim != 128)
        return sr_err_set(err, SR_EUNSUPPORTED,
                          "%s: attention heads of %zu are not supported (16, 32, 64, 128)", json->path,
                          c->head_dim);
    c->scale = 1.0f / sqrtf((float)c->head_dim);
    return SR_OK;
}

static int check_activation(const struct sr_enc_json *json, const char *name, struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(json->root, name);
    if (sr_json_view_is_null(v) || sr_json_view_eq(v, "gelu"))
        return SR_OK;
    return sr_enc_json_unsupported(json, name, "only gelu is", err);
}

/* ---- BERT and RoBERTa ---- */

static int read_bert(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    double eps = 1e-12;
    size_t pad = c->family == SR_ENC_ROBERTA ? 1 : 0;
    sr_json_view kind = sr_json_view_get(json->root, "position_embedding_type");
    c->types = 2;
    int rc = sr_enc_json_number(json, json->root, "layer_norm_eps", 1e-30, 1, &eps, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "type_vocab_size", 1, 1024, &c->types, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "pad_token_id", 0, c->vocab - 1, &pad, err);
    if (rc == SR_OK)
        rc = check_activation(json, "hidden_act", err);
    if (rc)
        return rc;
    if (!sr_json_view_is_null(kind) && !sr_json_view_eq(kind, "absolute"))
        return sr_enc_json_unsupported(json, "position_embedding_type", "only absolute is", err);
    if (sr_json_view_bool(sr_json_view_get(json->root, "is_decoder"), false))
        return sr_enc_json_unsupported(json, "is_decoder", "this engine runs encoders", err);
    c->eps = (float)eps;
    c->pad = (int32_t)pad;
    c->classifier_pooling = SR_ENC_CLS;
    c->classifier_activation = SR_EPILOGUE_TANH;
    c->classifier_dense = true;
    c->window = SIZE_MAX;
    if (c->family == SR_ENC_ROBERTA) {
        c->offset = pad + 1;
        if (c->positions <= c->offset)
            return sr_err_set(err, SR_EPARSE, "%s: `max_position_embeddings` leaves no room for a token",
                              json->path);
    }
    return SR_OK;
}

/* ---- ModernBERT ---- */

/* {"rope_type": "default", "rope_theta": 160000.0} */
static int read_rope(const struct sr_enc_json *json, sr_json_view rope, double *theta, struct sr_err *err)
{
    sr_json_view type = sr_json_view_get(rope, "rope_type");
    if (sr_json_view_is_null(type))
        type = sr_json_view_get(rope, "type");
    if (!sr_json_view_is_null(type) && !sr_json_view_eq(type, "default"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: rope type %.*s is not supported", json->path,
                          (int)(type.n < 64 ? type.n : 64), type.p);
    return sr_enc_json_number(json, rope, "rope_theta", 1, 1e12, theta, err);
}

/* The bases of rope_parameters win over the older single members; a local base that is null is the global
 * one. */
static int read_thetas(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view parameters = sr_json_view_get(json->root, "rope_parameters"),
                 scaling = sr_json_view_get(json->root, "rope_scaling"),
                 local = sr_json_view_get(json->root, "local_rope_theta");
    double ignored = 0;
    c->theta_global = 160000;
    int rc = sr_json_view_is_object(scaling) ? read_rope(json, scaling, &ignored, err) : SR_OK;
    if (rc == SR_OK)
        rc = sr_enc_json_number(json, json->root, "global_rope_theta", 1, 1e12, &c->theta_global, err);
    c->theta_local = local.p ? c->theta_global : 10000;
    if (rc == SR_OK)
        rc = sr_enc_json_number(json, json->root, "local_rope_theta", 1, 1e12, &c->theta_local, err);
    if (rc == SR_OK)
        rc = read_rope(json, sr_json_view_get(parameters, "full_attention"), &c->theta_global, err);
    if (rc == SR_OK)
        rc = read_rope(json, sr_json_view_get(parameters, "sliding_attention"), &c->theta_local, err);
    return rc;
}

/* Which layers are global: `layer_types`, else every n-th from the first. */
static int read_layer_types(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view types = sr_json_view_get(json->root, "layer_types"), type;
    size_t every = 3, local = 128, at = 0, n = 0;
    int rc =
        sr_enc_json_size(json, json->root, "global_attn_every_n_layers", 1, SR_ENC_LAYERS_MAX, &every, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "local_attention", 2, 2 * SR_ENC_TOKENS_MAX, &local, err);
    if (rc)
        return rc;
    c->window = local / 2;
    for (size_t i = 0; i < c->layers; i++)
        c->global[i] = i % every == 0;
    if (!sr_json_view_is_array(types))
        return SR_OK;
    for (; sr_json_view_next(types, &at, NULL, &type); n++) {
        bool full = sr_json_view_eq(type, "full_attention");
        if (!full && !sr_json_view_eq(type, "sliding_attention"))
            return sr_enc_json_unsupported(json, "layer_types", "full_attention and sliding_attention are",
                                           err);
        if (n < c->layers)
            c->global[n] = full;
    }
    if (n != c->layers)
        return sr_err_set(err, SR_EPARSE, "%s: `layer_types` has %zu entries for %zu layers", json->path, n,
                          c->layers);
    return SR_OK;
}

static int read_modernbert(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    double eps = 1e-5;
    sr_json_view pooling = sr_json_view_get(json->root, "classifier_pooling");
    int rc = sr_enc_json_number(json, json->root, "norm_eps", 1e-30, 1, &eps, err);
    if (rc == SR_OK)
        rc = read_thetas(c, json, err);
    if (rc == SR_OK)
        rc = read_layer_types(c, json, err);
    if (rc == SR_OK)
        rc = check_activation(json, "hidden_activation", err);
    if (rc == SR_OK)
        rc = check_activation(json, "classifier_activation", err);
    if (rc)
        return rc;
    if (!sr_json_view_is_null(pooling) && !sr_json_view_eq(pooling, "cls") &&
        !sr_json_view_eq(pooling, "mean"))
        return sr_enc_json_unsupported(json, "classifier_pooling", "cls and mean are", err);
    c->classifier_pooling = sr_json_view_eq(pooling, "mean") ? SR_ENC_MEAN : SR_ENC_CLS;
    c->classifier_activation = SR_EPILOGUE_GELU;
    c->classifier_dense = true;
    c->eps = (float)eps;
    c->attention_bias = sr_json_view_bool(sr_json_view_get(json->root, "attention_bias"), false);
    c->mlp_bias = sr_json_view_bool(sr_json_view_get(json->root, "mlp_bias"), false);
    c->norm_bias = sr_json_view_bool(sr_json_view_get(json->root, "norm_bias"), false);
    c->classifier_bias = sr_json_view_bool(sr_json_view_get(json->root, "classifier_bias"), false);
    return SR_OK;
}

int sr_enc_config_read(struct sr_enc_config *config, const char *folder, struct sr_err *err)
{
    struct sr_enc_json json;
    memset(config, 0, sizeof *config);
    int rc = sr_enc_json_open(&json, folder, "config.json", false, err);
    if (rc == SR_OK && !sr_json_view_is_object(json.root))
        rc = sr_err_set(err, SR_EPARSE, "%s: not a JSON object", json.path);
    if (rc == SR_OK)
        rc = read_family(config, &json, err);
    if (rc == SR_OK)
        rc = read_sizes(config, &json, err);
    if (rc == SR_OK)
        rc = config->family == SR_ENC_MODERNBERT ? read_modernbert(config, &json, err)
             : config->family == SR_ENC_DEBERTA  ? sr_enc_deberta_read(config, &json, err)
                                                 : read_bert(config, &json, err);
    if (rc == SR_OK)
        read_task(config, &json);
    sr_enc_json_close(&json);
    return rc ? rc : sr_enc_modules_read(config, folder, err);
}
