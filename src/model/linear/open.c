/*
 * Loads the linear tier's models and checks the tensors, their shapes and the hash. After open() succeeded,
 * no value in the tables can make linear.c read outside them.
 */
#include "base/mem.h"
#include "model/linear/model.h"
#include "model/linear/table.h"

#include <math.h>
#include <stdlib.h>

/* The bytes of the file in the executable, from the build (cmake/layers.cmake, sr_embed). */
extern const unsigned char sr_embed_domain_model[];
extern const unsigned char sr_embed_domain_model_end[];
extern const unsigned char sr_embed_jailbreak_model[];
extern const unsigned char sr_embed_jailbreak_model_end[];

static void linear_free(struct sr_classifier *self)
{
    struct sr_linear *m = (struct sr_linear *)self;
    sr_safetensors_close(m->file);
    sr_mem_free(m->names);
    sr_mem_free(m);
}

static const struct sr_classifier_ops ops = {
    .name = "linear",
    .answer = sr_linear_answer,
    .free = linear_free,
};

static int bad(struct sr_err *err, const char *what)
{
    return sr_err_set(err, SR_EPARSE, "linear model: %s", what);
}

static bool same_hex(struct sr_bytes stated, const char *computed)
{
    return sr_bytes_eq_nocase(stated, sr_bytes_str(computed));
}

static int check_hashes(struct sr_linear *m, const char *sha256, struct sr_err *err)
{
    char data[SR_SHA256_HEX];
    struct sr_bytes stated = sr_safetensors_metadata(m->file, "sha256");
    int rc = sr_sha256_hex(sr_safetensors_file(m->file), m->sha256);
    if (!rc)
        rc = sr_sha256_hex(sr_safetensors_data(m->file), data);
    if (rc)
        return sr_err_set(err, rc, "linear model: SHA-256 failed");
    if (sha256 && !same_hex(sr_bytes_str(sha256), m->sha256))
        return sr_err_set(err, SR_EMISMATCH, "linear model: SHA-256 is %s, expected %.64s", m->sha256,
                          sha256);
    if (!same_hex(stated, data))
        return sr_err_set(err, SR_EMISMATCH, "linear model: the data's SHA-256 is %s, the header says %.*s",
                          data, stated.n > 64 ? 64 : (int)stated.n, stated.p ? stated.p : "");
    return SR_OK;
}

/* The labels, separated by '|' in the metadata. */
static int read_names(struct sr_linear *m, struct sr_err *err)
{
    struct sr_bytes labels = sr_safetensors_metadata(m->file, "labels");
    struct sr_bytes task = sr_safetensors_metadata(m->file, "task");
    if (!labels.n || !task.n || memchr(labels.p, 0, labels.n) || memchr(task.p, 0, task.n))
        return bad(err, "metadata `labels` and `task` are needed");
    m->names = sr_mem_alloc(labels.n + 1 + task.n + 1);
    if (!m->names)
        return sr_err_set(err, SR_ENOMEM, "linear model: out of memory");
    char *p = m->names;
    memcpy(p, labels.p, labels.n);
    p[labels.n] = 0;
    memcpy(p + labels.n + 1, task.p, task.n);
    p[labels.n + 1 + task.n] = 0;
    m->base.task = p + labels.n + 1;
    for (char *end = p; end; p = end + 1) {
        end = strchr(p, '|');
        if (end)
            *end = 0;
        if (m->n_labels == SR_CLASSIFIER_LABELS_MAX)
            return bad(err, "too many labels");
        if (!*p)
            return bad(err, "an empty label");
        m->labels[m->n_labels++] = p;
        if (!end)
            break;
    }
    m->base.labels = m->labels;
    m->base.n_labels = m->n_labels;
    return SR_OK;
}

/* A tensor of exactly this dtype and shape, or NULL; `b` = 0 asks for rank 1. */
static const struct sr_tensor *need(const struct sr_linear *m, const char *name, enum sr_dtype dtype,
                                    uint64_t a, uint64_t b)
{
    const struct sr_tensor *t = sr_safetensors_find(m->file, name);
    if (!t || t->dtype != dtype || t->rank != (b ? 2 : 1) || t->shape[0] != a || (b && t->shape[1] != b))
        return NULL;
    return t;
}

static bool read_doubles(const struct sr_tensor *t, double *out, size_t n)
{
    if (!t)
        return false;
    memcpy(out, t->data, n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(out[i]))
            return false;
    return true;
}

