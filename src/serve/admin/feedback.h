/*
 * The API of outcomes: how good an answer was, for algorithms that learn.
 *
 * {"request_id": "...", "score": 0.8}, or {"decision", "model", "lora", "score"} for an answer that is not
 * among the latest ones. `score` is from 0 to 1, or true or false. The record of a request has its score,
 * too. Walks all records: not for a loop.
 */
#ifndef SR_SERVE_ADMIN_FEEDBACK_H
#define SR_SERVE_ADMIN_FEEDBACK_H

#include "base/buf.h"
#include "router/runtime.h"

/* Returns the status of the answer that is appended: 200; 400 for another body; 404 for a request that is not
 * known or had its outcome, and for a candidate whose decision does not learn. */
int sr_api_feedback(sr_runtime *runtime, struct sr_bytes body, struct sr_buf *out);

#endif
