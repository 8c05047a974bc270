/*
 * What the page shows of the server itself: its configuration without secrets, with revision, last reload and
 * mistakes; its models with their cards; its metrics.
 *
 * Each function appends a whole answer and may take long, so it runs on a worker thread. Returns its status.
 */
#ifndef SR_SERVE_ADMIN_SETUP_H
#define SR_SERVE_ADMIN_SETUP_H

#include "base/buf.h"
#include "router/runtime.h"

#define SR_API_SETUP_MAX ((size_t)64 << 20) /* bytes of an answer */

/* GET /api/v1/page/configuration: {revision, path, loaded_at, reload, current, yaml, routing, problems,
 * models} */
int sr_api_configuration(sr_runtime *runtime, struct sr_buf *out);

/* GET /api/v1/page/metrics: as /metrics of the other listener. */
int sr_api_metrics(sr_runtime *runtime, struct sr_buf *out);

#endif
