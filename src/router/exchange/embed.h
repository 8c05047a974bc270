/* The phase of embeddings that are computed here, by the encoder of the configuration. */
#ifndef SR_ROUTER_EXCHANGE_EMBED_H
#define SR_ROUTER_EXCHANGE_EMBED_H

#include "router/exchange/exchange.h"

/* Cancels what is in progress; what it computed is kept until then. */
void sr_exchange_embed_dispose(sr_exchange *x);

#endif
