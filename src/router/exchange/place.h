/* Places of an exchange at the pools of its model: a ticket each, and the targets of its candidates. */
#ifndef SR_ROUTER_EXCHANGE_PLACE_H
#define SR_ROUTER_EXCHANGE_PLACE_H

#include "router/exchange/exchange.h"

/* True when the workers of this model are picked by what is in the body: it must be complete first. */
bool sr_exchange_picks_by_body(const struct sr_exchange *x, int model);

/* Opens a ticket of this pool of the record's model, with its targets. SR_ENOMEM: nothing is open. */
int sr_exchange_open_place(sr_exchange *x, const struct sr_router_pool *pool,
                           struct sr_exchange_place *out) SR_WARN_UNUSED;
/* The place is the verdict's from now on; the ticket before was disposed of, or is kept elsewhere. */
void sr_exchange_take_place(sr_exchange *x, const struct sr_exchange_place *place);

/* The workers of the verdict's model have changed since it was made: its targets are those of now, and its
 * ticket goes on with them. No request may be in progress at a target. False: they have not, or there is no
 * memory. */
bool sr_exchange_renew(sr_exchange *x);

#endif
