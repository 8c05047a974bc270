/*
 * The HTTP/1.1 client: exchanges, and the pool of connections they run on (client_pool.c).
 *
 * An exchange owns its connection from start to end. Failures are noted and told from a deferred task, so
 * that no callback comes inside a call of the caller; `busy` says that a callback of the exchange is on the
 * stack, and whatever ends it then is carried out when the stack has unwound.
 */
#include "net/client.h"

#include "base/mem.h"
#include "net/client_private.h"

#include <arpa/inet.h>
#include <stdio.h>

#define BACKLOG_MAX    ((size_t)64 << 20)
#define HEAD_ARENA_MAX ((size_t)2 << 20)

static void exchange_finish(struct sr_exchange *exchange);

/* ---- writing the request ---- */

static bool header_is_ours(struct sr_bytes name)
{
    return sr_bytes_eq_nocase(name, SR_LIT("content-length")) || sr_bytes_eq_nocase(name, SR_LIT("expect")) ||
           sr_http1_is_hop_by_hop(NULL, name);
}

static int host_write(struct sr_buf *out, const struct sr_origin *origin)
{
    bool v6 = strchr(origin->host, ':') != NULL;
    bool standard = origin->port == (origin->tls ? 443 : 80);
    char value[SR_SOCK_HOST_MAX + 16];
    snprintf(value, sizeof value, standard ? "%s%.255s%s" : "%s%.255s%s:%u", v6 ? "[" : "", origin->host,
             v6 ? "]" : "", origin->port);
    return sr_http1_write_header(out, SR_LIT("host"), sr_bytes_str(value));
}

static bool method_has_body(struct sr_bytes method)
{
    return sr_bytes_eq(method, SR_LIT("POST")) || sr_bytes_eq(method, SR_LIT("PUT")) ||
           sr_bytes_eq(method, SR_LIT("PATCH"));
}

/* The head, and the framing in front of the first body bytes. */
static int head_write(struct sr_buf *out, const struct sr_origin *origin,
                      const struct sr_client_request *request, size_t first_bytes)
{
    bool host = false;
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    int rc = sr_http1_write_request_line(out, request->method, request->target);
    for (size_t i = 0; i < request->header_count && rc == SR_OK; i++) {
        const struct sr_http_header *h = &request->headers[i];
        if (header_is_ours(h->name))
            continue;
        host = host || sr_bytes_eq_nocase(h->name, SR_LIT("host"));
        rc = sr_http1_write_header(out, h->name, h->value);
    }
    if (rc == SR_OK && !host)
        rc = host_write(out, origin);
    if (rc == SR_OK && request->content_length < 0)
        rc = sr_http1_write_header(out, SR_LIT("transfer-encoding"), SR_LIT("chunked"));
    else if (rc == SR_OK && (request->content_length > 0 || method_has_body(request->method)))
        rc = sr_buf_printf(out, "content-length: %lld\r\n", (long long)request->content_length);
    if (rc == SR_OK)
        rc = sr_http1_write_end(out);
    if (rc == SR_OK && request->content_length < 0 && first_bytes)
        rc = sr_buf_append_bytes(out, sr_http1_chunk_head(chunk, first_bytes));
    return rc;
}

static bool parts_left(const struct sr_exchange *exchange)
{
    return exchange->at < exchange->count || exchange->backlog.len;
}

static void parts_advance(struct sr_exchange *exchange, size_t taken)
{
    while (exchange->at < exchange->count && taken >= exchange->parts[exchange->at].n)
        taken -= exchange->parts[exchange->at++].n;
    if (taken) {
        exchange->parts[exchange->at].p += taken;
        exchange->parts[exchange->at].n -= taken;
    }
}

static void timer_set(struct sr_exchange *exchange, uint32_t ms)
{
    if (ms)
        sr_timer_start(&exchange->timer, ms);
    else
        sr_timer_stop(&exchange->timer);
}

/* Hands to the socket what it takes. */
static int request_pump(struct sr_exchange *exchange)
{
    struct sr_conn *sock = exchange->up->sock;
    int rc = SR_OK;
    while (exchange->at < exchange->count) {
        size_t taken;
        rc = sr_conn_write_some(sock, exchange->parts + exchange->at, exchange->count - exchange->at, &taken);
        if (rc != SR_OK)
            return rc;
        parts_advance(exchange, taken);
        if (!taken || sr_conn_queued(sock))
            break;
    }
    if (exchange->at == exchange->count && exchange->backlog.len) {
        struct sr_bytes backlog = sr_buf_view(&exchange->backlog);
        rc = sr_conn_write(sock, &backlog, 1);
        sr_buf_dispose(&exchange->backlog);
    }
    if (!exchange->head_told)
        timer_set(exchange, exchange->timeouts.head_ms);
    return rc;
}

