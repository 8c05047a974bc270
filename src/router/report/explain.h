/*
 * Why a request went where it went: for `semroute explain` and for people who debug their rules.
 *
 * Reads an exchange that has its verdict; changes nothing. The text may hold pieces of the user's request.
 */
#ifndef SR_ROUTER_REPORT_EXPLAIN_H
#define SR_ROUTER_REPORT_EXPLAIN_H

#include "router/exchange.h"

/* One change of the body, in order: `removed` bytes at offset `at` gave way to the inserted runs. */
struct sr_explain_edit {
    size_t at;
    struct sr_bytes removed;
    const struct sr_bytes *inserted;
    size_t n_inserted;
};

/* Calls `each` for every edit of the verdict's body. */
void sr_explain_edits(const sr_exchange *x, void (*each)(void *ctx, const struct sr_explain_edit *edit),
                      void *ctx);

/* Appends one JSON document. */
int sr_explain_json(const sr_exchange *x, struct sr_buf *out) SR_WARN_UNUSED;

/* Appends a picture for a terminal of `width` columns, in colours or plain. */
int sr_explain_picture(const sr_exchange *x, int width, bool colour, struct sr_buf *out) SR_WARN_UNUSED;

#endif
