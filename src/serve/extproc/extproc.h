/*
 * The ext_proc door of one event loop: the gRPC service envoy.service.ext_proc.v3.ExternalProcessor, and
 * grpc.health.v1.
 *
 * Owns the server and what its streams share. One request of Envoy is one stream (stream.h). Loop's thread
 * only.
 */
#ifndef SR_SERVE_EXTPROC_EXTPROC_H
#define SR_SERVE_EXTPROC_EXTPROC_H

#include "config/config.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"
#include "semroute/semroute.h"

struct sr_extproc;

struct sr_extproc_options {
    struct sr_loop *loop;
    sr_runtime *runtime;
    const struct sr_config *config; /* the door takes a reference */
    int loops;                      /* loops that share the process's limits */
    void (*drained)(void *ctx); /* after sr_extproc_drain: no connection remains. Never within that call */
    void *ctx;
};

/* Serves `fd` (from sr_listen_open; owned from now on, also on failure). `tls` NULL: plain HTTP/2. */
int sr_extproc_new(struct sr_extproc **out, int fd, sr_tls_context *tls,
                   const struct sr_extproc_options *options) SR_WARN_UNUSED;

/* Sets a new configuration, which applies from the next stream on. New connections of a TLS door use
 * `tls`. */
void sr_extproc_configure(struct sr_extproc *door, const struct sr_config *config, sr_tls_context *tls);

/* Stops accepting, lets streams in progress finish; health says NOT_SERVING from now on. */
void sr_extproc_drain(struct sr_extproc *door);

/* Closes all remaining connections and frees. Not from a callback of the door. NULL is allowed. */
void sr_extproc_free(struct sr_extproc *door);

/* The door's TLS context by `config`: *out is NULL without TLS. */
int sr_extproc_tls(const struct sr_config *config, sr_tls_context **out, struct sr_err *err) SR_WARN_UNUSED;

#endif
