/*
 * A length stands before its bytes, so points, metrics and the whole are written one into the other. Numbers
 * of fields: opentelemetry/proto/metrics/v1/metrics.proto and common/v1/common.proto.
 */
#include "serve/otlp/points.h"

#include "base/mem.h"
#include "observe/process.h"
#include "trace/wire.h"

#define POINT_MAX  ((size_t)1 << 20)
#define METRIC_MAX ((size_t)64 << 20)
#define METRICS    (SR_METRICS + SR_PROCESS_VALUES) /* of the table, then of the process */

enum {
    SCOPE_METRICS = 2,
    METRIC_NAME = 1,
    METRIC_DESCRIPTION = 2,
    METRIC_UNIT = 3,
    METRIC_GAUGE = 5,
    METRIC_SUM = 7,
    METRIC_HISTOGRAM = 9,
    DATA_POINTS = 1,
    DATA_TEMPORALITY = 2,
    SUM_MONOTONIC = 3,
    POINT_START = 2,
    POINT_TIME = 3,
    NUMBER_VALUE = 4,
    NUMBER_ATTRIBUTES = 7,
    HISTOGRAM_COUNT = 4,
    HISTOGRAM_SUM = 5,
    HISTOGRAM_BUCKETS = 6,
    HISTOGRAM_BOUNDS = 7,
    HISTOGRAM_EXEMPLARS = 8,
    HISTOGRAM_ATTRIBUTES = 9,
    EXEMPLAR_TIME = 2,
    EXEMPLAR_VALUE = 3,
    EXEMPLAR_SPAN = 4,
    EXEMPLAR_TRACE = 5,
    KEY = 1,
    VALUE = 2,
    VALUE_TEXT = 1,
};

enum { TEMPORALITY_DELTA = 1, TEMPORALITY_CUMULATIVE = 2 };

/* What a series was when it was taken, and when it was written last. */
struct before {
    uint64_t hash;
    double value, new_value;
    uint64_t buckets[SR_METRICS_MAX_BUCKETS], new_buckets[SR_METRICS_MAX_BUCKETS];
};

struct sent {
    struct before *rows; /* in the order of the series, as far as they were written; of deltas only */
    size_t n, capacity;
    uint64_t taken_ns, new_ns; /* of the last export that was taken; of the one that is written; 0: none */
};

struct sr_otlp_points {
    bool delta;
    struct sr_buf point, metric;
    struct sent sent[METRICS];
};

/* A metric on its way into bytes. */
struct writer {
    struct sr_otlp_points *points;
    struct sent *sent;
    const struct sr_metric_description *what;
    uint64_t since_ns, now_ns;
    size_t n; /* points */
};

/* ---- deltas ---- */

