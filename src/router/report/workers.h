/* The workers of the pool as metrics. */
#ifndef SR_ROUTER_REPORT_WORKERS_H
#define SR_ROUTER_REPORT_WORKERS_H

#include "observe/metrics.h"
#include "pool/pool.h"

/* Sets the series of each worker of each pool anew. One thread at a time. */
void sr_report_workers(struct sr_pool *pool, struct sr_metrics *metrics);

#endif
