/*
 * gRPC calls on HTTP/2 streams: opening, framing of messages, deadlines, status.
 *
 * A message that one read delivered whole is passed on without a copy. Any other is assembled, and its bytes
 * count as consumed at once because the peer needs the window to finish it.
 */
#include "net/grpc/grpc.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdio.h>
#include <unistd.h>

#define PREFIX_BYTES 5
#define SLICES_MAX   16
#define TEXT_MAX     1024               /* bytes of grpc-message before encoding */
#define SURE_PART    8                  /* the whole message is allocated once this part of it was received */
#define TIMEOUT_MAX  (INT64_C(1) << 40) /* milliseconds; a longer timeout is treated as none */

struct sr_grpc_server {
    struct sr_loop *loop;
    struct sr_http2_server *http2;
    struct sr_grpc_settings settings;
    const struct sr_grpc_method *methods;
    size_t method_count;
    size_t assembly; /* memory of incomplete messages */
    size_t calls;
    void (*drained)(void *ctx);
    void *ctx;
};

struct sr_grpc_call {
    struct sr_grpc_server *server;
    struct sr_http2_stream *stream;
    const struct sr_grpc_call_events *events; /* NULL: not accepted */
    void *ctx;
    const struct sr_http2_head *head; /* the `open` callback is on the stack */
    size_t message_bytes;             /* of the settings at the start of the call */
    unsigned char prefix[PREFIX_BYTES];
    size_t prefix_n;
    size_t need;           /* length of the message whose prefix is complete */
    struct sr_buf in;      /* bytes of it that were received */
    struct sr_buf waiting; /* received while paused; the first waiting_at bytes are parsed */
    size_t waiting_at;
    struct sr_deferred task; /* continues after a pause */
    struct sr_timer timer;
    int why;
    bool paused;
    bool peer_end; /* the peer's half-close was received */
    bool end_told; /* and reported */
    bool responded, finished;
};

struct sr_grpc_settings sr_grpc_settings_defaults(void)
{
    return (struct sr_grpc_settings){
        .http2 = sr_http2_settings_defaults(),
        .message_bytes = (size_t)64 << 20,
        .assembly_bytes = (size_t)1 << 30,
    };
}

/* ---- status ---- */

/* Percent-encodes as gRPC over HTTP/2 requires; output that does not fit is cut. */
static struct sr_bytes message_encode(const char *text, char *out, size_t size)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; text[i] && i < TEXT_MAX && n + 3 <= size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
        }
    }
    while (n && out[n - 1] == ' ') /* not allowed at the end of a value */
        n--;
    return sr_bytes_of(out, n);
}

static const struct sr_http2_header content_type = {{"content-type", 12}, {"application/grpc", 16}};
static const struct sr_http2_header accept_encoding = {{"grpc-accept-encoding", 20}, {"identity", 8}};

/* Ends the stream with a status, after the data written so far, or as the only data sent. */
static int status_send(struct sr_http2_stream *stream, bool responded, enum sr_grpc_status status,
                       const char *message)
{
    struct sr_http2_header headers[4] = {content_type, accept_encoding};
    char number[8], text[3 * TEXT_MAX];
    size_t skip = responded ? 2 : 0, n = 2;
    int length = snprintf(number, sizeof number, "%d", (int)status);
    headers[n++] = (struct sr_http2_header){SR_LIT("grpc-status"), sr_bytes_of(number, (size_t)length)};
    if (message && *message)
        headers[n++] =
            (struct sr_http2_header){SR_LIT("grpc-message"), message_encode(message, text, sizeof text)};
    if (responded)
        return sr_http2_stream_finish(stream, headers + skip, n - skip);
    return sr_http2_stream_respond(stream, 200, headers, n, true);
}

static void call_finish(struct sr_grpc_call *call, int why, enum sr_grpc_status status, const char *message)
{
    int rc;
    if (call->finished)
        return;
    call->finished = true;
    call->why = why;
    sr_timer_stop(&call->timer);
    sr_deferred_cancel(&call->task);
    if (why != SR_OK && call->responded && sr_http2_stream_queued(call->stream))
        rc = SR_ECANCELED; /* the peer would not receive a status that is queued after messages that it does
                              not read */
    else
        rc = status_send(call->stream, call->responded, status, message);
    if (rc != SR_OK && rc != SR_ECLOSED)
        sr_http2_stream_reset(call->stream, why == SR_OK ? SR_HTTP2_INTERNAL_ERROR : SR_HTTP2_CANCEL);
}

