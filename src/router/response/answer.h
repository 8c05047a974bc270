/*
 * The stages that an answer passes: headers, server-sent events, token usage, values that were redacted, the
 * guard of answers.
 *
 * Bytes pass as they are, and at once, unless the router asked the upstream for usage that the client did not
 * want, a guard puts values back, or answers are read: then each event is held until it is complete. Errors
 * of the upstream are never changed.
 */
#ifndef SR_ROUTER_RESPONSE_ANSWER_H
#define SR_ROUTER_RESPONSE_ANSWER_H

#include "router/exchange.h"

void sr_answer_init(sr_exchange *x);
void sr_answer_dispose(sr_exchange *x);

#endif
