/* Requests of Responses: read into the model. Items that belong to one turn of the assistant become one. */
#include "translate/api.h"
#include "translate/responses.h"
#include "translate/tools.h"

/* ---- parts ---- */

struct raw_part {
    sr_json_view type, text, refusal, image_url, detail, file_id, file_data, file_url, filename, input_audio;
    sr_json_view annotations, logprobs;
};

#define P(member) SR_TR_FIELD(struct raw_part, member)

static const struct sr_tr_field part_fields[] = {
    P(type),      P(text),     P(refusal),  P(image_url),   P(detail),      P(file_id),
    P(file_data), P(file_url), P(filename), P(input_audio), P(annotations), P(logprobs),
};

#undef P

enum { TEXT_WORDS = 3, REFUSAL_WORD = 3, IMAGE_WORD, FILE_WORD, AUDIO_WORD };

static int read_part(struct sr_tr *tr, sr_json_view value, const char *where, struct sr_tr_parts *parts)
{
    static const char *const words[] = {"input_text",  "output_text", "text",        "refusal",
                                        "input_image", "input_file",  "input_audio", NULL};
    static const enum sr_tr_kind kinds[] = {SR_TR_TEXT,  SR_TR_TEXT, SR_TR_TEXT, SR_TR_REFUSAL,
                                            SR_TR_IMAGE, SR_TR_FILE, SR_TR_AUDIO};
    struct raw_part raw = {0};
    int word = sr_tr_word(sr_json_view_get(value, "type"), words);
    if (word < 0) {
        sr_tr_warn(tr, where, sr_tr_inner(sr_json_view_get(value, "type")));
        return SR_OK;
    }
    sr_tr_fields(tr, where, value, part_fields, SR_TR_COUNT(part_fields), &raw);
    sr_tr_lost_filled(tr, raw.annotations, "input[].content[].annotations");
    sr_tr_lost_filled(tr, raw.logprobs, "input[].content[].logprobs");
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, kinds[word]);
    if (!part)
        return SR_ENOMEM;
    part->text = word < TEXT_WORDS      ? raw.text
                 : word == REFUSAL_WORD ? raw.refusal
                 : word == IMAGE_WORD   ? raw.image_url
                                        : raw.file_url;
    if (raw.file_data.p)
        sr_tr_media_bytes(part, raw.file_data);
    part->detail = sr_json_view_eq(raw.detail, "auto") ? (sr_json_view){0} : raw.detail;
    part->id = raw.file_id;
    part->name = raw.filename;
    if (word == AUDIO_WORD) {
        part->data = sr_json_view_get(raw.input_audio, "data");
        part->media_type = sr_json_view_get(raw.input_audio, "format");
    }
    return word > REFUSAL_WORD || sr_json_view_is_string(part->text)
               ? SR_OK
               : sr_tr_wrong(tr, "a part of `input` has no text where its type says one");
}

static int read_content(struct sr_tr *tr, sr_json_view content, const char *where, struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    if (sr_json_view_is_string(content)) {
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_TEXT);
        if (!part)
            return SR_ENOMEM;
        part->text = content;
        return SR_OK;
    }
    if (content.p && !sr_json_view_is_array(content))
        return sr_tr_wrong(tr, "a content of `input` must be a string or a list of parts");
    while (!rc && sr_json_view_next(content, &at, NULL, &value))
        rc = read_part(tr, value, where, parts);
    return rc;
}

/* ---- items ---- */

struct raw_item {
    sr_json_view type, role, content, id, call_id, name, arguments, input, output, summary, encrypted_content;
    sr_json_view status;
};

#define I(member) SR_TR_FIELD(struct raw_item, member)

static const struct sr_tr_field item_fields[] = {
    I(type),      I(role),  I(content), I(id),      I(call_id),           I(name),
    I(arguments), I(input), I(output),  I(summary), I(encrypted_content), I(status),
};

#undef I

static bool has(const struct sr_tr_turn *turn, enum sr_tr_kind kind)
{
    for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next)
        if (p->kind == kind)
            return true;
    return false;
}

/* The assistant's turn that takes an item: after a text another message, or its reasoning, is a new turn;
 * after a call all belongs to it, because its result must follow at once. */
static struct sr_tr_turn *assistant(struct sr_tr *tr, struct sr_tr_request *out, enum sr_tr_kind kind)
{
    struct sr_tr_turn *last = out->last_turn;
    bool apart = kind != SR_TR_CALL && last && has(last, SR_TR_TEXT) && !has(last, SR_TR_CALL);
    return last && last->role == SR_TR_ASSISTANT && !apart ? last : sr_tr_turn_new(tr, out, SR_TR_ASSISTANT);
}

