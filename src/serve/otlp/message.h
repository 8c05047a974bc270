/* The whole of a request of OTLP: what all of it is of, the resource, around what is sent. */
#ifndef SR_SERVE_OTLP_MESSAGE_H
#define SR_SERVE_OTLP_MESSAGE_H

#include "base/buf.h"
#include "config/config.h"

#define SR_OTLP_MESSAGE_MAX ((size_t)64 << 20)

/* Writes an ExportTraceServiceRequest of `spans` into the emptied `out`, or an ExportMetricsServiceRequest of
 * the field `metrics` of ScopeMetrics: their fields have the same numbers. SR_ENOMEM, SR_ELIMIT. */
int sr_otlp_message(const struct sr_config_tracing *tracing, struct sr_bytes content,
                    struct sr_buf *out) SR_WARN_UNUSED;

#endif
