/*
 * HTTP/1.1 connections: the order of requests, timeouts, and the first bytes that say which protocol it is.
 *
 * One function, conn_run, drives a connection: it passes input to the parser and events to the handler, and
 * goes from a finished response to the next request. Calls of the handler never run it; they only record what
 * happened and defer it, so no callback runs inside a call. response.c writes responses; a connection of
 * HTTP/2 goes to streams.c.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "net/server/private.h"

#define LINGER_MS    1000
#define PENDING_KEEP 16384 /* memory that an idle connection may keep */
#define LOST_MS      250   /* between looks at a client that has ended its sending */
#define LOST_LOOKS   8     /* then one whose answer had begun, and to which nothing was sent since, is gone */

static void conn_run(struct sr_http_conn *conn, const char *p, size_t n);

/* ---- lifetime of a connection ---- */

static void conn_free(struct sr_http_conn *conn)
{
    struct sr_http_server *server = conn->server;
    *conn->pprev = conn->next;
    if (conn->next)
        conn->next->pprev = conn->pprev;
    server->connections--;
    sr_timer_stop(&conn->timer);
    sr_timer_stop(&conn->lost);
    sr_deferred_cancel(&conn->task);
    sr_conn_close(&conn->sock);
    sr_http1_dispose(&conn->parser);
    sr_buf_dispose(&conn->pending);
    sr_buf_dispose(&conn->cork);
    sr_arena_dispose(&conn->request.arena);
    sr_mem_free(conn);
    sr_http_server_left(server);
}

/* Notifies the handler of the end of its request. */
static void request_done(struct sr_http_conn *conn, bool complete)
{
    if (!conn->request.active)
        return;
    conn->request.active = false;
    conn->server->counts.busy--;
    conn->server->handler->done(conn->request.ctx, &conn->request, complete);
}

/* The connection is lost or closed. */
void sr_http_conn_drop(struct sr_http_conn *conn)
{
    request_done(conn, false);
    conn_free(conn);
}

/* Closes after a last answer that is in the queue; the client has a short time to read it. */
static void conn_close_after_answer(struct sr_http_conn *conn)
{
    sr_conn_finish(&conn->sock, LINGER_MS);
    conn_free(conn);
}

/* The request cannot be completed: answers if no answer has started, and closes. */
static void conn_fail(struct sr_http_conn *conn, int status, const char *reason)
{
    struct sr_http_request *request = &conn->request;
    const struct sr_http_head *head = conn->parser.head.method.n ? &conn->parser.head : NULL;
    bool answered = request->active ? request->responded : conn->reading_body;
    if (answered || sr_http_error_write(conn->server, conn->sock, status, reason, head) != SR_OK) {
        sr_http_conn_drop(conn);
        return;
    }
    request->error_status = status;
    request_done(conn, false);
    conn_close_after_answer(conn);
}

/* ---- timeouts ---- */

static void timer_fired(void *ctx)
{
    struct sr_http_conn *conn = ctx;
    size_t queued = sr_conn_queued(conn->sock);
    if (sr_http_conn_phase(conn) != conn->phase) {
        sr_http_conn_timer(conn, false);
        return;
    }
    switch (conn->phase) {
    case SR_HTTP_PHASE_NONE:
        break;
    case SR_HTTP_PHASE_IDLE:
        sr_http_conn_drop(conn);
        break;
    case SR_HTTP_PHASE_WRITE:
        if (queued >= conn->queued_then && queued) {
            sr_http_conn_drop(conn);
            break;
        }
        conn->queued_then = queued;
        sr_timer_start(&conn->timer, conn->server->settings.write_timeout_ms);
        break;
    case SR_HTTP_PHASE_HEAD:
        if (conn->open)
            conn_fail(conn, 408, "the request head took too long");
        else
            sr_http_conn_drop(conn);
        break;
    case SR_HTTP_PHASE_BODY:
        conn_fail(conn, 408, "the request body took too long");
        break;
    }
}

