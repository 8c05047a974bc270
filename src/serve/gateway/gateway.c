/* Creates, drains and frees the gateway: its client, its listeners, its limits and its gauges. */
#include "serve/gateway/gateway.h"

#include "base/log.h"
#include "base/mem.h"
#include "pool/pool.h"
#include "router/runtime.h"
#include "serve/gateway/call.h"

#include <assert.h>

#define POOLED_ORIGINS 64 /* backends whose connection pools may be full at the same time */

/* Also where nothing changed: so that the series is there. */
static void show(struct sr_metrics *metrics, enum sr_metric metric, const struct sr_bytes *labels,
                 size_t value, size_t *shown)
{
    sr_metrics_add(metrics, metric, (double)value - (double)*shown, labels);
    *shown = value;
}

/* Adds what a counter has grown by. */
static void grow(struct sr_metrics *metrics, enum sr_metric metric, const char *label, uint64_t value,
                 uint64_t *shown)
{
    struct sr_bytes text = sr_bytes_str(label);
    if (value != *shown)
        sr_metrics_add(metrics, metric, (double)(value - *shown), &text);
    *shown = value;
}

static void show_protocols(struct sr_gateway *gateway, const struct sr_http_server_counts *counts)
{
    struct sr_http_server_counts *shown = &gateway->shown_counts;
    struct sr_metrics *metrics = gateway->metrics;
    grow(metrics, SR_METRIC_CONNECTIONS_OPENED, "http1", counts->http1, &shown->http1);
    grow(metrics, SR_METRIC_CONNECTIONS_OPENED, "http2", counts->http2, &shown->http2);
    grow(metrics, SR_METRIC_HTTP2_RESETS, "stream", counts->resets, &shown->resets);
    grow(metrics, SR_METRIC_HTTP2_RESETS, "flood", counts->floods, &shown->floods);
}

/* Updates the gauges. Several loops share them, so each adds its differences. Looks after requests that wait
 * for a worker, too. Its timer stops when there are no connections. */
static void on_gauges(void *ctx)
{
    struct sr_gateway *gateway = ctx;
    struct sr_http_server_counts counts = {0};
    size_t connections = 0;
    for (size_t i = 0; i < gateway->n_listeners; i++) {
        struct sr_http_server_counts of = sr_http_server_counts(gateway->listeners[i].server);
        connections += sr_http_server_connections(gateway->listeners[i].server);
        counts.http1 += of.http1;
        counts.http2 += of.http2;
        counts.resets += of.resets;
        counts.floods += of.floods;
        counts.busy += of.busy;
    }
    size_t idle = connections > counts.busy ? connections - counts.busy : 0;
    size_t pooled = sr_client_idle(gateway->client);
    if (gateway->config->global.metrics) {
        struct sr_bytes active_label = SR_LIT("active"), idle_label = SR_LIT("idle");
        struct sr_bytes pooled_label[] = {SR_LIT("all"), SR_LIT("idle")};
        show(gateway->metrics, SR_METRIC_CONNECTIONS, &active_label, counts.busy, &gateway->shown_active);
        show(gateway->metrics, SR_METRIC_CONNECTIONS, &idle_label, idle, &gateway->shown_idle);
        show(gateway->metrics, SR_METRIC_UPSTREAM_CONNECTIONS, pooled_label, pooled, &gateway->shown_pooled);
        show_protocols(gateway, &counts);
    }
    sr_pool_serve_waiting(sr_runtime_pool(gateway->options.runtime));
    if (connections != 0 || pooled != 0)
        sr_timer_start(&gateway->gauges, SR_GATEWAY_GAUGES_MS);
}

