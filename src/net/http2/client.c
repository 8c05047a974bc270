/*
 * HTTP/2 client connections over nghttp2.
 *
 * nghttp2's callbacks only note that a call has ended; `done` is called when nghttp2 has returned, so that an
 * owner may start calls and close the connection in it. Bytes of an answer are consumed as they come: what
 * bounds them is answer_bytes.
 */
#include "net/http2/client.h"

#include "base/mem.h"
#include "net/http2/private.h"

#define HEADERS_MAX    40
#define FIELD_OVERHEAD 32
#define SOCKET_BUSY    ((size_t)256 << 10)
#define QUEUE_MAX      ((size_t)64 << 20)

struct sr_http2_call {
    struct sr_http2_client *client;
    struct sr_http2_call *next, **pprev; /* of those that run, or of those that ended */
    int32_t id;
    sr_http2_done *done;
    void *ctx;
    struct sr_buf out; /* the body of the request */
    size_t sent;
    struct sr_buf body;          /* of the answer */
    struct sr_buf names, fields; /* bytes and lengths of headers, then of trailers */
    size_t head_count;           /* headers of these; the rest are trailers */
    size_t head_bytes;
    int status, why;
    bool refused, limit, reset, canceled;
    bool final; /* the head that is not an interim one */
};

struct sr_http2_client {
    struct sr_loop *loop;
    struct sr_conn *conn;
    nghttp2_session *session;
    struct sr_http2_memory memory;
    struct sr_http2_client_settings settings;
    const struct sr_http2_client_events *events;
    void *ctx;
    struct sr_http2_call *running, *ended, **ended_end;
    size_t count, held;      /* calls, and bytes of their answers */
    struct sr_deferred task; /* sends what was submitted */
    struct sr_timer timer;
    uint64_t read_at;
    bool open, pinged, draining, told, failed, busy, closed;
};

struct sr_http2_client_settings sr_http2_client_settings_defaults(void)
{
    return (struct sr_http2_client_settings){
        .connect_ms = 5000,
        .window = (uint32_t)1 << 20,
        .header_list_bytes = 16384,
        .answer_bytes = (size_t)64 << 20,
        .answers_bytes = (size_t)256 << 20,
        .ping_interval_ms = 20000,
        .ping_timeout_ms = 10000,
    };
}

/* ---- calls ---- */

static void call_unlink(struct sr_http2_call *call)
{
    if (!call->pprev)
        return;
    *call->pprev = call->next;
    if (call->next)
        call->next->pprev = call->pprev;
    call->pprev = NULL;
    call->client->count--;
}

static void call_free(struct sr_http2_call *call)
{
    call_unlink(call);
    call->client->held -= call->body.len;
    sr_buf_dispose(&call->out);
    sr_buf_dispose(&call->body);
    sr_buf_dispose(&call->names);
    sr_buf_dispose(&call->fields);
    sr_mem_free(call);
}

/* The call has ended; tell_ended says so to its owner. */
static void call_end(struct sr_http2_call *call, int why)
{
    struct sr_http2_client *client = call->client;
    call_unlink(call);
    call->why = why;
    call->next = NULL;
    *client->ended_end = call;
    client->ended_end = &call->next;
}

/* Headers that point into the names. */
static struct sr_http2_header *fields_view(struct sr_http2_call *call)
{
    struct sr_http2_header *fields = (struct sr_http2_header *)call->fields.data;
    const char *at = call->names.data;
    for (size_t i = 0; i < call->fields.len / sizeof *fields; i++) {
        fields[i].name.p = at;
        fields[i].value.p = at + fields[i].name.n;
        at += fields[i].name.n + fields[i].value.n;
    }
    return fields;
}

static void call_tell(struct sr_http2_call *call)
{
    struct sr_http2_header *fields = fields_view(call);
    size_t count = call->fields.len / sizeof *fields;
    struct sr_http2_answer answer = {.status = call->status,
                                     .headers = fields,
                                     .header_count = call->head_count,
                                     .trailers = fields ? fields + call->head_count : NULL,
                                     .trailer_count = count - call->head_count,
                                     .body = sr_buf_view(&call->body),
                                     .unread = call->refused};
    if (!call->canceled)
        call->done(call->ctx, call->why, &answer);
    call_free(call);
}

static void client_free(struct sr_http2_client *client)
{
    while (client->ended) {
        struct sr_http2_call *call = client->ended;
        client->ended = call->next;
        call_free(call);
    }
    while (client->running)
        call_free(client->running);
    nghttp2_session_del(client->session);
    sr_http2_memory_dispose(&client->memory);
    sr_mem_free(client);
}

