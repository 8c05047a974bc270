/*
 * The response side of HTTP/2 streams: heads, body bytes that wait for the peer's window, trailers, resets.
 *
 * Calls only queue and submit; the connection sends after the stack has unwound.
 */
#include "base/mem.h"
#include "net/http2/private.h"

#include <stdio.h>

#define HEADERS_MAX 256
#define QUEUE_TIDY  65536 /* sent bytes at the front of the queue above which the rest is moved */

void sr_http2_stream_set_ctx(struct sr_http2_stream *stream, void *ctx)
{
    stream->ctx = ctx;
}

const char *sr_http2_stream_peer(const struct sr_http2_stream *stream)
{
    return stream->conn->sock ? sr_conn_peer(stream->conn->sock) : "";
}

static bool is_over(const struct sr_http2_stream *stream)
{
    return stream->conn->dead || stream->reset_ours || stream->reset_theirs || stream->end_sent;
}

/* ---- the queue ---- */

size_t sr_http2_stream_queued(const struct sr_http2_stream *stream)
{
    size_t queued = stream->out.len - stream->sent;
    if (queued)
        ((struct sr_http2_stream *)stream)->asked = true;
    return queued;
}

static void queue_drop(struct sr_http2_stream *stream)
{
    stream->conn->queued -= stream->out.len - stream->sent;
    stream->sent = 0;
    sr_buf_dispose(&stream->out);
}

static void queue_advance(struct sr_http2_stream *stream, size_t n)
{
    struct sr_http2_conn *conn = stream->conn;
    stream->sent += n;
    conn->queued -= n;
    if (stream->sent == stream->out.len) {
        queue_drop(stream);
        if (stream->asked && !stream->writable_pprev) {
            stream->writable_next = conn->writable;
            stream->writable_pprev = &conn->writable;
            if (conn->writable)
                conn->writable->writable_pprev = &stream->writable_next;
            conn->writable = stream;
        }
    } else if (stream->sent >= QUEUE_TIDY && stream->sent > stream->out.len / 2) {
        sr_buf_consume(&stream->out, stream->sent);
        stream->sent = 0;
    }
}

void sr_http2_stream_free(struct sr_http2_stream *stream)
{
    struct sr_http2_conn *conn = stream->conn;
    *stream->pprev = stream->next;
    if (stream->next)
        stream->next->pprev = stream->pprev;
    if (stream->writable_pprev) {
        *stream->writable_pprev = stream->writable_next;
        if (stream->writable_next)
            stream->writable_next->writable_pprev = stream->writable_pprev;
    }
    if (--conn->stream_count == 0)
        conn->server->busy--;
    conn->server->streams--;
    queue_drop(stream);
    sr_timer_stop(&stream->timer);
    sr_mem_free(stream->trailers);
    sr_mem_free(stream);
}

/* ---- nghttp2's data source ---- */

static size_t fields_fill(nghttp2_nv *nv, const struct sr_http2_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        nv[i] = (nghttp2_nv){.name = (uint8_t *)headers[i].name.p,
                             .namelen = headers[i].name.n,
                             .value = (uint8_t *)headers[i].value.p,
                             .valuelen = headers[i].value.n};
    return count;
}

static int trailers_submit(struct sr_http2_stream *stream)
{
    nghttp2_nv nv[HEADERS_MAX];
    size_t n = fields_fill(nv, stream->trailers, stream->trailer_count);
    int rv = nghttp2_submit_trailer(stream->conn->session, stream->id, nv, n);
    sr_mem_free(stream->trailers);
    stream->trailers = NULL;
    return rv;
}

/* nghttp2's data source callback for body bytes. */
static ssize_t stream_read(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags,
                           nghttp2_data_source *source, void *ctx)
{
    struct sr_http2_stream *stream = source->ptr;
    size_t n = stream->out.len - stream->sent;
    (void)session, (void)id, (void)ctx;
    if (!n && !stream->finished) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    n = n < length ? n : length;
    if (n) {
        memcpy(buf, stream->out.data + stream->sent, n);
        queue_advance(stream, n);
    }
    if (stream->finished && stream->out.len == stream->sent) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (stream->trailers) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            if (trailers_submit(stream) != 0)
                return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
    }
    return (ssize_t)n;
}

static void data_resume(struct sr_http2_stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        nghttp2_session_resume_data(stream->conn->session, stream->id);
    }
    sr_http2_conn_wake(stream->conn);
}

/* ---- the owner's calls ---- */

void sr_http2_stream_consume(struct sr_http2_stream *stream, size_t n)
{
    struct sr_http2_conn *conn = stream->conn;
    n = n < stream->unconsumed ? n : stream->unconsumed;
    if (!n || conn->dead)
        return;
    stream->unconsumed -= n;
    nghttp2_session_consume(conn->session, stream->id, n);
    if (nghttp2_session_want_write(conn->session))
        sr_http2_conn_wake(conn);
}

