/* Requests of Messages: read into the model. */
#include "translate/api.h"
#include "translate/messages.h"

struct raw_block {
    sr_json_view type, text, thinking, signature, data, source, cache_control, title, context, citations;
    sr_json_view id, name, input, tool_use_id, content, is_error, caller;
};

#define B(member) SR_TR_FIELD(struct raw_block, member)

static const struct sr_tr_field block_fields[] = {
    B(type),          B(text),        B(thinking), B(signature), B(data),   B(source),
    B(cache_control), B(title),       B(context),  B(citations), B(id),     B(name),
    B(input),         B(tool_use_id), B(content),  B(is_error),  B(caller),
};

#undef B

struct raw_source {
    sr_json_view type, media_type, data, url, file_id, content;
};

#define S(member) SR_TR_FIELD(struct raw_source, member)

static const struct sr_tr_field source_fields[] = {S(type), S(media_type), S(data),
                                                   S(url),  S(file_id),    S(content)};

#undef S

static int read_simple(struct sr_tr *tr, sr_json_view content, const char *where, struct sr_tr_parts *parts);

/* A document of plain text, or of blocks, is texts here. */
static int read_media(struct sr_tr *tr, const struct raw_block *raw, bool image, struct sr_tr_parts *parts)
{
    struct raw_source source = {0};
    sr_tr_fields(tr, "source.", raw->source, source_fields, SR_TR_COUNT(source_fields), &source);
    bool text = sr_json_view_eq(source.type, "text");
    sr_tr_lost(tr, raw->context, "document.context");
    sr_tr_lost(tr, raw->citations, "document.citations");
    if (text || source.content.p)
        sr_tr_warn(tr, "document", SR_LIT(""));
    if (source.content.p)
        return read_simple(tr, source.content, "document.source.content[].", parts);
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, text ? SR_TR_TEXT : image ? SR_TR_IMAGE : SR_TR_FILE);
    if (!part)
        return SR_ENOMEM;
    part->text = text ? source.data : source.url;
    part->data = text ? (sr_json_view){0} : source.data;
    part->media_type = source.media_type;
    part->id = source.file_id;
    part->name = raw->title;
    part->cache = raw->cache_control;
    if (!part->text.p && !part->data.p && !part->id.p)
        return sr_tr_wrong(tr, "an image or a document has no source");
    return SR_OK;
}

static int read_text(struct sr_tr *tr, const struct raw_block *raw, enum sr_tr_kind kind,
                     struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, kind);
    if (!part)
        return SR_ENOMEM;
    part->text = kind == SR_TR_TEXT ? raw->text : raw->thinking;
    part->signature = raw->signature.p ? raw->signature : raw->data;
    part->cache = raw->cache_control;
    if (kind == SR_TR_TEXT)
        sr_tr_lost_filled(tr, raw->citations, "messages[].content[].citations");
    if (kind == SR_TR_REASONING && sr_tr_is_empty(part->text))
        part->text = (sr_json_view){0};
    if (sr_tr_is_empty(part->signature))
        part->signature = (sr_json_view){0};
    bool ok = sr_json_view_is_string(part->text) || kind == SR_TR_REASONING;
    return ok ? SR_OK : sr_tr_wrong(tr, "a block has no text where its type says one");
}

static int read_call(struct sr_tr *tr, const struct raw_block *raw, struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_CALL);
    if (!part)
        return SR_ENOMEM;
    part->id = raw->id;
    part->name = raw->name;
    part->arguments = raw->input;
    part->cache = raw->cache_control;
    if (raw->caller.p && !sr_json_view_eq(sr_json_view_get(raw->caller, "type"), "direct"))
        sr_tr_warn(tr, "messages[].content[].caller", SR_LIT(""));
    return sr_json_view_is_string(raw->id) && sr_json_view_is_string(raw->name)
               ? SR_OK
               : sr_tr_wrong(tr, "a `tool_use` has no id or no name");
}

