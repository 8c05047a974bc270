/*
 * The only file that uses jansson.
 *
 * jansson keeps its own malloc: its allocation functions are process-wide, and a host that links semroute as
 * a library may use jansson too.
 */
#include "json/doc.h"

#include "base/mem.h"

#include <jansson.h>

struct sr_doc {
    json_t *root;
};

static const json_t *tree(const sr_doc_value *value)
{
    return (const json_t *)value;
}

static const sr_doc_value *wrap(const json_t *json)
{
    return (const sr_doc_value *)json;
}

/* jansson's message without the part that quotes the input. */
static int parse_error(const json_error_t *from, struct sr_err *err)
{
    const char *near_text = strstr(from->text, " near '");
    int n = near_text ? (int)(near_text - from->text) : (int)strlen(from->text);
    sr_err_set_at(err, SR_EPARSE, from->position > 0 ? (size_t)from->position : 0, "%.*s", n, from->text);
    if (err) {
        err->line = from->line > 0 ? (uint32_t)from->line : 0;
        err->column = from->column > 0 ? (uint32_t)from->column : 0;
    }
    return SR_EPARSE;
}

int sr_doc_parse(struct sr_doc **out, struct sr_bytes text, size_t max_bytes, struct sr_err *err)
{
    *out = NULL;
    if (text.n > max_bytes)
        return sr_err_set(err, SR_ELIMIT, "the document is larger than %zu bytes", max_bytes);
    struct sr_doc *doc = sr_mem_alloc(sizeof *doc);
    if (!doc)
        return sr_err_set(err, SR_ENOMEM, "%s", sr_strerror(SR_ENOMEM));
    json_error_t error;
    doc->root = json_loadb(text.n ? text.p : "", text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!doc->root) {
        sr_mem_free(doc);
        if (json_error_code(&error) == json_error_out_of_memory)
            return sr_err_set(err, SR_ENOMEM, "%s", sr_strerror(SR_ENOMEM));
        return parse_error(&error, err);
    }
    *out = doc;
    return SR_OK;
}

void sr_doc_free(struct sr_doc *doc)
{
    if (!doc)
        return;
    json_decref(doc->root);
    sr_mem_free(doc);
}

const sr_doc_value *sr_doc_root(const struct sr_doc *doc)
{
    return wrap(doc->root);
}

int sr_doc_kind(const sr_doc_value *value)
{
    if (!value)
        return -1;
    switch (json_typeof(tree(value))) {
    case JSON_OBJECT:
        return SR_JSON_OBJECT;
    case JSON_ARRAY:
        return SR_JSON_ARRAY;
    case JSON_STRING:
        return SR_JSON_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return SR_JSON_NUMBER;
    case JSON_TRUE:
        return SR_JSON_TRUE;
    case JSON_FALSE:
        return SR_JSON_FALSE;
    default:
        return SR_JSON_NULL;
    }
}

const sr_doc_value *sr_doc_get(const sr_doc_value *value, const char *name)
{
    return wrap(json_object_get(tree(value), name));
}

size_t sr_doc_size(const sr_doc_value *value)
{
    return json_is_array(tree(value)) ? json_array_size(tree(value)) : json_object_size(tree(value));
}

const sr_doc_value *sr_doc_at(const sr_doc_value *array, size_t i)
{
    return wrap(json_array_get(tree(array), i));
}

struct sr_bytes sr_doc_string(const sr_doc_value *value)
{
    return sr_bytes_of(json_string_value(tree(value)), json_string_length(tree(value)));
}

bool sr_doc_int(const sr_doc_value *value, int64_t *out)
{
    if (!json_is_integer(tree(value)))
        return false;
    *out = json_integer_value(tree(value));
    return true;
}

bool sr_doc_number(const sr_doc_value *value, double *out)
{
    if (!json_is_number(tree(value)))
        return false;
    *out = json_number_value(tree(value));
    return true;
}

bool sr_doc_is_true(const sr_doc_value *value)
{
    return json_is_true(tree(value));
}

struct dump {
    struct sr_buf *out;
    int rc;
};

static int dump_part(const char *p, size_t n, void *ctx)
{
    struct dump *dump = ctx;
    dump->rc = sr_buf_append(dump->out, p, n);
    return dump->rc ? -1 : 0;
}

int sr_doc_dump(const sr_doc_value *value, struct sr_buf *out)
{
    struct dump dump = {.out = out};
    if (!value)
        return SR_EINVAL;
    if (json_dump_callback(tree(value), dump_part, &dump, JSON_ENCODE_ANY | JSON_COMPACT))
        return dump.rc ? dump.rc : SR_ENOMEM;
    return SR_OK;
}