static void tell_down(struct sr_http2_client *client, int code, const char *why)
{
    if (client->closed || client->failed || (code == SR_OK && client->told))
        return;
    client->told = true;
    client->failed = code != SR_OK;
    client->events->down(client->ctx, code, why);
}

static void tell_ended(struct sr_http2_client *client)
{
    while (client->ended && !client->closed) {
        struct sr_http2_call *call = client->ended;
        client->ended = call->next;
        if (!client->ended)
            client->ended_end = &client->ended;
        call_tell(call);
    }
}

static void client_fail(struct sr_http2_client *client, int code, const char *why)
{
    client->draining = true;
    sr_timer_stop(&client->timer);
    sr_deferred_cancel(&client->task);
    while (client->running) {
        nghttp2_session_set_stream_user_data(client->session, client->running->id, NULL);
        client->running->refused = !client->open;
        call_end(client->running, SR_ECLOSED);
    }
    tell_down(client, code, why);
    tell_ended(client);
}

/* At the end of each callback of the loop. */
static void client_settle(struct sr_http2_client *client)
{
    if (client->draining)
        tell_down(client, SR_OK, "drained by the server");
    tell_ended(client);
    client->busy = false;
    if (client->closed)
        client_free(client);
}

void sr_http2_client_close(struct sr_http2_client **at)
{
    struct sr_http2_client *client = *at;
    *at = NULL;
    if (!client || client->closed)
        return;
    client->closed = true;
    sr_timer_stop(&client->timer);
    sr_deferred_cancel(&client->task);
    sr_conn_close(&client->conn);
    if (!client->busy)
        client_free(client);
}

size_t sr_http2_client_calls(const struct sr_http2_client *client)
{
    return client->count;
}

/* ---- nghttp2's callbacks ---- */

static struct sr_http2_call *call_find(nghttp2_session *session, int32_t id)
{
    return id ? nghttp2_session_get_stream_user_data(session, id) : NULL;
}

static void call_reset(struct sr_http2_call *call, uint32_t code)
{
    nghttp2_submit_rst_stream(call->client->session, NGHTTP2_FLAG_NONE, call->id, code);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_n,
                     const uint8_t *value, size_t value_n, uint8_t flags, void *ctx)
{
    struct sr_http2_call *call = call_find(session, frame->hd.stream_id);
    struct sr_http2_header field = {{NULL, name_n}, {NULL, value_n}};
    unsigned long long status;
    (void)flags, (void)ctx;
    if (!call || call->limit || frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    if (sr_bytes_eq(sr_bytes_of(name, name_n), SR_LIT(":status"))) {
        if (sr_bytes_to_u64(sr_bytes_of(value, value_n), &status) && status <= 999)
            call->status = (int)status;
        call->final = call->status >= 200;
        return 0;
    }
    if (!call->final)
        return 0;
    call->head_bytes += name_n + value_n + FIELD_OVERHEAD;
    if (call->head_bytes > call->client->settings.header_list_bytes ||
        sr_buf_append(&call->fields, &field, sizeof field) != SR_OK ||
        sr_buf_append(&call->names, name, name_n) != SR_OK ||
        sr_buf_append(&call->names, value, value_n) != SR_OK) {
        call->limit = true;
        call_reset(call, NGHTTP2_CANCEL);
    }
    return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n,
                         void *ctx)
{
    struct sr_http2_client *client = ctx;
    struct sr_http2_call *call = call_find(session, id);
    (void)flags;
    if (!call || call->limit)
        return 0;
    if (n > client->settings.answers_bytes - client->held || sr_buf_append(&call->body, p, n) != SR_OK) {
        call->limit = true;
        call_reset(call, NGHTTP2_CANCEL);
    } else {
        client->held += n;
    }
    return 0;
}

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct sr_http2_client *client = ctx;
    struct sr_http2_call *call = call_find(session, frame->hd.stream_id);
    if (frame->hd.type == NGHTTP2_HEADERS && call && call->final && !call->head_count)
        call->head_count = call->fields.len / sizeof(struct sr_http2_header);
    if (frame->hd.type == NGHTTP2_RST_STREAM && call)
        call->reset = true;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        client->draining = true;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct sr_http2_call *call = call_find(session, id);
    int why = code == NGHTTP2_NO_ERROR && call && call->final ? SR_OK : SR_EPROTO;
    (void)ctx;
    if (!call)
        return 0;
    if (call->limit)
        why = SR_ELIMIT;
    else if (code == NGHTTP2_REFUSED_STREAM)
        why = SR_ECLOSED;
    else if (code != NGHTTP2_NO_ERROR && call->reset)
        why = SR_ECANCELED;
    call->refused = code == NGHTTP2_REFUSED_STREAM;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    call_end(call, why);
    return 0;
}

