/*
 * Code points: decoding, encoding, case folding and the few character classes that matching needs.
 *
 * The seam of utf8proc. Everything is pure and thread-safe; nothing allocates. Invalid bytes are never an
 * error here: each one reads as U+FFFD of length 1.
 */
#ifndef SR_TEXT_UTF8_H
#define SR_TEXT_UTF8_H

#include "base/bytes.h"

#include <stdint.h>

#define SR_UTF8_MAX         4  /* bytes of one code point */
#define SR_UTF8_FOLD_POINTS 4  /* code points that one may fold to */
#define SR_UTF8_FOLD_MAX    16 /* bytes of that */
#define SR_UTF8_REPLACEMENT 0xFFFD

/* How a character takes part in words. */
enum sr_utf8_class {
    SR_UTF8_OTHER,  /* space, punctuation, symbols, controls */
    SR_UTF8_WORD,   /* letters, marks, digits and `_` of scripts that put spaces between words */
    SR_UTF8_DENSE,  /* Han, kana, Thai, Lao, Khmer, Burmese: no spaces between words */
    SR_UTF8_KOREAN, /* Hangul: spaces between phrases, particles glued to the word's end */
};

/* Decodes the code point at s.p[at] (at < s.n) into `*cp`; returns its length in bytes, 1..4. */
size_t sr_utf8_decode(struct sr_bytes s, size_t at, int32_t *cp);

/* Decodes the code point that ends before s.p[at] (0 < at <= s.n); returns its length. */
size_t sr_utf8_decode_before(struct sr_bytes s, size_t at, int32_t *cp);

/* Writes `cp` (a valid code point) and returns its length. */
size_t sr_utf8_encode(int32_t cp, char out[SR_UTF8_MAX]);

/* Full Unicode case folding of one code point (U+00DF gives "ss"); returns the number written. */
size_t sr_utf8_fold(int32_t cp, int32_t out[SR_UTF8_FOLD_POINTS]);

/* Folds as much of `s` from `*at` as fits into out[0..cap), never half a code point; advances `*at` and
 * returns the bytes written. cap >= SR_UTF8_FOLD_MAX makes progress certain. ASCII stays in place and length.
 */
size_t sr_utf8_fold_into(struct sr_bytes s, size_t *at, char *out, size_t cap);

enum sr_utf8_class sr_utf8_class(int32_t cp);

/* General categories, as far as words and sentences ask for them; bits, 0 for everything else. */
enum sr_utf8_kind {
    SR_UTF8_LETTER = 1, /* L* */
    SR_UTF8_MARK = 2,   /* M* */
    SR_UTF8_DIGIT = 4,  /* Nd */
    SR_UTF8_UPPER = 8,  /* Lu; a letter too */
    SR_UTF8_LOWER = 16, /* Ll; a letter too */
};
unsigned sr_utf8_kind(int32_t cp);

/* Simple lower case of one code point: always one code point. */
int32_t sr_utf8_lower(int32_t cp);

/* Is every byte part of valid UTF-8 (no surrogates, no overlong forms)? */
bool sr_utf8_valid(struct sr_bytes s);

/* Index of the first byte >= 0x80, s.n when there is none. */
size_t sr_utf8_ascii_prefix(struct sr_bytes s);

/* Copies `s` to `out` (s.n bytes), each byte that is no valid UTF-8 replaced by '?': lengths and offsets
 * stay. */
void sr_utf8_clean(struct sr_bytes s, char *out);

/* Columns that `cp` takes on a terminal: 0, 1 or 2. */
int sr_utf8_columns(int32_t cp);

#endif
