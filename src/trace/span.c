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
    SPAN_STATUS = 15,
    SPAN_FLAGS = 16,
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

/* The key of an attribute whose AnyValue has `n` bytes, and the head of that value. */
static void put_key(struct sr_trace_writer *w, const char *key, size_t n)
{
    struct sr_bytes name = sr_bytes_str(key);
    put_head(w, SPAN_ATTRIBUTES, sr_wire_bytes_size(KEY, name.n) + sr_wire_bytes_size(VALUE, n));
    put_bytes(w, KEY, name);
    put_head(w, VALUE, n);
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
    while (value.n && !sr_utf8_valid(value) && (value.p[value.n - 1] & 0x80)) /* no character is cut */
        value.n--;
    if (!value.n || !sr_utf8_valid(value))
        return;
    put_key(w, key, sr_wire_bytes_size(VALUE_TEXT, value.n));
    put_bytes(w, VALUE_TEXT, value);
}

void sr_trace_text(struct sr_trace_writer *w, const char *key, const char *value)
{
    sr_trace_bytes(w, key, sr_bytes_str(value));
}

void sr_trace_int(struct sr_trace_writer *w, const char *key, int64_t value)
{
    put_key(w, key, 1 + sr_wire_varint_size((uint64_t)value));
    put_varint(w, VALUE_INT, (uint64_t)value);
}

void sr_trace_real(struct sr_trace_writer *w, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(w, key, 1 + sizeof bits);
    put_fixed64(w, VALUE_REAL, bits);
}

void sr_trace_bool(struct sr_trace_writer *w, const char *key, bool value)
{
    put_key(w, key, 2);
    put_varint(w, VALUE_BOOL, value);
}

void sr_trace_event(struct sr_trace_writer *w, uint64_t at_ns, const char *name)
{
    put_head(w, SPAN_EVENTS, 1 + sizeof at_ns + sr_wire_bytes_size(EVENT_NAME, strlen(name)));
    put_fixed64(w, EVENT_TIME, at_ns);
    put_bytes(w, EVENT_NAME, sr_bytes_str(name));
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
