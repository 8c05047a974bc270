/*
 * HTTP/2 server connections: their lifetime, sending, timeouts, drain. frames.c handles frames.
 *
 * nghttp2 parses the bytes from the socket and produces the bytes to send. A connection sends at the end of
 * each read, and in a deferred task after calls on streams, never inside them; it takes no more bytes from
 * nghttp2 while the socket's queue is full.
 */
#include "net/http2/http2.h"

#include "base/mem.h"
#include "net/http2/private.h"

#include <unistd.h>

#define GATHER_BYTES    65536               /* one write to the socket */
#define SOCKET_BUSY     ((size_t)256 << 10) /* queued bytes of the socket above which sending stops */
#define OUTBOUND_SPARE  1000                /* frames that may be queued in addition to two for each stream */
#define DRAIN_NOTICE_MS 1000                /* at most, between the two GOAWAYs */
#define LINGER_MS       1000

static void conn_drop(struct sr_http2_conn *conn);
static void conn_tick(void *ctx);

struct sr_http2_settings sr_http2_settings_defaults(void)
{
    return (struct sr_http2_settings){
        .max_connections = 10000,
        .max_streams = 16384,
        .header_list_bytes = 65536,
        .frame_bytes = 65536,
        .stream_window = (uint32_t)1 << 20,
        .connection_window = (uint32_t)64 << 20,
        .send_bytes = (size_t)80 << 20,
        .connection_send_bytes = (size_t)512 << 20,
        .resets_per_second = 1000,
        .handshake_timeout_ms = 10000,
        .idle_timeout_ms = 0,
        .ping_interval_ms = 60000,
        .ping_timeout_ms = 20000,
        .write_timeout_ms = 60000,
    };
}

/* ---- sending ---- */

static int gather_write(struct sr_http2_conn *conn, const void *p, size_t n)
{
    struct sr_bytes slice = sr_bytes_of(p, n);
    return n ? sr_conn_write(conn->sock, &slice, 1) : SR_OK;
}

/* Moves frames to the socket until none is left or the socket's queue is full. */
static int conn_send(struct sr_http2_conn *conn)
{
    char gather[GATHER_BYTES];
    const uint8_t *p;
    size_t fill = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_conn_queued(conn->sock) < SOCKET_BUSY) {
        ssize_t n = nghttp2_session_mem_send(conn->session, &p);
        if (n < 0)
            return n == NGHTTP2_ERR_NOMEM ? SR_ENOMEM : SR_EPROTO;
        if (fill && (n == 0 || fill + (size_t)n > sizeof gather)) {
            rc = gather_write(conn, gather, fill);
            fill = 0;
        }
        if (n == 0)
            break;
        if ((size_t)n > sizeof gather) {
            if (rc == SR_OK)
                rc = gather_write(conn, p, (size_t)n);
        } else {
            memcpy(gather + fill, p, (size_t)n);
            fill += (size_t)n;
        }
    }
    return rc == SR_OK ? gather_write(conn, gather, fill) : rc;
}

/* Stops reading until the peer has read more of the answers. */
static void conn_throttle(struct sr_http2_conn *conn)
{
    size_t queued = sr_conn_queued(conn->sock);
    if (queued < SOCKET_BUSY) {
        conn->blocked_since = 0;
        sr_conn_resume(conn->sock);
        return;
    }
    if (!conn->blocked_since) {
        conn->blocked_since = sr_http2_now(conn);
        conn->blocked_bytes = queued;
        conn_tick(conn);
        return;
    }
    if (nghttp2_session_get_outbound_queue_size(conn->session) >
        2 * (size_t)conn->settings.max_streams + OUTBOUND_SPARE)
        sr_conn_pause(conn->sock);
}

static void tell_writable(struct sr_http2_conn *conn)
{
    const struct sr_http2_handler *handler = conn->server->handler;
    while (conn->writable) {
        struct sr_http2_stream *stream = conn->writable;
        conn->writable = stream->writable_next;
        if (conn->writable)
            conn->writable->writable_pprev = &conn->writable;
        stream->writable_pprev = NULL;
        stream->asked = false;
        if (handler->writable && sr_http2_stream_listens(stream) && !stream->finished)
            handler->writable(stream->ctx, stream);
    }
}

static void conn_flush(void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    if (!conn->open)
        return;
    if (conn_send(conn) != SR_OK) {
        conn_drop(conn);
        return;
    }
    tell_writable(conn);
    if (!nghttp2_session_want_read(conn->session) && !nghttp2_session_want_write(conn->session)) {
        sr_conn_finish(&conn->sock, LINGER_MS);
        conn_drop(conn);
        return;
    }
    conn_throttle(conn);
}

/* ---- timeouts ---- */

static void due_min(uint64_t *due, uint64_t at)
{
    *due = at < *due ? at : *due;
}

