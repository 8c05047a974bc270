/*
 * The metrics of a runtime for those who read them: figures of now, then all series.
 *
 * All functions are thread-safe. sr_runtime_metrics of the public interface is here too.
 */
#ifndef SR_ROUTER_RUNTIME_METRICS_H
#define SR_ROUTER_RUNTIME_METRICS_H

#include "observe/exposition.h"
#include "semroute/semroute.h"

/* Brings the figures of caches, pools and queues up to date, and calls `reader` with all metrics. No series
 * is removed meanwhile. Other readers wait. */
typedef void sr_metrics_reader(void *ctx, const struct sr_metrics *metrics);
void sr_runtime_read_metrics(sr_runtime *runtime, sr_metrics_reader *reader, void *ctx);

/* Appends them in a format for scrapers. SR_ENOMEM, SR_ELIMIT. */
int sr_runtime_expose(sr_runtime *runtime, enum sr_exposition form, struct sr_buf *out) SR_WARN_UNUSED;

#endif
