/*
 * POST /v1/router/outcomes: what came of an answer, linked to its record of `router_replay`, in the shape of
 * vLLM Semantic Router; and the records' side of POST /api/v1/feedback.
 *
 * {"replay_id" or "request_id", "verdict", "source", "target", "target_ref", "reason", "score"}. An outcome
 * of the model that answered also teaches an algorithm that learns. Walks all records: not for a loop.
 */
#ifndef SR_SERVE_ADMIN_OUTCOMES_H
#define SR_SERVE_ADMIN_OUTCOMES_H

#include "base/buf.h"
#include "router/runtime.h"

#define SR_API_OUTCOMES "/v1/router/outcomes"

/* Returns the status of the answer that is appended: 200; 400 for another body; 404 without such a record. */
int sr_api_outcomes(sr_runtime *runtime, struct sr_bytes body, struct sr_buf *out);

/* The score of a request, by its own id, as feedback gave it: into its record. SR_ENOENT: it has none. */
int sr_api_outcome_score(sr_runtime *runtime, struct sr_bytes request_id, double score) SR_WARN_UNUSED;

#endif