/* What a search found is its title, where it is from, and its texts. */
static int read_found(struct sr_tr *tr, const struct raw_block *raw, struct sr_tr_parts *parts)
{
    bool titled = sr_json_view_is_string(raw->title), from = sr_json_view_is_string(raw->source);
    sr_tr_warn(tr, "search_result", SR_LIT(""));
    if (titled || from) {
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_TEXT);
        if (!part)
            return SR_ENOMEM;
        part->text = sr_tr_join(tr, sr_tr_inner(raw->title), titled && from ? SR_LIT("\\n") : SR_LIT(""),
                                sr_tr_inner(raw->source));
        if (!part->text.p)
            return SR_ENOMEM;
    }
    return read_simple(tr, raw->content, "search_result.content[].", parts);
}

/* Blocks of text and media, as they stand in messages, results and `system`. */
static int read_simple(struct sr_tr *tr, sr_json_view content, const char *where, struct sr_tr_parts *parts)
{
    static const char *const words[] = {"text", "image", "document", "search_result", NULL};
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
    while (!rc && sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &value)) {
        struct raw_block raw = {0};
        int word = sr_tr_word(sr_json_view_get(value, "type"), words);
        if (word < 0) {
            sr_tr_warn(tr, where, sr_tr_inner(sr_json_view_get(value, "type")));
            continue;
        }
        sr_tr_fields(tr, where, value, block_fields, SR_TR_COUNT(block_fields), &raw);
        rc = word == 0   ? read_text(tr, &raw, SR_TR_TEXT, parts)
             : word == 3 ? read_found(tr, &raw, parts)
                         : read_media(tr, &raw, word == 1, parts);
    }
    return rc;
}

static int read_result(struct sr_tr *tr, const struct raw_block *raw, struct sr_tr_request *out)
{
    struct sr_tr_turn *turn = out->last_turn;
    struct sr_tr_parts inside = {0};
    if (!turn || turn->role != SR_TR_TOOL)
        turn = sr_tr_turn_new(tr, out, SR_TR_TOOL);
    struct sr_tr_part *part = turn ? sr_tr_part_new(tr, &turn->parts, SR_TR_RESULT) : NULL;
    if (!part)
        return SR_ENOMEM;
    part->id = raw->tool_use_id;
    part->is_error = sr_json_view_bool(raw->is_error, false);
    part->cache = raw->cache_control;
    int rc = read_simple(tr, raw->content, "messages[].content[].content[].", &inside);
    part->inside = inside.first;
    if (!rc && !sr_json_view_is_string(part->id))
        rc = sr_tr_wrong(tr, "a `tool_result` has no `tool_use_id`");
    return rc;
}

/* The turn that takes the next block of a message: results of tools are turns of their own. */
static struct sr_tr_turn *turn_of(struct sr_tr *tr, struct sr_tr_request *out, enum sr_tr_role role,
                                  struct sr_tr_turn *last)
{
    return last && last == out->last_turn && last->role == role ? last : sr_tr_turn_new(tr, out, role);
}

static int read_block(struct sr_tr *tr, sr_json_view value, enum sr_tr_role role, struct sr_tr_turn **last,
                      struct sr_tr_request *out)
{
    static const char *const words[] = {"text",     "thinking",    "redacted_thinking", "image", "document",
                                        "tool_use", "tool_result", "search_result",     NULL};
    struct raw_block raw = {0};
    int word = sr_tr_word(sr_json_view_get(value, "type"), words);
    if (word < 0) {
        sr_tr_warn(tr, "messages[].content[].", sr_tr_inner(sr_json_view_get(value, "type")));
        return SR_OK;
    }
    sr_tr_fields(tr, "messages[].content[].", value, block_fields, SR_TR_COUNT(block_fields), &raw);
    if (word == 6)
        return read_result(tr, &raw, out);
    struct sr_tr_turn *turn = turn_of(tr, out, role, *last);
    if (!turn)
        return SR_ENOMEM;
    *last = turn;
    if (word == 0)
        return read_text(tr, &raw, SR_TR_TEXT, &turn->parts);
    if (word <= 2)
        return read_text(tr, &raw, SR_TR_REASONING, &turn->parts);
    if (word == 7)
        return read_found(tr, &raw, &turn->parts);
    return word == 5 ? read_call(tr, &raw, &turn->parts) : read_media(tr, &raw, word == 3, &turn->parts);
}

int sr_tr_messages_read_blocks(struct sr_tr *tr, sr_json_view content, struct sr_tr_parts *parts)
{
    struct sr_tr_request all = {.turns = NULL};
    struct sr_tr_turn *last = NULL;
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    while (!rc && sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &value))
        rc = read_block(tr, value, SR_TR_ASSISTANT, &last, &all);
    *parts = last ? last->parts : (struct sr_tr_parts){0};
    return rc;
}

