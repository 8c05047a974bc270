/*
 * What the file says comes first; a variable counts where it says nothing. Names and meanings of the
 * variables: opentelemetry.io/docs/specs/otel/protocol/exporter. Those of one signal
 * (OTEL_EXPORTER_OTLP_TRACES_*) come before the general ones.
 */
#include "config/link/otlp.h"

#include "base/hex.h"

#include <stdio.h>
#include <stdlib.h>

#define GRPC_PORT 4317
#define HTTP_PORT 4318
#define PAIRS_MAX 64

const char *sr_link_variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

bool sr_link_is_true(const char *value)
{
    return value && sr_bytes_eq_nocase(sr_bytes_str(value), SR_LIT("true"));
}

static const char *own_variable(const char *signal, const char *name)
{
    char full[80];
    snprintf(full, sizeof full, "OTEL_EXPORTER_OTLP_%s_%s", signal, name);
    return sr_link_variable(full);
}

static const char *general_variable(const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "OTEL_EXPORTER_OTLP_%s", name);
    return sr_link_variable(full);
}

const char *sr_link_otlp_variable(const char *signal, const char *name)
{
    const char *value = own_variable(signal, name);
    return value ? value : general_variable(name);
}

/* The variable that counts for a key; NULL: the file does, or nothing. */
static const char *said(const struct sr_link_otlp *l, const char *key, const char *name)
{
    const char *value = own_variable(l->signal, name);
    if (sr_yaml_get(l->own, key))
        return NULL;
    return value || sr_yaml_get(l->shared, key) ? value : general_variable(name);
}

static bool is_word(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

/* ---- pairs ---- */

/* Takes %XX apart, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        int high = *in == '%' ? sr_hex_digit(in[1]) : -1, low = high >= 0 ? sr_hex_digit(in[2]) : -1;
        *out++ = (char)(low >= 0 ? high << 4 | low : *in);
        in += low >= 0 ? 2 : 0;
    }
    *out = '\0';
}

void sr_link_pairs(struct sr_binder *b, struct sr_name_values *pairs, const char *text, const char *from)
{
    struct sr_name_value *items = sr_bind_calloc(b, pairs->count + PAIRS_MAX, sizeof *items);
    size_t written = pairs->count, n = written;
    if (!items)
        return;
    if (written)
        memcpy(items, pairs->items, written * sizeof *items);
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        struct sr_bytes pair = sr_bytes_trim(sr_bytes_of(at, length));
        const char *equals = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
        at += length + (at[length] == ',');
        if (!pair.n)
            continue;
        if (!equals || equals == pair.p || n - written == PAIRS_MAX) {
            sr_bind_warning(b, NULL, "%s: `%.60s` is left out: it is no `name=value`, or one too many", from,
                            pair.p);
            continue;
        }
        struct sr_bytes name = sr_bytes_trim(sr_bytes_of(pair.p, (size_t)(equals - pair.p)));
        bool known = false;
        for (size_t i = 0; i < written && !known; i++)
            known = sr_bytes_eq_nocase(name, sr_bytes_str(items[i].name));
        if (known)
            continue;
        size_t rest = pair.n - (size_t)(equals + 1 - pair.p);
        char *value = sr_bind_calloc(b, rest + 1, 1);
        if (!value)
            return;
        struct sr_bytes trimmed = sr_bytes_trim(sr_bytes_of(equals + 1, rest));
        memcpy(value, trimmed.p, trimmed.n);
        unescape(value);
        items[n++] = (struct sr_name_value){sr_bind_dup(b, name), value};
    }
    *pairs = (struct sr_name_values){items, n};
}

/* ---- where to ---- */

static bool take_scheme(struct sr_bytes *rest, const char *scheme)
{
    struct sr_bytes prefix = sr_bytes_str(scheme);
    if (!sr_bytes_starts_with(*rest, prefix))
        return false;
    *rest = sr_bytes_of(rest->p + prefix.n, rest->n - prefix.n);
    return true;
}

/* The host of `host`, `host:port` or `[address]:port`, and its port. False: it is none. */
static bool split_host(struct sr_binder *b, struct sr_bytes text, struct sr_config_otlp *t)
{
    bool bracket = text.n && text.p[0] == '[';
    const char *close = bracket ? memchr(text.p, ']', text.n) : text.p;
    if (!close)
        return false;
    size_t after = (size_t)(close - text.p);
    const char *colon = memchr(close, ':', text.n - after);
    size_t end = colon ? (size_t)(colon - text.p) : text.n;
    struct sr_bytes host = bracket ? sr_bytes_of(text.p + 1, after - 1) : sr_bytes_of(text.p, end);
    unsigned long long port = 0;
    if (!host.n || (bracket && end != after + 1))
        return false;
    if (colon && (!sr_bytes_to_u64(sr_bytes_of(colon + 1, text.n - end - 1), &port) || !port || port > 65535))
        return false;
    for (size_t i = 0; i < host.n; i++)
        if (host.p[i] <= ' ' || host.p[i] > '~' || strchr("/?#@\"\\", host.p[i]))
            return false;
    t->host = sr_bind_dup(b, host);
    t->port = colon ? (int)port : t->protocol == SR_OTLP_HTTP ? HTTP_PORT : GRPC_PORT;
    return true;
}

/* Without `/v1/traces` or the path of another signal, which may be written for all of them. */
static struct sr_bytes base_of(struct sr_bytes path)
{
    static const char *const known[] = {"/v1/traces", "/v1/metrics"};
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct sr_bytes end = sr_bytes_str(known[i]);
        if (path.n >= end.n && sr_bytes_eq(sr_bytes_of(path.p + path.n - end.n, end.n), end))
            return sr_bytes_of(path.p, path.n - end.n);
    }
    return path;
}

