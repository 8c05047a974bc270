/* Kinds of letters, and the joining of neighbours into stretches. */
#include "text/script.h"

#include "text/disguise/glyph.h"

#include <string.h>

enum kind { NO_LETTER, LATIN, OTHER, WIDE };

#define WIDE_COUNTS 3u
#define WORD        sizeof(uint64_t)
#define HIGH_BITS   UINT64_C(0x8080808080808080)

/* Above U+024F few Latin letters are in use: phonetic signs, Vietnamese and its like, forms for print. */
static bool is_latin(int32_t c)
{
    return c < 0x0370 || (c >= 0x1D00 && c < 0x1F00) || (c >= 0x2C60 && c < 0x2C80) ||
           (c >= 0xA720 && c < 0xA800) || (c >= 0xAB30 && c < 0xAB70) || (c >= 0xFB00 && c < 0xFB07) ||
           (c >= 0xFF21 && c < 0xFF5B);
}

/* The character at `at`, and how many bytes it has. */
static enum kind read_character(const uint32_t *table, struct sr_bytes text, size_t at, size_t *n)
{
    int32_t c;
    uint32_t glyph;
    *n = sr_glyph_at(table, text, at, &c, &glyph);
    if (!(glyph & SR_GLYPH_LETTER))
        return NO_LETTER;
    return is_latin(c) ? LATIN : glyph & SR_GLYPH_CJK ? WIDE : OTHER;
}

/* The next place that may hold a letter of another script: ASCII is passed in words. */
static size_t skip_ascii(struct sr_bytes text, size_t at)
{
    for (uint64_t word; at + WORD <= text.n; at += WORD) {
        memcpy(&word, text.p + at, WORD);
        if (word & HIGH_BITS)
            break;
    }
    while (at < text.n && (unsigned char)text.p[at] < 0x80)
        at++;
    return at;
}

bool sr_script_is_foreign(struct sr_bytes text)
{
    const uint32_t *table = sr_glyph_table();
    size_t latin = 0, other = 0, n;
    if (skip_ascii(text, 0) == text.n)
        return false;
    for (size_t at = 0; at < text.n; at += n) {
        enum kind kind = read_character(table, text, at, &n);
        latin += kind == LATIN;
        other += kind >= OTHER;
    }
    return other * 4 > latin + other;
}

/* Makes room for one more: the two neighbours with the least text between them become one. */
static void join_nearest(struct sr_script_stretch *out, size_t *n)
{
    size_t best = 1;
    for (size_t i = 2; i < *n; i++)
        if (out[i].start - out[i - 1].end < out[best].start - out[best - 1].end)
            best = i;
    out[best - 1].end = out[best].end;
    memmove(out + best, out + best + 1, (*n - best - 1) * sizeof *out);
    --*n;
}

size_t sr_script_stretches(struct sr_bytes text, struct sr_script_stretch out[SR_SCRIPT_STRETCHES_MAX])
{
    struct sr_script_stretch all[SR_SCRIPT_STRETCHES_MAX + 1], now = {0, 0};
    const uint32_t *table = sr_glyph_table();
    size_t found = 0, weight = 0, n = 0;
    for (size_t at = skip_ascii(text, 0);; at = skip_ascii(text, at + n)) {
        enum kind kind = at < text.n ? read_character(table, text, at, &n) : NO_LETTER;
        bool ends = at >= text.n || (kind >= OTHER && weight && at - now.end > SR_SCRIPT_STRETCH_GAP);
        if (ends && weight >= SR_SCRIPT_STRETCH_LEAST) {
            all[found++] = now;
            if (found > SR_SCRIPT_STRETCHES_MAX)
                join_nearest(all, &found);
        }
        if (at >= text.n)
            break;
        if (kind < OTHER)
            continue;
        if (ends || !weight)
            now.start = at;
        weight = (ends ? 0 : weight) + (kind == WIDE ? WIDE_COUNTS : 1);
        now.end = at + n;
    }
    memcpy(out, all, found * sizeof *out);
    return found;
}
