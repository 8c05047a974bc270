/*
 * From what the stages of a request returned to a verdict: a reply made here, or targets, headers and a body
 * to forward. Each function leaves the exchange SETTLED, with its verdict and the verdict's facts in the
 * record.
 */
#ifndef SR_ROUTER_EXCHANGE_VERDICT_H
#define SR_ROUTER_EXCHANGE_VERDICT_H

#include "router/exchange.h"

/* The reply of a refusal. */
void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal);

/* The lists of models, by what sr_admit returned. */
void sr_exchange_reply_models(sr_exchange *x);
void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id);

/* Forwards the bytes as they came, as far as they came. */
void sr_exchange_forward(sr_exchange *x);
/* Forwards a request that named its model, with the name that its upstream knows. */
void sr_exchange_forward_named(sr_exchange *x);

/* The routing has ended with this code, or was skipped: its reply, or edits and a verdict to forward. */
void sr_exchange_decided(sr_exchange *x, int rc);

#endif