/* Connection-specific headers make an HTTP/2 message malformed; nghttp2 checks characters only. */
static bool headers_are_valid(const struct sr_http2_header *headers, size_t count)
{
    static const char *const banned[] = {"connection", "keep-alive", "proxy-connection", "transfer-encoding",
                                         "upgrade"};
    if (count > HEADERS_MAX - 1)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!nghttp2_check_header_name((const uint8_t *)headers[i].name.p, headers[i].name.n) ||
            headers[i].name.p[0] == ':' ||
            !nghttp2_check_header_value_rfc9113((const uint8_t *)headers[i].value.p, headers[i].value.n))
            return false;
        for (size_t b = 0; b < sizeof banned / sizeof *banned; b++)
            if (sr_bytes_eq_nocase(headers[i].name, sr_bytes_str(banned[b])))
                return false;
    }
    return true;
}

static nghttp2_nv status_field(int status, char text[16])
{
    return (nghttp2_nv){.name = (uint8_t *)":status",
                        .namelen = 7,
                        .value = (uint8_t *)text,
                        .valuelen = (size_t)snprintf(text, 16, "%d", status)};
}

int sr_http2_stream_inform(struct sr_http2_stream *stream, int status)
{
    char text[16];
    if (is_over(stream))
        return SR_ECLOSED;
    if (stream->responded || status < 100 || status > 199 || status == 101)
        return SR_EINVAL;
    nghttp2_nv nv = status_field(status, text);
    if (nghttp2_submit_headers(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id, NULL, &nv, 1, NULL) != 0)
        return SR_ENOMEM;
    sr_http2_conn_wake(stream->conn);
    return SR_OK;
}

int sr_http2_stream_respond(struct sr_http2_stream *stream, int status, const struct sr_http2_header *headers,
                            size_t count, bool end)
{
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = stream_read};
    nghttp2_nv nv[HEADERS_MAX];
    char text[16];
    if (is_over(stream))
        return SR_ECLOSED;
    if (stream->responded || status < 200 || status > 999 || !headers_are_valid(headers, count))
        return SR_EINVAL;
    nv[0] = status_field(status, text);
    fields_fill(nv + 1, headers, count);
    if (nghttp2_submit_response(stream->conn->session, stream->id, nv, count + 1, end ? NULL : &provider))
        return SR_ENOMEM;
    stream->responded = true;
    stream->finished = end;
    sr_http2_conn_wake(stream->conn);
    return SR_OK;
}

int sr_http2_stream_write(struct sr_http2_stream *stream, const struct sr_bytes *slices, size_t count)
{
    struct sr_http2_conn *conn = stream->conn;
    size_t size = 0, queued = stream->out.len - stream->sent;
    int rc;
    if (is_over(stream))
        return SR_ECLOSED;
    if (!stream->responded || stream->finished)
        return SR_EINVAL;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    if (size > conn->settings.send_bytes || queued > conn->settings.send_bytes - size ||
        size > conn->settings.connection_send_bytes ||
        conn->queued > conn->settings.connection_send_bytes - size)
        return SR_ELIMIT;
    rc = sr_buf_reserve(&stream->out, size);
    for (size_t i = 0; i < count && rc == SR_OK; i++)
        rc = sr_buf_append_bytes(&stream->out, slices[i]);
    if (rc != SR_OK)
        return rc;
    conn->queued += size;
    data_resume(stream);
    return SR_OK;
}

static struct sr_http2_header *headers_dup(const struct sr_http2_header *headers, size_t count)
{
    size_t size = count * sizeof *headers;
    struct sr_http2_header *copy;
    char *at;
    for (size_t i = 0; i < count; i++)
        size += headers[i].name.n + headers[i].value.n;
    copy = sr_mem_alloc(size);
    if (!copy)
        return NULL;
    at = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        struct sr_bytes name = headers[i].name, value = headers[i].value;
        copy[i] = (struct sr_http2_header){{at, name.n}, {at + name.n, value.n}};
        memcpy(at, name.p, name.n);
        if (value.n)
            memcpy(at + name.n, value.p, value.n);
        at += name.n + value.n;
    }
    return copy;
}

int sr_http2_stream_finish(struct sr_http2_stream *stream, const struct sr_http2_header *trailers,
                           size_t count)
{
    struct sr_http2_conn *conn = stream->conn;
    if (is_over(stream))
        return SR_ECLOSED;
    if (!stream->responded || stream->finished || !headers_are_valid(trailers, count))
        return SR_EINVAL;
    if (count) {
        stream->trailers = headers_dup(trailers, count);
        if (!stream->trailers)
            return SR_ENOMEM;
        stream->trailer_count = count;
    }
    stream->finished = true;
    stream->asked = false;
    if (stream->out.len || nghttp2_session_get_remote_window_size(conn->session) <= 0 ||
        nghttp2_session_get_stream_remote_window_size(conn->session, stream->id) <= 0) {
        stream->stuck = stream->out.len - stream->sent;
        sr_timer_start(&stream->timer, conn->settings.write_timeout_ms);
    }
    data_resume(stream);
    return SR_OK;
}

void sr_http2_stream_reset(struct sr_http2_stream *stream, uint32_t code)
{
    if (is_over(stream))
        return;
    stream->reset_ours = true;
    stream->reset_code = code;
    queue_drop(stream);
    nghttp2_submit_rst_stream(stream->conn->session, NGHTTP2_FLAG_NONE, stream->id, code);
    sr_http2_conn_wake(stream->conn);
}
