/* Requests of chat completions: read into the model, and written from it. */
#include "translate/api.h"
#include "translate/chat.h"
#include "translate/tools.h"

/* ---- parts ---- */

struct raw_part {
    sr_json_view type, text, refusal, thinking, signature, image_url, input_audio, file, cache_control;
};

#define P(member) SR_TR_FIELD(struct raw_part, member)

static const struct sr_tr_field part_fields[] = {
    P(type),      P(text),        P(refusal), P(thinking),      P(signature),
    P(image_url), P(input_audio), P(file),    P(cache_control),
};

#undef P

struct raw_media {
    sr_json_view url, detail, data, format, file_data, file_id, filename;
};

#define M(member) SR_TR_FIELD(struct raw_media, member)

static const struct sr_tr_field media_fields[] = {
    M(url), M(detail), M(data), M(format), M(file_data), M(file_id), M(filename),
};

#undef M

static int read_media(struct sr_tr *tr, struct sr_tr_parts *parts, enum sr_tr_kind kind, sr_json_view value,
                      const char *where, sr_json_view cache)
{
    struct raw_media media = {0};
    sr_tr_fields(tr, where, value, media_fields, SR_TR_COUNT(media_fields), &media);
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, kind);
    if (!part)
        return SR_ENOMEM;
    part->text = sr_json_view_is_string(value) ? value : media.url;
    part->detail = media.detail;
    part->id = media.file_id;
    part->name = media.filename;
    part->data = media.data;
    part->media_type = media.format;
    part->cache = cache;
    if (kind == SR_TR_FILE)
        sr_tr_media_bytes(part, media.file_data);
    return SR_OK;
}

/* A thinking may be a list of texts. */
static int read_thinking(struct sr_tr *tr, sr_json_view list, struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    while (sr_json_view_next(list, &at, NULL, &value)) {
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_REASONING);
        if (!part)
            return SR_ENOMEM;
        part->text = sr_json_view_get(value, "text");
    }
    return SR_OK;
}

static int read_part(struct sr_tr *tr, sr_json_view value, struct sr_tr_parts *parts)
{
    static const char *const words[] = {"text", "refusal",     "thinking",   "image_url", "input_audio",
                                        "file", "output_text", "input_text", NULL};
    static const char where[] = "messages[].content[].";
    struct raw_part raw = {0};
    struct sr_tr_part *part;
    int word = sr_tr_word(sr_json_view_get(value, "type"), words);
    if (word >= 0)
        sr_tr_fields(tr, where, value, part_fields, SR_TR_COUNT(part_fields), &raw);
    switch (word) {
    case 3:
        return read_media(tr, parts, SR_TR_IMAGE, raw.image_url, "messages[].content[].image_url.",
                          raw.cache_control);
    case 4:
        return read_media(tr, parts, SR_TR_AUDIO, raw.input_audio, "messages[].content[].input_audio.",
                          raw.cache_control);
    case 5:
        return read_media(tr, parts, SR_TR_FILE, raw.file, "messages[].content[].file.", raw.cache_control);
    case -1:
        sr_tr_warn(tr, where, sr_tr_inner(sr_json_view_get(value, "type")));
        return SR_OK;
    default:
        if (word == 2 && sr_json_view_is_array(raw.thinking))
            return read_thinking(tr, raw.thinking, parts);
        part = sr_tr_part_new(tr, parts,
                              word == 1   ? SR_TR_REFUSAL
                              : word == 2 ? SR_TR_REASONING
                                          : SR_TR_TEXT);
        if (!part)
            return SR_ENOMEM;
        part->text = word == 1 ? raw.refusal : word == 2 ? raw.thinking : raw.text;
        part->signature = raw.signature;
        part->cache = raw.cache_control;
        return sr_json_view_is_string(part->text)
                   ? SR_OK
                   : sr_tr_wrong(tr, "a part of `content` has no text where its type says one");
    }
}

int sr_tr_chat_read_content(struct sr_tr *tr, sr_json_view content, sr_json_view cache,
                            struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    if (sr_json_view_is_string(content)) {
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_TEXT);
        if (!part)
            return SR_ENOMEM;
        part->text = content;
        part->cache = cache;
        return SR_OK;
    }
    if (content.p && !sr_json_view_is_array(content))
        return sr_tr_wrong(tr, "`content` must be a string or a list of parts");
    while (!rc && sr_json_view_next(content, &at, NULL, &value))
        rc = read_part(tr, value, parts);
    if (cache.p && parts->last)
        parts->last->cache = cache;
    return rc;
}

/* ---- messages ---- */

struct raw_message {
    sr_json_view role, content, name, tool_calls, tool_call_id, refusal, cache_control;
    sr_json_view reasoning_content, reasoning, reasoning_details, function_call, annotations;
};

#define G(member) SR_TR_FIELD(struct raw_message, member)

