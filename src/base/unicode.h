/*
 * Properties of a code point: word class, category, case folding, normal forms, width.
 *
 * Wraps utf8proc for every layer. All functions are pure and thread-safe and do not allocate. Tokenizers need
 * older versions of Unicode: model/tokenizer/chars.h corrects these answers.
 */
#ifndef SR_BASE_UNICODE_H
#define SR_BASE_UNICODE_H

#include "base/utf8.h"

#define SR_UNICODE_FOLD_POINTS 4  /* code points that one code point may fold to */
#define SR_UNICODE_FOLD_MAX    16 /* the same in bytes */
#define SR_UNICODE_POINTS_MAX  24 /* code points of one decomposition */

/* How a character belongs to words. */
enum sr_unicode_class {
    SR_UNICODE_OTHER,  /* space, punctuation, symbols, controls */
    SR_UNICODE_WORD,   /* letters, marks, digits and `_` of scripts that put spaces between words */
    SR_UNICODE_DENSE,  /* Han, kana, Thai, Lao, Khmer, Burmese: no spaces between words */
    SR_UNICODE_KOREAN, /* Hangul: spaces between phrases, particles joined to the end of a word */
};

/* Full Unicode case folding of one code point (U+00DF gives "ss"); returns the number written. */
size_t sr_unicode_fold(int32_t cp, int32_t out[SR_UNICODE_FOLD_POINTS]);

/* Folds as much of `s` from `*at` as fits into out[0..cap), never half a code point; advances `*at` and
 * returns the bytes written. cap >= SR_UNICODE_FOLD_MAX guarantees progress. ASCII keeps its offset and
 * length. */
size_t sr_unicode_fold_into(struct sr_bytes s, size_t *at, char *out, size_t cap);

enum sr_unicode_class sr_unicode_class(int32_t cp);

/* The general categories that word and sentence rules use, as bits; 0 for all others. */
enum sr_unicode_kind {
    SR_UNICODE_LETTER = 1, /* L* */
    SR_UNICODE_MARK = 2,   /* M* */
    SR_UNICODE_DIGIT = 4,  /* Nd */
    SR_UNICODE_UPPER = 8,  /* Lu; a letter too */
    SR_UNICODE_LOWER = 16, /* Ll; a letter too */
};
unsigned sr_unicode_kind(int32_t cp);

/* Simple lower case of one code point: always one code point. */
int32_t sr_unicode_lower(int32_t cp);

/* The full canonical (or compatibility) decomposition; returns the number of code points, 1 or more. */
size_t sr_unicode_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX]);

/* Canonical combining class. */
unsigned sr_unicode_ccc(int32_t cp);

/* The primary composite of two code points, -1 when there is none. */
int32_t sr_unicode_compose(int32_t a, int32_t b);

/* True when a boundary of user-perceived characters (UAX 29, extended grapheme clusters) lies between `a` and
 * `b`. *state is 0 at the first pair after a boundary and carries what is needed from pair to pair. */
bool sr_unicode_cluster_break(int32_t a, int32_t b, int32_t *state);

/* Columns that `cp` takes on a terminal: 0, 1 or 2. */
int sr_unicode_columns(int32_t cp);

#endif
