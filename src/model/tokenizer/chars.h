/*
 * Properties of a code point for tokenizers: classes, normal forms, lower case.
 *
 * The answers are those of the tokenizers that models were trained with, which mix several versions of
 * Unicode, not those of the newest one (base/unicode.h): see tools/make_chars_ranges.py. Pure and thread-safe
 * after sr_chars_init.
 */
#ifndef SR_MODEL_TOKENIZER_CHARS_H
#define SR_MODEL_TOKENIZER_CHARS_H

#include "base/unicode.h"

enum sr_chars_flag {
    SR_CHARS_SPACE = 1 << 0,
    SR_CHARS_CONTROL = 1 << 1, /* dropped by clean_text: controls but TAB, LF, CR; U+0000, U+FFFD */
    SR_CHARS_PUNCT = 1 << 2,   /* ASCII punctuation and P* */
    SR_CHARS_CJK = 1 << 3,     /* BertNormalizer adds spaces around it */
    SR_CHARS_WORD = 1 << 4,    /* \w */
    SR_CHARS_LETTER = 1 << 5,  /* \p{L} */
    SR_CHARS_NUMBER = 1 << 6,  /* \p{N} */
    SR_CHARS_NUMERIC = 1 << 7, /* for the pre-tokenizer Digits */
    SR_CHARS_MARK = 1 << 8,    /* M*: removed by StripAccents */
    SR_CHARS_MN = 1 << 9,      /* Mn: removed by BertNormalizer's strip_accents */
    SR_CHARS_JOINS = 1 << 10,  /* combining class other than 0, or may compose with the character before it */
    SR_CHARS_SPLITS = 1 << 11, /* has a canonical decomposition */
    SR_CHARS_NFC = 1 << 12,    /* NFC changes it */
    SR_CHARS_COMPAT = 1 << 13, /* NFKD differs from NFD */
    SR_CHARS_UPPER = 1 << 14,  /* has another lower case */
};

#define SR_CHARS_DIRECT    0x20000 /* code points with an entry of their own */
#define SR_CHARS_LOWER_MAX 2
extern uint16_t sr_chars_table[SR_CHARS_DIRECT];

/* Builds the table on its first call, about a millisecond; any thread. Call it before all functions below. */
void sr_chars_init(void);

unsigned sr_chars_flags_far(int32_t cp);

static inline unsigned sr_chars_flags(int32_t cp)
{
    return cp < SR_CHARS_DIRECT ? sr_chars_table[cp] : sr_chars_flags_far(cp);
}

/* The full canonical (or compatibility) decomposition; returns the number of code points, 1 or more. */
size_t sr_chars_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX]);

/* Canonical combining class. */
unsigned sr_chars_ccc(int32_t cp);

/* The primary composite of two code points, -1 when there is none. */
int32_t sr_chars_compose(int32_t a, int32_t b);

/* sr_unicode_cluster_break, as the reference sees it. */
bool sr_chars_cluster_break(int32_t a, int32_t b, int32_t *state);

/* Full lower case without regard to neighbours. */
size_t sr_chars_lower(int32_t cp, int32_t out[SR_CHARS_LOWER_MAX]);

#endif
