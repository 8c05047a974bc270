/*
 * Private to the room: the shapes of a server, its connections and their requests, as server.c (life, input),
 * response.c (answers) and phase.c (timeouts) share them.
 */
#ifndef SR_NET_SERVER_PRIVATE_H
#define SR_NET_SERVER_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/server/server.h"

#define SR_HTTP_CORK_MAX  8192
#define SR_HTTP_CORK_KEEP 2048 /* memory that an idle connection may keep for it */

/* What a connection waits for, as far as timeouts go. */
enum sr_http_phase {
    SR_HTTP_PHASE_NONE, /* the handler */
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
    uint64_t started_ns;
    int error_status; /* answered by the server itself */
    uint64_t left;    /* of content_length, in the response */
    bool active;      /* the handler has it: from `request` to `done` */
    bool paused;
    bool continued;
    bool responded;
    bool finished;
    bool chunked;  /* the response is */
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
    struct sr_buf pending; /* input that could not be used yet */
    struct sr_buf cork;    /* small pieces of a response, until the turn of the loop ends */
    struct sr_timer timer;
    struct sr_deferred task;
    enum sr_http_phase phase;
    size_t queued_then; /* when the write timer was started */
    bool open;          /* TLS: the handshake is done */
    bool running;       /* conn_run is on the stack */
    bool reading_body;  /* between HEAD and END */
    bool between;       /* between END and the next message */
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
    struct sr_buf scratch; /* response heads are built here */
    uint64_t date_second;
    char date[32];
};

/* Runs the connection once the stack has unwound; nothing when it runs already. */
void sr_http_conn_defer(struct sr_http_conn *conn);

/* Sends what is corked. */
int sr_http_conn_uncork(struct sr_http_conn *conn) SR_WARN_UNUSED;

enum sr_http_phase sr_http_conn_phase(const struct sr_http_conn *conn);

/* Sets the timer for what the connection waits for now; `progress`: bytes of the request were read. */
void sr_http_conn_timer(struct sr_http_conn *conn, bool progress);

#endif
