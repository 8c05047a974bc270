/* Texts of answers are decoded, changed and written again; bytes around them stay. */
#include "router/response/restore.h"

#include "base/mem.h"

enum {
    AT_CHOICE = 1,
    AT_INDEX,
    AT_CALL_INDEX,
    AT_FINISH,
    AT_CONTENT,
    AT_THOUGHTS,
    AT_REFUSAL,
    AT_ARGUMENTS, /* a string of JSON inside of JSON */
};

#define SPANS_MAX   65536
#define EVENT_MAX   ((size_t)8 << 20)
#define SCRATCH_MAX ((size_t)160 << 20)

int sr_restore_paths(struct sr_paths **out, struct sr_err *err)
{
    static const struct sr_path_spec specs[] = {
        {"choices[]", AT_CHOICE},
        {"choices[].index", AT_INDEX},
        {"choices[].finish_reason", AT_FINISH},
        {"choices[].text", AT_CONTENT},
        {"choices[].delta.content", AT_CONTENT},
        {"choices[].delta.reasoning", AT_THOUGHTS},
        {"choices[].delta.reasoning_content", AT_THOUGHTS},
        {"choices[].delta.refusal", AT_REFUSAL},
        {"choices[].delta.tool_calls[].index", AT_CALL_INDEX},
        {"choices[].delta.tool_calls[].function.arguments", AT_ARGUMENTS},
        {"choices[].delta.function_call.arguments", AT_ARGUMENTS},
        {"choices[].message.content", AT_CONTENT},
        {"choices[].message.content[].text", AT_CONTENT},
        {"choices[].message.reasoning", AT_THOUGHTS},
        {"choices[].message.reasoning_content", AT_THOUGHTS},
        {"choices[].message.refusal", AT_REFUSAL},
        {"choices[].message.tool_calls[].function.arguments", AT_ARGUMENTS},
        {"choices[].message.function_call.arguments", AT_ARGUMENTS},
    };
    return sr_paths_new(out, specs, sizeof specs / sizeof specs[0], err);
}

void sr_restore_init(struct sr_restore *restore, const struct sr_redaction *redaction,
                     const struct sr_paths *paths)
{
    *restore = (struct sr_restore){.redaction = redaction && redaction->n ? redaction : NULL, .paths = paths};
    sr_buf_init(&restore->body, SR_RESTORE_BODY_MAX);
    sr_arena_init(&restore->scratch, SCRATCH_MAX);
}

