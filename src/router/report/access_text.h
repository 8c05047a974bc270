/* The access log for people: a line for each exchange, in colours or plain. It says what the JSON line says,
 * less. */
#ifndef SR_ROUTER_REPORT_ACCESS_TEXT_H
#define SR_ROUTER_REPORT_ACCESS_TEXT_H

#include "base/buf.h"
#include "router/record.h"

#define SR_ACCESS_TEXT_TIME (sizeof "12:34:56.789  " - 1) /* bytes before the outcome */

/* Appends the line of a request that has ended, without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_access_text_line(const struct sr_record *record, const struct sr_config *config, bool coloured,
                        struct sr_buf *out) SR_WARN_UNUSED;

/* The same for a request that never became an exchange. */
int sr_access_text_refused(enum sr_door door, struct sr_bytes peer, int status, const char *reason,
                           bool coloured, struct sr_buf *out) SR_WARN_UNUSED;

#endif
