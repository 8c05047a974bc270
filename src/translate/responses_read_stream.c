/* Streams of Responses, read. Texts that were not streamed are taken from the events that end them. */
#include "translate/api.h"
#include "translate/responses.h"

struct raw_event {
    sr_json_view type, response, output_index, content_index, summary_index, delta, item, item_id, text,
        refusal;
    sr_json_view arguments, input, message, code;
};

#define E(member) SR_TR_FIELD(struct raw_event, member)

static const struct sr_tr_field fields[] = {
    E(type),    E(response), E(output_index), E(content_index), E(summary_index), E(delta),   E(item),
    E(item_id), E(text),     E(refusal),      E(arguments),     E(input),         E(message), E(code),
};

#undef E

#define ITEM UINT64_C(0xffff) /* the key of an item that is one part */

static uint64_t key_of(const struct raw_event *raw, bool item)
{
    int64_t output = 0, content = 0;
    (void)sr_json_view_int(raw->output_index, &output);
    (void)sr_json_view_int(raw->content_index, &content);
    return (uint64_t)output << 16 | (item ? ITEM : (uint64_t)content & 0x7fff);
}

static bool has_calls(const struct sr_tr_stream *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].kind == SR_TR_CALL)
            return true;
    return false;
}

/* ---- texts ---- */

/* A piece of a text, or all of it if none came before. */
static int read_text(struct sr_tr_stream *s, const struct raw_event *raw, enum sr_tr_kind kind,
                     sr_json_view text, bool whole)
{
    uint64_t key = key_of(raw, kind == SR_TR_REASONING);
    uint32_t part = sr_tr_stream_find(s, key);
    int rc = SR_OK;
    if (!sr_json_view_is_string(text) || sr_tr_is_empty(text) || (whole && part != UINT32_MAX))
        return SR_OK;
    if (part == UINT32_MAX) {
        rc = sr_tr_stream_begin(s, kind, key, kind == SR_TR_REASONING ? raw->item_id : (sr_json_view){0});
        part = (uint32_t)s->n_parts - 1;
    }
    return rc ? rc : sr_tr_stream_delta(s, part, text);
}

/* Parts of a summary after the first are set apart as in a whole answer. */
static int read_summary_part(struct sr_tr_stream *s, const struct raw_event *raw)
{
    int64_t index = 0;
    uint32_t part = sr_tr_stream_find(s, key_of(raw, true));
    (void)sr_json_view_int(raw->summary_index, &index);
    return index > 0 && part != UINT32_MAX ? sr_tr_stream_delta(s, part, SR_TR_STRING("\\n\\n")) : SR_OK;
}

/* ---- items ---- */

static int begin_call(struct sr_tr_stream *s, const struct raw_event *raw, bool custom)
{
    sr_json_view id = sr_json_view_get(raw->item, "call_id"), name = sr_json_view_get(raw->item, "name");
    if (!sr_json_view_is_string(id) || !sr_json_view_is_string(name))
        return SR_EPARSE;
    return sr_tr_stream_begin_call(s, custom, key_of(raw, true), id, name);
}

static int read_arguments(struct sr_tr_stream *s, const struct raw_event *raw, sr_json_view text, bool whole)
{
    uint32_t part = sr_tr_stream_find(s, key_of(raw, true));
    if (part == UINT32_MAX || (whole && s->parts[part].any))
        return SR_OK;
    return sr_tr_stream_delta(s, part, text);
}

static int end_call(struct sr_tr_stream *s, const struct raw_event *raw, bool custom)
{
    int rc = SR_OK;
    if (sr_tr_stream_find(s, key_of(raw, true)) == UINT32_MAX)
        rc = begin_call(s, raw, custom);
    if (!rc)
        rc = read_arguments(s, raw, sr_json_view_get(raw->item, custom ? "input" : "arguments"), true);
    return rc ? rc : sr_tr_stream_close(s, sr_tr_stream_find(s, key_of(raw, true)));
}

static int end_reasoning(struct sr_tr_stream *s, const struct raw_event *raw)
{
    sr_json_view encrypted = sr_json_view_get(raw->item, "encrypted_content"), text;
    sr_json_view id = sr_json_view_get(raw->item, "id");
    uint64_t key = key_of(raw, true);
    int rc = sr_tr_responses_read_reasoning(&s->tr, sr_json_view_get(raw->item, "summary"),
                                            sr_json_view_get(raw->item, "content"), &text);
    bool said = text.p && !sr_tr_is_empty(text), missing = sr_tr_stream_find(s, key) == UINT32_MAX;
    if (rc || (missing && !said && !sr_json_view_is_string(encrypted)))
        return rc;
    if (missing)
        rc = sr_tr_stream_begin(s, SR_TR_REASONING, key, id);
    uint32_t part = sr_tr_stream_find(s, key);
    if (!rc && missing)
        rc = sr_tr_stream_delta(s, part, text);
    if (!rc)
        rc = sr_tr_stream_signature(s, part, encrypted);
    return rc ? rc : sr_tr_stream_close(s, part);
}

static int end_message(struct sr_tr_stream *s, const struct raw_event *raw)
{
    static const char digits[] = "0123456789";
    sr_json_view content = sr_json_view_get(raw->item, "content"), value;
    size_t at = 0;
    int rc = SR_OK;
    for (int i = 0;
         !rc && i < 10 && sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &value);
         i++) {
        struct raw_event part = *raw;
        bool refusal = sr_json_view_eq(sr_json_view_get(value, "type"), "refusal");
        part.content_index = sr_bytes_of(digits + i, 1);
        rc = read_text(s, &part, refusal ? SR_TR_REFUSAL : SR_TR_TEXT,
                       sr_json_view_get(value, refusal ? "refusal" : "text"), true);
        uint32_t number = sr_tr_stream_find(s, key_of(&part, false));
        if (!rc && number != UINT32_MAX)
            rc = sr_tr_stream_close(s, number);
    }
    return rc;
}

