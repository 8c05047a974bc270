/* Opens listening sockets from addresses, and makes doors and admin listeners on the loops. */
#include "base/clock.h"
#include "base/log.h"
#include "net/loop/sock.h"
#include "serve/access.h"
#include "serve/process/descriptors.h"
#include "serve/process/drain.h"
#include "serve/process/private.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A port in use is the most common mistake: the message names the flag that changes it. */
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
    if (rc != SR_OK)
        return sr_err_set(&server->err, rc, "--%s: %s", flag, err.message[0] ? err.message : sr_strerror(rc));
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
        struct sr_server_listener *listener = &server->listeners[0];
        int rc = parse(server, &listener->address, server->options->gateway, "gateway");
        server->n_listeners = rc == SR_OK && !listener->address.off ? 1 : 0;
        listener->timeout_ms = config->n_listeners > 0 ? config->listeners[0].timeout_ms : 0;
        return rc;
    }
    if (config->n_listeners == 0) {
        server->listeners[0].address =
            (struct sr_address){.host = "127.0.0.1", .port = SR_SERVER_GATEWAY_PORT};
        server->n_listeners = 1;
        return SR_OK;
    }
    if (config->n_listeners > SR_GATEWAY_LISTENERS_MAX)
        return sr_err_set(&server->err, SR_ELIMIT, "more than %d listeners", SR_GATEWAY_LISTENERS_MAX);
    for (size_t i = 0; i < config->n_listeners; i++) {
        const struct sr_config_listener *wanted = &config->listeners[i];
        struct sr_server_listener *listener = &server->listeners[i];
        snprintf(listener->name, sizeof listener->name, "%s", wanted->name);
        listener->address.port = wanted->port;
        listener->timeout_ms = wanted->timeout_ms;
        snprintf(listener->address.host, sizeof listener->address.host, "%s", wanted->address);
    }
    server->n_listeners = config->n_listeners;
    return SR_OK;
}

int sr_server_tls(const struct sr_config *config, sr_tls_context **out, struct sr_err *err)
{
    const struct sr_config_gateway *gateway = &config->global.gateway;
    *out = NULL;
    if (gateway->tls_cert_file[0] == '\0')
        return SR_OK;
    struct sr_tls_settings settings = {.server = true,
                                       .cert_file = gateway->tls_cert_file,
                                       .key_file = gateway->tls_key_file,
                                       .alpn = gateway->http2.enabled ? "h2,http/1.1" : "http/1.1"};
    return sr_tls_context_new(out, &settings, err);
}

static int start_gateways(struct sr_server *server)
{
    sr_tls_context *tls;
    int rc = sr_server_tls(server->config, &tls, &server->err);
    server->tls = tls != NULL;
    for (size_t i = 0; i < server->n_listeners && rc == SR_OK; i++) {
        rc = open_sockets(server, &server->listeners[i].address, (size_t)server->n_loops,
                          server->listeners[i].fds, "gateway");
        for (int at = 0; at < server->n_loops && rc == SR_OK; at++) {
            int fd = server->listeners[i].fds[at];
            server->listeners[i].fds[at] = -1;
            rc = sr_gateway_listen(server->loops[at].gateway, fd, tls, server->listeners[i].timeout_ms);
        }
    }
    sr_tls_context_unref(tls);
    return rc;
}

static int start_extproc(struct sr_server *server)
{
    struct sr_server_listener *listener = &server->extproc;
    if (listener->address.off)
        return SR_OK;
    sr_tls_context *tls;
    int rc = sr_extproc_tls(server->config, &tls, &server->err);
    server->extproc_tls = tls != NULL;
    if (rc == SR_OK)
        rc = open_sockets(server, &listener->address, (size_t)server->n_loops, listener->fds, "extproc");
    for (int at = 0; at < server->n_loops && rc == SR_OK; at++) {
        struct sr_extproc_options options = {.loop = server->loops[at].loop,
                                             .runtime = server->runtime,
                                             .config = server->config,
                                             .loops = server->n_loops,
                                             .drained = sr_server_drained,
                                             .ctx = server};
        int fd = listener->fds[at];
        listener->fds[at] = -1;
        rc = sr_extproc_new(&server->loops[at].extproc, fd, tls, &options);
    }
    sr_tls_context_unref(tls);
    return rc;
}

/* A listener that other machines reach admits nothing without a token: says so at once. */
static void warn_closed(const struct sr_config *config, bool loopback, const char *flag)
{
    if (!loopback && !sr_access_needs_token(&config->global.access) && !config->global.access.admin_open)
        sr_log(SR_LOG_WARN, "admin_closed",
               "--%s: other machines reach this address, so only /health and /ready answer; set "
               "global.semroute.admin.token, or global.semroute.admin.open: true",
               flag);
}

