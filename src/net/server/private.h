/*
 * Private to net/server: the structures of a server, its connections and their requests. server.c has
 * lifetime and input, response.c the answers, phase.c the timeouts.
 */
#ifndef SR_NET_SERVER_PRIVATE_H
#define SR_NET_SERVER_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/server/server.h"

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

struct sr_http_conn;

struct sr_http_request {
    struct sr_http_conn *conn;
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
    bool finished;
    bool chunked;  /* the response is complete */
    bool counted;  /* the response has a content-length */
    bool bodiless; /* HEAD, 204, 304 */
    bool close_after;
    bool broken; /* aborted, or the client has disconnected */
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
    bool running;                 /* conn_run is on the stack */
    bool reading_body;            /* between HEAD and END */
    bool between;                 /* between END and the next message */
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
    struct sr_http_conn *conns;
    size_t connections;
    bool tls;
    bool draining;
    struct sr_deferred task;
    struct sr_buf scratch; /* buffer for response heads */
    uint64_t date_second;
    char date[32];
};

/* Runs the connection after the stack has unwound; no effect while it runs. */
void sr_http_conn_defer(struct sr_http_conn *conn);

/* Sends the corked bytes. */
int sr_http_conn_uncork(struct sr_http_conn *conn) SR_WARN_UNUSED;

enum sr_http_phase sr_http_conn_phase(const struct sr_http_conn *conn);

/* Sets the timer for the current phase; `progress`: bytes of the request were read. */
void sr_http_conn_timer(struct sr_http_conn *conn, bool progress);

#endif
