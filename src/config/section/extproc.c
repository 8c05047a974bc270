/* `global.semroute.extproc`: the ext_proc door. */
#include "config/section/section.h"

#define EXTPROC(member) offsetof(struct sr_config_extproc, member)

static const struct sr_field tls_fields[] = {
    {"cert_file", SR_FIELD_TEXT, EXTPROC(tls_cert_file), .help = "PEM file of the certificate and its chain"},
    {"key_file", SR_FIELD_TEXT, EXTPROC(tls_key_file), .help = "PEM file of the private key"},
    {"client_ca_file", SR_FIELD_TEXT, EXTPROC(tls_client_ca_file),
     .help = "PEM file of the authorities that sign Envoy's client certificate",
     .def_note = "no client certificate is requested"},
};

static void finish_tls(struct sr_binder *b, const struct sr_yaml_node *node, void *target)
{
    const struct sr_config_extproc *extproc = target;
    if (!extproc->tls_cert_file[0] != !extproc->tls_key_file[0])
        sr_bind_error(b, node, "`cert_file` and `key_file` go together: `%s` is missing",
                      extproc->tls_cert_file[0] ? "key_file" : "cert_file");
    else if (extproc->tls_client_ca_file[0] && !extproc->tls_cert_file[0])
        sr_bind_error(b, node, "`client_ca_file` needs `cert_file` and `key_file`");
}

static const struct sr_section tls_section = {
    .name = "extproc tls", .help = "TLS for Envoy.", SR_FIELDS(tls_fields), .finish = finish_tls};

static const struct sr_field fields[] = {
    {"destination_header", SR_FIELD_TEXT, EXTPROC(destination_header),
     .help = "a header that gets `ADDRESS:PORT` of the model's backend, for a cluster of type ORIGINAL_DST",
     .def_note = "none"},
    {"hold_ms", SR_FIELD_MS, EXTPROC(hold_ms), .def = "150", .min = 1, .max = 600e3,
     .help = "with `send_body_without_waiting_for_header_response`: how long the headers wait for the "
             "verdict; less than Envoy's `message_timeout`"},
    {"hold_bytes", SR_FIELD_SIZE, EXTPROC(hold_bytes), .def = "768KiB", .min = 1, .max = 0x1p31,
     .help =
         "or until this much of the body has arrived; less than Envoy's `per_connection_buffer_limit_bytes`"},
    {"max_message_bytes", SR_FIELD_SIZE, EXTPROC(max_message_bytes), .def = "64MiB", .min = 65536,
     .max = 0x1p31, .help = "the largest message of Envoy: in BUFFERED mode a whole body"},
    {"max_passing_bytes", SR_FIELD_SIZE, EXTPROC(max_passing_bytes), .def = "0", .max = 0x1p53,
     .help = "the largest body that passes through in chunks, unbuffered, because the request names a model "
             "and no guard is configured; over it 413; 0 = no limit. Buffered bodies are limited by the "
             "gateway's `max_body_bytes`"},
    {"max_streams", SR_FIELD_UINT32, EXTPROC(max_streams), .def = "20000", .min = 1, .max = 1e6,
     .help = "concurrent requests; over it 503, or 429 to a data plane that asks for an endpoint"},
    {"fallback_endpoints", SR_FIELD_UINT32, EXTPROC(fallback_endpoints), .def = "0", .max = 16,
     .help = "addresses that follow the chosen one in `x-gateway-destination-endpoint`, in the order in "
             "which to try them; leave 0 where a cluster of type ORIGINAL_DST reads the header"},
    {"streamed_replies", SR_FIELD_BOOL, EXTPROC(streamed_replies), .def = "false",
     .help = "in FULL_DUPLEX_STREAMED, send replies that are SSE or long in pieces "
             "(`streamed_immediate_response`): it needs Envoy 1.37 or later"},
    {"tls", SR_FIELD_OBJECT, .of = &tls_section, .help = "TLS for Envoy", .def_note = "plain HTTP/2"},
};

const struct sr_section sr_section_extproc = {
    .name = "extproc",
    .help = "The Envoy external processor.",
    SR_FIELDS(fields),
};
