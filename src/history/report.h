/*
 * Links what was reported of an answer after its end to the request's entry.
 *
 * Entries do not change: one with the outcome takes the place of the one without it, in memory and with the
 * keeper.
 */
#ifndef SR_HISTORY_REPORT_H
#define SR_HISTORY_REPORT_H

#include "history/history.h"

/* Adds the outcome to the newest entry of this id: its own, or with `by_request` the client's request id. An
 * outcome of the same source, target and target_ref gives way; beyond SR_HISTORY_OUTCOMES_MAX the oldest
 * does. Walks the whole history: not for a loop. SR_ENOENT: there is no such entry; SR_ENOMEM. */
int sr_history_report(struct sr_history *history, struct sr_bytes id, bool by_request,
                      const struct sr_history_outcome *outcome) SR_WARN_UNUSED;

#endif
