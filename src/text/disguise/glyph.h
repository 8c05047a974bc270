/*
 * The properties of a code point for the compressor, in one load: space, letter, digit, script without
 * spaces, end of a sentence; and its lower case.
 *
 * Code points below U+3100 and the full-width forms come from a table that is built once per process (50 KB);
 * common Han and Hangul are recognised by their block; base/unicode.h answers for the rest. Pure and
 * thread-safe after the first call.
 */
#ifndef SR_TEXT_DISGUISE_GLYPH_H
#define SR_TEXT_DISGUISE_GLYPH_H

#include "base/utf8.h"

/* Bits 23..31 of a glyph; bits 0..20 hold the lower case. */
#define SR_GLYPH_STOP   (1u << 23) /* may end a sentence, by the default rules */
#define SR_GLYPH_SPACE  (1u << 24) /* Unicode White_Space */
#define SR_GLYPH_LETTER (1u << 25)
#define SR_GLYPH_DIGIT  (1u << 26) /* decimal digits of any script */
#define SR_GLYPH_MARK   (1u << 27)
#define SR_GLYPH_UPPER  (1u << 28)
#define SR_GLYPH_LOWER  (1u << 29)
#define SR_GLYPH_CJK    (1u << 30) /* scripts Han, Hiragana, Katakana, Hangul */
#define SR_GLYPH_DENSE  (1u << 31) /* other scripts without spaces: Thai, Lao, Khmer, Burmese, Tibetan */
#define SR_GLYPH_POINT  0x1FFFFFu

#define SR_GLYPH_TABLE 0x3100 /* code points from 0 on */
#define SR_GLYPH_FULL  0xFF00 /* and 256 more from here on, stored after them */

/* Returns the table, which the first call builds. Valid as long as the process. */
const uint32_t *sr_glyph_table(void);

/* The glyph of a code point that the table does not hold. */
uint32_t sr_glyph_far(int32_t cp);

static inline uint32_t sr_glyph_of(const uint32_t *table, int32_t cp)
{
    if (cp < SR_GLYPH_TABLE)
        return table[cp];
    return (cp & ~0xFF) == SR_GLYPH_FULL ? table[SR_GLYPH_TABLE + (cp & 0xFF)] : sr_glyph_far(cp);
}

/* The slow path of sr_glyph_at: incomplete, invalid or four-byte sequences. */
size_t sr_glyph_at_slowly(struct sr_bytes s, size_t at, int32_t *cp, uint32_t *glyph);

/* Decodes s.p[at] and looks it up; returns the length in bytes. Invalid bytes read as U+FFFD of length 1. */
static inline __attribute__((always_inline)) size_t sr_glyph_at(const uint32_t *table, struct sr_bytes s,
                                                                size_t at, int32_t *cp, uint32_t *glyph)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    if (p[0] < 0x80) {
        *cp = p[0];
        *glyph = table[p[0]];
        return 1;
    }
    if (s.n - at >= 3) {
        unsigned second = p[1] ^ 0x80u, third = p[2] ^ 0x80u; /* below 0x40: continuations */
        if (p[0] >= 0xC2 && p[0] < 0xE0 && second < 0x40) {
            *cp = (int32_t)((p[0] & 0x1Fu) << 6 | second);
            *glyph = table[*cp];
            return 2;
        }
        int32_t point = (int32_t)((p[0] & 0x0Fu) << 12 | second << 6 | third);
        bool whole = (p[0] & 0xF0) == 0xE0 && (second | third) < 0x40;
        if (whole && point >= 0x800 && point < SR_GLYPH_TABLE) {
            *cp = point;
            *glyph = table[point];
            return 3;
        }
        if (whole && ((point >= 0x4E00 && point <= 0x9FFF) || (point >= 0xAC00 && point <= 0xD7A3))) {
            *cp = point;
            *glyph = (uint32_t)point | SR_GLYPH_LETTER | SR_GLYPH_CJK;
            return 3;
        }
    }
    return sr_glyph_at_slowly(s, at, cp, glyph);
}

/* Marks that end a sentence without a space after them: CJK, Indic, Burmese, Khmer, Tibetan, Thai. */
static inline bool sr_glyph_ends_alone(int32_t cp)
{
    return cp == 0x3002 || cp == 0xFF01 || cp == 0xFF1F || cp == 0xFF61 || cp == 0xFF0E || cp == 0x0964 ||
           cp == 0x0965 || cp == 0x1362 || cp == 0x104A || cp == 0x104B || cp == 0x17D4 || cp == 0x17D5 ||
           cp == 0x0F0D || cp == 0x0E5A || cp == 0x0E5B;
}

/* Marks that end a sentence when white space follows: Latin, Arabic, Armenian, Greek. */
static inline bool sr_glyph_ends_spaced(int32_t cp)
{
    return cp == '.' || cp == '!' || cp == '?' || cp == 0x2026 || cp == 0x061F || cp == 0x06D4 ||
           cp == 0x0589 || cp == 0x037E || cp == 0x203C || cp == 0x2047 || cp == 0x2048 || cp == 0x2049;
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
