/* The walk's strings are collected first; then there is room for the units and the most seams that they can
 * have. */
#include "router/request/units.h"

#include "base/json_read.h"
#include "base/utf8.h"
#include "text/ascii.h"
#include "text/entity/entity.h"

#define FIRST_STRINGS ((size_t)64)

struct maker {
    const struct sr_request *doc;
    struct sr_arena *arena;
    bool failed;
    struct sr_walk_string *strings;
    size_t n_strings, cap_strings;
    struct sr_signal_unit *items;
    struct sr_signal_part *parts;
    struct sr_unit_place *places;
    size_t n, n_parts;
    size_t before, before_end; /* strings of the message before */
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
static void add_part(struct maker *maker, size_t first, uint32_t unit, size_t from, size_t n)
{
    size_t start = maker->n_parts > first ? maker->parts[maker->n_parts - 1].end + 1 : 0;
    maker->parts[maker->n_parts++] = (struct sr_signal_part){unit, start, start + n, from};
}

/* Makes a seam of the parts [first, end), with a space wherever they leave room for one. */
static void make_seam(struct maker *maker, size_t first, size_t end)
{
    const struct sr_signal_part *parts = maker->parts;
    size_t total = parts[end - 1].end;
    char *text = sr_arena_alloc(maker->arena, total);
    maker->failed |= text == NULL;
    for (size_t i = first; text && i < end; i++) {
        if (i > first && parts[i].start > parts[i - 1].end)
            text[parts[i].start - 1] = ' ';
        memcpy(text + parts[i].start, maker->items[parts[i].unit].text.p + parts[i].from,
               parts[i].end - parts[i].start);
    }
    struct sr_signal_unit *seam = &maker->items[maker->n];
    *seam = maker->items[parts[first].unit];
    for (size_t i = first; i < end; i++) /* of the system only where all of it is */
        if (maker->items[parts[i].unit].role != SR_ROLE_SYSTEM)
            seam->role = maker->items[parts[i].unit].role;
    seam->first_part = (uint32_t)first;
    seam->n_parts = (uint32_t)(end - first);
    seam->only_seam = false;
    seam->text = text ? sr_bytes_of(text, total) : SR_LIT("");
    maker->places[maker->n++] = (struct sr_unit_place){.start = 0};
}

/* True when a border of the parts may cut a word or a value: no white space is beside it. */
static bool cuts_words(const struct maker *maker, size_t first, size_t end)
{
    const struct sr_signal_unit *unit = &maker->items[maker->parts[first].unit];
    if (unit->source != SR_SOURCE_MESSAGE && unit->source != SR_SOURCE_TOOL_RESULT)
        return false;
    for (size_t i = first + 1; i < end; i++) {
        struct sr_bytes left = maker->items[maker->parts[i - 1].unit].text;
        struct sr_bytes right = maker->items[maker->parts[i].unit].text;
        if (!sr_ascii_is_space((unsigned char)left.p[left.n - 1]) &&
            !sr_ascii_is_space((unsigned char)right.p[0]))
            return true;
    }
    return false;
}

/* Makes seams of the parts from `first` on, joined by spaces, and as they stand where that may join what was
 * cut; one part alone is none. */
static void end_seam(struct maker *maker, size_t first)
{
    size_t end = maker->n_parts, n = end - first;
    if (n < 2) {
        maker->n_parts = first;
        return;
    }
    make_seam(maker, first, end);
    if (!cuts_words(maker, first, end))
        return;
    memcpy(&maker->parts[end], &maker->parts[first], n * sizeof *maker->parts);
    for (size_t i = end; i < end + n; i++) {
        maker->parts[i].start -= i - end;
        maker->parts[i].end -= i - end;
    }
    maker->n_parts = end + n;
    make_seam(maker, end, end + n);
}

/* Adds the seams of the units [from, to), which are neighbours. */
static void add_seams(struct maker *maker, size_t from, size_t to)
{
    size_t first = maker->n_parts;
    for (size_t i = from; i < to && to - from > 1; i++) {
        struct sr_bytes text = maker->items[i].text;
        if (text.n <= 2 * SR_UNIT_SEAM) {
            add_part(maker, first, (uint32_t)i, 0, text.n);
            continue;
        }
        size_t tail = tail_of(text, SR_UNIT_SEAM);
        if (i > from)
            add_part(maker, first, (uint32_t)i, 0, head_of(text, SR_UNIT_SEAM));
        end_seam(maker, first);
        first = maker->n_parts;
        add_part(maker, first, (uint32_t)i, text.n - tail, tail);
    }
    end_seam(maker, first);
}

/* Where a number may go over from the message before to the message of units [from, to): a seam of both. */
static void join_numbers(struct maker *maker, size_t from, size_t to)
{
    size_t left = maker->before_end, right = from, first = maker->n_parts;
    while (left > maker->before && !sr_entities_end_in_number(maker->items[left - 1].text))
        left--;
    while (right < to && !sr_entities_begin_with_number(maker->items[right].text))
        right++;
    if (left == maker->before || right == to)
        return;
    struct sr_bytes text = maker->items[left - 1].text;
    size_t tail = tail_of(text, SR_UNIT_SEAM);
    add_part(maker, first, (uint32_t)left - 1, text.n - tail, tail);
    add_part(maker, first, (uint32_t)right, 0, head_of(maker->items[right].text, SR_UNIT_SEAM));
    make_seam(maker, first, first + 2);
    maker->items[maker->n - 1].group = maker->groups;
}

/* ---- units ---- */

static int keep(struct maker *maker, const struct sr_walk_string *string)
{
    if (maker->n_strings == maker->cap_strings) {
        size_t cap = maker->cap_strings ? maker->cap_strings * 2 : FIRST_STRINGS;
        struct sr_walk_string *grown = sr_arena_alloc(maker->arena, cap * sizeof *grown);
        if (!grown)
            return SR_ENOMEM;
        if (maker->n_strings)
            memcpy(grown, maker->strings, maker->n_strings * sizeof *grown);
        maker->strings = grown;
        maker->cap_strings = cap;
    }
    maker->strings[maker->n_strings++] = *string;
    return SR_OK;
}

/* True for a string that may hold the arguments of a call. */
static bool may_be_json(const struct maker *maker, const struct sr_walk_string *string)
{
    return !string->key && maker->doc->spans[string->span].id == SR_AT_MESSAGE_TEXT;
}

static bool has_only_digits(struct sr_bytes number)
{
    size_t n = 0;
    while (n < number.n && number.p[n] >= '0' && number.p[n] <= '9')
        n++;
    return n == number.n;
}

/* Keeps the long numbers of a string that is JSON: an upstream may read it. Not those of digits alone, which
 * the string's own text shows. */
static int keep_numbers(struct maker *maker, struct sr_walk *walk, const struct sr_walk_string *string)
{
    struct sr_bytes raw = {maker->doc->body.p + string->start, string->end - string->start};
    struct sr_bytes text = string->escaped ? sr_json_unescape(raw, maker->arena) : raw;
    sr_json_view root;
    if (!text.p)
        return SR_ENOMEM;
    if (sr_json_view_open(&root, text, NULL) ||
        (!sr_json_view_is_object(root) && !sr_json_view_is_array(root)))
        return SR_OK;
    struct sr_unit_place place = {.start = string->start, .end = string->end, .escaped = string->escaped};
    struct sr_unit_cursor cursor = {.place = NULL};
    struct sr_json_strings inside;
    struct sr_json_string found;
    int rc = SR_OK;
    sr_json_strings_init(&inside, text, 0, text.n);
    inside.find_long = true;
    while (!rc && sr_json_strings_next(&inside, &found)) {
        if (!found.number || has_only_digits(sr_bytes_of(text.p + found.start, found.end - found.start)))
            continue;
        struct sr_walk_string number = *string;
        number.number = true;
        sr_units_span(maker->doc, &place, &cursor, found.start, found.end, &number.start, &number.end);
        if (sr_walk_counts(walk, number.end - number.start))
            rc = keep(maker, &number);
    }
    return rc;
}

static int collect(struct maker *maker, struct sr_walk *walk)
{
    struct sr_walk_string string;
    int rc = SR_OK;
    while (!rc && sr_walk_next(walk, &string)) {
        rc = keep(maker, &string);
        if (!rc && may_be_json(maker, &string) && !string.number)
            rc = keep_numbers(maker, walk, &string);
    }
    return rc;
}

static int make_room(struct maker *maker)
{
    size_t n = maker->n_strings;
    maker->items = sr_arena_calloc(maker->arena, 4 * n + 1, sizeof *maker->items);
    maker->places = sr_arena_calloc(maker->arena, 4 * n + 1, sizeof *maker->places);
    maker->parts = sr_arena_calloc(maker->arena, 6 * n + 1, sizeof *maker->parts);
    return maker->items && maker->places && maker->parts ? SR_OK : SR_ENOMEM;
}

/* What a string says; of a number its digits, whatever its point and exponent. */
static struct sr_bytes text_of(const struct maker *maker, const struct sr_walk_string *string)
{
    struct sr_bytes raw = {maker->doc->body.p + string->start, string->end - string->start};
    char digits[SR_JSON_LONG_MAX];
    struct sr_bytes text = string->escaped ? sr_json_unescape(raw, maker->arena) : raw;
    size_t n = string->number && text.p ? sr_json_long_digits(text, digits) : 0;
    return n ? sr_bytes_str(sr_arena_printf(maker->arena, "%.*s", (int)n, digits)) : text;
}

static void add_unit(struct maker *maker, const struct sr_walk_string *string)
{
    struct sr_bytes text = text_of(maker, string);
    maker->failed |= text.p == NULL;
    maker->places[maker->n] = (struct sr_unit_place){
        .start = string->start,
        .end = string->end,
        .escaped = string->escaped,
        .is_json = may_be_json(maker, string),
        .is_number = string->number,
    };
    maker->items[maker->n++] =
        (struct sr_signal_unit){.source = string->source,
                                .role = string->role,
                                .group = maker->groups,
                                .current = string->message == SR_SPAN_NONE || string->role == SR_ROLE_SYSTEM,
                                .text = text};
}

/* Moves the strings of messages before the others, so that what is numbered in the order of the conversation
 * does not depend on the other members. */
static int put_messages_first(struct maker *maker)
{
    bool others_seen = false, mixed = false;
    size_t n = 0;
    for (size_t i = 0; i < maker->n_strings; i++) {
        others_seen |= maker->strings[i].message == SR_SPAN_NONE;
        mixed |= others_seen && maker->strings[i].message != SR_SPAN_NONE;
    }
    if (!mixed)
        return SR_OK;
    struct sr_walk_string *sorted = sr_arena_alloc(maker->arena, maker->n_strings * sizeof *sorted);
    if (!sorted)
        return SR_ENOMEM;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i < maker->n_strings; i++)
            if ((maker->strings[i].message == SR_SPAN_NONE) == (others == 1))
                sorted[n++] = maker->strings[i];
    maker->strings = sorted;
    return SR_OK;
}

