/*
 * GET /info/models: which models are loaded, in vLLM Semantic Router's shape.
 *
 * Pure formatting of what the runtime holds; any thread.
 */
#ifndef SR_SERVE_ADMIN_MODELS_H
#define SR_SERVE_ADMIN_MODELS_H

#include "base/buf.h"
#include "router/runtime.h"

/* Appends the answer. SR_ELIMIT, SR_ENOMEM. */
int sr_api_models(sr_runtime *runtime, struct sr_buf *out) SR_WARN_UNUSED;

#endif
