/*
 * Private to sock*.c: the structure of a connection and the functions that these files share.
 */
#ifndef SR_NET_LOOP_SOCK_PRIVATE_H
#define SR_NET_LOOP_SOCK_PRIVATE_H

#include "base/buf.h"
#include "net/loop/dns.h"
#include "net/loop/loop_uv.h"
#include "net/loop/sock.h"

struct sr_conn_handle {
    uv_tcp_t tcp;
    uv_connect_t connect; /* libuv writes to it until the handle is closed */
    struct sr_conn *conn; /* NULL: closing */
};

enum sr_conn_state { SR_CONN_CONNECTING, SR_CONN_HANDSHAKE, SR_CONN_OPEN, SR_CONN_BROKEN };

struct sr_conn_attempt {
    void (*timed_out)(struct sr_conn *conn); /* the timer fired while connecting */
    struct sr_dns_query *query;
    struct sr_dns_result addresses;
    size_t next;
    uint64_t deadline; /* 0: none */
    uint16_t port;
    sr_tls_context *tls;
    int last_status;
    char host[SR_SOCK_HOST_MAX];
    char server_name[SR_SOCK_HOST_MAX];
};

struct sr_conn {
    struct sr_loop *loop;
    struct sr_conn_handle *handle;
    const struct sr_conn_events *events;
    void *ctx;
    struct sr_tls *tls;
    struct sr_conn_attempt *attempt; /* while connecting */
    struct sr_buf before_open;       /* written before the connection was open */
    size_t queued, queue_max;
    uint64_t sent;
    void (*released)(void *ctx, void *arg);
    void *released_ctx, *released_arg;
    struct sr_timer timer; /* attempt, handshake, linger */
    struct sr_deferred task;
    enum sr_conn_state state;
    bool closed;    /* closed by the owner: no callback is called */
    bool lingering; /* closed by sr_conn_finish, still draining */
    bool paused;    /* by the owner */
    bool reading;   /* libuv is reading */
    bool eof;       /* the peer's end was received */
    bool eof_told;  /* and reported */
    bool shut;      /* the end of the stream was sent or queued */
    bool fail_told;
    int write_error; /* nothing can be sent, but received bytes may still be read */
    int fail_code;
    char fail_text[200];
    char peer[SR_SOCK_ADDRESS_MAX];
};

struct sr_conn *sr_conn_new(struct sr_loop *loop);

/* The libuv handle: an attempt opens and closes one per address. Closing has no effect without one. */
int sr_conn_handle_open(struct sr_conn *conn) SR_WARN_UNUSED;
void sr_conn_handle_close(struct sr_conn *conn);

/* Records the first failure and returns its code; reported later by sr_conn_tell_failure, in a callback of
 * the loop. */
int sr_conn_break(struct sr_conn *conn, int code, const char *text);
void sr_conn_tell_failure(struct sr_conn *conn);

/* Starts or stops libuv's reading so that it matches what the owner wants. */
void sr_conn_read_update(struct sr_conn *conn);

/* Both run in a callback of the loop: the first drives the handshake, the second reports that the connection
 * is open. */
void sr_conn_handshake(struct sr_conn *conn);
void sr_conn_became_open(struct sr_conn *conn);

/* A connection over the accepted `fd`, which it owns from now on, also when it fails; it starts to read (or
 * its handshake) after `accepted` has returned: sr_conn_accept_begin. */
int sr_conn_accept(struct sr_conn **out, struct sr_loop *loop, int fd, sr_tls_context *tls) SR_WARN_UNUSED;
void sr_conn_accept_begin(struct sr_conn *conn);

#endif
