/*
 * An HTTP server on one loop, for HTTP/1.1 and, where it is enabled, HTTP/2: connections, keep-alive,
 * pipelining, streams, limits, timeouts and drain.
 *
 * Knows nothing of paths and bodies: a handler gets each request and answers it, now or later, and need not
 * know which protocol it came by. A client speaks HTTP/2 when ALPN chose "h2", or, without TLS, when its
 * first bytes are the preface of HTTP/2 (prior knowledge); `Upgrade: h2c` is ignored. One server per loop and
 * port; several share a port through sr_listen_open. Loop's thread only.
 */
#ifndef SR_NET_SERVER_SERVER_H
#define SR_NET_SERVER_SERVER_H

#include "net/http1/http1.h"
#include "net/loop/loop.h"
#include "net/loop/sock.h"
#include "net/server/census.h"

struct sr_http_server;

/* One request and its response. Valid from `request` until `done` returns. */
struct sr_http_request;

struct sr_http_server_http2 {
    bool enabled;               /* default false: the preface is a malformed request of HTTP/1 */
    uint32_t max_streams;       /* requests at a time on one connection, announced; default 100 */
    uint32_t resets_per_second; /* requests that a client resets before their answer, sustained, and ten times
                                   as many at once; above it the connection is closed; default 100 */
};

struct sr_http_server_settings {
    struct sr_http1_limits limits; /* body_bytes: above it 413 */
    size_t max_connections;        /* of this server, above it 503 and close; default 10000 */
    struct sr_census *census;      /* counts and limits the connections of several servers; NULL: none */
    bool use_reserve;              /* connections may use the reserved descriptors (sr_sock_reserve) */
    uint32_t header_timeout_ms; /* first to last byte of a head, and the TLS handshake: 408; default 10000 */
    uint32_t body_timeout_ms;   /* time without a byte inside a request body, not counted while paused: 408;
                                   default 30000 */
    uint32_t
        request_timeout_ms;    /* for a request body in all, not counted while paused: 408; default 300000 */
    uint32_t idle_timeout_ms;  /* between requests: closed without an answer; default 75000 */
    uint32_t write_timeout_ms; /* the client reads nothing of the response: closed; default 60000 */
    size_t pipeline_bytes;     /* bytes of following requests kept while one is answered; default 65536 */
    size_t arena_bytes;        /* bound of a request's arena; default 4 MiB */
    struct sr_http_server_http2 http2;
};
struct sr_http_server_settings sr_http_server_settings_defaults(void);

/* The owner's callbacks. `ctx` of the first four is the server's, of the others the one that the handler set
 * with sr_http_request_set_ctx. */
struct sr_http_handler {
    /* The head of a request was received. Answer now or later; the callbacks below deliver the body.
     * Mandatory. */
    void (*request)(void *ctx, struct sr_http_request *request);
    /* Formats the body of an answer that the server makes itself (400, 408, 413, 414, 431, 501, 503, 505)
     * into `body` and returns its content type. `peer` is "address:port"; `head` is NULL when it could not be
     * parsed. Optional: without it text/plain. */
    struct sr_bytes (*error_body)(void *ctx, int status, const char *reason, const char *peer,
                                  const struct sr_http_head *head, struct sr_buf *body);
    /* A connection was accepted, and is not over a limit. Optional. */
    void (*accepted)(void *ctx);
    /* After sr_http_server_drain: the last connection was closed. Optional. */
    void (*drained)(void *ctx);

    /* A slice of the request body without chunk framing; borrowed for the call. Mandatory. */
    void (*body)(void *ctx, struct sr_http_request *request, struct sr_bytes slice);
    /* The request body is complete (also when there is none). Mandatory. */
    void (*body_end)(void *ctx, struct sr_http_request *request);
    /* The write queue is empty again. Optional. */
    void (*writable)(void *ctx, struct sr_http_request *request);
    /* The request has ended: `complete` tells whether the whole response was passed to the kernel; if not,
     * the client has disconnected, was too slow, or violated the protocol inside its body (the server then
     * answers by itself if no response had started). The last callback; the request is invalid afterwards.
     * Exactly once per request. Mandatory. A client that only ended its sending after a whole request gets
     * its answer. */
    void (*done)(void *ctx, struct sr_http_request *request, bool complete);
};

/* `fd` is from sr_listen_open and is owned from now on, also on failure. `tls` NULL: plain. `handler` must
 * outlive the server. */
int sr_http_server_new(struct sr_http_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                       const struct sr_http_server_settings *settings, const struct sr_http_handler *handler,
                       void *ctx) SR_WARN_UNUSED;

/* New limits and timeouts from the next request on, of HTTP/2 from the next connection on (reload). */
void sr_http_server_set(struct sr_http_server *server, const struct sr_http_server_settings *settings);
void sr_http_server_set_tls(struct sr_http_server *server, sr_tls_context *tls);