void sr_grpc_call_finish(struct sr_grpc_call *call, enum sr_grpc_status status, const char *message)
{
    call_finish(call, SR_OK, status, message);
}

/* ---- receiving messages ---- */

static void assembly_drop(struct sr_grpc_call *call)
{
    call->server->assembly -= call->in.cap;
    sr_buf_dispose(&call->in);
}

/* Memory grows with the bytes received, not with the announced length. */
static int assembly_append(struct sr_grpc_call *call, const char *p, size_t n)
{
    struct sr_grpc_server *server = call->server;
    size_t cap = call->in.cap, want = call->in.len + n;
    int rc;
    if (want >= call->need / SURE_PART)
        want = call->need;
    if (server->assembly - cap + want > server->settings.assembly_bytes)
        return SR_ELIMIT;
    rc = sr_buf_reserve(&call->in, want - call->in.len);
    if (rc == SR_OK)
        rc = sr_buf_append(&call->in, p, n);
    server->assembly += call->in.cap - cap;
    return rc;
}

/* SR_OK when the prefix is complete and allowed, SR_MORE, or the call was ended. */
static int prefix_read(struct sr_grpc_call *call, const char *p, size_t n, size_t *used)
{
    char text[128];
    size_t take = PREFIX_BYTES - call->prefix_n;
    take = take < n ? take : n;
    memcpy(call->prefix + call->prefix_n, p, take);
    call->prefix_n += take;
    *used = take;
    sr_http2_stream_consume(call->stream, take);
    if (call->prefix_n < PREFIX_BYTES)
        return SR_MORE;
    call->need = (size_t)call->prefix[1] << 24 | (size_t)call->prefix[2] << 16 |
                 (size_t)call->prefix[3] << 8 | call->prefix[4];
    if (call->prefix[0] == 1) {
        call_finish(call, SR_EUNSUPPORTED, SR_GRPC_UNIMPLEMENTED, "compressed messages are not supported");
        return SR_EUNSUPPORTED;
    }
    if (call->prefix[0]) {
        call_finish(call, SR_EPROTO, SR_GRPC_INTERNAL, "broken message prefix");
        return SR_EPROTO;
    }
    if (call->need > call->message_bytes) {
        snprintf(text, sizeof text, "message of %zu bytes is over the limit of %zu", call->need,
                 call->message_bytes);
        call_finish(call, SR_ELIMIT, SR_GRPC_RESOURCE_EXHAUSTED, text);
        return SR_ELIMIT;
    }
    sr_buf_init(&call->in, call->need);
    return SR_OK;
}

/* Delivers one message and prepares for the next. */
static void message_tell(struct sr_grpc_call *call, struct sr_bytes message)
{
    call->prefix_n = 0;
    call->events->message(call->ctx, call, message);
}

/* SR_OK when a message was delivered, SR_MORE, or the call was ended. */
static int message_read(struct sr_grpc_call *call, const char *p, size_t n, size_t *used)
{
    struct sr_buf whole;
    size_t take = call->need - call->in.len;
    *used = take = take < n ? take : n;
    if (!call->in.len && take == call->need) {
        message_tell(call, sr_bytes_of(p, take));
        sr_http2_stream_consume(call->stream, take);
        return SR_OK;
    }
    if (assembly_append(call, p, take) != SR_OK) {
        call_finish(call, SR_ELIMIT, SR_GRPC_RESOURCE_EXHAUSTED, "out of memory for messages");
        return SR_ELIMIT;
    }
    sr_http2_stream_consume(call->stream, take);
    if (call->in.len < call->need)
        return SR_MORE;
    whole = call->in;
    call->server->assembly -= whole.cap;
    call->in = (struct sr_buf){0};
    message_tell(call, sr_buf_view(&whole));
    sr_buf_dispose(&whole);
    return SR_OK;
}

static void end_tell(struct sr_grpc_call *call)
{
    if (!call->peer_end || call->end_told || call->paused || call->finished || call->waiting.len)
        return;
    call->end_told = true;
    if (call->prefix_n)
        call_finish(call, SR_EPROTO, SR_GRPC_INTERNAL, "the stream ended inside a message");
    else if (call->events->half_closed)
        call->events->half_closed(call->ctx, call);
}

