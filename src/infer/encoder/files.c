/*
 * The weight files of a model folder: one model.safetensors or the shards that an index names; finding
 * tensors behind the prefixes that different programs save them with; checking them; reading them as floats.
 */
#include "infer/encoder/private.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>

static int check_sha256(const struct sr_enc_files *files, const char *path, const char *wanted,
                        struct sr_err *err)
{
    char got[SR_SHA256_HEX];
    int rc = sr_sha256_hex(sr_safetensors_file(files->shards[0]), got);
    if (rc)
        return sr_err_set(err, rc, "%s: SHA-256 failed", path);
    if (!sr_bytes_eq_nocase(sr_bytes_str(wanted), sr_bytes_str(got)))
        return sr_err_set(err, SR_EMISMATCH, "%s: SHA-256 is %s, expected %.64s", path, got, wanted);
    return SR_OK;
}

int sr_enc_files_open_one(struct sr_enc_files *files, const char *folder, const char *name,
                          struct sr_err *err)
{
    char path[SR_ENC_PATH_MAX];
    struct sr_err inner = {0};
    if (files->n == SR_ENC_SHARDS_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: more than %u weight files", folder, SR_ENC_SHARDS_MAX);
    int rc = sr_enc_path(path, folder, name, err);
    if (rc)
        return rc;
    files->folder = folder;
    rc = sr_safetensors_open_file(&files->shards[files->n], path, &inner);
    if (rc)
        return sr_err_set_at(err, rc, inner.offset, "%s%s%s", strstr(inner.message, path) ? "" : path,
                             strstr(inner.message, path) ? "" : ": ", inner.message);
    files->n++;
    return SR_OK;
}

/* ---- shards ---- */

struct shard_names {
    char *names[SR_ENC_SHARDS_MAX]; /* of files->shards */
    struct sr_arena arena;
};

static int shard_of(struct sr_enc_files *files, struct shard_names *names, const struct sr_enc_json *json,
                    sr_json_view value, size_t *index, struct sr_err *err)
{
    struct sr_bytes name;
    if (!sr_json_view_is_string(value) || value.n > SR_ENC_NAME_MAX)
        return sr_err_set(err, SR_EPARSE, "%s: `weight_map` must map tensors to file names", json->path);
    if (!sr_json_view_dup(value, &names->arena, &name))
        return sr_enc_out_of_memory(err);
    if (strlen(name.p) != name.n || !name.n || name.p[0] == '.' || memchr(name.p, '/', name.n))
        return sr_err_set(err, SR_EPARSE, "%s: `%s` is not the name of a file in the folder", json->path,
                          name.p);
    for (*index = 0; *index < files->n; ++*index)
        if (strcmp(names->names[*index], name.p) == 0)
            return SR_OK;
    int rc = sr_enc_files_open_one(files, files->folder, name.p, err);
    if (rc == SR_OK)
        names->names[*index] = (char *)name.p;
    return rc;
}

static int open_shards(struct sr_enc_files *files, struct sr_enc_json *json, struct sr_err *err)
{
    struct shard_names names = {0};
    sr_json_view map = sr_json_view_get(json->root, "weight_map"), key, value;
    char tensor[SR_ENC_NAME_MAX + 1];
    size_t at = 0, index = 0;
    int rc = SR_OK;
    sr_arena_init(&names.arena, (size_t)64 << 20);
    if (!sr_json_view_is_object(map))
        rc = sr_err_set(err, SR_EPARSE, "%s: `weight_map` is missing", json->path);
    while (rc == SR_OK && sr_json_view_next(map, &at, &key, &value)) {
        if (key.n > SR_ENC_NAME_MAX) {
            rc = sr_err_set(err, SR_ELIMIT, "%s: a tensor's name is too long", json->path);
            break;
        }
        tensor[sr_json_view_decode(key, tensor)] = '\0';
        rc = shard_of(files, &names, json, value, &index, err);
        if (rc == SR_OK && !sr_safetensors_find(files->shards[index], tensor))
            rc = sr_err_set(err, SR_EMISMATCH, "%s: tensor %s is not in %s", json->path, tensor,
                            names.names[index]);
    }
    if (rc == SR_OK && files->n == 0)
        rc = sr_err_set(err, SR_EPARSE, "%s: `weight_map` is empty", json->path);
    sr_arena_dispose(&names.arena);
    return rc;
}

static int no_weights(const char *folder, struct sr_err *err)
{
    char path[SR_ENC_PATH_MAX];
    FILE *other = sr_enc_path(path, folder, "pytorch_model.bin", NULL) ? NULL : fopen(path, "rb");
    if (!other)
        return sr_err_set(err, SR_ENOENT, "%s: no model.safetensors in the folder", folder);
    fclose(other);
    return sr_err_set(err, SR_EUNSUPPORTED,
                      "%s: has pytorch_model.bin only; save the model as safetensors (save_pretrained with "
                      "safe_serialization)",
                      folder);
}

int sr_enc_files_open(struct sr_enc_files *files, const char *folder, const char *sha256, struct sr_err *err)
{
    struct sr_enc_json index;
    char path[SR_ENC_PATH_MAX];
    memset(files, 0, sizeof *files);
    files->folder = folder;
    int rc = sr_enc_files_open_one(files, folder, "model.safetensors", err);
    if (rc == SR_OK && sha256) {
        rc = sr_enc_path(path, folder, "model.safetensors", err);
        return rc ? rc : check_sha256(files, path, sha256, err);
    }
    if (rc != SR_ENOENT)
        return rc;
    rc = sr_enc_json_open(&index, folder, "model.safetensors.index.json", true, err);
    if (rc == SR_OK && !index.bytes)
        rc = no_weights(folder, err);
    else if (rc == SR_OK && sha256)
        rc = sr_err_set(err, SR_EUNSUPPORTED, "%s: a SHA-256 is given, but the weights are in several files",
                        folder);
    if (rc == SR_OK)
        rc = open_shards(files, &index, err);
    sr_enc_json_close(&index);
    return rc;
}

void sr_enc_files_close(struct sr_enc_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        sr_safetensors_close(files->shards[i]);
    files->n = 0;
}

/* ---- finding ---- */

/* By its whole name, NULL. */
static const struct sr_tensor *find_tensor(const struct sr_enc_files *files, const char *name)
{
    const struct sr_tensor *t = NULL;
    for (size_t i = 0; i < files->n && !t; i++)
        t = sr_safetensors_find(files->shards[i], name);
    return t;
}

int sr_enc_find_prefix(struct sr_enc_files *files, const char *anchor, struct sr_err *err)
{
    size_t m = strlen(anchor), best = SIZE_MAX;
    for (size_t i = 0; i < files->n; i++)
        for (size_t k = 0; k < sr_safetensors_count(files->shards[i]); k++) {
            struct sr_bytes name = sr_safetensors_at(files->shards[i], k)->name;
            if (name.n < m || memcmp(name.p + name.n - m, anchor, m) != 0 || name.n - m >= SR_ENC_NAME_MAX)
                continue;
            size_t n = name.n - m;
            if (n < best && (n == 0 || name.p[n - 1] == '.')) {
                best = n;
                memcpy(files->prefix, name.p, n);
                files->prefix[n] = '\0';
            }
        }
    if (best == SIZE_MAX)
        return sr_err_set(err, SR_EMISMATCH,
                          "%s: the weights have no tensor ...%s, which config.json asks for", files->folder,
                          anchor);
    return SR_OK;
}

static const struct sr_tensor *find_joined(const struct sr_enc_files *files, size_t prefix, const char *name)
{
    char whole[2 * SR_ENC_NAME_MAX];
    int n = snprintf(whole, sizeof whole, "%.*s%s", (int)prefix, files->prefix, name);
    return n > 0 && (size_t)n < sizeof whole ? find_tensor(files, whole) : NULL;
}

/* Before 2019 the parameters of norms were called gamma and beta; such files are still about. */
static const struct sr_tensor *find_old_norm(const struct sr_enc_files *files, const char *name)
{
    static const char *const ends[][2] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                                          {"LayerNorm.bias", "LayerNorm.beta"}};
    char old[SR_ENC_NAME_MAX];
    size_t n = strlen(name);
    for (size_t i = 0; i < 2; i++) {
        size_t m = strlen(ends[i][0]);
        if (n < m || n >= sizeof old || strcmp(name + n - m, ends[i][0]) != 0)
            continue;
        snprintf(old, sizeof old, "%.*s%s", (int)(n - m), name, ends[i][1]);
        return find_joined(files, strlen(files->prefix), old);
    }
    return NULL;
}

