/* `global.semroute.gateway`: limits and timeouts of the gateway door. */
#include "config/section/section.h"

#define GATEWAY(member) offsetof(struct sr_config_gateway, member)
#define DAY             (24 * 3600e3)

static const struct sr_field tls_fields[] = {
    {"cert_file", SR_FIELD_TEXT, GATEWAY(tls_cert_file), .help = "PEM file of the certificate and its chain"},
    {"key_file", SR_FIELD_TEXT, GATEWAY(tls_key_file), .help = "PEM file of the private key"},
};

static void finish_tls(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_gateway *gateway = target;
    if (!gateway->tls_cert_file[0] != !gateway->tls_key_file[0])
        sr_bind_error(b, node, "`cert_file` and `key_file` go together: `%s` is missing",
                      gateway->tls_cert_file[0] ? "key_file" : "cert_file");
}

static const struct sr_section tls_section = {
    .name = "gateway tls", .help = "TLS for clients.", SR_FIELDS(tls_fields), .finish = finish_tls};

static const struct sr_field upstream_fields[] = {
    {"connect_timeout_ms", SR_FIELD_MS, GATEWAY(upstream.connect_timeout_ms), .def = "5000", .min = 1,
     .max = DAY, .help = "until an upstream accepts a connection"},
    {"response_timeout_ms", SR_FIELD_MS, GATEWAY(upstream.response_timeout_ms), .def = "600000", .min = 1,
     .max = DAY, .help = "until the response head is complete"},
    {"idle_timeout_ms", SR_FIELD_MS, GATEWAY(upstream.idle_timeout_ms), .def = "600000", .min = 1, .max = DAY,
     .help = "the longest pause inside a response body"},
    {"keepalive_ms", SR_FIELD_MS, GATEWAY(upstream.keepalive_ms), .def = "60000", .max = DAY,
     .help = "how long an unused connection is kept"},
    {"max_idle", SR_FIELD_UINT32, GATEWAY(upstream.max_idle), .def = "64", .max = 65536,
     .help = "unused connections kept for each backend and event loop"},
    {"retries", SR_FIELD_INT, GATEWAY(upstream.retries), .def = "1", .max = 10,
     .help = "tries of a request after the first, for models whose `reliability` has no `retry_count`"},
    {"back_off_ms", SR_FIELD_MS, GATEWAY(upstream.back_off_ms), .def = "50", .min = 1, .max = 60e3,
     .help = "the longest wait before the same workers are tried again, of which a random half is waited; "
             "doubled each time, up to 20 times as long"},
    {"retry_after_ms", SR_FIELD_MS, GATEWAY(upstream.retry_after_ms), .def = "2000", .max = DAY,
     .help = "the longest `Retry-After` of a worker that is waited for; an answer with a longer one is the "
             "client's. 0: all are"},
    {"take_back", SR_FIELD_BOOL, GATEWAY(upstream.take_back), .def = "true",
     .help =
         "a request that waits for its first byte at a worker which turns out to be slow or gone is such a "
         "retry, at another one; until that byte the head of its answer is kept back too"},
};

static const struct sr_section upstream_section = {
    .name = "gateway upstream", .help = "Connections to the models.", SR_FIELDS(upstream_fields)};

static const struct sr_field http2_fields[] = {
    {"enabled", SR_FIELD_BOOL, GATEWAY(http2.enabled), .def = "true",
     .help = "clients may speak HTTP/2: by ALPN over TLS, else with prior knowledge"},
    {"max_streams", SR_FIELD_UINT32, GATEWAY(http2.max_streams), .def = "100", .min = 1, .max = 65536,
     .help = "requests at a time on one connection; a client that knows the number waits, others get "
             "REFUSED_STREAM"},
    {"resets_per_second", SR_FIELD_UINT32, GATEWAY(http2.resets_per_second), .def = "100", .min = 1,
     .max = 1e6,
     .help = "requests that one connection may cancel before their answer, sustained, and ten times as many "
             "at once; over it the connection is closed"},
};

