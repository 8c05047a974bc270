/*
 * Extracts usage. A number split by a chunk boundary is joined from the kept tail, so that no answer is
 * buffered, however large.
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

/* The bytes of a span that ends in this piece; empty when its beginning was not kept. */
static struct sr_bytes number_bytes(const struct sr_usage_reader *reader, const struct sr_span *span,
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
        if (span->kind != SR_JSON_NUMBER)
            continue;
        if (span->flags & SR_SPAN_OPEN)
            break;
        char scratch[SR_USAGE_TAIL];
        usage_count(reader, span->id, number_bytes(reader, span, piece, scratch));
    }
    keep_tail(reader, piece->bytes);
}

static int usage_event(void *state, struct sr_answer_event *event)
{
    struct sr_usage_reader *reader = state;
    if (event->is_body || !sr_answer_event_has_usage(event))
        return SR_OK;
    for (size_t i = 0; i < event->n_spans; i++)
        if (event->spans[i].kind == SR_JSON_NUMBER)
            usage_count(reader, event->spans[i].id, sr_span_raw(&event->spans[i], event->data));
    return SR_OK;
}

const struct sr_answer_stage sr_usage_stage = {
    .name = "usage",
    .wants = usage_wants,
    .piece = usage_piece,
    .event = usage_event,
};
