/*
 * Which parts of a text stand in scripts other than Latin: models whose vocabulary is of English cannot read
 * them.
 *
 * Counts letters, by ranges of code points; knows no languages (text/language.h). Any bytes; what is not
 * UTF-8 is no letter. Linear time, no memory.
 */
#ifndef SR_TEXT_SCRIPT_H
#define SR_TEXT_SCRIPT_H

#include "base/bytes.h"

#include <stdbool.h>

#define SR_SCRIPT_STRETCHES_MAX 8u  /* of one text */
#define SR_SCRIPT_STRETCH_GAP   64u /* bytes of other text that a stretch may hold between two letters */

/* A letter of a script that writes a syllable or a word with one sign (Han, Kana, Hangul) counts as three. A
 * stretch has at least this many: five such signs, or two words of an alphabet. Names in passing are none. */
#define SR_SCRIPT_STRETCH_LEAST 15u

/* True when a quarter of the letters, and more, are not Latin. */
bool sr_script_is_foreign(struct sr_bytes text);

struct sr_script_stretch {
    size_t start, end; /* bytes of the text, at borders of characters */
};

/* The parts of a text where letters of other scripts stand, in its order. All of them: where there are more
 * than SR_SCRIPT_STRETCHES_MAX, those with the least text between them are one. Returns how many. */
size_t sr_script_stretches(struct sr_bytes text, struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX]);

#endif
