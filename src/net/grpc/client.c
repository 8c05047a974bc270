/*
 * Unary calls: framing, status, deadlines, and which connection a call takes.
 *
 * A status comes from the trailers, from a head without a body, or from the HTTP status as gRPC maps it. A
 * connection that fails or drains leaves its slot at once and is closed when its last call has ended.
 */
#include "net/grpc/client.h"

#include "base/buf.h"
#include "base/hex.h"
#include "base/mem.h"

#include <stdio.h>

#define PREFIX_BYTES    5
#define CONNECTIONS_MAX 16
#define WHY_MAX         256
#define OWN_HEADERS     4

struct slot {
    struct sr_grpc_client *client;
    struct sr_http2_client *http2; /* NULL: none */
    struct slot *next;             /* of those that drain */
};

struct sr_grpc_client {
    struct sr_loop *loop;
    struct sr_connect to;
    char *host, *server_name, *authority;
    struct sr_http2_header metadata[SR_GRPC_METADATA_MAX];
    size_t metadata_count;
    char *metadata_bytes;
    size_t connections, calls_max, calls;
    struct sr_http2_client_settings http2;
    struct slot *slots[CONNECTIONS_MAX];
    struct slot *draining;
    struct sr_grpc_unary *unaries;
    struct sr_deferred tidy;
};

struct sr_grpc_unary {
    struct sr_grpc_client *client;
    struct sr_grpc_unary *next, **pprev;
    struct sr_http2_call *call;
    struct sr_timer timer;
    sr_grpc_done *done;
    void *ctx;
};

struct sr_grpc_client_options sr_grpc_client_options_defaults(void)
{
    return (struct sr_grpc_client_options){
        .connections = 2, .calls = 1000, .http2 = sr_http2_client_settings_defaults()};
}

/* ---- connections ---- */

static void slot_free(struct slot *slot)
{
    sr_http2_client_close(&slot->http2);
    sr_mem_free(slot);
}

/* Connections without calls that take no more. */
static void tidy(void *ctx)
{
    struct sr_grpc_client *client = ctx;
    for (struct slot **at = &client->draining; *at;) {
        struct slot *slot = *at;
        if (sr_http2_client_calls(slot->http2)) {
            at = &slot->next;
            continue;
        }
        *at = slot->next;
        slot_free(slot);
    }
}

static void slot_down(void *ctx, int code, const char *why)
{
    struct slot *slot = ctx;
    struct sr_grpc_client *client = slot->client;
    (void)code, (void)why;
    for (size_t i = 0; i < client->connections; i++) {
        if (client->slots[i] != slot)
            continue;
        client->slots[i] = NULL;
        slot->next = client->draining;
        client->draining = slot;
    }
    sr_loop_defer(client->loop, &client->tidy);
}

static const struct sr_http2_client_events slot_events = {.down = slot_down};

static int slot_open(struct sr_grpc_client *client, size_t i)
{
    struct slot *slot = sr_mem_calloc(1, sizeof *slot);
    int rc;
    if (!slot)
        return SR_ENOMEM;
    slot->client = client;
    rc = sr_http2_client_open(&slot->http2, client->loop, &client->to, &client->http2, &slot_events, slot);
    if (rc != SR_OK) {
        sr_mem_free(slot);
        return rc;
    }
    client->slots[i] = slot;
    return SR_OK;
}

/* The connection with the fewest calls, or a new one while all have some. */
static int slot_pick(struct sr_grpc_client *client, struct slot **out)
{
    struct slot *best = NULL;
    size_t least = SIZE_MAX, spare = SIZE_MAX;
    int rc = SR_OK;
    for (size_t i = 0; i < client->connections; i++) {
        struct slot *slot = client->slots[i];
        size_t calls = slot ? sr_http2_client_calls(slot->http2) : 0;
        if (!slot)
            spare = i;
        else if (calls < least) {
            least = calls;
            best = slot;
        }
    }
    if (spare != SIZE_MAX && (!best || least)) {
        rc = slot_open(client, spare);
        if (rc == SR_OK)
            best = client->slots[spare];
    }
    *out = best;
    if (!best)
        return rc == SR_OK ? SR_ECLOSED : rc;
    return SR_OK;
}

