/*
 * Outgoing connections: name resolution, every address in turn within one timeout, the start of the
 * handshake. sock.c handles the connection after that.
 */
#include "base/mem.h"
#include "net/loop/sock_private.h"

#include <netinet/in.h>
#include <stdio.h>

static void attempt_next(struct sr_conn *conn);

static void attempt_failed(struct sr_conn *conn, int code, const char *text)
{
    char message[400];
    snprintf(message, sizeof message, "%.120s:%u: %s", conn->attempt->host, conn->attempt->port, text);
    sr_conn_break(conn, code, message);
    sr_loop_defer(conn->loop, &conn->task);
}

/* The time that the next address may take: an equal share of what is left. */
static uint64_t attempt_share(struct sr_conn *conn)
{
    struct sr_conn_attempt *attempt = conn->attempt;
    uint64_t now = sr_loop_now(conn->loop);
    size_t left = attempt->addresses.count - attempt->next + 1;
    return attempt->deadline <= now ? 0 : (attempt->deadline - now) / (left ? left : 1);
}

static void connected(struct sr_conn *conn)
{
    struct sr_conn_attempt *attempt = conn->attempt;
    uint64_t now = sr_loop_now(conn->loop);
    conn->state = SR_CONN_HANDSHAKE;
    uv_tcp_nodelay(&conn->handle->tcp, 1);
    sr_conn_read_update(conn);
    if (!attempt->tls) {
        sr_conn_became_open(conn);
        return;
    }
    if (sr_tls_new(&conn->tls, attempt->tls, attempt->server_name) != SR_OK) {
        attempt_failed(conn, SR_ENOMEM, "out of memory");
        return;
    }
    if (attempt->deadline)
        sr_timer_start(&conn->timer, attempt->deadline > now ? attempt->deadline - now : 0);
    sr_conn_handshake(conn);
}

static void connect_done(uv_connect_t *request, int status)
{
    struct sr_conn_handle *handle = request->handle->data;
    struct sr_conn *conn = handle->conn;
    if (!conn || status == UV_ECANCELED)
        return;
    sr_timer_stop(&conn->timer);
    if (status == 0) {
        connected(conn);
        return;
    }
    conn->attempt->last_status = status;
    attempt_next(conn);
}

static void address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static void attempt_next(struct sr_conn *conn)
{
    struct sr_conn_attempt *attempt = conn->attempt;
    while (attempt->next < attempt->addresses.count) {
        struct sockaddr_storage *address = &attempt->addresses.address[attempt->next++];
        int status;
        sr_conn_handle_close(conn);
        if (attempt->deadline && attempt->deadline <= sr_loop_now(conn->loop)) {
            attempt->last_status = UV_ETIMEDOUT;
            break;
        }
        if (sr_conn_handle_open(conn) != SR_OK) {
            attempt->last_status = UV_ENOMEM;
            break;
        }
        address_set_port(address, attempt->port);
        status = uv_tcp_connect(&conn->handle->connect, &conn->handle->tcp, (struct sockaddr *)address,
                                connect_done);
        int fd;
        if (status == 0 && uv_fileno((const uv_handle_t *)&conn->handle->tcp, &fd) == 0 &&
            fd >= sr_sock_reserved()) {
            sr_conn_handle_close(conn);
            attempt->last_status = UV_EMFILE;
            break;
        }
        if (status == 0) {
            if (attempt->deadline)
                sr_timer_start(&conn->timer, attempt_share(conn));
            return;
        }
        attempt->last_status = status;
    }
    attempt_failed(conn, sr_uv_code(attempt->last_status), sr_uv_text(attempt->last_status));
}

static void resolved(void *ctx, int code, const struct sr_dns_result *result, const char *text)
{
    struct sr_conn *conn = ctx;
    conn->attempt->query = NULL;
    if (code != SR_OK) {
        attempt_failed(conn, code, text);
        return;
    }
    conn->attempt->addresses = *result;
    attempt_next(conn);
}

static void timed_out(struct sr_conn *conn)
{
    if (conn->attempt->query) {
        sr_conn_break(conn, SR_ETIMEOUT, "timed out resolving the name");
        sr_conn_tell_failure(conn);
        return;
    }
    conn->attempt->last_status = UV_ETIMEDOUT;
    sr_conn_handle_close(conn);
    attempt_next(conn);
}

int sr_conn_connect(struct sr_conn **out, struct sr_loop *loop, const struct sr_connect *to,
                    const struct sr_conn_events *events, void *ctx)
{
    const char *name = to->server_name ? to->server_name : to->host;
    struct sr_conn *conn;
    struct sr_conn_attempt *attempt;
    int rc;
    if (strlen(to->host) >= SR_SOCK_HOST_MAX || strlen(name) >= SR_SOCK_HOST_MAX)
        return SR_EINVAL;
    conn = sr_conn_new(loop);
    attempt = conn ? sr_mem_calloc(1, sizeof *attempt) : NULL;
    if (!attempt) {
        sr_mem_free(conn);
        return SR_ENOMEM;
    }
    sr_conn_set_events(conn, events, ctx);
    conn->attempt = attempt;
    attempt->timed_out = timed_out;
    attempt->port = to->port;
    attempt->tls = sr_tls_context_ref(to->tls);
    attempt->deadline = to->timeout_ms ? sr_loop_now(loop) + to->timeout_ms : 0;
    attempt->last_status = UV_EADDRNOTAVAIL;
    memcpy(attempt->host, to->host, strlen(to->host) + 1);
    memcpy(attempt->server_name, name, strlen(name) + 1);
    rc = sr_dns_resolve(&attempt->query, loop, to->host, &attempt->addresses, resolved, conn);
    if (rc == SR_OK) {
        attempt_next(conn);
    } else if (rc == SR_AGAIN) {
        if (to->timeout_ms)
            sr_timer_start(&conn->timer, to->timeout_ms);
    } else {
        sr_conn_close(&conn);
        return rc;
    }
    *out = conn;
    return SR_OK;
}
