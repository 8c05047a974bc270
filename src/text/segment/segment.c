/*
 * The default rules: line by line, and inside a line of prose from mark to mark.
 *
 * A decision never reads more than LINE_LOOK bytes of a line and LOOK bytes after a mark; before these have
 * arrived, nothing is decided. So the result does not depend on how the text is split.
 */
#include "text/segment/segment.h"

#include "base/utf8.h"
#include "text/ascii.h"

#define LINE_LOOK ((size_t)SR_SEGMENT_MAX) /* bytes that determine what a line looks like */
#define LOOK      ((size_t)48)             /* bytes after a mark: closing quotes, spaces, one character */
#define LONG_LINE 50                       /* a line of prose of this length was wrapped by width */
#define BLOCK     160                      /* lines of code are joined up to this many bytes */
#define SOFT_MAX  640                      /* above it, any end of a line ends a unit */
#define THAI_MIN  160                      /* a space ends a unit of Thai from here on */

static bool is_space(uint32_t glyph)
{
    return (glyph & SR_GLYPH_SPACE) != 0;
}

static bool closes_quote(int32_t cp)
{
    return cp == '"' || cp == '\'' || cp == ')' || cp == ']' || cp == '*' || cp == '_' || cp == 0x2019 ||
           cp == 0x201D || cp == 0x00BB || cp == 0x203A || cp == 0x300D || cp == 0x300F || cp == 0xFF09 ||
           cp == 0x3011 || cp == 0x300B;
}

/* After a mark: skips further marks and closing quotes. */
static size_t skip_closers(const uint32_t *table, struct sr_bytes text, size_t at, size_t end, int32_t *mark)
{
    size_t stop = at + LOOK / 2 < end ? at + LOOK / 2 : end;
    while (at < stop) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(table, text, at, &cp, &glyph);
        bool marks = (glyph & SR_GLYPH_STOP) != 0;
        if (!marks && !closes_quote(cp))
            break;
        if (marks)
            *mark = cp == '.' && (*mark == '.' || *mark == 0x2026) ? 0x2026 : cp;
        at += n;
    }
    return at;
}

/* True when a sentence ends with the mark `cp` at `at`, `n` bytes long; sets the end. `end` is the end of the
 * line, or of its received part. */
static bool sentence_ends(const struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text,
                          size_t end, size_t at, size_t n, int32_t cp, size_t *after)
{
    int32_t mark = cp;
    *after = skip_closers(table, text, at + n, end, &mark);
    if (sr_glyph_ends_alone(cp) || sr_glyph_ends_alone(mark))
        return true;
    size_t next = *after;
    int32_t next_cp = 0;
    uint32_t glyph = 0;
    while (next < end && next < *after + LOOK / 4) {
        size_t width = sr_glyph_at(table, text, next, &next_cp, &glyph);
        if (!is_space(glyph))
            break;
        next += width;
    }
    if (next == *after && next < end) /* no space: an address, a number, a name with a dot in it */
        return (glyph & SR_GLYPH_CJK) && cp != '.';
    if (next >= end)
        return !(mark == '.' && *after == at + n && sr_segment_is_abbreviation(text, s->start, at));
    if (glyph & SR_GLYPH_LOWER)
        return false;
    if (mark != '.' || *after != at + n)
        return true;
    return !sr_segment_is_abbreviation(text, s->start, at) &&
           !(s->letters < 3 && (s->letters == 0 || text.p[at - 1] < 'A'));
}

static bool close_unit(struct sr_segmenter *s, struct sr_bytes text, size_t end, struct sr_segment *unit)
{
    const uint32_t *table = sr_glyph_table();
    s->open = false;
    s->letters = 0;
    while (end > s->start) {
        int32_t cp;
        size_t n = sr_utf8_decode_before(sr_bytes_of(text.p, end), end, &cp);
        if (!is_space(sr_glyph_of(table, cp)))
            break;
        end -= n;
    }
    *unit = (struct sr_segment){s->start, end};
    return end > s->start;
}

/* The rank of a cut after `cp`. */
static int cut_rank(int32_t cp, uint32_t glyph)
{
    if (cp == ';' || cp == '}' || cp == 0xFF1B)
        return 3;
    if (cp == ',' || cp == ':' || cp == '>' || cp == 0xFF0C || cp == 0x3001 || cp == 0x060C)
        return 2;
    return is_space(glyph);
}

