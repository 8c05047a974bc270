/* The tables are utf8proc's; ranges before them answer the common cases. */
#include "base/unicode.h"

#include <utf8proc.h>

/* Number of code points, 0 when the result does not fit into `cap`. */
static size_t decompose(int32_t cp, utf8proc_option_t options, int32_t *out, utf8proc_ssize_t cap)
{
    int boundary = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char(cp, out, cap, options, &boundary);
    return n >= 1 && n <= cap ? (size_t)n : 0;
}

/* Blocks without any case, which need no table look-up: Hebrew to Burmese, with Thai; CJK punctuation, kana
 * and Han; Hangul syllables. */
static bool is_caseless(int32_t cp)
{
    return (cp >= 0x0590 && cp < 0x10A0) || (cp >= 0x2E80 && cp < 0xA640) || (cp >= 0xAC00 && cp < 0xFB00);
}

size_t sr_unicode_fold(int32_t cp, int32_t out[SR_UNICODE_FOLD_POINTS])
{
    if (cp < 0x80) {
        out[0] = cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
        return 1;
    }
    if (!is_caseless(cp)) {
        size_t n = decompose(cp, UTF8PROC_CASEFOLD, out, SR_UNICODE_FOLD_POINTS);
        if (n)
            return n;
    }
    out[0] = cp;
    return 1;
}

/* Eight letters at a time: bit 7 of each byte marks "A..Z"; shifted right it becomes 0x20, which makes the
 * letter lower case. */
static void lower_ascii(const char *from, char *to, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, from + i, 8);
        uint64_t upper = (v + ones * (0x80 - 'A')) & ~(v + ones * (0x7F - 'Z')) & (ones * 0x80);
        v |= upper >> 2;
        memcpy(to + i, &v, 8);
    }
    for (; i < n; i++)
        to[i] = sr_ascii_lower(from[i]);
}

/* U+3000 to U+9FFF, by the lead byte: most Chinese and Japanese characters; none of them has case. */
static inline bool is_cjk(struct sr_bytes s, size_t i)
{
    const unsigned char *p = (const unsigned char *)s.p + i;
    return s.n - i >= 3 && p[0] >= 0xE3 && p[0] <= 0xE9 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80;
}

size_t sr_unicode_fold_into(struct sr_bytes s, size_t *at, char *out, size_t cap)
{
    size_t n = 0, i = *at;
    while (i < s.n && cap - n >= SR_UNICODE_FOLD_MAX) {
        size_t room = cap - n < s.n - i ? cap - n : s.n - i;
        size_t ascii = (unsigned char)s.p[i] < 0x80 ? sr_utf8_ascii_prefix(sr_bytes_of(s.p + i, room)) : 0;
        if (ascii) {
            lower_ascii(s.p + i, out + n, ascii);
            i += ascii;
            n += ascii;
            continue;
        }
        if (is_cjk(s, i)) {
            memcpy(out + n, s.p + i, 3);
            i += 3;
            n += 3;
            continue;
        }
        int32_t cp, folded[SR_UNICODE_FOLD_POINTS];
        size_t length = sr_utf8_decode(s, i, &cp);
        if (is_caseless(cp)) {
            memcpy(out + n, s.p + i, length);
            n += length;
        } else {
            size_t points = sr_unicode_fold(cp, folded);
            for (size_t k = 0; k < points; k++)
                n += sr_utf8_encode(folded[k], out + n);
        }
        i += length;
    }
    *at = i;
    return n;
}

static bool is_dense(int32_t cp)
{
    return (cp >= 0x0E00 && cp < 0x0F00) || (cp >= 0x1000 && cp < 0x10A0) || (cp >= 0x1780 && cp < 0x1800) ||
           (cp >= 0x2E80 && cp < 0x3000) || (cp >= 0x3005 && cp <= 0x3007) || (cp >= 0x3040 && cp < 0x3130) ||
           (cp >= 0x3190 && cp < 0xA4D0) || (cp >= 0xF900 && cp < 0xFB00) || (cp >= 0xFF66 && cp < 0xFFA0) ||
           (cp >= 0x1AFF0 && cp < 0x1B170) || (cp >= 0x20000 && cp < 0x32000);
}

static bool is_hangul(int32_t cp)
{
    return (cp >= 0xAC00 && cp < 0xD7B0) || (cp >= 0x1100 && cp < 0x1200) || (cp >= 0x3130 && cp < 0x3190);
}

enum sr_unicode_class sr_unicode_class(int32_t cp)
{
    if (cp < 0x80)
        return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') || cp == '_'
                   ? SR_UNICODE_WORD
                   : SR_UNICODE_OTHER;
    if (cp >= 0x4E00 && cp < 0xA000)
        return SR_UNICODE_DENSE;
    if (is_hangul(cp))
        return SR_UNICODE_KOREAN;
    switch (utf8proc_category(cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return is_dense(cp) ? SR_UNICODE_DENSE : SR_UNICODE_WORD;
    default:
        return SR_UNICODE_OTHER;
    }
}

int sr_unicode_columns(int32_t cp)
{
    int width = utf8proc_charwidth(cp);
    return width < 0 ? 0 : width > 2 ? 2 : width;
}

unsigned sr_unicode_kind(int32_t cp)
{
    switch (utf8proc_category(cp)) {
    case UTF8PROC_CATEGORY_LU:
        return SR_UNICODE_LETTER | SR_UNICODE_UPPER;
    case UTF8PROC_CATEGORY_LL:
        return SR_UNICODE_LETTER | SR_UNICODE_LOWER;
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return SR_UNICODE_LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return SR_UNICODE_MARK;
    case UTF8PROC_CATEGORY_ND:
        return SR_UNICODE_DIGIT;
    default:
        return 0;
    }
}

int32_t sr_unicode_lower(int32_t cp)
{
    return utf8proc_tolower(cp);
}

size_t sr_unicode_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX])
{
    int options = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
    size_t n = decompose(cp, (utf8proc_option_t)options, out, SR_UNICODE_POINTS_MAX);
    if (n)
        return n;
    out[0] = cp;
    return 1;
}

unsigned sr_unicode_ccc(int32_t cp)
{
    return (unsigned)utf8proc_get_property(cp)->combining_class;
}

int32_t sr_unicode_compose(int32_t a, int32_t b)
{
    int32_t pair[2] = {a, b};
    utf8proc_ssize_t n =
        utf8proc_normalize_utf32(pair, 2, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    return n == 1 ? pair[0] : -1;
}

bool sr_unicode_cluster_break(int32_t a, int32_t b, int32_t *state)
{
    return utf8proc_grapheme_break_stateful(a, b, state);
}