/* ---- driving a connection ---- */

static void request_begin(struct sr_http_conn *conn)
{
    struct sr_http_request *request = &conn->request;
    struct sr_http_server *server = conn->server;
    const struct sr_http_head *head = &conn->parser.head;
    struct sr_arena arena = request->arena;
    uint64_t started = request->started_ns;
    *request = (struct sr_http_request){.ops = &sr_http_conn_ops,
                                        .head = head,
                                        .protocol = head->minor ? SR_LIT("HTTP/1.1") : SR_LIT("HTTP/1.0"),
                                        .arena = arena,
                                        .started_ns = started,
                                        .active = true};
    server->counts.busy++;
    conn->close_after = !head->keep_alive || server->draining;
    conn->chunked = false;
    conn->reading_body = true;
    conn->phase = SR_HTTP_PHASE_NONE; /* the phase that follows is a new one, also where it is the same */
    conn->body_since = sr_loop_now(server->loop);
    conn->body_ms = 0;
    server->handler->request(server->ctx, request);
}

/* The parser's message is complete, or the connection is new: the next message may start. */
static void message_begin(struct sr_http_conn *conn)
{
    conn->parser.limits = conn->server->settings.limits;
    sr_http1_begin(&conn->parser, &conn->request.arena, false);
    conn->between = false;
}

/* The kernel has the whole response. False: the connection was closed. */
static bool request_complete(struct sr_http_conn *conn)
{
    struct sr_http_request *request = &conn->request;
    bool close_after = conn->close_after;
    request_done(conn, true);
    if (close_after) {
        conn_close_after_answer(conn);
        return false;
    }
    if (!conn->reading_body)
        sr_arena_dispose(&request->arena);
    return true;
}

/* Passes one event to the handler. False: the connection was freed. */
static bool event_handle(struct sr_http_conn *conn, enum sr_http1_event event, struct sr_bytes body)
{
    const struct sr_http_handler *handler = conn->server->handler;
    struct sr_http_request *request = &conn->request;
    switch (event) {
    case SR_HTTP1_HEAD:
        request_begin(conn);
        break;
    case SR_HTTP1_BODY:
        if (request->active && !request->finished)
            handler->body(request->ctx, request, body);
        break;
    case SR_HTTP1_END:
        conn->reading_body = false;
        conn->between = true;
        if (request->active && !request->finished)
            handler->body_end(request->ctx, request);
        if (!request->active)
            sr_arena_dispose(&request->arena);
        break;
    case SR_HTTP1_FAIL:
        conn_fail(conn, conn->parser.status, conn->parser.reason);
        return false;
    case SR_HTTP1_MORE:
        break;
    }
    return true;
}

/* Parses and answers as far as possible; *at is the offset reached. False: the connection was freed. */
static bool conn_step(struct sr_http_conn *conn, const char *p, size_t n, size_t *at)
{
    struct sr_http_request *request = &conn->request;
    for (;;) {
        enum sr_http1_event event;
        struct sr_bytes body;
        size_t used;
        if (request->active && request->broken) {
            sr_http_conn_drop(conn);
            return false;
        }
        if (request->active && request->finished && !sr_conn_queued(conn->sock) && !request_complete(conn))
            return false;
        if (request->active && (request->paused || !conn->reading_body) &&
            !(request->finished && conn->reading_body))
            return true;
        if (conn->between) {
            if (conn->server->draining) {
                conn_close_after_answer(conn);
                return false;
            }
            message_begin(conn);
        }
        if (*at < n && sr_http1_is_idle(&conn->parser))
            request->started_ns = sr_clock_ns();
        event = sr_http1_next(&conn->parser, p + *at, n - *at, &used, &body);
        *at += used;
        if (event == SR_HTTP1_MORE && conn->eof) {
            sr_http_conn_drop(conn); /* the rest of a request, or another, cannot come */
            return false;
        }
        if (event == SR_HTTP1_MORE)
            return true;
        if (!event_handle(conn, event, body))
            return false;
    }
}

