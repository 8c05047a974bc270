/* Follows the spans of an unfinished body and feeds what has arrived of texts: of the newest user turn to the
 * compressor, of every message to the neural classifiers. */
#include "router/request/prefetch.h"

#include "router/request/turns.h"
#include "router/request/walk.h"

#define BLOCK       ((size_t)8 << 10) /* bytes that are decoded at a time */
#define SCRATCH_MAX ((size_t)1 << 20) /* bytes: a turn, decoded */

/* Who reads strings. */
struct reader {
    void (*begin)(struct sr_early *early); /* a string begins */
    void (*feed)(struct sr_early *early, struct sr_bytes text);
};

void sr_early_init(struct sr_early *early, const struct sr_signals *signals,
                   const struct sr_dialect_ops *dialect)
{
    *early = (struct sr_early){.content = SR_SPAN_NONE, .turn = SR_SPAN_NONE};
    early->ask.message = SR_SPAN_NONE;
    size_t whole = sr_signals_read_whole(signals);
    if (dialect->routes_auto && whole != SIZE_MAX)
        early->least = whole > SR_EARLY_MIN ? whole : SR_EARLY_MIN;
}

void sr_early_dispose(struct sr_early *early)
{
    sr_signal_brief_free(early->brief);
    sr_signal_prefetch_free(early->ask.ahead);
    early->brief = NULL;
    early->least = 0;
    early->ask.ahead = NULL;
}

struct sr_signal_brief *sr_early_take(struct sr_early *early)
{
    struct sr_signal_brief *brief = early->brief;
    early->brief = NULL;
    early->least = 0;
    return brief;
}

static void begin_turn(struct sr_early *early, uint32_t container)
{
    early->turn = container;
    early->text_span = container;
    early->at = 0;
    early->begun = early->between = false;
}

/* The end of a span as far as it is there. */
static size_t end_of(const struct sr_request *doc, size_t span)
{
    return doc->spans[span].flags & SR_SPAN_OPEN ? doc->body.n : doc->spans[span].end;
}

/* Looks at the spans that came since the last call. */
static void follow(struct sr_early *early, const struct sr_request *doc)
{
    for (; early->next_span < doc->n_spans; early->next_span++) {
        const struct sr_span *span = &doc->spans[early->next_span];
        switch (span->id) {
        case SR_AT_MESSAGE:
            early->content = SR_SPAN_NONE;
            early->is_user = false;
            break;
        case SR_AT_ROLE:
            if (span->flags & SR_SPAN_OPEN)
                return;
            early->is_user = sr_walk_role_of(doc, span) == SR_ROLE_USER;
            break;
        case SR_AT_CONTENT:
            early->content = (uint32_t)early->next_span;
            break;
        case SR_AT_PROMPT:
            begin_turn(early, (uint32_t)early->next_span);
            break;
        default:
            continue;
        }
        if (early->is_user && early->content != SR_SPAN_NONE && early->content != early->turn)
            begin_turn(early, early->content);
    }
}

static void brief_string(struct sr_early *early)
{
    early->between = early->begun;
}

static void brief_feed(struct sr_early *early, struct sr_bytes text)
{
    if (text.n == 0)
        return;
    if (!early->begun)
        sr_signal_brief_begin(early->brief);
    if (early->between)
        sr_signal_brief_feed(early->brief, SR_LIT(" "));
    early->begun = true;
    early->between = false;
    sr_signal_brief_feed(early->brief, text);
}

static const struct reader brief_reader = {brief_string, brief_feed};

/* Decodes and feeds raw[0..n), the inside of a string or a part of it; returns how much of it is done with.
 */
static size_t feed_raw(struct sr_early *early, const struct reader *reader, struct sr_bytes raw, bool last)
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
        reader->feed(early, sr_bytes_of(block.p, n));
        if (used == 0)
            break;
        done += used;
    }
    return done;
}

/* The string of this span from byte *at on (0: it was not begun), at most `*left` bytes of it. True when all
 * of it is done with. */
static bool read_string(struct sr_early *early, const struct reader *reader, const struct sr_request *doc,
                        const struct sr_span *span, size_t *at, size_t *left)
{
    bool open = span->flags & SR_SPAN_OPEN;
    size_t end = open ? doc->body.n : span->end - 1;
    if (*at == 0) {
        *at = span->start + 1;
        reader->begin(early);
    }
    size_t n = end - *at < *left ? end - *at : *left;
    size_t done = feed_raw(early, reader, sr_bytes_of(doc->body.p + *at, n), !open && *at + n == end);
    *at += done;
    *left -= done;
    return !open && *at == end;
}

