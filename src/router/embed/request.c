/* Reads requests and writes answers. */
#include "router/embed/request.h"

#include "base/base64.h"
#include "base/json_write.h"
#include "base/mem.h"

#include <stdlib.h>

/* ---- requests ---- */

static int bad(struct sr_err *err, const char *message)
{
    sr_err_set(err, SR_EINVAL, "%s", message);
    return 400;
}

/* Reads an integer member from `min` to `max`; absent and null leave *out unchanged. */
static int read_number(const sr_doc_value *root, const char *name, int64_t min, int64_t max, size_t *out,
                       struct sr_err *err)
{
    const sr_doc_value *value = sr_doc_get(root, name);
    int64_t n = 0;
    if (!value || sr_doc_kind(value) == SR_JSON_NULL)
        return 200;
    if (!sr_doc_int(value, &n) || n < min || n > max) {
        sr_err_set(err, SR_EINVAL, "`%s` must be a whole number from %lld to %lld", name, (long long)min,
                   (long long)max);
        return 400;
    }
    *out = (size_t)n;
    return 200;
}

static bool is_model(struct sr_bytes asked, const char *model)
{
    if (!asked.p || asked.n == 0)
        return true;
    const char *slash = memrchr(asked.p, '/', asked.n);
    struct sr_bytes last = slash ? sr_bytes_of(slash + 1, asked.n - (size_t)(slash + 1 - asked.p)) : asked;
    return sr_bytes_eq(asked, SR_LIT("auto")) || sr_bytes_eq(last, sr_bytes_str(model));
}

static int read_model(const struct sr_embeddings_request *r, const sr_doc_value *root, const char *model,
                      struct sr_err *err)
{
    const sr_doc_value *value = sr_doc_get(root, "model");
    struct sr_bytes asked = sr_doc_string(value);
    if (value && !asked.p && sr_doc_kind(value) != SR_JSON_NULL)
        return bad(err, "`model` must be a string");
    if (is_model(asked, model))
        return 200;
    sr_err_set(err, SR_ENOENT, "model \"%.*s\" is not available, \"%s\" is",
               (int)(asked.n < 80 ? asked.n : 80), asked.p, model);
    return r->openai ? 404 : 400;
}

static int add_text(struct sr_embeddings_request *r, const sr_doc_value *value, const char *name,
                    struct sr_err *err)
{
    struct sr_bytes text = sr_doc_string(value);
    int kind = sr_doc_kind(value);
    bool ids = r->openai && (kind == SR_JSON_NUMBER || kind == SR_JSON_ARRAY);
    if (!text.p) {
        sr_err_set(err, SR_EINVAL,
                   ids ? "`%s` must hold text: ids of tokens belong to another tokenizer than this model's"
                   : value ? "`%s` must hold strings only"
                           : "`%s` is missing",
                   name);
        return 400;
    }
    if (text.n == 0 && !r->may_be_empty) {
        sr_err_set(err, SR_EINVAL, "`%s` must not be an empty string", name);
        return 400;
    }
    if (text.n > SR_TOKENIZER_TEXT_MAX) {
        sr_err_set(err, SR_ELIMIT, "a text is larger than %zu bytes", SR_TOKENIZER_TEXT_MAX);
        return 413;
    }
    r->texts[r->n++] = text;
    return 200;
}

/* Reads an array of strings; `may_be_one`: a single string is allowed too. */
static int add_texts(struct sr_embeddings_request *r, const sr_doc_value *value, const char *name,
                     bool may_be_one, struct sr_err *err)
{
    size_t n = sr_doc_size(value);
    if (may_be_one && sr_doc_string(value).p)
        return add_text(r, value, name, err);
    if (sr_doc_kind(value) != SR_JSON_ARRAY || n == 0) {
        sr_err_set(err, SR_EINVAL,
                   !value && may_be_one ? "`%s` is missing"
                   : may_be_one         ? "`%s` must be a string or an array of strings, not empty"
                                        : "`%s` must be an array of strings, not empty",
                   name);
        return 400;
    }
    if (n > SR_EMBEDDINGS_TEXTS_MAX) {
        sr_err_set(err, SR_ELIMIT, "`%s` holds more than %u texts", name, SR_EMBEDDINGS_TEXTS_MAX);
        return 413;
    }
    int status = 200;
    for (size_t i = 0; i < n && status == 200; i++)
        status = add_text(r, sr_doc_at(value, i), name, err);
    return status;
}

