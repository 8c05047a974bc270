/* A span's own length is known at its end: its bytes move to make room for it. */
#include "trace/span.h"

#include "base/utf8.h"
#include "trace/wire.h"

/* Numbers of opentelemetry/proto/trace/v1/trace.proto and common/v1/common.proto. */
enum {
    SCOPE_SPANS = 2,
    SPAN_TRACE_ID = 1,
    SPAN_ID = 2,
    SPAN_STATE = 3,
    SPAN_PARENT = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRIBUTES = 9,
    SPAN_EVENTS = 11,
    SPAN_LINKS = 13,
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
    LINK_TRACE_ID = 1,
    LINK_SPAN_ID = 2,
    LINK_FLAGS = 6,
    EVENT_TIME = 1,
    EVENT_NAME = 2,
    STATUS_MESSAGE = 2,
    STATUS_CODE = 3,
    KEY = 1,
    VALUE = 2,
    VALUE_TEXT = 1,
    VALUE_BOOL = 2,
    VALUE_INT = 3,
    VALUE_REAL = 4,
    VALUE_ARRAY = 5,
    ARRAY_VALUES = 1,
};

/* Of `flags`: whether the parent is of another process is known, and is so. */
#define FLAG_KNOWS_REMOTE 0x100u
#define FLAG_REMOTE       0x200u

struct sr_trace_writer sr_trace_writer_of(struct sr_buf *out)
{
    return (struct sr_trace_writer){.out = out};
}

/* ---- fields, as long as nothing has failed ---- */

static void put_bytes(struct sr_trace_writer *w, unsigned field, struct sr_bytes value)
{
    if (!w->rc)
        w->rc = sr_wire_bytes(w->out, field, value);
}

static void put_varint(struct sr_trace_writer *w, unsigned field, uint64_t value)
{
    if (!w->rc)
        w->rc = sr_wire_varint(w->out, field, value);
}

static void put_fixed64(struct sr_trace_writer *w, unsigned field, uint64_t value)
{
    if (!w->rc)
        w->rc = sr_wire_fixed64(w->out, field, value);
}

static void put_head(struct sr_trace_writer *w, unsigned field, size_t n)
{
    if (!w->rc)
        w->rc = sr_wire_head(w->out, field, n);
}

/* Makes room for an attribute whose AnyValue has `n` bytes and writes what is before them: a request has more
 * than a hundred attributes, so this is one step. Returns where they go, or NULL. */
static uint8_t *put_key(struct sr_trace_writer *w, const char *key, size_t n)
{
    size_t name = strlen(key), inner = sr_wire_bytes_size(KEY, name) + sr_wire_bytes_size(VALUE, n);
    if (!w->rc)
        w->rc = sr_buf_reserve(w->out, sr_wire_bytes_size(SPAN_ATTRIBUTES, inner));
    if (w->rc)
        return NULL;
    uint8_t *at = (uint8_t *)w->out->data + w->out->len;
    at += sr_wire_put_head(at, SPAN_ATTRIBUTES, inner);
    at += sr_wire_put_head(at, KEY, name);
    memcpy(at, key, name);
    at += name;
    at += sr_wire_put_head(at, VALUE, n);
    w->out->len = (size_t)(at - (uint8_t *)w->out->data) + n;
    return at;
}

/* ---- spans ---- */

static void put_status(struct sr_trace_writer *w, const struct sr_trace_span *span)
{
    struct sr_bytes message = sr_bytes_str(span->message);
    size_t n = 1 + sr_wire_varint_size(span->status);
    if (span->status == SR_TRACE_UNSET)
        return;
    put_head(w, SPAN_STATUS, n + (message.n ? sr_wire_bytes_size(STATUS_MESSAGE, message.n) : 0));
    if (message.n)
        put_bytes(w, STATUS_MESSAGE, message);
    put_varint(w, STATUS_CODE, span->status);
}

void sr_trace_begin(struct sr_trace_writer *w, const struct sr_trace_span *span)
{
    const struct sr_trace_context *trace = span->trace;
    uint32_t flags = trace->flags | FLAG_KNOWS_REMOTE | (span->remote_parent ? FLAG_REMOTE : 0);
    w->begun = w->out->len;
    put_bytes(w, SPAN_TRACE_ID, sr_bytes_of(trace->trace, SR_TRACE_ID_SIZE));
    put_bytes(w, SPAN_ID, sr_bytes_of(trace->span, SR_SPAN_ID_SIZE));
    if (span->state.n)
        put_bytes(w, SPAN_STATE, span->state);
    if (span->parent)
        put_bytes(w, SPAN_PARENT, sr_bytes_of(span->parent, SR_SPAN_ID_SIZE));
    put_bytes(w, SPAN_NAME, sr_bytes_str(span->name));
    put_varint(w, SPAN_KIND, span->kind);
    put_fixed64(w, SPAN_START, span->start_ns);
    put_fixed64(w, SPAN_END, span->end_ns);
    put_status(w, span);
    if (!w->rc)
        w->rc = sr_wire_fixed32(w->out, SPAN_FLAGS, flags);
}

