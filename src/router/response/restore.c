/* Decodes texts of answers, restores values and marks the changes; the bytes around them stay. */
#include "router/response/restore.h"

#include "base/mem.h"

#define EVENT_MAX ((size_t)8 << 20)

static unsigned restore_wants(void *state, const struct sr_answer_head *head)
{
    struct sr_restore *restore = state;
    bool any = head->mode != SR_ANSWER_RAW && head->restores && head->restores->n;
    restore->redaction = any ? head->restores : NULL;
    return any ? SR_WANTS_CHANGES | SR_WANTS_TEXTS | SR_WANTS_LENGTH : 0;
}

void sr_restore_dispose(struct sr_restore *restore)
{
    for (size_t i = 0; restore->texts && i < SR_RESTORE_TEXTS; i++)
        sr_buf_dispose(&restore->texts[i].event);
    sr_mem_free(restore->texts);
    restore->texts = NULL;
}

/* ---- one text ---- */

/* The placeholder at the start of `text`, or NULL; `*partial`: it may become one when more follows. */
static const struct sr_redacted *match(const struct sr_redaction *redaction, struct sr_bytes text,
                                       bool *partial)
{
    *partial = false;
    for (uint32_t type = 0; type < SR_ENTITY_TYPES; type++) {
        uint32_t count = redaction->first[type + 1] - redaction->first[type], number = 0;
        size_t n = strlen(sr_entity_names[type]), at = n + 2;
        if (count == 0)
            continue;
        char name[SR_REDACT_PLACEHOLDER_MAX] = "[";
        memcpy(name + 1, sr_entity_names[type], n);
        name[n + 1] = '_';
        size_t common = text.n < at ? text.n : at;
        if (memcmp(text.p, name, common) != 0)
            continue;
        if (text.n <= at) {
            *partial = true;
            continue;
        }
        while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9' && number <= count)
            number = number * 10 + (uint32_t)(text.p[at++] - '0');
        if (text.p[n + 2] == '0' || number > count)
            continue;
        if (at == text.n)
            *partial = true;
        else if (text.p[at] == ']' && number > 0)
            return &redaction->items[redaction->first[type] + number - 1];
    }
    return NULL;
}

static int put_value(struct sr_buf *out, const struct sr_redacted *entry, bool inside_json)
{
    return inside_json ? sr_buf_append_json(out, entry->value) : sr_buf_append_bytes(out, entry->value);
}

/* Appends `text` with its values restored. `*left`: bytes at its end that wait for more; 0 with `final`. */
static int change(const struct sr_restore *restore, struct sr_bytes text, bool inside_json, bool final,
                  struct sr_buf *out, bool *changed, size_t *left)
{
    size_t from = 0;
    *left = 0;
    for (size_t at = 0; at < text.n; at++) {
        bool partial;
        if (text.p[at] != '[')
            continue;
        const struct sr_redacted *entry =
            match(restore->redaction, sr_bytes_of(text.p + at, text.n - at), &partial);
        if (!entry && partial && !final) {
            *left = text.n - at;
            text.n = at;
            break;
        }
        if (!entry)
            continue;
        int rc = sr_buf_append(out, text.p + from, at - from);
        if (!rc)
            rc = put_value(out, entry, inside_json);
        if (rc)
            return rc;
        from = at + entry->placeholder.n;
        at = from - 1;
        *changed = true;
    }
    return sr_buf_append(out, text.p + from, text.n - from);
}

/* ---- texts of a stream that wait ---- */

/* True when this event ends the span's choice. In a whole answer every text is complete. */
static bool is_final(const struct sr_answer_event *event, const struct sr_span *span)
{
    if (sr_answer_event_is_whole(event, span))
        return true;
    for (size_t i = 0; i < event->n_spans; i++)
        if (event->spans[i].id == SR_ANSWER_FINISH && event->spans[i].kind == SR_JSON_STRING &&
            event->spans[i].index[0] == span->index[0])
            return true;
    return false;
}

static struct sr_restore_text *find_text(struct sr_restore *restore, uint16_t kind, uint64_t choice,
                                         uint64_t call)
{
    for (size_t i = 0; restore->texts && i < SR_RESTORE_TEXTS; i++) {
        struct sr_restore_text *text = &restore->texts[i];
        if (text->held_n && text->kind == kind && text->choice == choice && text->call == call)
            return text;
    }
    return NULL;
}

