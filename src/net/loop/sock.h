/*
 * TCP listeners and connections on a loop, plain or TLS behind one interface.
 *
 * Owns file descriptors, write queues and the connection attempt (DNS, every address in turn, timeout).
 * Knows no protocol above bytes. Loop's thread only, except sr_listen_open.
 */
#ifndef SR_NET_LOOP_SOCK_H
#define SR_NET_LOOP_SOCK_H

#include "base/bytes.h"
#include "base/err.h"
#include "net/loop/loop.h"
#include "net/tls/tls.h"

#include <sys/socket.h>

#define SR_SOCK_ADDRESS_MAX 64 /* "[ipv6]:port" and the NUL */
#define SR_SOCK_HOST_MAX    256

/* ---- connections ---- */

struct sr_conn;

/* The callbacks of a connection. Any callback may close the connection; after sr_conn_close returns no
 * callback is called. A callback never runs inside a call of the owner on the same connection. */
struct sr_conn_events {
    /* Outgoing: the connection is established and the handshake is done. Accepted TLS: the handshake is done.
     * Optional. */
    void (*opened)(void *ctx);
    /* At most SR_LOOP_READ_SIZE bytes, borrowed for the call. Mandatory. */
    void (*data)(void *ctx, const char *p, size_t n);
    /* The peer will send nothing more; writing still works. Mandatory. */
    void (*eof)(void *ctx);
    /* The write queue became empty after it was not. Optional. */
    void (*drained)(void *ctx);
    /* The connection or the attempt failed: SR_ENOENT (name not found), SR_ETIMEOUT (connect timeout),
     * SR_ECLOSED (refused or reset), SR_EMISMATCH (certificate not accepted), SR_EPROTO (TLS), SR_EIO. `text`
     * is for people, borrowed. The owner can only close the connection. Mandatory. */
    void (*failed)(void *ctx, int code, const char *text);
};

struct sr_connect {
    const char *host; /* name or IP literal (no brackets); copied */
    uint16_t port;
    sr_tls_context *tls;     /* NULL: plain. Referenced by the connection */
    const char *server_name; /* name to verify and for SNI; NULL: host */
    uint32_t timeout_ms;     /* for DNS, all addresses and the handshake together; 0: none */
};

/* Starts to connect; `opened` or `failed` reports the result, never inside this call. SR_ENOMEM,
 * SR_EINVAL. */
int sr_conn_connect(struct sr_conn **out, struct sr_loop *loop, const struct sr_connect *to,
                    const struct sr_conn_events *events, void *ctx) SR_WARN_UNUSED;

/* Changes the owner (a pool passes a connection to a fetch). */
void sr_conn_set_events(struct sr_conn *conn, const struct sr_conn_events *events, void *ctx);

/* Sends the slices, in order. What the kernel takes at once is not copied; the rest is copied into the queue
 * and sent later. Before `opened` everything is queued. SR_ELIMIT: the queue would grow over its limit,
 * nothing was taken; SR_EPROTO, SR_ENOMEM: the connection failed, and `failed` is not called for it.
 * SR_ECLOSED, SR_ETIMEOUT, SR_EIO: nothing more can be sent, but bytes that the peer sent before may still be
 * read: `data`, and finally `eof` or `failed`, are called unless paused. */
int sr_conn_write(struct sr_conn *conn, const struct sr_bytes *slices, size_t count) SR_WARN_UNUSED;

/* The same for large memory that the owner keeps: accepts a prefix of *taken bytes, of which little is
 * copied, and nothing while the queue is not empty or the connection not open. The owner sends the rest at
 * `drained` (or `opened`), or at once when the queue is still empty. */
int sr_conn_write_some(struct sr_conn *conn, const struct sr_bytes *slices, size_t count,
                       size_t *taken) SR_WARN_UNUSED;

/* Bytes in the write queue (TLS: ciphertext). */
size_t sr_conn_queued(const struct sr_conn *conn);

/* Total bytes of plaintext passed to the kernel (TLS: to the session). Zero means that the peer cannot have
 * received any byte. */