void sr_trace_bytes(struct sr_trace_writer *w, const char *key, struct sr_bytes value)
{
    if (value.n > SR_TRACE_TEXT_MAX)
        value.n = SR_TRACE_TEXT_MAX;
    bool valid;
    while (!(valid = sr_utf8_valid(value)) && value.n && (value.p[value.n - 1] & 0x80))
        value.n--; /* no character is cut */
    if (!value.n || !valid)
        return;
    uint8_t *at = put_key(w, key, sr_wire_bytes_size(VALUE_TEXT, value.n));
    if (at)
        memcpy(at + sr_wire_put_head(at, VALUE_TEXT, value.n), value.p, value.n);
}

void sr_trace_text(struct sr_trace_writer *w, const char *key, const char *value)
{
    sr_trace_bytes(w, key, sr_bytes_str(value));
}

void sr_trace_texts(struct sr_trace_writer *w, const char *key, const char *const *values, size_t n)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += sr_wire_bytes_size(ARRAY_VALUES, sr_wire_bytes_size(VALUE_TEXT, strlen(values[i])));
    uint8_t *at = n ? put_key(w, key, sr_wire_bytes_size(VALUE_ARRAY, all)) : NULL;
    if (!at)
        return;
    at += sr_wire_put_head(at, VALUE_ARRAY, all);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(values[i]);
        at += sr_wire_put_head(at, ARRAY_VALUES, sr_wire_bytes_size(VALUE_TEXT, length));
        at += sr_wire_put_head(at, VALUE_TEXT, length);
        memcpy(at, values[i], length);
        at += length;
    }
}

void sr_trace_int(struct sr_trace_writer *w, const char *key, int64_t value)
{
    uint8_t *at = put_key(w, key, 1 + sr_wire_varint_size((uint64_t)value));
    if (!at)
        return;
    *at++ = VALUE_INT << 3 | SR_WIRE_VARINT;
    sr_wire_put_varint(at, (uint64_t)value);
}

void sr_trace_real(struct sr_trace_writer *w, const char *key, double value)
{
    uint64_t bits;
    uint8_t *at = put_key(w, key, 1 + sizeof bits);
    memcpy(&bits, &value, sizeof bits);
    if (!at)
        return;
    *at++ = VALUE_REAL << 3 | SR_WIRE_FIXED64;
    for (size_t i = 0; i < sizeof bits; i++)
        *at++ = (uint8_t)(bits >> 8 * i);
}

void sr_trace_bool(struct sr_trace_writer *w, const char *key, bool value)
{
    uint8_t *at = put_key(w, key, 2);
    if (!at)
        return;
    at[0] = VALUE_BOOL << 3 | SR_WIRE_VARINT;
    at[1] = value;
}

void sr_trace_event(struct sr_trace_writer *w, uint64_t at_ns, const char *name)
{
    put_head(w, SPAN_EVENTS, 1 + sizeof at_ns + sr_wire_bytes_size(EVENT_NAME, strlen(name)));
    put_fixed64(w, EVENT_TIME, at_ns);
    put_bytes(w, EVENT_NAME, sr_bytes_str(name));
}

void sr_trace_link(struct sr_trace_writer *w, const uint8_t trace[SR_TRACE_ID_SIZE],
                   const uint8_t span[SR_SPAN_ID_SIZE])
{
    uint32_t flags = SR_TRACE_SAMPLED;
    put_head(w, SPAN_LINKS,
             sr_wire_bytes_size(LINK_TRACE_ID, SR_TRACE_ID_SIZE) +
                 sr_wire_bytes_size(LINK_SPAN_ID, SR_SPAN_ID_SIZE) + 1 + sizeof flags);
    put_bytes(w, LINK_TRACE_ID, sr_bytes_of(trace, SR_TRACE_ID_SIZE));
    put_bytes(w, LINK_SPAN_ID, sr_bytes_of(span, SR_SPAN_ID_SIZE));
    if (!w->rc)
        w->rc = sr_wire_fixed32(w->out, LINK_FLAGS, flags);
}

void sr_trace_end(struct sr_trace_writer *w)
{
    uint8_t head[2 * SR_WIRE_VARINT_MAX];
    size_t n = w->out->len - w->begun, more = sr_wire_put_head(head, SCOPE_SPANS, n);
    if (!w->rc)
        w->rc = sr_buf_reserve(w->out, more);
    if (w->rc)
        return;
    char *at = w->out->data + w->begun;
    memmove(at + more, at, n);
    memcpy(at, head, more);
    w->out->len += more;
    w->n++;
}