/* Opens the socket, unless that was done before the configuration was loaded. */
static int start_admin_listener(struct sr_server *server, struct sr_api **out, struct sr_server_admin *admin,
                                enum sr_api_kind kind, const char *flag)
{
    struct sr_address *address = &admin->address;
    if (address->off)
        return SR_OK;
    int rc = admin->fd >= 0 ? SR_OK : open_sockets(server, address, 1, &admin->fd, flag);
    if (rc != SR_OK)
        return rc;
    int fd = admin->fd;
    admin->fd = -1;
    struct sr_api_options options = {.kind = kind,
                                     .loop = server->loops[0].loop,
                                     .runtime = server->runtime,
                                     .draining = &server->draining,
                                     .loopback = sr_access_is_loopback(address->host),
                                     .warm = server->warm};
    warn_closed(server->config, options.loopback, flag);
    return sr_api_new(out, fd, &options);
}

static int admin_addresses(struct sr_server *server)
{
    const struct sr_server_options *options = server->options;
    int rc =
        parse(server, &server->api_at.address, options->api ? options->api : SR_SERVER_API_DEFAULT, "api");
    return rc == SR_OK ? parse(server, &server->metrics_at.address,
                               options->metrics ? options->metrics : SR_SERVER_METRICS_DEFAULT, "metrics")
                       : rc;
}

/* What cannot be opened is tried again by sr_server_listen, which says why. */
int sr_server_open_admin(struct sr_server *server)
{
    struct sr_server_admin *all[] = {&server->metrics_at, &server->api_at};
    static const char *const flags[] = {"metrics", "api"};
    int rc = admin_addresses(server);
    if (rc != SR_OK)
        return rc;
    for (size_t i = 0; i < 2; i++)
        if (!all[i]->address.off && open_sockets(server, &all[i]->address, 1, &all[i]->fd, flags[i]) != SR_OK)
            all[i]->fd = -1;
    server->err = (struct sr_err){0};
    rc = sr_starting_new(&server->starting, server->metrics_at.fd, server->api_at.fd);
    if (rc != SR_OK)
        sr_log(SR_LOG_WARN, "start", "/ready does not answer before the start is complete: %s",
               sr_strerror(rc));
    return SR_OK;
}

void sr_server_limit(struct sr_server *server, const struct sr_config *config)
{
    const struct sr_config_gateway *limits = &config->global.gateway;
    sr_census_limit(server->census, sr_descriptors_fit(limits->max_connections),
                    limits->max_connections_per_client);
}

int sr_server_listen(struct sr_server *server)
{
    const struct sr_server_options *options = server->options;
    for (size_t i = 0; i < SR_GATEWAY_LISTENERS_MAX; i++)
        memset(server->listeners[i].fds, -1, sizeof server->listeners[i].fds);
    int rc = gateway_addresses(server);
    if (rc == SR_OK) {
        rc = parse(server, &server->extproc.address,
                   options->extproc ? options->extproc : SR_SERVER_EXTPROC_DEFAULT, "extproc");
    }
    if (rc == SR_OK)
        rc = start_gateways(server);
    if (rc == SR_OK)
        rc = start_extproc(server);
    if (rc == SR_OK)
        rc = start_admin_listener(server, &server->api, &server->api_at, SR_API_MAIN, "api");
    if (rc == SR_OK)
        rc = start_admin_listener(server, &server->metrics, &server->metrics_at, SR_API_METRICS, "metrics");
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

/* Says whom it serves where no key is configured. */
static void announce_clients(const struct sr_config *config)
{
    const struct sr_config_global *global = &config->global;
    bool headers = global->guards.tenant_header[0] || global->user_header[0];
    if (global->identity.n_keys)
        return;
    sr_log(SR_LOG_INFO, "no_keys", "no key of a client is configured (global.semroute.identity): %s; %s",
           headers ? "identity headers say who asks" : "every client is anonymous",
           global->access.allow_anonymous ? "anonymous clients use the keys of backends (allow_anonymous)"
                                          : "models whose backend has a key are not for anonymous clients");
}

void sr_server_announce(struct sr_server *server)
{
    announce_clients(server->config);
    const char *scheme = server->tls ? "https" : "http";
    for (size_t i = 0; i < server->n_listeners; i++) {
        const char *name = server->listeners[i].name;
        announce(server, name[0] ? name : "gateway", scheme, &server->listeners[i].address);
    }
    if (!server->extproc.address.off)
        announce(server, "extproc", server->extproc_tls ? "grpcs" : "grpc", &server->extproc.address);
    if (!server->api_at.address.off)
        announce(server, "api", "http", &server->api_at.address);
    if (!server->metrics_at.address.off)
        announce(server, "metrics", "http", &server->metrics_at.address);
}
