/* Metrics for an OpenTelemetry collector: `global.semroute.metrics_export`. */
#include "config/section/section.h"

#define EXPORT(member) offsetof(struct sr_config_metrics_export, member)

static const struct sr_enum_word protocols[] = {
    {"grpc", SR_OTLP_GRPC}, {"http/protobuf", SR_OTLP_HTTP}, {NULL, 0}};

static const struct sr_enum_word compressions[] = {{"none", 0}, {"gzip", 0}, {NULL, 0}};

static const struct sr_enum_word temporalities[] = {{"cumulative", 0}, {"delta", 0}, {NULL, 0}};

static const struct sr_field fields[] = {
    {"enabled", SR_FIELD_BOOL, EXPORT(enabled), .def = "false",
     .def_note =
         "`true` where `OTEL_METRICS_EXPORTER` has `otlp`, or `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT` is "
         "set",
     .help =
         "whether metrics are sent; `/metrics` has them in any case. `OTEL_SDK_DISABLED=true` forbids it"},
    {"endpoint", SR_FIELD_TEXT, EXPORT(to.endpoint), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "`OTEL_EXPORTER_OTLP_METRICS_ENDPOINT`, else the collector of traces, with its keys",
     .help = "the collector: `host:port`, or `https://host:port/path`"},
    {"insecure", SR_FIELD_BOOL, EXPORT(to.insecure), .def = "false",
     .help = "this endpoint, without `http://` or `https://`, is reached without TLS"},
    {"protocol", SR_FIELD_ENUM, EXPORT(to.protocol), .words = protocols, .def = "grpc",
     .def_note = "`OTEL_EXPORTER_OTLP_METRICS_PROTOCOL`, else as traces", .help = "how metrics are sent"},
    {"headers", SR_FIELD_PAIRS, EXPORT(to.headers), .def_note = "`OTEL_EXPORTER_OTLP_METRICS_HEADERS`",
     .help = "sent with each export; write secrets as `${NAME}`"},
    {"compression", SR_FIELD_ENUM, .words = compressions, .flags = SR_FIELD_DECLARED,
     .def_note = "`OTEL_EXPORTER_OTLP_METRICS_COMPRESSION`, else `none`", .help = "of exports over HTTP"},
    {"timeout_ms", SR_FIELD_MS, EXPORT(to.timeout_ms), .def = "10000", .min = 1, .max = 600e3,
     .help = "of one export; else it is tried again"},
    {"ca_file", SR_FIELD_TEXT, EXPORT(to.ca_file), .def_note = "the system's authorities",
     .help = "PEM file of the authorities that sign the collector's certificate"},
    {"cert_file", SR_FIELD_TEXT, EXPORT(to.cert_file), .def_note = "none",
     .help = "PEM file of a client certificate"},
    {"key_file", SR_FIELD_TEXT, EXPORT(to.key_file), .def_note = "the key is in `cert_file`",
     .help = "PEM file of its private key"},
    {"interval_ms", SR_FIELD_MS, EXPORT(interval_ms), .def = "60000", .min = 10, .max = 86400e3,
     .def_note = "`OTEL_METRIC_EXPORT_INTERVAL`, else `60000`", .help = "how often metrics are sent"},
    {"temporality", SR_FIELD_ENUM, .words = temporalities, .flags = SR_FIELD_DECLARED,
     .def_note = "`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`, else `cumulative`",
     .help = "counters and histograms since the start, or since the last export that was taken"},
};

const struct sr_section sr_section_metrics_export = {
    .name = "metrics export",
    .help = "Metrics sent to an OpenTelemetry collector, beside `/metrics`.",
    SR_FIELDS(fields),
};
