/* Streams of Responses, read. Texts that were not streamed are taken from the events that end them. */
#include "translate/api.h"
#include "translate/responses.h"

struct raw_event {
    sr_json_view type, response, output_index, content_index, summary_index, delta, item, item_id, text,
        refusal;
    sr_json_view arguments, input, message, code, logprobs;
};

#define E(member) SR_TR_FIELD(struct raw_event, member)

static const struct sr_tr_field fields[] = {
    E(type),      E(response), E(output_index), E(content_index), E(summary_index),
    E(delta),     E(item),     E(item_id),      E(text),          E(refusal),
    E(arguments), E(input),    E(message),      E(code),          E(logprobs),
};

#undef E

#define ITEM 0xffff /* the number of an item that is one part */

static uint64_t key_at(const struct raw_event *raw, int64_t content)
{
    int64_t output = 0;
    (void)sr_json_view_int(raw->output_index, &output);
    return (uint64_t)output << 16 | ((uint64_t)content & 0xffff);
}

static uint64_t key_of(const struct raw_event *raw, bool item)
{
    int64_t content = 0;
    (void)sr_json_view_int(raw->content_index, &content);
    return key_at(raw, item ? ITEM : content);
}

/* ---- texts ---- */

/* A piece of a text, or all of it if none came before. */
static int read_text_at(struct sr_tr_stream *s, const struct raw_event *raw, uint64_t key,
                        enum sr_tr_kind kind, sr_json_view text, bool whole)
{
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

static int read_text(struct sr_tr_stream *s, const struct raw_event *raw, enum sr_tr_kind kind,
                     sr_json_view text, bool whole)
{
    sr_tr_lost_filled(&s->tr, raw->logprobs, "output[].content[].logprobs");
    return read_text_at(s, raw, key_of(raw, kind == SR_TR_REASONING), kind, text, whole);
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
    sr_json_view content = sr_json_view_get(raw->item, "content"), value;
    size_t at = 0;
    int rc = SR_OK;
    for (int64_t i = 0;
         !rc && sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &value); i++) {
        bool refusal = sr_json_view_eq(sr_json_view_get(value, "type"), "refusal");
        if (!sr_tr_responses_known_part(&s->tr, value))
            continue;
        rc = read_text_at(s, raw, key_at(raw, i), refusal ? SR_TR_REFUSAL : SR_TR_TEXT,
                          sr_json_view_get(value, refusal ? "refusal" : "text"), true);
        uint32_t number = sr_tr_stream_find(s, key_at(raw, i));
        if (!rc && number != UINT32_MAX)
            rc = sr_tr_stream_close(s, number);
    }
    return rc;
}

static int read_item(struct sr_tr_stream *s, const struct raw_event *raw, bool ends)
{
    static const char *const words[] = {"function_call", "custom_tool_call", "reasoning", "message", NULL};
    int word = sr_tr_word(sr_json_view_get(raw->item, "type"), words);
    (void)sr_tr_responses_known_item(&s->tr, raw->item);
    if (word == 0 || word == 1)
        return ends ? end_call(s, raw, word == 1) : begin_call(s, raw, word == 1);
    if (!ends)
        return SR_OK;
    return word == 2 ? end_reasoning(s, raw) : word == 3 ? end_message(s, raw) : SR_OK;
}

/* ---- the response ---- */

static int begin(struct sr_tr_stream *s, const struct sr_tr_responses_head *head)
{
    if (s->started)
        return SR_OK;
    sr_tr_responses_take_head(head, &s->answer);
    sr_tr_responses_read_usage(&s->tr, head->usage, &s->answer.usage);
    int rc = sr_tr_stream_dup(s, &s->answer.id);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.model);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.service_tier);
    return rc ? rc : sr_tr_stream_start(s);
}

static int read_first(struct sr_tr_stream *s, sr_json_view response)
{
    struct sr_tr_responses_head head = {.id = {NULL, 0}};
    sr_tr_responses_read_head(&s->tr, response, &head);
    return begin(s, &head);
}

static int read_last(struct sr_tr_stream *s, sr_json_view response)
{
    struct sr_tr_responses_head head = {.id = {NULL, 0}};
    sr_tr_responses_read_head(&s->tr, response, &head);
    int rc = begin(s, &head);
    if (rc)
        return rc;
    if (sr_json_view_eq(head.status, "failed"))
        return sr_tr_stream_error(s, sr_json_view_get(head.error, "code"),
                                  sr_json_view_get(head.error, "message"));
    sr_tr_responses_read_usage(&s->tr, head.usage, &s->answer.usage);
    s->answer.stop = sr_tr_responses_stop(&s->tr, &head);
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

/* Events of what is not carried over, by their first two words: "response.mcp_call". */
static void name_event(struct sr_tr_stream *s, sr_json_view type)
{
    static const char *const said[] = {"response.content_part.added",
                                       "response.reasoning_summary_part.done",
                                       "response.reasoning_summary_text.done",
                                       "response.reasoning_text.done",
                                       "response.queued",
                                       NULL};
    struct sr_bytes name = sr_tr_inner(type), prefix = SR_LIT("response.");
    if (sr_json_view_eq(type, "response.output_text.annotation.added")) {
        sr_tr_warn(&s->tr, "output[].content[].annotations", SR_LIT(""));
        return;
    }
    if (!sr_bytes_starts_with(name, prefix) || sr_tr_word(type, said) >= 0)
        return;
    const char *dot = memchr(name.p + prefix.n, '.', name.n - prefix.n);
    sr_tr_warn(&s->tr, "", dot ? sr_bytes_of(name.p, (size_t)(dot - name.p)) : name);
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
        return read_first(s, raw.response);
    case COMPLETED:
    case INCOMPLETE:
    case FAILED:
        return read_last(s, raw.response);
    case ERROR:
        return read_error(s, &raw, data);
    default:
        name_event(s, raw.type);
        return SR_OK;
    }
}