static int read_texts(struct sr_embeddings_request *r, const sr_doc_value *root, struct sr_err *err)
{
    int status;
    if (r->openai)
        return add_texts(r, sr_doc_get(root, "input"), "input", true, err);
    switch (r->kind) {
    case SR_EMBEDDINGS_PAIR:
        status = add_text(r, sr_doc_get(root, "text1"), "text1", err);
        return status == 200 ? add_text(r, sr_doc_get(root, "text2"), "text2", err) : status;
    case SR_EMBEDDINGS_RANKING:
        status = add_text(r, sr_doc_get(root, "query"), "query", err);
        r->may_be_empty = true;
        return status == 200 ? add_texts(r, sr_doc_get(root, "candidates"), "candidates", false, err)
                             : status;
    default:
        r->may_be_empty = true;
        if (sr_doc_size(sr_doc_get(root, "images")) > 0)
            return bad(err, "the model reads no images");
        return add_texts(r, sr_doc_get(root, "texts"), "texts", false, err);
    }
}

static int read_settings(struct sr_embeddings_request *r, const sr_doc_value *root, struct sr_err *err)
{
    size_t dimension = 0, layer = 0;
    const sr_doc_value *value = sr_doc_get(root, "encoding_format");
    struct sr_bytes format = sr_doc_string(value);
    bool said = r->openai && value && sr_doc_kind(value) != SR_JSON_NULL;
    int status = r->openai ? read_number(root, "dimensions", 1, UINT16_MAX, &dimension, err)
                           : read_number(root, "dimension", 0, UINT16_MAX, &dimension, err);
    if (status == 200 && !r->openai)
        status = read_number(root, "target_layer", 0, UINT16_MAX, &layer, err);
    if (status == 200 && r->kind == SR_EMBEDDINGS_RANKING)
        status = read_number(root, "top_k", 0, INT32_MAX, &r->top_k, err);
    if (status != 200)
        return status;
    r->dimension = (uint16_t)dimension;
    r->layer = (uint16_t)layer;
    r->base64 = said && sr_bytes_eq(format, SR_LIT("base64"));
    if (said && !r->base64 && !sr_bytes_eq(format, SR_LIT("float")))
        return bad(err, "`encoding_format` must be float or base64");
    return 200;
}

int sr_embeddings_parse(struct sr_embeddings_request *request, enum sr_embeddings_kind kind,
                        struct sr_bytes body, const char *model, struct sr_err *err)
{
    *request = (struct sr_embeddings_request){.kind = kind, .openai = kind == SR_EMBEDDINGS_OPENAI};
    int rc = sr_doc_parse(&request->doc, body, body.n, err);
    if (rc != SR_OK)
        return rc == SR_ENOMEM ? 503 : 400;
    const sr_doc_value *root = sr_doc_root(request->doc);
    if (sr_doc_kind(root) != SR_JSON_OBJECT)
        return bad(err, "the body must be an object");
    if (kind == SR_EMBEDDINGS_NATIVE)
        request->openai = sr_doc_get(root, "input") && !sr_doc_get(root, "texts");
    request->texts = sr_mem_calloc(SR_EMBEDDINGS_TEXTS_MAX + 1, sizeof *request->texts);
    if (!request->texts) {
        sr_err_set(err, SR_ENOMEM, "the server is out of memory");
        return 503;
    }
    int status = read_texts(request, root, err);
    if (status == 200)
        status = read_settings(request, root, err);
    return status == 200 && model ? read_model(request, root, model, err) : status;
}

