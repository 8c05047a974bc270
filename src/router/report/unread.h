/*
 * What no signal can read of a request, as a member of a report: counts by kind, never content.
 */
#ifndef SR_ROUTER_REPORT_UNREAD_H
#define SR_ROUTER_REPORT_UNREAD_H

#include "base/json_write.h"
#include "router/request/walk.h"

/* Writes `"unread": {"images": {"parts": 1, "bytes": 80}}`, or nothing when all was read; NULL is allowed. */
void sr_report_unread(struct sr_json_writer *w, const struct sr_unread *unread);

#endif
