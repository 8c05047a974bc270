/*
 * Splits long texts into windows that overlap, so that text at a cut is whole in one of them.
 *
 * Cuts are between characters, and after white space where some is near. Pure; allocates nothing.
 */
#ifndef SR_TEXT_SLICES_H
#define SR_TEXT_SLICES_H

#include "base/bytes.h"

struct sr_slices {
    struct sr_bytes text;
    size_t size, overlap; /* bytes */
    size_t at;            /* offset of the next window */
    bool done;
};

struct sr_slice {
    size_t start, end; /* bytes of the text */
};

/* `size` at least 64, `overlap` at most half of it. */
struct sr_slices sr_slices_of(struct sr_bytes text, size_t size, size_t overlap);

/* The next window; false past the last. An empty text has one empty window. A window is at most `size` bytes
 * long; together they cover the text. */
bool sr_slices_next(struct sr_slices *windows, struct sr_slice *out);

#endif