/* ---- answers ---- */

static struct sr_bytes field_find(const struct sr_http2_header *fields, size_t count, struct sr_bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (sr_bytes_eq(fields[i].name, name))
            return fields[i].value;
    return (struct sr_bytes){NULL, 0};
}

static struct sr_bytes answer_find(const struct sr_http2_answer *answer, struct sr_bytes name)
{
    struct sr_bytes value = field_find(answer->trailers, answer->trailer_count, name);
    return value.p ? value : field_find(answer->headers, answer->header_count, name);
}

/* grpc-message: percent-encoded. What a terminal could take amiss becomes a question mark. */
static void message_decode(struct sr_bytes text, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n + 1 < size; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? sr_hex_digit(text.p[i + 1]) : -1;
        int low = high >= 0 ? sr_hex_digit(text.p[i + 2]) : -1;
        unsigned char c = (unsigned char)text.p[i];
        if (low >= 0) {
            c = (unsigned char)(high << 4 | low);
            i += 2;
        }
        out[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    out[n] = '\0';
}

static enum sr_grpc_status status_of_http(int status)
{
    switch (status) {
    case 400:
        return SR_GRPC_INTERNAL;
    case 401:
        return SR_GRPC_UNAUTHENTICATED;
    case 403:
        return SR_GRPC_PERMISSION_DENIED;
    case 404:
        return SR_GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return SR_GRPC_UNAVAILABLE;
    default:
        return SR_GRPC_UNKNOWN;
    }
}

static enum sr_grpc_status status_of_transport(int why)
{
    switch (why) {
    case SR_ELIMIT:
        return SR_GRPC_RESOURCE_EXHAUSTED;
    case SR_ECANCELED:
        return SR_GRPC_CANCELLED;
    case SR_EPROTO:
        return SR_GRPC_INTERNAL;
    default:
        return SR_GRPC_UNAVAILABLE;
    }
}

/* The one message of a body. SR_EPROTO: none, several, or compressed. */
static int body_read(struct sr_bytes body, struct sr_bytes *message)
{
    const unsigned char *p = (const unsigned char *)body.p;
    size_t n;
    if (body.n < PREFIX_BYTES || p[0])
        return SR_EPROTO;
    n = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (n != body.n - PREFIX_BYTES)
        return SR_EPROTO;
    *message = sr_bytes_of(body.p + PREFIX_BYTES, n);
    return SR_OK;
}

static void reply_read(struct sr_grpc_reply *reply, int why, const struct sr_http2_answer *answer,
                       char text[WHY_MAX])
{
    struct sr_bytes status = answer_find(answer, SR_LIT("grpc-status"));
    unsigned long long code;
    reply->unread = answer->unread;
    if (status.p && sr_bytes_to_u64(status, &code)) {
        reply->status = code <= SR_GRPC_UNAUTHENTICATED ? (enum sr_grpc_status)code : SR_GRPC_UNKNOWN;
        message_decode(answer_find(answer, SR_LIT("grpc-message")), text, WHY_MAX);
    } else if (why != SR_OK) {
        reply->status = status_of_transport(why);
        snprintf(text, WHY_MAX, "%s", why == SR_ECLOSED ? "the connection failed" : sr_strerror(why));
    } else {
        reply->status = answer->status == 200 ? SR_GRPC_INTERNAL : status_of_http(answer->status);
        snprintf(text, WHY_MAX, "HTTP status %d without a status of gRPC", answer->status);
    }
    if (reply->status == SR_GRPC_OK && (why != SR_OK || body_read(answer->body, &reply->message) != SR_OK)) {
        reply->status = why == SR_OK ? SR_GRPC_INTERNAL : status_of_transport(why);
        snprintf(text, WHY_MAX, "the answer is not one message");
    }
    reply->why = text;
}

static void unary_free(struct sr_grpc_unary *unary)
{
    *unary->pprev = unary->next;
    if (unary->next)
        unary->next->pprev = unary->pprev;
    unary->client->calls--;
    sr_timer_stop(&unary->timer);
    sr_mem_free(unary);
}

static void call_done(void *ctx, int why, const struct sr_http2_answer *answer)
{
    struct sr_grpc_unary *unary = ctx;
    struct sr_grpc_reply reply = {0};
    char text[WHY_MAX] = "";
    reply_read(&reply, why, answer, text);
    if (unary->client->draining)
        sr_loop_defer(unary->client->loop, &unary->client->tidy);
    unary->done(unary->ctx, &reply);
    unary_free(unary);
}

static void unary_due(void *ctx)
{
    struct sr_grpc_unary *unary = ctx;
    struct sr_grpc_reply reply = {.status = SR_GRPC_DEADLINE_EXCEEDED, .why = "no answer in time"};
    sr_http2_call_cancel(&unary->call);
    unary->done(unary->ctx, &reply);
    unary_free(unary);
}

/* ---- calls ---- */

static int call_start(struct sr_grpc_client *client, struct sr_grpc_unary *unary, const char *path,
                      struct sr_bytes message, uint32_t timeout_ms)
{
    struct sr_http2_header headers[OWN_HEADERS + SR_GRPC_METADATA_MAX] = {
        {SR_LIT("te"), SR_LIT("trailers")},
        {SR_LIT("content-type"), SR_LIT("application/grpc")},
        {SR_LIT("user-agent"), SR_LIT("semroute")},
    };
    char timeout[16];
    struct sr_http2_request request = {.method = SR_LIT("POST"),
                                       .path = sr_bytes_str(path),
                                       .scheme = client->to.tls ? SR_LIT("https") : SR_LIT("http"),
                                       .authority = sr_bytes_str(client->authority),
                                       .headers = headers,
                                       .header_count = OWN_HEADERS + client->metadata_count};
    unsigned char prefix[PREFIX_BYTES] = {0, (unsigned char)(message.n >> 24),
                                          (unsigned char)(message.n >> 16), (unsigned char)(message.n >> 8),
                                          (unsigned char)message.n};
    struct sr_buf body;
    struct slot *slot;
    int rc = slot_pick(client, &slot);
    if (rc != SR_OK)
        return rc;
    if (timeout_ms > 99999999)
        timeout_ms = 99999999;
    headers[3] = (struct sr_http2_header){
        SR_LIT("grpc-timeout"), {timeout, (size_t)snprintf(timeout, sizeof timeout, "%um", timeout_ms)}};
    memcpy(headers + OWN_HEADERS, client->metadata, client->metadata_count * sizeof *headers);
    sr_buf_init(&body, message.n + PREFIX_BYTES);
    rc = sr_buf_append(&body, prefix, sizeof prefix);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&body, message);
    request.body = sr_buf_view(&body);
    if (rc == SR_OK)
        rc = sr_http2_client_start(&unary->call, slot->http2, &request, call_done, unary);
    sr_buf_dispose(&body);
    return rc;
}

