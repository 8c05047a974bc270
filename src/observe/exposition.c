/*
 * prometheus.io/docs/instrumenting/exposition_formats and the specification of OpenMetrics 1.0. A bound is
 * written as "%g" in both: OpenMetrics recommends "1.0" for 1, which would be another series to queries that
 * were made for the text format.
 */
#include "observe/exposition.h"

#include "base/clock.h"
#include "base/hex.h"
#include "observe/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define QUALITY_ONE 1000

/* ---- which format ---- */

/* A quality of RFC 9110, in thousandths; what is none counts as 1. */
static int quality_of(struct sr_bytes text)
{
    int value = 0, scale = QUALITY_ONE;
    if (!text.n || (text.p[0] != '0' && text.p[0] != '1'))
        return QUALITY_ONE;
    value = (text.p[0] - '0') * QUALITY_ONE;
    for (size_t i = 2; i < text.n && text.p[i] >= '0' && text.p[i] <= '9' && text.p[1] == '.'; i++)
        value += (text.p[i] - '0') * (scale /= 10);
    return value < QUALITY_ONE ? value : QUALITY_ONE;
}

static struct sr_bytes cut(struct sr_bytes *rest, char at)
{
    const char *end = rest->n ? memchr(rest->p, at, rest->n) : NULL;
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    struct sr_bytes part = sr_bytes_of(rest->p, n);
    *rest = sr_bytes_of(rest->p + n + (end != NULL), rest->n - n - (end != NULL));
    return sr_bytes_trim(part);
}

/* Quality of one element of Accept; `known`: its version is one that can be written. */
static int read_parameters(struct sr_bytes rest, bool *known)
{
    int quality = QUALITY_ONE;
    *known = true;
    while (rest.n) {
        struct sr_bytes value = cut(&rest, ';');
        struct sr_bytes name = cut(&value, '=');
        if (value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = sr_bytes_of(value.p + 1, value.n - 2);
        if (sr_bytes_eq_nocase(name, SR_LIT("q")))
            quality = quality_of(value);
        else if (sr_bytes_eq_nocase(name, SR_LIT("version")))
            *known = sr_bytes_eq(value, SR_LIT("1.0.0")) || sr_bytes_eq(value, SR_LIT("0.0.1"));
    }
    return quality;
}

enum sr_exposition sr_exposition_of(struct sr_bytes accept)
{
    int open = 0, text = 0;
    while (accept.n) {
        struct sr_bytes rest = cut(&accept, ',');
        struct sr_bytes type = cut(&rest, ';');
        bool known, is_open = sr_bytes_eq_nocase(type, SR_LIT("application/openmetrics-text"));
        int quality = read_parameters(rest, &known), *best = is_open ? &open : &text;
        if (is_open ? known : sr_bytes_eq_nocase(type, SR_LIT("text/plain")))
            *best = quality > *best ? quality : *best;
    }
    return open && open >= text ? SR_EXPOSITION_OPENMETRICS : SR_EXPOSITION_TEXT;
}

struct sr_bytes sr_exposition_type(enum sr_exposition form)
{
    return form == SR_EXPOSITION_OPENMETRICS
               ? SR_LIT("application/openmetrics-text; version=1.0.0; charset=utf-8")
               : SR_LIT("text/plain; version=0.0.4; charset=utf-8");
}

/* ---- samples ---- */

static int put_number(struct sr_buf *out, double value)
{
    if (isnan(value))
        return sr_buf_printf(out, "NaN");
    if (isinf(value))
        return sr_buf_printf(out, value > 0 ? "+Inf" : "-Inf");
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return sr_buf_printf(out, "%.0f", value);
    char text[32];
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    return sr_buf_append_bytes(out, sr_bytes_str(text));
}

static int put_value(struct sr_buf *out, struct sr_bytes value)
{
    int rc = SR_OK;
    for (size_t i = 0; i < value.n && rc == SR_OK; i++) {
        char c = value.p[i];
        if (c == '\n')
            rc = sr_buf_append(out, "\\n", 2);
        else if (c == '"' || c == '\\')
            rc = sr_buf_append(out, (char[]){'\\', c}, 2);
        else
            rc = sr_buf_append(out, &c, 1);
    }
    return rc;
}

/* {model="m",le="0.5"}; `bound` NULL: no le. Writes nothing when there is no label. */
static int put_labels(struct sr_buf *out, const char *names, const struct sr_series *series,
                      const double *bound)
{
    int rc = SR_OK;
    if (series->n_labels == 0 && !bound)
        return SR_OK;
    for (size_t i = 0; i < series->n_labels && rc == SR_OK; i++) {
        int length = (int)strcspn(names, ",");
        rc = sr_buf_printf(out, "%c%.*s=\"", i ? ',' : '{', length, names);
        if (rc == SR_OK)
            rc = put_value(out, series->labels[i]);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\"", 1);
        names += length + (names[length] == ',');
    }
    if (rc == SR_OK && bound) {
        rc = sr_buf_printf(out, "%cle=\"", series->n_labels ? ',' : '{');
        if (rc == SR_OK)
            rc = isinf(*bound) ? sr_buf_printf(out, "+Inf") : sr_buf_printf(out, "%g", *bound);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\"", 1);
    }
    return rc == SR_OK ? sr_buf_append(out, "}", 1) : rc;
}

