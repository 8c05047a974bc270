/*
 * The turns of a request, for guards: every message's and tool result's texts, decoded once, and the
 * mapping from an offset in a text to the bytes of the body.
 *
 * Pure functions over spans and bytes. Images and token lists are no turns.
 */
#ifndef SR_ROUTER_REQUEST_TURNS_H
#define SR_ROUTER_REQUEST_TURNS_H

#include "router/request/request.h"
#include "signal/signal.h"

/* One string of the body inside a turn's text. */
struct sr_turn_piece {
    uint32_t turn;
    uint32_t span;
    size_t start, end; /* bytes of the turn's text */
};

struct sr_turns {
    struct sr_signal_turn *items; /* texts borrow from the body or the arena */
    size_t n;
    struct sr_turn_piece *pieces; /* ordered by turn and offset */
    size_t n_pieces;
};

/* Reads the turns of a request. In dialects without messages all texts together are one turn. SR_ENOMEM. */
int sr_turns_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_turns *out) SR_WARN_UNUSED;

/* The role and the text of the message whose span is `message`, as sr_turns_read gives them, whatever else
 * has arrived; the span must be closed. SR_ENOMEM. */
int sr_turns_one(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                 struct sr_signal_turn *out) SR_WARN_UNUSED;

/* The bytes of the body that hold [start, end) of a piece's decoded text, both inside the piece. An escape
 * sequence that the range cuts is included whole. */
void sr_turns_span(const struct sr_request *doc, const struct sr_turn_piece *piece, size_t start, size_t end,
                   size_t *from, size_t *to);

#endif
