/* The names of the session and the conversation that a request belongs to (router/session.h). */
#ifndef SR_ROUTER_EXCHANGE_SESSION_H
#define SR_ROUTER_EXCHANGE_SESSION_H

#include "router/exchange/exchange.h"

/* Reads them from the head, and the session from the complete body's `metadata.session_id` where no header
 * names it; once, before the routing. Names that are too long or
 * have other characters than visible ASCII are none. */
void sr_exchange_name_session(sr_exchange *x);

#endif
