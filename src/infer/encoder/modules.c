/*
 * What a sentence-transformers folder puts behind the trunk: modules.json with its Pooling, Dense and
 * Normalize, each with a config.json (and Dense with weights) in a folder of its own.
 *
 * Vectors are scaled to length 1 whether Normalize is there or not. A module that would change them in a way
 * that is not implemented is refused by its name.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <stdio.h>

/* The order in which modules may stand. */
enum stage { TRANSFORMER, POOLING, DENSE, NORMALIZE };

static bool ends_with(sr_json_view string, const char *end)
{
    size_t m = strlen(end);
    return string.n > m + 2 && memcmp(string.p + string.n - 1 - m, end, m) == 0;
}

static int unsupported(const struct sr_enc_json *json, const char *what, sr_json_view value,
                       struct sr_err *err)
{
    return sr_err_set(err, SR_EUNSUPPORTED, "%s: %s %.*s is not supported", json->path, what,
                      (int)(value.n < 100 ? value.n : 100), value.p ? value.p : "");
}

/* ---- pooling ---- */

static int read_mode(struct sr_enc_config *c, const struct sr_enc_json *json, sr_json_view mode,
                     struct sr_err *err)
{
    if (!sr_json_view_eq(mode, "cls") && !sr_json_view_eq(mode, "mean"))
        return unsupported(json, "`pooling_mode`", mode, err);
    c->embedding_pooling = sr_json_view_eq(mode, "cls") ? SR_ENC_CLS : SR_ENC_MEAN;
    return SR_OK;
}

/* The members of older files: "pooling_mode_cls_token": true */
static int read_flags(struct sr_enc_config *c, const struct sr_enc_json *json, struct sr_err *err)
{
    static const char start[] = "\"pooling_mode_";
    sr_json_view name, value;
    size_t at = 0, modes = 0;
    while (sr_json_view_next(json->root, &at, &name, &value)) {
        if (name.n < sizeof start || memcmp(name.p, start, sizeof start - 1) != 0 ||
            !sr_json_view_bool(value, false))
            continue;
        bool cls = sr_json_view_eq(name, "pooling_mode_cls_token");
        if (modes++ || (!cls && !sr_json_view_eq(name, "pooling_mode_mean_tokens")))
            return unsupported(json, modes > 1 ? "more than one pooling:" : "the pooling", name, err);
        c->embedding_pooling = cls ? SR_ENC_CLS : SR_ENC_MEAN;
    }
    return SR_OK;
}

static int read_pooling(struct sr_enc_config *c, const char *folder, const char *path, bool optional,
                        struct sr_err *err)
{
    struct sr_enc_json json;
    char name[SR_ENC_NAME_MAX + 16];
    sr_json_view mode, only, more;
    size_t at = 0;
    snprintf(name, sizeof name, "%s/config.json", path);
    int rc = sr_enc_json_open(&json, folder, name, optional, err);
    if (rc)
        return rc;
    if (json.bytes && !sr_json_view_is_object(json.root)) {
        sr_enc_json_close(&json);
        return sr_err_set(err, SR_EPARSE, "%s: not an object", json.path);
    }
    mode = sr_json_view_get(json.root, "pooling_mode");
    if (sr_json_view_is_array(mode) && sr_json_view_next(mode, &at, NULL, &only) &&
        !sr_json_view_next(mode, &at, NULL, &more))
        mode = only;
    if (sr_json_view_is_null(mode))
        rc = read_flags(c, &json, err);
    else
        rc = read_mode(c, &json, mode, err);
    sr_enc_json_close(&json);
    return rc;
}

/* ---- dense layers ---- */

static int read_activation(struct sr_enc_dense *dense, const struct sr_enc_json *json, struct sr_err *err)
{
    static const struct {
        const char *name;
        enum sr_epilogue epilogue;
    } known[] = {{".Tanh", SR_EPILOGUE_TANH},
                 {".Identity", SR_EPILOGUE_NONE},
                 {".GELU", SR_EPILOGUE_GELU},
                 {".ReLU", SR_EPILOGUE_RELU}};
    sr_json_view v = sr_json_view_get(json->root, "activation_function");
    dense->activation = SR_EPILOGUE_TANH;
    if (sr_json_view_is_null(v))
        return SR_OK;
    for (size_t i = 0; sr_json_view_is_string(v) && i < sizeof known / sizeof *known; i++)
        if (ends_with(v, known[i].name)) {
            dense->activation = known[i].epilogue;
            return SR_OK;
        }
    return unsupported(json, "`activation_function`", v, err);
}

/* Input and output are the sentence's vector, not the tokens'. */
static int check_places(const struct sr_enc_json *json, struct sr_err *err)
{
    static const char *const names[] = {"module_input_name", "module_output_name"};
    for (size_t i = 0; i < 2; i++) {
        sr_json_view v = sr_json_view_get(json->root, names[i]);
        if (!sr_json_view_is_null(v) && !sr_json_view_eq(v, "sentence_embedding"))
            return unsupported(json, names[i], v, err);
    }
    if (sr_json_view_bool(sr_json_view_get(json->root, "use_residual"), false))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `use_residual` is not supported", json->path);
    return SR_OK;
}

