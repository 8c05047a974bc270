/* The engine's counts in the Prometheus text format, under the names of vLLM's metrics. */
#ifndef SR_MOCK_ENGINE_METRICS_H
#define SR_MOCK_ENGINE_METRICS_H

#include "base/buf.h"
#include "mock/engine/engine.h"

/* Appends all of them, labelled with `model`, which must need no escape. */
int sr_mock_metrics(const struct sr_mock_engine_stats *stats, const char *model,
                    struct sr_buf *out) SR_WARN_UNUSED;

#endif
