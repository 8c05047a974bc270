/*
 * What a request brings for the policy that picks its worker, and no more than the policy needs.
 *
 * Reads the body as it was received; an inserted system prompt counts through `seed`. Everything lies in the
 * request's arena. Chooses nothing.
 */
#ifndef SR_ROUTER_PICK_ASK_H
#define SR_ROUTER_PICK_ASK_H

#include "pool/policy.h"
#include "router/request/request.h"

/* Most blocks of a prompt that are compared: the rest of a longer one counts as not cached. */
#define SR_ASK_BLOCKS_MAX 65536

/* Bytes of JSON that are taken for a token. */
#define SR_ASK_TOKEN_BYTES 4

struct sr_ask_inputs {
    uint32_t needs;               /* enum sr_pool_needs */
    const struct sr_request *doc; /* a complete body; its shape need not be checked */
    struct sr_bytes session;      /* value of the session's header; empty: none */
    struct sr_bytes user;         /* the known user; empty: none */
    uint32_t block_tokens;
    uint64_t seed; /* of what the router puts before the prompt */
};

/* Fills `out`. Sessions are, in this order: the header, the body's `user`, the known user. SR_ENOMEM. */
int sr_ask_make(const struct sr_ask_inputs *in, struct sr_arena *arena,
                struct sr_pool_ask *out) SR_WARN_UNUSED;

#endif
