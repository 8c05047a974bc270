/*
 * The answer stage of Responses that are continued by id: keeps the response that a later request may name,
 * as the upstream said it, and writes into the answer which response it continues, where semroute knows that
 * and the upstream does not.
 *
 * Of a stream it keeps the last event alone, which repeats the whole response.
 */
#ifndef SR_ROUTER_RESPONSE_STORE_H
#define SR_ROUTER_RESPONSE_STORE_H

#include "router/response/stage.h"

/* Embedded in struct sr_answer; zeroed at first. */
struct sr_answer_store {
    struct sr_buf bytes;      /* of the response; its maximum is 0 where none is kept */
    struct sr_bytes previous; /* borrowed from the head */
    bool whole;               /* `bytes` is all of it */
};

void sr_answer_store_dispose(struct sr_answer_store *store);

extern const struct sr_answer_stage sr_store_stage;

#endif