/* ---- ending ---- */

static void exchange_free(struct sr_exchange *exchange)
{
    sr_timer_stop(&exchange->timer);
    sr_deferred_cancel(&exchange->task);
    sr_http1_dispose(&exchange->parser);
    sr_buf_dispose(&exchange->prefix);
    sr_buf_dispose(&exchange->backlog);
    sr_arena_dispose(&exchange->arena);
    if (exchange->parts != exchange->parts_inline)
        sr_mem_free(exchange->parts);
    sr_mem_free(exchange);
}

static enum sr_client_stage stage_of(const struct sr_exchange *exchange)
{
    if (!exchange->opened)
        return SR_CLIENT_CONNECTING;
    if (exchange->head_told)
        return SR_CLIENT_BODY;
    if (exchange->answering)
        return SR_CLIENT_HEAD;
    return !exchange->body_complete || parts_left(exchange) ? SR_CLIENT_SENDING : SR_CLIENT_WAITING;
}

/* Notes the first failure and lets go of the connection; told when the stack has unwound. */
static void exchange_fail(struct sr_exchange *exchange, int code, const char *text)
{
    if (exchange->ending)
        return;
    exchange->ending = true;
    exchange->error.code = code;
    exchange->error.stage = stage_of(exchange);
    exchange->error.reused = exchange->reused;
    exchange->error.sent = exchange->up && sr_conn_sent(exchange->up->sock) > exchange->sent_before;
    snprintf(exchange->text, sizeof exchange->text, "%s", text);
    exchange->error.text = exchange->text;
    sr_upstream_close(&exchange->up);
    sr_timer_stop(&exchange->timer);
    if (!exchange->busy)
        sr_loop_defer(exchange->client->loop, &exchange->task);
}

/* After a callback: carries out what it, or what came with it, decided. False: the exchange is gone. */
static bool exchange_settle(struct sr_exchange *exchange)
{
    exchange->busy = false;
    if (exchange->cancelled) {
        exchange_free(exchange);
        return false;
    }
    if (exchange->ending) {
        exchange_finish(exchange);
        return false;
    }
    return true;
}

/* The last callback. */
static void exchange_finish(struct sr_exchange *exchange)
{
    exchange->busy = true;
    if (exchange->complete)
        exchange->events->end(exchange->ctx);
    else
        exchange->events->failed(exchange->ctx, &exchange->error);
    exchange_free(exchange);
}

void sr_exchange_cancel(struct sr_exchange **slot)
{
    struct sr_exchange *exchange = *slot;
    *slot = NULL;
    if (!exchange || exchange->cancelled)
        return;
    sr_upstream_close(&exchange->up);
    exchange->cancelled = true;
    if (!exchange->busy)
        exchange_free(exchange);
}

/* The response is complete: the connection goes back to the pool when nothing speaks against it. */
static void exchange_complete(struct sr_exchange *exchange, bool rest)
{
    struct sr_upstream *up = exchange->up;
    bool reusable = exchange->parser.head.keep_alive && exchange->body_complete && !exchange->dropped &&
                    !parts_left(exchange) && !sr_conn_queued(up->sock) && !rest && !exchange->eof;
    exchange->up = NULL;
    exchange->ending = exchange->complete = true;
    up->exchange = NULL;
    sr_buf_clear(&up->pending);
    if (reusable)
        sr_upstream_release(up);
    else
        sr_upstream_close(&up);
}

/* ---- reading the response ---- */

