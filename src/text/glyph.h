/*
 * What the compressor asks about a code point, in one load: is it a space, a letter, a digit, of a script
 * without spaces, the end of a sentence; and its lower case.
 *
 * Code points below U+2000 come from a table that is built once per process (32 KB); running Han, kana and
 * Hangul are told by their block; the rest asks text/utf8.h. Pure and thread-safe after the first call.
 */
#ifndef SR_TEXT_GLYPH_H
#define SR_TEXT_GLYPH_H

#include "text/utf8.h"

/* Bits 24..31 of a glyph; bits 0..20 hold the lower case. */
#define SR_GLYPH_SPACE  (1u << 24) /* Unicode White_Space */
#define SR_GLYPH_LETTER (1u << 25)
#define SR_GLYPH_DIGIT  (1u << 26) /* decimal digits of any script */
#define SR_GLYPH_MARK   (1u << 27)
#define SR_GLYPH_UPPER  (1u << 28)
#define SR_GLYPH_LOWER  (1u << 29)
#define SR_GLYPH_CJK    (1u << 30) /* scripts Han, Hiragana, Katakana, Hangul */
#define SR_GLYPH_DENSE  (1u << 31) /* other scripts without spaces: Thai, Lao, Khmer, Burmese, Tibetan */
#define SR_GLYPH_POINT  0x1FFFFFu

#define SR_GLYPH_TABLE 0x2000

/* The table, built at the first call. Lives as long as the process. */
const uint32_t *sr_glyph_table(void);

/* The glyph of a code point that the table does not hold. */
uint32_t sr_glyph_far(int32_t cp);

static inline uint32_t sr_glyph_of(const uint32_t *table, int32_t cp)
{
    return cp < SR_GLYPH_TABLE ? table[cp] : sr_glyph_far(cp);
}

/* Decodes s.p[at] and looks it up; returns the length in bytes. Invalid bytes read as U+FFFD of length 1. */
static inline size_t sr_glyph_at(const uint32_t *table, struct sr_bytes s, size_t at, int32_t *cp,
                                 uint32_t *glyph)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    if (p[0] < 0x80) {
        *cp = p[0];
        *glyph = table[p[0]];
        return 1;
    }
    if (p[0] >= 0xC2 && p[0] < 0xE0 && s.n - at >= 2 && (p[1] & 0xC0) == 0x80) {
        *cp = (p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        *glyph = table[*cp];
        return 2;
    }
    if (p[0] >= 0xE1 && p[0] < 0xED && s.n - at >= 3 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80) {
        *cp = (p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        *glyph = *cp >= 0x4E00 && *cp <= 0x9FFF ? (uint32_t)*cp | SR_GLYPH_LETTER | SR_GLYPH_CJK
                                                 : sr_glyph_of(table, *cp);
        return 3;
    }
    size_t n = sr_utf8_decode(s, at, cp);
    *glyph = sr_glyph_of(table, *cp);
    return n;
}

/* A mark that ends a sentence in the published algorithm: . ! ? and eight others. */
static inline bool sr_glyph_is_terminator(int32_t cp)
{
    if (cp < 0x80)
        return cp == '.' || cp == '!' || cp == '?';
    return cp == 0x3002 || cp == 0xFF01 || cp == 0xFF1F || cp == 0x061F || cp == 0x0964 || cp == 0x0965 ||
           cp == 0x1362 || cp == 0x0589;
}

#endif
