/*
 * Words of a text, for labels of its tokens: which tokens are one word, and how it is written.
 *
 * A vocabulary without capitals cannot tell "Brown" from "brown", the text can: where it writes common words
 * in small letters and others with a capital, this tells a name. A word is a run of letters, marks and
 * digits. Pure functions; linear time but for words of more than SR_WORD_MOST bytes, which are cut.
 */
#ifndef SR_INFER_CLASSIFIER_WORD_H
#define SR_INFER_CLASSIFIER_WORD_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_WORD_SPACED "\xe2\x96\x81" /* SentencePiece's mark of a space before a token */
#define SR_WORD_MOST   64u            /* bytes before and behind a token that may be of its word */

enum sr_word_case {
    SR_WORD_PLAIN,  /* says nothing: no letter, mixed, or a text that uses capitals for all words or none */
    SR_WORD_SMALL,  /* "brown" */
    SR_WORD_INSIDE, /* "Brown" in a sentence */
    SR_WORD_FIRST,  /* the same where one begins */
    SR_WORD_TALL,   /* "BROWN" */
    SR_WORD_CASES,
};

/* Of the tokens at [starts[i], ends[i]) of `text`, each by its word. */
void sr_word_cases(struct sr_bytes text, const uint32_t *starts, const uint32_t *ends, size_t n,
                   uint8_t *out);

/* Does a token continue the word of the one before it? WordPiece says so ("##ing"). Where the vocabulary
 * marks tokens behind a space (`spaced`, SentencePiece) two tokens without such a mark between them are one
 * word where letters touch, in scripts that put spaces between words and join no particles. */
bool sr_word_continues(struct sr_bytes before, struct sr_bytes token, bool spaced);

#endif