/* Parses until the owner pauses or the call is finished; returns the bytes used. */
static size_t call_parse(struct sr_grpc_call *call, const char *p, size_t n)
{
    size_t at = 0, used;
    int rc = SR_OK;
    while (!call->paused && !call->finished) {
        if (call->prefix_n < PREFIX_BYTES) {
            if (at == n)
                break;
            rc = prefix_read(call, p + at, n - at, &used);
            at += used;
        }
        if (call->prefix_n == PREFIX_BYTES && !call->finished) {
            if (at == n && call->need)
                break;
            rc = message_read(call, p + at, n - at, &used);
            at += used;
        }
        if (rc != SR_OK && rc != SR_MORE)
            break;
    }
    return at;
}

static void waiting_tidy(struct sr_grpc_call *call)
{
    if (call->finished || call->waiting_at == call->waiting.len) {
        call->waiting_at = 0;
        sr_buf_dispose(&call->waiting);
    } else if (call->waiting_at > call->waiting.len / 2) {
        sr_buf_consume(&call->waiting, call->waiting_at);
        call->waiting_at = 0;
    }
}

static void waiting_run(void *ctx)
{
    struct sr_grpc_call *call = ctx;
    if (call->finished)
        return;
    if (call->waiting.len)
        call->waiting_at +=
            call_parse(call, call->waiting.data + call->waiting_at, call->waiting.len - call->waiting_at);
    if (call->finished)
        sr_http2_stream_consume(call->stream, SIZE_MAX);
    waiting_tidy(call);
    end_tell(call);
}

static void stream_data(void *ctx, struct sr_http2_stream *stream, struct sr_bytes slice)
{
    struct sr_grpc_call *call = ctx;
    size_t used = 0;
    if (!call || call->finished) {
        sr_http2_stream_consume(stream, SIZE_MAX);
        return;
    }
    if (!call->waiting.len)
        used = call_parse(call, slice.p, slice.n);
    if (call->finished)
        sr_http2_stream_consume(stream, SIZE_MAX);
    else if (used < slice.n && sr_buf_append(&call->waiting, slice.p + used, slice.n - used) != SR_OK)
        call_finish(call, SR_ELIMIT, SR_GRPC_RESOURCE_EXHAUSTED, "out of memory for messages");
}

static void stream_end(void *ctx, struct sr_http2_stream *stream)
{
    struct sr_grpc_call *call = ctx;
    (void)stream;
    if (!call)
        return;
    call->peer_end = true;
    end_tell(call);
}

static void stream_writable(void *ctx, struct sr_http2_stream *stream)
{
    struct sr_grpc_call *call = ctx;
    (void)stream;
    if (call && !call->finished && call->events->writable)
        call->events->writable(call->ctx, call);
}

void sr_grpc_call_pause(struct sr_grpc_call *call)
{
    call->paused = true;
}

void sr_grpc_call_resume(struct sr_grpc_call *call)
{
    if (!call->paused)
        return;
    call->paused = false;
    if (!call->finished && (call->waiting.len || call->peer_end))
        sr_loop_defer(call->server->loop, &call->task);
}

/* ---- sending messages ---- */

int sr_grpc_call_send(struct sr_grpc_call *call, const struct sr_bytes *slices, size_t count)
{
    struct sr_bytes all[SLICES_MAX];
    unsigned char prefix[PREFIX_BYTES];
    size_t size = 0;
    int rc;
    if (call->finished || count >= SLICES_MAX)
        return SR_EINVAL;
    for (size_t i = 0; i < count; i++) {
        size += slices[i].n;
        all[i + 1] = slices[i];
    }
    if (size > UINT32_MAX)
        return SR_ELIMIT;
    prefix[0] = 0;
    for (size_t i = 1; i < PREFIX_BYTES; i++)
        prefix[i] = (unsigned char)(size >> (8 * (PREFIX_BYTES - 1 - i)));
    all[0] = sr_bytes_of(prefix, sizeof prefix);
    if (!call->responded) {
        rc = sr_http2_stream_respond(call->stream, 200, &content_type, 1, false);
        if (rc != SR_OK)
            return rc;
        call->responded = true;
    }
    return sr_http2_stream_write(call->stream, all, count + 1);
}

