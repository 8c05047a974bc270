/* Scanning, marking and writing of one event. */
#include "router/response/event.h"

#include <stdlib.h>

#define NUMBERS_MAX 64 /* indices of one event known by `index`; others use the position */

struct sr_answer_number {
    uint16_t id;
    bool top; /* a member of the event itself: it counts for all of it */
    uint32_t at[2];
    uint64_t value;
};

/* The type of an event: nearly all servers write it first, which needs no scan. */
static struct sr_bytes type_of(struct sr_answer_event *event)
{
    static const struct sr_bytes first = {"{\"type\":\"", 9};
    struct sr_bytes data = event->data;
    if (data.n > first.n && memcmp(data.p, first.p, first.n) == 0) {
        const char *end = memchr(data.p + first.n, '"', data.n - first.n);
        return end ? sr_bytes_of(data.p + first.n, (size_t)(end - data.p) - first.n) : SR_LIT("");
    }
    if (sr_answer_event_scan(event))
        for (size_t i = 0; i < event->n_spans; i++)
            if (event->spans[i].id == SR_ANSWER_TYPE && event->spans[i].kind == SR_JSON_STRING)
                return sr_bytes_of(data.p + event->spans[i].start + 1,
                                   event->spans[i].end - event->spans[i].start - 2);
    return SR_LIT("");
}

void sr_answer_event_init(struct sr_answer_event *event, const struct sr_sse_frame *frame,
                          const struct sr_dialect_ops *dialect, const struct sr_paths *paths,
                          struct sr_arena *arena, struct sr_buf *before)
{
    sr_buf_clear(before);
    *event = (struct sr_answer_event){
        .raw = frame->raw,
        .data = frame->data,
        .lead = frame->lead,
        .data_at = frame->data_at,
        .whole = frame->whole,
        .has_data = frame->whole && frame->has_data,
        .editable = frame->whole && frame->data_lines == 1,
        .paths = paths,
        .arena = arena,
        .before = before,
    };
    event->mark = event->has_data && sr_bytes_eq(frame->data, sr_bytes_str(dialect->done));
    if (dialect->event_kind && event->has_data && !event->mark)
        event->kind = dialect->event_kind(type_of(event));
    event->done = event->mark || event->kind.ends;
}

void sr_answer_event_init_body(struct sr_answer_event *event, struct sr_bytes body,
                               const struct sr_scan *scan, struct sr_arena *arena, struct sr_buf *before)
{
    sr_buf_clear(before);
    *event = (struct sr_answer_event){
        .raw = body,
        .data = body,
        .whole = true,
        .has_data = true,
        .editable = true,
        .is_body = true,
        .arena = arena,
        .scanned = true,
        .is_json = scan != NULL,
        .is_object = scan && sr_scan_root_kind(scan) == SR_JSON_OBJECT,
        .before = before,
    };
    if (scan)
        event->spans = sr_scan_spans(scan, &event->n_spans);
}

bool sr_answer_event_scan(struct sr_answer_event *event)
{
    struct sr_scan *scan;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = SR_ANSWER_SPANS_MAX;
    if (event->scanned)
        return event->is_json;
    event->scanned = true;
    if (!event->has_data || event->mark || sr_scan_new(&scan, event->paths, limits, event->arena))
        return false;
    int rc = sr_scan_feed(scan, event->data.p, event->data.n, NULL);
    if ((rc != SR_OK && rc != SR_MORE) || sr_scan_finish(scan, NULL))
        return false;
    event->spans = sr_scan_spans(scan, &event->n_spans);
    event->is_json = true;
    event->is_object = sr_scan_root_kind(scan) == SR_JSON_OBJECT;
    return true;
}

static bool find_usage(struct sr_answer_event *event)
{
    if (!event->has_data || event->mark || !sr_bytes_contains(event->data, SR_LIT("\"usage\"")) ||
        !sr_answer_event_scan(event) || !event->is_object)
        return false;
    for (size_t i = 0; i < event->n_spans; i++)
        if (event->spans[i].id == SR_ANSWER_USAGE)
            return true;
    return false;
}

bool sr_answer_event_has_usage(struct sr_answer_event *event)
{
    if (event->usage == SR_USAGE_UNKNOWN)
        event->usage = find_usage(event) ? SR_USAGE_THERE : SR_USAGE_NONE;
    return event->usage == SR_USAGE_THERE;
}

uint16_t sr_answer_event_text(const struct sr_answer_event *event, const struct sr_span *span)
{
    bool string = span->kind == SR_JSON_STRING;
    switch (span->id) {
    case SR_ANSWER_PART:
    case SR_ANSWER_COMMAND:
        return string ? SR_ANSWER_TEXT : 0;
    case SR_ANSWER_DELTA:
        return string ? event->kind.delta : 0;
    case SR_ANSWER_WHOLE_REASONING:
        return string ? SR_ANSWER_REASONING : 0;
    case SR_ANSWER_WHOLE_REFUSAL:
        return string ? SR_ANSWER_REFUSAL : 0;
    case SR_ANSWER_WHOLE_ARGUMENTS:
        return string ? SR_ANSWER_ARGUMENTS : 0;
    case SR_ANSWER_INPUT:
        return span->kind == SR_JSON_OBJECT && !(span->flags & SR_SPAN_EMPTY) ? SR_ANSWER_INPUT : 0;
    case SR_ANSWER_TEXT:
    case SR_ANSWER_REASONING:
    case SR_ANSWER_REFUSAL:
    case SR_ANSWER_ARGUMENTS:
        return string ? span->id : 0;
    default:
        return 0;
    }
}