int sr_gateway_new(struct sr_gateway **out, const struct sr_gateway_options *options)
{
    struct sr_gateway *gateway = sr_mem_calloc(1, sizeof *gateway);
    *out = gateway;
    if (!gateway)
        return SR_ENOMEM;
    gateway->options = *options;
    gateway->config = sr_config_ref(options->config);
    gateway->metrics = sr_runtime_metrics_table(options->runtime);
    gateway->waiting_end = &gateway->waiting;
    sr_timer_init(&gateway->looks, options->loop, sr_take_back_look, gateway);
    sr_timer_init(&gateway->gauges, options->loop, on_gauges, gateway);
    const struct sr_config_gateway *limits = &options->config->global.gateway;
    struct sr_client_settings settings = sr_client_settings_defaults();
    settings.max_idle_per_origin = limits->upstream.max_idle;
    settings.max_idle = (size_t)limits->upstream.max_idle * POOLED_ORIGINS;
    settings.keepalive_ms = (uint32_t)limits->upstream.keepalive_ms;
    int rc = sr_client_new(&gateway->client, options->loop, &settings);
    if (rc == SR_OK && options->checks_health)
        rc = sr_health_new(&gateway->health, options->loop, gateway->client, options->runtime, options->tls);
    if (rc == SR_OK && gateway->health)
        rc = sr_health_configure(gateway->health, options->config);
    if (rc == SR_OK && options->checks_health)
        rc =
            sr_scraper_new(&gateway->scraper, options->loop, gateway->client, options->runtime, options->tls);
    if (rc == SR_OK && options->checks_health)
        rc = sr_tokenizer_new(&gateway->tokenizer, options->loop, gateway->client, options->runtime,
                              options->tls);
    if (rc == SR_OK && gateway->scraper)
        rc = sr_scraper_configure(gateway->scraper, options->config);
    if (rc != SR_OK) {
        sr_gateway_free(gateway);
        *out = NULL;
    }
    return rc;
}

void sr_gateway_free(struct sr_gateway *gateway)
{
    if (!gateway)
        return;
    for (size_t i = 0; i < gateway->n_listeners; i++)
        sr_http_server_free(gateway->listeners[i].server);
    sr_timer_stop(&gateway->looks);
    sr_timer_stop(&gateway->gauges);
    sr_health_free(gateway->health);
    sr_scraper_free(gateway->scraper);
    sr_tokenizer_free(gateway->tokenizer);
    sr_client_free(gateway->client);
    sr_config_unref(gateway->config);
    sr_mem_free(gateway);
}

/* Limits of a server from a configuration; max_connections is the census's. */
static struct sr_http_server_settings server_settings(const struct sr_config *config)
{
    const struct sr_config_gateway *limits = &config->global.gateway;
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    settings.limits.body_bytes = limits->max_body_bytes;
    settings.limits.head_bytes = limits->max_header_bytes;
    settings.max_connections = limits->max_connections;
    settings.header_timeout_ms = (uint32_t)limits->header_timeout_ms;
    settings.body_timeout_ms = (uint32_t)limits->body_timeout_ms;
    settings.request_timeout_ms = (uint32_t)limits->request_timeout_ms;
    settings.idle_timeout_ms = (uint32_t)limits->idle_timeout_ms;
    settings.http2 = (struct sr_http_server_http2){.enabled = limits->http2.enabled,
                                                   .max_streams = limits->http2.max_streams,
                                                   .resets_per_second = limits->http2.resets_per_second};
    return settings;
}

int sr_gateway_listen(struct sr_gateway *gateway, int fd, sr_tls_context *tls, uint64_t timeout_ms)
{
    assert(gateway->n_listeners < SR_GATEWAY_LISTENERS_MAX);
    struct sr_gateway_listener *listener = &gateway->listeners[gateway->n_listeners];
    *listener = (struct sr_gateway_listener){.gateway = gateway, .timeout_ms = timeout_ms};
    struct sr_http_server_settings settings = server_settings(gateway->config);
    settings.census = gateway->options.census;
    int rc = sr_http_server_new(&listener->server, gateway->options.loop, fd, tls, &settings,
                                &sr_gateway_handler, listener);
    if (rc == SR_OK)
        gateway->n_listeners++;
    return rc;
}

void sr_gateway_configure(struct sr_gateway *gateway, const struct sr_config *config, sr_tls_context *tls)
{
    sr_config_unref(gateway->config);
    gateway->config = sr_config_ref(config);
    if (gateway->health && sr_health_configure(gateway->health, config) != SR_OK)
        sr_log(SR_LOG_ERROR, "health", "out of memory: some workers are not checked");
    if (gateway->scraper && sr_scraper_configure(gateway->scraper, config) != SR_OK)
        sr_log(SR_LOG_ERROR, "scrape", "out of memory: some workers are not asked for their load");
    struct sr_http_server_settings settings = server_settings(config);
    settings.census = gateway->options.census;
    for (size_t i = 0; i < gateway->n_listeners; i++) {
        sr_http_server_set(gateway->listeners[i].server, &settings);
        sr_http_server_set_tls(gateway->listeners[i].server, tls);
    }
}

void sr_gateway_drain(struct sr_gateway *gateway)
{
    gateway->draining = true;
    for (size_t i = 0; i < gateway->n_listeners; i++)
        sr_http_server_drain(gateway->listeners[i].server);
}

size_t sr_gateway_active(const struct sr_gateway *gateway)
{
    return gateway->active;
}
