/*
 * HTTP/2 server connections: nghttp2's callbacks, sending, time limits, floods, drain.
 *
 * nghttp2 gets bytes from the socket and gives bytes for it. A connection sends at the end of each read, and
 * in a deferred task after calls of streams, never inside them; it stops asking nghttp2 for bytes while the
 * socket has enough to do.
 */
#include "net/http2.h"

#include "base/mem.h"
#include "net/http2_private.h"

#include <unistd.h>

#define GATHER_BYTES    65536               /* one write to the socket */
#define SOCKET_BUSY     ((size_t)256 << 10) /* bytes in the socket's queue that stop sending */
#define OUTBOUND_SPARE  1000                /* frames that may wait besides two for each stream */
#define DRAIN_NOTICE_MS 1000                /* at most, between the two GOAWAYs */
#define LINGER_MS       1000
#define FIELD_OVERHEAD  32 /* RFC 9113, 6.5.2: what a header counts besides its bytes */
#define HEAD_KEEP       16384

/* Prices of frames that make work, in thousandths of a reset. */
#define PRICE_RESET 1000
#define PRICE_PING  100
#define PRICE_EMPTY 50

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

static uint64_t now_of(const struct sr_http2_conn *conn)
{
    return sr_loop_now(conn->server->loop);
}

/* ---- floods ---- */

static int64_t tokens_full(const struct sr_http2_conn *conn)
{
    return (int64_t)conn->settings.resets_per_second * PRICE_RESET * 10;
}

/* Takes the price of a frame out of the peer's account, or ends the connection when it is overdrawn. */
static void flood_charge(struct sr_http2_conn *conn, int64_t price)
{
    uint64_t now = now_of(conn);
    int64_t full = tokens_full(conn);
    conn->tokens += (int64_t)(now - conn->tokens_at) * conn->settings.resets_per_second * PRICE_RESET / 1000;
    conn->tokens = conn->tokens > full ? full : conn->tokens;
    conn->tokens_at = now;
    conn->tokens -= price;
    if (conn->tokens < 0)
        nghttp2_session_terminate_session(conn->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- streams ---- */

static struct sr_http2_stream *stream_find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* The peer takes nothing of a finished answer. */
static void stream_stuck(void *ctx)
{
    sr_http2_stream_reset(ctx, SR_HTTP2_CANCEL);
}

static struct sr_http2_stream *stream_new(struct sr_http2_conn *conn, int32_t id)
{
    struct sr_http2_stream *stream = sr_mem_calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->conn = conn;
    stream->id = id;
    sr_buf_init(&stream->out, conn->settings.send_bytes * 2); /* what was sent lies in front for a while */
    sr_timer_init(&stream->timer, conn->server->loop, stream_stuck, stream);
    stream->next = conn->streams;
    stream->pprev = &conn->streams;
    if (conn->streams)
        conn->streams->pprev = &stream->next;
    conn->streams = stream;
    conn->stream_count++;
    conn->server->streams++;
    return stream;
}

static void stream_end(struct sr_http2_stream *stream, int why, uint32_t code)
{
    struct sr_http2_conn *conn = stream->conn;
    if (stream->phase == SR_HTTP2_OPEN)
        conn->server->handler->closed(stream->ctx, stream, why, code);
    sr_http2_stream_free(stream);
    if (!conn->stream_count)
        conn->idle_since = now_of(conn);
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_http2_stream *stream = stream_find(session, id);
    int why = SR_EPROTO;
    if (!stream)
        return 0;
    if (stream->end_sent)
        why = SR_OK;
    else if (stream->reset_theirs)
        why = SR_ECANCELED;
    else if (stream->reset_ours)
        why = SR_ELIMIT;
    else if (code == NGHTTP2_NO_ERROR || code == NGHTTP2_REFUSED_STREAM)
        why = SR_ECLOSED;
    else
        flood_charge(conn, PRICE_RESET);
    if (stream->reset_theirs && !stream->responded)
        flood_charge(conn, PRICE_RESET);
    if (stream->unconsumed)
        nghttp2_session_consume_connection(session, stream->unconsumed);
    stream->unconsumed = 0;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    stream_end(stream, why, code);
    return 0;
}

/* ---- heads ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_http2_stream *stream;
    nghttp2_extpri fair = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    sr_buf_clear(&conn->head_bytes);
    sr_buf_clear(&conn->head_fields);
    conn->head_size = 0;
    conn->head_too_large = false;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    stream = stream_new(conn, frame->hd.stream_id);
    if (!stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    nghttp2_session_change_extpri_stream_priority(session, stream->id, &fair, 1);
    return 0;
}

/* Names and values are kept as offsets until the block is complete, for the bytes may move. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_buf *bytes = &conn->head_bytes;
    struct sr_http2_header field = {{NULL, name_n}, {NULL, value_n}};
    (void)session, (void)flags;
    if (frame->hd.type != NGHTTP2_HEADERS || conn->head_too_large)
        return 0;
    conn->head_size += name_n + value_n + FIELD_OVERHEAD;
    if (conn->head_size > conn->settings.header_list_bytes ||
        sr_buf_append(&conn->head_fields, &field, sizeof field) != SR_OK ||
        sr_buf_append(bytes, name, name_n) != SR_OK || sr_buf_append(bytes, value, value_n) != SR_OK)
        conn->head_too_large = true;
    return 0;
}

static void head_build(struct sr_http2_conn *conn, struct sr_http2_head *head)
{
    struct sr_http2_header *fields = (struct sr_http2_header *)conn->head_fields.data;
    size_t count = conn->head_fields.len / sizeof *fields, at = 0, pseudo = 0;
    *head = (struct sr_http2_head){0};
    for (size_t i = 0; i < count; i++) {
        struct sr_http2_header *field = &fields[i];
        field->name.p = conn->head_bytes.data + at;
        field->value.p = field->name.p + field->name.n;
        at += field->name.n + field->value.n;
        if (field->name.p[0] != ':')
            continue;
        pseudo = i + 1; /* nghttp2 lets them come first only */
        if (sr_bytes_eq(field->name, SR_LIT(":method")))
            head->method = field->value;
        else if (sr_bytes_eq(field->name, SR_LIT(":path")))
            head->path = field->value;
        else if (sr_bytes_eq(field->name, SR_LIT(":scheme")))
            head->scheme = field->value;
        else if (sr_bytes_eq(field->name, SR_LIT(":authority")))
            head->authority = field->value;
    }
    head->headers = fields ? fields + pseudo : NULL;
    head->header_count = count - pseudo;
}

