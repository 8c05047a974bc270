/* Which requests of an exchange the cache takes. */
#ifndef SR_ROUTER_EXCHANGE_CACHE_H
#define SR_ROUTER_EXCHANGE_CACHE_H

#include "router/exchange/phase.h"

/* Does a policy of the cache count for requests that name their model? */
bool sr_exchange_caches_named(const sr_exchange *x);

#endif