/* True when two strings that follow each other are of one group. */
static bool joins(const struct sr_walk_string *a, const struct sr_walk_string *b)
{
    if (a->message != b->message)
        return false;
    bool texts = a->source == SR_SOURCE_MESSAGE && b->source == SR_SOURCE_MESSAGE;
    return a->message != SR_SPAN_NONE || texts || a->group == b->group;
}

/* Marks the words of schemas and other data in [from, to), a group, that mean nothing alone. */
static void mark_short(struct maker *maker, size_t from, size_t to)
{
    for (size_t i = from; i < to && to - from > 1; i++) {
        struct sr_signal_unit *unit = &maker->items[i];
        bool prose = unit->source == SR_SOURCE_MESSAGE || unit->source == SR_SOURCE_TOOL_RESULT;
        unit->only_seam = !prose && unit->text.n < SR_UNIT_ALONE;
    }
}

/* Makes the group whose strings begin with `first`; returns the string after its last one. */
static size_t add_group(struct maker *maker, size_t first)
{
    size_t at = first, unit = maker->n;
    uint32_t message = maker->strings[first].message;
    if (message != SR_SPAN_NONE && maker->doc->spans[message].index[0] > maker->groups)
        maker->groups = maker->doc->spans[message].index[0]; /* messages without a string count */
    do {
        const struct sr_walk_string *string = &maker->strings[at];
        add_unit(maker, string);
        if (string->role == SR_ROLE_USER && string->source == SR_SOURCE_MESSAGE && !string->key) {
            maker->asks = maker->groups;
            maker->asked = true;
        }
        at++;
    } while (at < maker->n_strings && joins(&maker->strings[at - 1], &maker->strings[at]));
    if (!maker->failed) {
        size_t end = maker->n;
        mark_short(maker, unit, end);
        add_seams(maker, unit, end);
        if (message != SR_SPAN_NONE) {
            join_numbers(maker, unit, end);
            maker->before = unit;
            maker->before_end = end;
        }
    }
    maker->groups++;
    return at;
}

