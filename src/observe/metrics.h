/*
 * Metrics: counters, gauges and histograms, names as dashboards expect them.
 *
 * observe/metrics_list.h declares every metric with its kind, help, labels and buckets; the enum below
 * indexes it. Series appear when first used (series without labels from the start). Label values are bounded
 * in length and number: past SR_METRICS_MAX_SERIES of one metric new label sets are counted under "other".
 * Opens no socket and writes no format (exposition.h). Thread-safe; an update of a known series takes no
 * lock.
 */
#ifndef SR_OBSERVE_METRICS_H
#define SR_OBSERVE_METRICS_H

#include "base/buf.h"
#include "observe/metrics_list.h"

enum sr_metric {
#define SR_METRIC_ENUM(id, kind, name, help, labels, buckets) SR_METRIC_##id,
    SR_METRIC_LIST(SR_METRIC_ENUM)
#undef SR_METRIC_ENUM
        SR_METRICS
};

#define SR_METRICS_MAX_LABELS  5
#define SR_METRICS_MAX_SERIES  512
#define SR_METRICS_MAX_VALUE   128 /* bytes of a label value; longer ones are cut */
#define SR_METRICS_MAX_BUCKETS 24  /* of a histogram, that of +Inf included */

struct sr_metrics;
int sr_metrics_new(struct sr_metrics **out) SR_WARN_UNUSED;
void sr_metrics_free(struct sr_metrics *metrics);

/* `labels`: one value per label of the metric, in its order; an empty value reads "unknown". NULL `metrics`
 * is allowed and does nothing. Counters take an increment >= 0, gauges a change, histograms an observation.
 */
void sr_metrics_add(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels);

/* Gauges: sets the value. */
void sr_metrics_set(struct sr_metrics *metrics, enum sr_metric metric, double value,
                    const struct sr_bytes *labels);

/* Removes all series of a gauge, or of a counter that is counted elsewhere: their objects may not exist any
 * more. No other thread may use or read this metric meanwhile. */
void sr_metrics_clear(struct sr_metrics *metrics, enum sr_metric metric);

/* ---- exemplars ---- */

/* The span of a trace that an observation is of, and when it was made, in nanoseconds since 1970. */
struct sr_metrics_origin {
    uint8_t trace[16], span[8];
    uint64_t at_ns;
};

/* sr_metrics_add of a histogram that remembers where the latest observation of each bucket came from.
 * `origin` NULL: nowhere that is to be remembered. */
void sr_metrics_observe(struct sr_metrics *metrics, enum sr_metric metric, double value,
                        const struct sr_bytes *labels, const struct sr_metrics_origin *origin);

/* ---- reading ---- */

enum sr_series_kind { SR_SERIES_COUNTER, SR_SERIES_GAUGE, SR_SERIES_HISTOGRAM };

struct sr_metric_description {
    enum sr_series_kind kind;
    const char *name, *help;
    const char *labels;   /* their names, joined by commas */
    const double *bounds; /* of a histogram's buckets, ascending, without +Inf */
    size_t n_bounds;
};
const struct sr_metric_description *sr_metrics_describe(enum sr_metric metric);

struct sr_exemplar {
    uint8_t trace[16], span[8];
    uint64_t at_ns; /* since 1970; 0: there is none */
    double value;
};

/* One series as it was when it was read. Updates of other threads may be in it by half: a histogram's sum and
 * its buckets are not of one moment. */
struct sr_series {
    const struct sr_bytes *labels; /* borrowed: until the metric is cleared */
    size_t n_labels;
    uint64_t hash; /* of the labels */
    double value;  /* or a histogram's sum */
    /* of a histogram */
    size_t n_buckets;
    uint64_t buckets[SR_METRICS_MAX_BUCKETS]; /* not cumulative */
    uint64_t count;                           /* their sum */
    struct sr_exemplar exemplars[SR_METRICS_MAX_BUCKETS];
};

/* When counting began, in nanoseconds since 1970. */
uint64_t sr_metrics_since(const struct sr_metrics *metrics);

/* Series of a metric. They keep their numbers until the metric is cleared. */
size_t sr_metrics_count(const struct sr_metrics *metrics, enum sr_metric metric);
void sr_metrics_read(const struct sr_metrics *metrics, enum sr_metric metric, size_t at,
                     struct sr_series *out);

#endif
