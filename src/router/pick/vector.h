/*
 * The vector of a request for the policy that picks its worker: begun when the model is known, and waited for
 * for a moment; a request whose vector comes later is placed without it.
 *
 * One for each exchange, on its thread.
 */
#ifndef SR_ROUTER_PICK_VECTOR_H
#define SR_ROUTER_PICK_VECTOR_H

#include "router/cache/vector.h"
#include "router/request/request.h"

/* Bytes of the request's text that are read, from its beginning: a window of the encoder. */
#define SR_PICK_TEXT_MAX 1024

/* The longest wait. */
#define SR_PICK_WAIT_NS (UINT64_C(100) * 1000 * 1000)

struct sr_pick {
    struct sr_recall_vector *vector; /* NULL: not begun, or it cannot be had */
    bool asked;                      /* it was begun, or will not be */
    bool waits;                      /* `done` follows */
    uint64_t deadline_ns;
    void (*done)(void *ctx); /* given at birth; called once when it was waited for */
    void *ctx;
};

/* Begins, once. True: it is waited for, until `done` or the deadline. */
bool sr_pick_begin(struct sr_pick *pick, struct sr_embedding_reader *reader, const struct sr_request *doc,
                   uint64_t client, struct sr_mailbox *mailbox, struct sr_arena *arena);

/* It is not waited for any more. */
void sr_pick_go_on(struct sr_pick *pick);

/* Its numbers, of length 1, as long as the pick; NULL: it is not there. */
const float *sr_pick_vector(const struct sr_pick *pick);

void sr_pick_dispose(struct sr_pick *pick);

#endif
