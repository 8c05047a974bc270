/*
 * Answers in HTTP/1.1. A head and the first body bytes are sent in one system call; chunk framing surrounds
 * the caller's slices without copying them.
 */
#include "net/server/private.h"

#define SLICES_MAX 48
/* Bytes of an unread request body that the server reads and drops to keep the connection. */
#define DISCARD_MAX 65536

static struct sr_http_conn *conn_of(const struct sr_http_request *request)
{
    return (struct sr_http_conn *)((const char *)request - offsetof(struct sr_http_conn, request));
}

static const char *request_peer(const struct sr_http_request *request)
{
    const struct sr_http_conn *conn = conn_of(request);
    return conn->sock ? sr_conn_peer(conn->sock) : "";
}

static size_t request_queued(const struct sr_http_request *request)
{
    return sr_conn_queued(conn_of(request)->sock);
}

static void request_resume(struct sr_http_request *request)
{
    sr_http_conn_defer(conn_of(request));
}

/* The client has disconnected: `done` follows after the stack has unwound. */
static int request_break(struct sr_http_request *request)
{
    request->broken = true;
    sr_http_conn_defer(conn_of(request));
    return SR_ECLOSED;
}

static void request_inform(struct sr_http_request *request)
{
    struct sr_bytes line = SR_LIT("HTTP/1.1 100 Continue\r\n\r\n");
    if (sr_conn_write(conn_of(request)->sock, &line, 1) != SR_OK)
        request_break(request);
}

/* ---- the response ---- */

/* True when the connection can serve another request after this response. */
static bool body_blocks_reuse(const struct sr_http_request *request)
{
    const struct sr_http_conn *conn = conn_of(request);
    if (!conn->reading_body || !conn->parser.head.has_body)
        return false;
    return conn->parser.head.chunked || conn->parser.left > DISCARD_MAX ||
           (conn->parser.head.expect_continue && !request->continued);
}

static int head_build(struct sr_http_request *request, const struct sr_http_response *response,
                      struct sr_buf *out)
{
    struct sr_http_conn *conn = conn_of(request);
    bool no_length = response->status < 200 || response->status == 204;
    bool dated = false;
    int rc = sr_http1_write_status_line(out, response->status, response->reason);
    for (size_t i = 0; i < request->n_added && rc == SR_OK; i++)
        rc = sr_http1_write_header(out, request->added[i].name, request->added[i].value);
    for (size_t i = 0; i < response->header_count && rc == SR_OK; i++) {
        const struct sr_header *h = &response->headers[i];
        if (sr_http_request_skips(request, h->name))
            continue;
        dated = dated || sr_bytes_eq_nocase(h->name, SR_LIT("date"));
        rc = sr_http1_write_header(out, h->name, h->value);
    }
    if (rc == SR_OK && !dated)
        rc = sr_http1_write_header(out, SR_LIT("date"), sr_http_server_date(conn->server));
    if (rc == SR_OK && response->content_length >= 0 && !no_length)
        rc = sr_http1_write_length(out, (uint64_t)response->content_length);
    else if (rc == SR_OK && conn->chunked)
        rc = sr_http1_write_header(out, SR_LIT("transfer-encoding"), SR_LIT("chunked"));
    if (rc == SR_OK && conn->close_after)
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
    struct sr_http_conn *conn = conn_of(request);
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
    struct sr_http_conn *conn = conn_of(request);
    struct sr_bytes out[SLICES_MAX + 5];
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    size_t size = 0, n = 1;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    if (head.n)
        out[n++] = head;
    if (conn->chunked && size)
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
    if (conn->chunked && size)
        out[n++] = SR_HTTP1_CHUNK_TAIL;
    if (conn->chunked && last)
        out[n++] = SR_HTTP1_CHUNK_END;
    return send_out(request, out, n, last);
}

static void request_finished(struct sr_http_request *request)
{
    struct sr_http_conn *conn = conn_of(request);
    /* If the head was sent without `Connection: close`, the client only sees the connection close. */
    conn->close_after = conn->close_after || body_blocks_reuse(request);
    request->finished = true;
    sr_http_conn_defer(conn);
}

static int request_respond(struct sr_http_request *request, const struct sr_http_response *response,
                           const struct sr_bytes *slices, size_t count, bool last)
{
    struct sr_http_conn *conn = conn_of(request);
    struct sr_buf *scratch = &conn->server->scratch;
    bool was_closing = conn->close_after;
    int rc;
    conn->chunked = !request->counted && !request->bodiless && request->head->minor == 1;
    if ((!request->counted && !request->bodiless && !conn->chunked) || (last && body_blocks_reuse(request)) ||
        conn->server->draining)
        conn->close_after = true;
    sr_buf_clear(scratch);
    rc = head_build(request, response, scratch);
    if (rc != SR_OK) {
        conn->close_after = was_closing;
        return rc;
    }
    request->responded = true;
    rc = send_framed(request, sr_buf_view(scratch), slices, count, last);
    if (rc == SR_OK && last)
        request_finished(request);
    return rc;
}

static int request_write(struct sr_http_request *request, const struct sr_bytes *slices, size_t count)
{
    struct sr_bytes none = {NULL, 0};
    return send_framed(request, none, slices, count, false);
}

static int request_finish(struct sr_http_request *request)
{
    struct sr_bytes none = {NULL, 0};
    int rc = send_framed(request, none, NULL, 0, true);
    if (rc == SR_OK)
        request_finished(request);
    return rc;
}

static void request_abort(struct sr_http_request *request)
{
    /* Bytes given so far are still sent; a failure of that makes no difference. */
    if (!request->broken)
        (void)!sr_http_conn_uncork(conn_of(request));
    request_break(request);
}

const struct sr_http_request_ops sr_http_conn_ops = {
    .peer = request_peer,
    .queued = request_queued,
    .resume = request_resume,
    .inform = request_inform,
    .respond = request_respond,
    .write = request_write,
    .finish = request_finish,
    .abort = request_abort,
};