bool sr_answer_event_is_whole(const struct sr_answer_event *event, const struct sr_span *span)
{
    switch (span->id) {
    case SR_ANSWER_PART:
    case SR_ANSWER_COMMAND:
    case SR_ANSWER_WHOLE_REASONING:
    case SR_ANSWER_WHOLE_REFUSAL:
    case SR_ANSWER_WHOLE_ARGUMENTS:
    case SR_ANSWER_INPUT:
        return true;
    default:
        return event->is_body;
    }
}

static bool is_nested(const struct sr_span *span)
{
    return span->parent != SR_SPAN_NONE || span->flags & SR_SPAN_NESTED;
}

static void read_numbers(struct sr_answer_event *event)
{
    unsigned long long value;
    event->numbers = sr_arena_calloc(event->arena, NUMBERS_MAX, sizeof *event->numbers);
    for (size_t i = 0; event->numbers && i < event->n_spans && event->n_numbers < NUMBERS_MAX; i++) {
        const struct sr_span *span = &event->spans[i];
        if ((span->id != SR_ANSWER_INDEX && span->id != SR_ANSWER_CALL_INDEX) ||
            span->kind != SR_JSON_NUMBER || !sr_bytes_to_u64(sr_span_raw(span, event->data), &value))
            continue;
        struct sr_answer_number *number = &event->numbers[event->n_numbers++];
        *number = (struct sr_answer_number){.id = span->id, .top = !is_nested(span), .value = value};
        memcpy(number->at, span->index, sizeof span->index);
    }
}

static uint64_t number_of(struct sr_answer_event *event, const struct sr_span *span, uint16_t id, int level)
{
    if (!event->numbers)
        read_numbers(event);
    for (size_t i = 0; i < event->n_numbers; i++) {
        const struct sr_answer_number *number = &event->numbers[i];
        bool same = number->at[0] == span->index[0] && (level == 0 || number->at[1] == span->index[1]);
        if (number->id == id && (number->top || same))
            return number->value;
    }
    return span->index[level];
}

uint64_t sr_answer_event_choice(struct sr_answer_event *event, const struct sr_span *span)
{
    return number_of(event, span, SR_ANSWER_INDEX, 0);
}

/* True when the event says as a whole which choice it is of. */
static bool is_of_one(const struct sr_answer_event *event)
{
    for (size_t i = 0; i < event->n_numbers; i++)
        if (event->numbers[i].id == SR_ANSWER_INDEX && event->numbers[i].top)
            return true;
    return false;
}

uint64_t sr_answer_event_call(struct sr_answer_event *event, const struct sr_span *span)
{
    if (!event->numbers)
        read_numbers(event);
    if (span->id == SR_ANSWER_COMMAND && is_nested(span))
        return event->is_body ? 0 : span->index[is_of_one(event) ? 0 : 1];
    if (span->id == SR_ANSWER_COMMAND || span->id == SR_ANSWER_DELTA ||
        sr_answer_event_text(event, span) == SR_ANSWER_ARGUMENTS)
        return number_of(event, span, SR_ANSWER_CALL_INDEX, 1);
    return 0;
}

int sr_answer_event_replace(struct sr_answer_event *event, size_t start, size_t end, struct sr_bytes text)
{
    if (event->n_marks == event->cap_marks) {
        size_t cap = event->cap_marks ? 2 * event->cap_marks : 8;
        struct sr_answer_mark *marks = sr_arena_calloc(event->arena, cap, sizeof *marks);
        if (!marks)
            return SR_ENOMEM;
        if (event->n_marks)
            memcpy(marks, event->marks, event->n_marks * sizeof *marks);
        event->marks = marks;
        event->cap_marks = cap;
    }
    event->marks[event->n_marks++] =
        (struct sr_answer_mark){event->data_at + start, event->data_at + end, text};
    return SR_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct sr_answer_mark *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

int sr_answer_marks_write(struct sr_bytes raw, size_t begin, struct sr_answer_mark *marks, size_t n,
                          struct sr_buf *out)
{
    size_t from = begin;
    int rc = SR_OK;
    if (n > 1)
        qsort(marks, n, sizeof *marks, by_start);
    for (size_t i = 0; !rc && i < n; i++) {
        rc = sr_buf_append(out, raw.p + from, marks[i].start - from);
        if (!rc)
            rc = sr_buf_append_bytes(out, marks[i].text);
        from = marks[i].end;
    }
    return rc ? rc : sr_buf_append(out, raw.p + from, raw.n - from);
}

int sr_answer_event_write(struct sr_answer_event *event, struct sr_buf *out)
{
    size_t before = out->len;
    int rc = sr_buf_append_bytes(out, sr_buf_view(event->before));
    if (!rc && event->dropped) /* the line end belongs to the event before */
        rc = sr_buf_append(out, event->raw.p + event->begin, event->lead - event->begin);
    else if (!rc)
        rc = sr_answer_marks_write(event->raw, event->begin, event->marks, event->n_marks, out);
    if (rc)
        out->len = before;
    return rc;
}