static int read_tables(struct sr_linear *m, struct sr_err *err)
{
    const struct sr_tensor *prints = sr_safetensors_find(m->file, "fingerprints");
    uint64_t buckets = prints && prints->rank == 2 ? prints->shape[0] : 0;
    if (buckets == 0 || buckets > SR_LINEAR_ROWS_MAX / SR_LINEAR_SLOTS ||
        prints != need(m, "fingerprints", SR_DTYPE_U16, buckets, SR_LINEAR_SLOTS))
        return bad(err, "`fingerprints` must be U16 [1..65536, 8]");
    const struct sr_tensor *weights = need(m, "weights", SR_DTYPE_I8, buckets * SR_LINEAR_SLOTS, m->n_labels);
    if (!weights)
        return bad(err, "`weights` must be I8 [8 * buckets, labels]");
    double figures[3];
    if (!read_doubles(need(m, "bias", SR_DTYPE_F64, m->n_labels, 0), m->bias, m->n_labels) ||
        !read_doubles(need(m, "figures", SR_DTYPE_F64, 3, 0), figures, 3))
        return bad(err, "`bias` must be F64 [labels] and `figures` F64 [3], all finite");
    if (figures[0] <= 0 || figures[1] <= 0 || figures[2] < 0)
        return bad(err, "scale and temperature must be positive, damping not negative");
    m->fingerprints = prints->data;
    m->weights = (const int8_t *)weights->data;
    m->buckets = (uint32_t)buckets;
    uint64_t all = buckets * SR_LINEAR_SLOTS * m->n_labels;
    if (m->n_labels <= SR_LINEAR_LANES && all >= SR_LINEAR_LANES)
        m->wide_rows = (uint32_t)((all - SR_LINEAR_LANES) / m->n_labels + 1);
    m->scale = figures[0];
    m->temperature = figures[1];
    m->damping = figures[2];
    return SR_OK;
}

/* Takes ownership of `file`, also on failure. */
static int open_model(struct sr_linear **out, struct sr_safetensors *file, const char *sha256,
                      struct sr_err *err)
{
    struct sr_linear *m = sr_mem_calloc(1, sizeof *m);
    int rc;
    if (!m) {
        sr_safetensors_close(file);
        return sr_err_set(err, SR_ENOMEM, "linear model: out of memory");
    }
    m->file = file;
    m->base.ops = &ops;
    m->base.ns_per_kib = 40000;
    sr_ref_init(&m->base.ref);
    if (!sr_bytes_eq(sr_safetensors_metadata(file, "format"), SR_LIT(SR_LINEAR_FORMAT)))
        rc = sr_err_set(err, SR_EUNSUPPORTED, "linear model: metadata `format` is not %s", SR_LINEAR_FORMAT);
    else
        rc = check_hashes(m, sha256, err);
    if (!rc)
        rc = read_names(m, err);
    if (!rc)
        rc = read_tables(m, err);
    if (rc)
        sr_linear_unref(m);
    else
        *out = m;
    return rc;
}

int sr_linear_open_file(struct sr_linear **out, const char *path, const char *sha256, struct sr_err *err)
{
    struct sr_safetensors *file;
    *out = NULL;
    int rc = sr_safetensors_open_file(&file, path, err);
    return rc ? rc : open_model(out, file, sha256, err);
}

int sr_linear_open_memory(struct sr_linear **out, const void *p, size_t n, const char *sha256,
                          struct sr_err *err)
{
    struct sr_safetensors *file;
    *out = NULL;
    int rc = sr_safetensors_open_memory(&file, p, n, err);
    return rc ? rc : open_model(out, file, sha256, err);
}

int sr_linear_open_domain(struct sr_linear **out, struct sr_err *err)
{
    size_t n = (size_t)(sr_embed_domain_model_end - sr_embed_domain_model);
    return sr_linear_open_memory(out, sr_embed_domain_model, n, NULL, err);
}

int sr_linear_open_jailbreak(struct sr_linear **out, struct sr_err *err)
{
    size_t n = (size_t)(sr_embed_jailbreak_model_end - sr_embed_jailbreak_model);
    return sr_linear_open_memory(out, sr_embed_jailbreak_model, n, NULL, err);
}

struct sr_linear *sr_linear_ref(struct sr_linear *model)
{
    sr_classifier_ref(&model->base);
    return model;
}

void sr_linear_unref(struct sr_linear *model)
{
    if (model)
        sr_classifier_unref(&model->base);
}

struct sr_classifier *sr_linear_classifier(struct sr_linear *model)
{
    return &model->base;
}

size_t sr_linear_n_labels(const struct sr_linear *model)
{
    return model->n_labels;
}

const char *const *sr_linear_labels(const struct sr_linear *model)
{
    return model->labels;
}

const char *sr_linear_task(const struct sr_linear *model)
{
    return model->base.task;
}

const char *sr_linear_sha256(const struct sr_linear *model)
{
    return model->sha256;
}

size_t sr_linear_rows(const struct sr_linear *model)
{
    return (size_t)model->buckets * SR_LINEAR_SLOTS;
}