void sr_early_read(struct sr_early *early, struct sr_signals *signals, const struct sr_request *doc)
{
    if (early->least == 0)
        return;
    follow(early, doc);
    if (early->turn == SR_SPAN_NONE)
        return;
    size_t end = end_of(doc, early->turn), length = end - doc->spans[early->turn].start;
    if (length > SR_EARLY_MAX) {
        sr_signal_brief_free(early->brief);
        early->brief = NULL;
    }
    if (length <= early->least || length > SR_EARLY_MAX)
        return;
    if (!early->brief)
        early->brief = sr_signal_brief_new(signals);
    if (!early->brief) {
        early->least = 0;
        return;
    }
    size_t left = SR_EARLY_STEP;
    for (; early->text_span < doc->n_spans && doc->spans[early->text_span].start < end; early->text_span++) {
        const struct sr_span *span = &doc->spans[early->text_span];
        if (sr_walk_is_text(span, SR_TEXTS_CONTENT) &&
            !read_string(early, &brief_reader, doc, span, &early->at, &left))
            return;
        early->at = 0;
    }
}

/* ---- neural classifiers ---- */

static void ask_string(struct sr_early *early)
{
    if (early->ask.pieces++)
        sr_signal_prefetch_feed(early->ask.ahead, SR_LIT(" "));
}

static void ask_feed(struct sr_early *early, struct sr_bytes text)
{
    sr_signal_prefetch_feed(early->ask.ahead, text);
}

static const struct reader ask_reader = {ask_string, ask_feed};

static void begin_message(struct sr_early *early, size_t first, enum sr_signal_role role)
{
    early->ask.message = (uint32_t)first;
    early->ask.text_span = first;
    early->ask.at = 0;
    early->ask.pieces = 0;
    sr_signal_prefetch_begin(early->ask.ahead, role);
}

/* What has arrived of the message that is arriving. */
static void ask_arrived(struct sr_early *early, const struct sr_request *doc, size_t *left)
{
    for (; *left && early->ask.text_span < doc->n_spans; early->ask.text_span++) {
        const struct sr_span *span = &doc->spans[early->ask.text_span];
        if (sr_walk_is_text(span, SR_TEXTS_JUDGED) &&
            !read_string(early, &ask_reader, doc, span, &early->ask.at, left))
            return;
        early->ask.at = 0;
    }
}

static void ask_whole(struct sr_early *early, const struct sr_request *doc, uint32_t message, size_t *left)
{
    size_t n = doc->spans[message].end - doc->spans[message].start;
    struct sr_signal_turn turn;
    struct sr_arena scratch;
    *left -= n < *left ? n : *left;
    if (n > SR_EARLY_TURN)
        return;
    sr_arena_init(&scratch, SCRATCH_MAX);
    if (sr_turns_one(doc, message, &scratch, &turn) == SR_OK)
        sr_signal_prefetch_turn(early->ask.ahead, &turn);
    sr_arena_dispose(&scratch);
}

/* The message that arrives, or the next one; false when there is none yet. */
static bool find_message(struct sr_early *early, const struct sr_request *doc)
{
    while (early->ask.message == SR_SPAN_NONE && early->ask.next_span < doc->n_spans) {
        size_t i = early->ask.next_span++;
        if (doc->spans[i].id != SR_AT_MESSAGE)
            continue;
        if (doc->spans[i].flags & SR_SPAN_OPEN)
            begin_message(early, i, sr_walk_role(doc, i));
        early->ask.message = (uint32_t)i;
    }
    return early->ask.message != SR_SPAN_NONE;
}

static void ask_chat(struct sr_early *early, const struct sr_request *doc)
{
    for (size_t left = SR_EARLY_ASK; left && find_message(early, doc);) {
        uint32_t message = early->ask.message;
        if (doc->spans[message].flags & SR_SPAN_OPEN) {
            ask_arrived(early, doc, &left);
            return;
        }
        ask_whole(early, doc, message, &left);
        early->ask.message = SR_SPAN_NONE;
    }
}

void sr_early_ask(struct sr_early *early, struct sr_signals *signals, uint32_t types, struct sr_bytes tenant,
                  const struct sr_request *doc)
{
    size_t left = SR_EARLY_ASK;
    if (!sr_signals_foresee(signals, types)) {
        sr_signal_prefetch_free(early->ask.ahead);
        early->ask.ahead = NULL;
        return;
    }
    bool first = !early->ask.ahead;
    if (first)
        early->ask.ahead = sr_signal_prefetch_new(signals, tenant);
    if (!early->ask.ahead)
        return;
    sr_signal_prefetch_want(early->ask.ahead, types);
    if (doc->dialect->has_messages) {
        ask_chat(early, doc);
        return;
    }
    if (first) /* all texts are one turn, which is complete with the body */
        begin_message(early, 0, SR_ROLE_USER);
    ask_arrived(early, doc, &left);
}