/* Where to cut a unit that has reached its limit at `s->at`: in its second half, and never before the line
 * that is being read, after the best of line end, semicolon, comma, white space; else at the limit. */
static size_t best_cut(const struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text)
{
    size_t best = s->at, i = s->start + SR_SEGMENT_MAX / 2;
    int rank = 0;
    if (s->line_start > i)
        return s->line_start;
    while (i < s->at && sr_utf8_is_tail(text.p[i]))
        i++;
    while (i < s->at) {
        int32_t cp;
        uint32_t glyph;
        i += sr_glyph_at(table, text, i, &cp, &glyph);
        int r = cut_rank(cp, glyph);
        if (r && r >= rank && i <= s->at) {
            rank = r;
            best = i;
        }
    }
    return best;
}

/* At the start of a line that begins with `cp`: true when the line break ends the open unit. */
static bool break_ends(const struct sr_segmenter *s, enum sr_segment_line next, int32_t cp, uint32_t first)
{
    size_t length = s->at - s->start;
    if (s->letters < 3)
        return false;
    if (length >= SOFT_MAX || next == SR_SEGMENT_BLANK || s->line == SR_SEGMENT_HEADING)
        return true;
    bool was_code = s->line == SR_SEGMENT_CODE || s->line == SR_SEGMENT_FENCE;
    bool is_code = next == SR_SEGMENT_CODE || next == SR_SEGMENT_FENCE;
    if (was_code || is_code)
        return was_code != is_code || (length >= BLOCK && cp != '}' && cp != ')');
    if (next == SR_SEGMENT_HEADING || next == SR_SEGMENT_LIST || s->line_ended)
        return true;
    return s->last_line < LONG_LINE && !(first & SR_GLYPH_LOWER);
}

/* Classifies the line at `at`. False when too little of it has arrived. Sets `*ends` when the line break
 * before it ends the open unit. */
static bool open_line(struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text, bool last,
                      bool *ends)
{
    size_t left = text.n - s->at, look = left < LINE_LOOK ? left : LINE_LOOK;
    const char *newline = look ? memchr(text.p + s->at, '\n', look) : NULL;
    if (!newline && look < LINE_LOOK && !last)
        return false;
    size_t end = newline ? (size_t)(newline - text.p) : s->at + look;
    enum sr_segment_line line = sr_segment_look(text, s->at, end);
    size_t first = s->at;
    while (first < end && (text.p[first] == ' ' || text.p[first] == '\t'))
        first++;
    int32_t cp = 0;
    uint32_t glyph = 0;
    if (line == SR_SEGMENT_FENCE) {
        char mark = text.p[first];
        s->fence = s->fence == 0 ? mark : s->fence == mark ? 0 : s->fence;
    } else if (s->fence && line != SR_SEGMENT_BLANK) {
        line = SR_SEGMENT_CODE;
    }
    if (first < end)
        sr_glyph_at(table, text, first, &cp, &glyph);
    *ends = s->open && break_ends(s, line, cp, glyph);
    s->line = line;
    s->line_start = s->at;
    s->in_line = true;
    s->line_ended = false;
    return true;
}

static void count_letter(struct sr_segmenter *s, uint32_t glyph)
{
    if (s->letters < 3 && (glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT)))
        s->letters += glyph & (SR_GLYPH_CJK | SR_GLYPH_DENSE) ? 3 : 1;
}

/* `at`, or the start of the character that `at` would cut in two. */
static size_t whole_character(struct sr_bytes text, size_t at)
{
    for (size_t back = 1; back < SR_UTF8_MAX && back <= at; back++) {
        unsigned char c = (unsigned char)text.p[at - back];
        if (c < 0x80)
            break;
        if (c >= 0xC0)
            return (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) > back ? at - back : at;
    }
    return at;
}

/* Skips prose from `at` that cannot end a unit, at most to `stop`. Stops before a space after Thai, and
 * before characters that may be incomplete. */
static size_t skip_prose(const uint32_t *table, struct sr_bytes text, size_t at, size_t stop)
{
    bool dense = at && (unsigned char)text.p[at - 1] >= 0x80;
    while (at < stop) {
        if ((unsigned char)text.p[at] < 0x80) {
            if (dense && text.p[at] == ' ')
                break;
            size_t more = sr_ascii_find_end(text.p + at, stop - at);
            if (more == 0)
                break;
            at += more;
            dense = false;
            continue;
        }
        int32_t cp;
        uint32_t glyph;
        if (text.n - at < SR_UTF8_MAX)
            break;
        size_t n = sr_glyph_at(table, text, at, &cp, &glyph);
        if ((glyph & SR_GLYPH_STOP) || at + n > stop || is_space(glyph))
            break;
        dense = (glyph & SR_GLYPH_DENSE) != 0;
        at += n;
    }
    return at;
}

