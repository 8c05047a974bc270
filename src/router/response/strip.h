/*
 * The stage that removes from a stream the usage that only the router asked for: drops events with nothing
 * else, and removes the member from others.
 */
#ifndef SR_ROUTER_RESPONSE_STRIP_H
#define SR_ROUTER_RESPONSE_STRIP_H

#include "router/response/stage.h"

extern const struct sr_answer_stage sr_strip_stage; /* has no state */

#endif
