/* Ranges become one table of flags at the first use; decompositions and lower case are utf8proc's. */
#include "model/unicode.h"

#include <pthread.h>
#include <utf8proc.h>

#include "model/unicode_ranges.h"

#define HANGUL_FIRST 0xAC00
#define HANGUL_LAST  0xD7A3
#define COUNT(a)     (sizeof(a) / sizeof *(a))

uint16_t sr_unicode_table[SR_UNICODE_DIRECT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const struct sr_unicode_range *ranges;
    size_t n;
    unsigned flag;
} classes[] = {
    {space_ranges, COUNT(space_ranges), SR_UNICODE_SPACE},
    {control_ranges, COUNT(control_ranges), SR_UNICODE_CONTROL},
    {punctuation_ranges, COUNT(punctuation_ranges), SR_UNICODE_PUNCT},
    {cjk_ranges, COUNT(cjk_ranges), SR_UNICODE_CJK},
    {word_ranges, COUNT(word_ranges), SR_UNICODE_WORD},
    {letter_ranges, COUNT(letter_ranges), SR_UNICODE_LETTER},
    {number_ranges, COUNT(number_ranges), SR_UNICODE_NUMBER},
    {numeric_ranges, COUNT(numeric_ranges), SR_UNICODE_NUMERIC},
    {mark_ranges, COUNT(mark_ranges), SR_UNICODE_MARK},
    {nonspacing_ranges, COUNT(nonspacing_ranges), SR_UNICODE_MN},
};

static bool in_ranges(const struct sr_unicode_range *ranges, size_t n, int32_t cp)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ranges[mid].last < cp)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && ranges[low].first <= cp;
}

static bool is_atomic(int32_t cp)
{
    return in_ranges(atomic_ranges, COUNT(atomic_ranges), cp);
}

size_t sr_unicode_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX])
{
    int boundary = 0;
    int options = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
    if (!is_atomic(cp)) {
        utf8proc_ssize_t n =
            utf8proc_decompose_char(cp, out, SR_UNICODE_POINTS_MAX, (utf8proc_option_t)options, &boundary);
        if (n >= 1 && n <= SR_UNICODE_POINTS_MAX)
            return (size_t)n;
    }
    out[0] = cp;
    return 1;
}

unsigned sr_unicode_ccc(int32_t cp)
{
    unsigned ccc = (unsigned)utf8proc_get_property(cp)->combining_class;
    return ccc && in_ranges(classless_ranges, COUNT(classless_ranges), cp) ? 0 : ccc;
}

int32_t sr_unicode_compose(int32_t a, int32_t b)
{
    int32_t pair[2] = {a, b};
    utf8proc_ssize_t n =
        utf8proc_normalize_utf32(pair, 2, (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    return n == 1 && !is_atomic(pair[0]) ? pair[0] : -1;
}

size_t sr_unicode_lower(int32_t cp, int32_t out[SR_UNICODE_LOWER_MAX])
{
    if (cp == 0x130)
        return out[0] = 'i', out[1] = 0x307, 2;
    out[0] = utf8proc_tolower(cp);
    for (size_t i = 0; out[0] == cp && i < COUNT(lower_added_ranges); i++)
        if (lower_added_ranges[i].first == cp)
            out[0] = lower_added_ranges[i].last;
    return 1;
}

/* Flags that follow from the normal forms of `cp` alone. */
static unsigned form_flags(int32_t cp)
{
    int32_t canonical[SR_UNICODE_POINTS_MAX], compat[SR_UNICODE_POINTS_MAX], low[SR_UNICODE_LOWER_MAX];
    unsigned flags = 0;
    if (cp >= HANGUL_FIRST && cp <= HANGUL_LAST)
        return SR_UNICODE_SPLITS;
    size_t n = sr_unicode_decompose(cp, false, canonical), m = sr_unicode_decompose(cp, true, compat);
    if (n != 1 || canonical[0] != cp) {
        flags |= SR_UNICODE_SPLITS;
        int32_t back = canonical[0];
        for (size_t i = 1; i < n && back >= 0; i++)
            back = sr_unicode_compose(back, canonical[i]);
        if (back != cp)
            flags |= SR_UNICODE_NFC;
    }
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = canonical[i] == compat[i];
    if (!same)
        flags |= SR_UNICODE_COMPAT;
    if (sr_unicode_ccc(cp) || sr_unicode_ccc(canonical[0]))
        flags |= SR_UNICODE_JOINS;
    if (sr_unicode_lower(cp, low) != 1 || low[0] != cp)
        flags |= SR_UNICODE_UPPER;
    return flags;
}

/* The last part of every composite may compose with what stands before it. */
static void mark_joiners(void)
{
    int32_t parts[SR_UNICODE_POINTS_MAX];
    for (int32_t cp = 0; cp < SR_UNICODE_DIRECT; cp++)
        if ((sr_unicode_table[cp] & (SR_UNICODE_SPLITS | SR_UNICODE_NFC)) == SR_UNICODE_SPLITS &&
            !(cp >= HANGUL_FIRST && cp <= HANGUL_LAST)) {
            size_t n = sr_unicode_decompose(cp, false, parts);
            if (parts[n - 1] < SR_UNICODE_DIRECT)
                sr_unicode_table[parts[n - 1]] |= SR_UNICODE_JOINS;
        }
    for (int32_t cp = 0x1161; cp <= 0x11C2; cp++)
        if (cp <= 0x1175 || cp >= 0x11A8)
            sr_unicode_table[cp] |= SR_UNICODE_JOINS;
}

static void build(void)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        for (size_t k = 0; k < classes[i].n; k++)
            for (int32_t cp = classes[i].ranges[k].first;
                 cp <= classes[i].ranges[k].last && cp < SR_UNICODE_DIRECT; cp++)
                sr_unicode_table[cp] |= (uint16_t)classes[i].flag;
    for (int32_t cp = 0; cp < SR_UNICODE_DIRECT; cp++)
        sr_unicode_table[cp] |= (uint16_t)form_flags(cp);
    mark_joiners();
}

void sr_unicode_init(void)
{
    pthread_once(&once, build);
}

unsigned sr_unicode_flags_far(int32_t cp)
{
    unsigned flags = form_flags(cp);
    for (size_t i = 0; i < COUNT(classes); i++)
        if (in_ranges(classes[i].ranges, classes[i].n, cp))
            flags |= classes[i].flag;
    return flags;
}

size_t sr_unicode_unit(const char *s, size_t n, bool *valid)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned char c = p[0];
    *valid = c < 0x80;
    if (c < 0x80)
        return 1;
    size_t need = c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (need == 0)
        return 1;
    unsigned char low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    unsigned char high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    size_t i = 1;
    for (; i < need && i < n; i++, low = 0x80, high = 0xBF)
        if (p[i] < low || p[i] > high)
            break;
    *valid = i == need;
    return i;
}

size_t sr_unicode_encode(int32_t cp, char out[4])
{
    if (cp < 0x80)
        return out[0] = (char)cp, 1;
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