/* Hands on what the input holds; *at is how far. False: the exchange has ended or is ending. */
static bool response_step(struct sr_exchange *exchange, const char *p, size_t n, size_t *at)
{
    while (!exchange->paused && !exchange->cancelled && !exchange->ending) {
        struct sr_bytes slice;
        size_t used;
        enum sr_http1_event event = sr_http1_next(&exchange->parser, p + *at, n - *at, &used, &slice);
        *at += used;
        switch (event) {
        case SR_HTTP1_HEAD:
            exchange->head_told = true;
            exchange->events->head(exchange->ctx, &exchange->parser.head);
            break;
        case SR_HTTP1_BODY:
            exchange->events->body(exchange->ctx, slice);
            break;
        case SR_HTTP1_END:
            exchange_complete(exchange, *at < n);
            break;
        case SR_HTTP1_FAIL:
            exchange_fail(exchange, SR_EPROTO, exchange->parser.reason);
            break;
        case SR_HTTP1_MORE:
            return true;
        }
    }
    return !exchange->cancelled && !exchange->ending;
}

/* After the input is used up: what an end of the stream means. */
static void response_eof(struct sr_exchange *exchange)
{
    if (sr_http1_eof(&exchange->parser) == SR_HTTP1_END)
        exchange_complete(exchange, false);
    else
        exchange_fail(exchange, SR_ECLOSED,
                      "the upstream closed the connection before the response was complete");
}

/* Reads on with new bytes, or with what a pause left behind. */
static void response_run(struct sr_exchange *exchange, const char *p, size_t n)
{
    struct sr_buf *pending = &exchange->up->pending;
    size_t at = 0;
    bool kept = pending->len > 0;
    exchange->busy = true;
    exchange->answering = exchange->answering || n;
    if (kept && n && sr_buf_append(pending, p, n) != SR_OK)
        exchange_fail(exchange, SR_ENOMEM, "out of memory");
    if (kept && !exchange->ending) {
        p = pending->data;
        n = pending->len;
    }
    if (!exchange->ending && response_step(exchange, p, n, &at)) {
        if (kept)
            sr_buf_consume(pending, at);
        else if (at < n && sr_buf_append(pending, p + at, n - at) != SR_OK)
            exchange_fail(exchange, SR_ENOMEM, "out of memory");
        if (!exchange->ending && exchange->eof && !pending->len && !exchange->paused)
            response_eof(exchange);
    }
    if (!exchange_settle(exchange))
        return;
    if (exchange->paused) {
        sr_timer_stop(&exchange->timer);
        return;
    }
    if (exchange->head_told)
        timer_set(exchange, exchange->timeouts.idle_ms);
}

/* ---- events of the connection ---- */

/* The upstream takes nothing more. It may have answered before it closed, so that the reading side has the
 * last word. */
static void sending_failed(struct sr_exchange *exchange, int code)
{
    if (code != SR_ECLOSED && code != SR_EIO) {
        exchange_fail(exchange, code, "the connection broke while the request was being sent");
        return;
    }
    exchange->dropped = true;
    exchange->at = exchange->count;
    sr_buf_dispose(&exchange->backlog);
}

static void up_opened(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_exchange *exchange = up->exchange;
    int rc;
    exchange->opened = true;
    rc = request_pump(exchange);
    if (rc != SR_OK)
        sending_failed(exchange, rc);
    else if (!exchange->body_complete && !parts_left(exchange) && !sr_conn_queued(up->sock))
        sr_loop_defer(exchange->client->loop, &exchange->task);
}

static void up_data(void *ctx, const char *p, size_t n)
{
    struct sr_upstream *up = ctx;
    if (up->exchange)
        response_run(up->exchange, p, n);
    else
        sr_upstream_close(&up);
}

static void up_eof(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_exchange *exchange = up->exchange;
    if (!exchange) {
        sr_upstream_close(&up);
        return;
    }
    exchange->eof = true;
    response_run(exchange, "", 0);
}

static void up_drained(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_exchange *exchange = up->exchange;
    int rc;
    if (!exchange || exchange->dropped)
        return;
    rc = request_pump(exchange);
    if (rc != SR_OK) {
        sending_failed(exchange, rc);
    } else if (!exchange->body_complete && !parts_left(exchange) && !sr_conn_queued(up->sock) &&
               exchange->events->writable) {
        exchange->busy = true;
        exchange->events->writable(exchange->ctx);
        exchange_settle(exchange);
    }
}

static void up_failed(void *ctx, int code, const char *text)
{
    struct sr_upstream *up = ctx;
    if (up->exchange)
        exchange_fail(up->exchange, code, text);
    else
        sr_upstream_close(&up);
}

const struct sr_conn_events sr_upstream_events = {
    .opened = up_opened, .data = up_data, .eof = up_eof, .drained = up_drained, .failed = up_failed};

