/* The message to the client of a blocked request. It names types and contains none of the request's text. */
#ifndef SR_ROUTER_ROUTE_GUARD_BLOCK_H
#define SR_ROUTER_ROUTE_GUARD_BLOCK_H

#include "router/route/guard.h"

/* The reply of a block. */
struct sr_guard_block {
    const char *name; /* the source of the block: the guard's name, or the policy's */
    int status;       /* 200: the message is an answer */
    const char *code;
    const char *message;
    const char *reason; /* label of llm_request_errors_total */
};

/* Fills the reply. SR_ENOMEM: all but the message is filled. */
int sr_guard_block(const struct sr_guard *guard, struct sr_guard_block *out) SR_WARN_UNUSED;

#endif
