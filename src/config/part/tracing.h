/*
 * Spans and metrics over OTLP: what is recorded, and where it goes.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_TRACING_H
#define SR_CONFIG_PART_TRACING_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A collector of OpenTelemetry's protocol. */
enum sr_otlp_protocol { SR_OTLP_GRPC, SR_OTLP_HTTP };

struct sr_config_otlp {
    /* as they are written */
    const char *endpoint; /* `http://host:port/path` or `host:port` */
    bool insecure;        /* an endpoint without a scheme is plain */
    /* what follows from them */
    int protocol; /* enum sr_otlp_protocol */
    bool tls;
    const char *host, *path;
    int port;
    const char *ca_file, *cert_file, *key_file; /* "" = the system's, none */
    struct sr_name_values headers;
    bool gzip;
    uint64_t timeout_ms;
};

/* Where spans go, and which: global.services.observability.tracing, global.semroute.tracing, and the OTEL_*
 * variables for what these leave open. `rate` is of new traces, whatever the sampler is called. */
struct sr_config_tracing {
    bool enabled;
    const char *sampling; /* as it is written: "always_on", "always_off" or "probabilistic" */
    struct sr_config_otlp to;
    uint64_t delay_ms;
    size_t queue_bytes;
    int batch; /* spans of one export, about */
    /* which */
    double rate;
    bool parent_based, errors;
    uint64_t slow_ms; /* 0: duration does not count */
    bool propagate;   /* upstreams get the context */
    /* of what; metrics have the same */
    const char *service_name, *service_version, *environment;
    struct sr_name_values attributes;
};

/* Whether metrics are sent to a collector, too: global.semroute.metrics_export. */
struct sr_config_metrics_export {
    bool enabled, delta;
    struct sr_config_otlp to;
    uint64_t interval_ms;
};

#endif
