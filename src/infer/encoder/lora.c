/*
 * LoRA adapters as PEFT saves them: adapter_config.json and pairs of small matrices beside the weights they
 * change. A changed matrix is W + scale * B A, scale = alpha / r (Hu et al. 2021, "LoRA", section 4.1), or
 * alpha / sqrt(r) with use_rslora; alpha_pattern gives single modules an alpha of their own, and with
 * rank_pattern each pair has the rank of its tensors. Which modules are changed (target_modules) is seen by
 * the tensors' names. Merged when a matrix is loaded; what PEFT can do beyond that is refused.
 */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define RANK_MAX     4096u
#define PATTERNS_MAX 4096u
#define ALPHA_MIN    1e-6
#define ALPHA_MAX    1e6

static const char *const a_ends[] = {".lora_A.weight", ".lora_A.default.weight"};
static const char *const b_ends[] = {".lora_B.weight", ".lora_B.default.weight"};

/* Members that change what an adapter means; each must be absent, null, false or empty. */
static int refuse(const struct sr_enc_json *json, struct sr_err *err)
{
    static const char *const names[] = {"use_dora",          "fan_in_fan_out",
                                        "lora_bias",         "use_qalora",
                                        "layer_replication", "alora_invocation_tokens",
                                        "target_parameters", "trainable_token_indices",
                                        "use_bdlora",        "arrow_config",
                                        "kasa_config",       "monteclora_config"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sr_json_view v = sr_json_view_get(json->root, names[i]), value;
        size_t at = 0;
        if (sr_json_view_is_null(v) || sr_json_view_eq(v, "") || (v.p[0] == 'f') ||
            ((v.p[0] == '{' || v.p[0] == '[') && !sr_json_view_next(v, &at, NULL, &value)))
            continue;
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `%s` is not supported", json->path, names[i]);
    }
    sr_json_view bias = sr_json_view_get(json->root, "bias"),
                 type = sr_json_view_get(json->root, "peft_type");
    if (!sr_json_view_is_null(bias) && !sr_json_view_eq(bias, "none"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `bias` other than none is not supported", json->path);
    if (!sr_json_view_is_null(type) && !sr_json_view_eq(type, "LORA"))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: only the peft_type LORA is supported", json->path);
    return SR_OK;
}

/* Some ways to begin (PiSSA, OLoRA, LoftQ, ...) change the weights below: PEFT does that again when it loads
 * such an adapter, so W + scale * B A alone would be another model. */
static int check_start(const struct sr_enc_json *json, struct sr_err *err)
{
    static const char *const harmless[] = {"gaussian", "eva", "orthogonal"};
    sr_json_view v = sr_json_view_get(json->root, "init_lora_weights");
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (sr_json_view_eq(v, harmless[i]))
            return SR_OK;
    if (!sr_json_view_is_string(v))
        return SR_OK;
    return sr_err_set(err, SR_EUNSUPPORTED,
                      "%s: `init_lora_weights` %.*s is not supported; save the adapter as plain LoRA "
                      "(path_initial_model_for_weight_conversion)",
                      json->path, (int)(v.n < 64 ? v.n : 64), v.p);
}

static const char *find_text(struct sr_bytes name, const char *text)
{
    return memmem(name.p, name.n, text, strlen(text));
}

/* ---- patterns ---- */

/* The characters of a name as a regular expression writes it, or 0: `\.` is a dot, and so is a dot. */
static size_t name_of(sr_json_view key, char out[SR_ENC_NAME_MAX + 1], bool *whole)
{
    char text[SR_ENC_NAME_MAX + 1];
    size_t n = 0;
    *whole = false;
    if (key.n > SR_ENC_NAME_MAX)
        return 0;
    text[sr_json_view_decode(key, text)] = '\0';
    const char *p = text;
    *whole = *p == '^';
    p += *whole;
    for (; *p; p++) {
        if (*p == '\\' && p[1] == '.')
            p++;
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        if (!letter && !(*p >= '0' && *p <= '9') && *p != '_' && *p != '-' && *p != '.')
            return 0;
        out[n++] = *p;
    }
    out[n] = '\0';
    return n;
}

static int check_patterns(const struct sr_enc_json *json, struct sr_err *err)
{
    sr_json_view patterns = sr_json_view_get(json->root, "alpha_pattern"), key, value;
    char name[SR_ENC_NAME_MAX + 1];
    size_t at = 0, n = 0;
    bool whole;
    double alpha;
    if (!sr_json_view_is_null(patterns) && !sr_json_view_is_object(patterns))
        return sr_err_set(err, SR_EUNSUPPORTED, "%s: `alpha_pattern` is not an object", json->path);
    for (; sr_json_view_next(patterns, &at, &key, &value); n++) {
        if (n == PATTERNS_MAX)
            return sr_err_set(err, SR_ELIMIT, "%s: `alpha_pattern` has more than %u entries", json->path,
                              PATTERNS_MAX);
        if (!name_of(key, name, &whole))
            return sr_err_set(err, SR_EUNSUPPORTED,
                              "%s: `alpha_pattern` with %.*s is not supported: only names of modules are",
                              json->path, (int)(key.n < 100 ? key.n : 100), key.p);
        if (!sr_enc_number(value, &alpha) || alpha < ALPHA_MIN || alpha > ALPHA_MAX)
            return sr_err_set(err, SR_EPARSE, "%s: `alpha_pattern`: a value is not a number from %g to %g",
                              json->path, ALPHA_MIN, ALPHA_MAX);
    }
    return SR_OK;
}

/* Does the module's whole name end with `name`, at a dot? */
static bool fits(struct sr_bytes module, const char *name, size_t n, bool whole)
{
    if (module.n < n || memcmp(module.p + module.n - n, name, n) != 0)
        return false;
    return module.n == n || (!whole && module.p[module.n - n - 1] == '.');
}

/* Of the module of tensor `a`: its whole name is what stands between PEFT's prefix and the end. */
static double alpha_of(const struct sr_enc_adapter *adapter, const struct sr_tensor *a)
{
    const struct sr_bytes prefix = SR_LIT("base_model.model.");
    sr_json_view patterns = sr_json_view_get(adapter->config.root, "alpha_pattern"), key, value;
    struct sr_bytes module = a->name;
    char name[SR_ENC_NAME_MAX + 1];
    size_t at = 0;
    bool whole;
    double alpha = adapter->alpha;
    const char *end = find_text(module, ".lora_A.");
    module.n = (size_t)(end - module.p);
    if (sr_bytes_starts_with(module, prefix))
        module = sr_bytes_of(module.p + prefix.n, module.n - prefix.n);
    while (sr_json_view_next(patterns, &at, &key, &value)) {
        size_t n = name_of(key, name, &whole);
        if (n && fits(module, name, n, whole)) {
            (void)sr_enc_number(value, &alpha); /* checked by check_patterns */
            break;
        }
    }
    return alpha;
}

/* The last part of a base's name, which may be a path of another machine or a name of a hub; "" for no
 * string. False: it cannot be the name of a folder. */
static bool base_name(sr_json_view value, char name[SR_ENC_NAME_MAX + 1])
{
    char text[SR_ENC_NAME_MAX + 1];
    name[0] = '\0';
    if (!sr_json_view_is_string(value) || value.n > SR_ENC_NAME_MAX)
        return true;
    size_t n = sr_json_view_decode(value, text);
    while (n && text[n - 1] == '/')
        n--;
    text[n] = '\0';
    const char *slash = strrchr(text, '/'), *last = slash ? slash + 1 : text;
    if (strlen(text) != n || last[0] == '.')
        return false;
    memcpy(name, last, strlen(last) + 1);
    return true;
}

void sr_enc_base_read(char name[SR_ENC_NAME_MAX + 1], const char *folder)
{
    struct sr_enc_json json;
    name[0] = '\0';
    if (sr_enc_json_open(&json, folder, "adapter_config.json", true, NULL) == SR_OK) {
        (void)base_name(sr_json_view_get(json.root, "base_model_name_or_path"), name);
        sr_enc_json_close(&json);
    }
}

static void read_task(struct sr_enc_adapter *a)
{
    sr_json_view task = sr_json_view_get(a->config.root, "task_type");
    a->task = sr_json_view_eq(task, "TOKEN_CLS") ? SR_ENC_TASK_TOKEN
              : sr_json_view_eq(task, "SEQ_CLS") ? SR_ENC_TASK_SEQUENCE
                                                 : SR_ENC_TASK_NONE;
}

static int read_config(struct sr_enc_adapter *a, const char *folder, struct sr_err *err)
{
    struct sr_enc_json *json = &a->config;
    sr_json_view key, value;
    size_t at = 0;
    int rc = sr_enc_json_open(json, folder, "adapter_config.json", false, err);
    if (rc == SR_OK)
        rc = refuse(json, err);
    if (rc == SR_OK)
        rc = check_start(json, err);
    if (rc == SR_OK)
        rc = check_patterns(json, err);
    if (rc == SR_OK)
        rc = sr_enc_json_size(json, json->root, "r", 1, RANK_MAX, &a->rank, err);
    if (rc == SR_OK)
        rc = sr_enc_json_number(json, json->root, "lora_alpha", ALPHA_MIN, ALPHA_MAX, &a->alpha, err);
    if (rc == SR_OK && (!a->rank || a->alpha <= 0))
        rc = sr_err_set(err, SR_EPARSE, "%s: `r` and `lora_alpha` are needed", json->path);
    if (rc == SR_OK && !base_name(sr_json_view_get(json->root, "base_model_name_or_path"), a->base))
        rc = sr_err_set(err, SR_EPARSE, "%s: `base_model_name_or_path` names no folder", json->path);
    if (rc)
        return rc;
    read_task(a);
    a->rslora = sr_json_view_bool(sr_json_view_get(json->root, "use_rslora"), false);
    a->ranks = sr_json_view_next(sr_json_view_get(json->root, "rank_pattern"), &at, &key, &value);
    return SR_OK;
}

/* Where the trunk's names begin in a tensor's; NULL: nowhere. */
static const char *find_layer(struct sr_bytes name)
{
    const char *at = find_text(name, "encoder.layer.");
    return at ? at : find_text(name, "layers.");
}

/* The common beginning of the trunk's names ends where a layer's begins. */
static int find_pairs(struct sr_enc_adapter *a, bool needed, struct sr_err *err)
{
    struct sr_enc_files *files = &a->files;
    const struct sr_tensor *first = NULL;
    size_t n = sr_safetensors_count(files->shards[0]);
    bool layered = false;
    a->taken = sr_mem_calloc(n + 1, sizeof *a->taken);
    if (!a->taken)
        return sr_enc_out_of_memory(err);
    for (size_t k = 0; k < n; k++) {
        const struct sr_tensor *t = sr_safetensors_at(files->shards[0], k);
        if (!find_text(t->name, "lora_"))
            continue;
        first = first ? first : t;
        a->pairs++;
        const char *at = layered ? NULL : find_layer(t->name);
        if (!at || (size_t)(at - t->name.p) >= sizeof files->prefix)
            continue;
        memcpy(files->prefix, t->name.p, (size_t)(at - t->name.p));
        files->prefix[at - t->name.p] = '\0';
        layered = true;
    }
    if (a->pairs == 0 && needed)
        return sr_err_set(err, SR_EMISMATCH, "%s: the adapter has no pairs of lora_A and lora_B",
                          files->folder);
    if (first && !layered)
        return sr_err_set(err, SR_EMISMATCH, "%s: adapter tensor %.*s belongs to no layer", files->folder,
                          (int)(first->name.n < 200 ? first->name.n : 200), first->name.p);
    a->pairs /= 2;
    return SR_OK;
}

static int open_weights(struct sr_enc_adapter *adapter, const char *folder, const char *weights,
                        struct sr_err *err)
{
    char path[SR_ENC_PATH_MAX];
    int rc = sr_enc_files_open_one(&adapter->files, folder, weights, err);
    if (rc != SR_ENOENT || sr_enc_path(path, folder, "adapter_model.bin", NULL) || access(path, F_OK))
        return rc;
    return sr_err_set(err, SR_EUNSUPPORTED,
                      "%s: has adapter_model.bin only; save the adapter as safetensors (save_pretrained with "
                      "safe_serialization)",
                      folder);
}

int sr_enc_adapter_open(struct sr_enc_adapter *adapter, const char *folder, const char *weights, bool needed,
                        struct sr_err *err)
{
    memset(adapter, 0, sizeof *adapter);
    int rc = read_config(adapter, folder, err);
    if (rc == SR_OK)
        rc = open_weights(adapter, folder, weights, err);
    return rc ? rc : find_pairs(adapter, needed, err);
}

/* Is it a tensor of a head's? Those may be there without a use: a pooler beside a classifier of tokens. */
static bool is_heads(struct sr_bytes name)
{
    static const char *const modules[] = {".pooler.", ".classifier.", ".head.", ".score."};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (find_text(name, modules[i]) || sr_bytes_starts_with(name, sr_bytes_str(modules[i] + 1)))
            return true;
    return false;
}

int sr_enc_adapter_check(const struct sr_enc_adapter *a, bool whole, struct sr_err *err)
{
    const struct sr_safetensors *file = a->files.shards[0];
    for (size_t k = 0; k < sr_safetensors_count(file); k++) {
        struct sr_bytes name = sr_safetensors_at(file, k)->name;
        bool pair = find_text(name, "lora_") != NULL;
        if (a->taken[k] || is_heads(name) || (!pair && !whole))
            continue;
        return sr_err_set(err, SR_EMISMATCH, "%s: adapter tensor %.*s %s", a->files.folder,
                          (int)(name.n < 200 ? name.n : 200), name.p,
                          pair ? "fits nothing in the model"
                               : "would replace a part of the trunk, which is not supported");
    }
    return SR_OK;
}

void sr_enc_adapter_close(struct sr_enc_adapter *adapter)
{
    sr_enc_json_close(&adapter->config);
    sr_enc_files_close(&adapter->files);
    sr_mem_free(adapter->taken);
    adapter->taken = NULL;
}

static const struct sr_tensor *find_part(const struct sr_enc_adapter *a, const char *module,
                                         const char *const ends[2])
{
    char name[2 * SR_ENC_NAME_MAX];
    const struct sr_tensor *t = NULL;
    for (size_t i = 0; i < 2 && !t; i++) {
        snprintf(name, sizeof name, "%s%s", module, ends[i]);
        t = sr_enc_head_tensor(&a->files, name);
    }
    return t;
}

bool sr_enc_adapter_has(const struct sr_enc_adapter *adapter, const char *module)
{
    return find_part(adapter, module, a_ends) != NULL;
}

static void take(struct sr_enc_adapter *adapter, const struct sr_tensor *tensor)
{
    const struct sr_safetensors *file = adapter->files.shards[0];
    for (size_t k = 0; k < sr_safetensors_count(file); k++)
        adapter->taken[k] |= sr_safetensors_at(file, k) == tensor;
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
    if (adapter->ranks && ta && ta->rank == 2 && ta->shape[0] >= 1 && ta->shape[0] <= RANK_MAX)
        r = (size_t)ta->shape[0];
    int rc = sr_enc_check(&adapter->files, ta, module, r, k, err);
    if (rc == SR_OK)
        rc = sr_enc_check(&adapter->files, tb, module, n, r, err);
    if (rc)
        return rc;
    float *a = sr_mem_alloc(r * k * sizeof *a), *b = sr_mem_alloc(n * r * sizeof *b);
    rc = a && b ? sr_enc_floats(&adapter->files, ta, a, err) : sr_enc_out_of_memory(err);
    if (rc == SR_OK)
        rc = sr_enc_floats(&adapter->files, tb, b, err);
    float scale = (float)(alpha_of(adapter, ta) / (adapter->rslora ? sqrt((double)r) : (double)r));
    for (size_t i = 0; rc == SR_OK && i < n * r; i++)
        b[i] *= scale;
    if (rc == SR_OK)
        rc = add_product(w, b, a, n, k, r, err);
    if (rc == SR_OK) {
        take(adapter, ta);
        take(adapter, tb);
    }
    sr_mem_free(a);
    sr_mem_free(b);
    return rc;
}
