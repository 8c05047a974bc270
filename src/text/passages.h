/*
 * Cuts a text into what was probably written in one piece.
 *
 * Passages are in order, do not overlap and have at most `most` bytes of their form; only white space lies
 * between them. Cuts are between characters. Pure; allocates nothing; time grows with the text.
 * training/passages.py is the twin for calibration.
 */
#ifndef SR_TEXT_PASSAGES_H
#define SR_TEXT_PASSAGES_H

#include "base/bytes.h"

/* Sizes are bytes. */
struct sr_passage_form {
    size_t most;     /* of a passage */
    size_t least;    /* a shorter line or paragraph takes the next one in */
    size_t sentence; /* a shorter sentence takes the next one in */
    bool lines;      /* each line is a passage; false: each paragraph, and each line of a long one */
};

/* Paragraphs, the lines of a long paragraph, the sentences of a long line. */
extern const struct sr_passage_form sr_passage_paragraphs;

/* Lines, and the sentences of a long line, of a text of so many bytes: at most `n` passages, n > 1. A short
 * last line goes with the one before it. */
struct sr_passage_form sr_passage_lines(size_t bytes, size_t n);

struct sr_passage {
    size_t start, end; /* bytes of the text */
};

/* The next passage from *at on, which moves behind it; it starts at 0. False: there is none. */
bool sr_passage_next(struct sr_bytes text, const struct sr_passage_form *form, size_t *at,
                     struct sr_passage *out);

#endif