static struct sr_restore_text *new_text(struct sr_restore *restore)
{
    if (!restore->texts) {
        restore->texts = sr_mem_calloc(SR_RESTORE_TEXTS, sizeof *restore->texts);
        for (size_t i = 0; restore->texts && i < SR_RESTORE_TEXTS; i++)
            sr_buf_init(&restore->texts[i].event, EVENT_MAX);
    }
    for (size_t i = 0; restore->texts && i < SR_RESTORE_TEXTS; i++)
        if (!restore->texts[i].held_n)
            return &restore->texts[i];
    return NULL;
}

/* Appends the held text in an event of its own. */
static int release(struct sr_restore_text *text, struct sr_buf *out)
{
    int rc = sr_buf_append(out, text->event.data, text->at);
    if (!rc)
        rc = sr_buf_append_json(out, sr_bytes_of(text->held, text->held_n));
    if (!rc)
        rc = sr_buf_append(out, text->event.data + text->at, text->event.len - text->at);
    if (!rc)
        text->held_n = 0;
    return rc;
}

static int release_all(struct sr_restore *restore, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; !rc && restore->texts && i < SR_RESTORE_TEXTS; i++)
        if (restore->texts[i].held_n)
            rc = release(&restore->texts[i], out);
    return rc;
}

/* Appends the held texts of this choice. */
static int release_choice(struct sr_restore *restore, uint64_t choice, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t k = 0; !rc && k < SR_RESTORE_TEXTS; k++)
        if (restore->texts[k].held_n && restore->texts[k].choice == choice)
            rc = release(&restore->texts[k], out);
    return rc;
}

/* The block of an event that closes it or completes a text of it; false: it is no such event. */
static bool ended_block(const struct sr_answer_event *event, uint64_t *block)
{
    unsigned long long value;
    *block = 0;
    if (!event->kind.closes && !event->kind.completes)
        return false;
    for (size_t i = 0; i < event->n_spans; i++)
        if (event->spans[i].id == SR_ANSWER_INDEX && event->spans[i].kind == SR_JSON_NUMBER &&
            sr_bytes_to_u64(sr_span_raw(&event->spans[i], event->data), &value))
            *block = value;
    return true;
}

/* Appends the held texts of a choice, or of a block, before it ends. */
static int release_ended(struct sr_restore *restore, struct sr_answer_event *event)
{
    uint64_t block;
    int rc = SR_OK;
    if (restore->texts && ended_block(event, &block))
        return release_choice(restore, block, event->before);
    for (size_t i = 0; restore->texts && i < event->n_spans; i++) {
        const struct sr_span *end = &event->spans[i];
        if (end->id != SR_ANSWER_FINISH || end->kind != SR_JSON_STRING)
            continue;
        if (!rc)
            rc = release_choice(restore, sr_answer_event_choice(event, end), event->before);
    }
    return rc;
}

static bool is_text(const struct sr_answer_event *event, const struct sr_span *span)
{
    return (span->tag & SR_CLASS_RESTORES) && sr_answer_event_text(event, span);
}

/* Keeps the event, with the marks of earlier stages and every text removed, to send the held part of the
 * text at `span` later. */
static int keep_event(struct sr_restore_text *text, const struct sr_answer_event *event,
                      const struct sr_span *span)
{
    size_t n = event->n_marks;
    struct sr_answer_mark *marks = sr_arena_calloc(event->arena, n + event->n_spans, sizeof *marks);
    if (!marks)
        return SR_ENOMEM;
    if (n)
        memcpy(marks, event->marks, n * sizeof *marks);
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *other = &event->spans[i];
        if (is_text(event, other))
            marks[n++] = (struct sr_answer_mark){
                event->data_at + other->start + 1, event->data_at + other->end - 1, {"", 0}};
    }
    size_t start = event->data_at + span->start + 1;
    text->at = start - event->begin;
    for (size_t i = 0; i < n; i++)
        if (marks[i].start < start)
            text->at -= marks[i].end - marks[i].start;
    sr_buf_clear(&text->event);
    return sr_answer_marks_write(event->raw, event->begin, marks, n, &text->event);
}

static int hold(struct sr_restore *restore, struct sr_answer_event *event, const struct sr_span *span,
                struct sr_restore_text *text, struct sr_bytes rest)
{
    if (!text)
        text = new_text(restore);
    if (!text || rest.n > sizeof text->held)
        return SR_ELIMIT;
    text->kind = sr_answer_event_text(event, span);
    text->choice = sr_answer_event_choice(event, span);
    text->call = sr_answer_event_call(event, span);
    int rc = keep_event(text, event, span);
    memcpy(text->held, rest.p, rest.n);
    text->held_n = rc ? 0 : rest.n;
    return rc;
}

