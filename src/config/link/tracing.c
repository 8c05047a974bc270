/*
 * What the file says comes first; a variable counts where it says nothing. Names and meanings of the
 * variables: opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables.
 */
#include "config/link/tracing.h"

#include "config/link/otlp.h"

#include <stdlib.h>

#define SIGNAL       "TRACES"
#define BATCH_MAX    65536
#define MS_MAX       600000
#define INTERVAL_MAX 86400000

/* The two mappings of the file; each may be NULL. */
struct written {
    const struct sr_yaml_node *peer, *own;
};

static bool is_written(const struct sr_yaml_node *map, const char *key)
{
    return sr_yaml_get(map, key) != NULL;
}

static bool is_word(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

static void link_export(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const struct sr_link_otlp link = {.b = b,
                                      .signal = SIGNAL,
                                      .path = "/v1/traces",
                                      .own = w->own,
                                      .endpoint = sr_yaml_get(sr_yaml_get(w->peer, "exporter"), "endpoint")};
    uint64_t batch = (uint64_t)t->batch;
    sr_link_otlp(&link, &t->to);
    if (!is_written(w->own, "delay_ms"))
        sr_link_number(b, "OTEL_BSP_SCHEDULE_DELAY", sr_link_variable("OTEL_BSP_SCHEDULE_DELAY"), MS_MAX,
                       &t->delay_ms);
    if (!is_written(w->own, "batch"))
        sr_link_number(b, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
                       sr_link_variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), BATCH_MAX, &batch);
    t->batch = (int)batch;
}

/* ---- which ---- */

/* The ratio that a sampler of OTEL_TRACES_SAMPLER begins traces with; negative: it is none. */
static double ratio_of(const char *sampler)
{
    const char *argument = sr_link_variable("OTEL_TRACES_SAMPLER_ARG");
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
    const char *sampler = sr_link_variable("OTEL_TRACES_SAMPLER");
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

/* ---- metrics ---- */

/* Whether a list of exporters, as `otlp,prometheus`, has `word`. */
static bool lists(const char *list, const char *word)
{
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (sr_bytes_eq(sr_bytes_trim(sr_bytes_of(at, strcspn(at, ","))), sr_bytes_str(word)))
            return true;
    return false;
}

static bool is_delta(struct sr_binder *b, const struct sr_yaml_node *own)
{
    const char *name = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE";
    const struct sr_yaml_node *written = sr_yaml_get(own, "temporality");
    const char *word = sr_link_variable(name);
    if (written)
        return sr_bytes_eq(written->text, SR_LIT("delta"));
    struct sr_bytes text = sr_bytes_str(word);
    bool delta = sr_bytes_eq_nocase(text, SR_LIT("delta")) || sr_bytes_eq_nocase(text, SR_LIT("lowmemory"));
    if (word && !delta && !sr_bytes_eq_nocase(text, SR_LIT("cumulative")))
        sr_bind_warning(b, NULL, "%s: `%.40s` is none of `cumulative`, `delta` and `lowmemory`", name, word);
    return delta;
}

/* What the file says of the collector of traces is true of metrics that have no endpoint of their own; only
 * then, so that no other collector gets its headers. */
static void inherit(const struct sr_yaml_node *own, const struct sr_config_otlp *traces,
                    struct sr_config_otlp *to)
{
    struct sr_config_otlp mine = *to;
    *to = *traces;
    if (is_written(own, "protocol"))
        to->protocol = mine.protocol;
    if (is_written(own, "headers"))
        to->headers = mine.headers;
    if (is_written(own, "timeout_ms"))
        to->timeout_ms = mine.timeout_ms;
    if (is_written(own, "ca_file"))
        to->ca_file = mine.ca_file;
    if (is_written(own, "cert_file"))
        to->cert_file = mine.cert_file;
    if (is_written(own, "key_file"))
        to->key_file = mine.key_file;
    to->insecure |= mine.insecure;
}

/* `traces`: their collector, as the file has it. */
static void link_metrics(struct sr_binder *b, const struct written *w, const struct sr_yaml_node *own,
                         const struct sr_config_otlp *traces, struct sr_config_metrics_export *m)
{
    const char *exporter = sr_link_variable("OTEL_METRICS_EXPORTER");
    const char *endpoint = sr_link_variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
    struct sr_link_otlp link = {.b = b, .signal = "METRICS", .path = "/v1/metrics", .own = own};
    link.endpoint = sr_yaml_get(own, "endpoint");
    if (!m->to.endpoint[0] && !endpoint) {
        link.shared = w->own;
        link.endpoint = sr_yaml_get(sr_yaml_get(w->peer, "exporter"), "endpoint");
        inherit(own, traces, &m->to);
    }
    if (!is_written(own, "enabled"))
        m->enabled = exporter ? lists(exporter, "otlp") : endpoint != NULL;
    m->enabled &= !sr_link_is_true(sr_link_variable("OTEL_SDK_DISABLED"));
    if (m->enabled || m->to.endpoint[0])
        sr_link_otlp(&link, &m->to);
    if (!is_written(own, "interval_ms"))
        sr_link_number(b, "OTEL_METRIC_EXPORT_INTERVAL", sr_link_variable("OTEL_METRIC_EXPORT_INTERVAL"),
                       INTERVAL_MAX, &m->interval_ms);
    m->delta = is_delta(b, own);
}

/* ---- all ---- */

static void link_enabled(struct sr_binder *b, const struct written *w, struct sr_config_tracing *t)
{
    const struct sr_yaml_node *type = sr_yaml_get(sr_yaml_get(w->peer, "exporter"), "type");
    const char *exporter = sr_link_variable("OTEL_TRACES_EXPORTER");
    bool off = exporter && is_word(exporter, "none");
    if (!is_written(w->peer, "enabled"))
        t->enabled = sr_link_otlp_variable(SIGNAL, "ENDPOINT") && !off;
    t->enabled &= !sr_link_is_true(sr_link_variable("OTEL_SDK_DISABLED"));
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
    struct sr_config_otlp file = t->to;
    struct written w = {.peer = sr_yaml_get(sr_yaml_get(services, "observability"), "tracing"),
                        .own = sr_yaml_get(sr_yaml_get(global, "semroute"), "tracing")};
    const char *name = sr_link_variable("OTEL_SERVICE_NAME"),
               *attributes = sr_link_variable("OTEL_RESOURCE_ATTRIBUTES");
    link_enabled(b, &w, t);
    link_sampler(b, &w, t);
    link_export(b, &w, t);
    if (attributes)
        sr_link_pairs(b, &t->attributes, attributes, "OTEL_RESOURCE_ATTRIBUTES");
    if (!t->service_name[0] && name)
        t->service_name = sr_bind_dup(b, sr_bytes_str(name));
    link_metrics(b, &w, sr_yaml_get(sr_yaml_get(global, "semroute"), "metrics_export"), &file,
                 &config->global.metrics_export);
}
