/* How often a request may be tried again, and after which failures. */
#ifndef SR_ROUTER_EXCHANGE_RETRY_H
#define SR_ROUTER_EXCHANGE_RETRY_H

#include "router/exchange/exchange.h"

/* At the model of now: what the request's decision says, else the model, else the gateway. */
struct sr_config_retry sr_exchange_retry(const sr_exchange *x);

#endif
