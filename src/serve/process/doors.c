/* From addresses to listening sockets, and from those to doors on the loops. */
#include "base/clock.h"
#include "base/log.h"
#include "net/loop/sock.h"
#include "serve/process/drain.h"
#include "serve/process/private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A taken port is the commonest mistake: say which flag moves the door. */
static int open_sockets(struct sr_server *server, struct sr_address *address, size_t count, int *fds,
                        const char *flag)
{
    struct sr_err err = {0};
    uint16_t port;
    int rc = sr_listen_open(address->host, (uint16_t)address->port, count, fds, &port, &err);
    if (rc == SR_EBUSY) {
        return sr_err_set(
            &server->err, rc,
            "port %d on %s is taken by another program; choose another with --%s ADDR:PORT, or --%s off",
            address->port, address->host[0] ? address->host : "every address", flag, flag);
    }
    if (rc != SR_OK) {
        return sr_err_set(&server->err, rc, "--%s: %s", flag, err.message[0] ? err.message : sr_strerror(rc));
    }
    address->port = port;
    return SR_OK;
}

static int parse(struct sr_server *server, struct sr_address *out, const char *text, const char *flag)
{
    struct sr_err err = {0};
    int rc = sr_address_parse(out, text, &err);
    return rc == SR_OK ? SR_OK : sr_err_set(&server->err, rc, "--%s: %s", flag, err.message);
}

static int gateway_addresses(struct sr_server *server)
{
    const struct sr_config *config = server->config;
    if (server->options->gateway) {
        struct sr_server_door *door = &server->doors[0];
        int rc = parse(server, &door->address, server->options->gateway, "gateway");
        server->n_doors = rc == SR_OK && !door->address.off ? 1 : 0;
        door->timeout_ms = config->n_listeners > 0 ? config->listeners[0].timeout_ms : 0;
        return rc;
    }
    if (config->n_listeners == 0) {
        server->doors[0].address = (struct sr_address){.host = "127.0.0.1", .port = SR_SERVER_GATEWAY_PORT};
        server->n_doors = 1;
        return SR_OK;
    }
    if (config->n_listeners > SR_GATEWAY_DOORS_MAX) {
        return sr_err_set(&server->err, SR_ELIMIT, "more than %d listeners", SR_GATEWAY_DOORS_MAX);
    }
    for (size_t i = 0; i < config->n_listeners; i++) {
        const struct sr_config_listener *listener = &config->listeners[i];
        struct sr_server_door *door = &server->doors[i];
        snprintf(door->name, sizeof door->name, "%s", listener->name);
        door->address.port = listener->port;
        door->timeout_ms = listener->timeout_ms;
        snprintf(door->address.host, sizeof door->address.host, "%s", listener->address);
    }
    server->n_doors = config->n_listeners;
    return SR_OK;
}

int sr_server_tls(const struct sr_config *config, sr_tls_context **out, struct sr_err *err)
{
    const struct sr_config_gateway *gateway = &config->global.gateway;
    *out = NULL;
    if (gateway->tls_cert_file[0] == '\0') {
        return SR_OK;
    }
    struct sr_tls_settings settings = {
        .server = true, .cert_file = gateway->tls_cert_file, .key_file = gateway->tls_key_file};
    return sr_tls_context_new(out, &settings, err);
}

static int start_gateways(struct sr_server *server)
{
    sr_tls_context *tls;
    int rc = sr_server_tls(server->config, &tls, &server->err);
    server->tls = tls != NULL;
    for (size_t i = 0; i < server->n_doors && rc == SR_OK; i++) {
        rc = open_sockets(server, &server->doors[i].address, (size_t)server->n_loops, server->doors[i].fds,
                          "gateway");
        for (int at = 0; at < server->n_loops && rc == SR_OK; at++) {
            int fd = server->doors[i].fds[at];
            server->doors[i].fds[at] = -1;
            rc = sr_gateway_listen(server->loops[at].gateway, fd, tls, server->doors[i].timeout_ms);
        }
    }
    sr_tls_context_unref(tls);
    return rc;
}

