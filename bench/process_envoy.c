#include "bench/process_envoy.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX 65536u
#define HTTP2                                                                                                \
    "    typed_extension_protocol_options: {envoy.extensions.upstreams.http.v3.HttpProtocolOptions: "        \
    "{\"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, "               \
    "explicit_http_config: {http2_protocol_options: {}}}}\n"

#define BUFFER_LIMIT "    per_connection_buffer_limit_bytes: 33554432\n"

const char *sr_bench_envoy_find(void)
{
    static char path[4096];
    if (access("tests/.venv/bin/envoy", X_OK) == 0)
        return "tests/.venv/bin/envoy";
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/envoy", (int)n, list);
        if (access(path, X_OK) == 0)
            return path;
        list += n + (list[n] == ':');
    }
    return NULL;
}

int sr_bench_write_file(const char *directory, const char *name, char path[128], const char *text)
{
    snprintf(path, 128, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return SR_EIO;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good ? SR_OK : SR_EIO;
}

/* A limit that is not needed makes Envoy read ahead, which keeps the first byte waiting. */
static bool holds_bodies(const struct sr_bench_listener *listener)
{
    return listener->mode && strcmp(listener->mode, "BUFFERED") == 0;
}

static int put_listener(struct sr_buf *out, const struct sr_bench_listener *listener, int i, int timeout_s)
{
    int rc =
        sr_buf_printf(out,
                      "  - name: listener%d\n"
                      "    address: {socket_address: {address: 127.0.0.1, port_value: %d}}\n"
                      "%s"
                      "    filter_chains:\n"
                      "    - filters:\n"
                      "      - name: envoy.filters.network.http_connection_manager\n"
                      "        typed_config:\n"
                      "          \"@type\": type.googleapis.com/"
                      "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager\n"
                      "          stat_prefix: l%d\n"
                      "          stream_idle_timeout: 0s\n"
                      "          route_config: {virtual_hosts: [{name: all, domains: [\"*\"], routes: "
                      "[{match: {path: /ready}, direct_response: {status: 200}}, "
                      "{match: {prefix: /}, route: {cluster: upstream, timeout: 0s}}]}]}\n"
                      "          http_filters:\n",
                      i, listener->port, holds_bodies(listener) ? BUFFER_LIMIT : "", i);
    if (rc == SR_OK && listener->mode)
        rc =
            sr_buf_printf(out,
                          "          - name: envoy.filters.http.ext_proc\n"
                          "            typed_config:\n"
                          "              \"@type\": "
                          "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor\n"
                          "              grpc_service: {envoy_grpc: {cluster_name: processor%d}}\n"
                          "              message_timeout: %ds\n"
                          "              processing_mode: {request_header_mode: SEND, request_body_mode: %s, "
                          "request_trailer_mode: SEND, response_header_mode: SEND, response_body_mode: NONE, "
                          "response_trailer_mode: SKIP}\n",
                          i, timeout_s, listener->mode);
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "          - {name: envoy.filters.http.router, typed_config: {\"@type\": "
                                "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}\n");
    return rc;
}

static int put_cluster(struct sr_buf *out, const char *name, int port, const char *more)
{
    return sr_buf_printf(
        out,
        "  - name: %s\n    type: STATIC\n    connect_timeout: 1s\n%s"
        "    load_assignment: {cluster_name: %s, endpoints: [{lb_endpoints: [{endpoint: {address: "
        "{socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]}\n",
        name, more, name, port);
}

static int put_all(struct sr_buf *out, struct sr_bench_listener *listeners, int n, int upstream,
                   int timeout_s)
{
    int rc = sr_buf_printf(out, "static_resources:\n  listeners:\n");
    for (int i = 0; i < n && rc == SR_OK; i++) {
        listeners[i].port = sr_bench_free_port();
        rc = put_listener(out, &listeners[i], i, timeout_s);
    }
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "  clusters:\n");
    if (rc == SR_OK)
        rc = put_cluster(out, "upstream", upstream, "");
    for (int i = 0; i < n && rc == SR_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "processor%d", i);
        if (listeners[i].mode)
            rc = put_cluster(out, name, listeners[i].processor, HTTP2);
    }
    return rc;
}

int sr_bench_envoy_start(struct sr_bench_process *process, const char *program, const char *directory,
                         struct sr_bench_listener *listeners, int n, int upstream, int timeout_s)
{
    struct sr_buf text;
    char path[128], log[128], copy[4096];
    char config[] = "-c", base[] = "--use-dynamic-base-id", level[] = "-l", off[] = "off";
    if (n < 1 || n > SR_BENCH_LISTENERS_MAX)
        return SR_EINVAL;
    sr_buf_init(&text, CONFIG_MAX);
    int rc = put_all(&text, listeners, n, upstream, timeout_s);
    if (rc == SR_OK)
        rc = sr_bench_write_file(directory, "envoy.yaml", path, text.data);
    sr_buf_dispose(&text);
    if (rc != SR_OK)
        return rc;
    snprintf(log, sizeof log, "%s/envoy.log", directory);
    snprintf(copy, sizeof copy, "%s", program);
    char *argv[] = {copy, config, path, base, level, off, NULL};
    return sr_bench_process_start(process, argv, listeners[0].port, log);
}
