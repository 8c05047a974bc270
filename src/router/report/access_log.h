/*
 * The access log: one JSON object for each exchange, for operators. Holds nothing of what a user wrote; the
 * model is named only when it is one of the configuration.
 */
#ifndef SR_ROUTER_REPORT_ACCESS_LOG_H
#define SR_ROUTER_REPORT_ACCESS_LOG_H

#include "base/buf.h"
#include "router/record.h"
#include "router/router.h"

#define SR_ACCESS_LOG_MAX ((size_t)16 << 10) /* bytes of a line */

/* Appends the line of a request that has ended, without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_access_log_line(const struct sr_record *record, const struct sr_router *router,
                       struct sr_buf *out) SR_WARN_UNUSED;

/* The same for a request that never became an exchange; `reason` is the door's own text. */
int sr_access_log_refused(enum sr_door door, struct sr_bytes peer, int status, const char *reason,
                          struct sr_buf *out) SR_WARN_UNUSED;

#endif
