/* The figures of a canary's sides, one beside the other. */
#ifndef SR_ROUTER_REPORT_MEASURE_CANARY_H
#define SR_ROUTER_REPORT_MEASURE_CANARY_H

#include "observe/metrics.h"
#include "router/record.h"

/* Adds the figures of a request that has ended and is one of a canary's, of either side. */
void sr_measure_canary(const struct sr_record *record, const struct sr_config *config,
                       struct sr_metrics *metrics);

#endif
