/*
 * Streams of HTTP/2 as requests: body, answer, timeouts and end of each. net/http2 has the connections, their
 * flow control and their limits; stream_head.c reads heads.
 *
 * A request lives from the head of its stream until the stream is closed, or until the server itself answers
 * it; from then on the stream has no request, and what comes is dropped. Body bytes that come while the
 * handler has paused are kept, at most a window of them.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "net/http1/chars.h"
#include "net/server/private.h"

#include <stdio.h>

#define ERROR_MAX         16384
#define STREAM_WINDOW     ((uint32_t)256 << 10)
#define CONNECTION_WINDOW ((uint32_t)16 << 20)
#define SEND_MAX          ((size_t)16 << 20) /* of a stream, as of a connection of HTTP/1.1 */
#define SEND_ALL_MAX      ((size_t)64 << 20)
#define FIELD_OVERHEAD    32 /* that HTTP/2 counts for each header, and HTTP/1.1 does not */

struct stream {
    struct sr_http_request request;
    struct sr_http_server *server;
    struct sr_http2_stream *stream;
    struct sr_http_head head;
    struct sr_buf waiting; /* body bytes that came while the handler had paused */
    struct sr_deferred task;
    struct sr_timer timer;
    uint64_t body_bytes;
    /* Times are of sr_loop_now. */
    uint64_t read_at;             /* the last body byte, or the end of a pause */
    uint64_t body_since, body_ms; /* since the end of a pause, and the time of the body before */
    uint64_t written, passed; /* bytes of the answer: written, and passed to the connection at `sent_at` */
    uint64_t sent_at;
    uint64_t due;    /* of the timer */
    bool body_whole; /* the client has sent its end */
    bool end_told;   /* and the handler knows */
};

static struct stream *stream_of(const struct sr_http_request *request)
{
    return (struct stream *)((const char *)request - offsetof(struct stream, request));
}

static uint64_t now_of(const struct stream *s)
{
    return sr_loop_now(s->server->loop);
}

static void stream_free(struct stream *s)
{
    sr_timer_stop(&s->timer);
    sr_deferred_cancel(&s->task);
    sr_buf_dispose(&s->waiting);
    sr_arena_dispose(&s->request.arena);
    sr_mem_free(s);
}

/* Tells the handler that its request has ended, and frees it. */
static void stream_done(struct stream *s, bool complete)
{
    if (s->request.active) {
        s->request.active = false;
        s->server->handler->done(s->request.ctx, &s->request, complete);
    }
    stream_free(s);
}

/* ---- answers of the server itself ---- */

static void error_send(struct sr_http_server *server, struct sr_http2_stream *stream, int status,
                       const char *reason, const struct sr_http_head *head)
{
    struct sr_buf body;
    char length[24];
    sr_buf_init(&body, ERROR_MAX);
    struct sr_bytes type =
        sr_http_error_format(server, status, reason, sr_http2_stream_peer(stream), head, &body);
    int n = snprintf(length, sizeof length, "%zu", body.len);
    struct sr_http2_header headers[] = {{SR_LIT("content-type"), type},
                                        {SR_LIT("content-length"), sr_bytes_of(length, (size_t)n)}};
    struct sr_bytes bytes = sr_buf_view(&body);
    bool bodiless = !bytes.n || (head && sr_bytes_eq(head->method, SR_LIT("HEAD")));
    int rc = sr_http2_stream_respond(stream, status, headers, 2, bodiless);
    if (rc == SR_OK && !bodiless)
        rc = sr_http2_stream_write(stream, &bytes, 1);
    if (rc == SR_OK && !bodiless)
        rc = sr_http2_stream_finish(stream, NULL, 0);
    if (rc != SR_OK)
        sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
    sr_buf_dispose(&body);
}

/* The request cannot be completed: answers if no answer has started, else resets. The request is freed, or
 * waits for the end of its stream. */
static void stream_fail(struct stream *s, int status, const char *reason)
{
    if (s->request.responded || s->request.broken) {
        sr_http_request_abort(&s->request);
        return;
    }
    error_send(s->server, s->stream, status, reason, &s->head);
    sr_http2_stream_set_ctx(s->stream, NULL);
    s->request.error_status = status;
    stream_done(s, false);
}

/* ---- timeouts ---- */

static bool awaits_body(const struct stream *s)
{
    return !s->body_whole && !s->request.paused && !s->request.finished && !s->request.broken;
}

static void due_min(uint64_t *due, uint64_t at)
{
    *due = at < *due ? at : *due;
}

