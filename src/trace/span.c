/*
 * A span's own length is known at its end: room is left for a length of two bytes, which nearly every span
 * has; the bytes of others move. A request has some sixty attributes, so a short one is written without
 * loops.
 */
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

/* ---- bytes: room is made for a whole span's head or attribute at once ---- */

#define TAG_BYTES    ((size_t)1) /* of fields under 16 */
#define HEAD_BYTES   (TAG_BYTES + SR_WIRE_VARINT_MAX)
#define LENGTH_BYTES ((size_t)2) /* of nearly every span: 128 to 16,383 bytes */

/* At least `n` bytes behind what is written; NULL: there was an error. */
static uint8_t *room(struct sr_trace_writer *w, size_t n)
{
    struct sr_buf *out = w->out;
    if (!w->rc && (!out->data || n > out->cap - out->len))
        w->rc = sr_buf_reserve(out, n);
    return w->rc ? NULL : (uint8_t *)out->data + out->len;
}

static void wrote(struct sr_trace_writer *w, const uint8_t *end)
{
    w->out->len = (size_t)(end - (const uint8_t *)w->out->data);
}

static uint8_t *put_number(uint8_t *at, uint64_t value)
{
    if (value > 0x7f)
        return at + sr_wire_put_varint(at, value);
    *at = (uint8_t)value;
    return at + 1;
}

static size_t number_size(uint64_t value)
{
    return value > 0x7f ? sr_wire_varint_size(value) : 1;
}

/* Of a field under 16. */
static uint8_t *put_tag(uint8_t *at, unsigned field, enum sr_wire_type type)
{
    *at = (uint8_t)(field << 3 | (unsigned)type);
    return at + TAG_BYTES;
}

static uint8_t *put_head(uint8_t *at, unsigned field, size_t n)
{
    return put_number(put_tag(at, field, SR_WIRE_BYTES), n);
}

static uint8_t *put_bytes(uint8_t *at, unsigned field, struct sr_bytes value)
{
    at = put_head(at, field, value.n);
    if (value.n)
        memcpy(at, value.p, value.n);
    return at + value.n;
}

static uint8_t *put_fixed64(uint8_t *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + 8;
}

static uint8_t *put_fixed32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
    return at + 4;
}

static size_t bytes_size(size_t n)
{
    return TAG_BYTES + number_size(n) + n;
}

/* Writes what is before an attribute's AnyValue, for which there is room: `n` bytes. NULL: there was an
 * error. */
static uint8_t *put_key(struct sr_trace_writer *w, struct sr_bytes key, size_t n)
{
    size_t inner = bytes_size(key.n) + bytes_size(n);
    uint8_t *at = room(w, HEAD_BYTES + inner);
    if (!at)
        return NULL;
    at = put_head(at, SPAN_ATTRIBUTES, inner);
    at = put_bytes(at, KEY, key);
    return put_head(at, VALUE, n);
}

/* ---- spans ---- */

static struct sr_bytes message_of(const struct sr_trace_span *span)
{
    return span->status == SR_TRACE_UNSET ? SR_LIT("") : sr_bytes_str(span->message);
}

static uint8_t *put_status(uint8_t *at, const struct sr_trace_span *span)
{
    struct sr_bytes message = message_of(span);
    if (span->status == SR_TRACE_UNSET)
        return at;
    at = put_head(at, SPAN_STATUS, 2 + (message.n ? bytes_size(message.n) : 0));
    if (message.n)
        at = put_bytes(at, STATUS_MESSAGE, message);
    return put_number(put_tag(at, STATUS_CODE, SR_WIRE_VARINT), span->status);
}

void sr_trace_begin(struct sr_trace_writer *w, const struct sr_trace_span *span)
{
    static const size_t fixed = HEAD_BYTES * 8 + SR_TRACE_ID_SIZE + 2 * SR_SPAN_ID_SIZE + 32;
    const struct sr_trace_context *trace = span->trace;
    struct sr_bytes name = sr_bytes_str(span->name);
    uint32_t flags = trace->flags | FLAG_KNOWS_REMOTE | (span->remote_parent ? FLAG_REMOTE : 0);
    uint8_t *at = room(w, fixed + span->state.n + name.n + message_of(span).n);
    w->begun = w->out->len;
    if (!at)
        return;
    at += TAG_BYTES + LENGTH_BYTES;
    at = put_bytes(at, SPAN_TRACE_ID, sr_bytes_of(trace->trace, SR_TRACE_ID_SIZE));
    at = put_bytes(at, SPAN_ID, sr_bytes_of(trace->span, SR_SPAN_ID_SIZE));
    if (span->state.n)
        at = put_bytes(at, SPAN_STATE, span->state);
    if (span->parent)
        at = put_bytes(at, SPAN_PARENT, sr_bytes_of(span->parent, SR_SPAN_ID_SIZE));
    at = put_bytes(at, SPAN_NAME, name);
    at = put_number(put_tag(at, SPAN_KIND, SR_WIRE_VARINT), span->kind);
    at = put_fixed64(put_tag(at, SPAN_START, SR_WIRE_FIXED64), span->start_ns);
    at = put_fixed64(put_tag(at, SPAN_END, SR_WIRE_FIXED64), span->end_ns);
    at = put_status(at, span);
    at = put_number(at, SPAN_FLAGS << 3 | SR_WIRE_FIXED32);
    wrote(w, put_fixed32(at, flags));
}

