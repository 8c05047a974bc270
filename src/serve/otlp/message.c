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

void sr_otlp_content_init(struct sr_otlp_content *content)
{
    *content = (struct sr_otlp_content){0};
    sr_buf_init(&content->bytes, SR_OTLP_MESSAGE_MAX);
}

void sr_otlp_content_dispose(struct sr_otlp_content *content)
{
    sr_buf_dispose(&content->bytes);
}

int sr_otlp_content_clear(struct sr_otlp_content *content)
{
    sr_buf_clear(&content->bytes);
    content->room = 0;
    int rc = sr_buf_reserve(&content->bytes, SR_OTLP_ROOM);
    if (!rc)
        content->bytes.len = content->room = SR_OTLP_ROOM;
    return rc;
}

size_t sr_otlp_content_size(const struct sr_otlp_content *content)
{
    return content->bytes.len - content->room;
}

/* Leaves `need` bytes free before the content. */
static int make_room(struct sr_otlp_content *content, size_t need)
{
    size_t n = sr_otlp_content_size(content), before = content->room;
    int rc = need > before ? sr_buf_reserve(&content->bytes, need - before) : SR_OK;
    if (rc || need <= before)
        return rc;
    memmove(content->bytes.data + need, content->bytes.data + before, n);
    content->bytes.len = need + n;
    content->room = need;
    return SR_OK;
}

int sr_otlp_message(const struct sr_config_tracing *tracing, struct sr_otlp_content *content,
                    struct sr_bytes *out)
{
    struct sr_export_attribute *resource =
        sr_mem_calloc(OWN_ATTRIBUTES + tracing->attributes.count, sizeof *resource);
    struct sr_buf head;
    if (!resource)
        return SR_ENOMEM;
    sr_buf_init(&head, SR_OTLP_MESSAGE_MAX);
    int rc = sr_export_head(&head, resource, resource_of(tracing, resource), "semantic-router",
                            sr_version_text, sr_otlp_content_size(content));
    if (!rc)
        rc = make_room(content, head.len);
    if (!rc) {
        char *at = content->bytes.data + content->room - head.len;
        memcpy(at, head.data, head.len);
        *out = sr_bytes_of(at, head.len + sr_otlp_content_size(content));
    }
    sr_buf_dispose(&head);
    sr_mem_free(resource);
    return rc;
}