size_t sr_grpc_call_queued(const struct sr_grpc_call *call)
{
    return sr_http2_stream_queued(call->stream);
}

/* ---- opening and closing ---- */

void sr_grpc_call_accept(struct sr_grpc_call *call, const struct sr_grpc_call_events *events, void *ctx)
{
    call->events = events;
    call->ctx = ctx;
}

static struct sr_bytes head_find(const struct sr_http2_head *head, struct sr_bytes name)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (sr_bytes_eq(head->headers[i].name, name))
            return head->headers[i].value;
    return (struct sr_bytes){NULL, 0};
}

struct sr_bytes sr_grpc_call_metadata(const struct sr_grpc_call *call, const char *name)
{
    if (!call->head)
        return (struct sr_bytes){NULL, 0};
    return head_find(call->head, sr_bytes_str(name));
}

const char *sr_grpc_call_peer(const struct sr_grpc_call *call)
{
    return sr_http2_stream_peer(call->stream);
}

struct sr_loop *sr_grpc_call_loop(const struct sr_grpc_call *call)
{
    return call->server->loop;
}

/* "100m": at most eight digits and a unit. Milliseconds, rounded up; negative when malformed. */
static int64_t timeout_parse(struct sr_bytes text)
{
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
                 {'m', 1000000},       {'u', 1000},        {'n', 1}};
    unsigned long long value;
    if (text.n < 2 || text.n > 9 || !sr_bytes_to_u64(sr_bytes_of(text.p, text.n - 1), &value))
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int64_t ms;
        if (units[i].unit != text.p[text.n - 1])
            continue;
        ms = units[i].ns >= 1000000 ? (int64_t)value * (units[i].ns / 1000000)
                                    : ((int64_t)value * units[i].ns + 999999) / 1000000;
        return ms < TIMEOUT_MAX ? ms : TIMEOUT_MAX;
    }
    return -1;
}

static void deadline_passed(void *ctx)
{
    call_finish(ctx, SR_ETIMEOUT, SR_GRPC_DEADLINE_EXCEEDED, "deadline exceeded");
}

static int deadline_start(struct sr_grpc_call *call, const struct sr_http2_head *head)
{
    struct sr_bytes text = head_find(head, SR_LIT("grpc-timeout"));
    int64_t limit = call->server->settings.deadline_ms, ms = text.p ? timeout_parse(text) : limit;
    if (ms < 0)
        return SR_EPARSE;
    if (limit && ms > limit)
        ms = limit;
    if (!text.p && !limit)
        return SR_OK;
    sr_timer_start(&call->timer, (uint64_t)ms);
    return SR_OK;
}

static const struct sr_grpc_method *method_find(const struct sr_grpc_server *server, struct sr_bytes path)
{
    for (size_t i = 0; i < server->method_count; i++)
        if (sr_bytes_eq(path, sr_bytes_str(server->methods[i].path)))
            return &server->methods[i];
    return NULL;
}

/* "application/grpc", "application/grpc+proto", "application/grpc; ...", but not "application/grpc-web". */
static bool is_grpc(const struct sr_http2_head *head)
{
    struct sr_bytes type = head_find(head, SR_LIT("content-type"));
    size_t n = content_type.value.n;
    return sr_bytes_eq(head->method, SR_LIT("POST")) && type.n >= n &&
           sr_bytes_eq_nocase(sr_bytes_of(type.p, n), content_type.value) &&
           (type.n == n || type.p[n] == '+' || type.p[n] == ';');
}

static void stream_refuse(struct sr_http2_stream *stream, int http, enum sr_grpc_status status,
                          const char *message)
{
    int rc = http != 200 ? sr_http2_stream_respond(stream, http, NULL, 0, true)
                         : status_send(stream, false, status, message);
    if (rc != SR_OK)
        sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
}

static struct sr_grpc_call *call_new(struct sr_grpc_server *server, struct sr_http2_stream *stream)
{
    struct sr_grpc_call *call = sr_mem_calloc(1, sizeof *call);
    if (!call)
        return NULL;
    call->server = server;
    call->stream = stream;
    call->message_bytes = server->settings.message_bytes;
    call->task = (struct sr_deferred){.run = waiting_run, .ctx = call};
    sr_buf_init(&call->waiting, 2 * (size_t)server->settings.http2.stream_window + SR_LOOP_READ_SIZE);
    sr_timer_init(&call->timer, server->loop, deadline_passed, call);
    server->calls++;
    sr_http2_stream_set_ctx(stream, call);
    return call;
}

