/*
 * Cuts a long text into what was probably written in one piece: paragraphs, the lines of a long paragraph,
 * the sentences of a long line.
 *
 * Passages are in order, do not overlap and have at most SR_PASSAGE_MAX bytes; only white space lies between
 * them. Cuts are between characters. Pure; allocates nothing; time grows with the text.
 * training/passages.py is the twin for calibration.
 */
#ifndef SR_TEXT_PASSAGES_H
#define SR_TEXT_PASSAGES_H

#include "base/bytes.h"

#define SR_PASSAGE_MAX      ((size_t)800) /* bytes */
#define SR_PASSAGE_LEAST    ((size_t)24)  /* a shorter line or paragraph takes the next one in */
#define SR_PASSAGE_SENTENCE ((size_t)160) /* a shorter sentence takes the next one in */

struct sr_passage {
    size_t start, end; /* bytes of the text */
};

/* The next passage from *at on, which moves behind it; it starts at 0. False: there is none. */
bool sr_passage_next(struct sr_bytes text, size_t *at, struct sr_passage *out);

#endif