static void request_head(struct sr_http2_conn *conn, struct sr_http2_stream *stream)
{
    struct sr_http2_head head;
    if (stream->phase != SR_HTTP2_HEAD)
        return;
    if (conn->head_too_large) {
        stream->phase = SR_HTTP2_REFUSED;
        if (sr_http2_stream_respond(stream, 431, NULL, 0, true) != SR_OK)
            sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
    } else {
        stream->phase = SR_HTTP2_OPEN;
        head_build(conn, &head);
        conn->server->handler->open(conn->server->ctx, stream, &head);
    }
    if (conn->head_bytes.cap > HEAD_KEEP)
        sr_buf_dispose(&conn->head_bytes);
    if (conn->head_fields.cap > HEAD_KEEP)
        sr_buf_dispose(&conn->head_fields);
}

/* ---- other frames ---- */

static bool stream_listens(const struct sr_http2_stream *stream)
{
    return stream->phase == SR_HTTP2_OPEN && !stream->reset_ours;
}

static void request_end(struct sr_http2_conn *conn, struct sr_http2_stream *stream)
{
    stream->request_end = true;
    if (stream_listens(stream))
        conn->server->handler->end(stream->ctx, stream);
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_http2_stream *stream = stream_find(session, id);
    (void)flags;
    if (!stream || !stream_listens(stream)) {
        nghttp2_session_consume(session, id, n);
        return 0;
    }
    stream->unconsumed += n;
    conn->server->handler->data(stream->ctx, stream, sr_bytes_of(p, n));
    return 0;
}