static int start_extproc(struct sr_server *server)
{
    struct sr_server_door *door = &server->extproc;
    if (door->address.off) {
        return SR_OK;
    }
    sr_tls_context *tls;
    int rc = sr_extproc_tls(server->config, &tls, &server->err);
    server->extproc_tls = tls != NULL;
    if (rc == SR_OK) {
        rc = open_sockets(server, &door->address, (size_t)server->n_loops, door->fds, "extproc");
    }
    for (int at = 0; at < server->n_loops && rc == SR_OK; at++) {
        struct sr_extproc_options options = {.loop = server->loops[at].loop,
                                             .runtime = server->runtime,
                                             .config = server->config,
                                             .loops = server->n_loops,
                                             .drained = sr_server_drained,
                                             .ctx = server};
        int fd = door->fds[at];
        door->fds[at] = -1;
        rc = sr_extproc_new(&server->loops[at].extproc, fd, tls, &options);
    }
    sr_tls_context_unref(tls);
    return rc;
}

static int start_small_door(struct sr_server *server, struct sr_api **out, struct sr_address *address,
                            enum sr_api_kind kind, const char *flag)
{
    if (address->off) {
        return SR_OK;
    }
    int fd;
    int rc = open_sockets(server, address, 1, &fd, flag);
    if (rc != SR_OK) {
        return rc;
    }
    struct sr_api_options options = {.kind = kind,
                                     .loop = server->loops[0].loop,
                                     .runtime = server->runtime,
                                     .draining = &server->draining};
    return sr_api_new(out, fd, &options);
}

int sr_server_open_doors(struct sr_server *server)
{
    const struct sr_server_options *options = server->options;
    for (size_t i = 0; i < SR_GATEWAY_DOORS_MAX; i++) {
        memset(server->doors[i].fds, -1, sizeof server->doors[i].fds);
    }
    int rc = gateway_addresses(server);
    if (rc == SR_OK) {
        rc = parse(server, &server->api_address, options->api ? options->api : SR_SERVER_API_DEFAULT, "api");
    }
    if (rc == SR_OK) {
        rc = parse(server, &server->metrics_address,
                   options->metrics ? options->metrics : SR_SERVER_METRICS_DEFAULT, "metrics");
    }
    if (rc == SR_OK) {
        rc = parse(server, &server->extproc.address,
                   options->extproc ? options->extproc : SR_SERVER_EXTPROC_DEFAULT, "extproc");
    }
    if (rc == SR_OK) {
        rc = start_gateways(server);
    }
    if (rc == SR_OK) {
        rc = start_extproc(server);
    }
    if (rc == SR_OK) {
        rc = start_small_door(server, &server->api, &server->api_address, SR_API_MAIN, "api");
    }
    if (rc == SR_OK) {
        rc = start_small_door(server, &server->metrics, &server->metrics_address, SR_API_METRICS, "metrics");
    }
    return rc;
}

static void announce(const struct sr_server *server, const char *name, const char *scheme,
                     const struct sr_address *address)
{
    bool v6 = strchr(address->host, ':') != NULL;
    sr_log(SR_LOG_INFO, "ready", "%s %s://%s%s%s:%d  ready in %.0f ms", name, scheme, v6 ? "[" : "",
           address->host[0] ? address->host : "0.0.0.0", v6 ? "]" : "", address->port,
           (double)(sr_clock_ns() - server->started_ns) / 1e6);
}

void sr_server_announce(struct sr_server *server)
{
    const char *scheme = server->tls ? "https" : "http";
    for (size_t i = 0; i < server->n_doors; i++) {
        const char *name = server->doors[i].name;
        announce(server, name[0] ? name : "gateway", scheme, &server->doors[i].address);
    }
    if (!server->extproc.address.off) {
        announce(server, "extproc", server->extproc_tls ? "grpcs" : "grpc", &server->extproc.address);
    }
    if (!server->api_address.off) {
        announce(server, "api", "http", &server->api_address);
    }
    if (!server->metrics_address.off) {
        announce(server, "metrics", "http", &server->metrics_address);
    }
}