/* Marks what is no history: all from the last user message on, besides instructions of the system and what is
 * no message; everything, where no user message has a text. */
static void mark_current(struct maker *maker)
{
    for (size_t i = 0; i < maker->n; i++)
        maker->items[i].current |= !maker->asked || maker->items[i].group >= maker->asks;
}

static int make(struct maker *maker, struct sr_walk *walk, struct sr_units *out)
{
    *out = (struct sr_units){.places = NULL};
    if (collect(maker, walk) || put_messages_first(maker) || make_room(maker))
        return SR_ENOMEM;
    for (size_t at = 0; at < maker->n_strings && !maker->failed;)
        at = add_group(maker, at);
    mark_current(maker);
    out->list = (struct sr_signal_unit_list){
        .items = maker->items, .n = maker->n, .parts = maker->parts, .n_parts = maker->n_parts};
    out->items = maker->items;
    out->places = maker->places;
    out->unread = walk->unread;
    return maker->failed ? SR_ENOMEM : SR_OK;
}

int sr_units_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_units *out)
{
    struct maker maker = {.doc = doc, .arena = arena};
    struct sr_walk walk;
    sr_walk_begin(&walk, doc);
    return make(&maker, &walk, out);
}

int sr_units_of_message(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                        struct sr_units *out)
{
    struct maker maker = {.doc = doc, .arena = arena};
    struct sr_walk walk;
    sr_walk_begin_span(&walk, doc, message);
    return make(&maker, &walk, out);
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

void sr_units_span(const struct sr_request *doc, const struct sr_unit_place *place,
                   struct sr_unit_cursor *cursor, size_t start, size_t end, size_t *from, size_t *to)
{
    if (!place->escaped) {
        *from = place->start + start;
        *to = place->start + end;
        return;
    }
    if (cursor->place != place || cursor->at > start)
        *cursor = (struct sr_unit_cursor){.place = place, .raw = place->start};
    const char *p = doc->body.p + cursor->raw, *stop = doc->body.p + place->end;
    size_t at = cursor->at;
    *from = *to = place->end;
    while (p < stop) {
        size_t decoded = 1, raw = *p == '\\' ? escape_size(p, stop, &decoded) : 1;
        if (at <= start && start < at + decoded) {
            *from = cursor->raw = (size_t)(p - doc->body.p);
            cursor->at = at;
        }
        if (at < end && end <= at + decoded) {
            *to = (size_t)(p - doc->body.p) + raw;
            return;
        }
        at += decoded;
        p += raw;
    }
}
