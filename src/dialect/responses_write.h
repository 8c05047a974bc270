/*
 * What the router writes itself in the shape of Responses: answers, streams and their ends.
 */
#ifndef SR_DIALECT_RESPONSES_WRITE_H
#define SR_DIALECT_RESPONSES_WRITE_H

#include "dialect/dialect.h"

/* See struct sr_dialect_ops. */
int sr_responses_error_event(const struct sr_dialect_error *error, struct sr_buf *out);
int sr_responses_completion(const struct sr_completion *completion, struct sr_buf *out);
int sr_responses_completion_stream(const struct sr_completion *completion, struct sr_buf *out);
/* The count of a request that no model gets. */
int sr_responses_count(const struct sr_completion *completion, struct sr_buf *out);
/* The response is incomplete because of a content filter. */
int sr_responses_stream_end(const struct sr_stream_end *end, struct sr_buf *out);

#endif