static void timer_fired(void *ctx)
{
    struct sr_exchange *exchange = ctx;
    exchange_fail(exchange, SR_ETIMEOUT,
                  exchange->head_told ? "the response stopped coming" : "no response came in time");
}

/* What was noted inside a call of the caller. */
static void task_run(void *ctx)
{
    struct sr_exchange *exchange = ctx;
    if (exchange->ending) {
        exchange_finish(exchange);
        return;
    }
    if (exchange->opened && !exchange->dropped && !exchange->body_complete && !parts_left(exchange) &&
        !sr_conn_queued(exchange->up->sock) && exchange->events->writable) {
        exchange->busy = true;
        exchange->events->writable(exchange->ctx);
        if (!exchange_settle(exchange))
            return;
    }
    if (!exchange->paused && exchange->answering)
        response_run(exchange, "", 0);
}

/* ---- starting ---- */

/* Gives the exchange a pooled connection and sends, or begins to connect. */
static int exchange_attach(struct sr_exchange *exchange, const struct sr_origin *origin, bool fresh)
{
    struct sr_client *client = exchange->client;
    int rc;
    while (!fresh && (exchange->up = sr_upstream_take(client, origin)) != NULL) {
        exchange->up->exchange = exchange;
        exchange->reused = exchange->opened = true;
        exchange->sent_before = sr_conn_sent(exchange->up->sock);
        rc = request_pump(exchange);
        if (rc == SR_OK)
            return SR_OK;
        if (sr_conn_sent(exchange->up->sock) > exchange->sent_before) {
            sending_failed(exchange, rc);
            return SR_OK;
        }
        sr_upstream_close(&exchange->up);
        exchange->reused = exchange->opened = false;
    }
    exchange->sent_before = 0;
    return sr_upstream_connect(&exchange->up, client, origin, exchange, exchange->timeouts.connect_ms);
}

/* The head in the scratch buffer belongs to the exchange from now on. */
static int prefix_keep(struct sr_exchange *exchange)
{
    int rc;
    if (exchange->at > 0)
        return SR_OK;
    rc = sr_buf_append_bytes(&exchange->prefix, exchange->parts[0]);
    if (rc == SR_OK)
        exchange->parts[0] = sr_buf_view(&exchange->prefix);
    return rc;
}

static int parts_build(struct sr_exchange *exchange, const struct sr_client_request *request,
                       struct sr_bytes head)
{
    size_t count = 0, size = 0;
    if (request->body_count > SR_CLIENT_SLICES_MAX)
        return SR_EINVAL;
    exchange->parts = exchange->parts_inline;
    if (request->body_count + 2 > SR_EXCHANGE_PARTS)
        exchange->parts = sr_mem_calloc(request->body_count + 2, sizeof *exchange->parts);
    if (!exchange->parts)
        return SR_ENOMEM;
    exchange->parts[count++] = head;
    for (size_t i = 0; i < request->body_count; i++) {
        size += request->body[i].n;
        exchange->parts[count++] = request->body[i];
    }
    if (exchange->chunked && size && request->body_complete)
        exchange->parts[count++] = SR_LIT("\r\n0\r\n\r\n");
    else if (exchange->chunked && (size || request->body_complete))
        exchange->parts[count++] = size ? SR_HTTP1_CHUNK_TAIL : SR_HTTP1_CHUNK_END;
    exchange->count = count;
    if (exchange->chunked)
        return SR_OK;
    exchange->left = (uint64_t)request->content_length;
    if (size > exchange->left || (request->body_complete && size < exchange->left))
        return SR_EINVAL;
    exchange->left -= size;
    exchange->body_complete = exchange->body_complete || exchange->left == 0;
    return SR_OK;
}