/* Stops listening, closes idle connections, adds `Connection: close` to the next answers, and sends GOAWAY to
 * clients of HTTP/2, whose open streams finish; `drained` is called when the last connection is closed (never
 * inside this call). */
void sr_http_server_drain(struct sr_http_server *server);

/* Closes everything now (`done` is called for running requests) and frees. NULL is allowed. Not from a
 * callback of a request. */
void sr_http_server_free(struct sr_http_server *server);

size_t sr_http_server_connections(const struct sr_http_server *server);

/* Since the server's start, except `busy`. */
struct sr_http_server_counts {
    uint64_t http1, http2; /* connections, by their protocol; counted when that is known */
    uint64_t resets;       /* streams that the client reset before their end */
    uint64_t floods; /* connections of HTTP/2 that were closed for resets, PING, SETTINGS or empty frames */
    size_t busy;     /* connections with a request now */
};
struct sr_http_server_counts sr_http_server_counts(const struct sr_http_server *server);

/* ---- the request ---- */

/* All borrowed, valid as long as the request. */
const struct sr_http_head *sr_http_request_head(const struct sr_http_request *request);
/* "HTTP/1.0", "HTTP/1.1" or "HTTP/2". */
struct sr_bytes sr_http_request_protocol(const struct sr_http_request *request);
struct sr_arena *sr_http_request_arena(struct sr_http_request *request);
const char *sr_http_request_peer(const struct sr_http_request *request);
/* sr_clock_ns() when the first byte of this request's head was read. */
uint64_t sr_http_request_started_ns(const struct sr_http_request *request);

void sr_http_request_set_ctx(struct sr_http_request *request, void *ctx);

/* Answers `Expect: 100-continue`; `body` is called for such a request only after it (or after the client
 * stops waiting). No effect when the client does not expect it or was answered. */
void sr_http_request_continue(struct sr_http_request *request);

/* Back-pressure on the request body: neither `body` nor `body_end` is called while paused. */
void sr_http_request_pause(struct sr_http_request *request);
void sr_http_request_resume(struct sr_http_request *request);

/* ---- the response ---- */

struct sr_http_response {
    int status;
    struct sr_bytes reason; /* empty: the standard one */
    const struct sr_header
        *headers; /* Connection, Content-Length, Transfer-Encoding and other hop-by-hop names are skipped */
    size_t header_count;
    int64_t content_length; /* -1: the end of the stream in HTTP/2, chunked for HTTP/1.1, until close for
                               HTTP/1.0 */
};

/* Writes the head, and the first slices of the body with it in one system call (count may be 0). All
 * arguments are read inside the call. Once per request; allowed before the request body is complete: the
 * connection is then closed after the response unless the rest of the body comes in time. Body bytes of a
 * HEAD request or a 204/304 are dropped. For whole answers use sr_http_request_reply. SR_EINVAL: a header may
 * not be sent (nothing was written; send another answer). SR_ECLOSED: the client has disconnected, `done`
 * follows. */
int sr_http_request_respond(struct sr_http_request *request, const struct sr_http_response *response,
                            const struct sr_bytes *slices, size_t count) SR_WARN_UNUSED;

/* The next slices, framed as needed; they are sent at the latest after the stack has unwound, so that small
 * pieces of the same turn of the loop share a system call. Bytes that the kernel does not take are copied:
 * the caller keeps sr_http_request_queued below its own limit and continues at `writable`. SR_ECLOSED as
 * above; SR_EINVAL: over content_length. */
int sr_http_request_write(struct sr_http_request *request, const struct sr_bytes *slices,
                          size_t count) SR_WARN_UNUSED;

/* Adds headers to the response that follows, whichever component writes it; its own headers of these names,
 * but `vary`, are left out. Borrowed until `done`. To be called before the response. */
void sr_http_request_add_headers(struct sr_http_request *request, const struct sr_header *headers, size_t n);

/* The body is complete; `done` follows, never inside this call. SR_EINVAL (then aborted): short of
 * content_length. */
int sr_http_request_finish(struct sr_http_request *request) SR_WARN_UNUSED;

/* A whole answer with one body, in one system call: respond and finish. content_length is taken from `body`.
 */
int sr_http_request_reply(struct sr_http_request *request, const struct sr_http_response *response,
                          struct sr_bytes body) SR_WARN_UNUSED;

/* The answer cannot be completed (for example, the upstream was lost): the connection is closed (HTTP/2: the
 * stream is reset) so that the client notices; `done` follows with complete = false, never inside this call.
 */
void sr_http_request_abort(struct sr_http_request *request);

/* Within `done`: the status that the server itself answered with (408, 413, 400 inside the body), else 0. */
int sr_http_request_error_status(const struct sr_http_request *request);

/* Bytes of the response that the kernel, or the window of the client's stream, has not accepted. */
size_t sr_http_request_queued(const struct sr_http_request *request);

#endif
