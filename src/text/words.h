/*
 * Words of a text, in one pass and without allocation.
 *
 * Scripts with spaces give maximal runs of letters, marks, digits and `_` (an apostrophe between letters does
 * not end a word: "don't" is one word). Scripts without spaces give one character at a time, Hangul gives
 * runs. Words longer than the iterator's buffer are cut there and the rest is skipped.
 */
#ifndef SR_TEXT_WORDS_H
#define SR_TEXT_WORDS_H

#include "base/unicode.h"

#define SR_WORD_MAX 128 /* bytes of a folded word */

struct sr_word {
    size_t start, end;                              /* byte offsets in the text */
    enum sr_unicode_class class;                    /* of its first character; never SR_UNICODE_OTHER */
    size_t points;                                  /* code points in `folded` */
    size_t n;                                       /* bytes in `folded` */
    char folded[SR_WORD_MAX + SR_UNICODE_FOLD_MAX]; /* case-folded; or as written with `keep_case` */
};

struct sr_words {
    struct sr_bytes text;
    size_t at;
    bool keep_case;
};

static inline struct sr_words sr_words_of(struct sr_bytes text, bool keep_case)
{
    return (struct sr_words){text, 0, keep_case};
}

/* The next word; false at the end of the text. */
bool sr_words_next(struct sr_words *words, struct sr_word *word);

/* Number of words in `text` (a character of a script without spaces counts as one). */
size_t sr_words_count(struct sr_bytes text);

/* Strips the English plural from a folded ASCII word of at least 4 letters ("queries" -> "query"); returns
 * the new length. May rewrite the last kept letter. */
size_t sr_words_stem(char *folded, size_t n);

#endif
