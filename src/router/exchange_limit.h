/* The limits of an exchange: asks them before the request is forwarded, refuses with 429, settles at the end.
 */
#ifndef SR_ROUTER_EXCHANGE_LIMIT_H
#define SR_ROUTER_EXCHANGE_LIMIT_H

#include "router/exchange.h"

/* Asks the limits for the record's model, once for each exchange. SR_LIMITING_WAITS: `x->limiting.done` will
 * be called; the exchange is WAITING. */
enum sr_limiting_state sr_exchange_limit(sr_exchange *x);

/* Fills the 429 of a request that the limits refuse, and what its headers say. */
void sr_exchange_limit_refusal(sr_exchange *x, struct sr_refusal *refusal);

/* Tells the limits what the request has cost; after sr_exchange_note_answer. */
void sr_exchange_limit_settle(sr_exchange *x);

/* True when limits are configured: the whole body is read before anything is forwarded. */
bool sr_exchange_has_limits(const sr_exchange *x);

#endif