/* The second GOAWAY: what the peer began before it saw the first is served, the rest is not. */
static void conn_leave(struct sr_http2_conn *conn)
{
    if (conn->leaving)
        return;
    conn->leaving = true;
    nghttp2_submit_goaway(conn->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(conn->session), NGHTTP2_NO_ERROR, NULL, 0);
    sr_http2_conn_wake(conn);
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_http2_stream *stream = frame->hd.stream_id ? stream_find(session, frame->hd.stream_id) : NULL;
    bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        if (stream && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            request_head(conn, stream);
        if (stream && end)
            request_end(conn, stream);
        break;
    case NGHTTP2_DATA:
        if (stream && end)
            request_end(conn, stream);
        else if (!frame->hd.length)
            flood_charge(conn, PRICE_EMPTY);
        break;
    case NGHTTP2_RST_STREAM:
        if (stream)
            stream->reset_theirs = true;
        break;
    case NGHTTP2_SETTINGS:
        if (!conn->greeted)
            sr_timer_start(&conn->timer, 1); /* other limits from now on */
        conn->greeted = true;
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
            flood_charge(conn, PRICE_RESET);
        break;
    case NGHTTP2_PING:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
            flood_charge(conn, PRICE_PING);
        else if (conn->noticed)
            conn_leave(conn);
        break;
    default:
        break;
    }
    return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sr_http2_stream *stream;
    (void)ctx;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    stream = stream_find(session, frame->hd.stream_id);
    if (!stream)
        return 0;
    stream->end_sent = true;
    if (!stream->request_end)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
    return 0;
}

/* ---- sending ---- */

void sr_http2_conn_wake(struct sr_http2_conn *conn)
{
    if (!conn->dead)
        sr_loop_defer(conn->server->loop, &conn->task);
}

static int gather_write(struct sr_http2_conn *conn, const void *p, size_t n)
{
    struct sr_bytes slice = sr_bytes_of(p, n);
    return n ? sr_conn_write(conn->sock, &slice, 1) : SR_OK;
}

/* Moves frames to the socket until there are none or it is busy. */
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

