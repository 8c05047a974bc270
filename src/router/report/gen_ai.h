/*
 * A request in the terms of OpenTelemetry's conventions for generative AI.
 *
 * Strings are constants or the configuration's.
 */
#ifndef SR_ROUTER_REPORT_GEN_AI_H
#define SR_ROUTER_REPORT_GEN_AI_H

#include "router/record.h"

/* gen_ai.operation.name; the dialect's own name where the conventions have none. */
const char *sr_gen_ai_operation(const char *dialect);

/* gen_ai.provider.name of the backend that has a request to this model (index of the configuration, -1:
 * none). `target` is the backend's name; a worker that is not listed, and NULL, count as the model's first
 * backend. */
const char *sr_gen_ai_provider(const struct sr_config *config, int model, const char *target);

/* The same of a request as a whole: that of its last try or of its model, else that of the API that was
 * called. */
const char *sr_gen_ai_provider_of(const struct sr_record *record, const struct sr_config *config);

/* gen_ai.request.model: what the client asked for. */
const char *sr_gen_ai_request_model(const struct sr_record *record, const struct sr_config *config);

#endif
