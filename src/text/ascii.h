/*
 * Classifies sixteen ASCII bytes at a time into bit masks, for the compressor's inner loops.
 *
 * SSE2 on x86-64, NEON on aarch64, plain C elsewhere, all with the same results. Reads only the given bytes.
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

/* The masks of one byte; plain C, and the definition. */
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

/* Sixteen bytes: a comparison gives 0xFF where it holds. */
#if defined(__SSE2__)

typedef __m128i sr_ascii_v;

static inline sr_ascii_v sr_ascii_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Bytes c with low <= c < low + n. */
static inline sr_ascii_v sr_ascii_range(sr_ascii_v v, char low, char n)
{
    __m128i moved = _mm_add_epi8(v, _mm_set1_epi8((char)(-128 - low)));
    return _mm_cmplt_epi8(moved, _mm_set1_epi8((char)(-128 + n)));
}

static inline sr_ascii_v sr_ascii_is(sr_ascii_v v, char c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

static inline sr_ascii_v sr_ascii_lowered(sr_ascii_v v)
{
    return _mm_or_si128(v, _mm_set1_epi8(0x20));
}

static inline sr_ascii_v sr_ascii_or(sr_ascii_v a, sr_ascii_v b)
{
    return _mm_or_si128(a, b);
}

static inline sr_ascii_v sr_ascii_but(sr_ascii_v a, sr_ascii_v b)
{
    return _mm_andnot_si128(b, a);
}

/* The highest bit of each byte. */
static inline uint64_t sr_ascii_bits(sr_ascii_v v)
{
    return (uint32_t)_mm_movemask_epi8(v);
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

typedef uint8x16_t sr_ascii_v;

static inline sr_ascii_v sr_ascii_load(const char *p)
{
    return vld1q_u8((const uint8_t *)p);
}

static inline sr_ascii_v sr_ascii_range(sr_ascii_v v, char low, char n)
{
    return vcltq_u8(vsubq_u8(v, vdupq_n_u8((uint8_t)low)), vdupq_n_u8((uint8_t)n));
}

static inline sr_ascii_v sr_ascii_is(sr_ascii_v v, char c)
{
    return vceqq_u8(v, vdupq_n_u8((uint8_t)c));
}

static inline sr_ascii_v sr_ascii_lowered(sr_ascii_v v)
{
    return vorrq_u8(v, vdupq_n_u8(0x20));
}

static inline sr_ascii_v sr_ascii_or(sr_ascii_v a, sr_ascii_v b)
{
    return vorrq_u8(a, b);
}

static inline sr_ascii_v sr_ascii_but(sr_ascii_v a, sr_ascii_v b)
{
    return vbicq_u8(a, b);
}

static inline uint64_t sr_ascii_bits(sr_ascii_v v)
{
    static const uint8_t weights[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t high = vreinterpretq_u8_s8(vshrq_n_s8(vreinterpretq_s8_u8(v), 7));
    uint8x16_t weighted = vandq_u8(high, vld1q_u8(weights));
    return vaddv_u8(vget_low_u8(weighted)) | (uint64_t)vaddv_u8(vget_high_u8(weighted)) << 8;
}

#else

typedef struct {
    unsigned char at[16];
} sr_ascii_v;

#define SR_ASCII_EACH(expression)                                                                            \
    sr_ascii_v out;                                                                                          \
    for (int i = 0; i < 16; i++)                                                                             \
        out.at[i] = (unsigned char)(expression);                                                             \
    return out

static inline sr_ascii_v sr_ascii_load(const char *p)
{
    SR_ASCII_EACH(p[i]);
}

static inline sr_ascii_v sr_ascii_range(sr_ascii_v v, char low, char n)
{
    SR_ASCII_EACH((unsigned char)(v.at[i] - low) < n ? 0xFF : 0);
}

static inline sr_ascii_v sr_ascii_is(sr_ascii_v v, char c)
{
    SR_ASCII_EACH(v.at[i] == (unsigned char)c ? 0xFF : 0);
}

static inline sr_ascii_v sr_ascii_lowered(sr_ascii_v v)
{
    SR_ASCII_EACH(v.at[i] | 0x20);
}

static inline sr_ascii_v sr_ascii_or(sr_ascii_v a, sr_ascii_v b)
{
    SR_ASCII_EACH(a.at[i] | b.at[i]);
}

static inline sr_ascii_v sr_ascii_but(sr_ascii_v a, sr_ascii_v b)
{
    SR_ASCII_EACH(a.at[i] & ~b.at[i]);
}

static inline uint64_t sr_ascii_bits(sr_ascii_v v)
{
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= (uint64_t)(v.at[i] >> 7) << i;
    return bits;
}

#endif

/* p[0..n), or a copy with spaces after it when n is below 64. */
static inline const char *sr_ascii_whole(const char *p, size_t n, char tail[64])
{
    if (n >= 64)
        return p;
    memset(tail, ' ', 64);
    memcpy(tail, p, n);
    return tail;
}

/* Of the first `n` (at most 64) bytes at `p`, all ASCII; the masks treat positions after them as white
 * space. */
static inline struct sr_ascii_masks sr_ascii_read(const char *p, size_t n)
{
    struct sr_ascii_masks m = {0, 0, 0};
    char tail[64];
    p = sr_ascii_whole(p, n, tail);
    for (int i = 0; i < 64; i += 16) {
        sr_ascii_v v = sr_ascii_load(p + i);
        sr_ascii_v word =
            sr_ascii_or(sr_ascii_or(sr_ascii_range(sr_ascii_lowered(v), 'a', 26), sr_ascii_range(v, '0', 10)),
                        sr_ascii_is(v, '_'));
        sr_ascii_v space = sr_ascii_or(sr_ascii_range(v, '\t', 5), sr_ascii_is(v, ' '));
        m.word |= sr_ascii_bits(word) << i;
        m.space |= sr_ascii_bits(space) << i;
        m.mark |= sr_ascii_bits(sr_ascii_but(sr_ascii_range(v, '!', 94), word)) << i;
    }
    return m;
}

/* The marks that distinguish code and logs from prose, in the first `n` (at most 64) bytes at `p`, of any
 * kind; `readable` bytes may be read there. */
struct sr_ascii_looks {
    uint64_t mark;  /* printable ASCII but letters and digits */
    uint64_t digit; /* 0 to 9 */
    uint64_t joint; /* `:`, `-` and `.` */
};

static inline struct sr_ascii_looks sr_ascii_look(const char *p, size_t n, size_t readable)
{
    struct sr_ascii_looks m = {0, 0, 0};
    const uint64_t meant = n < 64 ? ~(UINT64_MAX << n) : UINT64_MAX;
    char tail[64];
    if (readable < 64)
        p = sr_ascii_whole(p, readable, tail);
    for (size_t i = 0; i < n; i += 16) {
        sr_ascii_v v = sr_ascii_load(p + i), digit = sr_ascii_range(v, '0', 10);
        sr_ascii_v letter = sr_ascii_range(sr_ascii_lowered(v), 'a', 26);
        sr_ascii_v mark = sr_ascii_but(sr_ascii_range(v, '!', 94), sr_ascii_or(letter, digit));
        sr_ascii_v joint =
            sr_ascii_or(sr_ascii_or(sr_ascii_is(v, ':'), sr_ascii_is(v, '-')), sr_ascii_is(v, '.'));
        m.mark |= sr_ascii_bits(mark) << i;
        m.digit |= sr_ascii_bits(digit) << i;
        m.joint |= sr_ascii_bits(joint) << i;
    }
    m.mark &= meant;
    m.digit &= meant;
    m.joint &= meant;
    return m;
}

/* The number of bits set, without an instruction that some x86-64 CPUs lack. */
static inline size_t sr_ascii_count(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return bits * UINT64_C(0x0101010101010101) >> 56;
}

/* Index of the first byte of p[0..n) that may end a sentence or a line, `.`, `!`, `?`, a line feed, or that
 * is not ASCII; n when there is none. */
static inline size_t sr_ascii_find_end(const char *p, size_t n)
{
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        sr_ascii_v v = sr_ascii_load(p + i);
        sr_ascii_v hit = sr_ascii_or(sr_ascii_or(sr_ascii_is(v, '.'), sr_ascii_is(v, '\n')),
                                     sr_ascii_or(sr_ascii_is(v, '!'), sr_ascii_is(v, '?')));
        uint64_t bits = sr_ascii_bits(sr_ascii_or(hit, v));
        if (bits)
            return i + (size_t)__builtin_ctzll(bits);
    }
    while (i < n && (unsigned char)p[i] < 0x80 && p[i] != '.' && p[i] != '\n' && p[i] != '!' && p[i] != '?')
        i++;
    return i;
}

#endif
