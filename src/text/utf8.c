/* Decoding is our own, for speed and so that a broken byte costs one step; tables are utf8proc's. */
#include "text/utf8.h"

#include <utf8proc.h>

/* Length of the valid sequence at p[0..n), 0 when there is none. */
static size_t sequence_length(const unsigned char *p, size_t n)
{
    unsigned char c = p[0];
    size_t need = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (need == 0 || need > n)
        return 0;
    for (size_t i = 1; i < need; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    bool bad = (c == 0xE0 && p[1] < 0xA0) || (c == 0xED && p[1] > 0x9F) || (c == 0xF0 && p[1] < 0x90) ||
               (c == 0xF4 && p[1] > 0x8F);
    return bad ? 0 : need;
}

size_t sr_utf8_decode(struct sr_bytes s, size_t at, int32_t *cp)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    switch (sequence_length(p, s.n - at)) {
    case 1:
        *cp = p[0];
        return 1;
    case 2:
        *cp = (p[0] & 0x1F) << 6 | (p[1] & 0x3F);
        return 2;
    case 3:
        *cp = (p[0] & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F);
        return 3;
    case 4:
        *cp = (p[0] & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F);
        return 4;
    default:
        *cp = SR_UTF8_REPLACEMENT;
        return 1;
    }
}

size_t sr_utf8_decode_before(struct sr_bytes s, size_t at, int32_t *cp)
{
    for (size_t back = 1; back <= SR_UTF8_MAX && back <= at; back++) {
        if (((unsigned char)s.p[at - back] & 0xC0) == 0x80)
            continue;
        if (sr_utf8_decode(sr_bytes_of(s.p, at), at - back, cp) == back)
            return back;
        break;
    }
    *cp = SR_UTF8_REPLACEMENT;
    return 1;
}

size_t sr_utf8_encode(int32_t cp, char out[SR_UTF8_MAX])
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

/* Blocks without any case, so that the tables are not asked for most of the world's running text:
 * Hebrew to Burmese, Thai among them; CJK punctuation, kana and Han; Hangul syllables. */
static bool is_caseless(int32_t cp)
{
    return (cp >= 0x0590 && cp < 0x10A0) || (cp >= 0x2E80 && cp < 0xA640) || (cp >= 0xAC00 && cp < 0xFB00);
}

size_t sr_utf8_fold(int32_t cp, int32_t out[SR_UTF8_FOLD_POINTS])
{
    if (cp < 0x80) {
        out[0] = cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
        return 1;
    }
    if (!is_caseless(cp)) {
        int boundary = 0;
        utf8proc_ssize_t n =
            utf8proc_decompose_char(cp, out, SR_UTF8_FOLD_POINTS, UTF8PROC_CASEFOLD, &boundary);
        if (n >= 1 && n <= SR_UTF8_FOLD_POINTS)
            return (size_t)n;
    }
    out[0] = cp;
    return 1;
}

/* Eight letters at a time: bit 7 of each byte says "A..Z", shifted down it is the 0x20 that lowers it. */
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

/* U+3000 to U+9FFF, by the lead byte: most of Chinese and Japanese, and nothing in it has case. */
static inline bool is_cjk(struct sr_bytes s, size_t i)
{
    const unsigned char *p = (const unsigned char *)s.p + i;
    return s.n - i >= 3 && p[0] >= 0xE3 && p[0] <= 0xE9 && (p[1] & 0xC0) == 0x80 && (p[2] & 0xC0) == 0x80;
}

size_t sr_utf8_fold_into(struct sr_bytes s, size_t *at, char *out, size_t cap)
{
    size_t n = 0, i = *at;
    while (i < s.n && cap - n >= SR_UTF8_FOLD_MAX) {
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
        int32_t cp, folded[SR_UTF8_FOLD_POINTS];
        size_t length = sr_utf8_decode(s, i, &cp);
        if (is_caseless(cp)) {
            memcpy(out + n, s.p + i, length);
            n += length;
        } else {
            size_t points = sr_utf8_fold(cp, folded);
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

enum sr_utf8_class sr_utf8_class(int32_t cp)
{
    if (cp < 0x80)
        return (cp >= 'a' && cp <= 'z') || (cp >= 'A' && cp <= 'Z') || (cp >= '0' && cp <= '9') || cp == '_'
                   ? SR_UTF8_WORD
                   : SR_UTF8_OTHER;
    if (cp >= 0x4E00 && cp < 0xA000)
        return SR_UTF8_DENSE;
    if (is_hangul(cp))
        return SR_UTF8_KOREAN;
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
        return is_dense(cp) ? SR_UTF8_DENSE : SR_UTF8_WORD;
    default:
        return SR_UTF8_OTHER;
    }
}

size_t sr_utf8_ascii_prefix(struct sr_bytes s)
{
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        uint64_t eight;
        memcpy(&eight, s.p + i, 8);
        if (eight & UINT64_C(0x8080808080808080))
            break;
    }
    while (i < s.n && (unsigned char)s.p[i] < 0x80)
        i++;
    return i;
}

bool sr_utf8_valid(struct sr_bytes s)
{
    for (size_t i = 0; i < s.n;) {
        i += sr_utf8_ascii_prefix(sr_bytes_of(s.p + i, s.n - i));
        if (i == s.n)
            break;
        size_t length = sequence_length((const unsigned char *)s.p + i, s.n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

void sr_utf8_clean(struct sr_bytes s, char *out)
{
    if (s.n)
        memcpy(out, s.p, s.n);
    for (size_t i = 0; i < s.n;) {
        i += sr_utf8_ascii_prefix(sr_bytes_of(s.p + i, s.n - i));
        if (i == s.n)
            break;
        size_t length = sequence_length((const unsigned char *)s.p + i, s.n - i);
        if (length == 0)
            out[i] = '?';
        i += length ? length : 1;
    }
}

int sr_utf8_columns(int32_t cp)
{
    int width = utf8proc_charwidth(cp);
    return width < 0 ? 0 : width > 2 ? 2 : width;
}

unsigned sr_utf8_kind(int32_t cp)
{
    switch (utf8proc_category(cp)) {
    case UTF8PROC_CATEGORY_LU:
        return SR_UTF8_LETTER | SR_UTF8_UPPER;
    case UTF8PROC_CATEGORY_LL:
        return SR_UTF8_LETTER | SR_UTF8_LOWER;
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return SR_UTF8_LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return SR_UTF8_MARK;
    case UTF8PROC_CATEGORY_ND:
        return SR_UTF8_DIGIT;
    default:
        return 0;
    }
}

int32_t sr_utf8_lower(int32_t cp)
{
    return utf8proc_tolower(cp);
}