static const struct sr_tr_field message_fields[] = {
    G(role),
    G(content),
    G(name),
    G(tool_calls),
    G(tool_call_id),
    G(refusal),
    G(cache_control),
    G(reasoning_content),
    G(reasoning),
    G(reasoning_details),
    G(function_call),
    G(annotations),
    SR_TR_IGNORE("id"),
};

#undef G

static int read_assistant(struct sr_tr *tr, const struct raw_message *raw, struct sr_tr_parts *parts)
{
    struct sr_tr_chat_message message = {
        .content = raw->content,
        .refusal = raw->refusal,
        .tool_calls = raw->tool_calls,
        .function_call = raw->function_call,
        .reasoning = raw->reasoning_content.p ? raw->reasoning_content : raw->reasoning,
        .details = raw->reasoning_details,
    };
    int rc = sr_tr_chat_read_reasoning(tr, &message, parts);
    if (!rc && (sr_json_view_is_array(raw->content) || !sr_tr_is_empty(raw->content)))
        rc = sr_tr_chat_read_content(tr, raw->content, raw->cache_control, parts);
    return rc ? rc : sr_tr_chat_read_rest(tr, &message, "messages[].", parts);
}

static int read_result(struct sr_tr *tr, const struct raw_message *raw, struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_RESULT);
    struct sr_tr_parts inside = {0};
    if (!part)
        return SR_ENOMEM;
    part->id = raw->tool_call_id.p ? raw->tool_call_id : raw->name;
    int rc = sr_tr_chat_read_content(tr, raw->content, (sr_json_view){0}, &inside);
    part->inside = inside.first;
    part->cache = raw->cache_control;
    if (!rc && !sr_json_view_is_string(part->id))
        rc = sr_tr_wrong(tr, "a message of the role `tool` has no `tool_call_id`");
    return rc;
}

static int read_message(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"system", "developer", "user", "assistant", "tool", "function", NULL};
    struct raw_message raw = {0};
    sr_tr_fields(tr, "messages[].", value, message_fields, SR_TR_COUNT(message_fields), &raw);
    sr_tr_lost_filled(tr, raw.annotations, "messages[].annotations");
    int word = sr_tr_word(raw.role, words);
    if (word < 0)
        return sr_tr_wrong(tr, "a message has no role, or one that is not known");
    if (word == 5) {
        sr_tr_warn(tr, "messages[].role.function", SR_LIT(""));
        word = SR_TR_TOOL;
    }
    struct sr_tr_turn *turn = sr_tr_turn_new(tr, out, (enum sr_tr_role)word);
    if (!turn)
        return SR_ENOMEM;
    turn->name = word == SR_TR_TOOL ? (sr_json_view){0} : raw.name;
    if (turn->role == SR_TR_ASSISTANT)
        return read_assistant(tr, &raw, &turn->parts);
    if (turn->role == SR_TR_TOOL)
        return read_result(tr, &raw, &turn->parts);
    return sr_tr_chat_read_content(tr, raw.content, raw.cache_control, &turn->parts);
}

/* ---- tools ---- */

struct raw_tool {
    sr_json_view type, function, custom, cache_control;
    sr_json_view name, description, parameters, strict, format;
};

#define T(member) SR_TR_FIELD(struct raw_tool, member)

static const struct sr_tr_field tool_fields[] = {T(type), T(function), T(custom), T(cache_control)};
static const struct sr_tr_field function_fields[] = {T(name), T(description), T(parameters), T(strict),
                                                     T(format)};

#undef T

static int read_tool(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    struct raw_tool raw = {0};
    sr_tr_fields(tr, "tools[].", value, tool_fields, SR_TR_COUNT(tool_fields), &raw);
    bool custom = sr_json_view_eq(raw.type, "custom");
    if (!custom && !raw.function.p) {
        sr_tr_warn(tr, "tools[].", sr_tr_inner(raw.type));
        return SR_OK;
    }
    struct sr_tr_tool *tool = sr_tr_tool_new(tr, out);
    if (!tool)
        return SR_ENOMEM;
    sr_tr_fields(tr, custom ? "tools[].custom." : "tools[].function.", custom ? raw.custom : raw.function,
                 function_fields, SR_TR_COUNT(function_fields), &raw);
    *tool = (struct sr_tr_tool){.custom = custom,
                                .name = raw.name,
                                .description = raw.description,
                                .parameters = raw.parameters,
                                .strict = raw.strict,
                                .cache = raw.cache_control};
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
    sr_json_view of = sr_json_view_get(value, "function");
    if (sr_json_view_eq(sr_json_view_get(value, "type"), "allowed_tools")) {
        sr_tr_allow_tools(tr, sr_json_view_get(value, "allowed_tools"), out);
        return;
    }
    out->choice_custom = sr_json_view_eq(sr_json_view_get(value, "type"), "custom");
    if (out->choice_custom)
        of = sr_json_view_get(value, "custom");
    out->choice_name = sr_json_view_get(of, "name");
    if (sr_json_view_is_string(out->choice_name))
        out->choice = SR_TR_CHOICE_NAMED;
    else
        sr_tr_warn(tr, "tool_choice.", sr_tr_inner(sr_json_view_get(value, "type")));
}

