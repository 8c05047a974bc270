/* One ResourceSpans with one ScopeSpans. */
#include "trace/export.h"

#include "trace/wire.h"

enum {
    REQUEST_RESOURCE_SPANS = 1,
    RESOURCE_SPANS_RESOURCE = 1,
    RESOURCE_SPANS_SCOPE_SPANS = 2,
    RESOURCE_ATTRIBUTES = 1,
    SCOPE_SPANS_SCOPE = 1,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2,
    KEY = 1,
    VALUE = 2,
    VALUE_TEXT = 1,
    RESPONSE_PARTIAL = 1,
    PARTIAL_REJECTED = 1,
    PARTIAL_MESSAGE = 2,
};

static size_t value_size(const struct sr_export_attribute *attribute)
{
    return sr_wire_bytes_size(VALUE_TEXT, strlen(attribute->value));
}

static size_t attribute_size(const struct sr_export_attribute *attribute)
{
    return sr_wire_bytes_size(KEY, strlen(attribute->key)) + sr_wire_bytes_size(VALUE, value_size(attribute));
}

static int put_attribute(struct sr_buf *out, const struct sr_export_attribute *attribute)
{
    int rc = sr_wire_head(out, RESOURCE_ATTRIBUTES, attribute_size(attribute));
    if (!rc)
        rc = sr_wire_bytes(out, KEY, sr_bytes_str(attribute->key));
    if (!rc)
        rc = sr_wire_head(out, VALUE, value_size(attribute));
    return rc ? rc : sr_wire_bytes(out, VALUE_TEXT, sr_bytes_str(attribute->value));
}

int sr_export_head(struct sr_buf *out, const struct sr_export_attribute *resource, size_t n_resource,
                   const char *scope, const char *version, size_t n)
{
    size_t own = 0;
    size_t scope_n =
        sr_wire_bytes_size(SCOPE_NAME, strlen(scope)) + sr_wire_bytes_size(SCOPE_VERSION, strlen(version));
    size_t spans_n = sr_wire_bytes_size(SCOPE_SPANS_SCOPE, scope_n) + n;
    for (size_t i = 0; i < n_resource; i++)
        own += sr_wire_bytes_size(RESOURCE_ATTRIBUTES, attribute_size(&resource[i]));
    int rc = sr_wire_head(out, REQUEST_RESOURCE_SPANS,
                          sr_wire_bytes_size(RESOURCE_SPANS_RESOURCE, own) +
                              sr_wire_bytes_size(RESOURCE_SPANS_SCOPE_SPANS, spans_n));
    if (!rc)
        rc = sr_wire_head(out, RESOURCE_SPANS_RESOURCE, own);
    for (size_t i = 0; i < n_resource && !rc; i++)
        rc = put_attribute(out, &resource[i]);
    if (!rc)
        rc = sr_wire_head(out, RESOURCE_SPANS_SCOPE_SPANS, spans_n);
    if (!rc)
        rc = sr_wire_head(out, SCOPE_SPANS_SCOPE, scope_n);
    if (!rc)
        rc = sr_wire_bytes(out, SCOPE_NAME, sr_bytes_str(scope));
    return rc ? rc : sr_wire_bytes(out, SCOPE_VERSION, sr_bytes_str(version));
}

static int read_partial(struct sr_export_result *out, struct sr_bytes bytes)
{
    struct sr_wire_field field;
    int rc;
    while ((rc = sr_wire_next(&bytes, &field)) == SR_OK)
        if (field.number == PARTIAL_REJECTED && field.type == SR_WIRE_VARINT)
            out->rejected = field.value > INT64_MAX ? 0 : field.value;
        else if (field.number == PARTIAL_MESSAGE && field.type == SR_WIRE_BYTES)
            out->message = field.bytes;
    return rc == SR_ENOENT ? SR_OK : rc;
}

int sr_export_result_read(struct sr_export_result *out, struct sr_bytes bytes)
{
    struct sr_wire_field field;
    int rc;
    *out = (struct sr_export_result){0};
    while ((rc = sr_wire_next(&bytes, &field)) == SR_OK) {
        if (field.number != RESPONSE_PARTIAL || field.type != SR_WIRE_BYTES)
            continue;
        rc = read_partial(out, field.bytes);
        if (rc)
            return rc;
    }
    return rc == SR_ENOENT ? SR_OK : rc;
}
