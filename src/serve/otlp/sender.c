/* The answer's status says what became of the request (opentelemetry.io/docs/specs/otlp, "OTLP/gRPC Response"
 * and "OTLP/HTTP Response"). */
#include "serve/otlp/sender.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "base/version.h"
#include "net/client/client.h"
#include "net/grpc/client.h"
#include "trace/export.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX     ((size_t)64 << 10) /* of an answer that is read */
#define MESSAGE_MAX  ((size_t)64 << 20)
#define OWN_HEADERS  3
#define AFTER_MAX_MS 60000u

struct sr_otlp_sender {
    const struct sr_config_otlp *to;
    const char *method;
    sr_tls_context *tls;
    sr_otlp_done *done;
    void *ctx;
    /* over HTTP */
    struct sr_client *client;
    struct sr_fetch *fetch; /* NULL: none is on its way */
    struct sr_header *headers;
    size_t n_headers;
    struct sr_buf body; /* of the request, compressed */
    struct sr_buf answer;
    int status;
    uint64_t after_ms;
    /* over gRPC */
    struct sr_grpc_client *grpc;
    struct sr_grpc_unary *call;
    struct sr_http2_header metadata[SR_GRPC_METADATA_MAX];
    char *names; /* of the metadata, in lower case */
};

/* ---- what became of it ---- */

static void finish(struct sr_otlp_sender *s, enum sr_otlp_end end, const char *why)
{
    struct sr_otlp_outcome outcome = {.end = end, .after_ms = s->after_ms, .why = why};
    s->done(s->ctx, &outcome);
}

/* It was taken, but for what the answer names. */
static void finish_sent(struct sr_otlp_sender *s, struct sr_bytes answer)
{
    struct sr_export_result result;
    char why[200] = "";
    if (sr_export_result_read(&result, answer) != SR_OK)
        result = (struct sr_export_result){0}; /* what it says is for people */
    if (result.message.n)
        snprintf(why, sizeof why, "%.*s", (int)(result.message.n < 160 ? result.message.n : 160),
                 result.message.p);
    for (char *p = why; *p; p++)
        *p = *p < ' ' || *p > '~' ? '?' : *p;
    s->done(s->ctx, &(struct sr_otlp_outcome){.end = SR_OTLP_SENT, .rejected = result.rejected, .why = why});
}

/* ---- HTTP ---- */

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct sr_otlp_sender *s = ctx;
    unsigned long long seconds = 0;
    struct sr_bytes after = sr_http_head_value(head, SR_LIT("retry-after"));
    s->status = head->status;
    if (after.n && sr_bytes_to_u64(sr_bytes_trim(after), &seconds))
        s->after_ms = seconds < AFTER_MAX_MS / 1000 ? seconds * 1000 : AFTER_MAX_MS;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct sr_otlp_sender *s = ctx;
    if (sr_buf_append_bytes(&s->answer, slice) != SR_OK)
        sr_buf_clear(&s->answer); /* it is not needed */
}

static void on_end(void *ctx)
{
    struct sr_otlp_sender *s = ctx;
    char why[32];
    int status = s->status;
    bool again = status == 429 || (status >= 502 && status <= 504);
    s->fetch = NULL;
    snprintf(why, sizeof why, "status %d", status);
    if (status / 100 == 2)
        finish_sent(s, sr_buf_view(&s->answer));
    else
        finish(s, again ? SR_OTLP_AGAIN : SR_OTLP_REFUSED, why);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct sr_otlp_sender *s = ctx;
    s->fetch = NULL;
    finish(s, SR_OTLP_AGAIN, error->text);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int open_http(struct sr_otlp_sender *s, struct sr_loop *loop)
{
    const struct sr_name_values *own = &s->to->headers;
    struct sr_client_settings settings = sr_client_settings_defaults();
    settings.max_idle = settings.max_idle_per_origin = 1;
    s->headers = sr_mem_calloc(own->count + OWN_HEADERS, sizeof *s->headers);
    if (!s->headers)
        return SR_ENOMEM;
    s->headers[s->n_headers++] = (struct sr_header){SR_LIT("content-type"), SR_LIT("application/x-protobuf")};
    s->headers[s->n_headers++] = (struct sr_header){SR_LIT("user-agent"), SR_LIT("semroute")};
    if (s->to->gzip)
        s->headers[s->n_headers++] = (struct sr_header){SR_LIT("content-encoding"), SR_LIT("gzip")};
    for (size_t i = 0; i < own->count; i++)
        s->headers[s->n_headers++] =
            (struct sr_header){sr_bytes_str(own->items[i].name), sr_bytes_str(own->items[i].value)};
    return sr_client_new(&s->client, loop, &settings);
}

static int send_http(struct sr_otlp_sender *s, struct sr_bytes message)
{
    const struct sr_config_otlp *t = s->to;
    uint32_t ms = (uint32_t)t->timeout_ms;
    struct sr_origin origin = {.host = t->host, .port = (uint16_t)t->port, .tls = s->tls};
    sr_buf_clear(&s->body);
    sr_buf_clear(&s->answer);
    s->status = 0;
    int rc = t->gzip ? sr_gzip(message, &s->body) : SR_OK;
    if (rc)
        return rc;
    struct sr_bytes body = t->gzip ? sr_buf_view(&s->body) : message;
    struct sr_client_request request = {
        .method = SR_LIT("POST"),
        .target = sr_bytes_str(t->path),
        .headers = s->headers,
        .header_count = s->n_headers,
        .content_length = (int64_t)body.n,
        .body = &body,
        .body_count = 1,
        .body_complete = true,
        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms},
    };
    return sr_client_start(&s->fetch, s->client, &origin, &request, &EVENTS, s);
}