/* SR_ETIMEOUT when the connection must be closed; *due is the time of the next check. */
static int tick_write(struct sr_http2_conn *conn, uint64_t now, uint64_t *due)
{
    uint32_t limit = conn->settings.write_timeout_ms;
    size_t queued = sr_conn_queued(conn->sock);
    if (!conn->blocked_since || !limit)
        return SR_OK;
    if (now - conn->blocked_since >= limit) {
        if (queued >= conn->blocked_bytes)
            return SR_ETIMEOUT;
        conn->blocked_since = now;
        conn->blocked_bytes = queued;
    }
    due_min(due, conn->blocked_since + limit);
    return SR_OK;
}

static int tick_ping(struct sr_http2_conn *conn, uint64_t now, uint64_t *due)
{
    const struct sr_http2_settings *settings = &conn->settings;
    if (!settings->ping_interval_ms)
        return SR_OK;
    if (conn->pinged && now - conn->pinged_at >= settings->ping_timeout_ms)
        return SR_ETIMEOUT;
    if (!conn->pinged && now - conn->read_at >= settings->ping_interval_ms) {
        conn->pinged = true;
        conn->pinged_at = now;
        nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
        sr_http2_conn_wake(conn);
    }
    due_min(due, conn->pinged ? conn->pinged_at + settings->ping_timeout_ms
                              : conn->read_at + settings->ping_interval_ms);
    return SR_OK;
}

/* A header block that comes in pieces has the time of a handshake. */
static int tick_head(struct sr_http2_conn *conn, uint64_t now, uint64_t *due)
{
    uint64_t until = conn->head_since + conn->settings.handshake_timeout_ms;
    if (!conn->head_since)
        return SR_OK;
    due_min(due, until);
    return now < until ? SR_OK : SR_ETIMEOUT;
}

static void tick_idle(struct sr_http2_conn *conn, uint64_t now, uint64_t *due)
{
    uint32_t limit = conn->settings.idle_timeout_ms;
    if (!limit || conn->draining)
        return;
    if (!conn->stream_count && now - conn->idle_since >= limit)
        sr_http2_conn_drain(conn);
    else
        due_min(due, conn->stream_count ? now + limit : conn->idle_since + limit);
}

/* Checks every limit and returns when to check again; an active connection never changes its timer. */
static void conn_tick(void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    uint64_t now = sr_http2_now(conn), due = UINT64_MAX, greet = conn->accepted_at;
    greet += conn->settings.handshake_timeout_ms;
    if (!conn->greeted) {
        if (now >= greet) {
            conn_drop(conn);
            return;
        }
        due_min(&due, greet);
    } else if (tick_write(conn, now, &due) != SR_OK || tick_ping(conn, now, &due) != SR_OK ||
               tick_head(conn, now, &due) != SR_OK) {
        conn_drop(conn);
        return;
    }
    tick_idle(conn, now, &due);
    if (conn->noticed && !conn->draining) {
        if (now - conn->noticed_at >= DRAIN_NOTICE_MS)
            sr_http2_conn_drain(conn);
        else
            due_min(&due, conn->noticed_at + DRAIN_NOTICE_MS);
    }
    if (due != UINT64_MAX)
        sr_timer_start(&conn->timer, due > now ? due - now : 1);
}

/* ---- events of the socket ---- */

static void sock_opened(void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    conn->open = true;
    conn_flush(conn);
}

static void sock_data(void *ctx, const char *p, size_t n)
{
    struct sr_http2_conn *conn = ctx;
    ssize_t used;
    conn->open = true;
    conn->read_at = sr_http2_now(conn);
    if (conn->pinged)
        sr_timer_start(&conn->timer, 1); /* it was set for the answer */
    conn->pinged = false;
    used = nghttp2_session_mem_recv(conn->session, (const uint8_t *)p, n);
    if (used < 0) {
        conn->server->floods += used == NGHTTP2_ERR_FLOODED && !conn->flooded;
        conn_drop(conn);
        return;
    }
    if (conn->head_since)
        sr_timer_start(&conn->timer, 1); /* the head is not complete: it has a deadline */
    conn_flush(conn);
}

static void sock_eof(void *ctx)
{
    conn_drop(ctx);
}

static void sock_failed(void *ctx, int code, const char *text)
{
    (void)code, (void)text;
    conn_drop(ctx);
}

static const struct sr_conn_events conn_events = {
    .opened = sock_opened, .data = sock_data, .eof = sock_eof, .drained = conn_flush, .failed = sock_failed};

/* ---- lifetime of a connection ---- */

static void drained_task(void *ctx)
{
    struct sr_http2_server *server = ctx;
    if (server->handler->drained)
        server->handler->drained(server->ctx);
}

/* Notifies streams that are still open; only from callbacks of the loop. */
static void conn_drop(struct sr_http2_conn *conn)
{
    struct sr_http2_server *server = conn->server;
    conn->dead = true;
    while (conn->streams)
        sr_http2_stream_end(conn->streams, conn->streams->end_sent ? SR_OK : SR_ECLOSED, 0);
    if (conn->pprev) {
        *conn->pprev = conn->next;
        if (conn->next)
            conn->next->pprev = conn->pprev;
        server->connections--;
    }
    sr_timer_stop(&conn->timer);
    sr_deferred_cancel(&conn->task);
    sr_conn_close(&conn->sock);
    nghttp2_session_del(conn->session);
    sr_http2_memory_dispose(&conn->memory);
    sr_buf_dispose(&conn->head_bytes);
    sr_buf_dispose(&conn->head_fields);
    sr_mem_free(conn);
    if (server->draining && !server->connections)
        sr_loop_defer(server->loop, &server->task);
}

