/* Texts are found by choice, kind and call. */
#include "router/response/text.h"

#include "base/mem.h"

void sr_response_texts_dispose(struct sr_response_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        sr_buf_dispose(&texts->items[i].bytes);
    sr_mem_free(texts->items);
    *texts = (struct sr_response_texts){.n = 0};
}

static void keep_raw(char *out, size_t size, struct sr_bytes raw)
{
    if (out[0] || raw.n == 0 || raw.n >= size)
        return;
    memcpy(out, raw.p, raw.n);
    out[raw.n] = '\0';
}

static void mark(uint64_t *mask, uint64_t choice)
{
    if (choice < 64)
        *mask |= UINT64_C(1) << choice;
}

static struct sr_response_text *find_text(struct sr_response_texts *texts, uint16_t kind, uint64_t choice,
                                          uint64_t call)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct sr_response_text *text = &texts->items[i];
        if (text->kind == kind && text->choice == choice && text->call == call)
            return text;
    }
    if (!texts->items)
        texts->items = sr_mem_calloc(SR_RESPONSE_TEXTS, sizeof *texts->items);
    if (!texts->items || texts->n == SR_RESPONSE_TEXTS)
        return NULL;
    struct sr_response_text *text = &texts->items[texts->n++];
    *text = (struct sr_response_text){.kind = kind, .choice = choice, .call = call};
    sr_buf_init(&text->bytes, 2 * SR_RESPONSE_TEXT_MAX);
    return text;
}

/* True when one of the first `n` texts is of this kind, choice and call. */
static bool has_text(const struct sr_response_texts *texts, size_t n, uint16_t kind, uint64_t choice,
                     uint64_t call)
{
    for (size_t i = 0; i < n; i++)
        if (texts->items[i].kind == kind && texts->items[i].choice == choice && texts->items[i].call == call)
            return true;
    return false;
}

/* `before`: texts that were there before this event, which may repeat them. */
static void add_text(struct sr_response_texts *texts, size_t before, struct sr_answer_event *event,
                     const struct sr_span *span)
{
    bool part = span->id == SR_ANSWER_PART || span->id == SR_ANSWER_COMMAND;
    uint16_t kind = sr_answer_event_text(event, span);
    uint64_t choice = sr_answer_event_choice(event, span);
    uint64_t call = sr_answer_event_call(event, span);
    if (!event->is_body && sr_answer_event_is_whole(event, span) &&
        has_text(texts, before, kind, choice, call))
        return; /* its pieces were there */
    struct sr_bytes decoded = kind == SR_ANSWER_INPUT ? sr_span_raw(span, event->data)
                                                      : sr_span_text(span, event->data, event->arena);
    texts->all += decoded.p ? decoded.n : span->end - span->start;
    if (!decoded.p || decoded.n == 0)
        return;
    struct sr_response_text *text = find_text(texts, kind, choice, call);
    size_t room = SR_RESPONSE_TEXT_MAX - texts->fresh;
    if (!text || decoded.n > room)
        return;
    if (part && text->bytes.len && decoded.n < room && sr_buf_append(&text->bytes, " ", 1) == SR_OK) {
        texts->fresh++;
        texts->all++;
    }
    if (sr_buf_append_bytes(&text->bytes, decoded) == SR_OK)
        texts->fresh += decoded.n;
}

/* Follows a stream whose events have types. */
static void follow(struct sr_response_texts *texts, struct sr_answer_event *event)
{
    struct sr_stream_at *at = &texts->at;
    unsigned long long value;
    at->begun |= event->kind.begins;
    at->open = (at->open || event->kind.opens) && !event->kind.closes;
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        if (span->kind != SR_JSON_NUMBER || !sr_bytes_to_u64(sr_span_raw(span, event->data), &value))
            continue;
        if (span->id == SR_ANSWER_INDEX && event->kind.opens)
            at->block = value;
        else if (span->id == SR_ANSWER_SEQUENCE)
            at->sequence = value + 1;
    }
}

bool sr_response_texts_add(struct sr_response_texts *texts, struct sr_answer_event *event)
{
    unsigned long long value;
    size_t before = texts->n;
    if (!sr_answer_event_scan(event))
        return false;
    for (size_t i = 0; i < event->n_spans; i++) {
        const struct sr_span *span = &event->spans[i];
        struct sr_bytes raw = sr_span_raw(span, event->data);
        bool string = span->kind == SR_JSON_STRING;
        if (sr_answer_event_text(event, span))
            add_text(texts, before, event, span);
        else if (span->id == SR_ANSWER_CHOICE)
            mark(&texts->choices, sr_answer_event_choice(event, span));
        else if (span->id == SR_ANSWER_FINISH && string)
            mark(&texts->finished, sr_answer_event_choice(event, span));
        else if (span->id == SR_ANSWER_ID && string)
            keep_raw(texts->id, sizeof texts->id, raw);
        else if (span->id == SR_ANSWER_MODEL && string)
            keep_raw(texts->model, sizeof texts->model, raw);
        else if (span->id == SR_ANSWER_CREATED && span->kind == SR_JSON_NUMBER &&
                 sr_bytes_to_u64(raw, &value))
            keep_raw(texts->created, sizeof texts->created, raw);
    }
    follow(texts, event);
    return true;
}

int sr_response_texts_units(const struct sr_response_texts *texts, struct sr_arena *arena,
                            struct sr_signal_unit_list *out)
{
    struct sr_signal_unit *units = sr_arena_calloc(arena, texts->n + 1, sizeof *units);
    *out = (struct sr_signal_unit_list){.items = units};
    if (!units)
        return SR_ENOMEM;
    for (size_t i = 0; i < texts->n; i++) {
        const struct sr_response_text *text = &texts->items[i];
        if (text->bytes.len > text->read)
            units[out->n++] = (struct sr_signal_unit){.group = (uint32_t)i,
                                                      .role = SR_ROLE_ASSISTANT,
                                                      .current = true,
                                                      .text = sr_buf_view(&text->bytes)};
    }
    return SR_OK;
}

void sr_response_texts_taken(struct sr_response_texts *texts, size_t context)
{
    for (size_t i = 0; i < texts->n; i++) {
        struct sr_buf *bytes = &texts->items[i].bytes;
        size_t cut = bytes->len > context ? bytes->len - context : 0;
        while (cut && cut < bytes->len && ((unsigned char)bytes->data[cut] & 0xc0) == 0x80)
            cut++; /* not inside a character */
        sr_buf_consume(bytes, cut);
        texts->items[i].read = bytes->len;
    }
    texts->fresh = 0;
}