/* What of it can be sent: as much as is allowed, and no part of a character. */
static struct sr_bytes text_of(struct sr_bytes value)
{
    if (value.n > SR_TRACE_TEXT_MAX)
        value.n = SR_TRACE_TEXT_MAX;
    bool valid;
    while (!(valid = sr_utf8_valid(value)) && value.n && (value.p[value.n - 1] & 0x80))
        value.n--;
    return valid ? value : SR_LIT("");
}

void sr_trace_put_text(struct sr_trace_writer *w, struct sr_bytes key, struct sr_bytes value)
{
    value = text_of(value);
    uint8_t *at = value.n ? put_key(w, key, bytes_size(value.n)) : NULL;
    if (at)
        wrote(w, put_bytes(at, VALUE_TEXT, value));
}

void sr_trace_texts(struct sr_trace_writer *w, const char *key, const char *const *values, size_t n)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all += bytes_size(bytes_size(strlen(values[i])));
    uint8_t *at = n ? put_key(w, sr_bytes_str(key), bytes_size(all)) : NULL;
    if (!at)
        return;
    at = put_head(at, VALUE_ARRAY, all);
    for (size_t i = 0; i < n; i++) {
        at = put_head(at, ARRAY_VALUES, bytes_size(strlen(values[i])));
        at = put_bytes(at, VALUE_TEXT, sr_bytes_str(values[i]));
    }
    wrote(w, at);
}

void sr_trace_put_int(struct sr_trace_writer *w, struct sr_bytes key, int64_t value)
{
    uint8_t *at = put_key(w, key, TAG_BYTES + number_size((uint64_t)value));
    if (at)
        wrote(w, put_number(put_tag(at, VALUE_INT, SR_WIRE_VARINT), (uint64_t)value));
}

void sr_trace_put_real(struct sr_trace_writer *w, struct sr_bytes key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint8_t *at = put_key(w, key, TAG_BYTES + sizeof bits);
    if (at)
        wrote(w, put_fixed64(put_tag(at, VALUE_REAL, SR_WIRE_FIXED64), bits));
}

void sr_trace_put_bool(struct sr_trace_writer *w, struct sr_bytes key, bool value)
{
    uint8_t *at = put_key(w, key, TAG_BYTES + 1);
    if (at)
        wrote(w, put_number(put_tag(at, VALUE_BOOL, SR_WIRE_VARINT), value));
}

void sr_trace_event(struct sr_trace_writer *w, uint64_t at_ns, const char *name)
{
    struct sr_bytes text = sr_bytes_str(name);
    size_t n = TAG_BYTES + sizeof at_ns + bytes_size(text.n);
    uint8_t *at = room(w, HEAD_BYTES + n);
    if (!at)
        return;
    at = put_head(at, SPAN_EVENTS, n);
    at = put_fixed64(put_tag(at, EVENT_TIME, SR_WIRE_FIXED64), at_ns);
    wrote(w, put_bytes(at, EVENT_NAME, text));
}

void sr_trace_link(struct sr_trace_writer *w, const uint8_t trace[SR_TRACE_ID_SIZE],
                   const uint8_t span[SR_SPAN_ID_SIZE])
{
    uint32_t flags = SR_TRACE_SAMPLED;
    size_t n = bytes_size(SR_TRACE_ID_SIZE) + bytes_size(SR_SPAN_ID_SIZE) + TAG_BYTES + sizeof flags;
    uint8_t *at = room(w, HEAD_BYTES + n);
    if (!at)
        return;
    at = put_head(at, SPAN_LINKS, n);
    at = put_bytes(at, LINK_TRACE_ID, sr_bytes_of(trace, SR_TRACE_ID_SIZE));
    at = put_bytes(at, LINK_SPAN_ID, sr_bytes_of(span, SR_SPAN_ID_SIZE));
    wrote(w, put_fixed32(put_tag(at, LINK_FLAGS, SR_WIRE_FIXED32), flags));
}

void sr_trace_end(struct sr_trace_writer *w)
{
    static const size_t left = TAG_BYTES + LENGTH_BYTES; /* free before the span */
    if (!room(w, HEAD_BYTES))
        return;
    uint8_t *at = (uint8_t *)w->out->data + w->begun;
    size_t n = w->out->len - w->begun - left, head = TAG_BYTES + number_size(n);
    if (head != left)
        memmove(at + head, at + left, n);
    put_head(at, SCOPE_SPANS, n);
    wrote(w, at + head + n);
    w->n++;
}
