/* The mixture and its numbers in a small JSON file. */
#include "infer/classifier/fusion.h"

#include "base/buf.h"
#include "base/json_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define PATH_BYTES     4096
#define LEAST          1e-9F /* of a probability, so that its logarithm is one */

#define SECOND_TOKENS_MAX 65536

static int read_file(const char *path, struct sr_buf *text, struct sr_err *err)
{
    char piece[4096];
    size_t n;
    FILE *f = fopen(path, "re");
    if (!f)
        return errno == ENOENT ? SR_ENOENT : sr_err_set(err, SR_EIO, "%s: %s", path, strerror(errno));
    int rc = SR_OK;
    while (rc == SR_OK && (n = fread(piece, 1, sizeof piece, f)) > 0)
        rc = sr_buf_append(text, piece, n);
    if (rc == SR_OK && ferror(f))
        rc = SR_EIO;
    fclose(f);
    return rc ? sr_err_set(err, rc, "%s: %s", path, sr_strerror(rc)) : SR_OK;
}

/* Keeps *out when the member is absent. */
static int read_number(sr_json_view object, const char *name, double min, double max, float *out,
                       const char *path, struct sr_err *err)
{
    char digits[64];
    sr_json_view v = sr_json_view_get(object, name);
    if (sr_json_view_is_null(v))
        return SR_OK;
    bool number = v.n < sizeof digits && (v.p[0] == '-' || (v.p[0] >= '0' && v.p[0] <= '9'));
    if (number) {
        memcpy(digits, v.p, v.n);
        digits[v.n] = 0;
        *out = (float)strtod(digits, NULL);
    }
    if (!number || !(*out >= (float)min && *out <= (float)max))
        return sr_err_set(err, SR_EPARSE, "%s: `%s` must be a number from %g to %g", path, name, min, max);
    return SR_OK;
}

static int read_fusion(struct sr_fusion *out, sr_json_view task, const char *path, struct sr_err *err)
{
    int rc = read_number(task, "neural", 0, 100, &out->neural, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "linear", 0, 100, &out->linear, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "temperature", 0.01, 100, &out->temperature, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "shift", -100, 100, &out->shift, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "linear_limit", 0, 100, &out->linear_limit, path, err);
    if (rc == SR_OK && out->neural + out->linear <= 0)
        rc = sr_err_set(err, SR_EPARSE, "%s: `fusion`: both weights are 0", path);
    return rc;
}

/* config.json of `folder` into `text`, which the caller disposes of in any case. */
static int open_config(sr_json_view *root, struct sr_buf *text, char path[PATH_BYTES], const char *folder,
                       struct sr_err *err)
{
    sr_buf_init(text, FILE_BYTES_MAX);
    if (snprintf(path, PATH_BYTES, "%s/config.json", folder) >= PATH_BYTES)
        return sr_err_set(err, SR_ELIMIT, "a path is too long");
    int rc = read_file(path, text, err);
    if (rc == SR_OK && sr_json_view_open(root, sr_buf_view(text), err))
        rc = sr_err_set(err, SR_EPARSE, "%s: is not JSON", path);
    return rc;
}

int sr_fusion_read(struct sr_fusion *out, const char *folder, const char *task, struct sr_err *err)
{
    char path[PATH_BYTES];
    struct sr_buf text;
    sr_json_view root = {0};
    *out = (struct sr_fusion){.neural = 1, .temperature = 1};
    int rc = open_config(&root, &text, path, folder, err);
    if (rc == SR_OK) {
        sr_json_view found = sr_json_view_get(sr_json_view_get(root, "fusion"), task);
        rc = sr_json_view_is_object(found) ? read_fusion(out, found, path, err) : SR_ENOENT;
    }
    sr_buf_dispose(&text);
    return rc;
}

static int read_second(struct sr_fusion_second *out, sr_json_view task, const char *path, struct sr_err *err)
{
    float tokens = (float)out->tokens;
    out->mix = (struct sr_fusion){.temperature = 1};
    int rc = read_number(task, "first", 0, 100, &out->mix.linear, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "neural", 0, 100, &out->mix.neural, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "temperature", 0.01, 100, &out->mix.temperature, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "shift", -100, 100, &out->mix.shift, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "band", 0, 100, &out->band, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "certain", 0, 1, &out->certain, path, err);
    if (rc == SR_OK)
        rc = read_number(task, "tokens", 1, SECOND_TOKENS_MAX, &tokens, path, err);
    out->tokens = (size_t)tokens;
    if (rc == SR_OK && out->mix.linear + out->mix.neural <= 0)
        rc = sr_err_set(err, SR_EPARSE, "%s: `fusion`: both weights of a second reader are 0", path);
    return rc;
}

