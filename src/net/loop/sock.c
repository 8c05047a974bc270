/*
 * Connections over uv_tcp: they read into the loop's buffer, write at once and queue the rest, run TLS in
 * between, and never call a callback after a close.
 *
 * The libuv handle is a separate object: a connection attempt creates one per address, and a closed handle
 * may outlive its connection. The connection itself is freed by a deferred task, so that callbacks may close
 * it.
 */
#include "net/loop/sock.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/loop/dns.h"
#include "net/loop/sock_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define SOCK_IOV_MAX       64
#define SOCK_QUEUE_DEFAULT ((size_t)16 << 20)
#define SOCK_TLS_RECORD    16384
#define SOCK_TLS_SOME      ((size_t)256 << 10)

struct write_request {
    uv_write_t request;
    size_t size;
    char data[];
};

static void conn_run_task(void *ctx);

/* ---- lifetime ---- */

static void handle_closed(uv_handle_t *handle)
{
    sr_mem_free(handle->data);
}

void sr_conn_handle_close(struct sr_conn *conn)
{
    if (!conn->handle)
        return;
    conn->handle->conn = NULL;
    uv_close((uv_handle_t *)&conn->handle->tcp, handle_closed);
    conn->handle = NULL;
    conn->reading = false;
}

int sr_conn_handle_open(struct sr_conn *conn)
{
    struct sr_conn_handle *handle = sr_mem_alloc(sizeof *handle);
    if (!handle)
        return SR_ENOMEM;
    uv_tcp_init(&conn->loop->uv, &handle->tcp);
    handle->tcp.data = handle;
    handle->conn = conn;
    conn->handle = handle;
    return SR_OK;
}

static void attempt_free(struct sr_conn *conn)
{
    if (!conn->attempt)
        return;
    sr_dns_cancel(&conn->attempt->query);
    sr_tls_context_unref(conn->attempt->tls);
    sr_mem_free(conn->attempt);
    conn->attempt = NULL;
}

/* Releases all resources at once; the memory is freed after the stack has unwound. */
static void conn_release(struct sr_conn *conn)
{
    conn->closed = true;
    conn->lingering = false;
    sr_timer_stop(&conn->timer);
    attempt_free(conn);
    sr_conn_handle_close(conn);
    if (conn->released)
        conn->released(conn->released_ctx, conn->released_arg);
    conn->released = NULL;
    sr_loop_defer(conn->loop, &conn->task);
}

static void timer_fired(void *ctx)
{
    struct sr_conn *conn = ctx;
    if (conn->lingering) {
        conn_release(conn);
    } else if (conn->state == SR_CONN_CONNECTING) {
        conn->attempt->timed_out(conn);
    } else {
        sr_conn_break(conn, SR_ETIMEOUT, "timed out inside the TLS handshake");
        sr_conn_tell_failure(conn);
    }
}

struct sr_conn *sr_conn_new(struct sr_loop *loop)
{
    struct sr_conn *conn = sr_mem_calloc(1, sizeof *conn);
    if (!conn)
        return NULL;
    conn->loop = loop;
    conn->queue_max = SOCK_QUEUE_DEFAULT;
    sr_buf_init(&conn->before_open, SIZE_MAX / 2); /* bounded by queue_max */
    sr_timer_init(&conn->timer, loop, timer_fired, conn);
    conn->task.run = conn_run_task;
    conn->task.ctx = conn;
    return conn;
}

void sr_conn_set_released(struct sr_conn *conn, void (*released)(void *ctx, void *arg), void *ctx, void *arg)
{
    conn->released = released;
    conn->released_ctx = ctx;
    conn->released_arg = arg;
}

void sr_conn_close(struct sr_conn **conn)
{
    if (*conn)
        conn_release(*conn);
    *conn = NULL;
}

/* Records the first failure; a callback of the loop reports it to the owner, never inside the owner's own
 * call. */
