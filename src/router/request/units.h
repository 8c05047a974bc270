/*
 * The units of a request, for guards: every string that is judged, decoded once and on its own, the seams
 * between the strings of one message, and the mapping from an offset in a text to the bytes of the body.
 *
 * Pure functions over spans and bytes. Images and token lists are no units.
 */
#ifndef SR_ROUTER_REQUEST_UNITS_H
#define SR_ROUTER_REQUEST_UNITS_H

#include "router/request/request.h"
#include "signal/signal.h"

/* A seam has the last and the first bytes of two neighbours, and of shorter ones than two such ends all. */
#define SR_UNIT_SEAM ((size_t)512)

struct sr_units {
    struct sr_signal_unit_list list; /* texts borrow from the body or the arena */
    const uint32_t *spans;           /* [list.n] the string of the body; SR_SPAN_NONE for a seam */
};

/* Reads the units of a request. In dialects without messages all texts are of one group. SR_ENOMEM. */
int sr_units_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_units *out) SR_WARN_UNUSED;

/* The units of the message whose span is `message`, as sr_units_read gives them, whatever else has arrived;
 * the span must be closed. SR_ENOMEM. */
int sr_units_of_message(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                        struct sr_units *out) SR_WARN_UNUSED;

/* The bytes of the body that hold [start, end) of the decoded text of the string whose span is `string`. An
 * escape sequence that the range cuts is included whole. */
void sr_units_span(const struct sr_request *doc, uint32_t string, size_t start, size_t end, size_t *from,
                   size_t *to);

#endif
