/*
 * The response side of server connections, and the accessors of a request. A head and the first body bytes
 * are sent in one system call; chunk framing surrounds the caller's slices without copying them.
 */
#include "base/clock.h"
#include "net/server/private.h"

#include <time.h>

#define SLICES_MAX 48
/* Bytes of an unread request body that the server reads and drops to keep the connection. */
#define DISCARD_MAX 65536

/* ---- accessors ---- */

const struct sr_http_head *sr_http_request_head(const struct sr_http_request *request)
{
    return &request->conn->parser.head;
}

struct sr_arena *sr_http_request_arena(struct sr_http_request *request)
{
    return &request->arena;
}

const char *sr_http_request_peer(const struct sr_http_request *request)
{
    return request->conn->sock ? sr_conn_peer(request->conn->sock) : "";
}

uint64_t sr_http_request_started_ns(const struct sr_http_request *request)
{
    return request->started_ns;
}

void sr_http_request_set_ctx(struct sr_http_request *request, void *ctx)
{
    request->ctx = ctx;
}

int sr_http_request_error_status(const struct sr_http_request *request)
{
    return request->error_status;
}

size_t sr_http_request_queued(const struct sr_http_request *request)
{
    return sr_conn_queued(request->conn->sock);
}

/* ---- the request's body ---- */

void sr_http_request_pause(struct sr_http_request *request)
{
    request->paused = true;
}

void sr_http_request_resume(struct sr_http_request *request)
{
    if (!request->paused)
        return;
    request->paused = false;
    sr_http_conn_defer(request->conn);
}

/* The client has disconnected: `done` follows after the stack has unwound. */
static int request_break(struct sr_http_request *request)
{
    request->broken = true;
    sr_http_conn_defer(request->conn);
    return SR_ECLOSED;
}

void sr_http_request_continue(struct sr_http_request *request)
{
    struct sr_http_conn *conn = request->conn;
    struct sr_bytes line = SR_LIT("HTTP/1.1 100 Continue\r\n\r\n");
    if (!conn->parser.head.expect_continue || request->continued || request->responded || request->broken)
        return;
    request->continued = true;
    if (sr_conn_write(conn->sock, &line, 1) != SR_OK)
        request_break(request);
}

/* ---- the response ---- */

static struct sr_bytes date_now(struct sr_http_server *server)
{
    uint64_t second = sr_clock_wall_ns() / SR_NS_PER_S;
    if (second != server->date_second) {
        time_t t = (time_t)second;
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        server->date_second = second;
    }
    return sr_bytes_str(server->date);
}

/* True when the connection can serve another request after this response. */
static bool body_blocks_reuse(const struct sr_http_request *request)
{
    const struct sr_http_conn *conn = request->conn;
    if (!conn->reading_body || !conn->parser.head.has_body)
        return false;
    return conn->parser.head.chunked || conn->parser.left > DISCARD_MAX ||
           (conn->parser.head.expect_continue && !request->continued);
}

void sr_http_request_add_headers(struct sr_http_request *request, const struct sr_header *headers, size_t n)
{
    request->added = headers;
    request->n_added = n;
}

/* Was a header of this name added, of which a response has one? */
static bool is_replaced(const struct sr_http_request *request, struct sr_bytes name)
{
    for (size_t i = 0; i < request->n_added; i++)
        if (sr_bytes_eq_nocase(name, request->added[i].name) && !sr_bytes_eq_nocase(name, SR_LIT("vary")))
            return true;
    return false;
}

