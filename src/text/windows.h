/*
 * Long texts in windows that overlap, so that what stands at a cut is whole in one of them.
 *
 * Cuts lie between characters, and behind white space where some is near. Pure; allocates nothing.
 */
#ifndef SR_TEXT_WINDOWS_H
#define SR_TEXT_WINDOWS_H

#include "base/bytes.h"

struct sr_windows {
    struct sr_bytes text;
    size_t size, overlap; /* bytes */
    size_t at;            /* where the next window begins */
    bool done;
};

struct sr_window {
    size_t start, end; /* bytes of the text */
};

/* `size` at least 64, `overlap` at most half of it. */
struct sr_windows sr_windows_of(struct sr_bytes text, size_t size, size_t overlap);

/* The next window; false past the last. An empty text has one empty window. A window is at most `size` bytes
 * long; together they cover the text. */
bool sr_windows_next(struct sr_windows *windows, struct sr_window *out);

#endif
