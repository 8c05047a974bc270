/* Reads requests from their spans. Spans are in order of their start, so a container's content follows it. */
#include "router/request/request.h"

#include "router/request/walk.h"

#include <stdio.h>

#define METADATA_MAX       32
#define METADATA_KEY_MAX   128
#define METADATA_VALUE_MAX 1024

const char *sr_request_kind_name(int kind)
{
    static const char *const names[] = {
        [SR_JSON_NULL] = "null",     [SR_JSON_FALSE] = "boolean", [SR_JSON_TRUE] = "boolean",
        [SR_JSON_NUMBER] = "number", [SR_JSON_STRING] = "string", [SR_JSON_ARRAY] = "array",
        [SR_JSON_OBJECT] = "object",
    };
    return kind >= 0 && kind <= SR_JSON_OBJECT ? names[kind] : "nothing";
}

bool sr_request_is_top(const struct sr_span *span)
{
    return span->parent == SR_SPAN_NONE && !(span->flags & SR_SPAN_NESTED) && span->key_end > span->key_start;
}

void sr_request_index(struct sr_request *doc)
{
    struct sr_members *at = &doc->at;
    memset(at, 0xff, sizeof *at); /* SR_SPAN_NONE everywhere */
    uint32_t *const slots[] = {
        [SR_AT_MODEL] = &at->model,
        [SR_AT_STREAM] = &at->stream,
        [SR_AT_STREAM_OPTIONS] = &at->stream_options,
        [SR_AT_INCLUDE_USAGE] = &at->include_usage,
        [SR_AT_MESSAGES] = &at->messages,
        [SR_AT_PROMPT] = &at->prompt,
        [SR_AT_METADATA] = &at->metadata,
        [SR_AT_REASONING_EFFORT] = &at->reasoning_effort,
        [SR_AT_KWARGS] = &at->kwargs,
        [SR_AT_MAX_TOKENS] = &at->max_tokens,
        [SR_AT_MAX_COMPLETION_TOKENS] = &at->max_completion_tokens,
        [SR_AT_MAX_OUTPUT_TOKENS] = &at->max_output_tokens,
        [SR_AT_N] = &at->n,
        [SR_AT_REASONING] = &at->reasoning,
        [SR_AT_THINKING] = &at->thinking,
        [SR_AT_OUTPUT_CONFIG] = &at->output_config,
        [SR_AT_BACKGROUND] = &at->background,
        [SR_AT_PREVIOUS] = &at->previous,
        [SR_AT_STORE] = &at->store,
    };
    for (size_t i = 0; i < doc->n_spans; i++) {
        uint16_t id = doc->spans[i].id;
        if (id < sizeof slots / sizeof slots[0] && slots[id])
            *slots[id] = (uint32_t)i;
        else if (id == SR_AT_SYSTEM && sr_request_is_top(&doc->spans[i]))
            at->system = (uint32_t)i;
    }
    /* An include_usage of an earlier stream_options does not count. */
    if (at->include_usage != SR_SPAN_NONE && doc->spans[at->include_usage].parent != at->stream_options)
        at->include_usage = SR_SPAN_NONE;
}

struct sr_bytes sr_request_key(const struct sr_request *doc, const struct sr_span *span,
                               struct sr_arena *arena)
{
    if (span->key_end < span->key_start + 2)
        return (struct sr_bytes){"", 0};
    size_t n = span->key_end - span->key_start - 2;
    return sr_json_unescape(sr_bytes_of(doc->body.p + span->key_start + 1, n), arena);
}

uint32_t sr_request_turns(const struct sr_request *doc)
{
    uint32_t prompt = doc->at.prompt, first = prompt + 1; /* spans are in order: its first element */
    if (doc->dialect->has_messages)
        return doc->at.messages;
    if (prompt == SR_SPAN_NONE || doc->spans[prompt].kind != SR_JSON_ARRAY)
        return SR_SPAN_NONE;
    bool items =
        first < doc->n_spans && doc->spans[first].id == SR_AT_MESSAGE && doc->spans[first].parent == prompt;
    return items ? prompt : SR_SPAN_NONE;
}

bool sr_request_is_true(const struct sr_request *doc, uint32_t span)
{
    return span != SR_SPAN_NONE && doc->spans[span].kind == SR_JSON_TRUE;
}

static bool complain(struct sr_complaint *out, const char *param, const char *code, const char *message)
{
    out->param = param;
    out->code = code;
    snprintf(out->message, sizeof out->message, "%s", message);
    return false;
}