static int head_build(struct sr_http_request *request, const struct sr_http_response *response,
                      struct sr_buf *out)
{
    struct sr_http_conn *conn = request->conn;
    bool no_length = response->status < 200 || response->status == 204;
    bool dated = false;
    int rc = sr_http1_write_status_line(out, response->status, response->reason);
    for (size_t i = 0; i < request->n_added && rc == SR_OK; i++)
        rc = sr_http1_write_header(out, request->added[i].name, request->added[i].value);
    for (size_t i = 0; i < response->header_count && rc == SR_OK; i++) {
        const struct sr_header *h = &response->headers[i];
        if (is_replaced(request, h->name))
            continue;
        if (sr_http1_is_hop_by_hop(NULL, h->name) || sr_bytes_eq_nocase(h->name, SR_LIT("content-length")))
            continue;
        dated = dated || sr_bytes_eq_nocase(h->name, SR_LIT("date"));
        rc = sr_http1_write_header(out, h->name, h->value);
    }
    if (rc == SR_OK && !dated)
        rc = sr_http1_write_header(out, SR_LIT("date"), date_now(conn->server));
    if (rc == SR_OK && response->content_length >= 0 && !no_length)
        rc = sr_http1_write_length(out, (uint64_t)response->content_length);
    else if (rc == SR_OK && request->chunked)
        rc = sr_http1_write_header(out, SR_LIT("transfer-encoding"), SR_LIT("chunked"));
    if (rc == SR_OK && request->close_after)
        rc = sr_http1_write_header(out, SR_LIT("connection"), SR_LIT("close"));
    else if (rc == SR_OK && conn->parser.head.minor == 0)
        rc = sr_http1_write_header(out, SR_LIT("connection"), SR_LIT("keep-alive"));
    return rc == SR_OK ? sr_http1_write_end(out) : rc;
}

int sr_http_conn_uncork(struct sr_http_conn *conn)
{
    struct sr_bytes corked = sr_buf_view(&conn->cork);
    int rc = SR_OK;
    if (corked.n)
        rc = sr_conn_write(conn->sock, &corked, 1);
    sr_buf_clear(&conn->cork);
    return rc;
}

/* Sends out[1..n); out[0] is reserved for the corked bytes. Small pieces of one turn of the loop are sent
 * together: a head with its first bytes, a last chunk with the end. Copying them costs less than a system
 * call; large pieces are not copied. */
static int send_out(struct sr_http_request *request, struct sr_bytes *out, size_t n, bool last)
{
    struct sr_http_conn *conn = request->conn;
    struct sr_buf *cork = &conn->cork;
    size_t size = 0;
    int rc = SR_OK;
    for (size_t i = 1; i < n; i++)
        size += out[i].n;
    if (!last && cork->len + size <= SR_HTTP_CORK_MAX) {
        if (!cork->data)
            rc = sr_buf_reserve(cork, SR_HTTP_CORK_KEEP);
        for (size_t i = 1; i < n && rc == SR_OK; i++)
            rc = sr_buf_append_bytes(cork, out[i]);
        if (rc != SR_OK)
            return request_break(request);
        sr_http_conn_defer(conn);
        return SR_OK;
    }
    out[0] = sr_buf_view(cork);
    rc = sr_conn_write(conn->sock, out, n);
    sr_buf_clear(cork);
    if (rc != SR_OK)
        return request_break(request);
    if (conn->phase != SR_HTTP_PHASE_WRITE && sr_conn_queued(conn->sock))
        sr_http_conn_timer(conn, false);
    return SR_OK;
}

/* Sends `head` (may be empty) and then the slices in the framing of this response; `last` adds the end of the
 * framing. */