int sr_conn_break(struct sr_conn *conn, int code, const char *text)
{
    if (conn->state == SR_CONN_BROKEN)
        return conn->fail_code;
    conn->state = SR_CONN_BROKEN;
    conn->fail_code = code;
    snprintf(conn->fail_text, sizeof conn->fail_text, "%s", text);
    sr_timer_stop(&conn->timer);
    if (conn->handle && conn->reading) {
        uv_read_stop((uv_stream_t *)&conn->handle->tcp);
        conn->reading = false;
    }
    return code;
}

static int conn_break_uv(struct sr_conn *conn, int status)
{
    return sr_conn_break(conn, sr_uv_code(status), sr_uv_text(status));
}

/* The peer may have answered before it closed: reading continues and reports the end. */
static int conn_break_write(struct sr_conn *conn, int status)
{
    if (!conn->reading)
        return conn_break_uv(conn, status);
    conn->write_error = sr_uv_code(status);
    return conn->write_error;
}

/* In a callback of the loop: reports the failure that sr_conn_break recorded. */
void sr_conn_tell_failure(struct sr_conn *conn)
{
    if (conn->lingering) {
        conn_release(conn);
    } else if (!conn->closed && !conn->fail_told) {
        conn->fail_told = true;
        conn->events->failed(conn->ctx, conn->fail_code, conn->fail_text);
    }
}

/* ---- sending ---- */

static void write_done(uv_write_t *request, int status)
{
    struct write_request *write = (struct write_request *)request->data;
    struct sr_conn_handle *handle = request->handle->data;
    struct sr_conn *conn = handle->conn;
    size_t size = write->size;
    sr_mem_free(write);
    if (!conn)
        return;
    conn->queued -= size;
    if (status < 0) {
        conn_break_write(conn, status);
        if (conn->state == SR_CONN_BROKEN)
            sr_conn_tell_failure(conn);
    } else if (conn->lingering && conn->eof && conn->queued == 0) {
        conn_release(conn);
    } else if (conn->queued == 0 && !conn->closed && conn->state == SR_CONN_OPEN && conn->events->drained) {
        conn->events->drained(conn->ctx);
    }
}

/* Copies what is left of the slices after `skip` bytes into one queued write. */
static int queue_rest(struct sr_conn *conn, const struct sr_bytes *slices, size_t count, size_t skip,
                      size_t size)
{
    struct write_request *write = size ? sr_mem_alloc(sizeof *write + size) : NULL;
    size_t at = 0;
    uv_buf_t buf;
    int rc;
    if (!size)
        return SR_OK;
    if (!write)
        return sr_conn_break(conn, SR_ENOMEM, "out of memory");
    for (size_t i = 0; i < count && at < size; i++) {
        size_t off = skip < slices[i].n ? skip : slices[i].n;
        size_t n = slices[i].n - off < size - at ? slices[i].n - off : size - at;
        skip -= off;
        if (n)
            memcpy(write->data + at, slices[i].p + off, n);
        at += n;
    }
    write->size = size;
    write->request.data = write;
    buf = (uv_buf_t){.base = write->data, .len = size};
    rc = uv_write(&write->request, (uv_stream_t *)&conn->handle->tcp, &buf, 1, write_done);
    if (rc < 0) {
        sr_mem_free(write);
        return conn_break_write(conn, rc);
    }
    conn->queued += size;
    return SR_OK;
}

/* Writes what the kernel accepts now; *taken is the number of bytes. */
static int try_write(struct sr_conn *conn, const struct sr_bytes *slices, size_t count, size_t *taken)
{
    uv_buf_t bufs[SOCK_IOV_MAX];
    *taken = 0;
    if (conn->queued)
        return SR_OK;
    for (size_t i = 0; i < count;) {
        size_t n = 0, bytes = 0;
        int rc;
        for (; i < count && n < SOCK_IOV_MAX; i++) {
            if (!slices[i].n)
                continue;
            bufs[n++] = (uv_buf_t){.base = (char *)slices[i].p, .len = slices[i].n};
            bytes += slices[i].n;
        }
        if (!n)
            break;
        rc = uv_try_write((uv_stream_t *)&conn->handle->tcp, bufs, (unsigned)n);
        if (rc == UV_EAGAIN)
            break;
        if (rc < 0)
            return conn_break_write(conn, rc);
        *taken += (size_t)rc;
        if ((size_t)rc < bytes)
            break;
    }
    return SR_OK;
}

