/*
 * A bundle: several small heads that share one trunk, in a folder of its own beside the trunk's.
 *
 * config.json names the trunk by the SHA-256 of its weights and, under `heads`, each head's pooling and
 * whether it reads the adapted layers; adapters.safetensors has the trunk's adapters, if any, in PEFT's names
 * and `TASK.dense`, `TASK.out` for each head.
 * What stands between logits and an answer (windows, thresholds, mixing with other tiers) is not read here.
 */
#include "infer/encoder/private.h"

#include "base/hash.h"

#include <stdio.h>

#define WEIGHTS "adapters.safetensors"

static int check_trunk(struct sr_encoder *e, const struct sr_enc_json *json, const char *known,
                       struct sr_err *err)
{
    sr_json_view wanted = sr_json_view_get(sr_json_view_get(json->root, "trunk"), "sha256");
    char hex[SR_SHA256_HEX];
    if (sr_json_view_is_null(wanted))
        return SR_OK;
    if (!known) {
        int rc = e->files.n == 1 ? sr_sha256_hex(sr_safetensors_file(e->files.shards[0]), hex) : SR_EMISMATCH;
        if (rc)
            return sr_err_set(err, rc, "%s: the trunk of %s cannot be hashed", json->path, e->base);
        known = hex;
    }
    struct sr_bytes inside = sr_bytes_of(wanted.p + 1, wanted.n > 1 ? wanted.n - 2 : 0);
    if (sr_bytes_eq_nocase(inside, sr_bytes_str(known)))
        return SR_OK;
    return sr_err_set(err, SR_EMISMATCH, "%s: made for a trunk of SHA-256 %.*s, %s has %.64s", json->path,
                      (int)(inside.n < 64 ? inside.n : 64), inside.p, e->base, known);
}

/* What a head makes of the trunk's rows. */
struct pooling {
    enum sr_head_kind kind;
    enum sr_enc_pooling pooling;
    size_t width, step;
};

static int read_sliding(const struct sr_enc_json *json, sr_json_view value, struct pooling *out,
                        struct sr_err *err)
{
    int rc = sr_enc_json_size(json, value, "width", 1, SR_ENC_TOKENS_MAX, &out->width, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, value, "step", 1, SR_ENC_TOKENS_MAX, &out->step, err);
    if (rc == SR_OK && (!out->width || !out->step || out->step > out->width))
        rc = sr_err_set(err, SR_EPARSE,
                        "%s: a head with sliding means needs `width` and `step`, in tokens; "
                        "a step is no longer than a mean is wide",
                        json->path);
    return rc;
}

