/* A response over the maximum is not kept; the answer passes all the same. */
#include "router/response/store.h"

static unsigned store_wants(void *state, const struct sr_answer_head *head)
{
    struct sr_answer_store *store = state;
    if (head->mode == SR_ANSWER_RAW || (!head->stores && !head->previous.n))
        return 0;
    sr_buf_init(&store->bytes, head->stores);
    store->previous = head->previous;
    return SR_WANTS_EVENTS | (head->previous.n ? SR_WANTS_CHANGES | SR_WANTS_TEXTS | SR_WANTS_LENGTH : 0u);
}

static void append(struct sr_answer_store *store, struct sr_bytes bytes, bool whole)
{
    if (!store->bytes.max)
        return;
    if (sr_buf_append_bytes(&store->bytes, bytes)) {
        sr_buf_dispose(&store->bytes);
        store->bytes.max = 0;
    } else {
        store->whole = whole;
    }
}

static void store_piece(void *state, const struct sr_answer_piece *piece)
{
    struct sr_answer_store *store = state;
    if (!store->whole)
        append(store, piece->bytes, piece->whole);
}

/* Writes the id where the upstream says that it continues nothing. */
static int name_previous(struct sr_answer_store *store, struct sr_answer_event *event)
{
    int rc = SR_OK;
    if (!event->editable || !sr_bytes_contains(event->data, SR_LIT("\"previous_response_id\"")) ||
        !sr_answer_event_scan(event))
        return SR_OK;
    for (size_t i = 0; i < event->n_spans && !rc; i++) {
        const struct sr_span *span = &event->spans[i];
        if (span->id == SR_ANSWER_PREVIOUS && span->kind == SR_JSON_NULL)
            rc = sr_answer_event_replace(event, span->start, span->end, store->previous);
    }
    return rc;
}

/* Keeps the response that the last event repeats. */
static void keep_last(struct sr_answer_store *store, struct sr_answer_event *event)
{
    if (!store->bytes.max || store->whole || !sr_answer_event_scan(event))
        return;
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        size_t n = span->key_end - span->key_start;
        if (span->parent == SR_SPAN_NONE && !(span->flags & SR_SPAN_NESTED) && span->kind == SR_JSON_OBJECT &&
            sr_bytes_eq(sr_bytes_of(event->data.p + span->key_start, n), SR_LIT("\"response\""))) {
            append(store, sr_span_raw(span, event->data), true);
            return;
        }
    }
}

static int store_event(void *state, struct sr_answer_event *event)
{
    struct sr_answer_store *store = state;
    if (!event->has_data || event->mark)
        return SR_OK;
    if (!event->is_body && event->kind.ends)
        keep_last(store, event);
    return store->previous.n ? name_previous(store, event) : SR_OK;
}

const struct sr_answer_stage sr_store_stage = {
    .name = "store",
    .wants = store_wants,
    .piece = store_piece,
    .event = store_event,
};

void sr_answer_store_dispose(struct sr_answer_store *store)
{
    sr_buf_dispose(&store->bytes);
}
