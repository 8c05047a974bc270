/* Which models the client of an exchange may use. */
#ifndef SR_ROUTER_EXCHANGE_PERMIT_H
#define SR_ROUTER_EXCHANGE_PERMIT_H

#include "router/exchange/phase.h"

/* May the client use this model, and is there a key to ask its upstream with? No client that is not known may
 * use a key of the operator. */
bool sr_exchange_may_use(const sr_exchange *x, int model);

#endif