void sr_restore_dispose(struct sr_restore *restore)
{
    for (size_t i = 0; restore->texts && i < SR_RESTORE_TEXTS; i++)
        sr_buf_dispose(&restore->texts[i].event);
    sr_mem_free(restore->texts);
    restore->texts = NULL;
    sr_buf_dispose(&restore->body);
    sr_arena_dispose(&restore->scratch);
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

/* Appends `text` with its values back. `*left`: bytes at its end that wait for more; 0 with `final`. */
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

/* ---- documents ---- */

struct doc {
    struct sr_bytes data;
    const struct sr_span *spans;
    size_t n;
};

static bool read_doc(struct sr_restore *restore, struct sr_bytes data, struct doc *doc)
{
    struct sr_scan *scan;
    struct sr_scan_limits limits = sr_scan_limits_defaults();
    limits.max_spans = SPANS_MAX;
    if (sr_scan_new(&scan, restore->paths, limits, &restore->scratch))
        return false;
    int rc = sr_scan_feed(scan, data.p, data.n, NULL);
    if ((rc != SR_OK && rc != SR_MORE) || sr_scan_finish(scan, NULL))
        return false;
    doc->data = data;
    doc->spans = sr_scan_spans(scan, &doc->n);
    return true;
}

static bool is_text(const struct sr_span *span)
{
    return span->kind == SR_JSON_STRING && span->id >= AT_CONTENT;
}

/* A string of JSON in the place of a span. */
static int put_string(struct sr_buf *out, struct sr_bytes text)
{
    int rc = sr_buf_append(out, "\"", 1);
    if (!rc)
        rc = sr_buf_append_json(out, text);
    return rc ? rc : sr_buf_append(out, "\"", 1);
}

static int restore_doc(struct sr_restore *restore, const struct doc *doc, struct sr_buf *out)
{
    size_t from = 0, left;
    int rc = SR_OK;
    struct sr_buf text;
    sr_buf_init(&text, EVENT_MAX * 4);
    for (size_t i = 0; !rc && i < doc->n; i++) {
        const struct sr_span *span = &doc->spans[i];
        bool changed = false;
        if (!is_text(span))
            continue;
        struct sr_bytes decoded = sr_span_text(span, doc->data, &restore->scratch);
        sr_buf_clear(&text);
        rc = decoded.p ? change(restore, decoded, span->id == AT_ARGUMENTS, true, &text, &changed, &left)
                       : SR_ENOMEM;
        if (rc || !changed)
            continue;
        rc = sr_buf_append(out, doc->data.p + from, span->start - from);
        if (!rc)
            rc = put_string(out, sr_buf_view(&text));
        from = span->end;
    }
    sr_buf_dispose(&text);
    return rc ? rc : sr_buf_append(out, doc->data.p + from, doc->data.n - from);
}

int sr_restore_body(struct sr_restore *restore, struct sr_bytes in, bool last, struct sr_buf *out)
{
    struct doc doc;
    int rc = restore->gave_up ? SR_OK : sr_buf_append_bytes(&restore->body, in);
    if (rc == SR_ELIMIT) {
        rc = sr_buf_append_bytes(out, sr_buf_view(&restore->body));
        if (rc)
            return rc;
        sr_buf_dispose(&restore->body);
        restore->gave_up = true;
    }
    if (restore->gave_up)
        return rc ? rc : sr_buf_append_bytes(out, in);
    if (rc || !last)
        return rc;
    size_t before = out->len;
    if (!read_doc(restore, sr_buf_view(&restore->body), &doc) || restore_doc(restore, &doc, out)) {
        out->len = before;
        rc = sr_buf_append_bytes(out, sr_buf_view(&restore->body));
    }
    sr_arena_dispose(&restore->scratch);
    if (!rc)
        sr_buf_dispose(&restore->body);
    return rc;
}

/* ---- streams ---- */

/* The number in the member `id` of the container that `span` lies in; its position where there is none. */
static uint64_t index_of(const struct doc *doc, const struct sr_span *span, uint16_t id, int level)
{
    unsigned long long value;
    for (size_t i = 0; i < doc->n; i++) {
        const struct sr_span *other = &doc->spans[i];
        if (other->id == id && other->kind == SR_JSON_NUMBER && other->index[0] == span->index[0] &&
            (level == 0 || other->index[1] == span->index[1]) &&
            sr_bytes_to_u64(sr_span_raw(other, doc->data), &value))
            return value;
    }
    return span->index[level];
}

/* Does this event end the span's choice? */
static bool is_final(const struct doc *doc, const struct sr_span *span)
{
    for (size_t i = 0; i < doc->n; i++)
        if (doc->spans[i].id == AT_FINISH && doc->spans[i].kind == SR_JSON_STRING &&
            doc->spans[i].index[0] == span->index[0])
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

int sr_restore_finish(struct sr_restore *restore, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; !rc && restore->texts && i < SR_RESTORE_TEXTS; i++)
        if (restore->texts[i].held_n)
            rc = release(&restore->texts[i], out);
    return rc;
}

/* What becomes of one text of an event. */
struct change {
    const struct sr_span *span;
    struct sr_bytes text; /* in the scratch arena */
    bool changed;
};

/* The event with every text taken out, to carry what waits of the one at `span` later on. */
static int keep_event(struct sr_restore_text *text, const struct sr_sse_frame *frame, const struct doc *doc,
                      const struct sr_span *span)
{
    size_t from = 0;
    int rc = SR_OK;
    sr_buf_clear(&text->event);
    for (size_t i = 0; !rc && i < doc->n; i++) {
        if (!is_text(&doc->spans[i]))
            continue;
        size_t start = frame->data_at + doc->spans[i].start;
        rc = sr_buf_append(&text->event, frame->raw.p + from, start + 1 - from);
        if (&doc->spans[i] == span)
            text->at = text->event.len;
        from = frame->data_at + doc->spans[i].end - 1;
    }
    return rc ? rc : sr_buf_append(&text->event, frame->raw.p + from, frame->raw.n - from);
}

static int hold(struct sr_restore *restore, const struct sr_sse_frame *frame, const struct doc *doc,
                const struct sr_span *span, struct sr_restore_text *text, struct sr_bytes rest)
{
    if (!text)
        text = new_text(restore);
    if (!text || rest.n > sizeof text->held)
        return SR_ELIMIT;
    text->kind = span->id;
    text->choice = index_of(doc, span, AT_INDEX, 0);
    text->call = span->id == AT_ARGUMENTS ? index_of(doc, span, AT_CALL_INDEX, 1) : 0;
    int rc = keep_event(text, frame, doc, span);
    memcpy(text->held, rest.p, rest.n);
    text->held_n = rc ? 0 : rest.n;
    return rc;
}

static int change_text(struct sr_restore *restore, const struct sr_sse_frame *frame, const struct doc *doc,
                       const struct sr_span *span, struct change *out)
{
    uint64_t call = span->id == AT_ARGUMENTS ? index_of(doc, span, AT_CALL_INDEX, 1) : 0;
    struct sr_restore_text *held = find_text(restore, span->id, index_of(doc, span, AT_INDEX, 0), call);
    struct sr_bytes text = sr_span_text(span, doc->data, &restore->scratch);
    struct sr_buf written;
    size_t left = 0;
    bool inside = span->id == AT_ARGUMENTS, final = is_final(doc, span);
    *out = (struct change){.span = span};
    if (!text.p)
        return SR_ENOMEM;
    if (held) {
        char *joined = sr_arena_alloc(&restore->scratch, held->held_n + text.n + 1);
        if (!joined)
            return SR_ENOMEM;
        memcpy(joined, held->held, held->held_n);
        memcpy(joined + held->held_n, text.p, text.n);
        text = sr_bytes_of(joined, held->held_n + text.n);
        out->changed = true;
    }
    sr_buf_init(&written, EVENT_MAX * 4);
    int rc = change(restore, text, inside, final, &written, &out->changed, &left);
    if (!rc && left &&
        hold(restore, frame, doc, span, held, sr_bytes_of(text.p + text.n - left, left)) != SR_OK)
        rc = sr_buf_append(&written, text.p + text.n - left, left); /* no room: it goes as it is */
    else if (!rc && held && !left)
        held->held_n = 0;
    out->changed |= left > 0;
    if (!rc) {
        out->text = sr_arena_dup(&restore->scratch, sr_buf_view(&written));
        rc = out->text.p ? SR_OK : SR_ENOMEM;
    }
    sr_buf_dispose(&written);
    return rc;
}

/* Before a choice ends: what of its other texts still waits. */
static int release_ended(struct sr_restore *restore, const struct doc *doc, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < doc->n; i++) {
        const struct sr_span *end = &doc->spans[i];
        if (end->id != AT_FINISH || end->kind != SR_JSON_STRING)
            continue;
        uint64_t choice = index_of(doc, end, AT_INDEX, 0);
        for (size_t k = 0; !rc && restore->texts && k < SR_RESTORE_TEXTS; k++)
            if (restore->texts[k].held_n && restore->texts[k].choice == choice)
                rc = release(&restore->texts[k], out);
    }
    return rc;
}