/* Does the client take the answer? False: it has not since write_timeout_ms. */
static bool client_reads(struct stream *s, uint64_t now, uint64_t *due)
{
    uint32_t limit = s->server->settings.write_timeout_ms;
    size_t queued = sr_http2_stream_queued(s->stream);
    uint64_t passed = s->written - queued;
    if (!queued || passed != s->passed || !s->sent_at) {
        s->passed = passed;
        s->sent_at = now;
    }
    if (!queued)
        return true;
    due_min(due, s->sent_at + limit);
    return now - s->sent_at < limit;
}

/* Checks what the stream waits for, and says when to check again. The request may be freed. */
static void on_timer(void *ctx)
{
    struct stream *s = ctx;
    const struct sr_http_server_settings *settings = &s->server->settings;
    uint64_t now = now_of(s), due = UINT64_MAX;
    if (!client_reads(s, now, &due)) {
        s->request.broken = true;
        sr_http2_stream_reset(s->stream, SR_HTTP2_CANCEL);
        return;
    }
    if (awaits_body(s)) {
        uint64_t spent = s->body_ms + (now - s->body_since);
        if (now - s->read_at >= settings->body_timeout_ms || spent >= settings->request_timeout_ms) {
            stream_fail(s, 408, "the request body took too long");
            return;
        }
        due_min(&due, s->read_at + settings->body_timeout_ms);
        due_min(&due, now + settings->request_timeout_ms - spent);
    }
    s->due = due;
    if (due != UINT64_MAX)
        sr_timer_start(&s->timer, due > now ? due - now : 1);
}

/* The timer fires in `ms` at the latest, whenever something is waited for; a spurious fire is cheaper than a
 * stop for every piece. */
static void timer_arm(struct stream *s, uint32_t ms)
{
    uint64_t due = now_of(s) + ms;
    if (s->timer.armed && s->due <= due)
        return;
    s->due = due;
    sr_timer_start(&s->timer, ms);
}

static void clock_start(struct stream *s)
{
    const struct sr_http_server_settings *settings = &s->server->settings;
    uint64_t left = settings->request_timeout_ms > s->body_ms ? settings->request_timeout_ms - s->body_ms : 1;
    s->read_at = s->body_since = now_of(s);
    timer_arm(s, left < settings->body_timeout_ms ? (uint32_t)left : settings->body_timeout_ms);
}

static void clock_stop(struct stream *s)
{
    s->body_ms += now_of(s) - s->body_since;
    s->body_since = now_of(s);
}

/* ---- the body of the request ---- */

static bool hears(const struct stream *s)
{
    return s && !s->request.finished && !s->request.broken;
}

/* Gives a piece to the handler. False: the request was freed. */
static bool body_give(struct stream *s, struct sr_bytes slice)
{
    bool paused = s->request.paused;
    sr_http2_stream_consume(s->stream, slice.n);
    s->body_bytes += slice.n;
    if (s->body_bytes > s->server->settings.limits.body_bytes) {
        bool answers = !s->request.responded;
        stream_fail(s, 413, "request body too large");
        return !answers;
    }
    s->server->handler->body(s->request.ctx, &s->request, slice);
    if (s->request.paused && !paused)
        clock_stop(s);
    return true;
}

/* Gives what has come, while the handler takes it. */
static void body_run(void *ctx)
{
    struct stream *s = ctx;
    if (hears(s) && !s->request.paused && s->waiting.len) {
        struct sr_buf whole = s->waiting;
        sr_buf_init(&s->waiting, whole.max);
        bool lives = body_give(s, sr_buf_view(&whole));
        sr_buf_dispose(&whole);
        if (!lives)
            return;
    }
    if (hears(s) && s->body_whole && !s->end_told && !s->request.paused && !s->waiting.len) {
        s->end_told = true;
        s->server->handler->body_end(s->request.ctx, &s->request);
    }
}

static void on_data(void *ctx, struct sr_http2_stream *stream, struct sr_bytes slice)
{
    struct stream *s = ctx;
    if (!hears(s)) {
        sr_http2_stream_consume(stream, slice.n);
        return;
    }
    s->read_at = now_of(s);
    if (!s->request.paused && !s->waiting.len)
        (void)body_give(s, slice);
    else if (sr_buf_append_bytes(&s->waiting, slice) != SR_OK)
        sr_http_request_abort(&s->request);
}

static void on_end(void *ctx, struct sr_http2_stream *stream)
{
    struct stream *s = ctx;
    (void)stream;
    if (!s)
        return;
    s->body_whole = true;
    body_run(s);
}

/* ---- operations of a request ---- */

static const char *request_peer(const struct sr_http_request *request)
{
    return sr_http2_stream_peer(stream_of(request)->stream);
}