int sr_grpc_client_call(struct sr_grpc_unary **out, struct sr_grpc_client *client, const char *path,
                        struct sr_bytes message, uint32_t timeout_ms, sr_grpc_done *done, void *ctx)
{
    struct sr_grpc_unary *unary;
    int rc;
    *out = NULL;
    if (client->calls >= client->calls_max)
        return SR_EBUSY;
    if (message.n > UINT32_MAX - PREFIX_BYTES)
        return SR_ELIMIT;
    unary = sr_mem_calloc(1, sizeof *unary);
    if (!unary)
        return SR_ENOMEM;
    *unary = (struct sr_grpc_unary){.client = client, .done = done, .ctx = ctx};
    rc = call_start(client, unary, path, message, timeout_ms);
    if (rc != SR_OK) {
        sr_mem_free(unary);
        return rc;
    }
    unary->next = client->unaries;
    unary->pprev = &client->unaries;
    if (unary->next)
        unary->next->pprev = &unary->next;
    client->unaries = unary;
    client->calls++;
    sr_timer_init(&unary->timer, client->loop, unary_due, unary);
    sr_timer_start(&unary->timer, timeout_ms);
    *out = unary;
    return SR_OK;
}

void sr_grpc_unary_cancel(struct sr_grpc_unary **at)
{
    struct sr_grpc_unary *unary = *at;
    *at = NULL;
    if (!unary)
        return;
    sr_http2_call_cancel(&unary->call);
    unary_free(unary);
}