static bool complain_type(struct sr_complaint *out, const char *field, const char *wanted, int kind)
{
    out->param = field;
    out->code = "invalid_type";
    snprintf(out->message, sizeof out->message, "field %s must be %s, got %s", field, wanted,
             sr_request_kind_name(kind));
    return false;
}

bool sr_request_check_shape(const struct sr_request *doc, struct sr_complaint *complaint)
{
    const struct sr_members *at = &doc->at;
    if (at->stream != SR_SPAN_NONE) {
        int kind = doc->spans[at->stream].kind;
        if (kind != SR_JSON_TRUE && kind != SR_JSON_FALSE && kind != SR_JSON_NULL)
            return complain_type(complaint, "stream", "boolean", kind);
    }
    if (sr_request_is_true(doc, at->background))
        return complain(complaint, "background", "unsupported_value",
                        "background is not supported: an answer is not fetched later");
    if (!doc->dialect->has_messages)
        return true;
    if (at->messages == SR_SPAN_NONE)
        return complain(complaint, "messages", "missing_required_field", "messages field is required");
    if (doc->spans[at->messages].kind != SR_JSON_ARRAY)
        return complain(complaint, "messages", "invalid_type", "messages field must be an array");
    return true;
}

bool sr_request_check_once(const struct sr_request *doc, struct sr_complaint *complaint)
{
    static const char *const members[] = {
        [SR_AT_STREAM] = "stream",  [SR_AT_MESSAGES] = "messages",
        [SR_AT_ROLE] = "role",      [SR_AT_CONTENT] = "content",
        [SR_AT_PART_TEXT] = "text", [SR_AT_PROMPT] = "prompt",
        [SR_AT_TYPE] = "type",      [SR_AT_PREVIOUS] = "previous_response_id",
        [SR_AT_STORE] = "store",
    };
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        const char *member = span->id < sizeof members / sizeof members[0] ? members[span->id] : NULL;
        if (!member || !(span->flags & SR_SPAN_DUPLICATE))
            continue;
        complaint->param = member;
        complaint->code = "duplicate_field";
        snprintf(complaint->message, sizeof complaint->message, "field %s is given more than once", member);
        return false;
    }
    return true;
}

uint32_t sr_request_find_alike(const struct sr_request *doc)
{
    for (size_t i = 0; i < doc->n_spans; i++)
        if (doc->spans[i].flags & SR_SPAN_ALIKE)
            return (uint32_t)i;
    return SR_SPAN_NONE;
}

bool sr_request_check_metadata(const struct sr_request *doc, struct sr_arena *arena,
                               struct sr_complaint *complaint)
{
    uint32_t metadata = doc->at.metadata;
    if (metadata == SR_SPAN_NONE || doc->spans[metadata].kind == SR_JSON_NULL)
        return true;
    if (doc->spans[metadata].kind != SR_JSON_OBJECT)
        return complain_type(complaint, "metadata", "object", doc->spans[metadata].kind);
    size_t count = 0;
    for (size_t i = metadata + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[metadata].end; i++) {
        const struct sr_span *item = &doc->spans[i];
        if (item->id != SR_AT_METADATA_ITEM)
            continue;
        if (++count > METADATA_MAX)
            return complain(complaint, "metadata", "too_many", "metadata may have at most 32 keys");
        struct sr_bytes key = sr_request_key(doc, item, arena);
        if (!key.p || key.n < 1 || key.n > METADATA_KEY_MAX)
            return complain(complaint, "metadata", "too_long", "metadata keys must have 1 to 128 bytes");
        if (item->kind != SR_JSON_STRING)
            return complain(complaint, "metadata", "invalid_type", "metadata values must be strings");
        struct sr_bytes value = sr_span_text(item, doc->body, arena);
        if (!value.p || value.n > METADATA_VALUE_MAX)
            return complain(complaint, "metadata", "too_long",
                            "metadata values must have at most 1024 bytes");
    }
    return true;
}

/* ---- texts ---- */

/* Texts joined by a space; the first is only borrowed, so that the usual single text is not copied. */
struct joined {
    struct sr_arena *arena;
    struct sr_bytes text;
    size_t capacity; /* of the copy; 0 = `text` is borrowed */
    bool failed;
};

