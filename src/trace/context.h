/*
 * Trace context of W3C (www.w3.org/TR/trace-context): where a request stands in a trace, as the headers
 * `traceparent` and `tracestate` say it.
 *
 * Bytes in, bytes out; decides nothing about sampling (sampler.h).
 */
#ifndef SR_TRACE_CONTEXT_H
#define SR_TRACE_CONTEXT_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_TRACE_ID_SIZE 16
#define SR_SPAN_ID_SIZE  8

#define SR_TRACE_PARENT_SIZE 56  /* a traceparent and its NUL */
#define SR_TRACE_STATE_MAX   512 /* bytes of a tracestate that is kept (section 3.3.1.5) */

#define SR_TRACE_SAMPLED 1u /* of `flags` */

/* A span and its trace. */
struct sr_trace_context {
    uint8_t trace[SR_TRACE_ID_SIZE];
    uint8_t span[SR_SPAN_ID_SIZE];
    uint8_t flags;
};

/* Reads a traceparent: version 00, or what later versions must begin with. Upper case, ids of zeros only and
 * version ff are refused. SR_EPARSE: `out` is zero. */
int sr_trace_parent_read(struct sr_trace_context *out, struct sr_bytes value) SR_WARN_UNUSED;

/* Writes version 00; of the flags only SR_TRACE_SAMPLED. */
void sr_trace_parent_write(const struct sr_trace_context *context, char out[SR_TRACE_PARENT_SIZE]);

/* True for a tracestate that may be kept: printable ASCII, 1 to SR_TRACE_STATE_MAX bytes, at most 32 members,
 * each `key=value`. */
bool sr_trace_state_is_usable(struct sr_bytes value);

#endif
