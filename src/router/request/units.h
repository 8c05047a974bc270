/*
 * The units of a request, for guards: every string that is judged, decoded once and on its own, the seams
 * between the strings of one message, and the mapping from an offset in a text to the bytes of the body.
 *
 * Pure functions over spans and bytes. What cannot be read (images, token lists) is no unit, but counted.
 */
#ifndef SR_ROUTER_REQUEST_UNITS_H
#define SR_ROUTER_REQUEST_UNITS_H

#include "router/request/walk.h"

/* A seam has the last and the first bytes of two neighbours, and of shorter ones than two such ends all. */
#define SR_UNIT_SEAM ((size_t)512)

/* Where a unit's string stands in the body. */
struct sr_unit_place {
    size_t start, end; /* its bytes, without the quotes; both 0 for a seam */
    bool escaped;
    bool is_json;   /* the string may hold JSON: the arguments of a call, other text of a message */
    bool is_number; /* it is a number without quotes: what replaces any of it replaces all, with quotes; with
                       `is_json` one in the JSON of a string */
};

/* Strings of this many bytes and more are judged alone in tools, documents and fields. */
#define SR_UNIT_ALONE 24u

/* Where the last search in a string ended, so that the next one continues there. Zeroed at first. */
struct sr_unit_cursor {
    const struct sr_unit_place *place;
    size_t at, raw; /* a byte of the decoded text, and of the body */
};

struct sr_units {
    struct sr_signal_unit_list list;    /* texts borrow from the body or the arena; `unread` is 0 */
    struct sr_signal_unit *items;       /* those of the list */
    const struct sr_unit_place *places; /* [list.n] */
    struct sr_unread unread;            /* what the request has besides */
};

/* Reads the units of a request. A group is a message, a tool, a document, or another member; prompts and
 * instructions that follow each other are one. SR_ENOMEM. */
int sr_units_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_units *out) SR_WARN_UNUSED;

/* The units of the message whose span is `message`, as sr_units_read gives them, whatever else has arrived;
 * the span must be closed. SR_ENOMEM. */
int sr_units_of_message(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                        struct sr_units *out) SR_WARN_UNUSED;

/* The bytes of the body that hold [start, end) of the decoded text of the string at `place`. An escape
 * sequence that the range cuts is included whole. */
void sr_units_span(const struct sr_request *doc, const struct sr_unit_place *place,
                   struct sr_unit_cursor *cursor, size_t start, size_t end, size_t *from, size_t *to);

#endif