/* ` # {trace_id="...",span_id="..."} value time` */
static int put_exemplar(struct sr_buf *out, const struct sr_exemplar *exemplar)
{
    char trace[2 * sizeof exemplar->trace + 1], span[2 * sizeof exemplar->span + 1];
    sr_hex_write(exemplar->trace, sizeof exemplar->trace, trace);
    sr_hex_write(exemplar->span, sizeof exemplar->span, span);
    int rc = sr_buf_printf(out, " # {trace_id=\"%s\",span_id=\"%s\"} ", trace, span);
    if (rc == SR_OK)
        rc = put_number(out, exemplar->value);
    return rc == SR_OK
               ? sr_buf_printf(out, " %llu.%03llu", (unsigned long long)(exemplar->at_ns / SR_NS_PER_S),
                               (unsigned long long)(exemplar->at_ns % SR_NS_PER_S / SR_NS_PER_MS))
               : rc;
}

/* One line; `exemplar` NULL: without. */
static int put_sample(struct sr_buf *out, const struct sr_metric_description *what, const char *suffix,
                      const struct sr_series *series, const double *bound, double value,
                      const struct sr_exemplar *exemplar)
{
    int rc = sr_buf_printf(out, "%s%s", what->name, suffix);
    if (rc == SR_OK)
        rc = put_labels(out, what->labels, series, bound);
    if (rc == SR_OK)
        rc = sr_buf_append(out, " ", 1);
    if (rc == SR_OK)
        rc = put_number(out, value);
    if (rc == SR_OK && exemplar && exemplar->at_ns)
        rc = put_exemplar(out, exemplar);
    return rc == SR_OK ? sr_buf_append(out, "\n", 1) : rc;
}

static int put_histogram(struct sr_buf *out, const struct sr_metric_description *what,
                         enum sr_exposition form, const struct sr_series *series)
{
    int rc = SR_OK;
    uint64_t count = 0;
    for (size_t i = 0; i < series->n_buckets && rc == SR_OK; i++) {
        double bound = i < what->n_bounds ? what->bounds[i] : INFINITY;
        const struct sr_exemplar *exemplar = &series->exemplars[i];
        count += series->buckets[i];
        rc = put_sample(out, what, "_bucket", series, &bound, (double)count,
                        form == SR_EXPOSITION_OPENMETRICS ? exemplar : NULL);
    }
    if (rc == SR_OK)
        rc = put_sample(out, what, "_sum", series, NULL, series->value, NULL);
    return rc == SR_OK ? put_sample(out, what, "_count", series, NULL, (double)series->count, NULL) : rc;
}

/* ---- families ---- */

/* OpenMetrics names a family of counters without the `_total` of its samples. */
static int put_head(struct sr_buf *out, enum sr_exposition form, const char *name, const char *help,
                    enum sr_series_kind kind)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    static const char total[] = "_total";
    int n = (int)strlen(name), rest = n - (int)(sizeof total - 1);
    if (form == SR_EXPOSITION_OPENMETRICS && kind == SR_SERIES_COUNTER && rest > 0 &&
        strcmp(name + rest, total) == 0)
        n = rest;
    return sr_buf_printf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", n, name, help, n, name, kinds[kind]);
}

int sr_expose_metrics(const struct sr_metrics *metrics, enum sr_exposition form, struct sr_buf *out)
{
    struct sr_series series;
    int rc = SR_OK;
    for (int id = 0; id < SR_METRICS && rc == SR_OK; id++) {
        const struct sr_metric_description *what = sr_metrics_describe((enum sr_metric)id);
        size_t n = sr_metrics_count(metrics, (enum sr_metric)id);
        if (n)
            rc = put_head(out, form, what->name, what->help, what->kind);
        for (size_t i = 0; i < n && rc == SR_OK; i++) {
            sr_metrics_read(metrics, (enum sr_metric)id, i, &series);
            rc = what->kind == SR_SERIES_HISTOGRAM
                     ? put_histogram(out, what, form, &series)
                     : put_sample(out, what, "", &series, NULL, series.value, NULL);
        }
    }
    return rc;
}

int sr_expose_process(enum sr_exposition form, struct sr_buf *out)
{
    struct sr_process_value values[SR_PROCESS_VALUES];
    size_t n = sr_process_read(values);
    int rc = SR_OK;
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        rc = put_head(out, form, values[i].name, values[i].help,
                      values[i].counts ? SR_SERIES_COUNTER : SR_SERIES_GAUGE);
        if (rc == SR_OK)
            rc = sr_buf_printf(out, "%s %.17g\n", values[i].name, values[i].value);
    }
    return rc;
}

int sr_expose_end(enum sr_exposition form, struct sr_buf *out)
{
    return form == SR_EXPOSITION_OPENMETRICS ? sr_buf_printf(out, "# EOF\n") : SR_OK;
}