static int read_pooling(const struct sr_enc_json *json, sr_json_view value, struct pooling *out,
                        struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(value, "pooling");
    *out = (struct pooling){.kind = sr_json_view_eq(v, "token") ? SR_HEAD_TOKEN : SR_HEAD_SEQUENCE,
                            .pooling = sr_json_view_eq(v, "mean")      ? SR_ENC_MEAN
                                       : sr_json_view_eq(v, "sliding") ? SR_ENC_SLIDING
                                                                       : SR_ENC_CLS};
    sr_json_view activation = sr_json_view_get(value, "activation");
    if (!sr_json_view_is_null(activation) && !sr_json_view_eq(activation, "gelu"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: a head's `activation` can only be gelu", json->path);
    if (out->pooling == SR_ENC_SLIDING)
        return read_sliding(json, value, out, err);
    if (out->kind == SR_HEAD_TOKEN || out->pooling == SR_ENC_MEAN || sr_json_view_eq(v, "cls"))
        return SR_OK;
    return sr_err_set(err, SR_EPARSE, "%s: a head's `pooling` is mean, sliding, cls or token", json->path);
}

/* A head's dense layer may be narrower than the trunk; any other width is an error where it is loaded. */
static size_t dense_rows(const struct sr_encoder *e, const struct sr_tensor *t)
{
    bool narrow = t && t->rank == 2 && t->shape[0] > 0 && t->shape[0] < e->config.hidden;
    return narrow ? (size_t)t->shape[0] : e->config.hidden;
}

static int load_matrices(struct sr_encoder *e, struct sr_enc_source *from, const char *name,
                         struct sr_enc_head *head, size_t labels, struct sr_err *err)
{
    char module[SR_ENC_NAME_MAX];
    struct sr_enc_head_layer layer = {.module = module, .bias = true};
    int rc = SR_OK;
    snprintf(module, sizeof module, "%s.dense", name);
    layer.n = dense_rows(e, sr_enc_head_find(from, module, "weight"));
    layer.epilogue = SR_EPILOGUE_GELU;
    layer.precision = head->kind == SR_HEAD_TOKEN ? e->info.precision : SR_PRECISION_FP32;
    if (sr_enc_head_find(from, module, "weight")) {
        rc = sr_enc_head_matrix(e, from, &layer, &head->dense, err);
        layer.k = layer.n;
    }
    snprintf(module, sizeof module, "%s.out", name);
    layer.n = labels;
    layer.epilogue = SR_EPILOGUE_NONE;
    layer.precision = SR_PRECISION_FP32;
    return rc ? rc : sr_enc_head_matrix(e, from, &layer, &head->classifier, err);
}

/* Which trunk the head reads: the adapted one, if the file has pairs, unless its entry says `adapted` false.
 */
static int read_trunk(const struct sr_encoder *e, const struct sr_enc_adapter *adapter,
                      const struct sr_enc_json *json, sr_json_view value, size_t layers, size_t *trunk,
                      struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(value, "adapted");
    bool is_true = sr_json_view_bool(v, false);
    *trunk = 0;
    if (!sr_json_view_is_null(v) && sr_json_view_bool(v, true) != is_true)
        return sr_err_set(err, SR_EPARSE, "%s: a head's `adapted` is true or false", json->path);
    if (is_true && !adapter->pairs)
        return sr_err_set(err, SR_EMISMATCH, "%s: a head is `adapted`, but " WEIGHTS " has no adapters",
                          json->path);
    if (adapter->pairs && (is_true || sr_json_view_is_null(v)))
        *trunk = sr_enc_trunk_read(e, e->n_trunks - 1, layers);
    return SR_OK;
}

static int load_head(struct sr_encoder *e, struct sr_enc_source *from, const struct sr_enc_adapter *adapter,
                     const struct sr_enc_json *json, const char *folder, const char *name, sr_json_view value,
                     struct sr_err *err)
{
    struct sr_enc_labels labels;
    struct sr_enc_head *head;
    struct pooling pooling;
    double temperature = 1;
    size_t layers = e->config.layers, trunk = 0;
    int rc = read_pooling(json, value, &pooling, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, value, "layer", 1, e->config.layers, &layers, err);
    if (rc == SR_OK)
        rc = read_trunk(e, adapter, json, value, layers, &trunk, err);
    if (rc == SR_OK)
        rc = sr_enc_json_number(json, value, "temperature", 1e-3, 1e3, &temperature, err);
    if (rc == SR_OK)
        rc = sr_enc_json_number(json, value, "temperature_alone", 1e-3, 1e3, &temperature, err);
    if (rc == SR_OK)
        rc = sr_enc_labels_read(&labels, folder, name, &e->arena, err);
    if (rc == SR_OK && labels.n == 0)
        rc = sr_err_set(err, SR_EMISMATCH, "%s: there are no labels for the head `%s`", folder, name);
    if (rc == SR_OK)
        rc = sr_enc_head_add(e, name, folder, pooling.kind, trunk, &head, err);
    if (rc)
        return rc;
    struct sr_head_info *info = &e->head_info[e->info.n_heads - 1];
    info->labels = labels.labels;
    info->n_labels = labels.n;
    info->temperature = (float)temperature;
    head->pooling = pooling.pooling;
    head->width = pooling.width;
    head->step = pooling.step;
    head->unit = sr_json_view_bool(sr_json_view_get(value, "normalize"), false);
    head->layers = layers;
    return load_matrices(e, from, name, head, labels.n, err);
}

static int load_heads(struct sr_encoder *e, struct sr_enc_adapter *adapter, const struct sr_enc_json *json,
                      const char *folder, struct sr_err *err)
{
    struct sr_enc_source from = {.files = {&adapter->files}};
    sr_json_view heads = sr_json_view_get(json->root, "heads"), key, value;
    char name[SR_ENC_NAME_MAX / 2];
    size_t at = 0, n = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_json_view_next(heads, &at, &key, &value)) {
        if (key.n >= sizeof name)
            return sr_err_set(err, SR_ELIMIT, "%s: the name of a head is too long", json->path);
        name[sr_json_view_decode(key, name)] = '\0';
        rc = load_head(e, &from, adapter, json, folder, name, value, err);
        n++;
    }
    if (rc == SR_OK && n == 0)
        rc = sr_err_set(err, SR_EPARSE, "%s: `heads` is missing or empty", json->path);
    return rc;
}

int sr_enc_bundle_load(struct sr_encoder *e, const char *folder, const char *sha256, struct sr_err *err)
{
    struct sr_enc_json json;
    struct sr_enc_adapter adapter = {0};
    int rc = sr_enc_json_open(&json, folder, "config.json", false, err);
    if (rc == SR_OK)
        rc = check_trunk(e, &json, sha256, err);
    if (rc == SR_OK)
        rc = sr_enc_adapter_open(&adapter, folder, WEIGHTS, false, err);
    if (rc == SR_OK && adapter.pairs)
        rc = sr_enc_trunk_load(e, &adapter, err);
    if (rc == SR_OK)
        rc = sr_enc_adapter_check(&adapter, false, err);
    if (rc == SR_OK)
        rc = load_heads(e, &adapter, &json, folder, err);
    sr_enc_adapter_close(&adapter);
    sr_enc_json_close(&json);
    return rc;
}
