/*
 * An HTTP/2 server on one loop: connections, streams, flow control by the owner, limits, keep-alive and
 * drain.
 *
 * Clear text with prior knowledge, or TLS with ALPN "h2". Knows nothing of what streams carry: a handler gets
 * each request and answers it, now or later. One server per loop and port; several share a port through
 * sr_listen_open. Loop's thread only. Data is sent after the stack has unwound, so that all data of one turn
 * of the loop shares a system call; no callback runs inside a call of the owner.
 */
#ifndef SR_NET_HTTP2_HTTP2_H
#define SR_NET_HTTP2_HTTP2_H

#include "base/bytes.h"
#include "base/err.h"
#include "net/loop/loop.h"
#include "net/loop/sock.h"

/* RFC 9113, section 7. */
enum sr_http2_code {
    SR_HTTP2_NO_ERROR = 0,
    SR_HTTP2_PROTOCOL_ERROR = 1,
    SR_HTTP2_INTERNAL_ERROR = 2,
    SR_HTTP2_REFUSED_STREAM = 7,
    SR_HTTP2_CANCEL = 8,
    SR_HTTP2_ENHANCE_YOUR_CALM = 11,
};

struct sr_http2_server;

/* One request and its response. Valid from `open` until `closed` returns. */
struct sr_http2_stream;

struct sr_http2_settings {
    size_t max_connections;     /* further ones are closed at once; default 10000 */
    uint32_t max_streams;       /* concurrent, per connection, announced to the peer; default 16384 */
    uint32_t header_list_bytes; /* names, values and 32 for each; above it 431; default 65536 */
    uint32_t frame_bytes;       /* largest frame accepted, 16384 to 16777215; default 65536 */
    uint32_t stream_window;     /* bytes of a stream that the owner has not consumed; default 1 MiB */
    uint32_t connection_window; /* the same for all streams of a connection; default 64 MiB */
    size_t send_bytes;          /* of one stream that are not sent yet; above it SR_ELIMIT; default 80 MiB */
    size_t connection_send_bytes; /* of all streams of a connection; default 512 MiB */
    uint32_t resets_per_second; /* sustained rate of streams that the peer resets before any answer was sent,
                                   and of its PING and SETTINGS frames; above it (and a burst of ten times as
                                   many) the connection is closed; default 1000 */
    uint32_t handshake_timeout_ms; /* TLS and the client's preface, and each header block from its first frame
                                      to its last; default 10000 */
    uint32_t idle_timeout_ms;  /* without a stream: GOAWAY; 0: never (gRPC clients expect that); default 0 */
    uint32_t ping_interval_ms; /* time without bytes from the peer after which a PING is sent; 0: never;
                                  default 60000 */
    uint32_t ping_timeout_ms;  /* no byte from the peer after the PING: closed; default 20000 */
    uint32_t write_timeout_ms; /* the peer reads nothing: closed; default 60000 */
};
struct sr_http2_settings sr_http2_settings_defaults(void);

struct sr_http2_header {
    struct sr_bytes name; /* lower case */
    struct sr_bytes value;
};

/* Borrowed for the duration of `open`. */
struct sr_http2_head {
    struct sr_bytes method, path, scheme, authority;
    const struct sr_http2_header *headers; /* without the pseudo headers, in order */
    size_t header_count;
    bool end; /* no body follows; `end` is called next */
};

/* The owner's callbacks. `ctx` of `open`, `too_large` and `drained` is the server's, of the others the
 * stream's, as set with sr_http2_stream_set_ctx. Streams may be answered, reset and consumed inside any of
 * them. All but `writable`, `too_large` and `drained` are mandatory. */
struct sr_http2_handler {
    /* The head of a request was received. */
    void (*open)(void *ctx, struct sr_http2_stream *stream, const struct sr_http2_head *head);
    /* Bytes of the request body, borrowed for the call. The peer may send as many more only after
     * sr_http2_stream_consume. It is also called after the response is complete if the peer continues to
     * send. */
    void (*data)(void *ctx, struct sr_http2_stream *stream, struct sr_bytes slice);
    /* The request is complete (trailers are dropped). At most once. */
    void (*end)(void *ctx, struct sr_http2_stream *stream);
    /* All written bytes were passed to the connection; called only after sr_http2_stream_queued was not
     * zero. */
    void (*writable)(void *ctx, struct sr_http2_stream *stream);
    /* The stream has ended: the last callback, exactly once for each `open`. SR_OK: the whole response was
     * passed to the connection. SR_ECANCELED: the peer reset it, with `code`. SR_ECLOSED: the connection was
     * closed. SR_EPROTO: the peer violated the protocol. SR_ELIMIT: reset on this side, by
     * sr_http2_stream_reset or because the peer read nothing of a finished response for write_timeout_ms. */
    void (*closed)(void *ctx, struct sr_http2_stream *stream, int why, uint32_t code);
    /* The head is over header_list_bytes. The handler answers inside the call, or not at all: then the answer
     * is 431 without a body. It hears nothing of this stream later. */
    void (*too_large)(void *ctx, struct sr_http2_stream *stream);
    /* After sr_http2_server_drain: the last connection was closed. */
    void (*drained)(void *ctx);
};

