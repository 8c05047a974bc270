/* Follows the spans of an incomplete body and passes on the texts that have arrived: the newest user turn
 * to the compressor, every unit to the neural classifiers. */
#include "router/request/prefetch.h"

#include "router/request/units.h"
#include "router/request/walk.h"

#define BLOCK       ((size_t)8 << 10) /* bytes decoded at a time */
#define SCRATCH_MAX ((size_t)1 << 20) /* bytes of a decoded message */

/* The consumer of strings: compressor or neural classifiers. */
struct reader {
    void (*begin)(struct sr_prefetch *prefetch); /* a string begins */
    void (*feed)(struct sr_prefetch *prefetch, struct sr_bytes text);
};

void sr_prefetch_init(struct sr_prefetch *prefetch, const struct sr_signals *signals,
                      const struct sr_dialect_ops *dialect)
{
    *prefetch = (struct sr_prefetch){.content = SR_SPAN_NONE, .turn = SR_SPAN_NONE};
    prefetch->ask.message = SR_SPAN_NONE;
    size_t whole = sr_signals_read_whole(signals);
    if (dialect->routes_auto && whole != SIZE_MAX)
        prefetch->least = whole > SR_PREFETCH_MIN ? whole : SR_PREFETCH_MIN;
}

void sr_prefetch_dispose(struct sr_prefetch *prefetch)
{
    sr_signal_brief_free(prefetch->brief);
    sr_signal_prefetch_free(prefetch->ask.asked);
    prefetch->brief = NULL;
    prefetch->least = 0;
    prefetch->ask.asked = NULL;
}

struct sr_signal_brief *sr_prefetch_take(struct sr_prefetch *prefetch)
{
    struct sr_signal_brief *brief = prefetch->brief;
    prefetch->brief = NULL;
    prefetch->least = 0;
    return brief;
}

static void begin_turn(struct sr_prefetch *prefetch, uint32_t container)
{
    prefetch->turn = container;
    prefetch->text_span = container;
    prefetch->at = 0;
    prefetch->begun = prefetch->between = false;
}

/* The end of a span, or of what has arrived of it. */
static size_t end_of(const struct sr_request *doc, size_t span)
{
    return doc->spans[span].flags & SR_SPAN_OPEN ? doc->body.n : doc->spans[span].end;
}

/* Looks at the spans added since the last call. */
static void follow(struct sr_prefetch *prefetch, const struct sr_request *doc)
{
    for (; prefetch->next_span < doc->n_spans; prefetch->next_span++) {
        const struct sr_span *span = &doc->spans[prefetch->next_span];
        switch (span->id) {
        case SR_AT_MESSAGE:
            prefetch->content = SR_SPAN_NONE;
            prefetch->is_user = false;
            break;
        case SR_AT_ROLE:
            if (span->flags & SR_SPAN_OPEN)
                return;
            prefetch->is_user = sr_walk_role_of(doc, span) == SR_ROLE_USER;
            break;
        case SR_AT_CONTENT:
            prefetch->content = (uint32_t)prefetch->next_span;
            break;
        case SR_AT_PROMPT:
            begin_turn(prefetch, (uint32_t)prefetch->next_span);
            break;
        default:
            continue;
        }
        if (prefetch->is_user && prefetch->content != SR_SPAN_NONE && prefetch->content != prefetch->turn)
            begin_turn(prefetch, prefetch->content);
    }
}

static void brief_string(struct sr_prefetch *prefetch)
{
    prefetch->between = prefetch->begun;
}

static void brief_feed(struct sr_prefetch *prefetch, struct sr_bytes text)
{
    if (text.n == 0)
        return;
    if (!prefetch->begun)
        sr_signal_brief_begin(prefetch->brief);
    if (prefetch->between)
        sr_signal_brief_feed(prefetch->brief, SR_LIT(" "));
    prefetch->begun = true;
    prefetch->between = false;
    sr_signal_brief_feed(prefetch->brief, text);
}

static const struct reader brief_reader = {brief_string, brief_feed};

/* Decodes raw[0..n), the inside of a string or a part of it, and passes it to the reader; returns the
 * bytes consumed. */
static size_t feed_raw(struct sr_prefetch *prefetch, const struct reader *reader, struct sr_bytes raw,
                       bool last)
{
    size_t done = 0;
    while (done < raw.n) {
        char decoded[BLOCK];
        struct sr_bytes block = {raw.p + done, raw.n - done < BLOCK ? raw.n - done : BLOCK};
        bool ends = last && done + block.n == raw.n;
        size_t n = block.n, used = block.n;
        if (memchr(block.p, '\\', block.n)) {
            used = sr_json_unescape_part(block, ends, decoded, &n);
            block.p = decoded;
        }
        reader->feed(prefetch, sr_bytes_of(block.p, n));
        if (used == 0)
            break;
        done += used;
    }
    return done;
}

/* Reads the string of this span from byte *at on (0: not begun), at most `*left` bytes. True when all of
 * it was read. */
static bool read_string(struct sr_prefetch *prefetch, const struct reader *reader,
                        const struct sr_request *doc, const struct sr_span *span, size_t *at, size_t *left)
{
    bool open = span->flags & SR_SPAN_OPEN;
    size_t end = open ? doc->body.n : span->end - 1;
    if (*at == 0) {
        *at = span->start + 1;
        reader->begin(prefetch);
    }
    size_t n = end - *at < *left ? end - *at : *left;
    size_t done = feed_raw(prefetch, reader, sr_bytes_of(doc->body.p + *at, n), !open && *at + n == end);
    *at += done;
    *left -= done;
    return !open && *at == end;
}

