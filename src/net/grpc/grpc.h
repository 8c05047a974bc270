/*
 * A gRPC server on one loop: methods by path, messages, deadlines, status, over net/http2/http2.h.
 *
 * Knows no protobuf: a message is a run of bytes. Every method is a bidirectional stream; a unary one sends
 * one message and finishes. Compression is refused as gRPC requires (status 12, grpc-accept-encoding:
 * identity). Loop's thread only. No callback runs inside a call of the owner.
 */
#ifndef SR_NET_GRPC_GRPC_H
#define SR_NET_GRPC_GRPC_H

#include "net/http2/http2.h"

enum sr_grpc_status {
    SR_GRPC_OK = 0,
    SR_GRPC_CANCELLED = 1,
    SR_GRPC_UNKNOWN = 2,
    SR_GRPC_INVALID_ARGUMENT = 3,
    SR_GRPC_DEADLINE_EXCEEDED = 4,
    SR_GRPC_NOT_FOUND = 5,
    SR_GRPC_PERMISSION_DENIED = 7,
    SR_GRPC_RESOURCE_EXHAUSTED = 8,
    SR_GRPC_FAILED_PRECONDITION = 9,
    SR_GRPC_ABORTED = 10,
    SR_GRPC_OUT_OF_RANGE = 11,
    SR_GRPC_UNIMPLEMENTED = 12,
    SR_GRPC_INTERNAL = 13,
    SR_GRPC_UNAVAILABLE = 14,
    SR_GRPC_DATA_LOSS = 15,
    SR_GRPC_UNAUTHENTICATED = 16,
};

struct sr_grpc_server;

/* One call of a method. Valid from the method's `open` until `closed` returns. */
struct sr_grpc_call;

struct sr_grpc_settings {
    struct sr_http2_settings http2;
    size_t message_bytes;  /* largest message received; status 8; default 64 MiB */
    size_t assembly_bytes; /* memory of all incomplete messages of the server; status 8; default 1 GiB */
    uint32_t deadline_ms;  /* of calls without a grpc-timeout, and the maximum for the others; 0: none, the
                              default */
};
struct sr_grpc_settings sr_grpc_settings_defaults(void);

/* The callbacks of a call; `ctx` as given to sr_grpc_call_accept. */
struct sr_grpc_call_events {
    /* A whole message, in order; borrowed for the call. Mandatory. */
    void (*message)(void *ctx, struct sr_grpc_call *call, struct sr_bytes message);
    /* The peer sends no more messages; the call may go on. Optional. */
    void (*half_closed)(void *ctx, struct sr_grpc_call *call);
    /* All queued messages were passed to the connection; called only after sr_grpc_call_queued was not zero.
     * Optional. */
    void (*writable)(void *ctx, struct sr_grpc_call *call);
    /* The call has ended; the last callback, exactly once, the call is invalid afterwards. Mandatory. SR_OK:
     * finished by sr_grpc_call_finish, and everything was handed to the connection. SR_ECANCELED: the peer
     * reset the stream (Envoy's normal end). SR_ECLOSED: the connection is gone. SR_ETIMEOUT: the deadline
     * passed, status 4 was sent (or the peer took nothing after finish for http2.write_timeout_ms).
     * SR_ELIMIT: a message was too large or there is no room, status 8. SR_EUNSUPPORTED: compressed message,
     * status 12. SR_EPROTO: broken framing, status 13. */
    void (*closed)(void *ctx, struct sr_grpc_call *call, int why);
};

/* One method; an array of them is given to the server and must outlive it. */
struct sr_grpc_method {
    const char *path; /* "/package.Service/Method" */
    /* A call has started. Accept it with sr_grpc_call_accept, or end it with sr_grpc_call_finish, inside this
     * callback; a call that is neither accepted nor finished ends with status 14. */
    void (*open)(void *ctx, struct sr_grpc_call *call);
    void *ctx;
};

/* `fd` and `tls` as in sr_http2_server_new. `drained` (optional) is called after sr_grpc_server_drain when
 * the last connection is closed. */
int sr_grpc_server_new(struct sr_grpc_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                       const struct sr_grpc_settings *settings, const struct sr_grpc_method *methods,
                       size_t method_count, void (*drained)(void *ctx), void *ctx) SR_WARN_UNUSED;
/* Applies to later calls and connections (reload). */
void sr_grpc_server_set(struct sr_grpc_server *server, const struct sr_grpc_settings *settings);
void sr_grpc_server_set_tls(struct sr_grpc_server *server, sr_tls_context *tls);
void sr_grpc_server_drain(struct sr_grpc_server *server);
/* Closes everything now (`closed` is called for running calls) and frees. NULL is allowed. Not from a
 * callback of the server. */
void sr_grpc_server_free(struct sr_grpc_server *server);
size_t sr_grpc_server_connections(const struct sr_grpc_server *server);
size_t sr_grpc_server_calls(const struct sr_grpc_server *server);

/* ---- the call ---- */

/* Within `open`: messages of the call go to `events`, which must outlive it. */
void sr_grpc_call_accept(struct sr_grpc_call *call, const struct sr_grpc_call_events *events, void *ctx);

/* Within `open` only: the metadata `name` (lower case; the first of that name), borrowed; `p` is NULL when it
 * is missing. */
struct sr_bytes sr_grpc_call_metadata(const struct sr_grpc_call *call, const char *name);
/* "address:port"; valid as long as the call. */
const char *sr_grpc_call_peer(const struct sr_grpc_call *call);
struct sr_loop *sr_grpc_call_loop(const struct sr_grpc_call *call);
/* Back-pressure: while paused neither `message` nor `half_closed` is called, and the peer's window is not
 * extended, so that it stops sending after http2.stream_window bytes. The bytes of a message count as
 * consumed when `message` returns. A new call is not paused. */
void sr_grpc_call_pause(struct sr_grpc_call *call);
void sr_grpc_call_resume(struct sr_grpc_call *call);

/* Sends one message, made of at most 15 slices, which are copied; it is sent after the stack has unwound. All
 * or nothing. The caller keeps sr_grpc_call_queued below its own limit and continues at `writable`.
 * SR_ELIMIT: over http2.send_bytes; SR_EINVAL: finished; SR_ENOMEM; SR_ECLOSED: the call has ended, `closed`
 * follows. */
int sr_grpc_call_send(struct sr_grpc_call *call, const struct sr_bytes *slices, size_t count) SR_WARN_UNUSED;

/* Bytes of this call that are not sent yet. */
size_t sr_grpc_call_queued(const struct sr_grpc_call *call);

/* Ends the call after the messages sent so far; `message` is for people, NULL or UTF-8, percent-encoded on
 * the wire. No `message`, `half_closed` or `writable` is called after it, `closed` follows (within `open` of
 * a call that was not accepted: nothing follows). A second call has no effect. */
void sr_grpc_call_finish(struct sr_grpc_call *call, enum sr_grpc_status status, const char *message);

#endif
