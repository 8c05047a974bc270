/*
 * One HTTP request in Envoy's external processor: messages in, replies out, no sockets and no wire format.
 *
 * Drives one sr_exchange in the body mode of Envoy's configuration. It follows Envoy's rules: one reply of
 * the same kind for each message, except that FULL_DUPLEX bodies are answered in pieces; headers can
 * change the route only while Envoy still holds them, so the reply to the headers waits for the verdict if
 * the mode allows it; verdicts that are too late for that are counted. docs/internals/extproc.md has the
 * table. Knows nothing of models or signals. One thread, that of the exchange.
 */
#ifndef SR_SERVE_EXTPROC_CORE_H
#define SR_SERVE_EXTPROC_CORE_H

#include "config/config.h"
#include "observe/metrics.h"
#include "serve/extproc/message.h"

/* The largest piece of a FULL_DUPLEX body. */
#define SR_EXTPROC_PIECE_MAX ((size_t)64 * 1024)

/* Timeout of resolving a backend's name. */
#define SR_EXTPROC_RESOLVE_MS 2000

struct sr_extproc_core;

/* Addresses of one host, without brackets. */
struct sr_extproc_addresses {
    size_t count;
    char text[8][48];
};

struct sr_extproc_core_ops {
    /* Sends one reply; borrowed for the call. */
    void (*send)(void *ctx, const struct sr_extproc_reply *reply);
    /* The peer broke the protocol: the stream ends with an error; no other callback follows. */
    void (*fail)(void *ctx, const char *why);
    /* As sr_exchange_env.post; NULL: long texts are classified at once. */
    void (*post)(void *ctx, void (*task)(void *arg), void *arg);
    /* Resolves a host name. SR_OK: `out` is filled. SR_AGAIN: sr_extproc_core_resolved follows within
     * SR_EXTPROC_RESOLVE_MS or so, and no message comes before it. Else there are none. NULL: backends
     * need addresses. */
    int (*resolve)(void *ctx, const char *host, struct sr_extproc_addresses *out);
};

struct sr_extproc_core_options {
    sr_runtime *runtime;
    const struct sr_config *config;          /* the core takes a reference */
    struct sr_metrics *metrics;              /* NULL: metrics are off */
    struct sr_bytes peer;                    /* for the access log if no header has it; copied */
    struct sr_bytes traceparent, tracestate; /* of Envoy's call; empty: Envoy does not trace. Copied */
    bool shed; /* no room: the request is answered 503, or 429 as an endpoint picker */
    const struct sr_extproc_core_ops *ops;
    void *ctx;
};

/* NULL when out of memory. */
struct sr_extproc_core *sr_extproc_core_new(const struct sr_extproc_core_options *options);

/* Handles the next message. `send` is called within the call or later within `post`ed tasks. */
void sr_extproc_core_message(struct sr_extproc_core *core, const struct sr_extproc_message *message);

/* After SR_AGAIN of `resolve`; NULL: the name has no address, or it took too long. */
void sr_extproc_core_resolved(struct sr_extproc_core *core, const struct sr_extproc_addresses *addresses);

/* When to call sr_extproc_core_timeout, in nanoseconds of CLOCK_MONOTONIC; 0 = never. Changes with every
 * other call. */
uint64_t sr_extproc_core_deadline_ns(const struct sr_extproc_core *core);

/* Handles deadlines that have passed. */
void sr_extproc_core_timeout(struct sr_extproc_core *core);

/* Ends the exchange at the end of the stream and frees. NULL is allowed. */
void sr_extproc_core_free(struct sr_extproc_core *core);

#endif
