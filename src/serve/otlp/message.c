/* The names of the resource's attributes: opentelemetry.io/docs/specs/semconv/resource. */
#include "serve/otlp/message.h"

#include "base/mem.h"
#include "base/version.h"
#include "trace/export.h"

#define OWN_ATTRIBUTES 6

/* What all is of, as far as it is written; returns their number. */
static size_t resource_of(const struct sr_config_tracing *t, struct sr_export_attribute *out)
{
    size_t n = 0;
    out[n++] =
        (struct sr_export_attribute){"service.name", t->service_name[0] ? t->service_name : "semroute"};
    out[n++] = (struct sr_export_attribute){"service.version",
                                            t->service_version[0] ? t->service_version : sr_version_text};
    if (t->environment[0])
        out[n++] = (struct sr_export_attribute){"deployment.environment", t->environment};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.name", "semroute"};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.language", "c"};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.version", sr_version_text};
    for (size_t i = 0; i < t->attributes.count; i++) {
        bool known = false;
        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(out[k].key, t->attributes.items[i].name) == 0;
        if (!known)
            out[n++] =
                (struct sr_export_attribute){t->attributes.items[i].name, t->attributes.items[i].value};
    }
    return n;
}

int sr_otlp_message(const struct sr_config_tracing *tracing, struct sr_bytes content, struct sr_buf *out)
{
    struct sr_export_attribute *resource =
        sr_mem_calloc(OWN_ATTRIBUTES + tracing->attributes.count, sizeof *resource);
    if (!resource)
        return SR_ENOMEM;
    sr_buf_clear(out);
    int rc = sr_export_head(out, resource, resource_of(tracing, resource), "semantic-router", sr_version_text,
                            content.n);
    sr_mem_free(resource);
    return rc ? rc : sr_buf_append_bytes(out, content);
}
