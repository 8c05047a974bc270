/*
 * What the router writes itself in the shape of Messages: errors, answers, streams and their ends.
 */
#ifndef SR_DIALECT_MESSAGES_WRITE_H
#define SR_DIALECT_MESSAGES_WRITE_H

#include "dialect/dialect.h"

/* See struct sr_dialect_ops. An error has Anthropic's type for its status. */
int sr_messages_error(const struct sr_dialect_error *error, struct sr_buf *out);
int sr_messages_error_event(const struct sr_dialect_error *error, struct sr_buf *out);
int sr_messages_completion(const struct sr_completion *completion, struct sr_buf *out);
int sr_messages_completion_stream(const struct sr_completion *completion, struct sr_buf *out);
/* Closes the open block; the message stops with `refusal`. */
int sr_messages_stream_end(const struct sr_stream_end *end, struct sr_buf *out);

/* The answer to a count for which no model is asked: no tokens. */
int sr_messages_count(const struct sr_completion *completion, struct sr_buf *out);

#endif
