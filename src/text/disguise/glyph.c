/* The table, and the ranges for other code points. Script ranges: Unicode 15, Scripts.txt. */
#include "text/disguise/glyph.h"

#include "base/unicode.h"

#include <pthread.h>

static uint32_t table[SR_GLYPH_TABLE + 256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct range {
    int32_t first, last;
};

/* Han, Hiragana, Katakana and Hangul. Characters that several scripts share (U+30FC, U+3001) belong to
 * none. */
static const struct range cjk[] = {
    {0x1100, 0x11FF},   {0x2E80, 0x2E99},   {0x2E9B, 0x2EF3},   {0x2F00, 0x2FD5},   {0x3005, 0x3005},
    {0x3007, 0x3007},   {0x3021, 0x3029},   {0x302E, 0x302F},   {0x3038, 0x303B},   {0x3041, 0x3096},
    {0x309D, 0x309F},   {0x30A1, 0x30FA},   {0x30FD, 0x30FF},   {0x3131, 0x318E},   {0x31F0, 0x31FF},
    {0x3200, 0x321E},   {0x3260, 0x327E},   {0x32D0, 0x32FE},   {0x3300, 0x3357},   {0x3400, 0x4DBF},
    {0x4E00, 0x9FFF},   {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xD7B0, 0xD7C6},   {0xD7CB, 0xD7FB},
    {0xF900, 0xFA6D},   {0xFA70, 0xFAD9},   {0xFF66, 0xFF6F},   {0xFF71, 0xFF9D},   {0xFFA0, 0xFFBE},
    {0xFFC2, 0xFFC7},   {0xFFCA, 0xFFCF},   {0xFFD2, 0xFFD7},   {0xFFDA, 0xFFDC},   {0x16FE2, 0x16FE3},
    {0x16FF0, 0x16FF1}, {0x1AFF0, 0x1AFF3}, {0x1AFF5, 0x1AFFB}, {0x1AFFD, 0x1AFFE}, {0x1B000, 0x1B122},
    {0x1B132, 0x1B132}, {0x1B150, 0x1B152}, {0x1B155, 0x1B155}, {0x1B164, 0x1B167}, {0x1F200, 0x1F200},
    {0x20000, 0x2A6DF}, {0x2A700, 0x2B739}, {0x2B740, 0x2B81D}, {0x2B820, 0x2CEA1}, {0x2CEB0, 0x2EBE0},
    {0x2F800, 0x2FA1D}, {0x30000, 0x3134A}, {0x31350, 0x323AF},
};

static const struct range spaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

static bool within(const struct range *ranges, size_t n, int32_t cp)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (cp > ranges[mid].last)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && cp >= ranges[low].first;
}

static uint32_t look_up(int32_t cp)
{
    unsigned kind = sr_unicode_kind(cp);
    uint32_t glyph = (uint32_t)sr_unicode_lower(cp) & SR_GLYPH_POINT;
    glyph |= kind & SR_UNICODE_LETTER ? SR_GLYPH_LETTER : 0;
    glyph |= kind & SR_UNICODE_DIGIT ? SR_GLYPH_DIGIT : 0;
    glyph |= kind & SR_UNICODE_MARK ? SR_GLYPH_MARK : 0;
    glyph |= kind & SR_UNICODE_UPPER ? SR_GLYPH_UPPER : 0;
    glyph |= kind & SR_UNICODE_LOWER ? SR_GLYPH_LOWER : 0;
    if (sr_glyph_ends_alone(cp) || sr_glyph_ends_spaced(cp))
        glyph |= SR_GLYPH_STOP;
    if (within(spaces, sizeof spaces / sizeof spaces[0], cp))
        glyph |= SR_GLYPH_SPACE;
    else if (within(cjk, sizeof cjk / sizeof cjk[0], cp))
        glyph |= SR_GLYPH_CJK;
    else if (kind && sr_unicode_class(cp) == SR_UNICODE_DENSE)
        glyph |= SR_GLYPH_DENSE;
    return glyph;
}

static void build(void)
{
    for (int32_t cp = 0; cp < SR_GLYPH_TABLE; cp++)
        table[cp] = look_up(cp);
    for (int32_t i = 0; i < 256; i++)
        table[SR_GLYPH_TABLE + i] = look_up(SR_GLYPH_FULL + i);
}

const uint32_t *sr_glyph_table(void)
{
    pthread_once(&once, build);
    return table;
}

uint32_t sr_glyph_far(int32_t cp)
{
    if ((cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0xAC00 && cp <= 0xD7A3) || (cp >= 0x3041 && cp <= 0x3096) ||
        (cp >= 0x30A1 && cp <= 0x30FA))
        return (uint32_t)cp | SR_GLYPH_LETTER | SR_GLYPH_CJK;
    return look_up(cp);
}

size_t sr_glyph_at_slowly(struct sr_bytes s, size_t at, int32_t *cp, uint32_t *glyph)
{
    size_t n = sr_utf8_decode(s, at, cp);
    *glyph = sr_glyph_of(table, *cp);
    return n;
}
