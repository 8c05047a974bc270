/*
 * POST /api/v1/classify/intent, pii, security, combined, batch: the classifiers' results for a text, in
 * the format of vLLM Semantic Router's API.
 *
 * Pure: body in, answer out. Errors have that API's shape too: {"error": {"code", "message",
 * "timestamp"}}.
 */
#ifndef SR_SERVE_ADMIN_CLASSIFY_H
#define SR_SERVE_ADMIN_CLASSIFY_H

#include "base/buf.h"
#include "router/router.h"

enum sr_api_classify_kind {
    SR_API_CLASSIFY_INTENT,
    SR_API_CLASSIFY_PII,
    SR_API_CLASSIFY_SECURITY,
    SR_API_CLASSIFY_COMBINED,
    SR_API_CLASSIFY_BATCH,
};

#define SR_API_CLASSIFY_BATCH_MAX 100 /* texts of one batch; 400 above it */

/* Appends the answer or the error to `out`; returns its HTTP status. Any thread. */
int sr_api_classify(const struct sr_router *router, enum sr_api_classify_kind kind, struct sr_bytes body,
                    struct sr_buf *out);

#endif
