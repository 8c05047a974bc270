/*
 * Spans of ended requests, and metrics, on their way to a collector: a bounded queue, batches, retries with
 * pauses, on a thread and a loop of its own.
 *
 * No request waits for it: what has no room in the queue is dropped and counted
 * (semroute_trace_spans_total). The thread begins with the first configuration that needs it.
 */
#ifndef SR_SERVE_OTLP_EXPORTER_H
#define SR_SERVE_OTLP_EXPORTER_H

#include "router/runtime.h"

struct sr_otlp;

/* Takes the spans of the runtime from now on (sr_runtime_set_spans). SR_ENOMEM, SR_EIO: no thread. */
int sr_otlp_start(struct sr_otlp **out, sr_runtime *runtime, const struct sr_config *config) SR_WARN_UNUSED;

/* The collector is that of `config` from now on. Reads certificates: not on a loop. One thread at a time. */
void sr_otlp_configure(struct sr_otlp *otlp, const struct sr_config *config);

/* Once no exchange lives: sends what waits for a moment, and ends the thread. NULL is allowed. */
void sr_otlp_stop(struct sr_otlp *otlp);

#endif