const struct sr_tensor *sr_enc_trunk_tensor(const struct sr_enc_files *files, const char *name)
{
    const struct sr_tensor *t = find_joined(files, strlen(files->prefix), name);
    return t ? t : find_old_norm(files, name);
}

const struct sr_tensor *sr_enc_head_tensor(const struct sr_enc_files *files, const char *name)
{
    for (size_t n = strlen(files->prefix);; n--) {
        const struct sr_tensor *t =
            n == 0 || files->prefix[n - 1] == '.' ? find_joined(files, n, name) : NULL;
        if (t || n == 0)
            return t;
    }
}

/* ---- checking and reading ---- */

enum sr_scalar sr_enc_scalar(const struct sr_tensor *tensor)
{
    return tensor->dtype == SR_DTYPE_F16    ? SR_SCALAR_F16
           : tensor->dtype == SR_DTYPE_BF16 ? SR_SCALAR_BF16
           : tensor->dtype == SR_DTYPE_U8   ? SR_SCALAR_Q4
                                            : SR_SCALAR_F32;
}

int sr_enc_check(const struct sr_enc_files *files, const struct sr_tensor *tensor, const char *name,
                 size_t rows, size_t columns, struct sr_err *err)
{
    char shape[96] = "";
    size_t n = 0;
    if (!tensor)
        return sr_err_set(err, SR_EMISMATCH, "%s: the weights have no tensor %s%s", files->folder,
                          files->prefix, name);
    bool blocks = tensor->dtype == SR_DTYPE_U8 && columns && columns % SR_Q4_BLOCK == 0;
    if (!blocks && tensor->dtype != SR_DTYPE_F32 && tensor->dtype != SR_DTYPE_F16 &&
        tensor->dtype != SR_DTYPE_BF16)
        return sr_err_set(
            err, SR_EUNSUPPORTED,
            "%s: tensor %s is %s; F32, F16 and BF16 are supported, and U8 for matrices of 4-bit "
            "blocks",
            files->folder, name, sr_dtype_name(tensor->dtype));
    size_t stored = blocks ? sr_scalar_bytes(SR_SCALAR_Q4, columns) : columns;
    if (tensor->rank == (columns ? 2 : 1) && tensor->shape[0] == rows &&
        (!columns || tensor->shape[1] == stored))
        return SR_OK;
    for (uint32_t i = 0; i < tensor->rank && n < sizeof shape - 24; i++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%llu", i ? ", " : "",
                              (unsigned long long)tensor->shape[i]);
    if (columns)
        return sr_err_set(err, SR_EMISMATCH, "%s: tensor %s is [%s]; the configuration asks for [%zu, %zu]",
                          files->folder, name, shape, rows, stored);
    return sr_err_set(err, SR_EMISMATCH, "%s: tensor %s is [%s]; the configuration asks for [%zu]",
                      files->folder, name, shape, rows);
}

