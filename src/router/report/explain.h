/*
 * Why a request was routed as it was: for `semroute explain`.
 *
 * The text may hold pieces of the user's request.
 */
#ifndef SR_ROUTER_REPORT_EXPLAIN_H
#define SR_ROUTER_REPORT_EXPLAIN_H

#include "base/buf.h"
#include "decide/explain.h"
#include "router/record.h"
#include "router/router.h"

/* The record that is explained, and the router whose decisions, rules and models it names. */
struct sr_explain {
    const struct sr_record *record;
    const struct sr_router *router;
};

/* One change of the body, in order: `removed` bytes at offset `at` gave way to the inserted runs. */
struct sr_explain_edit {
    size_t at;
    struct sr_bytes removed;
    const struct sr_bytes *inserted;
    size_t n_inserted;
};

/* Calls `each` for every edit of the body. */
void sr_explain_edits(const struct sr_record *record,
                      void (*each)(void *ctx, const struct sr_explain_edit *edit), void *ctx);

/* All plans that the request could have met, guards first. False: none was evaluated. */
bool sr_explain_plans(const struct sr_record *record, const struct sr_router *router,
                      struct sr_explanation *out) SR_WARN_UNUSED;

/* Appends one JSON document. SR_ENOMEM, SR_ELIMIT. */
int sr_explain_json(const struct sr_explain *e, struct sr_buf *out) SR_WARN_UNUSED;

#endif
