/*
 * The audit log: one JSON object for each action of a guard. It names types and positions and contains
 * none of the text.
 */
#ifndef SR_ROUTER_REPORT_AUDIT_H
#define SR_ROUTER_REPORT_AUDIT_H

#include "base/buf.h"
#include "router/record.h"

#define SR_AUDIT_MAX ((size_t)4 << 10) /* bytes of a line */

/* True when a guard took an action that is logged. */
bool sr_audit_wants(const struct sr_record *record);

/* Appends the line of a request that has its verdict, without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_audit_request(const struct sr_record *record, const struct sr_config *config,
                     struct sr_buf *out) SR_WARN_UNUSED;

/* The same about an answer that looks like the result of an attack. */
int sr_audit_answer(const struct sr_record *record, const struct sr_config *config,
                    struct sr_buf *out) SR_WARN_UNUSED;

#endif
