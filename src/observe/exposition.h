/*
 * What a scraper reads: the metrics in Prometheus' text format, or as OpenMetrics where it asks for that.
 *
 * Both have the same series with the same labels, so a change of the format breaks no query; only
 * OpenMetrics has exemplars. Opens no socket.
 */
#ifndef SR_OBSERVE_EXPOSITION_H
#define SR_OBSERVE_EXPOSITION_H

#include "observe/metrics.h"

enum sr_exposition { SR_EXPOSITION_TEXT, SR_EXPOSITION_OPENMETRICS };

/* The format for an Accept header of a stranger, empty or malformed ones too: OpenMetrics 0.0.1 or 1.0.0
 * where it is wanted at least as much as text. */
enum sr_exposition sr_exposition_of(struct sr_bytes accept);

/* A constant. */
struct sr_bytes sr_exposition_type(enum sr_exposition form);

/* Append; SR_ENOMEM, SR_ELIMIT. A whole answer is all metrics, in the order of the table, those of the
 * process (observe/process.h), and the end. */
int sr_expose_metrics(const struct sr_metrics *metrics, enum sr_exposition form,
                      struct sr_buf *out) SR_WARN_UNUSED;
int sr_expose_process(enum sr_exposition form, struct sr_buf *out) SR_WARN_UNUSED;
int sr_expose_end(enum sr_exposition form, struct sr_buf *out) SR_WARN_UNUSED;

#endif