void sr_embeddings_dispose(struct sr_embeddings_request *request)
{
    sr_mem_free(request->texts);
    sr_doc_free(request->doc);
    *request = (struct sr_embeddings_request){0};
}

/* ---- answers ---- */

static void put_numbers(struct sr_json_writer *w, const float *v, size_t n)
{
    sr_json_array(w, "embedding");
    for (size_t i = 0; i < n; i++)
        sr_json_real(w, NULL, "%.8g", (double)v[i]);
    sr_json_array_end(w);
}

/* Writes the floats' bytes, little-endian, as a base64 string (RFC 4648 section 4). */
static void put_base64(struct sr_json_writer *w, const float *v, size_t n)
{
    struct sr_buf *out = w->out;
    sr_json_string(w, "embedding");
    if (!w->rc)
        w->rc = sr_buf_reserve(out, SR_BASE64_SIZE(4 * n) + 1);
    if (w->rc)
        return;
    char *to = out->data + out->len;
    for (size_t i = 0; i < n; i += 3) { /* 16 characters, without padding but at the end */
        uint8_t bytes[3 * 4];
        size_t count = n - i < 3 ? n - i : 3;
        for (size_t k = 0; k < 4 * count; k++) {
            uint32_t word;
            memcpy(&word, &v[i + k / 4], 4);
            bytes[k] = (uint8_t)(word >> k % 4 * 8);
        }
        sr_base64_write(bytes, 4 * count, to);
        to += SR_BASE64_SIZE(4 * count);
    }
    out->len = (size_t)(to - out->data);
    sr_json_string_end(w);
}

static size_t all_ids(const struct sr_embed *group)
{
    size_t ids = 0;
    for (size_t i = 0; i < sr_embed_count(group); i++)
        ids += sr_embed_windows(group, i)->total_ids;
    return ids;
}

