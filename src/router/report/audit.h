/*
 * The audit log: one JSON object for each request in which a guard acted, something was found, or a decision
 * in shadow matched. It names types and positions and contains none of the text.
 */
#ifndef SR_ROUTER_REPORT_AUDIT_H
#define SR_ROUTER_REPORT_AUDIT_H

#include "base/buf.h"
#include "router/record.h"

#define SR_AUDIT_MAX ((size_t)32 << 10) /* bytes of a line */

/* True when the request has a line. */
bool sr_audit_wants(const struct sr_record *record);

/* Appends the line of a request that has its verdict, without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_audit_request(const struct sr_record *record, const struct sr_config *config,
                     struct sr_buf *out) SR_WARN_UNUSED;

/* The same about an answer that looks like the result of an attack. */
int sr_audit_answer(const struct sr_record *record, const struct sr_config *config,
                    struct sr_buf *out) SR_WARN_UNUSED;

#endif
