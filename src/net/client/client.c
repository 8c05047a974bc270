/*
 * The fetches of the HTTP/1.1 client; pool.c has the connections that they use.
 *
 * A fetch owns its connection from start to end. Failures are noted and reported from a deferred task, so
 * that no callback runs inside a call of the caller. `busy` means that a callback of the fetch is on the
 * stack; if that callback ends the fetch, the fetch ends after the stack has unwound.
 */
#include "net/client/client.h"

#include "base/mem.h"
#include "net/client/private.h"

#include <arpa/inet.h>
#include <stdio.h>

#define BACKLOG_MAX    ((size_t)64 << 20)
#define HEAD_ARENA_MAX ((size_t)2 << 20)

static void fetch_finish(struct sr_fetch *fetch);

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

/* Writes the head, and the framing before the first body bytes. */
static int head_write(struct sr_buf *out, const struct sr_origin *origin,
                      const struct sr_client_request *request, size_t first_bytes)
{
    bool host = false;
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    int rc = sr_http1_write_request_line(out, request->method, request->target);
    for (size_t i = 0; i < request->header_count && rc == SR_OK; i++) {
        const struct sr_header *h = &request->headers[i];
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
        rc = sr_http1_write_length(out, (uint64_t)request->content_length);
    if (rc == SR_OK)
        rc = sr_http1_write_end(out);
    if (rc == SR_OK && request->content_length < 0 && first_bytes)
        rc = sr_buf_append_bytes(out, sr_http1_chunk_head(chunk, first_bytes));
    return rc;
}

static bool parts_left(const struct sr_fetch *fetch)
{
    return fetch->at < fetch->count || fetch->backlog.len;
}

static void parts_advance(struct sr_fetch *fetch, size_t taken)
{
    while (fetch->at < fetch->count && taken >= fetch->parts[fetch->at].n)
        taken -= fetch->parts[fetch->at++].n;
    if (taken) {
        fetch->parts[fetch->at].p += taken;
        fetch->parts[fetch->at].n -= taken;
    }
}

static void timer_set(struct sr_fetch *fetch, uint32_t ms)
{
    if (ms)
        sr_timer_start(&fetch->timer, ms);
    else
        sr_timer_stop(&fetch->timer);
}

/* Writes as much as the socket accepts. */
static int request_pump(struct sr_fetch *fetch)
{
    struct sr_conn *sock = fetch->up->sock;
    int rc = SR_OK;
    while (fetch->at < fetch->count) {
        size_t taken;
        rc = sr_conn_write_some(sock, fetch->parts + fetch->at, fetch->count - fetch->at, &taken);
        if (rc != SR_OK)
            return rc;
        parts_advance(fetch, taken);
        if (!taken || sr_conn_queued(sock))
            break;
    }
    if (fetch->at == fetch->count && fetch->backlog.len) {
        struct sr_bytes backlog = sr_buf_view(&fetch->backlog);
        rc = sr_conn_write(sock, &backlog, 1);
        sr_buf_dispose(&fetch->backlog);
    }
    if (!fetch->head_told)
        timer_set(fetch, fetch->timeouts.head_ms);
    return rc;
}

/* ---- ending ---- */

static void fetch_free(struct sr_fetch *fetch)
{
    sr_timer_stop(&fetch->timer);
    sr_deferred_cancel(&fetch->task);
    sr_http1_dispose(&fetch->parser);
    sr_buf_dispose(&fetch->prefix);
    sr_buf_dispose(&fetch->backlog);
    sr_arena_dispose(&fetch->arena);
    if (fetch->parts != fetch->parts_inline)
        sr_mem_free(fetch->parts);
    sr_mem_free(fetch);
}

static enum sr_client_stage stage_of(const struct sr_fetch *fetch)
{
    if (!fetch->opened)
        return SR_CLIENT_CONNECTING;
    if (fetch->head_told)
        return SR_CLIENT_BODY;
    if (fetch->answering)
        return SR_CLIENT_HEAD;
    return !fetch->body_complete || parts_left(fetch) ? SR_CLIENT_SENDING : SR_CLIENT_WAITING;
}

/* Records the first failure and releases the connection; the failure is reported after the stack has
 * unwound. */
static void fetch_fail(struct sr_fetch *fetch, int code, const char *text)
{
    if (fetch->ending)
        return;
    fetch->ending = true;
    fetch->error.code = code;
    fetch->error.stage = stage_of(fetch);
    fetch->error.reused = fetch->reused;
    fetch->error.sent = fetch->up && sr_conn_sent(fetch->up->sock) > fetch->sent_before;
    snprintf(fetch->text, sizeof fetch->text, "%s", text);
    fetch->error.text = fetch->text;
    sr_upstream_close(&fetch->up);
    sr_timer_stop(&fetch->timer);
    if (!fetch->busy)
        sr_loop_defer(fetch->client->loop, &fetch->task);
}

/* After a callback: ends the fetch if the callback, or an event inside it, requires that. False: the fetch
 * was freed. */
static bool fetch_goes_on(struct sr_fetch *fetch)
{
    fetch->busy = false;
    if (fetch->cancelled) {
        fetch_free(fetch);
        return false;
    }
    if (fetch->ending) {
        fetch_finish(fetch);
        return false;
    }
    return true;
}

/* Calls the last callback. */
static void fetch_finish(struct sr_fetch *fetch)
{
    fetch->busy = true;
    if (fetch->complete)
        fetch->events->end(fetch->ctx);
    else
        fetch->events->failed(fetch->ctx, &fetch->error);
    fetch_free(fetch);
}

void sr_fetch_cancel(struct sr_fetch **slot)
{
    struct sr_fetch *fetch = *slot;
    *slot = NULL;
    if (!fetch || fetch->cancelled)
        return;
    sr_upstream_close(&fetch->up);
    fetch->cancelled = true;
    if (!fetch->busy)
        fetch_free(fetch);
}

/* The response is complete: the connection goes back to the pool if it can be reused. */
static void fetch_complete(struct sr_fetch *fetch, bool rest)
{
    struct sr_upstream *up = fetch->up;
    bool reusable = fetch->parser.head.keep_alive && fetch->body_complete && !fetch->dropped &&
                    !parts_left(fetch) && !sr_conn_queued(up->sock) && !rest && !fetch->eof;
    fetch->up = NULL;
    fetch->ending = fetch->complete = true;
    up->fetch = NULL;
    sr_buf_clear(&up->pending);
    if (reusable)
        sr_upstream_release(up);
    else
        sr_upstream_close(&up);
}

/* ---- receiving the response ---- */

/* Delivers the buffered input; *at is the offset reached. False: the fetch has ended or is ending. */
static bool response_step(struct sr_fetch *fetch, const char *p, size_t n, size_t *at)
{
    while (!fetch->paused && !fetch->cancelled && !fetch->ending) {
        struct sr_bytes slice;
        size_t used;
        enum sr_http1_event event = sr_http1_next(&fetch->parser, p + *at, n - *at, &used, &slice);
        *at += used;
        switch (event) {
        case SR_HTTP1_HEAD:
            fetch->head_told = true;
            fetch->events->head(fetch->ctx, &fetch->parser.head);
            break;
        case SR_HTTP1_BODY:
            fetch->events->body(fetch->ctx, slice);
            break;
        case SR_HTTP1_END:
            fetch_complete(fetch, *at < n);
            break;
        case SR_HTTP1_FAIL:
            fetch_fail(fetch, SR_EPROTO, fetch->parser.reason);
            break;
        case SR_HTTP1_MORE:
            return true;
        }
    }
    return !fetch->cancelled && !fetch->ending;
}

/* All input is used: handles the end of the stream. */
static void response_eof(struct sr_fetch *fetch)
{
    if (sr_http1_eof(&fetch->parser) == SR_HTTP1_END)
        fetch_complete(fetch, false);
    else
        fetch_fail(fetch, SR_ECLOSED, "the upstream closed the connection before the response was complete");
}

/* Continues with new bytes, or with the bytes that a pause left in the buffer. */
static void response_run(struct sr_fetch *fetch, const char *p, size_t n)
{
    struct sr_buf *pending = &fetch->up->pending;
    size_t at = 0;
    bool kept = pending->len > 0;
    fetch->busy = true;
    fetch->answering = fetch->answering || n;
    if (kept && n && sr_buf_append(pending, p, n) != SR_OK)
        fetch_fail(fetch, SR_ENOMEM, "out of memory");
    if (kept && !fetch->ending) {
        p = pending->data;
        n = pending->len;
    }
    if (!fetch->ending && response_step(fetch, p, n, &at)) {
        if (kept)
            sr_buf_consume(pending, at);
        else if (at < n && sr_buf_append(pending, p + at, n - at) != SR_OK)
            fetch_fail(fetch, SR_ENOMEM, "out of memory");
        if (!fetch->ending && fetch->eof && !pending->len && !fetch->paused)
            response_eof(fetch);
    }
    if (!fetch_goes_on(fetch))
        return;
    if (fetch->paused) {
        sr_timer_stop(&fetch->timer);
        return;
    }
    if (fetch->head_told)
        timer_set(fetch, fetch->timeouts.idle_ms);
}

/* ---- events of the connection ---- */

/* The upstream accepts no more bytes. It may have answered before it closed, so the result of reading
 * decides. */
static void sending_failed(struct sr_fetch *fetch, int code)
{
    if (code != SR_ECLOSED && code != SR_EIO) {
        fetch_fail(fetch, code, "the connection was lost while the request was sent");
        return;
    }
    fetch->dropped = true;
    fetch->at = fetch->count;
    sr_buf_dispose(&fetch->backlog);
}

static void up_opened(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_fetch *fetch = up->fetch;
    int rc;
    fetch->opened = true;
    rc = request_pump(fetch);
    if (rc != SR_OK)
        sending_failed(fetch, rc);
    else if (!fetch->body_complete && !parts_left(fetch) && !sr_conn_queued(up->sock))
        sr_loop_defer(fetch->client->loop, &fetch->task);
}

static void up_data(void *ctx, const char *p, size_t n)
{
    struct sr_upstream *up = ctx;
    if (up->fetch)
        response_run(up->fetch, p, n);
    else
        sr_upstream_close(&up);
}

static void up_eof(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_fetch *fetch = up->fetch;
    if (!fetch) {
        sr_upstream_close(&up);
        return;
    }
    fetch->eof = true;
    response_run(fetch, "", 0);
}

static void up_drained(void *ctx)
{
    struct sr_upstream *up = ctx;
    struct sr_fetch *fetch = up->fetch;
    int rc;
    if (!fetch || fetch->dropped)
        return;
    rc = request_pump(fetch);
    if (rc != SR_OK) {
        sending_failed(fetch, rc);
    } else if (!fetch->body_complete && !parts_left(fetch) && !sr_conn_queued(up->sock) &&
               fetch->events->writable) {
        fetch->busy = true;
        fetch->events->writable(fetch->ctx);
        fetch_goes_on(fetch);
    }
}

static void up_failed(void *ctx, int code, const char *text)
{
    struct sr_upstream *up = ctx;
    if (up->fetch)
        fetch_fail(up->fetch, code, text);
    else
        sr_upstream_close(&up);
}

static const struct sr_conn_events up_events = {
    .opened = up_opened, .data = up_data, .eof = up_eof, .drained = up_drained, .failed = up_failed};

static void timer_fired(void *ctx)
{
    struct sr_fetch *fetch = ctx;
    fetch_fail(fetch, SR_ETIMEOUT,
               fetch->head_told ? "the response stopped coming" : "no response came in time");
}

/* Reports what was recorded inside a call of the caller. */
static void task_run(void *ctx)
{
    struct sr_fetch *fetch = ctx;
    if (fetch->ending) {
        fetch_finish(fetch);
        return;
    }
    if (fetch->opened && !fetch->dropped && !fetch->body_complete && !parts_left(fetch) &&
        !sr_conn_queued(fetch->up->sock) && fetch->events->writable) {
        fetch->busy = true;
        fetch->events->writable(fetch->ctx);
        if (!fetch_goes_on(fetch))
            return;
    }
    if (!fetch->paused && fetch->answering)
        response_run(fetch, "", 0);
}

/* ---- starting ---- */

/* Gives the fetch a pooled connection and sends, or starts to connect. */
static int fetch_attach(struct sr_fetch *fetch, const struct sr_origin *origin, bool fresh)
{
    struct sr_client *client = fetch->client;
    int rc;
    while (!fresh && (fetch->up = sr_upstream_take(client, origin)) != NULL) {
        fetch->up->fetch = fetch;
        fetch->reused = fetch->opened = true;
        fetch->sent_before = sr_conn_sent(fetch->up->sock);
        rc = request_pump(fetch);
        if (rc == SR_OK)
            return SR_OK;
        if (sr_conn_sent(fetch->up->sock) > fetch->sent_before) {
            sending_failed(fetch, rc);
            return SR_OK;
        }
        sr_upstream_close(&fetch->up);
        fetch->reused = fetch->opened = false;
    }
    fetch->sent_before = 0;
    return sr_upstream_connect(&fetch->up, client, origin, fetch, &up_events, fetch->timeouts.connect_ms);
}

/* Moves the head from the scratch buffer into the fetch. */
static int prefix_keep(struct sr_fetch *fetch)
{
    int rc;
    if (fetch->at > 0)
        return SR_OK;
    rc = sr_buf_append_bytes(&fetch->prefix, fetch->parts[0]);
    if (rc == SR_OK)
        fetch->parts[0] = sr_buf_view(&fetch->prefix);
    return rc;
}

static int parts_build(struct sr_fetch *fetch, const struct sr_client_request *request, struct sr_bytes head)
{
    size_t count = 0, size = 0;
    if (request->body_count > SR_CLIENT_SLICES_MAX)
        return SR_EINVAL;
    fetch->parts = fetch->parts_inline;
    if (request->body_count + 2 > SR_FETCH_PARTS)
        fetch->parts = sr_mem_calloc(request->body_count + 2, sizeof *fetch->parts);
    if (!fetch->parts)
        return SR_ENOMEM;
    fetch->parts[count++] = head;
    for (size_t i = 0; i < request->body_count; i++) {
        size += request->body[i].n;
        fetch->parts[count++] = request->body[i];
    }
    if (fetch->chunked && size && request->body_complete)
        fetch->parts[count++] = SR_LIT("\r\n0\r\n\r\n");
    else if (fetch->chunked && (size || request->body_complete))
        fetch->parts[count++] = size ? SR_HTTP1_CHUNK_TAIL : SR_HTTP1_CHUNK_END;
    fetch->count = count;
    if (fetch->chunked)
        return SR_OK;
    fetch->left = (uint64_t)request->content_length;
    if (size > fetch->left || (request->body_complete && size < fetch->left))
        return SR_EINVAL;
    fetch->left -= size;
    fetch->body_complete = fetch->body_complete || fetch->left == 0;
    return SR_OK;
}

int sr_client_start(struct sr_fetch **out, struct sr_client *client, const struct sr_origin *origin,
                    const struct sr_client_request *request, const struct sr_fetch_events *events, void *ctx)
{
    struct sr_fetch *fetch = sr_mem_calloc(1, sizeof *fetch);
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    size_t first = 0;
    int rc;
    if (!fetch)
        return SR_ENOMEM;
    limits.head_bytes = client->settings.response_head_bytes;
    fetch->client = client;
    fetch->events = events;
    fetch->ctx = ctx;
    fetch->timeouts = request->timeouts;
    fetch->chunked = request->content_length < 0;
    fetch->body_complete = request->body_complete;
    sr_buf_init(&fetch->prefix, SIZE_MAX / 2);
    sr_buf_init(&fetch->backlog, BACKLOG_MAX);
    sr_arena_init(&fetch->arena, HEAD_ARENA_MAX);
    sr_timer_init(&fetch->timer, client->loop, timer_fired, fetch);
    fetch->task = (struct sr_deferred){.run = task_run, .ctx = fetch};
    sr_http1_init(&fetch->parser, SR_HTTP1_RESPONSE, &limits);
    sr_http1_begin(&fetch->parser, &fetch->arena, sr_bytes_eq(request->method, SR_LIT("HEAD")));
    for (size_t i = 0; i < request->body_count; i++)
        first += request->body[i].n;
    sr_buf_clear(&client->scratch);
    rc = head_write(&client->scratch, origin, request, first);
    if (rc == SR_OK)
        rc = parts_build(fetch, request, sr_buf_view(&client->scratch));
    if (rc == SR_OK)
        rc = fetch_attach(fetch, origin, request->fresh);
    if (rc == SR_OK && !fetch->ending)
        rc = prefix_keep(fetch);
    if (rc != SR_OK) {
        sr_upstream_close(&fetch->up);
        fetch_free(fetch);
        return rc;
    }
    if (fetch->opened && !fetch->body_complete)
        sr_loop_defer(client->loop, &fetch->task);
    *out = fetch;
    return SR_OK;
}

/* ---- calls on a running fetch ---- */

static int body_write(struct sr_fetch *fetch, const struct sr_bytes *slices, size_t count)
{
    int rc = SR_OK;
    if (fetch->opened && !parts_left(fetch)) {
        rc = sr_conn_write(fetch->up->sock, slices, count);
        if (rc != SR_OK)
            sending_failed(fetch, rc);
        if (!fetch->head_told && !fetch->ending)
            timer_set(fetch, fetch->timeouts.head_ms);
        return rc == SR_OK ? SR_OK : SR_ECLOSED;
    }
    for (size_t i = 0; i < count && rc == SR_OK; i++)
        rc = sr_buf_append_bytes(&fetch->backlog, slices[i]);
    return rc;
}

int sr_fetch_write(struct sr_fetch *fetch, struct sr_bytes slice)
{
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    struct sr_bytes framed[] = {{NULL, 0}, slice, SR_HTTP1_CHUNK_TAIL};
    if (fetch->ending || fetch->dropped)
        return SR_ECLOSED;
    if (fetch->body_complete)
        return SR_EINVAL;
    if (!slice.n)
        return SR_OK;
    if (fetch->chunked) {
        framed[0] = sr_http1_chunk_head(chunk, slice.n);
        return body_write(fetch, framed, 3);
    }
    if (slice.n > fetch->left)
        return SR_EINVAL;
    fetch->left -= slice.n;
    return body_write(fetch, &slice, 1);
}

int sr_fetch_write_end(struct sr_fetch *fetch)
{
    struct sr_bytes last = SR_HTTP1_CHUNK_END;
    if (fetch->ending || fetch->dropped)
        return SR_ECLOSED;
    if (fetch->body_complete)
        return SR_OK;
    if (!fetch->chunked && fetch->left)
        return SR_EINVAL;
    fetch->body_complete = true;
    return fetch->chunked ? body_write(fetch, &last, 1) : SR_OK;
}

size_t sr_fetch_queued(const struct sr_fetch *fetch)
{
    size_t size = fetch->backlog.len + (fetch->up ? sr_conn_queued(fetch->up->sock) : 0);
    for (size_t i = fetch->at; i < fetch->count; i++)
        size += fetch->parts[i].n;
    return size;
}

void sr_fetch_pause(struct sr_fetch *fetch)
{
    fetch->paused = true;
    if (fetch->head_told)
        sr_timer_stop(&fetch->timer);
    if (fetch->up)
        sr_conn_pause(fetch->up->sock);
}

void sr_fetch_resume(struct sr_fetch *fetch)
{
    if (!fetch->paused)
        return;
    fetch->paused = false;
    if (fetch->ending)
        return;
    sr_conn_resume(fetch->up->sock);
    if (fetch->head_told)
        timer_set(fetch, fetch->timeouts.idle_ms);
    if (!fetch->busy)
        sr_loop_defer(fetch->client->loop, &fetch->task);
}
