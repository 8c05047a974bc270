/*
 * The stage that takes the usage out of a stream that only the router asked for: events that are there for it
 * alone are dropped, of others the member goes.
 */
#ifndef SR_ROUTER_RESPONSE_STRIP_H
#define SR_ROUTER_RESPONSE_STRIP_H

#include "router/response/stage.h"

extern const struct sr_answer_stage sr_strip_stage; /* has no state */

#endif