/* Keeps unparsed input, and stops reading when there is too much of it. */
static int pending_keep(struct sr_http_conn *conn, const char *p, size_t n, size_t at)
{
    struct sr_buf *pending = &conn->pending;
    int rc = SR_OK;
    if (pending->len)
        sr_buf_consume(pending, at);
    else if (at < n)
        rc = sr_buf_append(pending, p + at, n - at);
    if (!pending->len && pending->cap > PENDING_KEEP)
        sr_buf_dispose(pending);
    if (!conn->request.active && conn->cork.cap > SR_HTTP_CORK_KEEP)
        sr_buf_dispose(&conn->cork);
    if (pending->len >= conn->server->settings.pipeline_bytes)
        sr_conn_pause(conn->sock);
    else
        sr_conn_resume(conn->sock);
    return rc;
}

static void conn_run(struct sr_http_conn *conn, const char *p, size_t n)
{
    size_t at = 0;
    conn->running = true;
    if (conn->pending.len) {
        if (n && sr_buf_append(&conn->pending, p, n) != SR_OK) {
            sr_http_conn_drop(conn);
            return;
        }
        p = conn->pending.data;
        n = conn->pending.len;
    }
    if (!conn_step(conn, p, n, &at))
        return;
    conn->running = false;
    if (sr_http_conn_uncork(conn) != SR_OK) {
        sr_http_conn_drop(conn);
        return;
    }
    if (pending_keep(conn, p, n, at) != SR_OK) {
        sr_http_conn_drop(conn);
        return;
    }
    sr_http_conn_timer(conn, at > 0);
}

static void conn_task(void *ctx)
{
    conn_run(ctx, "", 0);
}

/* ---- events of the socket ---- */

/* The protocol of a connection is known. */
static void protocol_known(struct sr_http_conn *conn)
{
    conn->fresh = false;
    conn->server->counts.http1++;
}

/* The client speaks HTTP/2, and sent these bytes. The connection was freed. */
static void conn_leave(struct sr_http_conn *conn, const char *p, size_t n)
{
    struct sr_conn *sock = conn->sock;
    conn->sock = NULL;
    sr_http_streams_adopt(conn->server, sock, p, n);
    conn_free(conn);
}