static void stream_open(void *ctx, struct sr_http2_stream *stream, const struct sr_http2_head *head)
{
    struct sr_grpc_server *server = ctx;
    const struct sr_grpc_method *method = method_find(server, head->path);
    struct sr_grpc_call *call;
    if (!is_grpc(head)) {
        stream_refuse(stream, sr_bytes_eq(head->method, SR_LIT("POST")) ? 415 : 405, 0, NULL);
        return;
    }
    if (!method) {
        stream_refuse(stream, 200, SR_GRPC_UNIMPLEMENTED, "unknown method");
        return;
    }
    call = call_new(server, stream);
    if (!call) {
        stream_refuse(stream, 200, SR_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    if (deadline_start(call, head) != SR_OK) {
        call_finish(call, SR_EPROTO, SR_GRPC_INTERNAL, "malformed grpc-timeout");
        return;
    }
    call->head = head;
    method->open(method->ctx, call);
    call->head = NULL;
    if (!call->events)
        call_finish(call, SR_EPROTO, SR_GRPC_UNAVAILABLE, "not available");
}

static void stream_closed(void *ctx, struct sr_http2_stream *stream, int why, uint32_t code)
{
    struct sr_grpc_call *call = ctx;
    (void)stream, (void)code;
    if (!call)
        return;
    sr_timer_stop(&call->timer);
    sr_deferred_cancel(&call->task);
    call->finished = true;
    if (call->why != SR_OK)
        why = call->why;
    else if (why == SR_ELIMIT)
        why = SR_ETIMEOUT;
    if (call->events)
        call->events->closed(call->ctx, call, why);
    assembly_drop(call);
    sr_buf_dispose(&call->waiting);
    call->server->calls--;
    sr_mem_free(call);
}

/* ---- the server ---- */

static void http2_drained(void *ctx)
{
    struct sr_grpc_server *server = ctx;
    if (server->drained)
        server->drained(server->ctx);
}

static const struct sr_http2_handler handler = {.open = stream_open,
                                                .data = stream_data,
                                                .end = stream_end,
                                                .writable = stream_writable,
                                                .closed = stream_closed,
                                                .drained = http2_drained};

int sr_grpc_server_new(struct sr_grpc_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                       const struct sr_grpc_settings *settings, const struct sr_grpc_method *methods,
                       size_t method_count, void (*drained)(void *ctx), void *ctx)
{
    struct sr_grpc_server *server = sr_mem_calloc(1, sizeof *server);
    int rc;
    if (!server) {
        close(fd);
        return SR_ENOMEM;
    }
    *server = (struct sr_grpc_server){.loop = loop,
                                      .settings = *settings,
                                      .methods = methods,
                                      .method_count = method_count,
                                      .drained = drained,
                                      .ctx = ctx};
    rc = sr_http2_server_new(&server->http2, loop, fd, tls, &settings->http2, &handler, server);
    if (rc != SR_OK) {
        sr_mem_free(server);
        return rc;
    }
    *out = server;
    return SR_OK;
}

void sr_grpc_server_set(struct sr_grpc_server *server, const struct sr_grpc_settings *settings)
{
    server->settings = *settings;
    sr_http2_server_set(server->http2, &settings->http2);
}

void sr_grpc_server_set_tls(struct sr_grpc_server *server, sr_tls_context *tls)
{
    sr_http2_server_set_tls(server->http2, tls);
}

void sr_grpc_server_drain(struct sr_grpc_server *server)
{
    sr_http2_server_drain(server->http2);
}

void sr_grpc_server_free(struct sr_grpc_server *server)
{
    if (!server)
        return;
    sr_http2_server_free(server->http2);
    sr_mem_free(server);
}

size_t sr_grpc_server_connections(const struct sr_grpc_server *server)
{
    return sr_http2_server_connections(server->http2);
}

size_t sr_grpc_server_calls(const struct sr_grpc_server *server)
{
    return server->calls;
}
