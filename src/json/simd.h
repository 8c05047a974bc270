/*
 * The one hot loop of the scanner: over the inside of a string.
 *
 * One contract, several instruction sets; simd.c picks at the first use. SR_CPU_MASK in the environment
 * lowers what may be used, for tests: a number with the bits below, 0 = portable only.
 */
#ifndef SR_JSON_SIMD_H
#define SR_JSON_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SR_SIMD_BASE = 1, /* what every CPU of the architecture has: SSE2, NEON */
    SR_SIMD_AVX2 = 2,
};

/* Moves over string content from `p`, which is at the boundary of a character. Returns the first byte that
 * needs a look: a quote, a backslash, a control character, the first byte of a UTF-8 sequence that is
 * malformed or cut by `end`; or `end`. All bytes before it are valid. Never reads at or past `end`.
 * With `escaped`, valid escapes that lie whole before `end` are content too, and set *escaped. */
typedef const uint8_t *sr_simd_skip_fn(const uint8_t *p, const uint8_t *end, bool *escaped);

/* The best one that `mask` and the CPU allow. */
sr_simd_skip_fn *sr_simd_skip_for(unsigned mask);

/* The same under SR_CPU_MASK; cached, any thread. */
sr_simd_skip_fn *sr_simd_skip(void);

/* "avx2", "sse2", "neon" or "portable", for reports. */
const char *sr_simd_name(sr_simd_skip_fn *fn);

/* The length of the well-formed UTF-8 sequence of two to four bytes at `p`, 0 when there is none before
 * `end`. p < end. */
static inline size_t sr_utf8_length(const uint8_t *p, const uint8_t *end)
{
    size_t n = (size_t)(end - p);
    uint8_t a = p[0];
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

#endif