static int read_message(struct sr_tr *tr, const struct raw_item *raw, struct sr_tr_request *out)
{
    static const char *const words[] = {"system", "developer", "user", "assistant", NULL};
    int word = sr_tr_word(raw->role, words);
    if (word < 0)
        return sr_tr_wrong(tr, "a message of `input` has no role, or one that is not known");
    struct sr_tr_turn *turn = word == SR_TR_ASSISTANT ? assistant(tr, out, SR_TR_TEXT)
                                                      : sr_tr_turn_new(tr, out, (enum sr_tr_role)word);
    return turn ? read_content(tr, raw->content, "input[].content[].", &turn->parts) : SR_ENOMEM;
}

static int read_call(struct sr_tr *tr, const struct raw_item *raw, bool custom, struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_CALL);
    if (!part)
        return SR_ENOMEM;
    part->custom = custom;
    part->id = raw->call_id.p ? raw->call_id : raw->id;
    part->name = raw->name;
    part->arguments = custom ? raw->input : raw->arguments;
    return sr_json_view_is_string(part->id) && sr_json_view_is_string(part->name)
               ? SR_OK
               : sr_tr_wrong(tr, "a call has no `call_id` or no `name`");
}

static int read_result(struct sr_tr *tr, const struct raw_item *raw, bool custom, struct sr_tr_request *out)
{
    struct sr_tr_turn *turn = out->last_turn;
    struct sr_tr_parts inside = {0};
    if (!turn || turn->role != SR_TR_TOOL)
        turn = sr_tr_turn_new(tr, out, SR_TR_TOOL);
    struct sr_tr_part *part = turn ? sr_tr_part_new(tr, &turn->parts, SR_TR_RESULT) : NULL;
    if (!part)
        return SR_ENOMEM;
    part->custom = custom;
    part->id = raw->call_id;
    sr_tr_lost(tr, raw->name, "input[].name");
    int rc = read_content(tr, raw->output, "input[].output[].", &inside);
    part->inside = inside.first;
    if (!rc && !sr_json_view_is_string(part->id))
        rc = sr_tr_wrong(tr, "the output of a call has no `call_id`");
    return rc;
}

int sr_tr_responses_read_reasoning(struct sr_tr *tr, sr_json_view summary, sr_json_view content,
                                   sr_json_view *text)
{
    sr_json_view list = sr_json_view_is_array(content) && content.n > 2 ? content : summary, value;
    struct sr_tr_parts parts = {0};
    size_t at = 0;
    *text = (sr_json_view){0};
    if (sr_bytes_eq(list, content))
        sr_tr_lost_filled(tr, summary, "reasoning.summary");
    while (sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value)) {
        struct sr_tr_part *part = sr_tr_part_new(tr, &parts, SR_TR_REASONING);
        if (!part)
            return SR_ENOMEM;
        part->text = sr_json_view_get(value, "text");
    }
    *text = sr_tr_texts(tr, parts.first, SR_TR_REASONING, SR_LIT("\\n\\n"));
    return SR_OK;
}

static int read_reasoning(struct sr_tr *tr, const struct raw_item *raw, struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_REASONING);
    if (!part)
        return SR_ENOMEM;
    part->id = raw->id;
    part->signature = raw->encrypted_content;
    return sr_tr_responses_read_reasoning(tr, raw->summary, raw->content, &part->text);
}

static int read_item(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"message",
                                        "function_call",
                                        "function_call_output",
                                        "custom_tool_call",
                                        "custom_tool_call_output",
                                        "reasoning",
                                        "item_reference",
                                        NULL};
    struct raw_item raw = {0};
    sr_json_view type = sr_json_view_get(value, "type");
    int word = sr_json_view_is_null(type) ? 0 : sr_tr_word(type, words);
    struct sr_tr_turn *turn = NULL;
    if (word >= 0)
        sr_tr_fields(tr, "input[].", value, item_fields, SR_TR_COUNT(item_fields), &raw);
    if (raw.status.p && !sr_json_view_eq(raw.status, "completed"))
        sr_tr_warn(tr, "input[].status", SR_LIT(""));
    switch (word) {
    case 0:
        return read_message(tr, &raw, out);
    case 2:
    case 4:
        return read_result(tr, &raw, word == 4, out);
    case 1:
    case 3:
        turn = assistant(tr, out, SR_TR_CALL);
        return turn ? read_call(tr, &raw, word == 3, &turn->parts) : SR_ENOMEM;
    case 5:
        turn = assistant(tr, out, SR_TR_REASONING);
        return turn ? read_reasoning(tr, &raw, &turn->parts) : SR_ENOMEM;
    case 6:
        return sr_err_set(tr->err, SR_EUNSUPPORTED,
                          "`input` refers to a stored item, which the upstream of this model does not have");
    default:
        sr_tr_warn(tr, "input[].", sr_tr_inner(type));
        return SR_OK;
    }
}

