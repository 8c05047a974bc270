/* Which profile routes an automatic request: its recipe's, or the new side of a canary. */
#ifndef SR_ROUTER_EXCHANGE_PROFILE_H
#define SR_ROUTER_EXCHANGE_PROFILE_H

#include "router/exchange/exchange.h"

/* Moves the exchange to the profile that the name asks for which the client gave as its model; once, as soon
 * as that is known. What was prefetched of the body is read again. */
void sr_exchange_enter(sr_exchange *x);

#endif