/* The row of a series; a new one is zero. NULL when out of memory. */
static struct before *before_of(struct sent *sent, const struct sr_series *series, size_t at)
{
    if (at < sent->n && sent->rows[at].hash == series->hash)
        return &sent->rows[at];
    for (size_t i = 0; i < sent->n; i++)
        if (sent->rows[i].hash == series->hash)
            return &sent->rows[i];
    if (sent->n == sent->capacity) {
        size_t capacity = sent->capacity ? 2 * sent->capacity : 8;
        struct before *rows = sr_mem_realloc(sent->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        sent->rows = rows;
        sent->capacity = capacity;
    }
    sent->rows[sent->n] = (struct before){.hash = series->hash};
    return &sent->rows[sent->n++];
}

/* A series that began again counts from zero. Returns whether anything is new. */
static bool subtract(struct before *before, struct sr_series *series)
{
    bool again = series->value < before->value;
    double value = again ? 0 : before->value;
    bool changed = series->value > value;
    before->new_value = series->value;
    series->value -= value;
    series->count = 0;
    for (size_t i = 0; i < series->n_buckets; i++) {
        uint64_t now = series->buckets[i], old = now < before->buckets[i] ? 0 : before->buckets[i];
        before->new_buckets[i] = now;
        series->buckets[i] = now - old;
        series->count += now - old;
        changed |= now > old;
    }
    return changed;
}

/* ---- points ---- */

static int put_real(struct sr_buf *out, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return sr_wire_fixed64(out, field, bits);
}

static int put_attributes(struct sr_buf *out, unsigned field, const char *names,
                          const struct sr_series *series)
{
    int rc = SR_OK;
    for (size_t i = 0; i < series->n_labels && !rc; i++) {
        struct sr_bytes name = sr_bytes_of(names, strcspn(names, ","));
        size_t value = sr_wire_bytes_size(VALUE_TEXT, series->labels[i].n);
        rc = sr_wire_head(out, field, sr_wire_bytes_size(KEY, name.n) + sr_wire_bytes_size(VALUE, value));
        if (!rc)
            rc = sr_wire_bytes(out, KEY, name);
        if (!rc)
            rc = sr_wire_head(out, VALUE, value);
        if (!rc)
            rc = sr_wire_bytes(out, VALUE_TEXT, series->labels[i]);
        names += name.n + (names[name.n] == ',');
    }
    return rc;
}

static int put_times(const struct writer *w, struct sr_buf *out)
{
    uint64_t since = w->points->delta && w->sent->taken_ns ? w->sent->taken_ns : w->since_ns;
    int rc = w->what->kind == SR_SERIES_GAUGE ? SR_OK : sr_wire_fixed64(out, POINT_START, since);
    return rc ? rc : sr_wire_fixed64(out, POINT_TIME, w->now_ns);
}

static int put_number(const struct writer *w, struct sr_buf *out, const struct sr_series *series)
{
    int rc = put_times(w, out);
    if (!rc)
        rc = put_real(out, NUMBER_VALUE, series->value);
    return rc ? rc : put_attributes(out, NUMBER_ATTRIBUTES, w->what->labels, series);
}

static int put_exemplar(struct sr_buf *out, const struct sr_exemplar *e)
{
    enum { FIXED = 9 }; /* bytes of a field of 64 bits */
    size_t n = 2 * FIXED + sr_wire_bytes_size(EXEMPLAR_SPAN, sizeof e->span) +
               sr_wire_bytes_size(EXEMPLAR_TRACE, sizeof e->trace);
    int rc = sr_wire_head(out, HISTOGRAM_EXEMPLARS, n);
    if (!rc)
        rc = sr_wire_fixed64(out, EXEMPLAR_TIME, e->at_ns);
    if (!rc)
        rc = put_real(out, EXEMPLAR_VALUE, e->value);
    if (!rc)
        rc = sr_wire_bytes(out, EXEMPLAR_SPAN, sr_bytes_of(e->span, sizeof e->span));
    return rc ? rc : sr_wire_bytes(out, EXEMPLAR_TRACE, sr_bytes_of(e->trace, sizeof e->trace));
}

/* Eight bytes each, the lowest first. */
static int put_packed(struct sr_buf *out, unsigned field, const uint64_t *values, size_t n)
{
    int rc = sr_wire_head(out, field, 8 * n);
    for (size_t i = 0; i < n && !rc; i++) {
        uint8_t bytes[8];
        for (int k = 0; k < 8; k++)
            bytes[k] = (uint8_t)(values[i] >> 8 * k);
        rc = sr_buf_append(out, bytes, sizeof bytes);
    }
    return rc;
}

static int put_histogram(const struct writer *w, struct sr_buf *out, const struct sr_series *series)
{
    uint64_t bounds[SR_METRICS_MAX_BUCKETS];
    if (w->what->n_bounds)
        memcpy(bounds, w->what->bounds, w->what->n_bounds * sizeof bounds[0]);
    int rc = put_times(w, out);
    if (!rc)
        rc = sr_wire_fixed64(out, HISTOGRAM_COUNT, series->count);
    if (!rc)
        rc = put_real(out, HISTOGRAM_SUM, series->value);
    if (!rc)
        rc = put_packed(out, HISTOGRAM_BUCKETS, series->buckets, series->n_buckets);
    if (!rc)
        rc = put_packed(out, HISTOGRAM_BOUNDS, bounds, w->what->n_bounds);
    for (size_t i = 0; i < series->n_buckets && !rc; i++)
        if (series->exemplars[i].at_ns > w->sent->taken_ns)
            rc = put_exemplar(out, &series->exemplars[i]);
    return rc ? rc : put_attributes(out, HISTOGRAM_ATTRIBUTES, w->what->labels, series);
}

static int put_point(struct writer *w, struct sr_series *series, size_t at)
{
    struct sr_otlp_points *points = w->points;
    bool is_histogram = w->what->kind == SR_SERIES_HISTOGRAM;
    if (points->delta && w->what->kind != SR_SERIES_GAUGE) {
        struct before *before = before_of(w->sent, series, at);
        if (!before)
            return SR_ENOMEM;
        if (!subtract(before, series))
            return SR_OK;
    }
    sr_buf_clear(&points->point);
    int rc = is_histogram ? put_histogram(w, &points->point, series) : put_number(w, &points->point, series);
    if (rc)
        return rc;
    w->n++;
    return sr_wire_bytes(&points->metric, DATA_POINTS, sr_buf_view(&points->point));
}

/* ---- metrics ---- */

/* As UCUM writes it; "" where the name does not end with one. */
static const char *unit_of(const char *name)
{
    static const char *const units[][2] = {{"_seconds", "s"}, {"_bytes", "By"}, {"_ratio", "1"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(name), end = strlen(units[i][0]);
        if (n > end && strcmp(name + n - end, units[i][0]) == 0)
            return units[i][1];
    }
    return "";
}

static void begin(struct writer *w, struct sr_otlp_points *points, int number, uint64_t now_ns)
{
    w->points = points;
    w->sent = &points->sent[number];
    w->sent->new_ns = now_ns;
    w->now_ns = now_ns;
    w->n = 0;
    sr_buf_clear(&points->metric);
}

/* The points are in `metric`. */
static int end(struct writer *w, struct sr_buf *out)
{
    static const unsigned fields[] = {[SR_SERIES_COUNTER] = METRIC_SUM,
                                      [SR_SERIES_GAUGE] = METRIC_GAUGE,
                                      [SR_SERIES_HISTOGRAM] = METRIC_HISTOGRAM};
    struct sr_buf *data = &w->points->metric;
    struct sr_bytes name = sr_bytes_str(w->what->name), help = sr_bytes_str(w->what->help);
    struct sr_bytes unit = sr_bytes_str(unit_of(w->what->name));
    unsigned field = fields[w->what->kind];
    int rc = SR_OK;
    if (!w->n)
        return SR_OK;
    if (w->what->kind != SR_SERIES_GAUGE)
        rc = sr_wire_varint(data, DATA_TEMPORALITY,
                            w->points->delta ? TEMPORALITY_DELTA : TEMPORALITY_CUMULATIVE);
    if (!rc && w->what->kind == SR_SERIES_COUNTER)
        rc = sr_wire_varint(data, SUM_MONOTONIC, true);
    if (!rc)
        rc = sr_wire_head(out, SCOPE_METRICS,
                          sr_wire_bytes_size(METRIC_NAME, name.n) +
                              sr_wire_bytes_size(METRIC_DESCRIPTION, help.n) +
                              sr_wire_bytes_size(METRIC_UNIT, unit.n) + sr_wire_bytes_size(field, data->len));
    if (!rc)
        rc = sr_wire_bytes(out, METRIC_NAME, name);
    if (!rc)
        rc = sr_wire_bytes(out, METRIC_DESCRIPTION, help);
    if (!rc)
        rc = sr_wire_bytes(out, METRIC_UNIT, unit);
    return rc ? rc : sr_wire_bytes(out, field, sr_buf_view(data));
}

static int put_metric(struct sr_otlp_points *points, const struct sr_metrics *metrics, int number,
                      uint64_t now_ns, struct sr_buf *out)
{
    struct writer w = {.what = sr_metrics_describe((enum sr_metric)number),
                       .since_ns = sr_metrics_since(metrics)};
    struct sr_series series;
    int rc = SR_OK;
    begin(&w, points, number, now_ns);
    size_t n = sr_metrics_count(metrics, (enum sr_metric)number);
    for (size_t i = 0; i < n && !rc; i++) {
        sr_metrics_read(metrics, (enum sr_metric)number, i, &series);
        rc = put_point(&w, &series, i);
    }
    return rc ? rc : end(&w, out);
}

static int put_process(struct sr_otlp_points *points, const struct sr_metrics *metrics, uint64_t now_ns,
                       struct sr_buf *out)
{
    struct sr_process_value values[SR_PROCESS_VALUES];
    size_t n = sr_process_read(values);
    int rc = SR_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        struct sr_metric_description what = {.kind = values[i].counts ? SR_SERIES_COUNTER : SR_SERIES_GAUGE,
                                             .name = values[i].name,
                                             .help = values[i].help,
                                             .labels = ""};
        struct sr_series series = {.value = values[i].value};
        struct writer w = {.what = &what, .since_ns = sr_metrics_since(metrics)};
        begin(&w, points, SR_METRICS + (int)i, now_ns);
        rc = put_point(&w, &series, 0);
        if (!rc)
            rc = end(&w, out);
    }
    return rc;
}

int sr_otlp_points_write(struct sr_otlp_points *points, const struct sr_metrics *metrics, uint64_t now_ns,
                         size_t enough, int *next, struct sr_buf *out)
{
    size_t begun = out->len;
    for (int i = 0; i < METRICS; i++)
        points->sent[i].new_ns = 0;
    for (; *next < SR_METRICS; ++*next) {
        if (out->len - begun >= enough)
            return SR_OK;
        int rc = put_metric(points, metrics, *next, now_ns, out);
        if (rc)
            return rc;
    }
    *next = SR_OTLP_POINTS_END;
    return put_process(points, metrics, now_ns, out);
}

void sr_otlp_points_taken(struct sr_otlp_points *points)
{
    for (int i = 0; i < METRICS; i++) {
        struct sent *sent = &points->sent[i];
        if (!sent->new_ns)
            continue;
        sent->taken_ns = sent->new_ns;
        for (size_t k = 0; k < sent->n; k++) {
            struct before *row = &sent->rows[k];
            row->value = row->new_value;
            memcpy(row->buckets, row->new_buckets, sizeof row->buckets);
        }
    }
}

int sr_otlp_points_new(struct sr_otlp_points **out, bool delta)
{
    struct sr_otlp_points *points = *out = sr_mem_calloc(1, sizeof *points);
    if (!points)
        return SR_ENOMEM;
    points->delta = delta;
    sr_buf_init(&points->point, POINT_MAX);
    sr_buf_init(&points->metric, METRIC_MAX);
    return SR_OK;
}

void sr_otlp_points_free(struct sr_otlp_points *points)
{
    if (!points)
        return;
    for (int i = 0; i < METRICS; i++)
        sr_mem_free(points->sent[i].rows);
    sr_buf_dispose(&points->point);
    sr_buf_dispose(&points->metric);
    sr_mem_free(points);
}