/* ---- one event ---- */

/* The change of one text. */
struct change {
    const struct sr_span *span;
    struct sr_bytes json; /* in the event's arena; NULL: unchanged */
};

/* A text with the held text before it. */
static struct sr_bytes with_held(struct sr_answer_event *event, const struct sr_restore_text *held,
                                 struct sr_bytes text)
{
    char *joined = text.p ? sr_arena_alloc(event->arena, held->held_n + text.n + 1) : NULL;
    if (!joined)
        return (struct sr_bytes){NULL, 0};
    memcpy(joined, held->held, held->held_n);
    memcpy(joined + held->held_n, text.p, text.n);
    return sr_bytes_of(joined, held->held_n + text.n);
}

/* `text` as a JSON string in the event's arena; `p` is NULL when out of memory. */
static struct sr_bytes as_json(struct sr_answer_event *event, struct sr_bytes text)
{
    struct sr_bytes json = {NULL, 0};
    struct sr_buf written;
    sr_buf_init(&written, EVENT_MAX * 8);
    if (sr_buf_append(&written, "\"", 1) == SR_OK && sr_buf_append_json(&written, text) == SR_OK &&
        sr_buf_append(&written, "\"", 1) == SR_OK)
        json = sr_arena_dup(event->arena, sr_buf_view(&written));
    sr_buf_dispose(&written);
    return json;
}

static int change_text(struct sr_restore *restore, struct sr_answer_event *event, const struct sr_span *span,
                       struct change *out)
{
    struct sr_restore_text *held = NULL;
    uint16_t kind = sr_answer_event_text(event, span);
    bool json = kind == SR_ANSWER_INPUT, whole = sr_answer_event_is_whole(event, span);
    struct sr_bytes text =
        json ? sr_span_raw(span, event->data) : sr_span_text(span, event->data, event->arena);
    struct sr_buf written;
    size_t left = 0;
    *out = (struct change){.span = span};
    if (restore->texts && !whole)
        held =
            find_text(restore, kind, sr_answer_event_choice(event, span), sr_answer_event_call(event, span));
    if (held)
        text = with_held(event, held, text);
    if (!text.p)
        return SR_ENOMEM;
    bool changed = held != NULL;
    sr_buf_init(&written, EVENT_MAX * 4);
    int rc = change(restore, text, json || kind == SR_ANSWER_ARGUMENTS, is_final(event, span), &written,
                    &changed, &left);
    struct sr_bytes rest = {text.p + text.n - left, left};
    if (!rc && left && hold(restore, event, span, held, rest) != SR_OK)
        rc = sr_buf_append_bytes(&written, rest); /* no room: it passes unchanged */
    else if (!rc && held && !left)
        held->held_n = 0;
    if (!rc && (changed || left)) {
        out->json =
            json ? sr_arena_dup(event->arena, sr_buf_view(&written)) : as_json(event, sr_buf_view(&written));
        rc = out->json.p ? SR_OK : SR_ENOMEM;
    }
    sr_buf_dispose(&written);
    return rc;
}

static int restore_event(void *state, struct sr_answer_event *event)
{
    struct sr_restore *restore = state;
    size_t n = 0;
    if (event->dropped)
        return SR_OK;
    if (event->done && release_all(restore, event->before))
        return SR_ENOMEM;
    if (event->mark)
        return SR_OK;
    if (!event->editable || !sr_answer_event_scan(event))
        return SR_OK;
    struct change *changes = sr_arena_calloc(event->arena, event->n_spans + 1, sizeof *changes);
    int rc = changes ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; !rc && i < event->n_spans; i++)
        if (is_text(event, &event->spans[i]))
            rc = change_text(restore, event, &event->spans[i], &changes[n++]);
    if (!rc)
        rc = release_ended(restore, event);
    for (size_t i = 0; !rc && i < n; i++)
        if (changes[i].json.p)
            rc =
                sr_answer_event_replace(event, changes[i].span->start, changes[i].span->end, changes[i].json);
    return rc;
}

static int restore_end(void *state, struct sr_buf *out)
{
    return release_all(state, out);
}

const struct sr_answer_stage sr_restore_stage = {
    .name = "restore",
    .wants = restore_wants,
    .event = restore_event,
    .end = restore_end,
};
