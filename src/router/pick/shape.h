/*
 * The size of a request and what it is for, from the members of its body: what the choice among several pools
 * of a model is made from.
 *
 * Reads the body as it was received. Knows no pool and no estimate.
 */
#ifndef SR_ROUTER_PICK_SHAPE_H
#define SR_ROUTER_PICK_SHAPE_H

#include "router/request/request.h"

#include "config/config.h"

/* Tokens that an attached image, sound or file counts for: its bytes say nothing of them. */
#define SR_ATTACHMENT_TOKENS 1024

struct sr_shape {
    uint64_t bytes;       /* of the prompt's JSON, without what is attached */
    uint64_t attachments; /* strings of base64 */
    uint64_t most;        /* tokens of the answer that the request allows; 0: it does not say */
    bool has_tools;
    bool may_wait; /* `service_tier` is `flex`: the client does not wait for the answer */
};

/* The shape of a complete body, whose shape need not be checked. */
struct sr_shape sr_shape_of(const struct sr_request *doc);

/* The text of a member of `metadata`; `n` 0: there is none. */
struct sr_bytes sr_shape_metadata(const struct sr_request *doc, const char *key, struct sr_arena *arena);

#endif
