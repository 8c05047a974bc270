/* Small JSON files of a model folder: reading them whole, members with ranges, paths for messages. */
#include "infer/encoder/private.h"

#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int sr_enc_path(char path[SR_ENC_PATH_MAX], const char *folder, const char *name, struct sr_err *err)
{
    int n = snprintf(path, SR_ENC_PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= SR_ENC_PATH_MAX)
        return sr_err_set(err, SR_ELIMIT, "a path in the model folder is too long");
    return SR_OK;
}

static int read_all(FILE *file, struct sr_enc_json *json, size_t *n, struct sr_err *err)
{
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET))
        return sr_err_set(err, SR_EIO, "%s: %s", json->path, strerror(errno));
    if ((size_t)size > SR_ENC_JSON_MAX)
        return sr_err_set(err, SR_ELIMIT, "%s: %ld bytes, the limit is %zu", json->path, size,
                          SR_ENC_JSON_MAX);
    json->bytes = sr_mem_alloc((size_t)size + 1);
    if (!json->bytes)
        return sr_enc_out_of_memory(err);
    *n = fread(json->bytes, 1, (size_t)size, file);
    return *n == (size_t)size ? SR_OK : sr_err_set(err, SR_EIO, "%s: could not be read", json->path);
}

int sr_enc_json_open(struct sr_enc_json *json, const char *folder, const char *name, bool optional,
                     struct sr_err *err)
{
    struct sr_err inner = {0};
    size_t n = 0;
    json->bytes = NULL;
    json->root = (sr_json_view){0};
    int rc = sr_enc_path(json->path, folder, name, err);
    if (rc)
        return rc;
    FILE *file = fopen(json->path, "rb");
    if (!file && errno == ENOENT && optional)
        return SR_OK;
    if (!file)
        return sr_err_set(err, errno == ENOENT ? SR_ENOENT : SR_EIO, "%s: %s", json->path, strerror(errno));
    rc = read_all(file, json, &n, err);
    fclose(file);
    if (rc == SR_OK && (rc = sr_json_view_open(&json->root, sr_bytes_of(json->bytes, n), &inner)))
        sr_err_set_at(err, rc, inner.offset, "%s: %s", json->path, inner.message);
    if (rc)
        sr_enc_json_close(json);
    return rc;
}

void sr_enc_json_close(struct sr_enc_json *json)
{
    sr_mem_free(json->bytes);
    json->bytes = NULL;
    json->root = (sr_json_view){0};
}

int sr_enc_json_size(const struct sr_enc_json *json, sr_json_view object, const char *name, size_t min,
                     size_t max, size_t *out, struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(object, name);
    int64_t n;
    if (sr_json_view_is_null(v))
        return SR_OK;
    if (!sr_json_view_int(v, &n) || n < 0 || (uint64_t)n < min || (uint64_t)n > max)
        return sr_err_set(err, SR_EPARSE, "%s: `%s` must be an integer from %zu to %zu", json->path, name,
                          min, max);
    *out = (size_t)n;
    return SR_OK;
}

bool sr_enc_number(sr_json_view v, double *out)
{
    char text[64], *end;
    if (!v.p || v.n >= sizeof text || !(v.p[0] == '-' || (v.p[0] >= '0' && v.p[0] <= '9')))
        return false;
    memcpy(text, v.p, v.n);
    text[v.n] = '\0';
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

int sr_enc_json_number(const struct sr_enc_json *json, sr_json_view object, const char *name, double min,
                       double max, double *out, struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(object, name);
    double number;
    if (sr_json_view_is_null(v))
        return SR_OK;
    if (!sr_enc_number(v, &number) || number < min || number > max)
        return sr_err_set(err, SR_EPARSE, "%s: `%s` must be a number from %g to %g", json->path, name, min,
                          max);
    *out = number;
    return SR_OK;
}

int sr_enc_json_unsupported(const struct sr_enc_json *json, const char *name, const char *wanted,
                            struct sr_err *err)
{
    return sr_err_set(err, SR_EUNSUPPORTED, "%s: `%s` is not supported; %s", json->path, name, wanted);
}

int sr_enc_json_activation(const struct sr_enc_json *json, const char *name, enum sr_epilogue *out,
                           struct sr_err *err)
{
    sr_json_view v = sr_json_view_get(json->root, name);
    if (sr_json_view_is_null(v))
        return SR_OK;
    if (sr_json_view_eq(v, "gelu"))
        *out = SR_EPILOGUE_GELU;
    else if (sr_json_view_eq(v, "tanh"))
        *out = SR_EPILOGUE_TANH;
    else if (sr_json_view_eq(v, "relu"))
        *out = SR_EPILOGUE_RELU;
    else
        return sr_enc_json_unsupported(json, name, "gelu, tanh and relu are", err);
    return SR_OK;
}