/* ---- tools, formats ---- */

struct raw_tool {
    sr_json_view name, description, parameters, strict, format;
};

#define T(member) SR_TR_FIELD(struct raw_tool, member)

static const struct sr_tr_field tool_fields[] = {T(name),   T(description), T(parameters),
                                                 T(strict), T(format),      SR_TR_IGNORE("type")};

#undef T

static int read_tool(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    struct raw_tool raw = {0};
    sr_json_view type = sr_json_view_get(value, "type");
    bool custom = sr_json_view_eq(type, "custom");
    if (!custom && !sr_json_view_eq(type, "function")) {
        sr_tr_warn(tr, "tools[].", sr_tr_inner(type));
        return SR_OK;
    }
    sr_tr_fields(tr, "tools[].", value, tool_fields, SR_TR_COUNT(tool_fields), &raw);
    struct sr_tr_tool *tool = sr_tr_tool_new(tr, out);
    if (!tool)
        return SR_ENOMEM;
    *tool = (struct sr_tr_tool){.custom = custom,
                                .name = raw.name,
                                .description = raw.description,
                                .parameters = raw.parameters,
                                .strict = raw.strict};
    sr_tr_read_tool_format(tr, raw.format, tool);
    return sr_json_view_is_string(raw.name) ? SR_OK : sr_tr_wrong(tr, "a tool has no name");
}

static void read_choice(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"auto", "none", "required", NULL};
    int word = sr_tr_word(value, words);
    if (!value.p)
        return;
    if (word >= 0) {
        out->choice = (enum sr_tr_choice)(SR_TR_CHOICE_AUTO + word);
        return;
    }
    sr_json_view type = sr_json_view_get(value, "type"), name = sr_json_view_get(value, "name");
    out->choice_custom = sr_json_view_eq(type, "custom");
    if (sr_json_view_eq(type, "allowed_tools")) {
        sr_tr_allow_tools(tr, value, out);
    } else if ((out->choice_custom || sr_json_view_eq(type, "function")) && sr_json_view_is_string(name)) {
        out->choice = SR_TR_CHOICE_NAMED;
        out->choice_name = name;
    } else { /* a tool of the server */
        sr_tr_warn(tr, "tool_choice.", sr_tr_inner(type));
    }
}

static void read_text_options(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"text", "json_object", "json_schema", NULL};
    sr_json_view format = sr_json_view_get(value, "format");
    int word = sr_tr_word(sr_json_view_get(format, "type"), words);
    static const char *const known[] = {"format", "verbosity", NULL};
    static const char *const of_format[] = {"type", "name", "description", "schema", "strict", NULL};
    sr_tr_lost_members(tr, "text.", value, known);
    out->verbosity = sr_json_view_get(value, "verbosity");
    if (sr_json_view_is_null(out->verbosity))
        out->verbosity = (sr_json_view){0};
    if (sr_json_view_is_null(format))
        return;
    if (word < 0) {
        sr_tr_warn(tr, "text.format.", sr_tr_inner(sr_json_view_get(format, "type")));
        return;
    }
    sr_tr_lost_members(tr, "text.format.", format, of_format);
    out->format = (enum sr_tr_format)(SR_TR_FORMAT_TEXT + word);
    out->format_name = sr_json_view_get(format, "name");
    out->format_description = sr_json_view_get(format, "description");
    out->schema = sr_json_view_get(format, "schema");
    out->format_strict = sr_json_view_get(format, "strict");
}

/* ---- the request ---- */

struct raw_request {
    sr_json_view instructions, input, max_output_tokens, tools, tool_choice, text, reasoning, include;
    sr_json_view previous_response_id, conversation, prompt, background, truncation, parallel_tool_calls;
    sr_json_view stream_options, store;
    struct sr_tr_request r;
};

#define R(member) SR_TR_FIELD(struct raw_request, member)
#define Q(member)                                                                                            \
    {                                                                                                        \
#member, offsetof(struct raw_request, r.member)                                                      \
    }