static const struct sr_section http2_section = {
    .name = "gateway http2", .help = "HTTP/2 from clients.", SR_FIELDS(http2_fields)};

static const struct sr_field fields[] = {
    {"max_body_bytes", SR_FIELD_SIZE, GATEWAY(max_body_bytes), .def = "32MiB", .min = 1024, .max = 0x1p31,
     .help = "the largest request body; over it 413"},
    {"max_body_values", SR_FIELD_UINT32, GATEWAY(max_body_values), .def = "262144", .min = 64, .max = 0x1p21,
     .help = "values of a request body that the router keeps the place of: members, elements, texts; over it "
             "413"},
    {"max_body_strings", SR_FIELD_UINT32, GATEWAY(max_body_strings), .def = "65536", .min = 1, .max = 0x1p21,
     .help = "texts and keys of a request that signals and guards read; those after them are unread content "
             "of the "
             "kind `limit`"},
    {"max_buffered_bytes", SR_FIELD_SIZE, GATEWAY(max_buffered_bytes), .def = "256MiB", .min = 1024,
     .max = 0x1p40,
     .help =
         "the bodies that all requests in progress keep, at every door; a body that would leave no room for "
         "another of its size gets 503, unless it is the only one"},
    {"max_header_bytes", SR_FIELD_SIZE, GATEWAY(max_header_bytes), .def = "64KiB", .min = 1024, .max = 0x1p24,
     .help = "the largest request head; over it 431"},
    {"max_connections", SR_FIELD_UINT32, GATEWAY(max_connections), .def = "10000", .min = 1, .max = 1e6,
     .help = "client connections of the process, from accept on; over it 503. Lowered, with a line in the "
             "log, to what "
             "the limit of open files allows"},
    {"max_connections_per_client", SR_FIELD_UINT32, GATEWAY(max_connections_per_client), .def = "0",
     .max = 1e6,
     .help = "connections from one address (IPv6: one /64); over it 503. 0 = no limit, as a proxy or a load "
             "balancer "
             "in front of semroute is one address"},
    {"header_timeout_ms", SR_FIELD_MS, GATEWAY(header_timeout_ms), .def = "10000", .min = 1, .max = DAY,
     .help = "until a request's head is complete; else 408"},
    {"body_timeout_ms", SR_FIELD_MS, GATEWAY(body_timeout_ms), .def = "60000", .min = 1, .max = DAY,
     .help = "the longest pause inside a request body; else 408"},
    {"request_timeout_ms", SR_FIELD_MS, GATEWAY(request_timeout_ms), .def = "300000", .min = 1, .max = DAY,
     .help = "the time in which a request body must have arrived, however it comes; else 408"},
    {"idle_timeout_ms", SR_FIELD_MS, GATEWAY(idle_timeout_ms), .def = "75000", .min = 1, .max = DAY,
     .help = "how long a connection without a request is kept"},
    {"drain_timeout_ms", SR_FIELD_MS, GATEWAY(drain_timeout_ms), .def = "30000", .max = DAY,
     .help = "how long open exchanges may go on after SIGTERM"},
    {"cors_origins", SR_FIELD_TEXTS, GATEWAY(cors_origins),
     .def_note = "none: browsers refuse answers to pages",
     .help = "origins of the pages that may call the gateway from a browser (`https://app.example`), `*` for "
             "all; "
             "credentials of the browser are never allowed"},
    {"http2", SR_FIELD_OBJECT, .of = &http2_section, .help = "HTTP/2 from clients"},
    {"tls", SR_FIELD_OBJECT, .of = &tls_section, .help = "TLS for clients", .def_note = "plain HTTP"},
    {"upstream", SR_FIELD_OBJECT, .of = &upstream_section, .help = "connections to the models"},
};

const struct sr_section sr_section_gateway = {
    .name = "gateway",
    .help = "Limits and timeouts of the gateway.",
    SR_FIELDS(fields),
};
