/*
 * One gRPC call of Envoy: converts bytes to messages and replies to bytes, and has its timer and flow
 * control.
 *
 * Connects net/grpc/grpc.h and core.h; it knows neither modes nor verdicts. Loop's thread only.
 */
#ifndef SR_SERVE_EXTPROC_STREAM_H
#define SR_SERVE_EXTPROC_STREAM_H

#include "net/grpc/grpc.h"
#include "serve/extproc/core.h"

/* What the streams of one loop share; embedded in its door. */
struct sr_extproc_streams {
    sr_runtime *runtime;
    const struct sr_config *config; /* current; a stream keeps the one it began with */
    struct sr_metrics *metrics;     /* NULL: metrics are off */
    size_t active;
    size_t max; /* most streams; above it requests are answered 503 */
};

/* Takes over a fresh call, within the method's `open`. Out of memory ends the call with status 8. */
void sr_extproc_stream_open(struct sr_extproc_streams *streams, struct sr_grpc_call *call);

#endif
