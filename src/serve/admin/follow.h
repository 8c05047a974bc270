/*
 * Requests as they end, as server-sent events: one follower of the runtime's live history.
 *
 * Bounded: the history, what a slow reader leaves unsent, events in a second. What a follower does not get is
 * counted, and it is told how many. A timer reads the history, so requests do not wait for followers. Loop's
 * thread only.
 */
#ifndef SR_SERVE_ADMIN_FOLLOW_H
#define SR_SERVE_ADMIN_FOLLOW_H

#include "net/server/server.h"
#include "router/runtime.h"

#include <stdatomic.h>

#define SR_API_FOLLOW     "/api/v1/requests/events"
#define SR_API_FOLLOWERS  8                 /* of one listener */
#define SR_API_FOLLOW_LAG ((size_t)1 << 20) /* bytes that wait for a reader; above it events are left out */

struct sr_api_follow;

struct sr_api_follow_options {
    struct sr_loop *loop;
    sr_runtime *runtime;
    struct sr_http_request *request;
    const atomic_bool *draining; /* the stream ends */
    bool loopback;               /* of its listener: it ends when it would be admitted no more */
};

/* Answers the request with a stream. 200; else no answer was begun: 400 with a constant in *why, 503. */
int sr_api_follow_start(struct sr_api_follow **out, const struct sr_api_follow_options *options,
                        const char **why) SR_WARN_UNUSED;

/* The request has ended. NULL is allowed. */
void sr_api_follow_stop(struct sr_api_follow *follow);

#endif
