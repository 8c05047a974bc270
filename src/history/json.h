/*
 * Entries as JSON, in the shapes of vLLM Semantic Router's replay API with members of our own: one entry, and
 * a page of a selection.
 */
#ifndef SR_HISTORY_JSON_H
#define SR_HISTORY_JSON_H

#include "base/json_write.h"
#include "history/select.h"

#define SR_HISTORY_PAGE_BYTES ((size_t)4 << 20)  /* a page ends with the entry that reaches it */
#define SR_HISTORY_JSON_MAX   ((size_t)32 << 20) /* bytes of any answer */

/* Names of the bits of an entry's masks, which the router knows. */
struct sr_history_words {
    const char *const *edits, *const *private_types; /* [n_edits], [n_private_types] */
    size_t n_edits, n_private_types;
};

/* Microseconds since 1970 as RFC 3339. */
void sr_history_json_time(struct sr_json_writer *w, const char *key, int64_t us);

/* One object. `details`: with the bodies. */
void sr_history_json(struct sr_json_writer *w, const char *key, const struct sr_history_entry *entry,
                     const struct sr_history_words *words, bool details);

/* {"object":"router_replay.list", ...}: the entries from q->offset on. */
void sr_history_json_page(struct sr_json_writer *w, const struct sr_history_selection *all,
                          const struct sr_history_query *q, const struct sr_history_words *words);

#endif