void sr_prefetch_read(struct sr_prefetch *prefetch, struct sr_signals *signals, const struct sr_request *doc)
{
    if (prefetch->least == 0)
        return;
    follow(prefetch, doc);
    if (prefetch->turn == SR_SPAN_NONE)
        return;
    size_t end = end_of(doc, prefetch->turn), length = end - doc->spans[prefetch->turn].start;
    if (length > SR_PREFETCH_MAX) {
        sr_signal_brief_free(prefetch->brief);
        prefetch->brief = NULL;
    }
    if (length <= prefetch->least || length > SR_PREFETCH_MAX)
        return;
    if (!prefetch->brief)
        prefetch->brief = sr_signal_brief_new(signals);
    if (!prefetch->brief) {
        prefetch->least = 0;
        return;
    }
    size_t left = SR_PREFETCH_STEP;
    for (; prefetch->text_span < doc->n_spans && doc->spans[prefetch->text_span].start < end;
         prefetch->text_span++) {
        const struct sr_span *span = &doc->spans[prefetch->text_span];
        if (sr_walk_is_text(span, SR_TEXTS_CONTENT) &&
            !read_string(prefetch, &brief_reader, doc, span, &prefetch->at, &left))
            return;
        prefetch->at = 0;
    }
}

/* ---- neural classifiers ---- */

static void ask_string(struct sr_prefetch *prefetch)
{
    sr_signal_prefetch_begin(prefetch->ask.asked, prefetch->ask.role);
}

static void ask_feed(struct sr_prefetch *prefetch, struct sr_bytes text)
{
    sr_signal_prefetch_feed(prefetch->ask.asked, text);
}

static const struct reader ask_reader = {ask_string, ask_feed};

static void begin_message(struct sr_prefetch *prefetch, size_t first, enum sr_signal_role role)
{
    prefetch->ask.message = (uint32_t)first;
    prefetch->ask.text_span = first;
    prefetch->ask.at = 0;
    prefetch->ask.role = role;
}

/* Prefetches what has arrived of the current message. */
static void ask_arrived(struct sr_prefetch *prefetch, const struct sr_request *doc, size_t *left)
{
    for (; *left && prefetch->ask.text_span < doc->n_spans; prefetch->ask.text_span++) {
        const struct sr_span *span = &doc->spans[prefetch->ask.text_span];
        if (span->id == SR_AT_ROLE && (span->flags & SR_SPAN_OPEN))
            return;
        if (span->id == SR_AT_ROLE)
            prefetch->ask.role = sr_walk_role_of(doc, span);
        if (sr_walk_is_text(span, SR_TEXTS_JUDGED) &&
            !read_string(prefetch, &ask_reader, doc, span, &prefetch->ask.at, left))
            return;
        prefetch->ask.at = 0;
    }
}

static void ask_whole(struct sr_prefetch *prefetch, const struct sr_request *doc, uint32_t message,
                      size_t *left)
{
    size_t n = doc->spans[message].end - doc->spans[message].start;
    struct sr_units units;
    struct sr_arena scratch;
    *left -= n < *left ? n : *left;
    if (n > SR_PREFETCH_TURN)
        return;
    sr_arena_init(&scratch, SCRATCH_MAX);
    if (sr_units_of_message(doc, message, &scratch, &units) == SR_OK)
        for (size_t i = 0; i < units.list.n; i++)
            sr_signal_prefetch_unit(prefetch->ask.asked, &units.list.items[i]);
    sr_arena_dispose(&scratch);
}

/* Finds the current message or the next one; false when there is none yet. */
static bool find_message(struct sr_prefetch *prefetch, const struct sr_request *doc)
{
    while (prefetch->ask.message == SR_SPAN_NONE && prefetch->ask.next_span < doc->n_spans) {
        size_t i = prefetch->ask.next_span++;
        if (doc->spans[i].id != SR_AT_MESSAGE)
            continue;
        if (doc->spans[i].flags & SR_SPAN_OPEN)
            begin_message(prefetch, i, sr_walk_role(doc, i));
        prefetch->ask.message = (uint32_t)i;
    }
    return prefetch->ask.message != SR_SPAN_NONE;
}

static void ask_chat(struct sr_prefetch *prefetch, const struct sr_request *doc)
{
    for (size_t left = SR_PREFETCH_ASK; left && find_message(prefetch, doc);) {
        uint32_t message = prefetch->ask.message;
        if (doc->spans[message].flags & SR_SPAN_OPEN) {
            ask_arrived(prefetch, doc, &left);
            return;
        }
        ask_whole(prefetch, doc, message, &left);
        prefetch->ask.message = SR_SPAN_NONE;
    }
}

void sr_prefetch_ask(struct sr_prefetch *prefetch, struct sr_signals *signals, uint32_t types,
                     struct sr_bytes tenant, const struct sr_request *doc)
{
    size_t left = SR_PREFETCH_ASK;
    if (!sr_signals_can_prefetch(signals, types)) {
        sr_signal_prefetch_free(prefetch->ask.asked);
        prefetch->ask.asked = NULL;
        return;
    }
    bool first = !prefetch->ask.asked;
    if (first)
        prefetch->ask.asked = sr_signal_prefetch_new(signals, tenant);
    if (!prefetch->ask.asked)
        return;
    sr_signal_prefetch_want(prefetch->ask.asked, types);
    if (doc->dialect->has_messages) {
        ask_chat(prefetch, doc);
        return;
    }
    if (first) /* all texts are one group, which ends with the body */
        begin_message(prefetch, 0, SR_ROLE_USER);
    ask_arrived(prefetch, doc, &left);
}