static int flush_tls(struct sr_conn *conn)
{
    struct sr_bytes out = sr_tls_output(conn->tls);
    size_t taken;
    int rc;
    if (!out.n || !conn->handle)
        return SR_OK;
    rc = try_write(conn, &out, 1, &taken);
    if (rc == SR_OK)
        rc = queue_rest(conn, &out, 1, taken, out.n - taken);
    sr_tls_output_consume(conn->tls, out.n);
    return rc;
}

/* Small slices share a TLS record; large ones are encrypted without a copy. */
static int write_tls(struct sr_conn *conn, const struct sr_bytes *slices, size_t count, size_t size)
{
    char record[SOCK_TLS_RECORD];
    size_t fill = 0;
    int rc = SR_OK;
    for (size_t i = 0; i < count && rc == SR_OK && size; i++) {
        const char *p = slices[i].p;
        size_t n = slices[i].n < size ? slices[i].n : size;
        size -= n;
        if (fill + n > sizeof record) {
            rc = sr_tls_write(conn->tls, record, fill);
            fill = 0;
        }
        if (rc == SR_OK && n >= sizeof record) {
            rc = sr_tls_write(conn->tls, p, n);
        } else if (n) {
            memcpy(record + fill, p, n);
            fill += n;
        }
    }
    if (rc == SR_OK)
        rc = sr_tls_write(conn->tls, record, fill);
    if (rc)
        return sr_conn_break(conn, rc, sr_tls_reason(conn->tls));
    return flush_tls(conn);
}

static size_t slices_size(const struct sr_bytes *slices, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    return size;
}

static int hold_until_open(struct sr_conn *conn, const struct sr_bytes *slices, size_t count)
{
    int rc = SR_OK;
    for (size_t i = 0; i < count && rc == SR_OK; i++)
        rc = sr_buf_append_bytes(&conn->before_open, slices[i]);
    return rc ? sr_conn_break(conn, rc, sr_strerror(rc)) : SR_OK;
}

/* Sends or queues all slices; the caller has checked the state. */
static int send_all(struct sr_conn *conn, const struct sr_bytes *slices, size_t count, size_t size)
{
    size_t taken;
    int rc;
    if (conn->tls) {
        conn->sent += size;
        return write_tls(conn, slices, count, size);
    }
    rc = try_write(conn, slices, count, &taken);
    conn->sent += taken;
    if (rc == SR_OK && taken < size) {
        rc = queue_rest(conn, slices, count, taken, size - taken);
        conn->sent += size - taken;
    }
    return rc;
}

/* Tells whether writing is possible; SR_AGAIN before the connection is open. */
static int write_state(const struct sr_conn *conn)
{
    if (conn->state == SR_CONN_BROKEN)
        return conn->fail_code;
    if (conn->write_error || conn->shut)
        return conn->write_error ? conn->write_error : SR_ECLOSED;
    return conn->state == SR_CONN_OPEN ? SR_OK : SR_AGAIN;
}

int sr_conn_write(struct sr_conn *conn, const struct sr_bytes *slices, size_t count)
{
    size_t size = slices_size(slices, count), queued = sr_conn_queued(conn);
    int rc = write_state(conn);
    if (!size && rc == SR_AGAIN)
        return SR_OK;
    if (!size || (rc != SR_OK && rc != SR_AGAIN))
        return rc;
    if (queued > conn->queue_max || size > conn->queue_max - queued)
        return SR_ELIMIT;
    rc = rc == SR_AGAIN ? hold_until_open(conn, slices, count) : send_all(conn, slices, count, size);
    conn->fail_told = conn->fail_told || (rc != SR_OK && conn->state == SR_CONN_BROKEN);
    return rc;
}

