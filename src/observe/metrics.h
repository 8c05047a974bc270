/*
 * Metrics: counters, gauges and histograms in the Prometheus text format, names as dashboards expect them.
 *
 * observe/metrics_list.h declares every metric with its kind, help, labels and buckets; the enum below
 * indexes it. Series appear when first used (series without labels from the start). Label values are bounded
 * in length and number: past SR_METRICS_MAX_SERIES of one metric new label sets are counted under "other".
 * Opens no socket. Thread-safe; an update of a known series takes no lock.
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

#define SR_METRICS_MAX_LABELS 5
#define SR_METRICS_MAX_SERIES 512
#define SR_METRICS_MAX_VALUE  128 /* bytes of a label value; longer ones are cut */

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
 * more. No other thread may use this metric, or render, meanwhile. */
void sr_metrics_clear(struct sr_metrics *metrics, enum sr_metric metric);

/* Appends everything in text format, in the order of the table. */
int sr_metrics_render(struct sr_metrics *metrics, struct sr_buf *out) SR_WARN_UNUSED;

#endif
