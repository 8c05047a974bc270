/* The limits of an exchange: asks them before the request is forwarded, refuses with 429, settles at the end.
 */
#ifndef SR_ROUTER_EXCHANGE_LIMIT_H
#define SR_ROUTER_EXCHANGE_LIMIT_H

#include "router/exchange/phase.h"

/* The phase: asks the limits for the record's model, once for each exchange, and refuses with 429. For
 * another phase that must pass them too. */
enum sr_phase_step sr_exchange_limit_step(sr_exchange *x);
uint64_t sr_exchange_limit_deadline_ns(const sr_exchange *x);
void sr_exchange_limit_give_up(sr_exchange *x);

/* Before the body is read: refuses, with 429, a client of whom a limit that holds for every model has no
 * room. False: it has, or the counters are elsewhere and the phase `look` asks them. Takes nothing. */
bool sr_exchange_limit_refuses(sr_exchange *x);

/* Takes from the counters of another model of the decision, for a request that passed those of its own: from
 * those that it has not taken from yet. False: they have no room, or are in a store that would be waited for;
 * nothing was taken. */
bool sr_exchange_limit_moves(sr_exchange *x, int model);

/* Tells the limits what the request has cost; after sr_exchange_note_answer. */
void sr_exchange_limit_settle(sr_exchange *x);

/* True when limits are configured: the whole body is read before anything is forwarded. */
bool sr_exchange_has_limits(const sr_exchange *x);

#endif