/* Elements whose exponent is all ones, infinite or no number, among the first `n` of `p` (aligned). */
static bool all_finite(const void *p, enum sr_dtype dtype, size_t n)
{
    uint32_t bad = 0;
    if (dtype == SR_DTYPE_F32) {
        const uint32_t *bits = p;
        for (size_t i = 0; i < n; i++)
            bad |= (bits[i] & 0x7F800000u) == 0x7F800000u;
        return !bad;
    }
    const uint16_t *bits = p;
    uint16_t exponent = dtype == SR_DTYPE_F16 ? 0x7C00 : 0x7F80;
    for (size_t i = 0; i < n; i++)
        bad |= (bits[i] & exponent) == exponent;
    return !bad;
}

static int not_finite(const struct sr_enc_files *files, const struct sr_tensor *tensor, struct sr_err *err)
{
    return sr_err_set(err, SR_EMISMATCH, "%s: tensor %.*s has a value that is not a finite number",
                      files->folder, (int)tensor->name.n, tensor->name.p);
}

/* The same for 4-bit blocks: only their steps can be no number. */
static int read_blocks(const struct sr_enc_files *files, const struct sr_tensor *tensor, float *out,
                       struct sr_err *err)
{
    for (size_t i = 0; i < tensor->bytes; i += SR_Q4_BYTES)
        if ((tensor->data[i + 1] & 0x7C) == 0x7C)
            return not_finite(files, tensor, err);
    if (out)
        sr_to_float(tensor->data, SR_SCALAR_Q4, tensor->bytes / SR_Q4_BYTES * SR_Q4_BLOCK, out);
    return SR_OK;
}

/* Checks all elements and, unless `out` is NULL, converts them. */
static int read_elements(const struct sr_enc_files *files, const struct sr_tensor *tensor, float *out,
                         struct sr_err *err)
{
    enum { STEP = 4096 };
    uint32_t part[STEP]; /* the file's elements need not be aligned */
    if (tensor->dtype == SR_DTYPE_U8)
        return read_blocks(files, tensor, out, err);
    size_t size = sr_dtype_size(tensor->dtype), n = tensor->bytes / size;
    for (size_t i = 0; i < n; i += STEP) {
        size_t some = n - i < STEP ? n - i : STEP;
        memcpy(part, tensor->data + i * size, some * size);
        if (!all_finite(part, tensor->dtype, some))
            return not_finite(files, tensor, err);
        if (out)
            sr_to_float(part, sr_enc_scalar(tensor), some, out + i);
    }
    return SR_OK;
}

int sr_enc_floats(const struct sr_enc_files *files, const struct sr_tensor *tensor, float *out,
                  struct sr_err *err)
{
    return read_elements(files, tensor, out, err);
}

int sr_enc_check_values(const struct sr_enc_files *files, const struct sr_tensor *tensor, struct sr_err *err)
{
    return read_elements(files, tensor, NULL, err);
}
