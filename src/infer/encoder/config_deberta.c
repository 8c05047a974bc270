/*
 * The members of config.json that only DeBERTa-v2 and v3 have (they are one architecture), and PIGuard, which
 * is DeBERTa-v3 with another head. Meanings and defaults: DebertaV2Config of Hugging Face transformers.
 */
#include "infer/encoder/private.h"

#include <math.h>

/* "p2c|c2p", or a list of the same words. */
static int read_terms(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view types = sr_json_view_get(json->root, "pos_att_type"), type;
    size_t at = 0;
    if (sr_json_view_is_null(types))
        return SR_OK;
    if (sr_json_view_is_string(types)) {
        c->c2p = sr_json_view_eq(types, "c2p") || sr_json_view_eq(types, "p2c|c2p") ||
                 sr_json_view_eq(types, "c2p|p2c");
        c->p2c = sr_json_view_eq(types, "p2c") || (c->c2p && !sr_json_view_eq(types, "c2p"));
        if (c->c2p || c->p2c || sr_json_view_eq(types, "") || sr_json_view_eq(types, "none"))
            return SR_OK;
        return sr_enc_json_unsupported(json, "pos_att_type", "c2p and p2c are", err);
    }
    while (sr_json_view_next(types, &at, NULL, &type)) {
        bool c2p = sr_json_view_eq(type, "c2p"), p2c = sr_json_view_eq(type, "p2c");
        if (!c2p && !p2c)
            return sr_enc_json_unsupported(json, "pos_att_type", "c2p and p2c are", err);
        c->c2p |= c2p;
        c->p2c |= p2c;
    }
    return SR_OK;
}

/* -1 stands for "not given" in these members. */
static int read_count(const struct sr_enc_json *json, const char *name, size_t max, size_t *out,
                      struct sr_err *err)
{
    int64_t n;
    *out = 0;
    if (sr_json_view_int(sr_json_view_get(json->root, name), &n) && n == -1)
        return SR_OK;
    return sr_enc_json_size(json, json->root, name, 0, max, out, err);
}

static int read_relative(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view norm = sr_json_view_get(json->root, "norm_rel_ebd");
    int rc = read_count(json, "max_relative_positions", SR_ENC_TOKENS_MAX, &c->distances, err);
    if (rc == SR_OK)
        rc = read_count(json, "position_buckets", SR_ENC_TOKENS_MAX, &c->buckets, err);
    if (rc == SR_OK)
        rc = read_terms(c, json, err);
    if (rc)
        return rc;
    c->scale = 1.0f / sqrtf((float)(c->head_dim * (1 + (size_t)c->c2p + (size_t)c->p2c)));
    c->relative = sr_json_view_bool(sr_json_view_get(json->root, "relative_attention"), false);
    c->share_keys = sr_json_view_bool(sr_json_view_get(json->root, "share_att_key"), false);
    c->norm_relative = sr_json_view_eq(norm, "layer_norm");
    c->relative = c->relative && (c->c2p || c->p2c);
    c->distances = c->distances ? c->distances : c->positions;
    c->span = c->buckets ? c->buckets : c->distances;
    if (!sr_json_view_is_null(norm) && !c->norm_relative && !sr_json_view_eq(norm, "none"))
        return sr_enc_json_unsupported(json, "norm_rel_ebd", "layer_norm and none are", err);
    if (c->relative && c->buckets && (c->buckets < 4 || c->distances <= c->buckets / 2 + 1))
        return sr_err_set(err, SR_EPARSE,
                          "%s: `position_buckets` %zu does not fit `max_relative_positions` %zu", json->path,
                          c->buckets, c->distances);
    return SR_OK;
}

/* The layer of convolutions beside the first layer, in the larger v2 models. */
static int read_conv(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    size_t groups = 1;
    int rc = read_count(json, "conv_kernel_size", SR_ENC_CONV_MAX, &c->conv, err);
    if (rc || !c->conv)
        return rc;
    c->conv_activation = SR_EPILOGUE_TANH;
    rc = sr_enc_json_activation(json, "conv_act", &c->conv_activation, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "conv_groups", 1, SR_ENC_HIDDEN_MAX, &groups, err);
    if (rc == SR_OK && groups != 1)
        rc = sr_enc_json_unsupported(json, "conv_groups", "only 1 is", err);
    if (rc == SR_OK && c->conv % 2 == 0)
        rc = sr_enc_json_unsupported(json, "conv_kernel_size", "odd sizes are", err);
    return rc;
}

/* Widths that a folder may give and that must be the hidden size here. */
static int check_widths(const struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    static const char *const names[] = {"embedding_size", "pooler_hidden_size", "attention_head_size"};
    for (size_t i = 0; i < 3; i++) {
        size_t want = i == 2 ? c->head_dim : c->hidden, n = want;
        int rc = sr_enc_json_size(json, json->root, names[i], 1, SR_ENC_HIDDEN_MAX, &n, err);
        if (rc)
            return rc;
        if (n != want)
            return sr_enc_json_unsupported(json, names[i], "only what `hidden_size` gives is", err);
    }
    return SR_OK;
}

/* The hidden layers' activation; others' are read where they are used. */
static int check_activation(const struct sr_enc_json *json, struct sr_err *err)
{
    enum sr_epilogue activation = SR_EPILOGUE_GELU;
    int rc = sr_enc_json_activation(json, "hidden_act", &activation, err);
    if (rc == SR_OK && activation != SR_EPILOGUE_GELU)
        rc = sr_enc_json_unsupported(json, "hidden_act", "only gelu is", err);
    return rc;
}

int sr_enc_deberta_read(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    double eps = 1e-7;
    c->window = SIZE_MAX;
    c->classifier_pooling = SR_ENC_CLS;
    c->classifier_activation = SR_EPILOGUE_GELU;
    c->classifier_dense = !sr_json_view_eq(sr_json_view_get(json->root, "model_type"), SR_ENC_PIGUARD);
    c->no_positions = !sr_json_view_bool(sr_json_view_get(json->root, "position_biased_input"), true);
    int rc = sr_enc_json_number(json, json->root, "layer_norm_eps", 1e-30, 1, &eps, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "type_vocab_size", 0, 1024, &c->types, err);
    if (rc == SR_OK)
        rc = check_activation(json, err);
    if (rc == SR_OK)
        rc = sr_enc_json_activation(json, "pooler_hidden_act", &c->classifier_activation, err);
    if (rc == SR_OK)
        rc = check_widths(c, json, err);
    if (rc == SR_OK)
        rc = read_relative(c, json, err);
    c->eps = (float)eps;
    return rc ? rc : read_conv(c, json, err);
}
