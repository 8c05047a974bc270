/*
 * Kernels for string content: portable (eight bytes a step), SSE2, AVX2, NEON, and the choice between them.
 *
 * Plain ASCII is skipped in vector steps. UTF-8 is checked character by character, but with AVX2 in vector
 * steps too, by classifying each pair of neighbouring bytes through three tables of sixteen entries
 * (the method of Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte", 2021).
 */
#include "json/simd.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "json/escape.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Skips a run of non-ASCII characters; stops at ASCII or at an incomplete or malformed character. */
static inline const uint8_t *skip_characters(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p >= 0x80) {
        size_t n = sr_utf8_multibyte(p, (size_t)(end - p));
        if (n == 0)
            return p;
        p += n;
    }
    return p;
}

/* Skips the whole escape at `p`; returns `p` when there is none. */
static inline const uint8_t *skip_escape(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    if (!escaped || *p != '\\' || end - p < 2)
        return p;
    if (sr_escape_value(p[1])) {
        *escaped = true;
        return p + 2;
    }
    if (p[1] != 'u' || end - p < 6)
        return p;
    int digits = sr_hex_digit((char)p[2]) | sr_hex_digit((char)p[3]) | sr_hex_digit((char)p[4]) |
                 sr_hex_digit((char)p[5]);
    if (digits < 0)
        return p;
    *escaped = true;
    return p + 6;
}

/* Reads byte by byte to `stop`; true when it found a byte that stops the scan. */
static inline bool skip_bytes(const uint8_t **p, const uint8_t *stop, const uint8_t *end, bool *escaped)
{
    while (*p < stop) {
        uint8_t c = **p;
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            ++*p;
            continue;
        }
        const uint8_t *next = c >= 0x80 ? skip_characters(*p, end) : skip_escape(*p, end, escaped);
        if (next == *p)
            return true;
        *p = next;
    }
    return false;
}

static const uint8_t *skip_portable(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    while (end - p >= 8) {
        uint64_t v;
        memcpy(&v, p, sizeof v);
        uint64_t quote = v ^ (ones * '"'), slash = v ^ (ones * '\\');
        uint64_t odd = v | (v - ones * 0x20) | (quote - ones) | (slash - ones);
        if (!(odd & high))
            p += 8;
        else if (skip_bytes(&p, p + 8, end, escaped))
            return p;
    }
    skip_bytes(&p, end, end, escaped);
    return p;
}

#if defined(__x86_64__)

/* From special byte to special byte of one block of `width` bytes at *p, `mask` has a bit for each. Moves *p
 * past the block; or to a byte that stops the scan, and then returns true. */
static inline __attribute__((always_inline)) bool skip_specials(const uint8_t **p, const uint8_t *end,
                                                                uint64_t mask, unsigned width, bool *escaped)
{
    const uint8_t *block = *p;
    unsigned at = width;
    while (mask) {
        const uint8_t *q = block + __builtin_ctzll(mask);
        const uint8_t *next = *q >= 0x80 ? skip_characters(q, end) : skip_escape(q, end, escaped);
        if (next == q)
            return *p = q, true;
        at = (unsigned)(next - block);
        if (at >= width)
            break;
        mask = mask >> at << at;
        at = width;
    }
    *p = block + at;
    return false;
}

static const uint8_t *skip_sse2(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1F);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
        hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        unsigned special = (unsigned)_mm_movemask_epi8(_mm_or_si128(hit, v));
        if (!special)
            p += 16;
        else if (skip_specials(&p, end, special, 16, escaped))
            return p;
    }
    skip_bytes(&p, end, end, escaped);
    return p;
}

#define AVX2 __attribute__((target("avx2")))

/* The errors that a pair of bytes can have; a pair is malformed when all three tables have a common bit. */
enum {
    BAD_SHORT = 1,       /* a lead without its continuation */
    BAD_LONG = 2,        /* a continuation after ASCII */
    BAD_OVERLONG_3 = 4,  /* E0 80..9F */
    BAD_LARGE = 8,       /* F4 90..BF, F5.. */
    BAD_SURROGATE = 16,  /* ED A0..BF */
    BAD_OVERLONG_2 = 32, /* C0, C1 */
    BAD_LARGE_80 = 64,   /* F5..FF 80..8F */
    BAD_OVERLONG_4 = 64, /* F0 80..8F */
    BAD_TWO_CONT = 128,  /* two continuations: an error unless they follow a lead of three or four bytes */
    BAD_ANY_LOW = BAD_SHORT | BAD_LONG | BAD_TWO_CONT,
};

#define TABLE(...) _mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