static void read_format(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"text", "json_object", "json_schema", NULL};
    static const char *const known[] = {"type", "json_schema", NULL};
    static const char *const of_schema[] = {"name", "description", "schema", "strict", NULL};
    int word = sr_tr_word(sr_json_view_get(value, "type"), words);
    if (!value.p)
        return;
    if (word < 0) {
        sr_tr_warn(tr, "response_format.", sr_tr_inner(sr_json_view_get(value, "type")));
        return;
    }
    sr_json_view schema = sr_json_view_get(value, "json_schema");
    sr_tr_lost_members(tr, "response_format.", value, known);
    sr_tr_lost_members(tr, "response_format.json_schema.", schema, of_schema);
    out->format = (enum sr_tr_format)(SR_TR_FORMAT_TEXT + word);
    out->format_name = sr_json_view_get(schema, "name");
    out->format_description = sr_json_view_get(schema, "description");
    out->schema = sr_json_view_get(schema, "schema");
    out->format_strict = sr_json_view_get(schema, "strict");
}

/* ---- the request ---- */

struct raw_request {
    sr_json_view max_tokens, max_completion_tokens, messages, tools, tool_choice, response_format;
    sr_json_view functions, n, logprobs, reasoning_effort, stream_options;
    struct sr_tr_request r;
};

#define R(member) SR_TR_FIELD(struct raw_request, member)
#define Q(member)                                                                                            \
    {                                                                                                        \
#member, offsetof(struct raw_request, r.member)                                                      \
    }

static const struct sr_tr_field fields[] = {
    Q(model),
    R(messages),
    Q(stream),
    R(max_tokens),
    R(max_completion_tokens),
    Q(temperature),
    Q(top_p),
    Q(top_k),
    Q(stop),
    R(tools),
    R(tool_choice),
    R(response_format),
    R(reasoning_effort),
    R(n),
    R(logprobs),
    Q(user),
    Q(safety_identifier),
    Q(metadata),
    Q(service_tier),
    Q(store),
    Q(verbosity),
    Q(prompt_cache_key),
    Q(prompt_cache_retention),
    R(functions),
    {"parallel_tool_calls", offsetof(struct raw_request, r.parallel)},
    R(stream_options),
};

#undef R
#undef Q

/* Numbers and switches that other APIs do not have. */
static void name_lost(struct sr_tr *tr, const struct raw_request *raw)
{
    static const char *const known[] = {"include_usage", "include_obfuscation", NULL};
    int64_t number;
    if (raw->n.p && !(sr_json_view_int(raw->n, &number) && number == 1))
        sr_tr_warn(tr, "n", SR_LIT(""));
    if (sr_json_view_bool(raw->logprobs, false))
        sr_tr_warn(tr, "logprobs", SR_LIT(""));
    sr_tr_lost(tr, raw->functions, "functions");
    sr_tr_lost_members(tr, "stream_options.", raw->stream_options, known);
    if (sr_json_view_bool(sr_json_view_get(raw->stream_options, "include_obfuscation"), false))
        sr_tr_warn(tr, "stream_options.include_obfuscation", SR_LIT(""));
}

static void read_reasoning(const struct raw_request *raw, struct sr_tr_request *out)
{
    if (!sr_json_view_is_string(raw->reasoning_effort))
        return;
    out->thinking = sr_json_view_eq(raw->reasoning_effort, "none") ? SR_TR_THINKING_OFF : SR_TR_THINKING_ON;
    out->effort = raw->reasoning_effort;
}

int sr_tr_chat_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out)
{
    struct raw_request raw = {.r = {.model = {NULL, 0}}};
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    sr_tr_fields(tr, "", root, fields, SR_TR_COUNT(fields), &raw);
    *out = raw.r;
    out->max_tokens = raw.max_completion_tokens.p ? raw.max_completion_tokens : raw.max_tokens;
    name_lost(tr, &raw);
    read_reasoning(&raw, out);
    read_format(tr, raw.response_format, out);
    if (!sr_json_view_is_array(raw.messages))
        return sr_tr_wrong(tr, "`messages` must be a list");
    while (!rc && sr_json_view_next(raw.messages, &at, NULL, &value))
        rc = read_message(tr, value, out);
    at = 0;
    if (sr_json_view_is_array(raw.tools))
        while (!rc && sr_json_view_next(raw.tools, &at, NULL, &value))
            rc = read_tool(tr, value, out);
    if (!rc)
        read_choice(tr, raw.tool_choice, out);
    return rc ? rc : sr_tr_mark_custom_results(tr, out);
}
