/*
 * Private to net/http2: the structures and functions that http2.c (connections), frames.c (nghttp2's
 * callbacks), memory.c and stream.c (answers) share.
 */
#ifndef SR_NET_HTTP2_PRIVATE_H
#define SR_NET_HTTP2_PRIVATE_H

#include "base/buf.h"
#include "net/http2/http2.h"

#include <nghttp2/nghttp2.h>

struct sr_http2_conn;

struct sr_http2_server {
    struct sr_loop *loop;
    struct sr_listener *listener;
    struct sr_http2_settings settings;
    const struct sr_http2_handler *handler;
    void *ctx;
    struct sr_http2_conn *conns;
    size_t connections, streams, busy;
    uint64_t floods;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    struct sr_deferred task; /* `drained` */
    bool tls, draining;
};

/* Of one session; initially all zero. */
struct sr_http2_memory {
    void *aside; /* blocks that were freed after a failure */
    bool failed; /* an allocation failed */
};

struct sr_http2_conn {
    struct sr_http2_server *server;
    struct sr_http2_conn *next, **pprev;
    struct sr_conn *sock;
    nghttp2_session *session;
    struct sr_http2_memory memory;
    struct sr_http2_settings settings;
    struct sr_http2_stream *streams;
    struct sr_http2_stream *writable; /* the callback of that name is pending */
    size_t stream_count, queued;      /* bytes that streams wait to send */
    struct sr_deferred task;          /* sends what was submitted */
    struct sr_timer timer;
    /* The header block that is being received; there is only one at a time. */
    struct sr_buf head_bytes, head_fields;
    size_t head_size;
    bool head_too_large;
    uint64_t head_since; /* its first frame; 0: none is being received */
    /* Times are of sr_loop_now. */
    uint64_t accepted_at, read_at, pinged_at, noticed_at, idle_since, blocked_since;
    size_t blocked_bytes; /* in the socket's queue at the last check */
    int64_t tokens;       /* of the flood limit, in thousandths */
    uint64_t tokens_at;
    bool open;     /* TLS handshake done */
    bool greeted;  /* the client's preface and settings were received */
    bool pinged;   /* and no byte was received since */
    bool noticed;  /* drain: the first GOAWAY was sent */
    bool draining; /* drain: the last GOAWAY was sent */
    bool flooded;  /* the flood limit was exceeded */
    bool dead;     /* being freed: calls have no effect */
};

enum sr_http2_phase {
    SR_HTTP2_HEAD,    /* the header block is being received */
    SR_HTTP2_OPEN,    /* the handler was notified of it */
    SR_HTTP2_REFUSED, /* answered or reset before the handler was notified */
};

struct sr_http2_stream {
    struct sr_http2_conn *conn;
    struct sr_http2_stream *next, **pprev;
    struct sr_http2_stream *writable_next, **writable_pprev;
    void *ctx;
    int32_t id;
    enum sr_http2_phase phase;
    size_t unconsumed; /* bytes that the handler has not consumed */
    struct sr_buf out; /* queued body bytes; the first `sent` of them are sent */
    size_t sent;
    struct sr_http2_header *trailers; /* followed by their bytes, from `finish` until submitted */
    size_t trailer_count;
    struct sr_timer timer; /* after `finish`: the deadline for the peer to read some of the rest */
    size_t stuck;          /* bytes that waited when it was started */
    uint32_t reset_code;
    bool responded, finished;
    bool head_sent;   /* the frame with the response's head was sent */
    bool end_sent;    /* the frame with END_STREAM was sent */
    bool request_end; /* the peer's END_STREAM was received */
    bool deferred;    /* nghttp2 waits for nghttp2_session_resume_data */
    bool asked;       /* the owner saw bytes in the queue */
    bool reset_ours, reset_theirs;
};

static inline uint64_t sr_http2_now(const struct sr_http2_conn *conn)
{
    return sr_loop_now(conn->server->loop);
}

/* Makes the connection send after the stack has unwound. */
static inline void sr_http2_conn_wake(struct sr_http2_conn *conn)
{
    if (!conn->dead)
        sr_loop_defer(conn->server->loop, &conn->task);
}

/* ---- frames.c ---- */

/* Creates the server's callbacks and options. SR_ENOMEM. */
int sr_http2_callbacks_new(struct sr_http2_server *server);
/* Creates the connection's session and submits its settings. SR_ENOMEM. */
int sr_http2_session_open(struct sr_http2_conn *conn);
/* Returns the initial flood account of a new connection. */
int64_t sr_http2_tokens_full(const struct sr_http2_conn *conn);
/* Sends the second GOAWAY: streams that the peer opened before it saw the first are served, later ones are
 * not. */
void sr_http2_conn_drain(struct sr_http2_conn *conn);
/* Notifies the handler if it knows the stream, and frees the stream. */
void sr_http2_stream_end(struct sr_http2_stream *stream, int why, uint32_t code);
/* True when the handler knows the stream and it was not reset on this side. */
bool sr_http2_stream_listens(const struct sr_http2_stream *stream);

/* ---- memory.c ---- */

/* nghttp2's allocator; `memory` must outlive the session. */
nghttp2_mem sr_http2_memory_of(struct sr_http2_memory *memory);
/* Frees the kept blocks; call it after nghttp2_session_del. */
void sr_http2_memory_dispose(struct sr_http2_memory *memory);

/* ---- stream.c ---- */

/* Frees a stream whose handler was notified of its end or never knew it. */
void sr_http2_stream_free(struct sr_http2_stream *stream);

#endif