static void join(struct joined *out, struct sr_bytes text)
{
    if (out->failed || text.n == 0)
        return;
    if (out->text.n == 0) {
        out->text = text;
        return;
    }
    size_t need = out->text.n + 1 + text.n;
    if (need > out->capacity) {
        size_t capacity = need + need / 2;
        char *copy = sr_arena_alloc(out->arena, capacity);
        if (!copy) {
            out->failed = true;
            return;
        }
        memcpy(copy, out->text.p, out->text.n);
        out->text.p = copy;
        out->capacity = capacity;
    }
    char *end = (char *)out->text.p + out->text.n;
    *end = ' ';
    memcpy(end + 1, text.p, text.n);
    out->text.n = need;
}

/* Adds every text of a container (a string, or an array's strings and text parts), given its span. */
static void join_texts(struct joined *out, const struct sr_request *doc, uint32_t container)
{
    size_t end = doc->spans[container].end;
    for (size_t i = container; (i = sr_walk_text(doc, i, end, SR_TEXTS_CONTENT)) < doc->n_spans; i++) {
        struct sr_bytes decoded = sr_span_text(&doc->spans[i], doc->body, out->arena);
        out->failed |= decoded.p == NULL;
        join(out, decoded);
    }
}

/* Bytes of a string once it is decoded. */
static uint64_t decoded_size(const struct sr_span *span, struct sr_bytes body)
{
    uint64_t size = span->end - span->start - 2;
    if (!(span->flags & SR_SPAN_ESCAPED))
        return size;
    const char *p = body.p + span->start + 1, *end = body.p + span->end - 1;
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        if (p[1] == 'u') { /* six bytes become one to three; a surrogate pair's twelve become four */
            bool ascii = p[2] == '0' && p[3] == '0' && p[4] < '8';
            bool two = p[2] == '0' && p[3] < '8';
            bool surrogate = (p[2] == 'd' || p[2] == 'D') && p[3] >= '8';
            size -= ascii ? 5 : two || surrogate ? 4 : 3;
            p += 6;
        } else {
            size--;
            p += 2;
        }
    }
    return size;
}

static uint64_t total_texts(const struct sr_request *doc, uint32_t container)
{
    size_t end = doc->spans[container].end;
    uint64_t total = 0;
    for (size_t i = container; (i = sr_walk_text(doc, i, end, SR_TEXTS_CONTENT)) < doc->n_spans; i++)
        total += decoded_size(&doc->spans[i], doc->body);
    return total;
}

/* Is there a text in this content? */
static bool has_text(const struct sr_request *doc, uint32_t content)
{
    return sr_walk_text(doc, content, doc->spans[content].end, SR_TEXTS_CONTENT) < doc->n_spans;
}

uint32_t sr_request_last_turn(const struct sr_request *doc)
{
    uint32_t turns = sr_request_turns(doc), last = SR_SPAN_NONE;
    if (turns == SR_SPAN_NONE)
        return last;
    size_t end = doc->spans[turns].end;
    for (size_t i = turns; (i = sr_walk_message(doc, i)) < doc->n_spans && doc->spans[i].start < end; i++) {
        uint32_t content = sr_walk_content(doc, i);
        if (content != SR_SPAN_NONE && sr_walk_role(doc, i) == SR_ROLE_USER && has_text(doc, content))
            last = content;
    }
    return last;
}

/* Joins the last user message with a text; without one, all texts of other roles but `tool`. */
static void join_chat(struct joined *out, const struct sr_request *doc, uint32_t messages)
{
    uint32_t last_user = sr_request_last_turn(doc);
    size_t end = doc->spans[messages].end, i;
    if (last_user != SR_SPAN_NONE)
        join_texts(out, doc, last_user);
    if (out->text.n)
        return;
    for (i = messages; (i = sr_walk_message(doc, i)) < doc->n_spans && doc->spans[i].start < end; i++) {
        uint32_t content = sr_walk_content(doc, i);
        enum sr_signal_role role = sr_walk_role(doc, i);
        if (content != SR_SPAN_NONE && role != SR_ROLE_USER && role != SR_ROLE_TOOL)
            join_texts(out, doc, content);
    }
}

struct sr_bytes sr_request_text(const struct sr_request *doc, struct sr_arena *arena, uint64_t *total)
{
    struct joined out = {.arena = arena, .text = {"", 0}};
    uint32_t turns = sr_request_turns(doc);
    uint32_t container = turns == SR_SPAN_NONE && !doc->dialect->has_messages ? doc->at.prompt : turns;
    *total = 0;
    if (container == SR_SPAN_NONE)
        return out.text;
    *total = total_texts(doc, container);
    if (turns != SR_SPAN_NONE)
        join_chat(&out, doc, turns);
    else
        join_texts(&out, doc, container);
    return out.failed ? (struct sr_bytes){NULL, 0} : out.text;
}