static int send_framed(struct sr_http_request *request, struct sr_bytes head, const struct sr_bytes *slices,
                       size_t count, bool last)
{
    struct sr_bytes out[SLICES_MAX + 5];
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    size_t size = 0, n = 1;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    if (request->counted && !request->bodiless) {
        if (size > request->left)
            return SR_EINVAL;
        request->left -= size;
    }
    if (request->bodiless)
        size = count = 0;
    if (head.n)
        out[n++] = head;
    if (request->chunked && size)
        out[n++] = sr_http1_chunk_head(chunk, size);
    while (count > SLICES_MAX) {
        /* Rare: there are more slices than fit; the chunk's head is sent with the first of them. */
        memcpy(out + n, slices, SLICES_MAX * sizeof *slices);
        if (send_out(request, out, n + SLICES_MAX, false) != SR_OK)
            return SR_ECLOSED;
        slices += SLICES_MAX;
        count -= SLICES_MAX;
        n = 1;
    }
    if (count)
        memcpy(out + n, slices, count * sizeof *slices);
    n += count;
    if (request->chunked && size)
        out[n++] = SR_HTTP1_CHUNK_TAIL;
    if (request->chunked && last)
        out[n++] = SR_HTTP1_CHUNK_END;
    return send_out(request, out, n, last);
}

static void request_finished(struct sr_http_request *request)
{
    /* If the head was sent without `Connection: close`, the client only sees the connection close. */
    request->close_after = request->close_after || body_blocks_reuse(request);
    request->finished = true;
    sr_http_conn_defer(request->conn);
}

static int respond(struct sr_http_request *request, const struct sr_http_response *response,
                   const struct sr_bytes *slices, size_t count, bool last)
{
    struct sr_http_conn *conn = request->conn;
    struct sr_buf *scratch = &conn->server->scratch;
    bool was_closing = request->close_after;
    int rc;
    if (request->broken)
        return SR_ECLOSED;
    if (request->responded || response->status < 200)
        return SR_EINVAL;
    request->bodiless = response->status == 204 || response->status == 304 ||
                        sr_bytes_eq(conn->parser.head.method, SR_LIT("HEAD"));
    request->counted = response->content_length >= 0;
    request->left = request->counted ? (uint64_t)response->content_length : 0;
    request->chunked = !request->counted && !request->bodiless && conn->parser.head.minor == 1;
    if ((!request->counted && !request->bodiless && !request->chunked) ||
        (last && body_blocks_reuse(request)) || conn->server->draining)
        request->close_after = true;
    sr_buf_clear(scratch);
    rc = head_build(request, response, scratch);
    if (rc != SR_OK) {
        request->close_after = was_closing;
        return rc;
    }
    rc = send_framed(request, sr_buf_view(scratch), slices, count, last);
    request->responded = rc != SR_EINVAL;
    return rc;
}

int sr_http_request_respond(struct sr_http_request *request, const struct sr_http_response *response,
                            const struct sr_bytes *slices, size_t count)
{
    return respond(request, response, slices, count, false);
}

int sr_http_request_write(struct sr_http_request *request, const struct sr_bytes *slices, size_t count)
{
    struct sr_bytes none = {NULL, 0};
    if (request->broken)
        return SR_ECLOSED;
    if (!request->responded || request->finished)
        return SR_EINVAL;
    return send_framed(request, none, slices, count, false);
}

int sr_http_request_finish(struct sr_http_request *request)
{
    struct sr_bytes none = {NULL, 0};
    int rc;
    if (request->broken)
        return SR_ECLOSED;
    if (!request->responded || request->finished)
        return SR_EINVAL;
    if (request->counted && !request->bodiless && request->left) {
        sr_http_request_abort(request);
        return SR_EINVAL;
    }
    rc = send_framed(request, none, NULL, 0, true);
    if (rc == SR_OK)
        request_finished(request);
    return rc;
}

int sr_http_request_reply(struct sr_http_request *request, const struct sr_http_response *response,
                          struct sr_bytes body)
{
    struct sr_http_response whole = *response;
    int rc;
    whole.content_length = (int64_t)body.n;
    rc = respond(request, &whole, &body, 1, true);
    if (rc == SR_OK)
        request_finished(request);
    return rc;
}

void sr_http_request_abort(struct sr_http_request *request)
{
    /* Bytes given so far are still sent; a failure of that makes no difference. */
    if (!request->broken)
        (void)!sr_http_conn_uncork(request->conn);
    request_break(request);
}
