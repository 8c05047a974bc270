/* A first walk over the messages' spans counts, a second one fills. */
#include "router/request/units.h"

#include "base/utf8.h"
#include "router/request/walk.h"

/* A walk. With `fill` false it only counts. */
struct walk {
    const struct sr_request *doc;
    struct sr_arena *arena;
    bool fill, failed;
    struct sr_signal_unit *items;
    struct sr_signal_part *parts;
    uint32_t *spans;
    size_t n, n_parts;
    uint32_t groups;
    uint32_t asks; /* the group of the last user message with a text */
    bool asked;
};

/* ---- seams ---- */

/* The bytes at the end of `text`, at most `most`, from the begin of a character on. */
static size_t tail_of(struct sr_bytes text, size_t most)
{
    size_t at = text.n > most ? text.n - most : 0;
    while (at < text.n && sr_utf8_is_tail(text.p[at]))
        at++;
    return text.n - at;
}

/* The same at its beginning. */
static size_t head_of(struct sr_bytes text, size_t most)
{
    size_t n = text.n > most ? most : text.n;
    while (n < text.n && n > 0 && sr_utf8_is_tail(text.p[n]))
        n--;
    return n;
}

/* Adds `n` bytes of a unit, from `from` on, to the seam whose first part is `first`. */
static void add_part(struct walk *walk, size_t first, uint32_t unit, size_t from, size_t n)
{
    size_t start = walk->n_parts > first ? walk->parts[walk->n_parts - 1].end + 1 : 0;
    walk->parts[walk->n_parts++] = (struct sr_signal_part){unit, start, start + n, from};
}

/* Makes a seam of the parts from `first` on; one part alone is none. */
static void end_seam(struct walk *walk, size_t first)
{
    const struct sr_signal_part *parts = walk->parts;
    size_t n = walk->n_parts - first, total = n ? parts[walk->n_parts - 1].end : 0;
    if (n < 2) {
        walk->n_parts = first;
        return;
    }
    char *text = sr_arena_alloc(walk->arena, total);
    walk->failed |= text == NULL;
    for (size_t i = first; text && i < walk->n_parts; i++) {
        if (i > first)
            text[parts[i].start - 1] = ' ';
        memcpy(text + parts[i].start, walk->items[parts[i].unit].text.p + parts[i].from,
               parts[i].end - parts[i].start);
    }
    struct sr_signal_unit *seam = &walk->items[walk->n];
    *seam = walk->items[parts[first].unit];
    seam->first_part = (uint32_t)first;
    seam->n_parts = (uint32_t)n;
    seam->text = text ? sr_bytes_of(text, total) : SR_LIT("");
    walk->spans[walk->n++] = SR_SPAN_NONE;
}

/* Adds the seams of the units [from, to), which are neighbours. */
static void add_seams(struct walk *walk, size_t from, size_t to)
{
    size_t first = walk->n_parts;
    for (size_t i = from; i < to && to - from > 1; i++) {
        struct sr_bytes text = walk->items[i].text;
        if (text.n <= 2 * SR_UNIT_SEAM) {
            add_part(walk, first, (uint32_t)i, 0, text.n);
            continue;
        }
        size_t tail = tail_of(text, SR_UNIT_SEAM);
        if (i > from)
            add_part(walk, first, (uint32_t)i, 0, head_of(text, SR_UNIT_SEAM));
        end_seam(walk, first);
        first = walk->n_parts;
        add_part(walk, first, (uint32_t)i, text.n - tail, tail);
    }
    end_seam(walk, first);
}

/* ---- units ---- */

static void add_unit(struct walk *walk, uint32_t span, enum sr_signal_role role)
{
    struct sr_bytes text = SR_LIT(" ");
    if (walk->fill) {
        text = sr_span_text(&walk->doc->spans[span], walk->doc->body, walk->arena);
        walk->failed |= text.p == NULL;
    }
    if (text.n == 0)
        return;
    if (walk->fill) {
        walk->spans[walk->n] = span;
        walk->items[walk->n] = (struct sr_signal_unit){.source = role == SR_ROLE_TOOL ? SR_SOURCE_TOOL_RESULT
                                                                                      : SR_SOURCE_MESSAGE,
                                                       .role = role,
                                                       .group = walk->groups,
                                                       .text = text};
    }
    walk->n++;
}

/* Makes a group of the texts of the spans from `from` on that begin before byte `end`. */
static void add_group(struct walk *walk, size_t from, size_t end, enum sr_signal_role role)
{
    const struct sr_request *doc = walk->doc;
    size_t first = walk->n;
    for (size_t i = from; (i = sr_walk_text(doc, i, end, SR_TEXTS_JUDGED)) < doc->n_spans; i++)
        add_unit(walk, (uint32_t)i, role);
    size_t own = walk->n - first;
    if (walk->fill)
        add_seams(walk, first, walk->n);
    else if (own > 1) { /* at most */
        walk->n_parts += 2 * own;
        walk->n += own;
    }
    if (role == SR_ROLE_USER && own) {
        walk->asks = walk->groups;
        walk->asked = true;
    }
    walk->groups++;
}