/* ---- the client ---- */

/* Copies of all texts. */
static int client_copy(struct sr_grpc_client *client, const struct sr_grpc_client_options *options)
{
    size_t n = strlen(options->host) + 16, bytes = 1;
    char *at;
    for (size_t i = 0; i < options->metadata_count; i++)
        bytes += options->metadata[i].name.n + options->metadata[i].value.n;
    client->host = sr_mem_dup(options->host, strlen(options->host));
    client->server_name =
        options->server_name ? sr_mem_dup(options->server_name, strlen(options->server_name)) : NULL;
    client->authority = sr_mem_alloc(n);
    client->metadata_bytes = at = sr_mem_alloc(bytes);
    if (!client->host || (options->server_name && !client->server_name) || !client->authority || !at)
        return SR_ENOMEM;
    snprintf(client->authority, n, strchr(options->host, ':') ? "[%s]:%u" : "%s:%u", options->host,
             options->port);
    client->metadata_count = options->metadata_count;
    for (size_t i = 0; i < options->metadata_count; i++) {
        struct sr_bytes name = options->metadata[i].name, value = options->metadata[i].value;
        client->metadata[i] = (struct sr_http2_header){{at, name.n}, {at + name.n, value.n}};
        memcpy(at, name.p, name.n);
        memcpy(at + name.n, value.p, value.n);
        at += name.n + value.n;
    }
    return SR_OK;
}

int sr_grpc_client_new(struct sr_grpc_client **out, struct sr_loop *loop,
                       const struct sr_grpc_client_options *options)
{
    struct sr_grpc_client *client;
    *out = NULL;
    if (!options->host || !*options->host || options->metadata_count > SR_GRPC_METADATA_MAX ||
        !options->connections || options->connections > CONNECTIONS_MAX)
        return SR_EINVAL;
    client = sr_mem_calloc(1, sizeof *client);
    if (!client)
        return SR_ENOMEM;
    client->loop = loop;
    client->connections = options->connections;
    client->calls_max = options->calls;
    client->http2 = options->http2;
    client->tidy = (struct sr_deferred){.run = tidy, .ctx = client};
    if (client_copy(client, options) != SR_OK) {
        sr_grpc_client_free(client);
        return SR_ENOMEM;
    }
    client->to = (struct sr_connect){.host = client->host,
                                     .port = options->port,
                                     .tls = options->tls ? sr_tls_context_ref(options->tls) : NULL,
                                     .server_name = client->server_name};
    *out = client;
    return SR_OK;
}

void sr_grpc_client_free(struct sr_grpc_client *client)
{
    if (!client)
        return;
    while (client->unaries) {
        struct sr_grpc_unary *unary = client->unaries;
        sr_grpc_unary_cancel(&unary);
    }
    sr_deferred_cancel(&client->tidy);
    for (size_t i = 0; i < client->connections; i++)
        if (client->slots[i])
            slot_free(client->slots[i]);
    while (client->draining) {
        struct slot *slot = client->draining;
        client->draining = slot->next;
        slot_free(slot);
    }
    sr_tls_context_unref(client->to.tls);
    sr_mem_free(client->host);
    sr_mem_free(client->server_name);
    sr_mem_free(client->authority);
    sr_mem_free(client->metadata_bytes);
    sr_mem_free(client);
}
