/* Builds one table of flags from ranges at the first use; decompositions and lower case are utf8proc's,
 * corrected. */
#include "model/tokenizer/chars.h"

#include <pthread.h>

#include "model/tokenizer/chars_ranges.h"

#define HANGUL_FIRST 0xAC00
#define HANGUL_LAST  0xD7A3
#define COUNT(a)     (sizeof(a) / sizeof *(a))

uint16_t sr_chars_table[SR_CHARS_DIRECT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const struct sr_chars_range *ranges;
    size_t n;
    unsigned flag;
} classes[] = {
    {space_ranges, COUNT(space_ranges), SR_CHARS_SPACE},
    {control_ranges, COUNT(control_ranges), SR_CHARS_CONTROL},
    {punctuation_ranges, COUNT(punctuation_ranges), SR_CHARS_PUNCT},
    {cjk_ranges, COUNT(cjk_ranges), SR_CHARS_CJK},
    {word_ranges, COUNT(word_ranges), SR_CHARS_WORD},
    {letter_ranges, COUNT(letter_ranges), SR_CHARS_LETTER},
    {number_ranges, COUNT(number_ranges), SR_CHARS_NUMBER},
    {numeric_ranges, COUNT(numeric_ranges), SR_CHARS_NUMERIC},
    {mark_ranges, COUNT(mark_ranges), SR_CHARS_MARK},
    {nonspacing_ranges, COUNT(nonspacing_ranges), SR_CHARS_MN},
};

static bool in_ranges(const struct sr_chars_range *ranges, size_t n, int32_t cp)
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

size_t sr_chars_decompose(int32_t cp, bool compat, int32_t out[SR_UNICODE_POINTS_MAX])
{
    if (!is_atomic(cp))
        return sr_unicode_decompose(cp, compat, out);
    out[0] = cp;
    return 1;
}

unsigned sr_chars_ccc(int32_t cp)
{
    unsigned ccc = sr_unicode_ccc(cp);
    return ccc && in_ranges(classless_ranges, COUNT(classless_ranges), cp) ? 0 : ccc;
}

int32_t sr_chars_compose(int32_t a, int32_t b)
{
    int32_t whole = sr_unicode_compose(a, b);
    return whole >= 0 && !is_atomic(whole) ? whole : -1;
}

/* A character that utf8proc knows, with the same part in clusters. */
static int32_t cluster_like(int32_t cp)
{
    if (cp < cluster_extend_ranges[0].first)
        return cp;
    if (in_ranges(cluster_extend_ranges, COUNT(cluster_extend_ranges), cp))
        return 0x300;
    return in_ranges(cluster_control_ranges, COUNT(cluster_control_ranges), cp) ? 0x1 : cp;
}

bool sr_chars_cluster_break(int32_t a, int32_t b, int32_t *state)
{
    return sr_unicode_cluster_break(cluster_like(a), cluster_like(b), state);
}

size_t sr_chars_lower(int32_t cp, int32_t out[SR_CHARS_LOWER_MAX])
{
    if (cp == 0x130)
        return out[0] = 'i', out[1] = 0x307, 2;
    out[0] = sr_unicode_lower(cp);
    for (size_t i = 0; out[0] == cp && i < COUNT(lower_added_ranges); i++)
        if (lower_added_ranges[i].first == cp)
            out[0] = lower_added_ranges[i].last;
    return 1;
}

/* Flags that follow from the normal forms of `cp` alone. */
static unsigned form_flags(int32_t cp)
{
    int32_t canonical[SR_UNICODE_POINTS_MAX], compat[SR_UNICODE_POINTS_MAX], low[SR_CHARS_LOWER_MAX];
    unsigned flags = 0;
    if (cp >= HANGUL_FIRST && cp <= HANGUL_LAST)
        return SR_CHARS_SPLITS;
    size_t n = sr_chars_decompose(cp, false, canonical), m = sr_chars_decompose(cp, true, compat);
    if (n != 1 || canonical[0] != cp) {
        flags |= SR_CHARS_SPLITS;
        int32_t back = canonical[0];
        for (size_t i = 1; i < n && back >= 0; i++)
            back = sr_chars_compose(back, canonical[i]);
        if (back != cp)
            flags |= SR_CHARS_NFC;
    }
    bool same = n == m;
    for (size_t i = 0; same && i < n; i++)
        same = canonical[i] == compat[i];
    if (!same)
        flags |= SR_CHARS_COMPAT;
    if (sr_chars_ccc(cp) || sr_chars_ccc(canonical[0]))
        flags |= SR_CHARS_JOINS;
    if (sr_chars_lower(cp, low) != 1 || low[0] != cp)
        flags |= SR_CHARS_UPPER;
    return flags;
}

/* The last part of every composite may compose with the character before it. */
static void mark_joiners(void)
{
    int32_t parts[SR_UNICODE_POINTS_MAX];
    for (int32_t cp = 0; cp < SR_CHARS_DIRECT; cp++)
        if ((sr_chars_table[cp] & (SR_CHARS_SPLITS | SR_CHARS_NFC)) == SR_CHARS_SPLITS &&
            !(cp >= HANGUL_FIRST && cp <= HANGUL_LAST)) {
            size_t n = sr_chars_decompose(cp, false, parts);
            if (parts[n - 1] < SR_CHARS_DIRECT)
                sr_chars_table[parts[n - 1]] |= SR_CHARS_JOINS;
        }
    for (int32_t cp = 0x1161; cp <= 0x11C2; cp++)
        if (cp <= 0x1175 || cp >= 0x11A8)
            sr_chars_table[cp] |= SR_CHARS_JOINS;
}

static void build(void)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        for (size_t k = 0; k < classes[i].n; k++)
            for (int32_t cp = classes[i].ranges[k].first;
                 cp <= classes[i].ranges[k].last && cp < SR_CHARS_DIRECT; cp++)
                sr_chars_table[cp] |= (uint16_t)classes[i].flag;
    for (int32_t cp = 0; cp < SR_CHARS_DIRECT; cp++)
        sr_chars_table[cp] |= (uint16_t)form_flags(cp);
    mark_joiners();
}

void sr_chars_init(void)
{
    pthread_once(&once, build);
}

unsigned sr_chars_flags_far(int32_t cp)
{
    unsigned flags = form_flags(cp);
    for (size_t i = 0; i < COUNT(classes); i++)
        if (in_ranges(classes[i].ranges, classes[i].n, cp))
            flags |= classes[i].flag;
    return flags;
}
