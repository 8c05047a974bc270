/*
 * What the file says comes first; a variable counts where it says nothing. Names and meanings of the
 * variables: opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables and
 * .../protocol/exporter. Those of one signal (OTEL_EXPORTER_OTLP_TRACES_*) come before the general ones.
 */
#include "config/link/tracing.h"

#include <stdio.h>
#include <stdlib.h>

#define GRPC_PORT   4317
#define HTTP_PORT   4318
#define TRACES_PATH "/v1/traces"
#define PAIRS_MAX   64

/* The two mappings of the file; each may be NULL. */
struct written {
    const struct sr_yaml_node *peer, *own;
};

static bool is_written(const struct sr_yaml_node *map, const char *key)
{
    return sr_yaml_get(map, key) != NULL;
}

/* NULL: unset or empty, which means the same. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

static const char *export_variable(const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "OTEL_EXPORTER_OTLP_TRACES_%s", name);
    const char *value = variable(full);
    if (value)
        return value;
    snprintf(full, sizeof full, "OTEL_EXPORTER_OTLP_%s", name);
    return variable(full);
}

static bool is_true(const char *value)
{
    return value && sr_bytes_eq_nocase(sr_bytes_str(value), SR_LIT("true"));
}

static bool is_word(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

/* ---- pairs ---- */

static int hex(char c)
{
    c = sr_ascii_lower(c);
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes %XX apart, in place. */
static void unescape(char *text)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        int high = *in == '%' ? hex(in[1]) : -1, low = high >= 0 ? hex(in[2]) : -1;
        *out++ = (char)(low >= 0 ? high << 4 | low : *in);
        in += low >= 0 ? 2 : 0;
    }
    *out = '\0';
}

/* Adds `name=value,name=value` to pairs; names that are there stay. */
static void add_pairs(struct sr_binder *b, struct sr_name_values *pairs, const char *text, const char *from)
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
static bool split_host(struct sr_binder *b, struct sr_bytes text, struct sr_config_tracing *t)
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
    t->port = colon ? (int)port : t->protocol == SR_TRACING_HTTP ? HTTP_PORT : GRPC_PORT;
    return true;
}

/* `exact`: its path is the whole path, as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT means it. */
static bool split_endpoint(struct sr_binder *b, struct sr_bytes text, bool exact, struct sr_config_tracing *t)
{
    struct sr_bytes rest = text;
    t->tls = take_scheme(&rest, "https://");
    if (!t->tls && !take_scheme(&rest, "http://"))
        t->tls = !t->insecure;
    const char *slash = rest.n ? memchr(rest.p, '/', rest.n) : NULL;
    size_t n = slash ? (size_t)(slash - rest.p) : rest.n;
    struct sr_bytes path = sr_bytes_of(rest.p + n, rest.n - n);
    while (path.n && !exact && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = 0; i < path.n; i++)
        if (path.p[i] <= ' ' || path.p[i] > '~' || path.p[i] == '#')
            return false;
    const char *base = sr_bind_dup(b, path);
    size_t at = path.n >= strlen(TRACES_PATH) ? path.n - strlen(TRACES_PATH) : 0;
    if (exact || (path.n && is_word(base + at, TRACES_PATH))) {
        t->path = base[0] ? base : "/";
    } else {
        char *whole = sr_bind_calloc(b, path.n + sizeof TRACES_PATH, 1);
        if (!whole)
            return false;
        memcpy(whole, base, path.n);
        memcpy(whole + path.n, TRACES_PATH, sizeof TRACES_PATH);
        t->path = whole;
    }
    return split_host(b, sr_bytes_of(rest.p, n), t);
}

static void link_protocol(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const char *word = export_variable("PROTOCOL");
    if (is_written(w->own, "protocol"))
        return;
    if (!word)
        t->protocol = t->endpoint[0] || !export_variable("ENDPOINT") ? SR_TRACING_GRPC : SR_TRACING_HTTP;
    else if (is_word(word, "grpc") || is_word(word, "http/protobuf"))
        t->protocol = is_word(word, "grpc") ? SR_TRACING_GRPC : SR_TRACING_HTTP;
    else
        sr_bind_warning(b, NULL, "OTEL_EXPORTER_OTLP_PROTOCOL: `%.40s` is neither `grpc` nor `http/protobuf`",
                        word);
}

static void link_endpoint(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const struct sr_yaml_node *node = sr_yaml_get(sr_yaml_get(w->peer, "exporter"), "endpoint");
    const char *text = t->endpoint;
    bool exact = false;
    link_protocol(b, w, t);
    if (!text[0]) {
        t->insecure |= is_true(export_variable("INSECURE"));
        exact = t->protocol == SR_TRACING_HTTP && variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        text = export_variable("ENDPOINT");
    }
    if (!text)
        text = t->protocol == SR_TRACING_HTTP ? "http://localhost:4318" : "http://localhost:4317";
    if (split_endpoint(b, sr_bytes_trim(sr_bytes_str(text)), exact, t) || b->rc)
        return;
    sr_bind_error(b, node,
                  "%s: `%.100s` is no `host:port` and no URL of http or https with a port from 1 to 65535",
                  node ? "`endpoint`" : "OTEL_EXPORTER_OTLP_ENDPOINT", text);
}

