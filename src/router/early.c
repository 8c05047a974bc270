/* Follows the spans of an unfinished body to the newest user turn and feeds what has arrived of its texts. */
#include "router/early.h"

#define BLOCK ((size_t)8 << 10) /* bytes that are decoded at a time */

void sr_early_init(struct sr_early *early, const struct sr_signals *signals, enum sr_dialect dialect)
{
    *early = (struct sr_early){.content = SR_SPAN_NONE, .turn = SR_SPAN_NONE};
    size_t whole = sr_signals_read_whole(signals);
    if (sr_dialects[dialect].routes_auto && whole != SIZE_MAX)
        early->least = whole > SR_EARLY_MIN ? whole : SR_EARLY_MIN;
}

void sr_early_dispose(struct sr_early *early)
{
    sr_signal_brief_free(early->brief);
    early->brief = NULL;
    early->least = 0;
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

static bool is_user(const struct sr_request *doc, const struct sr_span *role)
{
    return role->kind == SR_JSON_STRING && sr_bytes_eq(sr_span_raw(role, doc->body), SR_LIT("\"user\""));
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
            early->is_user = is_user(doc, span);
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

static void feed(struct sr_early *early, struct sr_bytes text)
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

/* Decodes and feeds raw[0..n), the inside of a string or a part of it; returns how much of it is done with.
 */
static size_t feed_raw(struct sr_early *early, struct sr_bytes raw, bool last)
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
        feed(early, sr_bytes_of(block.p, n));
        if (used == 0)
            break;
        done += used;
    }
    return done;
}

/* The string at early->text_span, at most `*left` bytes of it. True when all of it is done with. */
static bool read_string(struct sr_early *early, const struct sr_request *doc, size_t *left)
{
    const struct sr_span *span = &doc->spans[early->text_span];
    bool open = span->flags & SR_SPAN_OPEN;
    size_t end = open ? doc->body.n : span->end - 1;
    if (early->at == 0) {
        early->at = span->start + 1;
        early->between = early->begun;
    }
    size_t n = end - early->at < *left ? end - early->at : *left;
    size_t done = feed_raw(early, sr_bytes_of(doc->body.p + early->at, n), !open && early->at + n == end);
    early->at += done;
    *left -= done;
    return !open && early->at == end;
}

static bool is_text(const struct sr_early *early, const struct sr_span *span, size_t i)
{
    return span->kind == SR_JSON_STRING &&
           (i == early->turn || span->id == SR_AT_PART_TEXT || span->id == SR_AT_PROMPT_ITEM);
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
        if (is_text(early, &doc->spans[early->text_span], early->text_span) &&
            !read_string(early, doc, &left))
            return;
        early->at = 0;
    }
}
