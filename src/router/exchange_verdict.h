/*
 * Makes the verdict from the results of a request's stages: a reply, or targets, headers and a body to
 * forward. Each function leaves the exchange SETTLED, with its verdict and the verdict's facts in the
 * record.
 */
#ifndef SR_ROUTER_EXCHANGE_VERDICT_H
#define SR_ROUTER_EXCHANGE_VERDICT_H

#include "router/exchange.h"

/* Replies with the error of a refusal. */
void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal);

/* Replies with a list of models or one model, by what sr_admit returned. */
void sr_exchange_reply_models(sr_exchange *x);
void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id);

/* Forwards the bytes received so far, unchanged. */
void sr_exchange_forward(sr_exchange *x);
/* Forwards a request that named its model, under the name that its upstream knows. */
void sr_exchange_forward_named(sr_exchange *x);

/* Replies with what the cache found before any signal; false: there is nothing that this client may have. */
bool sr_exchange_reply_early(sr_exchange *x);
/* A lookup in the cache that was awaited has ended: replies with what it found, or forwards. */
void sr_exchange_recalled(sr_exchange *x);

/* The limits have answered: refuses the request, or goes on with it. */
void sr_exchange_limited(sr_exchange *x);

/* The routing has chosen another candidate of its decision: makes the verdict to forward anew. */
void sr_exchange_forward_next(sr_exchange *x);

/* Opens a ticket of this pool of the record's model, with its targets. SR_ENOMEM: nothing is open. */
int sr_exchange_open_place(sr_exchange *x, const struct sr_router_pool *pool,
                           struct sr_exchange_place *out) SR_WARN_UNUSED;
/* The place is the verdict's from now on; the ticket before was disposed of, or is kept elsewhere. */
void sr_exchange_take_place(sr_exchange *x, const struct sr_exchange_place *place);

/* The verdict's headers for the upstream, from the record of now. SR_ENOMEM: they stay as they are. */
int sr_exchange_set_headers(sr_exchange *x) SR_WARN_UNUSED;

/* The workers of the verdict's model have changed since it was made: its targets are those of now, and its
 * ticket goes on with them. No request may be in progress at a target. False: they have not, or there is no
 * memory. */
bool sr_exchange_renew(sr_exchange *x);

/* The routing has ended with this code, or was skipped: makes its reply, or edits the body and forwards
 * it. */
void sr_exchange_decided(sr_exchange *x, int rc);

/* May the client use this model? No client that is not known may use a key of the operator. */
bool sr_exchange_may_use(const sr_exchange *x, int model);

/* What was waited for to choose tools is there, or is not waited for any more: edits and forwards. */
void sr_exchange_tools_chosen(sr_exchange *x);

/* What was waited for to pick a worker is there, or is not waited for any more: forwards. */
void sr_exchange_send(sr_exchange *x);

/* True when the workers of this model are picked by what is in the body: it must be complete first. */
bool sr_exchange_picks_by_body(const struct sr_exchange *x, int model);

#endif