int sr_client_start(struct sr_exchange **out, struct sr_client *client, const struct sr_origin *origin,
                    const struct sr_client_request *request, const struct sr_exchange_events *events,
                    void *ctx)
{
    struct sr_exchange *exchange = sr_mem_calloc(1, sizeof *exchange);
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    size_t first = 0;
    int rc;
    if (!exchange)
        return SR_ENOMEM;
    limits.head_bytes = client->settings.response_head_bytes;
    exchange->client = client;
    exchange->events = events;
    exchange->ctx = ctx;
    exchange->timeouts = request->timeouts;
    exchange->chunked = request->content_length < 0;
    exchange->body_complete = request->body_complete;
    sr_buf_init(&exchange->prefix, SIZE_MAX / 2);
    sr_buf_init(&exchange->backlog, BACKLOG_MAX);
    sr_arena_init(&exchange->arena, HEAD_ARENA_MAX);
    sr_timer_init(&exchange->timer, client->loop, timer_fired, exchange);
    exchange->task = (struct sr_deferred){.run = task_run, .ctx = exchange};
    sr_http1_init(&exchange->parser, SR_HTTP1_RESPONSE, &limits);
    sr_http1_begin(&exchange->parser, &exchange->arena, sr_bytes_eq(request->method, SR_LIT("HEAD")));
    for (size_t i = 0; i < request->body_count; i++)
        first += request->body[i].n;
    sr_buf_clear(&client->scratch);
    rc = head_write(&client->scratch, origin, request, first);
    if (rc == SR_OK)
        rc = parts_build(exchange, request, sr_buf_view(&client->scratch));
    if (rc == SR_OK)
        rc = exchange_attach(exchange, origin, request->fresh);
    if (rc == SR_OK && !exchange->ending)
        rc = prefix_keep(exchange);
    if (rc != SR_OK) {
        sr_upstream_close(&exchange->up);
        exchange_free(exchange);
        return rc;
    }
    if (exchange->opened && !exchange->body_complete)
        sr_loop_defer(client->loop, &exchange->task);
    *out = exchange;
    return SR_OK;
}

/* ---- the caller's side of a running exchange ---- */

static int body_write(struct sr_exchange *exchange, const struct sr_bytes *slices, size_t count)
{
    int rc = SR_OK;
    if (exchange->opened && !parts_left(exchange)) {
        rc = sr_conn_write(exchange->up->sock, slices, count);
        if (rc != SR_OK)
            sending_failed(exchange, rc);
        if (!exchange->head_told && !exchange->ending)
            timer_set(exchange, exchange->timeouts.head_ms);
        return rc == SR_OK ? SR_OK : SR_ECLOSED;
    }
    for (size_t i = 0; i < count && rc == SR_OK; i++)
        rc = sr_buf_append_bytes(&exchange->backlog, slices[i]);
    return rc;
}

int sr_exchange_write(struct sr_exchange *exchange, struct sr_bytes slice)
{
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    struct sr_bytes framed[] = {{NULL, 0}, slice, SR_HTTP1_CHUNK_TAIL};
    if (exchange->ending || exchange->dropped)
        return SR_ECLOSED;
    if (exchange->body_complete)
        return SR_EINVAL;
    if (!slice.n)
        return SR_OK;
    if (exchange->chunked) {
        framed[0] = sr_http1_chunk_head(chunk, slice.n);
        return body_write(exchange, framed, 3);
    }
    if (slice.n > exchange->left)
        return SR_EINVAL;
    exchange->left -= slice.n;
    return body_write(exchange, &slice, 1);
}

int sr_exchange_write_end(struct sr_exchange *exchange)
{
    struct sr_bytes last = SR_HTTP1_CHUNK_END;
    if (exchange->ending || exchange->dropped)
        return SR_ECLOSED;
    if (exchange->body_complete)
        return SR_OK;
    if (!exchange->chunked && exchange->left)
        return SR_EINVAL;
    exchange->body_complete = true;
    return exchange->chunked ? body_write(exchange, &last, 1) : SR_OK;
}

size_t sr_exchange_queued(const struct sr_exchange *exchange)
{
    size_t size = exchange->backlog.len + (exchange->up ? sr_conn_queued(exchange->up->sock) : 0);
    for (size_t i = exchange->at; i < exchange->count; i++)
        size += exchange->parts[i].n;
    return size;
}

void sr_exchange_pause(struct sr_exchange *exchange)
{
    exchange->paused = true;
    if (exchange->up)
        sr_conn_pause(exchange->up->sock);
}

void sr_exchange_resume(struct sr_exchange *exchange)
{
    if (!exchange->paused)
        return;
    exchange->paused = false;
    if (exchange->ending)
        return;
    sr_conn_resume(exchange->up->sock);
    if (exchange->head_told)
        timer_set(exchange, exchange->timeouts.idle_ms);
    if (!exchange->busy)
        sr_loop_defer(exchange->client->loop, &exchange->task);
}

const char *sr_exchange_peer(const struct sr_exchange *exchange)
{
    return exchange->up ? sr_conn_peer(exchange->up->sock) : "";
}
