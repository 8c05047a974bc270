/*
 * The hot loop of the scanner: the inside of a string.
 *
 * It has variants for several instruction sets; simd.c selects one at the first use. SR_CPU_MASK in the
 * environment limits the selection, for tests: a number with the bits below, 0 = portable only.
 */
#ifndef SR_JSON_SIMD_H
#define SR_JSON_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SR_SIMD_BASE = 1, /* the baseline of the architecture: SSE2, NEON */
    SR_SIMD_AVX2 = 2,
};

/* Moves over string content from `p`, which is at the boundary of a character. Returns the first byte that
 * stops the scan: a quote, a backslash, a control character, the first byte of a UTF-8 sequence that is
 * malformed or cut by `end`; or `end`. All bytes before it are valid. Never reads at or past `end`. With
 * `escaped`, valid escapes that end before `end` are content too, and set *escaped. */
typedef const uint8_t *sr_simd_skip_fn(const uint8_t *p, const uint8_t *end, bool *escaped);

/* The best variant that `mask` and the CPU allow. */
sr_simd_skip_fn *sr_simd_skip_for(unsigned mask);

/* The same with SR_CPU_MASK as the mask; cached, any thread. */
sr_simd_skip_fn *sr_simd_skip(void);

/* "avx2", "sse2", "neon" or "portable", for reports. */
const char *sr_simd_name(sr_simd_skip_fn *fn);

#endif
