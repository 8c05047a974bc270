/* The span of one pass of the encoder that served several requests: a trace of its own that links theirs. */
#ifndef SR_ROUTER_REPORT_BATCH_SPAN_H
#define SR_ROUTER_REPORT_BATCH_SPAN_H

#include "base/buf.h"
#include "infer/engine/engine.h"

/* Bytes of the span at most. */
#define SR_BATCH_SPAN_MAX ((size_t)16 << 10)

/* True if a trace of one of its requests is kept. */
bool sr_batch_is_kept(const struct sr_infer_batch *batch);

/* Appends it; `trace` and `span` are its ids, `offset` is added to its times to get those since 1970.
 * SR_ENOMEM, SR_ELIMIT. */
int sr_batch_span(const struct sr_infer_batch *batch, const uint8_t trace[16], const uint8_t span[16],
                  uint64_t offset, struct sr_buf *out) SR_WARN_UNUSED;

#endif