int sr_conn_write_some(struct sr_conn *conn, const struct sr_bytes *slices, size_t count, size_t *taken)
{
    size_t size = slices_size(slices, count), part;
    int rc = write_state(conn);
    *taken = 0;
    if (rc == SR_AGAIN || (rc == SR_OK && (conn->queued || !size)))
        return SR_OK;
    if (rc == SR_OK && conn->tls) {
        *taken = size < SOCK_TLS_SOME ? size : SOCK_TLS_SOME;
        rc = write_tls(conn, slices, count, *taken);
    } else if (rc == SR_OK) {
        rc = try_write(conn, slices, count, taken);
        part = size - *taken < SR_LOOP_READ_SIZE ? size - *taken : SR_LOOP_READ_SIZE;
        if (rc == SR_OK)
            rc = queue_rest(conn, slices, count, *taken, part);
        *taken += part;
    }
    conn->sent += *taken;
    conn->fail_told = conn->fail_told || (rc != SR_OK && conn->state == SR_CONN_BROKEN);
    return rc;
}

size_t sr_conn_queued(const struct sr_conn *conn)
{
    size_t in_libuv =
        conn->handle ? uv_stream_get_write_queue_size((const uv_stream_t *)&conn->handle->tcp) : 0;
    return in_libuv + conn->before_open.len;
}

uint64_t sr_conn_sent(const struct sr_conn *conn)
{
    return conn->sent;
}

void sr_conn_set_queue_max(struct sr_conn *conn, size_t bytes)
{
    conn->queue_max = bytes;
}

static void shutdown_done(uv_shutdown_t *request, int status)
{
    (void)status;
    sr_mem_free(request);
}

void sr_conn_shutdown(struct sr_conn *conn)
{
    uv_shutdown_t *request;
    if (conn->shut || conn->state != SR_CONN_OPEN)
        return;
    conn->shut = true;
    if (conn->tls) {
        sr_tls_shutdown(conn->tls);
        if (flush_tls(conn) != SR_OK)
            return;
    }
    request = sr_mem_alloc(sizeof *request);
    if (request && uv_shutdown(request, (uv_stream_t *)&conn->handle->tcp, shutdown_done) != 0)
        sr_mem_free(request);
}

void sr_conn_finish(struct sr_conn **slot, uint32_t linger_ms)
{
    struct sr_conn *conn = *slot;
    *slot = NULL;
    if (!conn)
        return;
    if (conn->state != SR_CONN_OPEN || (conn->eof && !conn->queued)) {
        conn_release(conn);
        return;
    }
    sr_conn_shutdown(conn);
    conn->closed = true;
    conn->lingering = true;
    conn->paused = false;
    sr_timer_start(&conn->timer, linger_ms);
    sr_conn_read_update(conn);
}

/* ---- receiving ---- */

static void read_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct sr_conn_handle *h = handle->data;
    (void)suggested;
    *buf = uv_buf_init(h->conn->loop->read_buffer, SR_LOOP_READ_SIZE);
}

static void tell_eof(struct sr_conn *conn)
{
    if (conn->lingering) {
        if (conn->queued == 0)
            conn_release(conn);
        return;
    }
    if (conn->closed || conn->paused || conn->eof_told)
        return;
    conn->eof_told = true;
    conn->events->eof(conn->ctx);
}

void sr_conn_became_open(struct sr_conn *conn)
{
    struct sr_bytes held = sr_buf_view(&conn->before_open);
    conn->state = SR_CONN_OPEN;
    sr_timer_stop(&conn->timer);
    attempt_free(conn);
    if (held.n) {
        if (send_all(conn, &held, 1, held.n) != SR_OK && conn->state == SR_CONN_BROKEN)
            sr_conn_tell_failure(conn);
        sr_buf_dispose(&conn->before_open);
    }
    if (!conn->closed && conn->state == SR_CONN_OPEN && conn->events->opened)
        conn->events->opened(conn->ctx);
}

