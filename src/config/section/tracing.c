/* Traces: `global.services.observability.tracing`, and what only semroute has in `global.semroute.tracing`.
 */
#include "config/section/section.h"

#define TRACING(member) offsetof(struct sr_config_tracing, member)

static const struct sr_enum_word exporters[] = {{"otlp", 0}, {"stdout", 0}, {NULL, 0}};

static const struct sr_field exporter_fields[] = {
    {"type", SR_FIELD_ENUM, .words = exporters, .def = "otlp", .flags = SR_FIELD_DECLARED,
     .help = "`otlp`, OpenTelemetry's protocol; with `stdout` there are no spans"},
    {"endpoint", SR_FIELD_TEXT, TRACING(to.endpoint), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "`OTEL_EXPORTER_OTLP_ENDPOINT`, else port 4317 or 4318 of this machine",
     .help = "the collector: `host:port`, or `https://host:port/path`"},
    {"insecure", SR_FIELD_BOOL, TRACING(to.insecure), .def = "false",
     .help = "an endpoint without `http://` or `https://` is reached without TLS"},
};
static const struct sr_section exporter_section = {
    .name = "tracing exporter", .help = "Where spans are sent.", SR_FIELDS(exporter_fields)};

static const struct sr_enum_word samplings[] = {
    {"always_on", 0}, {"always_off", 0}, {"probabilistic", 0}, {NULL, 0}};

static const struct sr_field sampling_fields[] = {
    {"type", SR_FIELD_WORD, TRACING(sampling), .words = samplings,
     .def_note = "`OTEL_TRACES_SAMPLER`, else `always_on`",
     .help = "which new traces are kept; a request that is part of a trace follows it (`parent_based`)"},
    {"rate", SR_FIELD_NUMBER, TRACING(rate), .def = "1", .min = 0, .max = 1,
     .help = "the share of `probabilistic`"},
};
static const struct sr_section sampling_section = {
    .name = "tracing sampling", .help = "Which traces are kept.", SR_FIELDS(sampling_fields)};

static const struct sr_field resource_fields[] = {
    {"service_name", SR_FIELD_TEXT, TRACING(service_name), .flags = SR_FIELD_NOT_EMPTY,
     .def_note = "`OTEL_SERVICE_NAME`, else `semroute`", .help = "`service.name` of all spans"},
    {"service_version", SR_FIELD_TEXT, TRACING(service_version), .def_note = "the program's",
     .help = "`service.version` of all spans"},
    {"deployment_environment", SR_FIELD_TEXT, TRACING(environment), .def_note = "none",
     .help = "`deployment.environment` of all spans"},
};
static const struct sr_section resource_section = {
    .name = "tracing resource", .help = "What the spans are of.", SR_FIELDS(resource_fields)};

static const struct sr_field tracing_fields[] = {
    {"enabled", SR_FIELD_BOOL, TRACING(enabled), .def = "false",
     .def_note = "`true` where `OTEL_EXPORTER_OTLP_ENDPOINT` is set",
     .help = "whether spans are made and sent; `OTEL_SDK_DISABLED=true` forbids it"},
    {"exporter", SR_FIELD_OBJECT, .of = &exporter_section, .help = "where spans are sent"},
    {"sampling", SR_FIELD_OBJECT, .of = &sampling_section, .help = "which traces are kept"},
    {"resource", SR_FIELD_OBJECT, .of = &resource_section, .help = "what the spans are of"},
};

const struct sr_section sr_section_tracing = {
    .name = "tracing",
    .help = "Spans of each request, sent to an OpenTelemetry collector.",
    SR_FIELDS(tracing_fields),
    .inert = (const struct sr_inert_key[]){{"provider", "spans are those of OpenTelemetry", false},
                                           {NULL, NULL, false}},
};

/* ---- of semroute ---- */

static const struct sr_enum_word protocols[] = {
    {"grpc", SR_OTLP_GRPC}, {"http/protobuf", SR_OTLP_HTTP}, {NULL, 0}};

static const struct sr_enum_word compressions[] = {{"none", 0}, {"gzip", 0}, {NULL, 0}};

static const struct sr_field export_fields[] = {
    {"protocol", SR_FIELD_ENUM, TRACING(to.protocol), .words = protocols, .def = "grpc",
     .def_note = "`OTEL_EXPORTER_OTLP_PROTOCOL`, else `grpc`; `http/protobuf` where the endpoint is from the "
                 "environment",
     .help = "how spans are sent"},
    {"headers", SR_FIELD_PAIRS, TRACING(to.headers), .def_note = "`OTEL_EXPORTER_OTLP_HEADERS`",
     .help = "sent with each export; write secrets as `${NAME}`"},
    {"compression", SR_FIELD_ENUM, .words = compressions, .flags = SR_FIELD_DECLARED,
     .def_note = "`OTEL_EXPORTER_OTLP_COMPRESSION`, else `none`", .help = "of exports over HTTP"},
    {"timeout_ms", SR_FIELD_MS, TRACING(to.timeout_ms), .def = "10000", .min = 1, .max = 600e3,
     .help = "of one export; else it is tried again"},
    {"ca_file", SR_FIELD_TEXT, TRACING(to.ca_file), .def_note = "the system's authorities",
     .help = "PEM file of the authorities that sign the collector's certificate"},
    {"cert_file", SR_FIELD_TEXT, TRACING(to.cert_file), .def_note = "none",
     .help = "PEM file of a client certificate"},
    {"key_file", SR_FIELD_TEXT, TRACING(to.key_file), .def_note = "the key is in `cert_file`",
     .help = "PEM file of its private key"},
    {"delay_ms", SR_FIELD_MS, TRACING(delay_ms), .def = "1000", .min = 1, .max = 600e3,
     .help = "how long spans wait for others of their export"},
    {"batch", SR_FIELD_INT, TRACING(batch), .def = "2048", .min = 1, .max = 65536,
     .help = "so many spans are sent without waiting"},
    {"queue_bytes", SR_FIELD_SIZE, TRACING(queue_bytes), .def = "8MiB", .min = 65536, .max = 0x1p31,
     .help = "spans that wait; over it new ones are dropped, and counted"},
    {"parent_based", SR_FIELD_BOOL, TRACING(parent_based), .def = "true",
     .help = "a request that is part of a trace is kept if its caller kept it; `false`: by `sampling` alone"},
    {"errors", SR_FIELD_BOOL, TRACING(errors), .def = "false",
     .help = "keep the spans of requests that failed or were blocked, whatever `sampling` says"},
    {"slow_ms", SR_FIELD_MS, TRACING(slow_ms), .def = "0", .max = 86400e3,
     .help = "keep the spans of requests that took as long, whatever `sampling` says; 0 = none"},
    {"propagate", SR_FIELD_BOOL, TRACING(propagate), .def = "true",
     .help = "upstreams get `traceparent`, `tracestate` and `baggage`; `false`: none of them"},
    {"attributes", SR_FIELD_PAIRS, TRACING(attributes), .def_note = "`OTEL_RESOURCE_ATTRIBUTES`",
     .help = "more attributes of the resource, of all spans"},
};

const struct sr_section sr_section_trace_export = {
    .name = "trace export",
    .help = "Traces, beyond `services.observability.tracing`.",
    SR_FIELDS(export_fields),
};
