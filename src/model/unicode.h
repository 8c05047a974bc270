/*
 * What tokenizers ask of a code point: classes, normal forms, lower case; and decoding.
 *
 * Second seam of utf8proc (the first, text/utf8.c, is a sibling layer). The answers are those of the
 * tokenizers that models were trained with, which mix several versions of Unicode, not those of the newest
 * one: see tools/make_unicode_ranges.py. Pure and thread-safe after sr_unicode_init.
 */
#ifndef SR_MODEL_UNICODE_H
#define SR_MODEL_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sr_unicode_flag {
    SR_UNICODE_SPACE = 1 << 0,
    SR_UNICODE_CONTROL = 1 << 1, /* dropped by clean_text: controls but TAB, LF, CR; U+0000, U+FFFD */
    SR_UNICODE_PUNCT = 1 << 2,   /* ASCII punctuation and P* */
    SR_UNICODE_CJK = 1 << 3,     /* gets spaces around by BertNormalizer */
    SR_UNICODE_WORD = 1 << 4,    /* \w */
    SR_UNICODE_LETTER = 1 << 5,  /* \p{L} */
    SR_UNICODE_NUMBER = 1 << 6,  /* \p{N} */
    SR_UNICODE_NUMERIC = 1 << 7, /* for the pre-tokenizer Digits */
    SR_UNICODE_MARK = 1 << 8,    /* M*: removed by StripAccents */
    SR_UNICODE_MN = 1 << 9,      /* Mn: removed by BertNormalizer's strip_accents */
    SR_UNICODE_JOINS = 1 << 10,  /* combining class other than 0, or may compose with what stands before */
    SR_UNICODE_SPLITS = 1 << 11, /* has a canonical decomposition */
    SR_UNICODE_NFC = 1 << 12,    /* NFC changes it */
    SR_UNICODE_COMPAT = 1 << 13, /* NFKD gives something else than NFD */
    SR_UNICODE_UPPER = 1 << 14,  /* has another lower case */
};

#define SR_UNICODE_DIRECT      0x20000 /* code points with an entry of their own */
#define SR_UNICODE_POINTS_MAX  24      /* of one decomposition */
#define SR_UNICODE_LOWER_MAX   2
#define SR_UNICODE_REPLACEMENT 0xFFFD
extern uint16_t sr_unicode_table[SR_UNICODE_DIRECT];

/* Builds the table on its first call, about a millisecond; any thread. Must precede everything below. */
void sr_unicode_init(void);

unsigned sr_unicode_flags_far(int32_t cp);

static inline unsigned sr_unicode_flags(int32_t cp)
{
    return cp < SR_UNICODE_DIRECT ? sr_unicode_table[cp] : sr_unicode_flags_far(cp);
}

/* The full canonical (or compatibility) decomposition; returns the number of code points, 1 or more. */
size_t sr_unicode_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX]);

/* Canonical combining class. */
unsigned sr_unicode_ccc(int32_t cp);

/* The primary composite of two code points, -1 when there is none. */
int32_t sr_unicode_compose(int32_t a, int32_t b);

/* Full lower case without regard to neighbours. */
size_t sr_unicode_lower(int32_t cp, int32_t out[SR_UNICODE_LOWER_MAX]);

/* Length of the unit at p[0..n), n > 0: a valid sequence, or the longest run of bytes that Python's
 * decode(errors="replace") turns into one U+FFFD. *valid says which. */
size_t sr_unicode_unit(const char *p, size_t n, bool *valid);

/* Decodes valid UTF-8; returns the length. */
static inline size_t sr_unicode_decode(const char *s, int32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80)
        return *cp = p[0], 1;
    if (p[0] < 0xE0)
        return *cp = (p[0] & 0x1F) << 6 | (p[1] & 0x3F), 2;
    if (p[0] < 0xF0)
        return *cp = (p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F), 3;
    *cp = (p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    return 4;
}

/* Writes a code point; returns the length, 1..4. */
size_t sr_unicode_encode(int32_t cp, char out[4]);

static inline bool sr_unicode_is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

#endif
