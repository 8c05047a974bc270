/* The answers about a stored response: its items, page by page, and that it is gone. */
#ifndef SR_ROUTER_STATE_LIST_H
#define SR_ROUTER_STATE_LIST_H

#include "router/state/stored.h"

/* What a client asks for of a list; from a query. */
struct sr_stored_page {
    size_t limit;          /* 1 to 100 */
    bool ascending;        /* the oldest first */
    struct sr_bytes after; /* the id of the last item of the page before; "" = none */
};

/* Reads the query, with its '?'. NULL, or the name of the parameter that is wrong. */
const char *sr_stored_page_read(struct sr_stored_page *out, struct sr_bytes query);

/* Appends one page of the items before the answer. Items get what the short forms of requests leave out: an
 * id, a type, parts of content. SR_ENOENT: no item has the id `after`. SR_ENOMEM, SR_ELIMIT. */
int sr_stored_list(const struct sr_stored *stored, const struct sr_stored_page *page, struct sr_arena *arena,
                   struct sr_buf *out) SR_WARN_UNUSED;

/* Appends that the response is removed. */
int sr_stored_deleted(struct sr_bytes id, struct sr_buf *out) SR_WARN_UNUSED;

#endif