/* Takes `sock`, also on failure: NULL. */
static struct sr_http2_conn *conn_new(struct sr_http2_server *server, struct sr_conn *sock, bool open)
{
    struct sr_http2_conn *conn;
    if (server->connections >= server->settings.max_connections ||
        (conn = sr_mem_calloc(1, sizeof *conn)) == NULL) {
        sr_conn_close(&sock);
        return NULL;
    }
    conn->server = server;
    conn->sock = sock;
    conn->settings = server->settings;
    conn->open = open;
    conn->accepted_at = conn->read_at = conn->idle_since = conn->tokens_at = sr_http2_now(conn);
    conn->tokens = sr_http2_tokens_full(conn);
    conn->task = (struct sr_deferred){.run = conn_flush, .ctx = conn};
    sr_timer_init(&conn->timer, server->loop, conn_tick, conn);
    sr_buf_init(&conn->head_bytes, conn->settings.header_list_bytes);
    sr_buf_init(&conn->head_fields, conn->settings.header_list_bytes);
    if (sr_http2_session_open(conn) != SR_OK) {
        conn_drop(conn);
        return NULL;
    }
    conn->next = server->conns;
    conn->pprev = &server->conns;
    if (server->conns)
        server->conns->pprev = &conn->next;
    server->conns = conn;
    server->connections++;
    sr_conn_set_events(sock, &conn_events, conn);
    conn_tick(conn);
    sr_http2_conn_wake(conn);
    return conn;
}

static void accepted(void *ctx, struct sr_conn *sock)
{
    struct sr_http2_server *server = ctx;
    (void)conn_new(server, sock, !server->tls);
}

static const struct sr_listener_events listener_events = {.accepted = accepted};

/* ---- the server ---- */

static void server_free(struct sr_http2_server *server)
{
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->option);
    sr_mem_free(server);
}

int sr_http2_server_new(struct sr_http2_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                        const struct sr_http2_settings *settings, const struct sr_http2_handler *handler,
                        void *ctx)
{
    struct sr_http2_server *server = sr_mem_calloc(1, sizeof *server);
    int rc = server ? sr_http2_callbacks_new(server) : SR_ENOMEM;
    if (rc != SR_OK) {
        if (fd >= 0)
            close(fd);
        goto out;
    }
    server->loop = loop;
    server->settings = *settings;
    server->handler = handler;
    server->ctx = ctx;
    server->tls = tls != NULL;
    server->task = (struct sr_deferred){.run = drained_task, .ctx = server};
    if (fd >= 0)
        rc = sr_listener_start(&server->listener, loop, fd, tls, &listener_events, server);
out:
    if (rc == SR_OK)
        *out = server;
    else if (server)
        server_free(server);
    return rc;
}

void sr_http2_server_set(struct sr_http2_server *server, const struct sr_http2_settings *settings)
{
    server->settings = *settings;
}

void sr_http2_server_set_tls(struct sr_http2_server *server, sr_tls_context *tls)
{
    if (server->tls && tls && server->listener)
        sr_listener_set_tls(server->listener, tls);
}

/* The first GOAWAY, and a PING whose answer says that the peer has read it. */
static void conn_notice(struct sr_http2_conn *conn)
{
    nghttp2_submit_shutdown_notice(conn->session);
    nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
    conn->noticed = true;
    conn->noticed_at = sr_http2_now(conn);
    sr_timer_start(&conn->timer, DRAIN_NOTICE_MS);
    sr_http2_conn_wake(conn);
}

void sr_http2_server_adopt(struct sr_http2_server *server, struct sr_conn *sock, const char *p, size_t n)
{
    struct sr_http2_conn *conn = conn_new(server, sock, true);
    if (conn && server->draining)
        conn_notice(conn);
    if (conn && n)
        sock_data(conn, p, n);
}

void sr_http2_server_drain(struct sr_http2_server *server)
{
    struct sr_http2_conn *conn;
    if (server->draining)
        return;
    server->draining = true;
    sr_listener_close(&server->listener);
    for (conn = server->conns; conn; conn = conn->next)
        conn_notice(conn);
    if (!server->connections)
        sr_loop_defer(server->loop, &server->task);
}

void sr_http2_server_free(struct sr_http2_server *server)
{
    if (!server)
        return;
    sr_listener_close(&server->listener);
    server->draining = false;
    while (server->conns)
        conn_drop(server->conns);
    sr_deferred_cancel(&server->task);
    server_free(server);
}

size_t sr_http2_server_connections(const struct sr_http2_server *server)
{
    return server->connections;
}

size_t sr_http2_server_streams(const struct sr_http2_server *server)
{
    return server->streams;
}

size_t sr_http2_server_busy(const struct sr_http2_server *server)
{
    return server->busy;
}

uint64_t sr_http2_server_floods(const struct sr_http2_server *server)
{
    return server->floods;
}
