/*
 * The frames of an HTTP/2 connection: nghttp2's callbacks, request heads and bodies for the handler, the
 * flood limit, and the nghttp2 session.
 */
#include "base/mem.h"
#include "net/http2/private.h"

#define FIELD_OVERHEAD 32 /* RFC 9113, 6.5.2: overhead that is counted for each header */
#define HEAD_KEEP      16384
#define SEND_HEAD_MAX  (256 << 10) /* bytes of a response's head */

/* Costs of frames that cause work, in thousandths of a reset. */
#define PRICE_RESET 1000
#define PRICE_PING  100
#define PRICE_EMPTY 50

/* ---- floods ---- */

int64_t sr_http2_tokens_full(const struct sr_http2_conn *conn)
{
    return (int64_t)conn->settings.resets_per_second * PRICE_RESET * 10;
}

/* Charges the cost of a frame to the peer's flood account; ends the connection when the account is
 * exceeded. */
static void flood_charge(struct sr_http2_conn *conn, int64_t price)
{
    uint64_t now = sr_http2_now(conn);
    int64_t full = sr_http2_tokens_full(conn);
    conn->tokens += (int64_t)(now - conn->tokens_at) * conn->settings.resets_per_second * PRICE_RESET / 1000;
    conn->tokens = conn->tokens > full ? full : conn->tokens;
    conn->tokens_at = now;
    conn->tokens -= price;
    if (conn->tokens >= 0 || conn->flooded)
        return;
    conn->flooded = true;
    conn->server->floods++;
    nghttp2_session_terminate_session(conn->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

/* ---- streams ---- */

static struct sr_http2_stream *stream_find(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* A finished answer is not read whole: resets it, unless the peer read some of it meanwhile. */
static void stream_stuck(void *ctx)
{
    struct sr_http2_stream *stream = ctx;
    size_t queued = stream->out.len - stream->sent;
    if (queued >= stream->stuck) {
        sr_http2_stream_reset(stream, SR_HTTP2_CANCEL);
        return;
    }
    stream->stuck = queued;
    sr_timer_start(&stream->timer, stream->conn->settings.write_timeout_ms);
}

static struct sr_http2_stream *stream_new(struct sr_http2_conn *conn, int32_t id)
{
    struct sr_http2_stream *stream = sr_mem_calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->conn = conn;
    stream->id = id;
    sr_buf_init(&stream->out,
                conn->settings.send_bytes * 2); /* sent bytes stay at the front of the buffer for a while */
    sr_timer_init(&stream->timer, conn->server->loop, stream_stuck, stream);
    stream->next = conn->streams;
    stream->pprev = &conn->streams;
    if (conn->streams)
        conn->streams->pprev = &stream->next;
    conn->streams = stream;
    if (conn->stream_count++ == 0)
        conn->server->busy++;
    conn->server->streams++;
    return stream;
}

void sr_http2_stream_end(struct sr_http2_stream *stream, int why, uint32_t code)
{
    struct sr_http2_conn *conn = stream->conn;
    if (stream->phase == SR_HTTP2_OPEN)
        conn->server->handler->closed(stream->ctx, stream, why, code);
    sr_http2_stream_free(stream);
    if (!conn->stream_count)
        conn->idle_since = sr_http2_now(conn);
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
    if (stream->reset_theirs && !stream->head_sent)
        flood_charge(conn, PRICE_RESET);
    if (stream->unconsumed)
        nghttp2_session_consume_connection(session, stream->unconsumed);
    stream->unconsumed = 0;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    sr_http2_stream_end(stream, why, code);
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
    conn->head_since = sr_http2_now(conn);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    stream = stream_new(conn, frame->hd.stream_id);
    if (!stream) {
        conn->head_since = 0;
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    nghttp2_session_set_stream_user_data(session, stream->id, stream);
    nghttp2_session_change_extpri_stream_priority(session, stream->id, &fair, 1);
    return 0;
}

/* Names and values are kept as offsets until the block is complete, because the buffer may move. */
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
        pseudo = i + 1; /* nghttp2 ensures that these come before all others */
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

static void request_head(struct sr_http2_conn *conn, struct sr_http2_stream *stream, bool end)
{
    const struct sr_http2_handler *handler = conn->server->handler;
    struct sr_http2_head head;
    if (stream->phase != SR_HTTP2_HEAD)
        return;
    if (conn->head_too_large) {
        stream->phase = SR_HTTP2_REFUSED;
        if (handler->too_large)
            handler->too_large(conn->server->ctx, stream);
        if (!stream->responded && sr_http2_stream_respond(stream, 431, NULL, 0, true) != SR_OK)
            sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
    } else {
        stream->phase = SR_HTTP2_OPEN;
        head_build(conn, &head);
        head.end = end;
        handler->open(conn->server->ctx, stream, &head);
    }
    if (conn->head_bytes.cap > HEAD_KEEP)
        sr_buf_dispose(&conn->head_bytes);
    if (conn->head_fields.cap > HEAD_KEEP)
        sr_buf_dispose(&conn->head_fields);
}

/* ---- other frames ---- */

bool sr_http2_stream_listens(const struct sr_http2_stream *stream)
{
    return stream->phase == SR_HTTP2_OPEN && !stream->reset_ours;
}

static void request_end(struct sr_http2_conn *conn, struct sr_http2_stream *stream)
{
    stream->request_end = true;
    if (sr_http2_stream_listens(stream))
        conn->server->handler->end(stream->ctx, stream);
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    struct sr_http2_stream *stream = stream_find(session, id);
    (void)flags;
    if (!stream || !sr_http2_stream_listens(stream)) {
        nghttp2_session_consume(session, id, n);
        return 0;
    }
    stream->unconsumed += n;
    conn->server->handler->data(stream->ctx, stream, sr_bytes_of(p, n));
    return 0;
}

void sr_http2_conn_drain(struct sr_http2_conn *conn)
{
    if (conn->draining)
        return;
    conn->draining = true;
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
        conn->head_since = 0;
        if (stream && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            request_head(conn, stream, end);
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
            sr_timer_start(&conn->timer, 1); /* other limits apply from now on */
        conn->greeted = true;
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
            flood_charge(conn, PRICE_RESET);
        break;
    case NGHTTP2_PING:
        if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
            flood_charge(conn, PRICE_PING);
        else if (conn->noticed)
            sr_http2_conn_drain(conn);
        break;
    default:
        break;
    }
    return 0;
}

/* A request that is malformed: nghttp2 resets its stream. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    struct sr_http2_conn *conn = ctx;
    (void)session, (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS)
        conn->head_since = 0;
    return 0;
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sr_http2_stream *stream;
    (void)ctx;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    stream = stream_find(session, frame->hd.stream_id);
    if (!stream)
        return 0;
    stream->head_sent = stream->head_sent || stream->responded;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    stream->end_sent = true;
    if (!stream->request_end)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
    return 0;
}

/* A response that nghttp2 could not send, for its size or for want of memory: the stream would stay open. */
static int on_frame_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    (void)ctx, (void)error;
    if (frame->hd.type == NGHTTP2_HEADERS)
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

/* ---- the session ---- */

int sr_http2_session_open(struct sr_http2_conn *conn)
{
    const struct sr_http2_settings *settings = &conn->settings;
    nghttp2_mem mem = sr_http2_memory_of(&conn->memory);
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

int sr_http2_callbacks_new(struct sr_http2_server *server)
{
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&server->callbacks) != 0 || nghttp2_option_new(&server->option) != 0)
        return SR_ENOMEM;
    callbacks = server->callbacks;
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_auto_window_update(server->option, 1);
    nghttp2_option_set_no_closed_streams(server->option, 1);
    nghttp2_option_set_max_send_header_block_length(server->option, SEND_HEAD_MAX);
    /* nghttp2's own limit counts every reset, and Envoy ends every call with one; flood_charge counts only
     * those before an answer. */
    nghttp2_option_set_stream_reset_rate_limit(server->option, UINT64_MAX / 2, UINT64_MAX / 2);
    return SR_OK;
}
