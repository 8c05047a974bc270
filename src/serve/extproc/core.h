/*
 * One HTTP request in Envoy's external processor: messages in, replies out, no sockets and no wire format.
 *
 * Drives one sr_exchange through the body mode that Envoy sends. The rules that it keeps are Envoy's:
 * one reply for each message and of its kind, except that FULL_DUPLEX bodies are answered in pieces; headers
 * can change the route only while Envoy still holds them, so the reply to the headers waits for the verdict
 * where the mode allows it; what comes too late for that is counted. docs/internals/extproc.md has the table.
 * Knows nothing of models or signals. One thread, that of the exchange.
 */
#ifndef SR_SERVE_EXTPROC_CORE_H
#define SR_SERVE_EXTPROC_CORE_H

#include "config/config.h"
#include "observe/metrics.h"
#include "serve/extproc/message.h"

/* The largest piece of a FULL_DUPLEX body. */
#define SR_EXTPROC_PIECE_MAX ((size_t)64 * 1024)

/* How long a backend's name may take to resolve. */
#define SR_EXTPROC_RESOLVE_MS 2000

struct sr_extproc_core;

/* Of one host, without brackets. */
struct sr_extproc_addresses {
    size_t count;
    char text[8][48];
};

struct sr_extproc_core_ops {
    /* Takes one reply; borrowed for the call. */
    void (*send)(void *ctx, const struct sr_extproc_reply *reply);
    /* The peer broke the protocol: the stream ends with an error; no other callback follows. */
    void (*fail)(void *ctx, const char *why);
    /* As sr_exchange_env.post; NULL: long texts are worked on at once. */
    void (*post)(void *ctx, void (*task)(void *arg), void *arg);
    /* The addresses of a host name. SR_OK: `out` is filled. SR_AGAIN: sr_extproc_core_resolved follows within
     * SR_EXTPROC_RESOLVE_MS or so, and no message comes before it. Else there are none. NULL: backends need
     * addresses. */
    int (*resolve)(void *ctx, const char *host, struct sr_extproc_addresses *out);
};

struct sr_extproc_core_options {
    sr_runtime *runtime;
    const struct sr_config *config; /* takes a reference of its own */
    struct sr_metrics *metrics;     /* NULL: switched off */
    struct sr_bytes peer;           /* for the access log where no header says more; copied */
    bool shed;                      /* no room: the request is answered 503, or 429 as an endpoint picker */
    const struct sr_extproc_core_ops *ops;
    void *ctx;
};

/* NULL when out of memory. */
struct sr_extproc_core *sr_extproc_core_new(const struct sr_extproc_core_options *options);

/* The next message. Replies come within the call, or later from within `post`ed tasks. */
void sr_extproc_core_message(struct sr_extproc_core *core, const struct sr_extproc_message *message);

/* After SR_AGAIN of `resolve`; NULL: the name has no address, or it took too long. */
void sr_extproc_core_resolved(struct sr_extproc_core *core, const struct sr_extproc_addresses *addresses);

/* When to call sr_extproc_core_timeout, in nanoseconds of CLOCK_MONOTONIC; 0 = never. Changes with every
 * other call. */
uint64_t sr_extproc_core_deadline_ns(const struct sr_extproc_core *core);

/* Does what is due by now. */
void sr_extproc_core_timeout(struct sr_extproc_core *core);

/* The stream is over, however: ends the exchange and frees. NULL is allowed. */
void sr_extproc_core_free(struct sr_extproc_core *core);

#endif