AVX2 static inline __m256i utf8_pair_errors(__m256i v, __m256i prev1)
{
    const char four = (char)(BAD_ANY_LOW | BAD_LARGE | BAD_LARGE_80), any = (char)BAD_ANY_LOW;
    const char lead4 = BAD_SHORT | BAD_LARGE | BAD_LARGE_80 | BAD_OVERLONG_4, cc = (char)BAD_TWO_CONT;
    const __m256i first_high =
        TABLE(BAD_LONG, BAD_LONG, BAD_LONG, BAD_LONG, BAD_LONG, BAD_LONG, BAD_LONG, BAD_LONG, cc, cc, cc, cc,
              BAD_SHORT | BAD_OVERLONG_2, BAD_SHORT, BAD_SHORT | BAD_OVERLONG_3 | BAD_SURROGATE, lead4);
    const __m256i first_low =
        TABLE((char)(BAD_ANY_LOW | BAD_OVERLONG_2 | BAD_OVERLONG_3 | BAD_OVERLONG_4),
              (char)(BAD_ANY_LOW | BAD_OVERLONG_2), any, any, (char)(BAD_ANY_LOW | BAD_LARGE), four, four,
              four, four, four, four, four, four, (char)(four | BAD_SURROGATE), four, four);
    const char cont = (char)(BAD_LONG | BAD_OVERLONG_2 | BAD_TWO_CONT), bad = BAD_SHORT;
    const __m256i second_high = TABLE(
        bad, bad, bad, bad, bad, bad, bad, bad, (char)(cont | BAD_OVERLONG_3 | BAD_LARGE_80 | BAD_OVERLONG_4),
        (char)(cont | BAD_OVERLONG_3 | BAD_LARGE), (char)(cont | BAD_SURROGATE | BAD_LARGE),
        (char)(cont | BAD_SURROGATE | BAD_LARGE), bad, bad, bad, bad);
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    __m256i a = _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(prev1, 4), nibble));
    __m256i b = _mm256_shuffle_epi8(first_low, _mm256_and_si256(prev1, nibble));
    __m256i c = _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
    return _mm256_and_si256(_mm256_and_si256(a, b), c);
}

/* Non-zero where `v`, which follows the 32 bytes of `before`, is malformed. */
AVX2 static inline __m256i utf8_errors(__m256i v, __m256i before)
{
    __m256i across = _mm256_permute2x128_si256(before, v, 0x21);
    __m256i prev1 = _mm256_alignr_epi8(v, across, 15);
    __m256i prev2 = _mm256_alignr_epi8(v, across, 14);
    __m256i prev3 = _mm256_alignr_epi8(v, across, 13);
    __m256i third = _mm256_subs_epu8(prev2, _mm256_set1_epi8(0xE0 - 0x80));
    __m256i fourth = _mm256_subs_epu8(prev3, _mm256_set1_epi8(0xF0 - 0x80));
    __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must, utf8_pair_errors(v, prev1));
}

/* The backslashes that begin an escape: in a run of backslashes every other one, from the first. The carry of
 * the subtraction propagates through each run, and the result distinguishes odd from even lengths. */
static inline uint32_t escape_starts(uint32_t slash)
{
    const uint32_t odd = 0xAAAAAAAAu;
    uint32_t series = ((slash << 1) | odd) - slash;
    return (series ^ odd) & slash;
}

/* Bytes that may follow a backslash (bits 0..3 of both tables) and hexadecimal digits (bits 4..5). */
AVX2 static inline __m256i escape_classes(__m256i v)
{
    const __m256i low = TABLE(16, 48, 61, 48, 56, 56, 52, 16, 16, 16, 0, 0, 2, 0, 4, 1);
    const __m256i high = TABLE(0, 0, 1, 16, 32, 2, 36, 8, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    __m256i a = _mm256_shuffle_epi8(low, v); /* 0 for bytes above 0x7F */
    __m256i b = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));
    return _mm256_and_si256(a, b);
}

/* Positions where the escapes of a block stop the scan: `broken` at the backslash of a malformed one, `cut`
 * at the backslash of one that continues after the block. Removes the quotes that belong to escapes from
 * *quote. */
AVX2 static inline void check_escapes(__m256i v, uint32_t slash, uint32_t *quote, uint32_t *broken,
                                      uint32_t *cut)
{
    uint32_t starts = escape_starts(slash), letters = starts << 1;
    __m256i classes = escape_classes(v), zero = _mm256_setzero_si256();
    __m256i is_letter = _mm256_and_si256(classes, _mm256_set1_epi8(0x0F));
    __m256i is_hex = _mm256_and_si256(classes, _mm256_set1_epi8(0x30));
    uint32_t known = (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(is_letter, zero));
    uint64_t hex =
        (uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(is_hex, zero)) | UINT64_C(0xFFFFFFFF00000000);
    uint32_t unicode = letters & (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('u')));
    uint32_t digits = (uint32_t)(hex >> 1 & hex >> 2 & hex >> 3 & hex >> 4);
    *quote &= ~letters;
    *broken = (letters & ~known) >> 1 | (unicode & ~digits) >> 1;
    *cut = (starts & UINT32_C(0x80000000)) | (unicode & UINT32_C(0xF0000000)) >> 1;
}