/* Holds the first bytes while they may be those of HTTP/2. False: they are not, and nothing was taken. */
static bool greeting_take(struct sr_http_conn *conn, const char *p, size_t n)
{
    static const char greeting[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"; /* RFC 9113, 3.4 */
    const size_t whole = sizeof greeting - 1, had = conn->pending.len;
    const size_t part = n < whole - had ? n : whole - had;
    if (memcmp(p, greeting + had, part) != 0) {
        protocol_known(conn);
        return false;
    }
    if (sr_buf_append(&conn->pending, p, n) != SR_OK)
        sr_http_conn_drop(conn);
    else if (had + part == whole)
        conn_leave(conn, conn->pending.data, conn->pending.len);
    else
        sr_http_conn_timer(conn, false);
    return true;
}

static void sock_opened(void *ctx)
{
    struct sr_http_conn *conn = ctx;
    conn->open = true;
    if (conn->server->tls && strcmp(sr_conn_alpn(conn->sock), "h2") == 0) {
        conn_leave(conn, "", 0);
        return;
    }
    protocol_known(conn);
    sr_http_conn_timer(conn, false);
}

static void sock_data(void *ctx, const char *p, size_t n)
{
    struct sr_http_conn *conn = ctx;
    if (!conn->fresh || !greeting_take(conn, p, n))
        conn_run(conn, p, n);
}

/* While the answer to a client that has ended its sending is awaited. */
static void lost_fired(void *ctx)
{
    struct sr_http_conn *conn = ctx;
    bool silent = conn->eof_in_answer && sr_conn_sent(conn->sock) == conn->sent_at_eof;
    if (sr_conn_is_lost(conn->sock) || (silent && ++conn->lost_looks >= LOST_LOOKS))
        sr_http_conn_drop(conn);
    else
        sr_timer_start(&conn->lost, LOST_MS);
}

/* A client that closed looks like one that only ended its sending (shutdown) and waits for its answer. Bytes
 * tell them apart: a closed socket answers them with a reset. Before the answer these are an interim
 * response, which clients of HTTP/1.1 skip; in an answer its next bytes, for which it is kept a short time.
 */
static void sock_eof(void *ctx)
{
    struct sr_http_conn *conn = ctx;
    struct sr_http_request *request = &conn->request;
    struct sr_bytes interim = SR_LIT("HTTP/1.1 100 Continue\r\n\r\n");
    conn->eof = true;
    conn->eof_in_answer = request->active && request->responded && !request->finished;
    conn->sent_at_eof = sr_conn_sent(conn->sock);
    /* Paused: the handler waits, with what is left of the body already here. */
    bool waits = !conn->reading_body || request->paused;
    if (request->active && !request->responded && waits && conn->parser.head.minor == 1 &&
        sr_conn_write(conn->sock, &interim, 1) != SR_OK) {
        sr_http_conn_drop(conn);
        return;
    }
    sr_timer_start(&conn->lost, LOST_MS);
    conn_run(conn, "", 0);
}

static void sock_drained(void *ctx)
{
    struct sr_http_conn *conn = ctx;
    struct sr_http_request *request = &conn->request;
    const struct sr_http_handler *handler = conn->server->handler;
    if (request->active && !request->finished && handler->writable)
        handler->writable(request->ctx, request);
    /* The handler may have aborted or finished its request: conn_run handles that. */
    conn_run(conn, "", 0);
}

static void sock_failed(void *ctx, int code, const char *text)
{
    (void)code, (void)text;
    sr_http_conn_drop(ctx);
}

static const struct sr_conn_events conn_events = {.opened = sock_opened,
                                                  .data = sock_data,
                                                  .eof = sock_eof,
                                                  .drained = sock_drained,
                                                  .failed = sock_failed};

/* ---- for the server ---- */

void sr_http_conn_new(struct sr_http_server *server, struct sr_conn *sock)
{
    struct sr_http_conn *conn = sr_mem_calloc(1, sizeof *conn);
    if (!conn) {
        sr_conn_close(&sock);
        return;
    }
    conn->server = server;
    conn->sock = sock;
    conn->open = !server->tls;
    conn->fresh = conn->open && server->settings.http2.enabled;
    if (conn->open && !conn->fresh)
        protocol_known(conn);
    conn->phase = SR_HTTP_PHASE_NONE;
    conn->next = server->conns;
    conn->pprev = &server->conns;
    if (conn->next)
        conn->next->pprev = &conn->next;
    server->conns = conn;
    server->connections++;
    sr_timer_init(&conn->timer, server->loop, timer_fired, conn);
    sr_timer_init(&conn->lost, server->loop, lost_fired, conn);
    conn->task = (struct sr_deferred){.run = conn_task, .ctx = conn};
    sr_http1_init(&conn->parser, SR_HTTP1_REQUEST, &server->settings.limits);
    sr_buf_init(&conn->cork, SR_HTTP_CORK_MAX);
    sr_buf_init(&conn->pending, server->settings.pipeline_bytes + SR_LOOP_READ_SIZE);
    sr_arena_init(&conn->request.arena, server->settings.arena_bytes);
    message_begin(conn);
    sr_conn_set_events(sock, &conn_events, conn);
    sr_http_conn_timer(conn, false);
}

void sr_http_conn_drain(struct sr_http_conn *conn)
{
    if (conn->request.active)
        conn->close_after = true;
    else if (!conn->reading_body && !conn->running && sr_http1_is_idle(&conn->parser) && !conn->pending.len)
        conn_free(conn);
}
