/*
 * Another model of the decision takes a request over: for good once it has a worker there.
 *
 * For the doors. sr_exchange_next_model, which is declared in semroute/semroute.h, tries it out; a door that
 * finds no worker there goes on to the model after it, or back.
 */
#ifndef SR_ROUTER_EXCHANGE_NEXT_H
#define SR_ROUTER_EXCHANGE_NEXT_H

#include "router/exchange/exchange.h"

/* The verdict's model is tried out: the exchange can go back. */
bool sr_exchange_tries_model(const sr_exchange *x);

/* The request has a worker at the verdict's model, or waits for one there: the model before is left for good.
 * No effect when no model is tried out. */
void sr_exchange_take_model(sr_exchange *x);

/* The verdict, its targets and its ticket are those of the model before again; what the request took of the
 * limits of the other is given back. False: no model is tried out. */
bool sr_exchange_go_back(sr_exchange *x);

#endif