static int read_message(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"user", "assistant", "system", NULL};
    static const enum sr_tr_role roles[] = {SR_TR_USER, SR_TR_ASSISTANT, SR_TR_SYSTEM};
    struct {
        sr_json_view role, content;
    } raw = {0};
    static const struct sr_tr_field fields[] = {{"role", 0}, {"content", sizeof(sr_json_view)}};
    struct sr_tr_turn *last = NULL;
    size_t at = 0;
    int rc = SR_OK;
    sr_tr_fields(tr, "messages[].", value, fields, SR_TR_COUNT(fields), &raw);
    int word = sr_tr_word(raw.role, words);
    if (word < 0)
        return sr_tr_wrong(tr, "a message has no role, or one that is not known");
    if (!sr_json_view_is_array(raw.content)) {
        last = sr_tr_turn_new(tr, out, roles[word]);
        if (!last)
            return SR_ENOMEM;
        return sr_json_view_is_string(raw.content)
                   ? read_simple(tr, raw.content, "", &last->parts)
                   : sr_tr_wrong(tr, "`content` must be a string or a list of blocks");
    }
    while (!rc && sr_json_view_next(raw.content, &at, NULL, &value))
        rc = read_block(tr, value, roles[word], &last, out);
    return rc;
}

/* ---- tools ---- */

struct raw_tool {
    sr_json_view type, name, description, input_schema, cache_control, strict;
};

#define T(member) SR_TR_FIELD(struct raw_tool, member)

static const struct sr_tr_field tool_fields[] = {T(type),         T(name),          T(description),
                                                 T(input_schema), T(cache_control), T(strict)};

#undef T

static int read_tool(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    struct raw_tool raw = {0};
    bool own =
        !sr_json_view_get(value, "type").p || sr_json_view_eq(sr_json_view_get(value, "type"), "custom");
    if (!own) {
        sr_tr_warn(tr, "tools[].", sr_tr_inner(sr_json_view_get(value, "type")));
        return SR_OK;
    }
    sr_tr_fields(tr, "tools[].", value, tool_fields, SR_TR_COUNT(tool_fields), &raw);
    struct sr_tr_tool *tool = sr_tr_tool_new(tr, out);
    if (!tool)
        return SR_ENOMEM;
    tool->name = raw.name;
    tool->description = raw.description;
    tool->parameters = raw.input_schema;
    tool->strict = raw.strict;
    tool->cache = raw.cache_control;
    return sr_json_view_is_string(raw.name) ? SR_OK : sr_tr_wrong(tr, "a tool has no name");
}

static void read_choice(struct sr_tr *tr, sr_json_view value, struct sr_tr_request *out)
{
    static const char *const words[] = {"auto", "none", "any", "tool", NULL};
    int word = sr_tr_word(sr_json_view_get(value, "type"), words);
    sr_json_view alone = sr_json_view_get(value, "disable_parallel_tool_use");
    if (!value.p)
        return;
    if (word < 0)
        sr_tr_warn(tr, "tool_choice", SR_LIT(""));
    else
        out->choice = (enum sr_tr_choice)(SR_TR_CHOICE_AUTO + word);
    out->choice_name = sr_json_view_get(value, "name");
    if (alone.p)
        out->parallel = sr_json_view_bool(alone, false) ? SR_LIT("false") : SR_LIT("true");
}

/* ---- the request ---- */

struct raw_request {
    sr_json_view messages, system, metadata, stop_sequences, tools, tool_choice, thinking, output_config;
    sr_json_view output_format, service_tier;
    struct sr_tr_request r;
};

#define R(member) SR_TR_FIELD(struct raw_request, member)
#define Q(member)                                                                                            \
    {                                                                                                        \
#member, offsetof(struct raw_request, r.member)                                                      \
    }

static const struct sr_tr_field fields[] = {
    Q(model),    R(messages),      R(system),        Q(max_tokens),   R(metadata), R(stop_sequences),
    Q(stream),   Q(temperature),   Q(top_k),         Q(top_p),        R(tools),    R(tool_choice),
    R(thinking), R(output_config), R(output_format), R(service_tier),
};

#undef R
#undef Q

