/*
 * Sixteen ASCII bytes at a time: what the compressor's inner loops look for, as bit masks.
 *
 * SSE2 on x86-64 (always there), NEON on aarch64, plain C elsewhere; all give the same. Reads only what it is
 * told is there.
 */
#ifndef SR_TEXT_ASCII_H
#define SR_TEXT_ASCII_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Bit i describes byte i of 64. */
struct sr_ascii_masks {
    uint64_t word;  /* letters, digits, `_` */
    uint64_t space; /* U+0009 to U+000D, U+0020 */
    uint64_t mark;  /* other printable ASCII */
};

/* How one byte falls into the masks; plain C, and the definition. */
static inline int sr_ascii_is_word(unsigned char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26 || (unsigned)(c - '0') < 10 || c == '_';
}

static inline int sr_ascii_is_space(unsigned char c)
{
    return c == ' ' || (unsigned)(c - '\t') < 5;
}

static inline int sr_ascii_is_mark(unsigned char c)
{
    return c > ' ' && c < 0x7F && !sr_ascii_is_word(c);
}

#if defined(__SSE2__)

/* Bytes c with low <= c < low + n. */
static inline __m128i sr_ascii_range(__m128i v, char low, char n)
{
    __m128i moved = _mm_add_epi8(v, _mm_set1_epi8((char)(-128 - low)));
    return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(-128 + n)));
}

static inline void sr_ascii_sixteen(const char *p, uint64_t *word, uint64_t *space, uint64_t *mark)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i lower = _mm_or_si128(v, _mm_set1_epi8(0x20));
    __m128i w = _mm_or_si128(_mm_or_si128(sr_ascii_range(lower, 'a', 26), sr_ascii_range(v, '0', 10)),
                             _mm_cmpeq_epi8(v, _mm_set1_epi8('_')));
    __m128i s = _mm_or_si128(sr_ascii_range(v, '\t', 5), _mm_cmpeq_epi8(v, _mm_set1_epi8(' ')));
    __m128i printable = sr_ascii_range(v, '!', 94);
    *word = (uint32_t)_mm_movemask_epi8(w);
    *space = (uint32_t)_mm_movemask_epi8(s);
    *mark = (uint32_t)_mm_movemask_epi8(_mm_andnot_si128(w, printable));
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

static inline uint64_t sr_ascii_bits(uint8x16_t v)
{
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t weighted = vandq_u8(v, vld1q_u8(weights));
    return vaddv_u8(vget_low_u8(weighted)) | (uint64_t)vaddv_u8(vget_high_u8(weighted)) << 8;
}

static inline uint8x16_t sr_ascii_range(uint8x16_t v, uint8_t low, uint8_t n)
{
    return vcltq_u8(vsubq_u8(v, vdupq_n_u8(low)), vdupq_n_u8(n));
}

static inline void sr_ascii_sixteen(const char *p, uint64_t *word, uint64_t *space, uint64_t *mark)
{
    uint8x16_t v = vld1q_u8((const uint8_t *)p);
    uint8x16_t lower = vorrq_u8(v, vdupq_n_u8(0x20));
    uint8x16_t w = vorrq_u8(vorrq_u8(sr_ascii_range(lower, 'a', 26), sr_ascii_range(v, '0', 10)),
                            vceqq_u8(v, vdupq_n_u8('_')));
    uint8x16_t s = vorrq_u8(sr_ascii_range(v, '\t', 5), vceqq_u8(v, vdupq_n_u8(' ')));
    *word = sr_ascii_bits(w);
    *space = sr_ascii_bits(s);
    *mark = sr_ascii_bits(vbicq_u8(sr_ascii_range(v, '!', 94), w));
}

#else

static inline void sr_ascii_sixteen(const char *p, uint64_t *word, uint64_t *space, uint64_t *mark)
{
    *word = *space = *mark = 0;
    for (int i = 0; i < 16; i++) {
        unsigned char c = (unsigned char)p[i];
        *word |= (uint64_t)sr_ascii_is_word(c) << i;
        *space |= (uint64_t)sr_ascii_is_space(c) << i;
        *mark |= (uint64_t)sr_ascii_is_mark(c) << i;
    }
}

#endif

/* Of the first `n` (at most 64) bytes at `p`, all ASCII; what is beyond them is white space in the masks. */
static inline struct sr_ascii_masks sr_ascii_read(const char *p, size_t n)
{
    struct sr_ascii_masks m = {0, 0, 0};
    char tail[64];
    if (n < 64) {
        memset(tail, ' ', sizeof tail);
        memcpy(tail, p, n);
        p = tail;
    }
    for (int i = 0; i < 64; i += 16) {
        uint64_t word, space, mark;
        sr_ascii_sixteen(p + i, &word, &space, &mark);
        m.word |= word << i;
        m.space |= space << i;
        m.mark |= mark << i;
    }
    return m;
}

/* Index of the first byte of p[0..n) that may end a sentence or a line, `.`, `!`, `?`, a line feed, or that
 * is not ASCII; n when there is none. */
static inline size_t sr_ascii_find_end(const char *p, size_t n)
{
    size_t i = 0;
#if defined(__SSE2__)
    for (; i + 16 <= n; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i hit = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('.')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))),
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('!')), _mm_cmpeq_epi8(v, _mm_set1_epi8('?'))));
        unsigned bits = (unsigned)_mm_movemask_epi8(_mm_or_si128(hit, v));
        if (bits)
            return i + (size_t)__builtin_ctz(bits);
    }
#endif
    while (i < n && (unsigned char)p[i] < 0x80 && p[i] != '.' && p[i] != '\n' && p[i] != '!' && p[i] != '?')
        i++;
    return i;
}

#endif