static const struct sr_tr_field fields[] = {
    Q(model),
    R(instructions),
    R(input),
    R(max_output_tokens),
    R(tools),
    R(tool_choice),
    R(text),
    R(reasoning),
    R(include),
    Q(stream),
    Q(temperature),
    Q(top_p),
    Q(top_k),
    Q(user),
    Q(safety_identifier),
    Q(metadata),
    Q(service_tier),
    Q(prompt_cache_key),
    Q(prompt_cache_retention),
    R(previous_response_id),
    R(conversation),
    R(prompt),
    R(background),
    R(truncation),
    R(parallel_tool_calls),
    R(store),
    R(stream_options),
};

#undef R
#undef Q

/* What names something stored elsewhere changes what the model reads, so it is not left out. */
static int refuse_state(struct sr_tr *tr, const struct raw_request *raw)
{
    const char *name = raw->previous_response_id.p                 ? "previous_response_id"
                       : raw->conversation.p                       ? "conversation"
                       : raw->prompt.p                             ? "prompt"
                       : sr_json_view_bool(raw->background, false) ? "background"
                                                                   : NULL;
    if (!name)
        return SR_OK;
    return sr_err_set(tr->err, SR_EUNSUPPORTED,
                      "`%s` is not supported with this model: its upstream speaks another API", name);
}

static void read_options(struct sr_tr *tr, const struct raw_request *raw, struct sr_tr_request *out)
{
    static const char *const of_reasoning[] = {"effort", "summary", NULL};
    static const char *const of_stream[] = {"include_obfuscation", NULL};
    sr_json_view value, effort = sr_json_view_get(raw->reasoning, "effort");
    size_t at = 0;
    sr_tr_lost_members(tr, "reasoning.", raw->reasoning, of_reasoning);
    sr_tr_lost_members(tr, "stream_options.", raw->stream_options, of_stream);
    if (sr_json_view_bool(sr_json_view_get(raw->stream_options, "include_obfuscation"), false))
        sr_tr_warn(tr, "stream_options.include_obfuscation", SR_LIT(""));
    out->max_tokens = raw->max_output_tokens;
    out->parallel = raw->parallel_tool_calls;
    if (sr_json_view_is_string(effort)) {
        out->effort = effort;
        out->thinking = sr_json_view_eq(effort, "none") ? SR_TR_THINKING_OFF : SR_TR_THINKING_ON;
    }
    value = sr_json_view_get(raw->reasoning, "summary");
    out->summary =
        sr_json_view_is_string(value) && !sr_json_view_eq(value, "auto") ? value : (sr_json_view){0};
    while (sr_json_view_is_array(raw->include) && sr_json_view_next(raw->include, &at, NULL, &value))
        if (!sr_json_view_eq(value, "reasoning.encrypted_content"))
            sr_tr_warn(tr, "include.", sr_tr_inner(value));
    if (!tr->settings->stores && sr_json_view_bool(raw->store, false)) /* the upstream cannot keep it */
        sr_tr_warn(tr, "store", SR_LIT(""));
    if (!sr_json_view_eq(raw->truncation, "disabled"))
        sr_tr_lost(tr, raw->truncation, "truncation");
    read_text_options(tr, raw->text, out);
}

int sr_tr_responses_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out)
{
    struct raw_request raw = {.r = {.model = {NULL, 0}}};
    struct sr_tr_turn *turn;
    sr_json_view value;
    size_t at = 0;
    sr_tr_fields(tr, "", root, fields, SR_TR_COUNT(fields), &raw);
    *out = raw.r;
    int rc = refuse_state(tr, &raw);
    if (rc)
        return rc;
    read_options(tr, &raw, out);
    if (raw.instructions.p) {
        turn = sr_tr_turn_new(tr, out, SR_TR_SYSTEM);
        rc = turn ? read_content(tr, raw.instructions, "instructions[].", &turn->parts) : SR_ENOMEM;
    }
    if (sr_json_view_is_string(raw.input)) {
        turn = rc ? NULL : sr_tr_turn_new(tr, out, SR_TR_USER);
        rc = turn ? read_content(tr, raw.input, "", &turn->parts) : rc ? rc : SR_ENOMEM;
    } else if (!sr_json_view_is_array(raw.input)) {
        return sr_tr_wrong(tr, "`input` must be a string or a list of items");
    }
    while (!rc && sr_json_view_is_array(raw.input) && sr_json_view_next(raw.input, &at, NULL, &value))
        rc = read_item(tr, value, out);
    at = 0;
    while (!rc && sr_json_view_is_array(raw.tools) && sr_json_view_next(raw.tools, &at, NULL, &value))
        rc = read_tool(tr, value, out);
    if (!rc)
        read_choice(tr, raw.tool_choice, out);
    return rc;
}
