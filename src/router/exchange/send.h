/* The verdict that forwards a request. */
#ifndef SR_ROUTER_EXCHANGE_SEND_H
#define SR_ROUTER_EXCHANGE_SEND_H

#include "router/exchange/phase.h"

/* The verdict's headers for the upstream, from the record of now. SR_ENOMEM: they stay as they are. */
int sr_exchange_set_headers(sr_exchange *x) SR_WARN_UNUSED;

#endif
