/*
 * Spans in the bytes of OpenTelemetry's protocol: the writer of `spans` of opentelemetry.proto.trace.v1, one
 * after the other, as a ScopeSpans holds them.
 *
 * Writes the wire format of protobuf itself: a span is written once, with no tree of objects before it. What
 * is around the spans is export.h's.
 */
#ifndef SR_TRACE_SPAN_H
#define SR_TRACE_SPAN_H

#include "base/buf.h"
#include "trace/context.h"

/* Bytes of a text attribute; a longer one is cut. */
#define SR_TRACE_TEXT_MAX 512

enum sr_trace_kind { SR_TRACE_INTERNAL = 1, SR_TRACE_SERVER = 2, SR_TRACE_CLIENT = 3 };
enum sr_trace_status { SR_TRACE_UNSET = 0, SR_TRACE_FINE = 1, SR_TRACE_ERROR = 2 };

struct sr_trace_span {
    const struct sr_trace_context *trace; /* of the span: its own id is in it */
    const uint8_t *parent;                /* [SR_SPAN_ID_SIZE]; NULL: it has none */
    bool remote_parent;
    struct sr_bytes state; /* tracestate; empty: none */
    const char *name;
    enum sr_trace_kind kind;
    uint64_t start_ns, end_ns; /* since 1970 */
    enum sr_trace_status status;
    const char *message; /* of SR_TRACE_ERROR; NULL: none */
};

/* Appends to `out`; `rc` keeps the first error, after which nothing is written. One span at a time. */
struct sr_trace_writer {
    struct sr_buf *out;
    int rc;
    size_t n;     /* spans that are complete */
    size_t begun; /* where the open span's bytes begin */
};

struct sr_trace_writer sr_trace_writer_of(struct sr_buf *out);

void sr_trace_begin(struct sr_trace_writer *w, const struct sr_trace_span *span);
/* Between begin and end; keys are ASCII. Texts that are empty or no UTF-8 are left out. */
void sr_trace_put_text(struct sr_trace_writer *w, struct sr_bytes key, struct sr_bytes value);
void sr_trace_put_int(struct sr_trace_writer *w, struct sr_bytes key, int64_t value);
void sr_trace_put_real(struct sr_trace_writer *w, struct sr_bytes key, double value);
void sr_trace_put_bool(struct sr_trace_writer *w, struct sr_bytes key, bool value);
/* Several constants, in UTF-8; none are left out. */
void sr_trace_texts(struct sr_trace_writer *w, const char *key, const char *const *values, size_t n);
void sr_trace_event(struct sr_trace_writer *w, uint64_t at_ns, const char *name);
/* Another span, of this trace or another one, that this one worked for; its trace is kept. */
void sr_trace_link(struct sr_trace_writer *w, const uint8_t trace[SR_TRACE_ID_SIZE],
                   const uint8_t span[SR_SPAN_ID_SIZE]);
void sr_trace_end(struct sr_trace_writer *w);

/* The same for constant keys: they are measured when this is compiled. NULL is an empty text. */
static inline void sr_trace_text(struct sr_trace_writer *w, const char *key, const char *value)
{
    if (value && value[0])
        sr_trace_put_text(w, sr_bytes_str(key), sr_bytes_str(value));
}

static inline void sr_trace_bytes(struct sr_trace_writer *w, const char *key, struct sr_bytes value)
{
    sr_trace_put_text(w, sr_bytes_str(key), value);
}

static inline void sr_trace_int(struct sr_trace_writer *w, const char *key, int64_t value)
{
    sr_trace_put_int(w, sr_bytes_str(key), value);
}

static inline void sr_trace_real(struct sr_trace_writer *w, const char *key, double value)
{
    sr_trace_put_real(w, sr_bytes_str(key), value);
}

static inline void sr_trace_bool(struct sr_trace_writer *w, const char *key, bool value)
{
    sr_trace_put_bool(w, sr_bytes_str(key), value);
}

#endif