static int read_item(struct sr_tr_stream *s, const struct raw_event *raw, bool ends)
{
    static const char *const words[] = {"function_call", "custom_tool_call", "reasoning", "message", NULL};
    int word = sr_tr_word(sr_json_view_get(raw->item, "type"), words);
    if (word == 0 || word == 1)
        return ends ? end_call(s, raw, word == 1) : begin_call(s, raw, word == 1);
    if (!ends)
        return SR_OK;
    return word == 2 ? end_reasoning(s, raw) : word == 3 ? end_message(s, raw) : SR_OK;
}

/* ---- the response ---- */

static int read_head(struct sr_tr_stream *s, sr_json_view response)
{
    int rc;
    if (s->started)
        return SR_OK;
    sr_tr_responses_read_head(response, &s->answer);
    s->answer.error = (sr_json_view){0};
    rc = sr_tr_stream_dup(s, &s->answer.id);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.model);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.service_tier);
    return rc ? rc : sr_tr_stream_start(s);
}

static int read_last(struct sr_tr_stream *s, sr_json_view response)
{
    sr_json_view error = sr_json_view_get(response, "error");
    int rc = read_head(s, response);
    if (rc)
        return rc;
    if (sr_json_view_eq(sr_json_view_get(response, "status"), "failed"))
        return sr_tr_stream_error(s, sr_json_view_get(error, "code"), sr_json_view_get(error, "message"));
    sr_tr_responses_read_usage(sr_json_view_get(response, "usage"), &s->answer.usage);
    s->answer.stop = sr_tr_responses_stop(response, has_calls(s));
    s->ended = true;
    return sr_tr_stream_finish(s);
}

enum {
    TEXT_DELTA,
    ARGUMENTS_DELTA,
    SUMMARY_DELTA,
    REASONING_DELTA,
    REFUSAL_DELTA,
    INPUT_DELTA,
    TEXT_DONE,
    ARGUMENTS_DONE,
    REFUSAL_DONE,
    INPUT_DONE,
    PART_DONE,
    SUMMARY_PART,
    ITEM_ADDED,
    ITEM_DONE,
    CREATED,
    IN_PROGRESS,
    COMPLETED,
    INCOMPLETE,
    FAILED,
    ERROR,
};

static const char *const words[] = {
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.refusal.delta",
    "response.custom_tool_call_input.delta",
    "response.output_text.done",
    "response.function_call_arguments.done",
    "response.refusal.done",
    "response.custom_tool_call_input.done",
    "response.content_part.done",
    "response.reasoning_summary_part.added",
    "response.output_item.added",
    "response.output_item.done",
    "response.created",
    "response.in_progress",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
    NULL,
};

static int end_part(struct sr_tr_stream *s, const struct raw_event *raw)
{
    uint32_t part = sr_tr_stream_find(s, key_of(raw, false));
    return part == UINT32_MAX ? SR_OK : sr_tr_stream_close(s, part);
}

static int read_error(struct sr_tr_stream *s, const struct raw_event *raw, sr_json_view data)
{
    sr_json_view inside = sr_json_view_get(data, "error");
    if (sr_json_view_is_object(inside))
        return sr_tr_stream_error(s, sr_json_view_get(inside, "type"), sr_json_view_get(inside, "message"));
    return sr_tr_stream_error(s, raw->code, raw->message);
}

int sr_tr_responses_read_event(struct sr_tr_stream *s, sr_json_view data)
{
    struct raw_event raw = {0};
    sr_tr_fields(&s->tr, NULL, data, fields, SR_TR_COUNT(fields), &raw);
    switch (sr_tr_word(raw.type, words)) {
    case TEXT_DELTA:
        return read_text(s, &raw, SR_TR_TEXT, raw.delta, false);
    case TEXT_DONE:
        return read_text(s, &raw, SR_TR_TEXT, raw.text, true);
    case REFUSAL_DELTA:
        return read_text(s, &raw, SR_TR_REFUSAL, raw.delta, false);
    case REFUSAL_DONE:
        return read_text(s, &raw, SR_TR_REFUSAL, raw.refusal, true);
    case SUMMARY_DELTA:
    case REASONING_DELTA:
        return read_text(s, &raw, SR_TR_REASONING, raw.delta, false);
    case SUMMARY_PART:
        return read_summary_part(s, &raw);
    case ARGUMENTS_DELTA:
    case INPUT_DELTA:
        return read_arguments(s, &raw, raw.delta, false);
    case ARGUMENTS_DONE:
    case INPUT_DONE:
        return read_arguments(s, &raw, raw.arguments.p ? raw.arguments : raw.input, true);
    case PART_DONE:
        return end_part(s, &raw);
    case ITEM_ADDED:
    case ITEM_DONE:
        return read_item(s, &raw, sr_json_view_eq(raw.type, words[ITEM_DONE]));
    case CREATED:
    case IN_PROGRESS:
        return read_head(s, raw.response);
    case COMPLETED:
    case INCOMPLETE:
    case FAILED:
        return read_last(s, raw.response);
    case ERROR:
        return read_error(s, &raw, data);
    default:
        return SR_OK;
    }
}