/* The peer must read before it makes more answers necessary. */
static void conn_throttle(struct sr_http2_conn *conn)
{
    size_t queued = sr_conn_queued(conn->sock);
    if (queued < SOCKET_BUSY) {
        conn->blocked_since = 0;
        sr_conn_resume(conn->sock);
        return;
    }
    if (!conn->blocked_since) {
        conn->blocked_since = now_of(conn);
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
        if (handler->writable && stream_listens(stream) && !stream->finished)
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

/* ---- time ---- */

static void due_min(uint64_t *due, uint64_t at)
{
    *due = at < *due ? at : *due;
}

/* SR_ETIMEOUT when the connection is to be dropped; *due is when to look again. */
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

static void tick_idle(struct sr_http2_conn *conn, uint64_t now, uint64_t *due)
{
    uint32_t limit = conn->settings.idle_timeout_ms;
    if (!limit || conn->leaving)
        return;
    if (!conn->stream_count && now - conn->idle_since >= limit)
        conn_leave(conn);
    else
        due_min(due, conn->stream_count ? now + limit : conn->idle_since + limit);
}

/* Looks at every limit, and says when to look again; a connection that goes on in time never touches its
 * timer. */
static void conn_tick(void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    uint64_t now = now_of(conn), due = UINT64_MAX, greet = conn->accepted_at;
    greet += conn->settings.handshake_timeout_ms;
    if (!conn->greeted) {
        if (now >= greet) {
            conn_drop(conn);
            return;
        }
        due_min(&due, greet);
    } else if (tick_write(conn, now, &due) != SR_OK || tick_ping(conn, now, &due) != SR_OK) {
        conn_drop(conn);
        return;
    }
    tick_idle(conn, now, &due);
    if (conn->noticed && !conn->leaving) {
        if (now - conn->noticed_at >= DRAIN_NOTICE_MS)
            conn_leave(conn);
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
    conn->read_at = now_of(conn);
    if (conn->pinged)
        sr_timer_start(&conn->timer, 1); /* it was set for the answer */
    conn->pinged = false;
    used = nghttp2_session_mem_recv(conn->session, (const uint8_t *)p, n);
    if (used < 0)
        conn_drop(conn);
    else
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

/* ---- life of a connection ---- */

static void drained_task(void *ctx)
{
    struct sr_http2_server *server = ctx;
    if (server->handler->drained)
        server->handler->drained(server->ctx);
}

/* Streams that still run are told; only from callbacks of the loop. */
static void conn_drop(struct sr_http2_conn *conn)
{
    struct sr_http2_server *server = conn->server;
    conn->dead = true;
    while (conn->streams)
        stream_end(conn->streams, conn->streams->end_sent ? SR_OK : SR_ECLOSED, 0);
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
    sr_buf_dispose(&conn->head_bytes);
    sr_buf_dispose(&conn->head_fields);
    sr_mem_free(conn);
    if (server->draining && !server->connections)
        sr_loop_defer(server->loop, &server->task);
}

static void *mem_malloc(size_t size, void *ctx)
{
    (void)ctx;
    return sr_mem_alloc(size);
}

static void mem_free(void *p, void *ctx)
{
    (void)ctx;
    sr_mem_free(p);
}

static void *mem_calloc(size_t count, size_t size, void *ctx)
{
    (void)ctx;
    return sr_mem_calloc(count, size);
}

static void *mem_realloc(void *p, size_t size, void *ctx)
{
    (void)ctx;
    return sr_mem_realloc(p, size);
}

static int session_open(struct sr_http2_conn *conn)
{
    const struct sr_http2_settings *settings = &conn->settings;
    nghttp2_mem mem = {NULL, mem_malloc, mem_free, mem_calloc, mem_realloc};
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings->max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings->stream_window},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings->frame_bytes},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings->header_list_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (nghttp2_session_server_new3(&conn->session, conn->server->callbacks, conn, conn->server->option,
                                    &mem) != 0)
        return SR_ENOMEM;
    if (nghttp2_submit_settings(conn->session, NGHTTP2_FLAG_NONE, entries,
                                sizeof entries / sizeof *entries) != 0 ||
        nghttp2_session_set_local_window_size(conn->session, NGHTTP2_FLAG_NONE, 0,
                                              (int32_t)settings->connection_window) != 0)
        return SR_ENOMEM;
    return SR_OK;
}

static void accepted(void *ctx, struct sr_conn *sock)
{
    struct sr_http2_server *server = ctx;
    struct sr_http2_conn *conn;
    if (server->connections >= server->settings.max_connections ||
        (conn = sr_mem_calloc(1, sizeof *conn)) == NULL) {
        sr_conn_close(&sock);
        return;
    }
    conn->server = server;
    conn->sock = sock;
    conn->settings = server->settings;
    conn->open = !server->tls;
    conn->accepted_at = conn->read_at = conn->idle_since = conn->tokens_at = now_of(conn);
    conn->tokens = tokens_full(conn);
    conn->task = (struct sr_deferred){.run = conn_flush, .ctx = conn};
    sr_timer_init(&conn->timer, server->loop, conn_tick, conn);
    sr_buf_init(&conn->head_bytes, conn->settings.header_list_bytes);
    sr_buf_init(&conn->head_fields, conn->settings.header_list_bytes);
    if (session_open(conn) != SR_OK) {
        conn_drop(conn);
        return;
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
}

static const struct sr_listener_events listener_events = {.accepted = accepted};

/* ---- the server ---- */

static int callbacks_new(struct sr_http2_server *server)
{
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&server->callbacks) != 0 || nghttp2_option_new(&server->option) != 0)
        return SR_ENOMEM;
    callbacks = server->callbacks;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_auto_window_update(server->option, 1);
    nghttp2_option_set_no_closed_streams(server->option, 1);
    /* Its own limit counts every reset, and Envoy ends every call with one: flood_charge knows better. */
    nghttp2_option_set_stream_reset_rate_limit(server->option, UINT64_MAX / 2, UINT64_MAX / 2);
    return SR_OK;
}

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
    int rc = server ? callbacks_new(server) : SR_ENOMEM;
    if (rc != SR_OK) {
        close(fd);
        goto out;
    }
    server->loop = loop;
    server->settings = *settings;
    server->handler = handler;
    server->ctx = ctx;
    server->tls = tls != NULL;
    server->task = (struct sr_deferred){.run = drained_task, .ctx = server};
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

void sr_http2_server_drain(struct sr_http2_server *server)
{
    struct sr_http2_conn *conn;
    if (server->draining)
        return;
    server->draining = true;
    sr_listener_close(&server->listener);
    for (conn = server->conns; conn; conn = conn->next) {
        nghttp2_submit_shutdown_notice(conn->session);
        nghttp2_submit_ping(conn->session, NGHTTP2_FLAG_NONE, NULL);
        conn->noticed = true;
        conn->noticed_at = now_of(conn);
        sr_timer_start(&conn->timer, DRAIN_NOTICE_MS);
        sr_http2_conn_wake(conn);
    }
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