static void format_openai(const struct sr_embeddings_request *r, const struct sr_embed *group,
                          const char *model, float *vector, struct sr_json_writer *w)
{
    size_t ids = all_ids(group), d = sr_embed_dimensions(group);
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "list");
    sr_json_text(w, "model", model);
    sr_json_array(w, "data");
    for (size_t i = 0; i < r->n; i++) {
        sr_embed_vector(group, i, vector);
        sr_json_object(w, NULL);
        sr_json_text(w, "object", "embedding");
        sr_json_uint(w, "index", i);
        (r->base64 ? put_base64 : put_numbers)(w, vector, d);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object(w, "usage");
    sr_json_uint(w, "prompt_tokens", ids);
    sr_json_uint(w, "total_tokens", ids);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

/* A text's share of the time, in proportion to its tokens. */
static double share_ms(const struct sr_embed *group, size_t i, size_t ids, uint64_t ns)
{
    return (double)ns / 1e6 * (double)sr_embed_windows(group, i)->total_ids / (double)(ids ? ids : 1);
}

static void format_embeddings(const struct sr_embeddings_request *r, const struct sr_embed *group,
                              const char *model, uint64_t ns, float *vector, struct sr_json_writer *w)
{
    size_t ids = all_ids(group), d = sr_embed_dimensions(group);
    double ms = (double)ns / 1e6;
    sr_json_object(w, NULL);
    sr_json_array(w, "embeddings");
    for (size_t i = 0; i < r->n; i++) {
        const struct sr_windows *windows = sr_embed_windows(group, i);
        sr_embed_vector(group, i, vector);
        sr_json_object(w, NULL);
        sr_json_bytes(w, "text", r->texts[i]);
        sr_json_text(w, "modality", "text");
        put_numbers(w, vector, d);
        sr_json_text(w, "model_used", model);
        sr_json_uint(w, "dimension", d);
        sr_json_uint(w, "tokens", windows->tokens);
        sr_json_uint(w, "tokens_read", windows->read);
        sr_json_uint(w, "windows", windows->n);
        sr_json_real(w, "processing_time_ms", "%.3f", share_ms(group, i, ids, ns));
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_uint(w, "total_count", r->n);
    sr_json_real(w, "total_processing_time_ms", "%.3f", ms);
    sr_json_real(w, "avg_processing_time_ms", "%.3f", ms / (double)r->n);
    sr_json_object_end(w);
}

struct match {
    double similarity;
    size_t index;
};

static int by_similarity(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    if (x->similarity != y->similarity)
        return x->similarity < y->similarity ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Cosine similarity of two vectors of length 1. */
static double similarity(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

static void put_matches(const struct sr_embeddings_request *r, const struct match *matches, size_t n,
                        struct sr_json_writer *w)
{
    size_t shown = r->top_k && r->top_k < n ? r->top_k : n;
    sr_json_array(w, "matches");
    for (size_t i = 0; i < shown; i++) {
        sr_json_object(w, NULL);
        sr_json_uint(w, "index", matches[i].index);
        sr_json_real(w, "similarity", "%.7f", matches[i].similarity);
        sr_json_bytes(w, "text", r->texts[matches[i].index + 1]);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_uint(w, "total_candidates", n);
}

static void format_similarity(const struct sr_embeddings_request *r, const struct sr_embed *group,
                              const char *model, uint64_t ns, float *vectors, struct sr_json_writer *w)
{
    size_t d = sr_embed_dimensions(group), n = r->n - 1;
    struct match *matches = sr_mem_calloc(n, sizeof *matches);
    if (!matches) {
        w->rc = SR_ENOMEM;
        return;
    }
    sr_embed_vector(group, 0, vectors);
    for (size_t i = 0; i < n; i++) {
        sr_embed_vector(group, i + 1, vectors + d);
        matches[i] = (struct match){similarity(vectors, vectors + d, d), i};
    }
    qsort(matches, n, sizeof *matches, by_similarity);
    sr_json_object(w, NULL);
    if (r->kind == SR_EMBEDDINGS_RANKING)
        put_matches(r, matches, n, w);
    else
        sr_json_real(w, "similarity", "%.7f", matches[0].similarity);
    sr_mem_free(matches);
    sr_json_text(w, "model_used", model);
    sr_json_real(w, "processing_time_ms", "%.3f", (double)ns / 1e6);
    sr_json_object_end(w);
}

int sr_embeddings_format(const struct sr_embeddings_request *request, const struct sr_embed *group,
                         const char *model, uint64_t ns, struct sr_buf *out)
{
    float *vectors = sr_mem_calloc(2 * sr_embed_dimensions(group), sizeof *vectors);
    if (!vectors)
        return SR_ENOMEM;
    struct sr_json_writer w = sr_json_writer_of(out);
    if (request->kind > SR_EMBEDDINGS_OPENAI)
        format_similarity(request, group, model, ns, vectors, &w);
    else if (request->openai)
        format_openai(request, group, model, vectors, &w);
    else
        format_embeddings(request, group, model, ns, vectors, &w);
    sr_mem_free(vectors);
    return w.rc;
}

const char *sr_embeddings_name(const struct sr_encoder *encoder)
{
    const char *folder = sr_encoder_info(encoder)->folder, *slash = strrchr(folder, '/');
    return slash && slash[1] ? slash + 1 : folder;
}

int sr_embeddings_models(const struct sr_encoder *encoder, struct sr_buf *out)
{
    static const char *const precisions[] = {"fp32", "bf16", "int8"};
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_array(&w, "models");
    if (encoder) {
        const struct sr_encoder_info *info = sr_encoder_info(encoder);
        int head = sr_encoder_find_head(encoder, "embedding");
        sr_json_object(&w, NULL);
        sr_json_text(&w, "name", sr_embeddings_name(encoder));
        sr_json_text(&w, "type", info->architecture);
        sr_json_bool(&w, "loaded", true);
        sr_json_uint(&w, "dimension", head < 0 ? 0 : info->heads[head].n_labels);
        sr_json_uint(&w, "layers", info->layers);
        sr_json_uint(&w, "max_tokens", info->max_tokens);
        sr_json_text(&w, "precision", precisions[info->precision]);
        sr_json_object_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}
