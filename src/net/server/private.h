/*
 * Private to net/server: the structures of a server, its connections and their requests.
 *
 * A request is one structure for both protocols: request.c keeps what they share, and struct
 * sr_http_request_ops is what a protocol adds. Calls go one way: server.c (life, limits) uses conn.c
 * (connections of HTTP/1.1, choice of the protocol), which uses response.c (their answers) and phase.c (their
 * timeouts), and streams.c (HTTP/2), which uses stream_head.c; all use request.c and error.c.
 */
#ifndef SR_NET_SERVER_PRIVATE_H
#define SR_NET_SERVER_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/http2/http2.h"
#include "net/server/server.h"

#include <stddef.h>

#define SR_HTTP_CORK_MAX  8192
#define SR_HTTP_CORK_KEEP 2048 /* memory that an idle connection may keep for it */

/* What a connection waits for; each phase has its timeout. */
enum sr_http_phase {
    SR_HTTP_PHASE_NONE, /* an answer of the handler */
    SR_HTTP_PHASE_IDLE,
    SR_HTTP_PHASE_HEAD,
    SR_HTTP_PHASE_BODY,
    SR_HTTP_PHASE_WRITE,
};

/* The protocol under a request; all are mandatory. They are called on the loop's thread, inside calls of the
 * handler, and call no handler. request.c has checked the state: no answer twice, lengths, no call after the
 * end. A request whose client is lost becomes `broken`, and `done` follows. */
struct sr_http_request_ops {
    const char *(*peer)(const struct sr_http_request *request);
    size_t (*queued)(const struct sr_http_request *request);
    /* The handler takes the body again. */
    void (*resume)(struct sr_http_request *request);
    /* Sends 100 Continue. */
    void (*inform)(struct sr_http_request *request);
    /* Sends the head and the first slices, and with `last` the end; sets `responded` and `finished`. SR_OK,
     * SR_EINVAL (nothing was sent), SR_ENOMEM (the same), SR_ECLOSED. */
    int (*respond)(struct sr_http_request *request, const struct sr_http_response *response,
                   const struct sr_bytes *slices, size_t count, bool last);
    int (*write)(struct sr_http_request *request, const struct sr_bytes *slices, size_t count);
    /* Sends the end; sets `finished`. */
    int (*finish)(struct sr_http_request *request);
    void (*abort)(struct sr_http_request *request);
};

struct sr_http_request {
    const struct sr_http_request_ops *ops;
    const struct sr_http_head *head;
    struct sr_bytes protocol; /* "HTTP/1.1" */
    struct sr_arena arena;
    void *ctx;
    const struct sr_header *added; /* [n_added], of every response; borrowed */
    size_t n_added;
    uint64_t started_ns;
    int error_status; /* answered by the server itself */
    uint64_t left;    /* of content_length, in the response */
    bool active;      /* in use by the handler: from `request` to `done` */
    bool paused;
    bool continued;
    bool responded;
    bool finished; /* the response is complete */
    bool counted;  /* the response has a content-length */
    bool bodiless; /* HEAD, 204, 304 */
    bool broken;   /* aborted, or the client has disconnected */
};

struct sr_http_conn {
    struct sr_http_server *server;
    struct sr_conn *sock;
    struct sr_http_conn *next, **pprev;
    struct sr_http1 parser;
    struct sr_http_request request;
    struct sr_buf pending; /* input that is not parsed yet */
    struct sr_buf cork;    /* small pieces of a response, collected until the end of the turn of the loop */
    struct sr_timer timer;
    struct sr_timer lost; /* after the client's end: is it still there? */
    struct sr_deferred task;
    enum sr_http_phase phase;
    uint64_t body_since, body_ms; /* start of the phase BODY, and its time before, in this request */
    size_t queued_then;           /* start of the write timer */
    bool open;                    /* TLS: the handshake is done */
    bool fresh;                   /* its first bytes may be those of HTTP/2 */
    bool running;                 /* conn_run is on the stack */
    bool reading_body;            /* between HEAD and END */
    bool between;                 /* between END and the next message */
    bool chunked;                 /* the framing of the response */
    bool close_after;             /* the response */
    bool eof;                     /* the client sends nothing more */
    bool eof_in_answer; /* and ended its sending inside an answer, where nothing could ask whether it is there
                         */
    unsigned lost_looks;
    uint64_t sent_at_eof;
};