/* Drives the handshake with the received bytes. */
void sr_conn_handshake(struct sr_conn *conn)
{
    int rc = sr_tls_handshake(conn->tls), sent = flush_tls(conn);
    if (rc == SR_OK && sent == SR_OK) {
        sr_conn_became_open(conn);
    } else if (rc != SR_AGAIN && rc != SR_OK) {
        sr_conn_break(conn, rc, sr_tls_reason(conn->tls));
        sr_conn_tell_failure(conn);
    } else if (sent != SR_OK) {
        sr_conn_break(conn, sent, "closed by the peer inside the TLS handshake");
        sr_conn_tell_failure(conn);
    }
}

/* Delivers the plaintext that the session holds until it is empty or the owner pauses. */
static void pump_tls(struct sr_conn *conn)
{
    char *buffer = conn->loop->read_buffer;
    while (conn->state == SR_CONN_OPEN && !conn->paused && !(conn->closed && !conn->lingering)) {
        size_t fill = 0, got;
        int rc = SR_OK;
        while (fill + SOCK_TLS_RECORD <= SR_LOOP_READ_SIZE &&
               (rc = sr_tls_read(conn->tls, buffer + fill, SR_LOOP_READ_SIZE - fill, &got)) == SR_OK)
            fill += got;
        if (fill && !conn->closed)
            conn->events->data(conn->ctx, buffer, fill);
        if (rc == SR_OK || conn->state != SR_CONN_OPEN)
            continue;
        if (rc == SR_ECLOSED)
            conn->eof = true;
        else if (rc != SR_AGAIN)
            sr_conn_break(conn, rc, sr_tls_reason(conn->tls));
        break;
    }
    if (conn->state == SR_CONN_OPEN && !(conn->closed && !conn->lingering) && flush_tls(conn) == SR_OK &&
        conn->eof)
        tell_eof(conn);
    if (conn->state == SR_CONN_BROKEN)
        sr_conn_tell_failure(conn);
}

static void read_tls(struct sr_conn *conn, const char *p, size_t n)
{
    if (sr_tls_feed(conn->tls, p, n) != SR_OK) {
        sr_conn_break(conn, SR_ENOMEM, "out of memory");
        sr_conn_tell_failure(conn);
        return;
    }
    if (conn->state == SR_CONN_HANDSHAKE)
        sr_conn_handshake(conn);
    if (conn->state == SR_CONN_OPEN)
        pump_tls(conn);
}

static void read_done(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct sr_conn_handle *handle = stream->data;
    struct sr_conn *conn = handle->conn;
    if (!conn || n == 0)
        return;
    if (n == UV_EOF) {
        conn->eof = true;
        conn->reading = false;
        if (conn->state == SR_CONN_HANDSHAKE) {
            sr_conn_break(conn, SR_ECLOSED, "closed by the peer inside the TLS handshake");
            sr_conn_tell_failure(conn);
        } else {
            tell_eof(conn);
        }
    } else if (n < 0) {
        conn_break_uv(conn, (int)n);
        sr_conn_tell_failure(conn);
    } else if (conn->tls) {
        read_tls(conn, buf->base, (size_t)n);
    } else if (!conn->closed) {
        conn->events->data(conn->ctx, buf->base, (size_t)n);
    }
}

/* Starts or stops libuv's reading so that it matches what the owner wants. */
void sr_conn_read_update(struct sr_conn *conn)
{
    bool want = conn->handle && !conn->paused && !conn->eof &&
                (conn->state == SR_CONN_OPEN || conn->state == SR_CONN_HANDSHAKE) &&
                (!conn->closed || conn->lingering);
    if (want == conn->reading || !conn->handle)
        return;
    conn->reading = want;
    if (want)
        uv_read_start((uv_stream_t *)&conn->handle->tcp, read_alloc, read_done);
    else
        uv_read_stop((uv_stream_t *)&conn->handle->tcp);
}

