/* Reads the body of a request for exchange.c, piece by piece. */
#ifndef SR_ROUTER_EXCHANGE_BODY_H
#define SR_ROUTER_EXCHANGE_BODY_H

#include "router/exchange/exchange.h"

/* While READING: takes the next piece, which may be empty. When nothing of the body is waited for any more,
 * the exchange is in its phases, or refused, and no longer READING. */
void sr_exchange_read_body(sr_exchange *x, struct sr_bytes piece, bool last);

/* While STREAMING: checks that the next piece does not contradict the pieces before it. PASS, or ABORT: it
 * does, and the exchange is refused. */
enum sr_step sr_exchange_check_rest(sr_exchange *x, struct sr_bytes piece, bool last);

#endif
