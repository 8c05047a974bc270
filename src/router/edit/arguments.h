/*
 * The JSON of a call's arguments, a text in a string of the body: which of its bytes a placeholder replaces
 * so that it stays JSON.
 *
 * A text that is no JSON object or array is replaced as it stands. Reads forward, so that the findings of a
 * text together cost one reading; allocates nothing.
 */
#ifndef SR_ROUTER_EDIT_ARGUMENTS_H
#define SR_ROUTER_EDIT_ARGUMENTS_H

#include "base/bytes.h"

#include <stdbool.h>

/* A reading. Zeroed at first. */
struct sr_arguments {
    struct sr_bytes text;
    bool is_json; /* `text` is an object or an array */
    size_t at;    /* a token of it, or a character of a string */
    bool inside;  /* `at` is inside a string */
};

/* Bytes [start, end) of the text that one placeholder replaces. */
struct sr_arguments_piece {
    size_t start, end;
    bool open, close; /* a quote is needed before and behind it: there it is outside of a string */
};

/* Reads `text` from its beginning on, unless it is being read. */
void sr_arguments_read(struct sr_arguments *arguments, struct sr_bytes text);

/* The first piece of [*start, end), with whole numbers and escapes; *start moves behind it. Values beside
 * each other in one list are one piece. False when there is none left. Ranges are best given in order. */
bool sr_arguments_next(struct sr_arguments *arguments, size_t *start, size_t end,
                       struct sr_arguments_piece *out);

#endif
