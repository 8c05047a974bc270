/*
 * Extracts usage. A number or a reason split by a chunk boundary is joined from the kept tail, so that no
 * answer is buffered, however large.
 */
#include "router/response/usage.h"

static unsigned usage_wants(void *state, const struct sr_answer_head *head)
{
    (void)state;
    return head->mode == SR_ANSWER_RAW ? 0 : SR_WANTS_EVENTS;
}

static void usage_count(struct sr_usage_reader *reader, uint16_t id, struct sr_bytes number)
{
    struct sr_usage *usage = &reader->usage;
    unsigned long long value;
    if (!sr_bytes_to_u64(number, &value))
        return;
    switch (id) {
    case SR_ANSWER_PROMPT_TOKENS:
        usage->prompt = value;
        break;
    case SR_ANSWER_COMPLETION_TOKENS:
        usage->completion = value;
        break;
    case SR_ANSWER_CACHED_TOKENS:
        usage->cached = value;
        break;
    case SR_ANSWER_CACHE_WRITE_TOKENS:
        usage->cache_write = value;
        break;
    case SR_ANSWER_REST_TOKENS:
        reader->rest = value;
        reader->has_rest = true;
        break;
    default:
        return;
    }
    usage->seen = true;
    if (reader->has_rest)
        usage->prompt = reader->rest + usage->cached + usage->cache_write;
}

/* A string that says why a choice, or an answer without choices, ends. */
static bool is_finish(const struct sr_span *span)
{
    return span->kind == SR_JSON_STRING && (span->id == SR_ANSWER_FINISH || span->id == SR_ANSWER_STOP);
}

/* `string` with its quotes. */
static void note_finish(struct sr_usage_reader *reader, struct sr_bytes string)
{
    if (string.n > 2)
        reader->usage.finish |= sr_finish_bit(sr_bytes_of(string.p + 1, string.n - 2));
}

/* The bytes of a span that ends in this piece; empty when its beginning was not kept. */
static struct sr_bytes span_bytes(const struct sr_usage_reader *reader, const struct sr_span *span,
                                  const struct sr_answer_piece *piece, char scratch[SR_USAGE_TAIL])
{
    size_t length = span->end - span->start;
    if (span->start >= piece->offset)
        return sr_bytes_of(piece->bytes.p + (span->start - piece->offset), length);
    size_t before = piece->offset - span->start;
    if (before > reader->tail_n || length > SR_USAGE_TAIL)
        return (struct sr_bytes){"", 0};
    size_t head = before < length ? before : length;
    memcpy(scratch, reader->tail + reader->tail_n - before, head);
    if (length > head)
        memcpy(scratch + head, piece->bytes.p, length - head);
    return sr_bytes_of(scratch, length);
}

static void keep_tail(struct sr_usage_reader *reader, struct sr_bytes chunk)
{
    if (chunk.n >= SR_USAGE_TAIL) {
        memcpy(reader->tail, chunk.p + chunk.n - SR_USAGE_TAIL, SR_USAGE_TAIL);
        reader->tail_n = SR_USAGE_TAIL;
        return;
    }
    size_t keep = reader->tail_n;
    if (keep > SR_USAGE_TAIL - chunk.n)
        keep = SR_USAGE_TAIL - chunk.n;
    memmove(reader->tail, reader->tail + reader->tail_n - keep, keep);
    memcpy(reader->tail + keep, chunk.p, chunk.n);
    reader->tail_n = keep + chunk.n;
}

static void usage_piece(void *state, const struct sr_answer_piece *piece)
{
    struct sr_usage_reader *reader = state;
    for (; reader->next < piece->n_spans; reader->next++) {
        const struct sr_span *span = &piece->spans[reader->next];
        char scratch[SR_USAGE_TAIL];
        if (span->kind != SR_JSON_NUMBER && !is_finish(span))
            continue;
        if (span->flags & SR_SPAN_OPEN)
            break;
        struct sr_bytes bytes = span_bytes(reader, span, piece, scratch);
        if (span->kind == SR_JSON_NUMBER)
            usage_count(reader, span->id, bytes);
        else
            note_finish(reader, bytes);
    }
    keep_tail(reader, piece->bytes);
}

/* Whether a member `..._reason` is a string: most events of OpenAI's API have one that is null. An event
 * without is not scanned for it. */
static bool may_finish(const struct sr_answer_event *event)
{
    struct sr_bytes rest = event->data, word = SR_LIT("_reason\"");
    const char *at;
    while (event->has_data && !event->mark && rest.n && (at = memmem(rest.p, rest.n, word.p, word.n))) {
        size_t n = (size_t)(at - rest.p) + word.n;
        rest = sr_bytes_trim(sr_bytes_of(rest.p + n, rest.n - n));
        if (rest.n && rest.p[0] == ':')
            rest = sr_bytes_trim(sr_bytes_of(rest.p + 1, rest.n - 1));
        if (rest.n && rest.p[0] == '"')
            return true;
    }
    return false;
}

static int usage_event(void *state, struct sr_answer_event *event)
{
    struct sr_usage_reader *reader = state;
    bool finishes = !event->is_body && may_finish(event) && sr_answer_event_scan(event);
    if (event->is_body || (!sr_answer_event_has_usage(event) && !finishes))
        return SR_OK;
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        if (span->kind == SR_JSON_NUMBER && sr_answer_event_has_usage(event))
            usage_count(reader, span->id, sr_span_raw(span, event->data));
        else if (is_finish(span))
            note_finish(reader, sr_span_raw(span, event->data));
    }
    return SR_OK;
}

const struct sr_answer_stage sr_usage_stage = {
    .name = "usage",
    .wants = usage_wants,
    .piece = usage_piece,
    .event = usage_event,
};
