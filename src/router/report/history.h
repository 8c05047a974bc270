/* What is kept of a request that has ended (history/entry.h), from its record alone. */
#ifndef SR_ROUTER_REPORT_HISTORY_H
#define SR_ROUTER_REPORT_HISTORY_H

#include "history/json.h"
#include "router/record.h"
#include "router/router.h"

/* What is not of the record itself: bodies, empty where they were not asked for (`cut`: there was more), and
 * how it came about (router/report/why.h), empty where no client follows. */
struct sr_history_more {
    struct sr_bytes request, response, why;
    bool request_cut, response_cut;
    uint32_t takers; /* who follow it, as sr_followers_take */
};

/* Makes the entry of a request that has ended. SR_ENOMEM. */
int sr_report_history(const struct sr_record *record, const struct sr_router *router,
                      const struct sr_history_more *more, struct sr_history_entry **out) SR_WARN_UNUSED;

/* Fills those members of `entry` that a filter reads; the texts are borrowed. */
void sr_report_history_brief(const struct sr_record *record, const struct sr_router *router,
                             struct sr_history_entry *entry);

/* The names of an entry's bits. */
extern const struct sr_history_words sr_history_words;

#endif
