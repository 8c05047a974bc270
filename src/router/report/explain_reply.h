/* What a reply of the router says, taken out of the shape of its dialect. */
#ifndef SR_ROUTER_REPORT_EXPLAIN_REPLY_H
#define SR_ROUTER_REPORT_EXPLAIN_REPLY_H

#include "base/buf.h"

/* Appends the message of an error with its code in brackets, or the content of a completion; the reply as it
 * is where it is neither, as a stream. SR_ENOMEM, SR_ELIMIT. */
int sr_explain_reply(struct sr_bytes reply, struct sr_buf *out) SR_WARN_UNUSED;

#endif
