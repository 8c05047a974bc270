/*
 * What a request brings for the policy that picks its worker and takes time: its vector, and its tokens.
 * Begun when the model is known, and waited for for a moment; a request for which they come later is placed
 * without.
 *
 * One for each exchange, on its thread.
 */
#ifndef SR_ROUTER_PICK_PICK_H
#define SR_ROUTER_PICK_PICK_H

#include "router/cache/vector.h"
#include "router/request/request.h"
#include "router/tokens.h"

/* Bytes of the request's text that are read, from its beginning: a window of the encoder. */
#define SR_PICK_TEXT_MAX 1024

struct sr_pick {
    struct sr_recall_vector *vector; /* NULL: not begun, or it cannot be had */
    struct sr_token_job *tokens;     /* that are waited for; NULL: none are */
    bool asked;                      /* all was begun that will be */
    bool waits;                      /* `done` follows */
    uint64_t deadline_ns;
    void (*done)(void *ctx); /* given at birth; called once when all is there that was waited for */
    void *ctx;
};

/* Begin, before `asked` is set. Where they have to be waited for, `waits` is true then, until `done` or the
 * deadline. */
void sr_pick_vector_begin(struct sr_pick *pick, struct sr_embedding_reader *reader,
                          const struct sr_request *doc, uint64_t client, const struct sr_span_ref *origin,
                          uint64_t wait_ns, struct sr_mailbox *mailbox, struct sr_arena *arena);
void sr_pick_tokens_begin(struct sr_pick *pick, struct sr_tokens *tokens,
                          const struct sr_token_question *question, struct sr_workers *workers,
                          uint64_t wait_ns, struct sr_mailbox *mailbox);

/* Nothing is waited for any more. */
void sr_pick_go_on(struct sr_pick *pick);

/* The vector's numbers, of length 1, as long as the pick; NULL: it is not there. */
const float *sr_pick_vector(const struct sr_pick *pick);

/* The token blocks that were waited for, as long as the pick; NULL: they are not there. */
const uint64_t *sr_pick_tokens(const struct sr_pick *pick, size_t *n);

void sr_pick_dispose(struct sr_pick *pick);

#endif
