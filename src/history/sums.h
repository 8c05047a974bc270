/* Sums over a selection, in the shape of vLLM Semantic Router's replay aggregate. */
#ifndef SR_HISTORY_SUMS_H
#define SR_HISTORY_SUMS_H

#include "base/json_write.h"
#include "history/select.h"

#define SR_HISTORY_NAMES_MAX   256u /* models and decisions that are told apart; the rest is "Other" */
#define SR_HISTORY_BUCKETS_MAX 512u /* of a timeline; the oldest are left out */

/* {"object":"router_replay.aggregate", ...} of `some`; what could be filtered by is listed of `all`.
 * SR_ENOMEM stays in the writer. */
void sr_history_sums_json(struct sr_json_writer *w, const struct sr_history_selection *all,
                          const struct sr_history_selection *some);

#endif
