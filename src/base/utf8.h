/*
 * UTF-8: decoding, encoding, validation. Properties of code points are in base/unicode.h.
 *
 * All functions are pure and thread-safe and do not allocate. Invalid bytes are not an error: each one
 * decodes as U+FFFD of length 1.
 */
#ifndef SR_BASE_UTF8_H
#define SR_BASE_UTF8_H

#include "base/bytes.h"

#include <stdint.h>

#define SR_UTF8_MAX         4 /* bytes of one code point */
#define SR_UTF8_REPLACEMENT 0xFFFD

/* Length of the well-formed sequence of two to four bytes at p[0..n), n > 0; 0 when there is none. */
static inline size_t sr_utf8_multibyte(const unsigned char *p, size_t n)
{
    unsigned char a = p[0];
    if (a >= 0xE0 && a < 0xF0) {
        if (n < 3 || (p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80)
            return 0;
        return (a == 0xE0 && p[1] < 0xA0) || (a == 0xED && p[1] > 0x9F) ? 0 : 3;
    }
    if (a >= 0xC2 && a < 0xE0)
        return n >= 2 && (p[1] & 0xC0) == 0x80 ? 2 : 0;
    if (a < 0xF0 || a > 0xF4 || n < 4)
        return 0;
    if ((p[1] & 0xC0) != 0x80 || (p[2] & 0xC0) != 0x80 || (p[3] & 0xC0) != 0x80)
        return 0;
    return (a == 0xF0 && p[1] < 0x90) || (a == 0xF4 && p[1] > 0x8F) ? 0 : 4;
}

/* The same with ASCII: 1 to 4, 0 when there is none. */
static inline size_t sr_utf8_sequence(const unsigned char *p, size_t n)
{
    return p[0] < 0x80 ? 1 : sr_utf8_multibyte(p, n);
}

/* Decodes the code point at s.p[at] (at < s.n) into `*cp`; returns its length in bytes, 1..4. */
size_t sr_utf8_decode(struct sr_bytes s, size_t at, int32_t *cp);

/* Decodes the code point that ends before s.p[at] (0 < at <= s.n); returns its length. */
size_t sr_utf8_decode_before(struct sr_bytes s, size_t at, int32_t *cp);

/* Decodes the sequence at `s`, which is known to be valid; returns its length. */
static inline size_t sr_utf8_decode_valid(const char *s, int32_t *cp)
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

/* Writes `cp` (a valid code point) and returns its length. */
static inline size_t sr_utf8_encode(int32_t cp, char out[SR_UTF8_MAX])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

/* Length of the unit at p[0..n), n > 0: a valid sequence, or the longest run that Python's
 * decode(errors="replace") turns into one U+FFFD. *valid is set accordingly. */
size_t sr_utf8_unit(const char *p, size_t n, bool *valid);

/* True when `c` is a continuation byte. */
static inline bool sr_utf8_is_tail(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* True when every byte is part of valid UTF-8 (no surrogates, no overlong forms). */
bool sr_utf8_valid(struct sr_bytes s);

/* Index of the first byte >= 0x80, s.n when there is none. */
size_t sr_utf8_ascii_prefix(struct sr_bytes s);

/* Copies `s` to `out` (s.n bytes), each byte that is not valid UTF-8 replaced by '?': lengths and offsets do
 * not change. */
void sr_utf8_clean(struct sr_bytes s, char *out);

#endif