static size_t request_queued(const struct sr_http_request *request)
{
    return sr_http2_stream_queued(stream_of(request)->stream);
}

static void request_resume(struct sr_http_request *request)
{
    struct stream *s = stream_of(request);
    if (!s->body_whole)
        clock_start(s);
    sr_loop_defer(s->server->loop, &s->task);
}

/* `done` follows when the stream is closed. */
static int request_break(struct sr_http_request *request)
{
    request->broken = true;
    sr_http2_stream_reset(stream_of(request)->stream, SR_HTTP2_INTERNAL_ERROR);
    return SR_ECLOSED;
}

static void request_inform(struct sr_http_request *request)
{
    int rc = sr_http2_stream_inform(stream_of(request)->stream, 100);
    if (rc != SR_OK)
        request_break(request);
}

/* A header's name as HTTP/2 has it. NULL: no memory. */
static const char *lower(struct sr_arena *arena, struct sr_bytes name)
{
    char *copy = sr_arena_alloc(arena, name.n ? name.n : 1);
    for (size_t i = 0; copy && i < name.n; i++)
        copy[i] = sr_ascii_lower(name.p[i]);
    return copy;
}

struct fields {
    struct sr_http2_header *items;
    size_t count;
};

/* The headers of a response; they live in the request's arena. */
static int fields_build(struct stream *s, const struct sr_http_response *response, struct fields *out)
{
    struct sr_http_request *request = &s->request;
    struct sr_arena *arena = &request->arena;
    bool dated = false, no_length = response->status == 204 || response->content_length < 0;
    char *length = sr_arena_alloc(arena, 24);
    out->count = 0;
    out->items = sr_arena_alloc(arena, (request->n_added + response->header_count + 2) * sizeof *out->items);
    if (!length || !out->items)
        return SR_ENOMEM;
    for (size_t i = 0; i < request->n_added + response->header_count; i++) {
        bool added = i < request->n_added;
        const struct sr_header *h = added ? &request->added[i] : &response->headers[i - request->n_added];
        if (!added && sr_http_request_skips(request, h->name))
            continue;
        const char *name = lower(arena, h->name);
        if (!name)
            return SR_ENOMEM;
        out->items[out->count++] = (struct sr_http2_header){sr_bytes_of(name, h->name.n), h->value};
        dated = dated || sr_bytes_eq_nocase(h->name, SR_LIT("date"));
    }
    if (!dated)
        out->items[out->count++] = (struct sr_http2_header){SR_LIT("date"), sr_http_server_date(s->server)};
    if (!no_length) {
        int n = snprintf(length, 24, "%lld", (long long)response->content_length);
        out->items[out->count++] =
            (struct sr_http2_header){SR_LIT("content-length"), sr_bytes_of(length, (size_t)n)};
    }
    return SR_OK;
}

static int request_write(struct sr_http_request *request, const struct sr_bytes *slices, size_t count)
{
    struct stream *s = stream_of(request);
    if (sr_http2_stream_write(s->stream, slices, count) != SR_OK)
        return request_break(request);
    for (size_t i = 0; i < count; i++)
        s->written += slices[i].n;
    timer_arm(s, s->server->settings.write_timeout_ms);
    return SR_OK;
}

static int request_finish(struct sr_http_request *request)
{
    if (sr_http2_stream_finish(stream_of(request)->stream, NULL, 0) != SR_OK)
        return request_break(request);
    request->finished = true;
    return SR_OK;
}

static int request_respond(struct sr_http_request *request, const struct sr_http_response *response,
                           const struct sr_bytes *slices, size_t count, bool last)
{
    struct stream *s = stream_of(request);
    struct fields fields;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    if (fields_build(s, response, &fields) != SR_OK)
        return request_break(request);
    int rc = sr_http2_stream_respond(s->stream, response->status, fields.items, fields.count, last && !size);
    if (rc == SR_EINVAL)
        return rc;
    if (rc != SR_OK)
        return request_break(request);
    request->responded = true;
    request->finished = last && !size;
    if (size && request_write(request, slices, count) != SR_OK)
        return SR_ECLOSED;
    return last && size ? request_finish(request) : SR_OK;
}

static void request_abort(struct sr_http_request *request)
{
    struct stream *s = stream_of(request);
    bool waits = !request->broken && !request->finished && sr_http2_stream_queued(s->stream);
    request->broken = true;
    if (!waits) /* else the client gets what it can still read: see on_writable */
        request_break(request);
}

