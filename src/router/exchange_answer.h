/*
 * The answer's side of an exchange: the public functions for answers, and what exchange.c needs of them.
 */
#ifndef SR_ROUTER_EXCHANGE_ANSWER_H
#define SR_ROUTER_EXCHANGE_ANSWER_H

#include "router/exchange.h"

/* What the guard of answers waits for has taken too long. */
void sr_exchange_answer_timeout(sr_exchange *x);

#endif
