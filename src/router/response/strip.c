/* Removes usage from events. */
#include "router/response/strip.h"

static unsigned strip_wants(void *state, const struct sr_answer_head *head)
{
    (void)state;
    return head->mode == SR_ANSWER_SSE && head->strip_usage ? SR_WANTS_CHANGES | SR_WANTS_LENGTH : 0;
}

/* Removes a member with its comma: the one after it, else the one before it. */
static int cut_member(struct sr_answer_event *event, const struct sr_span *span)
{
    struct sr_bytes data = event->data;
    size_t start = span->key_start, end = span->end, after = span->end;
    while (after < data.n && strchr(" \t\r\n", data.p[after]))
        after++;
    if (after < data.n && data.p[after] == ',')
        return sr_answer_event_replace(event, start, after + 1, SR_LIT(""));
    size_t before = start;
    while (before > 0 && strchr(" \t\r\n", data.p[before - 1]))
        before--;
    if (before > 0 && data.p[before - 1] == ',')
        start = before - 1;
    return sr_answer_event_replace(event, start, end, SR_LIT(""));
}

static int strip_event(void *state, struct sr_answer_event *event)
{
    const struct sr_span *usage = NULL;
    bool choices_empty = false;
    (void)state;
    if (!sr_answer_event_has_usage(event))
        return SR_OK;
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        if (span->id == SR_ANSWER_USAGE)
            usage = span;
        else if (span->id == SR_ANSWER_CHOICES)
            choices_empty = span->kind == SR_JSON_ARRAY && (span->flags & SR_SPAN_EMPTY);
    }
    if (usage->kind != SR_JSON_NULL && choices_empty) {
        event->dropped = true;
        return SR_OK;
    }
    return event->editable ? cut_member(event, usage) : SR_OK;
}

const struct sr_answer_stage sr_strip_stage = {
    .name = "strip_usage",
    .wants = strip_wants,
    .event = strip_event,
};
