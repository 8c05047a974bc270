/* The request that a call of the API wants to have explained. */
#ifndef SR_SERVE_ADMIN_EXPLAIN_REQUEST_H
#define SR_SERVE_ADMIN_EXPLAIN_REQUEST_H

#include "base/buf.h"
#include "router/runtime.h"
#include "json/doc.h"

/* The head of that request; `type` is its one header, and lives as long as the head. */
struct sr_request_head sr_api_explain_head(const struct sr_header *type);

/* Appends the chat request of a call's body: its member `request` unchanged, or `text` as the only message of
 * an automatic request. SR_EINVAL: it has neither. */
int sr_api_explain_request(sr_runtime *runtime, const sr_doc_value *root, struct sr_buf *out) SR_WARN_UNUSED;

#endif