/* ---- gRPC ---- */

static void on_reply(void *ctx, const struct sr_grpc_reply *reply)
{
    struct sr_otlp_sender *s = ctx;
    s->call = NULL;
    switch (reply->status) {
    case SR_GRPC_OK:
        finish_sent(s, reply->message);
        return;
    case SR_GRPC_CANCELLED:
    case SR_GRPC_DEADLINE_EXCEEDED:
    case SR_GRPC_RESOURCE_EXHAUSTED:
    case SR_GRPC_ABORTED:
    case SR_GRPC_OUT_OF_RANGE:
    case SR_GRPC_UNAVAILABLE:
    case SR_GRPC_DATA_LOSS:
        finish(s, SR_OTLP_AGAIN, reply->why);
        return;
    default:
        finish(s, SR_OTLP_REFUSED, reply->why);
    }
}

/* Names of metadata are in lower case. */
static size_t fill_metadata(struct sr_otlp_sender *s)
{
    const struct sr_name_values *own = &s->to->headers;
    size_t n = own->count < SR_GRPC_METADATA_MAX ? own->count : SR_GRPC_METADATA_MAX, bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(own->items[i].name);
    char *at = s->names = sr_mem_calloc(bytes, 1);
    for (size_t i = 0; at && i < n; i++) {
        size_t length = strlen(own->items[i].name);
        for (size_t k = 0; k < length; k++)
            at[k] = sr_ascii_lower(own->items[i].name[k]);
        s->metadata[i].name = sr_bytes_of(at, length);
        s->metadata[i].value = sr_bytes_str(own->items[i].value);
        at += length;
    }
    return s->names ? n : 0;
}

static int open_grpc(struct sr_otlp_sender *s, struct sr_loop *loop)
{
    struct sr_grpc_client_options options = sr_grpc_client_options_defaults();
    options.host = s->to->host;
    options.port = (uint16_t)s->to->port;
    options.tls = s->tls;
    options.connections = 1;
    options.calls = 1;
    options.metadata_count = fill_metadata(s);
    options.metadata = s->metadata;
    options.http2.answer_bytes = BODY_MAX;
    return s->names ? sr_grpc_client_new(&s->grpc, loop, &options) : SR_ENOMEM;
}

/* ---- both ---- */

int sr_otlp_sender_new(struct sr_otlp_sender **out, struct sr_loop *loop, const struct sr_config_otlp *to,
                       const char *method, sr_tls_context *tls, sr_otlp_done *done, void *ctx)
{
    struct sr_otlp_sender *s = sr_mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return SR_ENOMEM;
    s->to = to;
    s->method = method;
    s->tls = tls ? sr_tls_context_ref(tls) : NULL;
    s->done = done;
    s->ctx = ctx;
    sr_buf_init(&s->body, MESSAGE_MAX);
    sr_buf_init(&s->answer, BODY_MAX);
    int rc = to->protocol == SR_OTLP_HTTP ? open_http(s, loop) : open_grpc(s, loop);
    if (rc)
        sr_otlp_sender_free(s);
    else
        *out = s;
    return rc;
}

void sr_otlp_sender_free(struct sr_otlp_sender *s)
{
    if (!s)
        return;
    sr_fetch_cancel(&s->fetch);
    sr_client_free(s->client);
    sr_grpc_unary_cancel(&s->call);
    sr_grpc_client_free(s->grpc);
    sr_buf_dispose(&s->body);
    sr_buf_dispose(&s->answer);
    sr_mem_free(s->headers);
    sr_mem_free(s->names);
    sr_tls_context_unref(s->tls);
    sr_mem_free(s);
}

int sr_otlp_send(struct sr_otlp_sender *s, struct sr_bytes message)
{
    s->after_ms = 0;
    if (s->client)
        return send_http(s, message);
    return sr_grpc_client_call(&s->call, s->grpc, s->method, message, (uint32_t)s->to->timeout_ms, on_reply,
                               s);
}
