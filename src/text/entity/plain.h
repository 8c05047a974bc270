/* A row of digits and what is beside it, in ASCII. Private to text/entity. */
#ifndef SR_TEXT_ENTITY_PLAIN_H
#define SR_TEXT_ENTITY_PLAIN_H

#include "text/entity/row.h"

#define SR_PLAIN_MAX 1024

/* A copy of a stretch of a text, and where its bytes come from. */
struct sr_plain {
    size_t n;
    size_t row;  /* where the row begins, with a sign or bracket before it */
    float least; /* confidence of a number in it: a word must name what such marks do not tell */
    char text[SR_PLAIN_MAX];
    size_t from[SR_PLAIN_MAX],
        to[SR_PLAIN_MAX]; /* bytes [from, to) of the text: the character of this byte */
};

/* Copies the row as it is usually written: digits and marks in ASCII, single digits without gaps. False when
 * it is written so already, or too short for a number of interest. */
bool sr_plain_copy(struct sr_bytes text, const struct sr_row *row, struct sr_plain *out);

#endif