/* A request that could not be sent, after a GOAWAY for one. */
static int on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    struct sr_http2_call *call =
        frame->hd.type == NGHTTP2_HEADERS ? call_find(session, frame->hd.stream_id) : NULL;
    (void)error, (void)ctx;
    if (!call)
        return 0;
    call->refused = true;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, NULL);
    call_end(call, SR_ECLOSED);
    return 0;
}

static ssize_t body_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
                         nghttp2_data_source *source, void *ctx)
{
    struct sr_http2_call *call = call_find(session, id);
    size_t n = call ? call->out.len - call->sent : 0;
    (void)source, (void)ctx;
    n = n < length ? n : length;
    if (n)
        memcpy(buf, call->out.data + call->sent, n);
    if (call)
        call->sent += n;
    if (!call || call->sent == call->out.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* ---- the socket ---- */

static void client_send(struct sr_http2_client *client)
{
    const uint8_t *p;
    while (client->open && sr_conn_queued(client->conn) < SOCKET_BUSY) {
        ssize_t n = nghttp2_session_mem_send(client->session, &p);
        struct sr_bytes slice = sr_bytes_of(p, n > 0 ? (size_t)n : 0);
        if (n == 0)
            return;
        if (n < 0 || sr_conn_write(client->conn, &slice, 1) != SR_OK) {
            client_fail(client, SR_ECLOSED, "the server takes no more bytes");
            return;
        }
    }
}

static void flush(void *ctx)
{
    struct sr_http2_client *client = ctx;
    client->busy = true;
    if (!client->failed)
        client_send(client);
    client_settle(client);
}

static void timer_due(void *ctx)
{
    struct sr_http2_client *client = ctx;
    const struct sr_http2_client_settings *s = &client->settings;
    uint64_t quiet = sr_loop_now(client->loop) - client->read_at;
    client->busy = true;
    if (client->pinged && quiet >= (uint64_t)s->ping_interval_ms + s->ping_timeout_ms) {
        client_fail(client, SR_ETIMEOUT, "no answer to a PING");
    } else if (quiet >= s->ping_interval_ms) {
        if (!client->pinged)
            nghttp2_submit_ping(client->session, NGHTTP2_FLAG_NONE, NULL);
        client->pinged = true;
        sr_timer_start(&client->timer, s->ping_timeout_ms);
        client_send(client);
    } else {
        client->pinged = false;
        sr_timer_start(&client->timer, s->ping_interval_ms - quiet);
    }
    client_settle(client);
}

static void sock_opened(void *ctx)
{
    struct sr_http2_client *client = ctx;
    client->open = true;
    client->read_at = sr_loop_now(client->loop);
    if (client->settings.ping_interval_ms)
        sr_timer_start(&client->timer, client->settings.ping_interval_ms);
    flush(client);
}

static void sock_data(void *ctx, const char *p, size_t n)
{
    struct sr_http2_client *client = ctx;
    ssize_t used = 0;
    client->busy = true;
    client->read_at = sr_loop_now(client->loop);
    if (!client->failed)
        used = nghttp2_session_mem_recv(client->session, (const uint8_t *)p, n);
    if (used < 0)
        client_fail(client, SR_EPROTO, "not HTTP/2");
    else if (!client->failed)
        client_send(client);
    if (!client->failed && !client->closed && !nghttp2_session_want_read(client->session) &&
        !nghttp2_session_want_write(client->session))
        client_fail(client, SR_EPROTO, "the connection was ended");
    client_settle(client);
}

static void sock_eof(void *ctx)
{
    struct sr_http2_client *client = ctx;
    client->busy = true;
    client_fail(client, SR_ECLOSED, "closed by the server");
    client_settle(client);
}

static void sock_failed(void *ctx, int code, const char *text)
{
    struct sr_http2_client *client = ctx;
    client->busy = true;
    client_fail(client, code, text);
    client_settle(client);
}

static const struct sr_conn_events conn_events = {
    .opened = sock_opened, .data = sock_data, .eof = sock_eof, .drained = flush, .failed = sock_failed};

/* ---- opening ---- */

static int session_new(struct sr_http2_client *client)
{
    const struct sr_http2_client_settings *s = &client->settings;
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    nghttp2_mem mem = sr_http2_memory_of(&client->memory);
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, s->window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, s->header_list_bytes},
    };
    int rc = SR_ENOMEM;
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
        goto out;
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_frame_not_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_no_closed_streams(option, 1);
    if (nghttp2_session_client_new3(&client->session, callbacks, client, option, &mem) == 0 &&
        nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, entries,
                                sizeof entries / sizeof *entries) == 0 &&
        nghttp2_session_set_local_window_size(client->session, NGHTTP2_FLAG_NONE, 0,
                                              (int32_t)(4 * s->window)) == 0)
        rc = SR_OK;
