/* GET /v1/router_replay/trajectory?session_id=...: what happened in one session, the oldest turn first. */
#ifndef SR_SERVE_ADMIN_TRAJECTORY_H
#define SR_SERVE_ADMIN_TRAJECTORY_H

#include "history/json.h"

/* Appends {"object":"router_replay.trajectory","session_id","record_count","messages":[...],"models":[...],
 * "data":[...]}: the records from q->offset on, without bodies; the models in the order in which they came;
 * and the messages of the newest request whose body was captured whole, with its answer where that is one
 * document. Errors as of sr_history_json_page. */
void sr_api_trajectory(struct sr_json_writer *w, const struct sr_history_selection *all,
                       const struct sr_history_query *q, const struct sr_history_words *words);

#endif