static const struct sr_http_request_ops STREAM_OPS = {
    .peer = request_peer,
    .queued = request_queued,
    .resume = request_resume,
    .inform = request_inform,
    .respond = request_respond,
    .write = request_write,
    .finish = request_finish,
    .abort = request_abort,
};

/* ---- events of the connection ---- */

static void on_writable(void *ctx, struct sr_http2_stream *stream)
{
    struct stream *s = ctx;
    if (s && s->request.broken)
        sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
    else if (hears(s) && s->server->handler->writable)
        s->server->handler->writable(s->request.ctx, &s->request);
}

static void on_open(void *ctx, struct sr_http2_stream *stream, const struct sr_http2_head *head)
{
    struct sr_http_server *server = ctx;
    struct stream *s = sr_mem_calloc(1, sizeof *s);
    const char *reason;
    int status;
    sr_http2_stream_set_ctx(stream, s);
    if (!s) {
        sr_http2_stream_reset(stream, SR_HTTP2_INTERNAL_ERROR);
        return;
    }
    s->server = server;
    s->stream = stream;
    s->request = (struct sr_http_request){.ops = &STREAM_OPS,
                                          .head = &s->head,
                                          .protocol = SR_LIT("HTTP/2"),
                                          .started_ns = sr_clock_ns(),
                                          .active = true};
    s->task = (struct sr_deferred){.run = body_run, .ctx = s};
    sr_timer_init(&s->timer, server->loop, on_timer, s);
    sr_buf_init(&s->waiting, STREAM_WINDOW);
    sr_arena_init(&s->request.arena, server->settings.arena_bytes);
    if (sr_http_stream_head(&s->head, head, &server->settings.limits, &s->request.arena, &status, &reason) !=
        SR_OK) {
        error_send(server, stream, status, reason, s->head.method.n ? &s->head : NULL);
        sr_http2_stream_set_ctx(stream, NULL);
        stream_free(s);
        return;
    }
    if (!head->end)
        clock_start(s);
    server->handler->request(server->ctx, &s->request);
}

static void on_too_large(void *ctx, struct sr_http2_stream *stream)
{
    error_send(ctx, stream, 431, "header fields too large", NULL);
}

static void on_closed(void *ctx, struct sr_http2_stream *stream, int why, uint32_t code)
{
    struct stream *s = ctx;
    (void)stream, (void)code;
    if (!s)
        return;
    if (why == SR_ECANCELED)
        s->server->counts.resets++;
    stream_done(s, why == SR_OK && s->request.finished && !s->request.broken);
}

static void on_drained(void *ctx)
{
    sr_http_server_left(ctx);
}

static const struct sr_http2_handler HANDLER = {.open = on_open,
                                                .data = on_data,
                                                .end = on_end,
                                                .writable = on_writable,
                                                .closed = on_closed,
                                                .too_large = on_too_large,
                                                .drained = on_drained};

/* ---- for the server ---- */

static struct sr_http2_settings settings_of(const struct sr_http_server *server)
{
    const struct sr_http_server_settings *from = &server->settings;
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    settings.max_connections = SIZE_MAX; /* the server counts those of both protocols */
    settings.max_streams = from->http2.max_streams;
    settings.resets_per_second = from->http2.resets_per_second;
    /* What the limits of HTTP/1.1 allow has to come through: stream_head.c asks them. */
    settings.header_list_bytes =
        (uint32_t)(from->limits.head_bytes + FIELD_OVERHEAD * from->limits.header_count);
    settings.frame_bytes = 16384;
    settings.stream_window = STREAM_WINDOW;
    settings.connection_window = CONNECTION_WINDOW;
    settings.send_bytes = SEND_MAX;
    settings.connection_send_bytes = SEND_ALL_MAX;
    settings.handshake_timeout_ms = from->header_timeout_ms;
    settings.idle_timeout_ms = from->idle_timeout_ms;
    settings.write_timeout_ms = from->write_timeout_ms;
    return settings;
}

void sr_http_streams_set(struct sr_http_server *server)
{
    if (!server->http2)
        return;
    struct sr_http2_settings settings = settings_of(server);
    sr_http2_server_set(server->http2, &settings);
}

void sr_http_streams_adopt(struct sr_http_server *server, struct sr_conn *sock, const char *p, size_t n)
{
    struct sr_http2_settings settings = settings_of(server);
    if (!server->http2 &&
        sr_http2_server_new(&server->http2, server->loop, -1, NULL, &settings, &HANDLER, server) != SR_OK) {
        sr_conn_close(&sock);
        return;
    }
    if (server->draining)
        sr_http2_server_drain(server->http2);
    server->counts.http2++;
    sr_http2_server_adopt(server->http2, sock, p, n);
}
