/*
 * Sentences as the published algorithm cuts them (vllm-project/semantic-router, pkg/promptcompression): at
 * each of eleven marks, but not at a dot between digits or after an initial. One of its quirks is kept: when
 * it looks for the space before an initial, it goes back by the width of the initial itself.
 */
#include "text/segment/segment.h"

#define LOOK 16 /* bytes that a decision needs after a mark: three characters */

static bool is_space(uint32_t glyph)
{
    return (glyph & SR_GLYPH_SPACE) != 0;
}

/* True when the dot at `at` is part of a number or of an initial. */
static bool dot_stays(const struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text, size_t at)
{
    int32_t next_cp = 0, after_cp = 0;
    uint32_t next = 0, after = 0;
    size_t next_n = at + 1 < text.n ? sr_glyph_at(table, text, at + 1, &next_cp, &next) : 0;
    if ((s->before_glyph & SR_GLYPH_DIGIT) && (next & SR_GLYPH_DIGIT))
        return true;
    if (!(s->before_glyph & SR_GLYPH_UPPER) || next_cp != ' ')
        return false;
    size_t width = s->before < 0x80 ? 1 : s->before < 0x800 ? 2 : s->before < 0x10000 ? 3 : 4;
    size_t before_at = at - width;
    bool alone = before_at == s->start || (before_at >= width && text.p[before_at - width] == ' ');
    size_t after_at = at + 1 + next_n;
    if (alone && after_at < text.n)
        sr_glyph_at(table, text, after_at, &after_cp, &after);
    return (after & SR_GLYPH_UPPER) != 0;
}

static bool close_unit(struct sr_segmenter *s, struct sr_segment *unit, size_t end)
{
    *unit = (struct sr_segment){s->start, end};
    s->open = s->swallow = false;
    s->before = 0;
    s->before_glyph = 0;
    return true;
}

/* The end of the open sentence without its trailing white space. */
static size_t trimmed(const uint32_t *table, struct sr_bytes text, size_t start, size_t end)
{
    while (end > start) {
        int32_t cp;
        size_t n = sr_utf8_decode_before(sr_bytes_of(text.p, end), end, &cp);
        if (!is_space(sr_glyph_of(table, cp)))
            break;
        end -= n;
    }
    return end;
}

bool sr_segment_next_published(struct sr_segmenter *s, struct sr_bytes text, bool last,
                               struct sr_segment *unit)
{
    const uint32_t *table = sr_glyph_table();
    while (s->at < text.n && (last || text.n - s->at > LOOK)) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(table, text, s->at, &cp, &glyph);
        bool ends = sr_glyph_is_terminator(cp);
        if (s->swallow && !ends)
            return close_unit(s, unit, s->at);
        if (!s->open && is_space(glyph)) {
            s->at += n;
            continue;
        }
        if (!s->open) {
            s->start = s->at;
            s->open = true;
        }
        if (ends && !s->swallow)
            s->swallow = cp != '.' || !dot_stays(s, table, text, s->at);
        s->before = cp;
        s->before_glyph = glyph;
        s->at += n;
    }
    if (!last || !s->open)
        return false;
    return close_unit(s, unit, trimmed(table, text, s->start, text.n));
}