/* Skips characters that cannot end a unit, once a unit is open and known to have letters. */
static void skip_plain(struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text)
{
    size_t stop = s->start + SR_SEGMENT_MAX < text.n ? s->start + SR_SEGMENT_MAX : text.n;
    if (s->at >= stop)
        return;
    if (s->line == SR_SEGMENT_CODE || s->line == SR_SEGMENT_FENCE) {
        const char *newline = memchr(text.p + s->at, '\n', stop - s->at);
        size_t end = newline ? (size_t)(newline - text.p) : whole_character(text, stop);
        s->at = end > s->at ? end : s->at;
    } else {
        s->at = skip_prose(table, text, s->at, stop);
    }
}

/* A space between two Thai (or Lao) characters, in a unit that is long enough. */
static bool phrase_ends(const struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text,
                        size_t after)
{
    int32_t cp;
    uint32_t glyph;
    if (s->at - s->start < THAI_MIN || after >= text.n)
        return false;
    sr_utf8_decode_before(text, s->at, &cp);
    if (!(sr_glyph_of(table, cp) & SR_GLYPH_DENSE))
        return false;
    sr_glyph_at(table, text, after, &cp, &glyph);
    return (glyph & SR_GLYPH_DENSE) != 0;
}

/* Reads one character of a line. True when a unit ends there. */
static bool read_character(struct sr_segmenter *s, const uint32_t *table, struct sr_bytes text,
                           struct sr_segment *unit)
{
    int32_t cp;
    uint32_t glyph;
    size_t n = sr_glyph_at(table, text, s->at, &cp, &glyph);
    if (s->open && s->at + n - s->start > SR_SEGMENT_MAX) {
        s->at = best_cut(s, table, text);
        return close_unit(s, text, s->at, unit);
    }
    if (cp == '\n') {
        s->last_line = s->at - s->line_start;
        s->in_line = false;
        s->at++;
        return false;
    }
    if (!s->open && is_space(glyph)) {
        s->at += n;
        return false;
    }
    if (!s->open) {
        s->open = true;
        s->start = s->at;
    }
    count_letter(s, glyph);
    bool prose = s->line != SR_SEGMENT_CODE && s->line != SR_SEGMENT_FENCE;
    if (prose && is_space(glyph) && phrase_ends(s, table, text, s->at + n)) {
        s->at += n;
        return close_unit(s, text, s->at, unit);
    }
    if (prose && (glyph & SR_GLYPH_STOP)) {
        const char *newline = memchr(text.p + s->at, '\n', text.n - s->at < LOOK ? text.n - s->at : LOOK);
        size_t end = newline ? (size_t)(newline - text.p) : text.n, after;
        bool ends = sentence_ends(s, table, text, end, s->at, n, cp, &after);
        bool fits = after - s->start <= SR_SEGMENT_MAX;
        if (ends && fits) {
            s->at = after;
            s->line_ended = true;
            return s->letters >= 3 && close_unit(s, text, after, unit);
        }
    }
    s->line_ended = s->line_ended && (is_space(glyph) || closes_quote(cp));
    s->at += n;
    return false;
}

bool sr_segment_next(struct sr_segmenter *s, struct sr_bytes text, bool last, struct sr_segment *unit)
{
    const uint32_t *table = sr_glyph_table();
    for (;;) {
        if (!s->in_line && (s->at < text.n || last)) {
            bool ends = false;
            if (s->at == text.n)
                break;
            if (!open_line(s, table, text, last, &ends))
                return false;
            if (ends && close_unit(s, text, s->at, unit))
                return true;
        }
        if (s->open && s->letters >= 3 && !s->line_ended)
            skip_plain(s, table, text);
        size_t left = text.n - s->at;
        if (left == 0 || (!last && left <= LOOK && !memchr(text.p + s->at, '\n', left)))
            break;
        if (read_character(s, table, text, unit))
            return true;
    }
    return last && s->open && close_unit(s, text, text.n, unit);
}
