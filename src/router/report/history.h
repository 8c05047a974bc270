/* What is kept of a request that has ended (history/entry.h), from its record alone. */
#ifndef SR_ROUTER_REPORT_HISTORY_H
#define SR_ROUTER_REPORT_HISTORY_H

#include "history/json.h"
#include "router/record.h"
#include "router/router.h"

/* Bodies, empty where they were not asked for; `cut`: there was more. */
struct sr_history_bodies {
    struct sr_bytes request, response;
    bool request_cut, response_cut;
};

/* Makes the entry of a request that has ended. SR_ENOMEM. */
int sr_report_history(const struct sr_record *record, const struct sr_router *router,
                      const struct sr_history_bodies *bodies, struct sr_history_entry **out) SR_WARN_UNUSED;

/* The names of an entry's bits. */
extern const struct sr_history_words sr_history_words;

#endif
