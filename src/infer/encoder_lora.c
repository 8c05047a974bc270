/*
 * LoRA adapters as PEFT saves them: adapter_config.json and pairs of small matrices beside the weights they
 * change. A changed matrix is W + scale * B A, scale = alpha / r (Hu et al. 2021, "LoRA", section 4.1), or
 * alpha / sqrt(r) with use_rslora. Merged when a matrix is loaded; what PEFT can do beyond that is refused.
 */
#include "infer/encoder_private.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

#define RANK_MAX 4096u

static const char *const a_ends[] = {".lora_A.weight", ".lora_A.default.weight"};
static const char *const b_ends[] = {".lora_B.weight", ".lora_B.default.weight"};

/* Members that change what an adapter means; each must be absent, null, false or empty. */
static int refuse(const struct sr_enc_json *json, struct sr_err *err)
{
    static const char *const names[] = {"use_dora",     "fan_in_fan_out", "lora_bias",        "alpha_pattern",
                                        "rank_pattern", "use_qalora",     "layer_replication"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sr_tjson v = sr_tjson_get(json->root, names[i]), value;
        size_t at = 0;
        if (sr_tjson_is_null(v) || sr_tjson_eq(v, "") || (v.p[0] == 'f') ||
            ((v.p[0] == '{' || v.p[0] == '[') && !sr_tjson_next(v, &at, NULL, &value)))
            continue;
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `%s` is not supported", json->path, names[i]);
    }
    sr_tjson bias = sr_tjson_get(json->root, "bias"), type = sr_tjson_get(json->root, "peft_type");
    if (!sr_tjson_is_null(bias) && !sr_tjson_eq(bias, "none"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `bias` other than none is not supported", json->path);
    if (!sr_tjson_is_null(type) && !sr_tjson_eq(type, "LORA"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: only the peft_type LORA is supported", json->path);
    return SR_OK;
}

/* The base's name may be a path of another machine or a name of a hub: its last part is a folder beside this.
 */
static int read_base(struct sr_enc_adapter *a, const struct sr_enc_json *json, struct sr_err *err)
{
    sr_tjson base = sr_tjson_get(json->root, "base_model_name_or_path");
    char text[SR_ENC_NAME_MAX + 1];
    if (!sr_tjson_is_string(base) || base.n > SR_ENC_NAME_MAX)
        return SR_OK;
    size_t n = sr_tjson_decode(base, text);
    while (n && text[n - 1] == '/')
        n--;
    text[n] = '\0';
    const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
    if (strlen(text) != n || name[0] == '.')
        return sr_err_set(err, SR_EPARSE, "%s: `base_model_name_or_path` names no folder", json->path);
    memcpy(a->base, name, strlen(name) + 1);
    return SR_OK;
}

static void read_task(struct sr_enc_adapter *a, const struct sr_enc_json *json)
{
    sr_tjson task = sr_tjson_get(json->root, "task_type");
    a->task = sr_tjson_eq(task, "TOKEN_CLS")            ? SR_ENC_TASK_TOKEN
              : sr_tjson_eq(task, "FEATURE_EXTRACTION") ? SR_ENC_TASK_NONE
                                                        : SR_ENC_TASK_SEQUENCE;
}

static int read_config(struct sr_enc_adapter *a, const char *folder, struct sr_err *err)
{
    struct sr_enc_json json;
    int rc = sr_enc_json_open(&json, folder, "adapter_config.json", false, err);
    if (rc == SR_OK)
        rc = refuse(&json, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(&json, json.root, "r", 1, RANK_MAX, &a->rank, err);
    if (rc == SR_OK)
        rc = sr_enc_json_number(&json, json.root, "lora_alpha", 1e-6, 1e6, &a->alpha, err);
    if (rc == SR_OK && (!a->rank || a->alpha <= 0))
        rc = sr_err_set(err, SR_EPARSE, "%s: `r` and `lora_alpha` are needed", json.path);
    read_task(a, &json);
    if (rc == SR_OK)
        rc = read_base(a, &json, err);
    a->rslora = sr_tjson_bool(sr_tjson_get(json.root, "use_rslora"), false);
    sr_enc_json_close(&json);
    return rc;
}

static const char *find_text(struct sr_bytes name, const char *text)
{
    return memmem(name.p, name.n, text, strlen(text));
}

/* The names' common beginning ends where the trunk's own names begin. */
static int find_pairs(struct sr_enc_adapter *a, bool needed, struct sr_err *err)
{
    struct sr_enc_files *files = &a->files;
    for (size_t k = 0; k < sr_safetensors_count(files->shards[0]); k++) {
        struct sr_bytes name = sr_safetensors_at(files->shards[0], k)->name;
        if (!find_text(name, "lora_"))
            continue;
        if (a->pairs++)
            continue;
        const char *at = find_text(name, "encoder.layer.");
        at = at ? at : find_text(name, "layers.");
        size_t n = at ? (size_t)(at - name.p) : 0;
        if (!at || n >= sizeof files->prefix)
            return sr_err_set(err, SR_EMISMATCH, "%s: adapter tensor %.*s belongs to no layer", files->folder,
                              (int)(name.n < 200 ? name.n : 200), name.p);
        memcpy(files->prefix, name.p, n);
        files->prefix[n] = '\0';
    }
    if ((a->pairs == 0 && needed) || a->pairs % 2)
        return sr_err_set(err, SR_EMISMATCH, "%s: the adapter has no pairs of lora_A and lora_B",
                          files->folder);
    a->pairs /= 2;
    return SR_OK;
}

int sr_enc_adapter_open(struct sr_enc_adapter *adapter, const char *folder, const char *weights, bool needed,
                        struct sr_err *err)
{
    memset(adapter, 0, sizeof *adapter);
    int rc = read_config(adapter, folder, err);
    if (rc == SR_OK)
        rc = sr_enc_files_open_one(&adapter->files, folder, weights, err);
    if (rc == SR_OK)
        rc = find_pairs(adapter, needed, err);
    if (rc)
        sr_enc_adapter_close(adapter);
    return rc;
}

int sr_enc_adapter_check(const struct sr_enc_adapter *a, struct sr_err *err)
{
    if (a->used == a->pairs)
        return SR_OK;
    return sr_err_set(err, SR_EMISMATCH, "%s: %zu of the adapter's %zu pairs fit no layer of the trunk",
                      a->files.folder, a->pairs - a->used, a->pairs);
}

void sr_enc_adapter_close(struct sr_enc_adapter *adapter)
{
    sr_enc_files_close(&adapter->files);
}

static const struct sr_tensor *find_part(const struct sr_enc_adapter *a, const char *module,
                                         const char *const ends[2])
{
    char name[2 * SR_ENC_NAME_MAX];
    const struct sr_tensor *t = NULL;
    for (size_t i = 0; i < 2 && !t; i++) {
        snprintf(name, sizeof name, "%s%s", module, ends[i]);
        t = sr_enc_trunk_tensor(&a->files, name);
    }
    return t;
}

bool sr_enc_adapter_has(const struct sr_enc_adapter *adapter, const char *module)
{
    return find_part(adapter, module, a_ends) != NULL;
}

/* y[n][k] += b[n][r] a[r][k], as one product of the kernels: the weights are a turned over. */
static int add_product(float *y, const float *b, const float *a, size_t n, size_t k, size_t r,
                       struct sr_err *err)
{
    struct sr_matrix *matrix = NULL;
    float *turned = sr_mem_alloc(r * k * sizeof *turned);
    struct sr_encoder_work scratch = {.max = SIZE_MAX / 2};
    int rc = SR_ENOMEM;
    if (turned) {
        for (size_t i = 0; i < r; i++)
            for (size_t c = 0; c < k; c++)
                turned[c * r + i] = a[i * k + c];
        struct sr_matrix_source source = {.weights = turned, .type = SR_SCALAR_F32, .n = k, .k = r};
        rc = sr_matrix_pack(&matrix, &source, SR_PRECISION_FP32, SR_EPILOGUE_ADD);
    }
    if (rc == SR_OK)
        rc = sr_enc_work_reserve(&scratch, sr_gemm_scratch(matrix, n));
    if (rc == SR_OK)
        sr_gemm(NULL, matrix, (struct sr_rows){(void *)(uintptr_t)b, r, SR_SCALAR_F32}, n,
                (struct sr_rows){y, k, SR_SCALAR_F32}, scratch.p);
    sr_mem_free(scratch.raw);
    sr_matrix_free(matrix);
    sr_mem_free(turned);
    return rc ? sr_err_set(err, rc, "an adapter could not be merged: %s", sr_strerror(rc)) : SR_OK;
}

int sr_enc_adapter_merge(struct sr_enc_adapter *adapter, const char *module, float *w, size_t n, size_t k,
                         struct sr_err *err)
{
    const struct sr_tensor *ta = find_part(adapter, module, a_ends), *tb = find_part(adapter, module, b_ends);
    size_t r = adapter->rank;
    if (!ta && !tb)
        return SR_OK;
    int rc = sr_enc_check(&adapter->files, ta, module, r, k, err);
    if (rc == SR_OK)
        rc = sr_enc_check(&adapter->files, tb, module, n, r, err);
    if (rc)
        return rc;
    float *a = sr_mem_alloc(r * k * sizeof *a), *b = sr_mem_alloc(n * r * sizeof *b);
    rc = a && b ? sr_enc_floats(&adapter->files, ta, a, err) : sr_enc_out_of_memory(err);
    if (rc == SR_OK)
        rc = sr_enc_floats(&adapter->files, tb, b, err);
    float scale = (float)(adapter->alpha / (adapter->rslora ? sqrt((double)r) : (double)r));
    for (size_t i = 0; rc == SR_OK && i < n * r; i++)
        b[i] *= scale;
    if (rc == SR_OK)
        rc = add_product(w, b, a, n, k, r, err);
    if (rc == SR_OK)
        adapter->used++;
    sr_mem_free(a);
    sr_mem_free(b);
    return rc;
}
