/*
 * GET /info/classifier: which signals and decisions are loaded, in vLLM Semantic Router's shape.
 *
 * Names of the configuration alone: no keys, endpoints or texts. Any thread.
 */
#ifndef SR_SERVE_ADMIN_INVENTORY_H
#define SR_SERVE_ADMIN_INVENTORY_H

#include "base/buf.h"
#include "router/runtime.h"

/* Appends {"status":"config_loaded","config":{"Decisions":[...],"Categories":[...],"recipes":[...]}}.
 * SR_ELIMIT, SR_ENOMEM. */
int sr_api_inventory(sr_runtime *runtime, struct sr_buf *out) SR_WARN_UNUSED;

#endif
