/*
 * The errors of the calls of classify.h, in the shape of vLLM Semantic Router's API.
 *
 * Each function returns the HTTP status: 200, or that of the error that is now all of the answer.
 */
#ifndef SR_SERVE_ADMIN_CLASSIFY_ERROR_H
#define SR_SERVE_ADMIN_CLASSIFY_ERROR_H

#include "serve/admin/classify.h"
#include "serve/admin/classify_text.h"

/* Writes an error; 503 instead of `status` when there is no memory for it. */
int sr_api_classify_error(struct sr_buf *out, int status, const char *code, const char *message);

/* Is the body valid for the call? */
int sr_api_classify_check(const sr_doc_value *root, enum sr_api_classify_kind kind, struct sr_buf *out);

/* The call has written its answer, or failed. */
int sr_api_classify_end(const struct sr_api_classify_call *call);

#endif