uint64_t sr_conn_sent(const struct sr_conn *conn);

/* Limit of the queue; default 16 MiB. */
void sr_conn_set_queue_max(struct sr_conn *conn, size_t bytes);

/* Back-pressure: while paused neither `data` nor `eof` is called, and the kernel's buffer fills. A new
 * connection is not paused. */
void sr_conn_pause(struct sr_conn *conn);
void sr_conn_resume(struct sr_conn *conn);

/* Half-close: after the queue was sent the peer sees the end of the stream. At most once; nothing can be
 * written after it. */
void sr_conn_shutdown(struct sr_conn *conn);

/* True when the peer has neither closed nor sent unread bytes: checked before an idle connection is used
 * again. One system call. */
bool sr_conn_is_quiet(const struct sr_conn *conn);

/* True when the connection is known to be dead (reset), although the peer's end was received before. One
 * system call; for a peer that closed, but of which it is not known whether it still reads. */
bool sr_conn_is_lost(const struct sr_conn *conn);

/* The address of the other side; false when it is not connected. */
bool sr_conn_address(const struct sr_conn *conn, struct sockaddr_storage *out);

/* "address:port" of the other side; lives as long as the connection; "" before it is known. */
const char *sr_conn_peer(const struct sr_conn *conn);

/* The protocol that ALPN chose ("h2"), from `opened` on; "" without TLS or without a choice. Lives as long as
 * the connection. */
const char *sr_conn_alpn(const struct sr_conn *conn);

/* `released` is called once, when the descriptor of the connection was closed: by sr_conn_close, or at the
 * end of what sr_conn_finish began. */
void sr_conn_set_released(struct sr_conn *conn, void (*released)(void *ctx, void *arg), void *ctx, void *arg);

/* Drops the queue and closes; *conn becomes NULL, so a second call has no effect. */
void sr_conn_close(struct sr_conn **conn);

/* Sends the queue, half-closes, reads and drops further input (so that a reset cannot destroy the last
 * answer), and closes when the peer does or after `linger_ms`. No callback is called after it; *conn becomes
 * NULL. */
void sr_conn_finish(struct sr_conn **conn, uint32_t linger_ms);

/* ---- listeners ---- */

struct sr_listener;

/* Any thread. Opens `count` sockets on the same address that share its connections (SO_REUSEPORT), one for
 * each loop, and writes them to `fds`; the caller hands each to sr_listener_start or closes it. `host` is an
 * IP literal, a name, or empty for every address; port 0 takes a free one. *port_out (optional) is the real
 * port. A port in use is SR_EBUSY, also by another semroute; SR_EINVAL: no
 * such address; SR_EIO. */
int sr_listen_open(const char *host, uint16_t port, size_t count, int *fds, uint16_t *port_out,
                   struct sr_err *err) SR_WARN_UNUSED;

struct sr_listener_events {
    /* A new connection, plain or TLS (then before its handshake). The owner gives it events within this call
     * with sr_conn_set_events, or closes it. */
    void (*accepted)(void *ctx, struct sr_conn *conn);
};

/* Accepts on `fd`, which it owns from now on, also when it fails. `tls` NULL: plain. */
int sr_listener_start(struct sr_listener **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                      const struct sr_listener_events *events, void *ctx) SR_WARN_UNUSED;

/* Descriptors from `number` on are kept for listeners that are marked with sr_listener_use_reserve, and for
 * files: other connections get none of them, as if the process had no more. Before any loop runs. */
void sr_sock_reserve(int number);
int sr_sock_reserved(void); /* INT_MAX: no reserve */
void sr_listener_use_reserve(struct sr_listener *listener);

/* Connections accepted from now on use this context (certificate reload); the old one is unreferenced. */
void sr_listener_set_tls(struct sr_listener *listener, sr_tls_context *tls);

/* Stops accepting and closes; idempotent like sr_conn_close. */
void sr_listener_close(struct sr_listener **listener);

#endif
