/*
 * How a request that has ended came to its model, for people who look at it: times of phases and tries, the
 * tree of every decision, what guards found and where, the sizes of the edits, the worker and the cache.
 *
 * Names of the configuration, places and numbers; nothing of what users wrote. Bounded.
 */
#ifndef SR_ROUTER_REPORT_WHY_H
#define SR_ROUTER_REPORT_WHY_H

#include "base/buf.h"
#include "router/record.h"
#include "router/router.h"

#define SR_WHY_MAX   ((size_t)32 << 10) /* bytes of all */
#define SR_WHY_TREES ((size_t)20 << 10) /* of the decisions' trees; larger ones are left out as a whole */
#define SR_WHY_EDITS 64                 /* that are listed */

/* Appends one JSON object. SR_ELIMIT, SR_ENOMEM: `out` is not complete. */
int sr_report_why(const struct sr_record *record, const struct sr_router *router,
                  struct sr_buf *out) SR_WARN_UNUSED;

#endif