static void walk_all(struct walk *walk)
{
    const struct sr_request *doc = walk->doc;
    if (!doc->dialect->has_messages) {
        add_group(walk, 0, doc->body.n, SR_ROLE_USER);
        return;
    }
    if (doc->at.messages == SR_SPAN_NONE)
        return;
    size_t end = doc->spans[doc->at.messages].end;
    for (size_t i = doc->at.messages; (i = sr_walk_message(doc, i)) < doc->n_spans; i++) {
        if (doc->spans[i].start >= end)
            return;
        add_group(walk, i, doc->spans[i].end, walk->fill ? sr_walk_role(doc, i) : SR_ROLE_OTHER);
    }
}

/* Marks what is no history: all from the last user message on, instructions of the system, and what is no
 * message; everything, where no user message has a text. */
static void mark_current(struct walk *walk)
{
    for (size_t i = 0; i < walk->n; i++) {
        struct sr_signal_unit *unit = &walk->items[i];
        bool message = unit->source == SR_SOURCE_MESSAGE || unit->source == SR_SOURCE_TOOL_RESULT;
        unit->current = !message || !walk->asked || unit->group >= walk->asks || unit->role == SR_ROLE_SYSTEM;
    }
}

/* After the counting walk: room for what was counted. */
static int make_room(struct walk *walk)
{
    walk->items = sr_arena_calloc(walk->arena, walk->n + 1, sizeof *walk->items);
    walk->spans = sr_arena_calloc(walk->arena, walk->n + 1, sizeof *walk->spans);
    walk->parts = sr_arena_calloc(walk->arena, walk->n_parts + 1, sizeof *walk->parts);
    walk->n = walk->n_parts = 0;
    walk->groups = 0;
    walk->fill = true;
    return walk->items && walk->spans && walk->parts ? SR_OK : SR_ENOMEM;
}

static int give(const struct walk *walk, struct sr_units *out)
{
    out->list = (struct sr_signal_unit_list){walk->items, walk->n, walk->parts, walk->n_parts};
    out->spans = walk->spans;
    return walk->failed ? SR_ENOMEM : SR_OK;
}

int sr_units_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_units *out)
{
    struct walk walk = {.doc = doc, .arena = arena};
    *out = (struct sr_units){.spans = NULL};
    walk_all(&walk);
    if (make_room(&walk))
        return SR_ENOMEM;
    walk_all(&walk);
    mark_current(&walk);
    return give(&walk, out);
}

int sr_units_of_message(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                        struct sr_units *out)
{
    struct walk walk = {.doc = doc, .arena = arena};
    *out = (struct sr_units){.spans = NULL};
    add_group(&walk, message, doc->spans[message].end, SR_ROLE_OTHER);
    if (make_room(&walk))
        return SR_ENOMEM;
    add_group(&walk, message, doc->spans[message].end, sr_walk_role(doc, message));
    return give(&walk, out);
}

/* Bytes of the escape sequence at `p` (a backslash), and of its decoded character; see sr_json_unescape. */
static size_t escape_size(const char *p, const char *end, size_t *decoded)
{
    *decoded = 1;
    if (p[1] != 'u')
        return 2;
    bool high = (p[2] == 'd' || p[2] == 'D') &&
                (p[3] == '8' || p[3] == '9' || (p[3] | 0x20) == 'a' || (p[3] | 0x20) == 'b');
    bool pair = high && end - p >= 12 && p[6] == '\\' && p[7] == 'u' && (p[8] == 'd' || p[8] == 'D') &&
                ((p[9] >= 'c' && p[9] <= 'f') || (p[9] >= 'C' && p[9] <= 'F'));
    if (pair) {
        *decoded = 4;
        return 12;
    }
    bool ascii = p[2] == '0' && p[3] == '0' && p[4] < '8';
    bool two = p[2] == '0' && p[3] < '8';
    *decoded = ascii ? 1 : two ? 2 : 3;
    return 6;
}

void sr_units_span(const struct sr_request *doc, uint32_t string, size_t start, size_t end, size_t *from,
                   size_t *to)
{
    const struct sr_span *span = &doc->spans[string];
    size_t inside = span->start + 1, close = span->end - 1;
    if (!(span->flags & SR_SPAN_ESCAPED)) {
        *from = inside + start;
        *to = inside + end;
        return;
    }
    const char *p = doc->body.p + inside, *stop = doc->body.p + close;
    size_t at = 0;
    *from = *to = close;
    while (p < stop) {
        size_t decoded = 1, raw = *p == '\\' ? escape_size(p, stop, &decoded) : 1;
        if (at <= start && start < at + decoded)
            *from = (size_t)(p - doc->body.p);
        if (at < end && end <= at + decoded) {
            *to = (size_t)(p - doc->body.p) + raw;
            return;
        }
        at += decoded;
        p += raw;
    }
}