int sr_fusion_read_second(struct sr_fusion_second *out, const char *folder, const char *task,
                          struct sr_err *err)
{
    char path[PATH_BYTES], name[64];
    struct sr_buf text;
    sr_json_view root = {0};
    snprintf(name, sizeof name, "%s_second", task);
    int rc = open_config(&root, &text, path, folder, err);
    if (rc == SR_OK) {
        sr_json_view found = sr_json_view_get(sr_json_view_get(root, "fusion"), name);
        rc = sr_json_view_is_object(found) ? read_second(out, found, path, err) : SR_ENOENT;
    }
    sr_buf_dispose(&text);
    return rc;
}

int sr_fusion_thresholds(float *out, const char *const *types, size_t n, const char *folder, const char *task,
                         struct sr_err *err)
{
    char path[PATH_BYTES];
    struct sr_buf text;
    sr_json_view root = {0};
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5F;
    int rc = open_config(&root, &text, path, folder, err);
    if (rc == SR_OK) {
        sr_json_view found = sr_json_view_get(sr_json_view_get(root, "thresholds"), task);
        for (size_t i = 0; rc == SR_OK && sr_json_view_is_object(found) && i < n; i++)
            rc = read_number(found, types[i], 0.01, 1, &out[i], path, err);
    }
    sr_buf_dispose(&text);
    return rc == SR_ENOENT ? SR_OK : rc;
}

static int read_capitals(struct sr_bio *bio, size_t type, sr_json_view of, const char *path,
                         struct sr_err *err)
{
    static const char *const NAMES[SR_WORD_CASES] = {[SR_WORD_SMALL] = "small",
                                                     [SR_WORD_INSIDE] = "inside",
                                                     [SR_WORD_FIRST] = "first",
                                                     [SR_WORD_TALL] = "tall"};
    int rc = SR_OK;
    for (size_t c = 0; rc == SR_OK && c < SR_WORD_CASES; c++) {
        float odds = 0;
        if (NAMES[c])
            rc = read_number(of, NAMES[c], -8, 8, &odds, path, err);
        bio->odds[c][type] = expf(odds);
        bio->reach = fmaxf(bio->reach, bio->odds[c][type]);
        bio->cased = bio->cased || odds < 0 || odds > 0;
    }
    return rc;
}

int sr_fusion_capitals(struct sr_bio *bio, const char *folder, const char *task, struct sr_err *err)
{
    char path[PATH_BYTES];
    struct sr_buf text;
    sr_json_view root = {0};
    int rc = open_config(&root, &text, path, folder, err);
    if (rc == SR_OK) {
        sr_json_view found = sr_json_view_get(sr_json_view_get(root, "capitals"), task);
        for (size_t i = 0; rc == SR_OK && sr_json_view_is_object(found) && i < bio->n_types; i++) {
            sr_json_view of = sr_json_view_get(found, bio->types[i]);
            rc = sr_json_view_is_object(of) ? read_capitals(bio, i, of, path, err) : SR_OK;
        }
    }
    sr_buf_dispose(&text);
    return rc == SR_ENOENT ? SR_OK : rc;
}

static float log_of(float p)
{
    return logf(p > LEAST ? p : LEAST);
}

/* The linear tier's log probabilities of two labels, their odds no further from even than `limit`. */
static void bring_within(float limit, const float *b, float out[2])
{
    float odds = log_of(b[1]) - log_of(b[0]);
    odds = fmaxf(-limit, fminf(limit, odds));
    out[0] = -log1pf(expf(odds));
    out[1] = -log1pf(expf(-odds));
}

void sr_fusion_mix(const struct sr_fusion *fusion, const float *a, const float *b, size_t n, float *out)
{
    bool limited = n == 2 && fusion->linear_limit > 0;
    float top = -INFINITY, sum = 0, near[2];
    if (limited)
        bring_within(fusion->linear_limit, b, near);
    for (size_t i = 0; i < n; i++) {
        float shift = n == 2 && i == 1 ? fusion->shift : 0;
        float linear = limited ? near[i] : log_of(b[i]);
        out[i] = (fusion->neural * log_of(a[i]) + fusion->linear * linear + shift) / fusion->temperature;
        if (out[i] > top)
            top = out[i];
    }
    for (size_t i = 0; i < n; i++)
        sum += out[i] = expf(out[i] - top);
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}
