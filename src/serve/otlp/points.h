/*
 * Metrics in the bytes of OpenTelemetry's protocol: the field `metrics` of ScopeMetrics
 * (opentelemetry.proto.metrics.v1), and what was sent of them before.
 *
 * Counters are monotonic sums, gauges are gauges, histograms have explicit bounds and, of what is new, the
 * exemplars. Sends nothing. One thread.
 */
#ifndef SR_SERVE_OTLP_POINTS_H
#define SR_SERVE_OTLP_POINTS_H

#include "observe/metrics.h"

struct sr_otlp_points;

/* `delta`: sums and histograms since what was taken before; else since counting began. SR_ENOMEM. */
int sr_otlp_points_new(struct sr_otlp_points **out, bool delta) SR_WARN_UNUSED;
void sr_otlp_points_free(struct sr_otlp_points *points);

/* Appends metrics from number `*next` of the table on, which is 0 at first, until they are about `enough`
 * bytes; SR_OTLP_POINTS_END in `*next`: these were the last. Metrics without a point are left out. SR_ENOMEM,
 * SR_ELIMIT. */
#define SR_OTLP_POINTS_END (-1)
int sr_otlp_points_write(struct sr_otlp_points *points, const struct sr_metrics *metrics, uint64_t now_ns,
                         size_t enough, int *next, struct sr_buf *out) SR_WARN_UNUSED;

/* What was written last was taken: it is not sent again as a delta, nor are its exemplars. */
void sr_otlp_points_taken(struct sr_otlp_points *points);

#endif
