/*
 * The server: its listener, the limits on connections, reload and drain. conn.c drives connections of
 * HTTP/1.1, streams.c those of HTTP/2.
 */
#include "net/server/server.h"

#include "base/mem.h"
#include "net/server/private.h"

#include <stdatomic.h>
#include <unistd.h>

#define LINGER_MS  1000
#define TURNED_MAX 64 /* connections that are told 503 and closed, at a time */

static atomic_int turned_away; /* of the process */

struct sr_http_server_settings sr_http_server_settings_defaults(void)
{
    return (struct sr_http_server_settings){
        .limits = sr_http1_limits_defaults(),
        .max_connections = 10000,
        .header_timeout_ms = 10000,
        .body_timeout_ms = 30000,
        .request_timeout_ms = 300000,
        .idle_timeout_ms = 75000,
        .write_timeout_ms = 60000,
        .pipeline_bytes = 65536,
        .arena_bytes = (size_t)4 << 20,
        .http2 = {.max_streams = 100, .resets_per_second = 100},
    };
}

static void drained_task(void *ctx)
{
    struct sr_http_server *server = ctx;
    if (server->handler->drained)
        server->handler->drained(server->ctx);
}

/* ---- the server ---- */

static void left(void *census, void *client)
{
    sr_census_leave(census, client);
}

static void turned(void *ctx, void *arg)
{
    (void)ctx, (void)arg;
    atomic_fetch_sub(&turned_away, 1);
}

/* Tells why, as long as that holds few descriptors. */
static void turn_away(struct sr_http_server *server, struct sr_conn *sock, const char *reason)
{
    if (!server->tls && atomic_fetch_add(&turned_away, 1) < TURNED_MAX) {
        sr_conn_set_released(sock, turned, NULL, NULL);
        if (sr_http_error_write(server, sock, 503, reason, NULL) == SR_OK)
            sr_conn_finish(&sock, LINGER_MS);
    } else if (!server->tls) {
        atomic_fetch_sub(&turned_away, 1);
    }
    sr_conn_close(&sock);
}

/* NULL: the connection counts. */
static const char *over_limit(struct sr_http_server *server, struct sr_conn *sock)
{
    struct sr_census *census = server->settings.census;
    struct sr_census_client *client;
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    if (sr_http_server_connections(server) >= server->settings.max_connections)
        return "too many connections";
    if (!census)
        return NULL;
    sr_conn_address(sock, &peer);
    int rc = sr_census_enter(census, (const struct sockaddr *)&peer, &client);
    if (rc != SR_OK)
        return rc == SR_EBUSY ? "too many connections from your address" : "too many connections";
    sr_conn_set_released(sock, left, census, client);
    return NULL;
}

static void accepted(void *ctx, struct sr_conn *sock)
{
    struct sr_http_server *server = ctx;
    const char *over = over_limit(server, sock);
    if (over) {
        turn_away(server, sock, over);
        return;
    }
    sr_http_conn_new(server, sock);
    if (server->handler->accepted)
        server->handler->accepted(server->ctx);
}

static const struct sr_listener_events listener_events = {.accepted = accepted};

int sr_http_server_new(struct sr_http_server **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                       const struct sr_http_server_settings *settings, const struct sr_http_handler *handler,
                       void *ctx)
{
    struct sr_http_server *server = sr_mem_calloc(1, sizeof *server);
    int rc;
    if (!server) {
        close(fd);
        return SR_ENOMEM;
    }
    server->loop = loop;
    server->settings = *settings;
    server->handler = handler;
    server->ctx = ctx;
    server->tls = tls != NULL;
    server->task = (struct sr_deferred){.run = drained_task, .ctx = server};
    sr_buf_init(&server->scratch, (size_t)1 << 20);
    rc = sr_listener_start(&server->listener, loop, fd, tls, &listener_events, server);
    if (rc != SR_OK) {
        sr_mem_free(server);
        return rc;
    }
    if (settings->use_reserve)
        sr_listener_use_reserve(server->listener);
    *out = server;
    return SR_OK;
}

void sr_http_server_set(struct sr_http_server *server, const struct sr_http_server_settings *settings)
{
    server->settings = *settings;
    sr_http_streams_set(server);
}

void sr_http_server_set_tls(struct sr_http_server *server, sr_tls_context *tls)
{
    if (server->tls && tls && server->listener)
        sr_listener_set_tls(server->listener, tls);
}

void sr_http_server_drain(struct sr_http_server *server)
{
    struct sr_http_conn *conn = server->conns, *next;
    if (server->draining)
        return;
    server->draining = true;
    sr_listener_close(&server->listener);
    for (; conn; conn = next) {
        next = conn->next;
        sr_http_conn_drain(conn);
    }
    if (server->http2)
        sr_http2_server_drain(server->http2);
    sr_http_server_left(server);
}

void sr_http_server_free(struct sr_http_server *server)
{
    if (!server)
        return;
    sr_listener_close(&server->listener);
    server->draining = false;
    while (server->conns)
        sr_http_conn_drop(server->conns);
    sr_http2_server_free(server->http2);
    sr_deferred_cancel(&server->task);
    sr_buf_dispose(&server->scratch);
    sr_mem_free(server);
}

size_t sr_http_server_connections(const struct sr_http_server *server)
{
    return server->connections + (server->http2 ? sr_http2_server_connections(server->http2) : 0);
}

struct sr_http_server_counts sr_http_server_counts(const struct sr_http_server *server)
{
    struct sr_http_server_counts counts = server->counts;
    if (server->http2) {
        counts.busy += sr_http2_server_busy(server->http2);
        counts.floods = sr_http2_server_floods(server->http2);
    }
    return counts;
}
