/* Requests for models whose upstream speaks another API than the client. */
#ifndef SR_ROUTER_EXCHANGE_TRANSLATE_H
#define SR_ROUTER_EXCHANGE_TRANSLATE_H

#include "router/exchange/phase.h"

/* The API (enum sr_translate_api) into which the request is translated for a model; -1: it is sent as it is.
 */
int sr_exchange_translates(const struct sr_exchange *x, int model);

#endif
