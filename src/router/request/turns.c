/* A first walk over the messages' spans counts, a second one fills. */
#include "router/request/turns.h"

#include "router/request/walk.h"

/* A walk: with `out` empty it only counts. */
struct walk {
    const struct sr_request *doc;
    struct sr_arena *arena;
    struct sr_turns *out;
    size_t turns, pieces;
    bool fill, failed;
};

/* The decoded strings of pieces [first, walk->pieces) joined by spaces. A single one is borrowed. */
static struct sr_bytes join(struct walk *walk, size_t first)
{
    struct sr_turn_piece *pieces = walk->out->pieces;
    const struct sr_request *doc = walk->doc;
    size_t n = walk->pieces - first, total = 0, at = 0;
    if (n == 0)
        return SR_LIT("");
    struct sr_bytes *texts = sr_arena_calloc(walk->arena, n, sizeof *texts);
    for (size_t i = 0; texts && i < n; i++) {
        texts[i] = sr_span_text(&doc->spans[pieces[first + i].span], doc->body, walk->arena);
        walk->failed |= texts[i].p == NULL;
        pieces[first + i].start = total;
        pieces[first + i].end = total + texts[i].n;
        total += texts[i].n + 1;
    }
    char *joined = texts && n > 1 ? sr_arena_alloc(walk->arena, total) : NULL;
    walk->failed |= !texts || (n > 1 && !joined);
    if (walk->failed || n == 1)
        return walk->failed ? SR_LIT("") : texts[0];
    for (size_t i = 0; i < n; i++) {
        if (i)
            joined[at++] = ' ';
        if (texts[i].n)
            memcpy(joined + at, texts[i].p, texts[i].n);
        at += texts[i].n;
    }
    return sr_bytes_of(joined, at);
}

/* Makes a turn from the texts of the spans from `from` on that begin before byte `end`. */
static void add_turn(struct walk *walk, size_t from, size_t end, enum sr_signal_role role)
{
    const struct sr_request *doc = walk->doc;
    size_t first = walk->pieces;
    for (size_t i = from; (i = sr_walk_text(doc, i, end, SR_TEXTS_JUDGED)) < doc->n_spans; i++) {
        if (walk->fill)
            walk->out->pieces[walk->pieces] =
                (struct sr_turn_piece){.turn = (uint32_t)walk->turns, .span = (uint32_t)i};
        walk->pieces++;
    }
    if (walk->fill)
        walk->out->items[walk->turns] = (struct sr_signal_turn){.role = role, .text = join(walk, first)};
    walk->turns++;
}

static void walk_all(struct walk *walk)
{
    const struct sr_request *doc = walk->doc;
    walk->turns = walk->pieces = 0;
    if (!doc->dialect->has_messages) {
        add_turn(walk, 0, doc->body.n, SR_ROLE_USER);
        return;
    }
    if (doc->at.messages == SR_SPAN_NONE)
        return;
    size_t end = doc->spans[doc->at.messages].end;
    for (size_t i = doc->at.messages; (i = sr_walk_message(doc, i)) < doc->n_spans; i++) {
        if (doc->spans[i].start >= end)
            return;
        add_turn(walk, i, doc->spans[i].end, walk->fill ? sr_walk_role(doc, i) : SR_ROLE_OTHER);
    }
}

/* Marks the current turn: the last user turn; if none has text, all texts that are no tool results. */
static void mark_current(struct sr_turns *turns)
{
    size_t last = turns->n;
    for (size_t i = 0; i < turns->n; i++)
        if (turns->items[i].role == SR_ROLE_USER)
            last = i;
    bool asks = last < turns->n && turns->items[last].text.n > 0;
    for (size_t i = 0; i < turns->n; i++)
        turns->items[i].current = asks ? i == last : turns->items[i].role != SR_ROLE_TOOL;
}

int sr_turns_read(const struct sr_request *doc, struct sr_arena *arena, struct sr_turns *out)
{
    struct walk walk = {.doc = doc, .arena = arena, .out = out};
    *out = (struct sr_turns){.items = NULL};
    walk_all(&walk);
    out->items = sr_arena_calloc(arena, walk.turns ? walk.turns : 1, sizeof *out->items);
    out->pieces = sr_arena_calloc(arena, walk.pieces ? walk.pieces : 1, sizeof *out->pieces);
    if (!out->items || !out->pieces)
        return SR_ENOMEM;
    walk.fill = true;
    walk_all(&walk);
    out->n = walk.turns;
    out->n_pieces = walk.pieces;
    mark_current(out);
    return walk.failed ? SR_ENOMEM : SR_OK;
}

int sr_turns_one(const struct sr_request *doc, uint32_t message, struct sr_arena *arena,
                 struct sr_signal_turn *out)
{
    struct sr_turns turns = {.items = out};
    struct walk walk = {.doc = doc, .arena = arena, .out = &turns};
    add_turn(&walk, message, doc->spans[message].end, SR_ROLE_OTHER);
    turns.pieces = sr_arena_calloc(arena, walk.pieces ? walk.pieces : 1, sizeof *turns.pieces);
    if (!turns.pieces)
        return SR_ENOMEM;
    walk.turns = walk.pieces = 0;
    walk.fill = true;
    add_turn(&walk, message, doc->spans[message].end, sr_walk_role(doc, message));
    return walk.failed ? SR_ENOMEM : SR_OK;
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

void sr_turns_span(const struct sr_request *doc, const struct sr_turn_piece *piece, size_t start, size_t end,
                   size_t *from, size_t *to)
{
    const struct sr_span *span = &doc->spans[piece->span];
    size_t inside = span->start + 1, close = span->end - 1;
    if (!(span->flags & SR_SPAN_ESCAPED)) {
        *from = inside + (start - piece->start);
        *to = inside + (end - piece->start);
        return;
    }
    const char *p = doc->body.p + inside, *stop = doc->body.p + close;
    size_t at = piece->start;
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
