/*
 * Updates metrics for a request: once when the verdict is ready, once at its end.
 *
 * Labels are names of the configuration and fixed words only; what a client sends never becomes a label.
 */
#ifndef SR_ROUTER_REPORT_MEASURE_H
#define SR_ROUTER_REPORT_MEASURE_H

#include "observe/metrics.h"
#include "router/record.h"
#include "router/router.h"

/* Counts the first verdict. `metrics` NULL: metrics are off. */
void sr_measure_verdict(const struct sr_record *record, const struct sr_router *router,
                        struct sr_metrics *metrics);

/* The request is in progress at the record's model now, and no more at model number `before`. */
void sr_measure_next_model(const struct sr_record *record, int before, const struct sr_router *router,
                           struct sr_metrics *metrics);

/* Counts the end of the request. */
void sr_measure_end(const struct sr_record *record, const struct sr_router *router,
                    struct sr_metrics *metrics);

/* An answer looks like the result of an attack: counted when it is found. */
void sr_measure_answer_finding(const struct sr_record *record, struct sr_metrics *metrics);

#endif