void sr_conn_pause(struct sr_conn *conn)
{
    conn->paused = true;
    sr_conn_read_update(conn);
}

void sr_conn_resume(struct sr_conn *conn)
{
    if (!conn->paused)
        return;
    conn->paused = false;
    sr_conn_read_update(conn);
    if (conn->tls || (conn->eof && !conn->eof_told))
        sr_loop_defer(conn->loop, &conn->task);
}

/* The deferred task: frees, reports failures that could not be reported inside the owner's call, or continues
 * after a pause. */
static void conn_run_task(void *ctx)
{
    struct sr_conn *conn = ctx;
    if (conn->closed && !conn->lingering) {
        sr_tls_free(conn->tls);
        sr_buf_dispose(&conn->before_open);
        sr_mem_free(conn);
    } else if (conn->state == SR_CONN_BROKEN) {
        sr_conn_tell_failure(conn);
    } else if (conn->tls && conn->state == SR_CONN_OPEN) {
        pump_tls(conn);
    } else if (conn->eof) {
        tell_eof(conn);
    }
}

bool sr_conn_is_quiet(const struct sr_conn *conn)
{
    char byte;
    int fd;
    if (conn->state != SR_CONN_OPEN || conn->eof ||
        uv_fileno((const uv_handle_t *)&conn->handle->tcp, &fd) != 0)
        return false;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

bool sr_conn_is_lost(const struct sr_conn *conn)
{
    struct pollfd state = {.events = 0};
    if (conn->state != SR_CONN_OPEN || uv_fileno((const uv_handle_t *)&conn->handle->tcp, &state.fd) != 0)
        return true;
    return poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

bool sr_conn_address(const struct sr_conn *conn, struct sockaddr_storage *out)
{
    int size = sizeof *out;
    return conn->handle && uv_tcp_getpeername(&conn->handle->tcp, (struct sockaddr *)out, &size) == 0;
}

/* Formats an address as "1.2.3.4:80" or "[::1]:80". */
static void format_address(const struct sockaddr *address, char out[SR_SOCK_ADDRESS_MAX])
{
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
        snprintf(out, SR_SOCK_ADDRESS_MAX, "[%s]:%u", text, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
        snprintf(out, SR_SOCK_ADDRESS_MAX, "%s:%u", text, ntohs(v4->sin_port));
    }
}

const char *sr_conn_alpn(const struct sr_conn *conn)
{
    return conn->tls ? sr_tls_alpn(conn->tls) : "";
}

const char *sr_conn_peer(const struct sr_conn *conn)
{
    struct sockaddr_storage address;
    if (!conn->peer[0] && sr_conn_address(conn, &address))
        format_address((struct sockaddr *)&address, ((struct sr_conn *)conn)->peer);
    return conn->peer;
}

void sr_conn_set_events(struct sr_conn *conn, const struct sr_conn_events *events, void *ctx)
{
    conn->events = events;
    conn->ctx = ctx;
}

/* ---- accepted connections ---- */

int sr_conn_accept(struct sr_conn **out, struct sr_loop *loop, int fd, sr_tls_context *tls)
{
    struct sr_conn *conn = sr_conn_new(loop);
    int rc = conn ? sr_conn_handle_open(conn) : SR_ENOMEM;
    if (rc == SR_OK && uv_tcp_open(&conn->handle->tcp, fd) != 0)
        rc = SR_EIO;
    if (rc != SR_OK)
        close(fd);
    if (rc == SR_OK && tls)
        rc = sr_tls_new(&conn->tls, tls, NULL);
    if (rc != SR_OK) {
        sr_conn_close(&conn);
        return rc;
    }
    uv_tcp_nodelay(&conn->handle->tcp, 1);
    conn->state = tls ? SR_CONN_HANDSHAKE : SR_CONN_OPEN;
    *out = conn;
    return SR_OK;
}

void sr_conn_accept_begin(struct sr_conn *conn)
{
    sr_conn_read_update(conn);
}
