/*
 * The messages of OTLP around spans: the request that carries them, and what its answer says
 * (opentelemetry/proto/collector/trace/v1).
 *
 * Bytes only; sending is serve/otlp.
 */
#ifndef SR_TRACE_EXPORT_H
#define SR_TRACE_EXPORT_H

#include "base/buf.h"

#include <stdint.h>

/* What the spans are of. */
struct sr_export_attribute {
    const char *key, *value;
};

/* Appends the head of an ExportTraceServiceRequest whose spans are `n` bytes, which follow. SR_ENOMEM,
 * SR_ELIMIT. */
int sr_export_head(struct sr_buf *out, const struct sr_export_attribute *resource, size_t n_resource,
                   const char *scope, const char *version, size_t n) SR_WARN_UNUSED;

/* What a receiver says of a request that it took. */
struct sr_export_result {
    uint64_t rejected;       /* spans */
    struct sr_bytes message; /* for people, of a stranger; borrowed */
};

/* Reads an ExportTraceServiceResponse. SR_EPARSE. */
int sr_export_result_read(struct sr_export_result *out, struct sr_bytes bytes) SR_WARN_UNUSED;

#endif