out:
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return rc;
}

int sr_http2_client_open(struct sr_http2_client **out, struct sr_loop *loop, const struct sr_connect *to,
                         const struct sr_http2_client_settings *settings,
                         const struct sr_http2_client_events *events, void *ctx)
{
    struct sr_http2_client *client = sr_mem_calloc(1, sizeof *client);
    struct sr_connect connect = *to;
    int rc;
    *out = NULL;
    if (!client)
        return SR_ENOMEM;
    client->loop = loop;
    client->settings = *settings;
    client->events = events;
    client->ctx = ctx;
    client->ended_end = &client->ended;
    client->task = (struct sr_deferred){.run = flush, .ctx = client};
    sr_timer_init(&client->timer, loop, timer_due, client);
    connect.timeout_ms = settings->connect_ms;
    rc = session_new(client);
    if (rc == SR_OK)
        rc = sr_conn_connect(&client->conn, loop, &connect, &conn_events, client);
    if (rc != SR_OK) {
        client_free(client);
        return rc;
    }
    sr_conn_set_queue_max(client->conn, QUEUE_MAX);
    *out = client;
    return SR_OK;
}

/* ---- starting and cancelling ---- */

static nghttp2_nv nv_of(struct sr_bytes name, struct sr_bytes value)
{
    return (nghttp2_nv){
        .name = (uint8_t *)name.p, .namelen = name.n, .value = (uint8_t *)value.p, .valuelen = value.n};
}

static bool request_is_valid(const struct sr_http2_request *request)
{
    if (request->header_count > HEADERS_MAX - 4)
        return false;
    for (size_t i = 0; i < request->header_count; i++) {
        struct sr_bytes name = request->headers[i].name, value = request->headers[i].value;
        if (!nghttp2_check_header_name((const uint8_t *)name.p, name.n) || name.p[0] == ':' ||
            !nghttp2_check_header_value_rfc9113((const uint8_t *)value.p, value.n))
            return false;
    }
    return true;
}

int sr_http2_client_start(struct sr_http2_call **out, struct sr_http2_client *client,
                          const struct sr_http2_request *request, sr_http2_done *done, void *ctx)
{
    nghttp2_data_provider provider = {.read_callback = body_read};
    nghttp2_nv nv[HEADERS_MAX] = {
        nv_of(SR_LIT(":method"), request->method), nv_of(SR_LIT(":scheme"), request->scheme),
        nv_of(SR_LIT(":authority"), request->authority), nv_of(SR_LIT(":path"), request->path)};
    struct sr_http2_call *call;
    *out = NULL;
    if (client->draining || client->failed || client->closed)
        return SR_ECLOSED;
    if (!request_is_valid(request))
        return SR_EINVAL;
    call = sr_mem_calloc(1, sizeof *call);
    if (!call)
        return SR_ENOMEM;
    call->client = client;
    call->done = done;
    call->ctx = ctx;
    sr_buf_init(&call->out, request->body.n);
    sr_buf_init(&call->body, client->settings.answer_bytes);
    sr_buf_init(&call->names, client->settings.header_list_bytes);
    sr_buf_init(&call->fields, client->settings.header_list_bytes);
    for (size_t i = 0; i < request->header_count; i++)
        nv[4 + i] = nv_of(request->headers[i].name, request->headers[i].value);
    if (sr_buf_append_bytes(&call->out, request->body) != SR_OK ||
        (call->id = nghttp2_submit_request(client->session, NULL, nv, 4 + request->header_count,
                                           request->body.n ? &provider : NULL, call)) < 0) {
        call_free(call);
        return SR_ENOMEM;
    }
    call->next = client->running;
    call->pprev = &client->running;
    if (call->next)
        call->next->pprev = &call->next;
    client->running = call;
    client->count++;
    sr_loop_defer(client->loop, &client->task);
    *out = call;
    return SR_OK;
}

void sr_http2_call_cancel(struct sr_http2_call **at)
{
    struct sr_http2_call *call = *at;
    *at = NULL;
    if (!call)
        return;
    call->canceled = true;
    if (!call->pprev)
        return; /* ended: tell_ended frees it */
    nghttp2_session_set_stream_user_data(call->client->session, call->id, NULL);
    call_reset(call, NGHTTP2_CANCEL);
    sr_loop_defer(call->client->loop, &call->client->task);
    call_free(call);
}