static void link_number(struct sr_binder *b, const char *name, const char *text, uint64_t max, uint64_t *out)
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

static void link_file(struct sr_binder *b, const struct sr_yaml_node *own, const char *key, const char *name,
                      const char **out)
{
    const char *text = export_variable(name);
    if (text && !is_written(own, key))
        *out = sr_bind_dup(b, sr_bytes_str(text));
}

static void link_export(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const struct sr_yaml_node *compression = sr_yaml_get(w->own, "compression");
    const char *variable_of = export_variable("COMPRESSION"), *headers = export_variable("HEADERS");
    uint64_t batch = (uint64_t)t->batch;
    link_endpoint(b, w, t);
    t->gzip = compression ? sr_bytes_eq(compression->text, SR_LIT("gzip"))
                          : variable_of && is_word(variable_of, "gzip");
    if (!is_written(w->own, "timeout_ms"))
        link_number(b, "OTEL_EXPORTER_OTLP_TIMEOUT", export_variable("TIMEOUT"), 600000, &t->timeout_ms);
    if (!is_written(w->own, "delay_ms"))
        link_number(b, "OTEL_BSP_SCHEDULE_DELAY", variable("OTEL_BSP_SCHEDULE_DELAY"), 600000, &t->delay_ms);
    if (!is_written(w->own, "batch"))
        link_number(b, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), 65536,
                    &batch);
    t->batch = (int)batch;
    link_file(b, w->own, "ca_file", "CERTIFICATE", &t->ca_file);
    link_file(b, w->own, "cert_file", "CLIENT_CERTIFICATE", &t->cert_file);
    link_file(b, w->own, "key_file", "CLIENT_KEY", &t->key_file);
    if (headers)
        add_pairs(b, &t->headers, headers, "OTEL_EXPORTER_OTLP_HEADERS");
}

/* ---- which ---- */

/* The ratio that a sampler of OTEL_TRACES_SAMPLER begins traces with; negative: it is none. */
static double ratio_of(const char *sampler)
{
    const char *argument = variable("OTEL_TRACES_SAMPLER_ARG");
    char *end = NULL;
    if (is_word(sampler, "always_on"))
        return 1;
    if (is_word(sampler, "always_off"))
        return 0;
    if (!is_word(sampler, "traceidratio"))
        return -1;
    double ratio = argument ? strtod(argument, &end) : 1;
    return argument && (end == argument || *end || !(ratio >= 0 && ratio <= 1)) ? -1 : ratio;
}

static void link_sampler(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    static const struct sr_bytes prefix = {"parentbased_", sizeof "parentbased_" - 1};
    const char *sampler = variable("OTEL_TRACES_SAMPLER");
    if (t->sampling[0]) {
        t->rate = is_word(t->sampling, "probabilistic") ? t->rate : is_word(t->sampling, "always_on");
        return;
    }
    t->rate = 1;
    if (!sampler)
        return;
    bool parent_based = sr_bytes_starts_with(sr_bytes_str(sampler), prefix);
    double ratio = ratio_of(sampler + (parent_based ? prefix.n : 0));
    if (ratio < 0) {
        sr_bind_warning(b, NULL, "OTEL_TRACES_SAMPLER: `%.40s` with its argument is no sampler: all are kept",
                        sampler);
        return;
    }
    t->rate = ratio;
    if (!is_written(w->own, "parent_based"))
        t->parent_based = parent_based;
}

/* ---- all ---- */

static void link_enabled(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const struct sr_yaml_node *type = sr_yaml_get(sr_yaml_get(w->peer, "exporter"), "type");
    const char *exporter = variable("OTEL_TRACES_EXPORTER");
    bool off = exporter && is_word(exporter, "none");
    if (!is_written(w->peer, "enabled"))
        t->enabled = export_variable("ENDPOINT") && !off;
    t->enabled &= !is_true(variable("OTEL_SDK_DISABLED"));
    if (t->enabled && type && sr_bytes_eq(type->text, SR_LIT("stdout"))) {
        sr_bind_warning(b, type,
                        "`stdout`: spans are sent to collectors only, so there are none; the access "
                        "log has a line for each request");
        t->enabled = false;
    }
}

void sr_link_tracing(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *services = sr_yaml_get(global, "services");
    struct sr_config_tracing *t = &config->global.tracing;
    struct written w = {.peer = sr_yaml_get(sr_yaml_get(services, "observability"), "tracing"),
                        .own = sr_yaml_get(sr_yaml_get(global, "semroute"), "tracing")};
    const char *name = variable("OTEL_SERVICE_NAME"), *attributes = variable("OTEL_RESOURCE_ATTRIBUTES");
    link_enabled(b, &w, t);
    link_sampler(b, &w, t);
    link_export(b, &w, t);
    if (attributes)
        add_pairs(b, &t->attributes, attributes, "OTEL_RESOURCE_ATTRIBUTES");
    if (!t->service_name[0] && name)
        t->service_name = sr_bind_dup(b, sr_bytes_str(name));
}