/* Continues from the character boundary at or before `p`; not before `start`. */
static inline const uint8_t *character_start(const uint8_t *p, const uint8_t *start)
{
    for (int back = 1; back <= 3 && p - back >= start; back++) {
        uint8_t c = p[-back];
        if (c >= 0xC0)
            return p - back;
        if (c < 0x80)
            break;
    }
    return p;
}

static const _Alignas(64) uint8_t keep_bytes[64] = {
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

/* Blocks of 32 bytes. Each is scanned up to `n`: the first byte that stops the scan, or an escape that the
 * block cuts; the next block then begins with that escape. */
AVX2 static const uint8_t *skip_avx2(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    const uint8_t *start = p;
    __m256i before = _mm256_setzero_si256();
    uint32_t high_before = 0;
    while (end - p >= 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)p);
        __m256i is_slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
        __m256i is_quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
        __m256i is_control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
        __m256i odd = _mm256_or_si256(_mm256_or_si256(is_slash, is_quote), _mm256_or_si256(is_control, v));
        if (!((uint32_t)_mm256_movemask_epi8(odd) | high_before)) {
            p += 32;
            continue;
        }
        uint32_t slash = (uint32_t)_mm256_movemask_epi8(is_slash), high = (uint32_t)_mm256_movemask_epi8(v);
        uint32_t quote = (uint32_t)_mm256_movemask_epi8(is_quote), broken = slash, cut = 0;
        if (slash && escaped)
            check_escapes(v, slash, &quote, &broken, &cut);
        uint32_t stop = (uint32_t)_mm256_movemask_epi8(is_control) | quote | broken;
        unsigned n = stop | cut ? (unsigned)__builtin_ctz(stop | cut) : 32;
        if (high | high_before) {
            /* Zeros from n on, so that a character cut there is an error too. */
            v = _mm256_and_si256(v, _mm256_loadu_si256((const __m256i *)(keep_bytes + 32 - n)));
            __m256i wrong = utf8_errors(v, before);
            if (!_mm256_testz_si256(wrong, wrong))
                break;
        }
        if (escaped && (slash & (uint32_t)((UINT64_C(1) << n) - 1)))
            *escaped = true;
        p += n;
        if (n < 32 && (stop >> n & 1))
            return p;
        before = v;
        high_before = n == 32 ? high : 0;
    }
    p = character_start(p, start);
    skip_bytes(&p, end, end, escaped);
    return p;
}

#elif defined(__aarch64__)

static const uint8_t *skip_neon(const uint8_t *p, const uint8_t *end, bool *escaped)
{
    while (end - p >= 16) {
        uint8x16_t v = vld1q_u8(p);
        uint8x16_t hit = vorrq_u8(vceqq_u8(v, vdupq_n_u8('"')), vceqq_u8(v, vdupq_n_u8('\\')));
        hit = vorrq_u8(hit, vorrq_u8(vcltq_u8(v, vdupq_n_u8(0x20)), vcgeq_u8(v, vdupq_n_u8(0x80))));
        /* Four bits for each byte. */
        uint64_t special = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
        if (!special) {
            p += 16;
            continue;
        }
        p += __builtin_ctzll(special) / 4;
        if (skip_bytes(&p, p + 1, end, escaped))
            return p;
    }
    skip_bytes(&p, end, end, escaped);
    return p;
}

#endif

sr_simd_skip_fn *sr_simd_skip_for(unsigned mask)
{
#if defined(__x86_64__)
    if ((mask & SR_SIMD_AVX2) && __builtin_cpu_supports("avx2"))
        return skip_avx2;
    if (mask & SR_SIMD_BASE)
        return skip_sse2;
#elif defined(__aarch64__)
    if (mask & SR_SIMD_BASE)
        return skip_neon;
#endif
    (void)mask;
    return skip_portable;
}

sr_simd_skip_fn *sr_simd_skip(void)
{
    static _Atomic(sr_simd_skip_fn *) chosen; /* racing threads store the same value */
    sr_simd_skip_fn *fn = chosen;
    if (!fn) {
        const char *mask = getenv("SR_CPU_MASK");
        fn = sr_simd_skip_for(mask && *mask ? (unsigned)strtoul(mask, NULL, 0) : ~0u);
        chosen = fn;
    }
    return fn;
}

const char *sr_simd_name(sr_simd_skip_fn *fn)
{
#if defined(__x86_64__)
    if (fn == skip_avx2)
        return "avx2";
    if (fn == skip_sse2)
        return "sse2";
#elif defined(__aarch64__)
    if (fn == skip_neon)
        return "neon";
#endif
    return fn == skip_portable ? "portable" : "unknown";
}
