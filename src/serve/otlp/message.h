/* The whole of a request of OTLP: what all of it is of, the resource, around what is sent. */
#ifndef SR_SERVE_OTLP_MESSAGE_H
#define SR_SERVE_OTLP_MESSAGE_H

#include "base/buf.h"
#include "config/config.h"

#define SR_OTLP_MESSAGE_MAX ((size_t)64 << 20)
/* Bytes that are usually enough for what is before the content. */
#define SR_OTLP_ROOM ((size_t)2 << 10)

/* What is sent, as it grows: behind `room` bytes that are left free. */
struct sr_otlp_content {
    struct sr_buf bytes;
    size_t room;
};

void sr_otlp_content_init(struct sr_otlp_content *content);
void sr_otlp_content_dispose(struct sr_otlp_content *content);
/* Empties it and leaves the room. SR_ENOMEM. */
int sr_otlp_content_clear(struct sr_otlp_content *content) SR_WARN_UNUSED;
size_t sr_otlp_content_size(const struct sr_otlp_content *content);

/* Makes an ExportTraceServiceRequest of spans, or an ExportMetricsServiceRequest of the field `metrics` of
 * ScopeMetrics: their fields have the same numbers. What is before the content is written into its room;
 * the content moves only where that is too small. `out` is valid until the content changes. Can be called
 * again. SR_ENOMEM, SR_ELIMIT. */
int sr_otlp_message(const struct sr_config_tracing *tracing, struct sr_otlp_content *content,
                    struct sr_bytes *out) SR_WARN_UNUSED;

#endif