static void read_thinking(struct sr_tr *tr, const struct raw_request *raw, struct sr_tr_request *out)
{
    static const char *const words[] = {"disabled", "enabled", "adaptive", NULL};
    int word = sr_tr_word(sr_json_view_get(raw->thinking, "type"), words);
    static const char *const known[] = {"type", "budget_tokens", "display", NULL};
    sr_json_view effort = sr_json_view_get(raw->output_config, "effort");
    sr_json_view shown = sr_json_view_get(raw->thinking, "display");
    sr_tr_lost_members(tr, "thinking.", raw->thinking, known);
    if (!sr_json_view_is_null(shown) && !sr_json_view_eq(shown, "summarized"))
        sr_tr_warn(tr, "thinking.display.", sr_tr_inner(shown));
    if (word > 0)
        out->summary = SR_TR_STRING("auto");
    if (word >= 0)
        out->thinking = word ? SR_TR_THINKING_ON : SR_TR_THINKING_OFF;
    else
        sr_tr_lost(tr, raw->thinking, "thinking");
    (void)sr_json_view_int(sr_json_view_get(raw->thinking, "budget_tokens"), &out->budget);
    if (sr_json_view_is_string(effort))
        out->effort = effort;
    else if (out->budget > 0) {
        sr_tr_warn(tr, "thinking.budget_tokens", SR_LIT(""));
        out->effort = sr_tr_messages_effort(out->budget);
    }
    if (effort.p && !out->thinking)
        out->thinking = SR_TR_THINKING_ON;
}

static void read_format(struct sr_tr *tr, const struct raw_request *raw, struct sr_tr_request *out)
{
    sr_json_view format = sr_json_view_get(raw->output_config, "format");
    if (!format.p)
        format = raw->output_format;
    if (sr_json_view_is_null(format))
        return;
    static const char *const known[] = {"type", "schema", NULL};
    sr_tr_lost_members(tr, "output_config.format.", format, known);
    if (!sr_json_view_eq(sr_json_view_get(format, "type"), "json_schema")) {
        sr_tr_warn(tr, "output_config.format", SR_LIT(""));
        return;
    }
    out->format = SR_TR_FORMAT_SCHEMA;
    out->schema = sr_json_view_get(format, "schema");
    out->format_strict = SR_LIT("true");
}

static int read_rest(struct sr_tr *tr, const struct raw_request *raw, struct sr_tr_request *out)
{
    static const struct sr_tr_field of_metadata[] = {{"user_id", 0}},
                                    of_config[] = {{"effort", 0}, {"format", 0}};
    sr_json_view unused = {0};
    sr_tr_fields(tr, "metadata.", raw->metadata, of_metadata, 1, &out->user);
    sr_tr_fields(tr, "output_config.", raw->output_config, of_config, 2, &unused);
    out->stop = raw->stop_sequences;
    if (sr_json_view_eq(raw->service_tier, "standard_only"))
        out->service_tier = SR_TR_STRING("default");
    else
        out->service_tier = raw->service_tier;
    read_thinking(tr, raw, out);
    read_format(tr, raw, out);
    read_choice(tr, raw->tool_choice, out);
    if (!raw->system.p || (sr_json_view_is_string(raw->system) && sr_tr_is_empty(raw->system)))
        return SR_OK;
    struct sr_tr_turn *turn = sr_tr_turn_new(tr, out, SR_TR_SYSTEM);
    if (!turn)
        return SR_ENOMEM;
    return read_simple(tr, raw->system, "system[].", &turn->parts);
}

int sr_tr_messages_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out)
{
    struct raw_request raw = {.r = {.model = {NULL, 0}}};
    sr_json_view value;
    size_t at = 0;
    sr_tr_fields(tr, "", root, fields, SR_TR_COUNT(fields), &raw);
    *out = raw.r;
    if (!sr_json_view_is_array(raw.messages))
        return sr_tr_wrong(tr, "`messages` must be a list");
    int rc = read_rest(tr, &raw, out);
    while (!rc && sr_json_view_next(raw.messages, &at, NULL, &value))
        rc = read_message(tr, value, out);
    at = 0;
    if (sr_json_view_is_array(raw.tools))
        while (!rc && sr_json_view_next(raw.tools, &at, NULL, &value))
            rc = read_tool(tr, value, out);
    return rc;
}