static int read_dense(struct sr_enc_config *c, const char *folder, const char *path, struct sr_err *err)
{
    struct sr_enc_json json;
    char name[SR_ENC_NAME_MAX + 16];
    if (c->n_dense == SR_ENC_DENSE_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: more than %u dense layers", folder, SR_ENC_DENSE_MAX);
    struct sr_enc_dense *dense = &c->dense[c->n_dense];
    *dense = (struct sr_enc_dense){0};
    memcpy(dense->folder, path, strlen(path) + 1);
    snprintf(name, sizeof name, "%s/config.json", path);
    int rc = sr_enc_json_open(&json, folder, name, false, err);
    if (rc)
        return rc;
    rc = sr_enc_json_size(&json, json.root, "in_features", 1, SR_ENC_WIDE_MAX, &dense->in, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(&json, json.root, "out_features", 1, SR_ENC_WIDE_MAX, &dense->out, err);
    if (rc == SR_OK && (!dense->in || !dense->out))
        rc = sr_err_set(err, SR_EPARSE, "%s: `in_features` and `out_features` are needed", json.path);
    if (rc == SR_OK && dense->in != c->vector)
        rc = sr_err_set(err, SR_EMISMATCH, "%s: `in_features` is %zu, the vectors before it have %zu",
                        json.path, dense->in, c->vector);
    if (rc == SR_OK)
        rc = read_activation(dense, &json, err);
    if (rc == SR_OK)
        rc = check_places(&json, err);
    dense->bias = sr_json_view_bool(sr_json_view_get(json.root, "bias"), true);
    sr_enc_json_close(&json);
    if (rc == SR_OK) {
        c->vector = dense->out;
        c->n_dense++;
    }
    return rc;
}

/* ---- modules.json ---- */

/* The folder of a module within the model's; "" for the model's own. */
static int read_path(const struct sr_enc_json *json, sr_json_view module, char path[SR_ENC_NAME_MAX],
                     struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(module, "path");
    path[0] = '\0';
    if (sr_json_view_is_null(v))
        return SR_OK;
    if (sr_json_view_is_string(v) && v.n < SR_ENC_NAME_MAX) {
        size_t n = sr_json_view_decode(v, path);
        path[n] = '\0';
        if (strlen(path) == n && path[0] != '/' && !strstr(path, ".."))
            return SR_OK;
    }
    return sr_err_set(err, SR_EPARSE, "%s: a module's `path` names no folder in the model's", json->path);
}

static int read_module(struct sr_enc_config *c, const struct sr_enc_json *json, const char *folder,
                       sr_json_view module, enum stage *stage, struct sr_err *err)
{
    static const struct {
        const char *type;
        enum stage stage;
    } known[] = {
        {".Transformer", TRANSFORMER}, {".Pooling", POOLING}, {".Dense", DENSE}, {".Normalize", NORMALIZE}};
    char path[SR_ENC_NAME_MAX];
    sr_json_view type = sr_json_view_get(module, "type");
    size_t i = 0, n = sizeof known / sizeof *known;
    if (!sr_json_view_is_string(type))
        return sr_err_set(err, SR_EPARSE, "%s: a module has no `type`", json->path);
    if (ends_with(type, ".Dropout")) /* nothing happens there when a model is only used */
        return SR_OK;
    while (i < n && !ends_with(type, known[i].type))
        i++;
    if (i == n)
        return unsupported(json, "module", type, err);
    if (known[i].stage < *stage || (known[i].stage == DENSE && *stage < POOLING))
        return unsupported(json, "at this position, module", type, err);
    *stage = known[i].stage;
    int rc = read_path(json, module, path, err);
    if (rc == SR_OK && *stage == POOLING)
        rc = read_pooling(c, folder, path, false, err);
    if (rc == SR_OK && *stage == DENSE)
        rc = read_dense(c, folder, path, err);
    return rc;
}

int sr_enc_modules_read(struct sr_enc_config *c, const char *folder, struct sr_err *err)
{
    struct sr_enc_json json;
    sr_json_view module;
    enum stage stage = TRANSFORMER;
    size_t at = 0;
    c->vector = c->hidden;
    int rc = sr_enc_json_open(&json, folder, "modules.json", true, err);
    if (rc == SR_OK && !json.bytes)
        return read_pooling(c, folder, "1_Pooling", true, err);
    if (rc == SR_OK && !sr_json_view_is_array(json.root))
        rc = sr_err_set(err, SR_EPARSE, "%s: not a JSON array", json.path);
    while (rc == SR_OK && sr_json_view_next(json.root, &at, NULL, &module))
        rc = read_module(c, &json, folder, module, &stage, err);
    sr_enc_json_close(&json);
    return rc;
}

/* ---- weights ---- */

static int load_one(struct sr_encoder *e, const struct sr_enc_dense *dense, struct sr_matrix **out,
                    struct sr_err *err)
{
    char folder[SR_ENC_PATH_MAX];
    struct sr_enc_files files;
    int rc = sr_enc_path(folder, e->base, dense->folder, err);
    if (rc)
        return rc;
    rc = sr_enc_files_open(&files, folder, NULL, err);
    files.prefix[0] = '\0';
    struct sr_enc_source from = {.files = {&files}};
    struct sr_enc_head_layer layer = {.module = "linear",
                                      .n = dense->out,
                                      .k = dense->in,
                                      .bias = dense->bias,
                                      .epilogue = dense->activation,
                                      .precision = SR_PRECISION_FP32};
    if (rc == SR_OK)
        rc = sr_enc_head_matrix(e, &from, &layer, out, err);
    sr_enc_files_close(&files);
    return rc;
}

int sr_enc_dense_load(struct sr_encoder *e, struct sr_enc_head *head, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < e->config.n_dense; i++)
        rc = load_one(e, &e->config.dense[i], &head->after[i], err);
    return rc;
}
