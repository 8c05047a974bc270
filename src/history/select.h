/* Which entries a client asks for: filters, as in the query of a URL, and the entries that pass them. */
#ifndef SR_HISTORY_SELECT_H
#define SR_HISTORY_SELECT_H

#include "base/arena.h"
#include "history/history.h"

enum sr_history_cache { SR_HISTORY_CACHE_ANY, SR_HISTORY_CACHE_CACHED, SR_HISTORY_CACHE_STREAMED };

/* An empty text: any; a number of 0: any. */
struct sr_history_filter {
    struct sr_bytes recipe, decision, model, session, tenant, outcome, search;
    enum sr_history_cache cache;
    double min_ms, max_ms; /* of the whole request */
};

/* What the query of a URL asks for. */
struct sr_history_query {
    struct sr_history_filter filter;
    size_t limit, offset;
    bool details;      /* the list has bodies */
    size_t per_second; /* of the live stream */
    bool why;          /* its events say how each request came about */
};

#define SR_HISTORY_PAGE      20u
#define SR_HISTORY_PAGE_MAX  100u
#define SR_HISTORY_RATE      50u /* events of a live stream in a second */
#define SR_HISTORY_RATE_MAX  1000u
#define SR_HISTORY_QUERY_MAX 8192u

/* Reads "model=a&limit=20"; members that it does not know are passed over; texts are in the arena. False:
 * *why is a constant that says what is wrong. */
bool sr_history_query_read(struct sr_history_query *out, struct sr_bytes query, struct sr_arena *arena,
                           const char **why);

bool sr_history_passes(const struct sr_history_filter *filter, const struct sr_history_entry *entry);

/* Entries with a reference each. */
struct sr_history_selection {
    struct sr_history_entry **items;
    size_t n, cap;
};

/* All entries that pass, newest first. SR_ENOMEM: the set is empty. */
int sr_history_select(struct sr_history *history, const struct sr_history_filter *filter,
                      struct sr_history_selection *out) SR_WARN_UNUSED;
void sr_history_selection_dispose(struct sr_history_selection *set);

/* The newest entry that has this text, with a reference; NULL: there is none. */
struct sr_history_entry *sr_history_find(struct sr_history *history, enum sr_history_text which,
                                         struct sr_bytes text);

#endif