static int put_event(const struct sr_sse_frame *frame, const struct change *changes, size_t n,
                     struct sr_buf *out)
{
    size_t from = 0;
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < n; i++) {
        if (!changes[i].changed)
            continue;
        size_t start = frame->data_at + changes[i].span->start;
        rc = sr_buf_append(out, frame->raw.p + from, start - from);
        if (!rc)
            rc = put_string(out, changes[i].text);
        from = frame->data_at + changes[i].span->end;
    }
    return rc ? rc : sr_buf_append(out, frame->raw.p + from, frame->raw.n - from);
}

static int restore_event(struct sr_restore *restore, const struct sr_sse_frame *frame, struct sr_buf *out)
{
    struct doc doc;
    size_t n = 0;
    if (frame->data_lines != 1 || !read_doc(restore, frame->data, &doc))
        return sr_buf_append_bytes(out, frame->raw);
    struct change *changes = sr_arena_calloc(&restore->scratch, doc.n + 1, sizeof *changes);
    int rc = changes ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; !rc && i < doc.n; i++)
        if (is_text(&doc.spans[i]))
            rc = change_text(restore, frame, &doc, &doc.spans[i], &changes[n++]);
    if (!rc)
        rc = release_ended(restore, &doc, out);
    return rc ? rc : put_event(frame, changes, n, out);
}

int sr_restore_event(struct sr_restore *restore, const struct sr_sse_frame *frame, struct sr_buf *out)
{
    size_t before = out->len;
    int rc = SR_OK;
    if (frame->whole && frame->has_data && sr_bytes_eq(frame->data, SR_LIT("[DONE]")))
        rc = sr_restore_finish(restore, out);
    if (!rc)
        rc = frame->whole && frame->has_data ? restore_event(restore, frame, out)
                                             : sr_buf_append_bytes(out, frame->raw);
    sr_arena_dispose(&restore->scratch);
    if (rc)
        out->len = before;
    return rc;
}
