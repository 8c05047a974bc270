/* The choice of a model for an exchange, after the first. */
#ifndef SR_ROUTER_EXCHANGE_ROUTE_H
#define SR_ROUTER_EXCHANGE_ROUTE_H

#include "router/exchange/phase.h"

/* Takes the candidate that the routing is at now into the record, with its reasoning. False: there is none.
 */
bool sr_exchange_choose_next(sr_exchange *x);

#endif