/* `fd` is from sr_listen_open and is owned from now on, also on failure; -1: does not listen, its connections
 * come by sr_http2_server_adopt. `tls` NULL: plain; else it should offer "h2" (struct sr_tls_settings.alpn).
 * `handler` must outlive the server. */
int sr_http2_server_new(struct sr_http2_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                        const struct sr_http2_settings *settings, const struct sr_http2_handler *handler,
                        void *ctx) SR_WARN_UNUSED;

/* Takes an open connection whose client speaks HTTP/2, with the bytes that were read from it. It is closed
 * where there is no memory for it or it is over max_connections. The handler may be called inside. */
void sr_http2_server_adopt(struct sr_http2_server *server, struct sr_conn *sock, const char *p, size_t n);

/* Settings of connections accepted from now on (reload). */
void sr_http2_server_set(struct sr_http2_server *server, const struct sr_http2_settings *settings);
void sr_http2_server_set_tls(struct sr_http2_server *server, sr_tls_context *tls);

/* Stops listening and sends GOAWAY, first with the highest stream id, a second later with the real one. Open
 * streams finish; `drained` is called when the last connection is closed (never inside this call). */
void sr_http2_server_drain(struct sr_http2_server *server);

/* Closes everything now (`closed` is called for running streams) and frees. NULL is allowed. Not from a
 * callback of the server. */
void sr_http2_server_free(struct sr_http2_server *server);

size_t sr_http2_server_connections(const struct sr_http2_server *server);
size_t sr_http2_server_streams(const struct sr_http2_server *server);
/* Connections with a stream. */
size_t sr_http2_server_busy(const struct sr_http2_server *server);
/* Connections that were closed for resets_per_second, since the start. */
uint64_t sr_http2_server_floods(const struct sr_http2_server *server);

/* ---- the stream ---- */

void sr_http2_stream_set_ctx(struct sr_http2_stream *stream, void *ctx);
const char *sr_http2_stream_peer(const struct sr_http2_stream *stream);

/* Marks `n` bytes from `data` as consumed: the peer may send as many again. No effect once the connection is
 * closing. */
void sr_http2_stream_consume(struct sr_http2_stream *stream, size_t n);

/* Sends an interim response (100 to 199, not 101), before the response's head. SR_EINVAL, SR_ENOMEM,
 * SR_ECLOSED. */
int sr_http2_stream_inform(struct sr_http2_stream *stream, int status) SR_WARN_UNUSED;

/* Sends the response's head, once. `end`: no body follows. All arguments are copied. SR_EINVAL: twice, or a
 * header that may not be sent; SR_ENOMEM; SR_ECLOSED: the stream has ended and `closed` follows. */
int sr_http2_stream_respond(struct sr_http2_stream *stream, int status, const struct sr_http2_header *headers,
                            size_t count, bool end) SR_WARN_UNUSED;

/* Sends bytes of the body; copied, all or nothing. SR_ELIMIT: above send_bytes or connection_send_bytes;
 * SR_EINVAL: before respond or after the end; SR_ENOMEM; SR_ECLOSED. */
int sr_http2_stream_write(struct sr_http2_stream *stream, const struct sr_bytes *slices,
                          size_t count) SR_WARN_UNUSED;

/* Ends the response after the bytes written, with trailers (count may be 0). If the request is not complete
 * by then, the peer is asked to stop sending it (RST_STREAM, NO_ERROR). Same errors. */
int sr_http2_stream_finish(struct sr_http2_stream *stream, const struct sr_http2_header *trailers,
                           size_t count) SR_WARN_UNUSED;

/* Drops unsent bytes and resets the stream; `closed` follows. */
void sr_http2_stream_reset(struct sr_http2_stream *stream, uint32_t code);

/* Bytes of this stream that wait for the peer's window or for the connection. */
size_t sr_http2_stream_queued(const struct sr_http2_stream *stream);

#endif