struct sr_http_server {
    struct sr_loop *loop;
    struct sr_listener *listener;
    struct sr_http_server_settings settings;
    const struct sr_http_handler *handler;
    void *ctx;
    struct sr_http_conn *conns;    /* of HTTP/1.1, and of no known protocol */
    size_t connections;            /* of these */
    struct sr_http2_server *http2; /* from its first connection on */
    struct sr_http_server_counts counts;
    bool tls;
    bool draining;
    bool drained; /* and the handler was told */
    struct sr_deferred task;
    struct sr_buf scratch; /* buffer for response heads */
    uint64_t date_second;
    char date[32];
};

/* ---- error.c ---- */

/* Formats the body of an answer that the server makes itself, and returns its content type. */
struct sr_bytes sr_http_error_format(struct sr_http_server *server, int status, const char *reason,
                                     const char *peer, const struct sr_http_head *head, struct sr_buf *body);

/* Writes such an answer in HTTP/1.1, after which the connection has to close. */
int sr_http_error_write(struct sr_http_server *server, struct sr_conn *sock, int status, const char *reason,
                        const struct sr_http_head *head) SR_WARN_UNUSED;

/* ---- request.c ---- */

/* The value of a `date` header; valid until the next call. */
struct sr_bytes sr_http_server_date(struct sr_http_server *server);

/* The server drains, and a connection is gone: notifies the handler when it was the last. */
void sr_http_server_left(struct sr_http_server *server);

/* Is a header of this name left out of the response? Those that the framing decides, and those that
 * sr_http_request_add_headers replaced. */
bool sr_http_request_skips(const struct sr_http_request *request, struct sr_bytes name);

/* ---- conn.c ---- */

/* A connection was accepted, and counts. */
void sr_http_conn_new(struct sr_http_server *server, struct sr_conn *sock);

/* Closes it at once; a running request is told. */
void sr_http_conn_drop(struct sr_http_conn *conn);

/* The server drains: closes it when it is idle, else after its answer. */
void sr_http_conn_drain(struct sr_http_conn *conn);

/* ---- response.c ---- */

extern const struct sr_http_request_ops sr_http_conn_ops;

/* Sends the corked bytes. */
int sr_http_conn_uncork(struct sr_http_conn *conn) SR_WARN_UNUSED;

/* ---- phase.c ---- */

/* Runs the connection after the stack has unwound; no effect while it runs. */
void sr_http_conn_defer(struct sr_http_conn *conn);

enum sr_http_phase sr_http_conn_phase(const struct sr_http_conn *conn);

/* Sets the timer for the current phase; `progress`: bytes of the request were read. */
void sr_http_conn_timer(struct sr_http_conn *conn, bool progress);

/* ---- streams.c ---- */

/* Takes a connection whose client speaks HTTP/2, with the bytes that it sent so far; also on failure.
 * Handlers may be called inside. */
void sr_http_streams_adopt(struct sr_http_server *server, struct sr_conn *sock, const char *p, size_t n);

/* New settings, for connections from now on. */
void sr_http_streams_set(struct sr_http_server *server);

/* ---- stream_head.c ---- */

/* Reads the head of a stream as that of a request of HTTP/1.1 with the same fields: by the same rules and
 * limits, into `arena`. SR_OK; SR_EPROTO with the status and the reason of the refusal; then `out` has the
 * method, or is empty. */
int sr_http_stream_head(struct sr_http_head *out, const struct sr_http2_head *head,
                        const struct sr_http1_limits *limits, struct sr_arena *arena, int *status,
                        const char **reason) SR_WARN_UNUSED;

#endif