/* `exact`: its path is the whole path, as the variable of one signal means it. */
static bool split_endpoint(const struct sr_link_otlp *l, struct sr_bytes text, bool exact,
                           struct sr_config_otlp *t)
{
    struct sr_bytes rest = text;
    t->tls = take_scheme(&rest, "https://");
    if (!t->tls && !take_scheme(&rest, "http://"))
        t->tls = !t->insecure;
    const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
    size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
    struct sr_bytes path = sr_bytes_of(rest.p + n, rest.n - n);
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] <= ' ' || path.p[i] > '~' || path.p[i] == '#')
            return false;
    if (exact) {
        t->path = path.n ? sr_bind_dup(l->b, path) : "/";
    } else {
        struct sr_bytes base = base_of(path);
        char *whole = sr_bind_calloc(l->b, base.n + strlen(l->path) + 1, 1);
        if (!whole)
            return false;
        if (base.n)
            memcpy(whole, base.p, base.n);
        memcpy(whole + base.n, l->path, strlen(l->path) + 1);
        t->path = whole;
    }
    return split_host(l->b, sr_bytes_of(rest.p, n), t);
}

static void link_protocol(const struct sr_link_otlp *l, struct sr_config_otlp *t)
{
    const char *word = said(l, "protocol", "PROTOCOL");
    if (!word && (sr_yaml_get(l->own, "protocol") || sr_yaml_get(l->shared, "protocol")))
        return;
    if (!word)
        t->protocol =
            t->endpoint[0] || !sr_link_otlp_variable(l->signal, "ENDPOINT") ? SR_OTLP_GRPC : SR_OTLP_HTTP;
    else if (is_word(word, "grpc") || is_word(word, "http/protobuf"))
        t->protocol = is_word(word, "grpc") ? SR_OTLP_GRPC : SR_OTLP_HTTP;
    else
        sr_bind_warning(l->b, NULL,
                        "OTEL_EXPORTER_OTLP_PROTOCOL: `%.40s` is neither `grpc` nor `http/protobuf`", word);
}

static void link_endpoint(const struct sr_link_otlp *l, struct sr_config_otlp *t)
{
    const char *text = t->endpoint;
    bool exact = false;
    link_protocol(l, t);
    if (!text[0]) {
        t->insecure |= sr_link_is_true(sr_link_otlp_variable(l->signal, "INSECURE"));
        exact = t->protocol == SR_OTLP_HTTP && own_variable(l->signal, "ENDPOINT");
        text = sr_link_otlp_variable(l->signal, "ENDPOINT");
    }
    if (!text)
        text = t->protocol == SR_OTLP_HTTP ? "http://localhost:4318" : "http://localhost:4317";
    if (split_endpoint(l, sr_bytes_trim(sr_bytes_str(text)), exact, t) || l->b->rc)
        return;
    sr_bind_error(l->b, l->endpoint,
                  "%s: `%.100s` is no `host:port` and no URL of http or https with a port from 1 to 65535",
                  t->endpoint[0] ? "`endpoint`" : "OTEL_EXPORTER_OTLP_ENDPOINT", text);
}

void sr_link_number(struct sr_binder *b, const char *name, const char *text, uint64_t max, uint64_t *out)
{
    unsigned long long value;
    if (!text)
        return;
    if (sr_bytes_to_u64(sr_bytes_str(text), &value) && value >= 1 && value <= max)
        *out = value;
    else
        sr_bind_warning(b, NULL, "%s: `%.40s` is no number from 1 to %llu", name, text,
                        (unsigned long long)max);
}

static void link_file(const struct sr_link_otlp *l, const char *key, const char *name, const char **out)
{
    const char *text = said(l, key, name);
    if (text)
        *out = sr_bind_dup(l->b, sr_bytes_str(text));
}

void sr_link_otlp(const struct sr_link_otlp *l, struct sr_config_otlp *t)
{
    const struct sr_yaml_node *compression = sr_yaml_get(l->own, "compression");
    const char *coding = said(l, "compression", "COMPRESSION");
    const char *headers = sr_link_otlp_variable(l->signal, "HEADERS");
    link_endpoint(l, t);
    if (!compression && !coding)
        compression = sr_yaml_get(l->shared, "compression");
    t->gzip =
        compression ? sr_bytes_eq(compression->text, SR_LIT("gzip")) : coding && is_word(coding, "gzip");
    sr_link_number(l->b, "OTEL_EXPORTER_OTLP_TIMEOUT", said(l, "timeout_ms", "TIMEOUT"), 600000,
                   &t->timeout_ms);
    link_file(l, "ca_file", "CERTIFICATE", &t->ca_file);
    link_file(l, "cert_file", "CLIENT_CERTIFICATE", &t->cert_file);
    link_file(l, "key_file", "CLIENT_KEY", &t->key_file);
    if (headers)
        sr_link_pairs(l->b, &t->headers, headers, "OTEL_EXPORTER_OTLP_HEADERS");
}
