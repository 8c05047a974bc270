/* Requests of chat completions, written from the model. */
#include "translate/api.h"
#include "translate/chat.h"
#include "translate/tools.h"

/* ---- content ---- */

static int write_image(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view url = sr_tr_media_url(tr, part);
    if (!url.p) {
        sr_tr_warn(tr, "image.file_id", SR_LIT(""));
        return SR_OK;
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "image_url");
    sr_json_object(w, "image_url");
    sr_tr_put(w, "url", url);
    sr_tr_put(w, "detail", part->detail);
    sr_json_object_end(w);
    sr_json_object_end(w);
    return SR_OK;
}

static int write_file(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view url = sr_tr_media_url(tr, part);
    bool bytes = url.p && sr_bytes_starts_with(sr_tr_inner(url), SR_LIT("data:"));
    if (!bytes && !part->id.p) {
        sr_tr_warn(tr, "file_url", SR_LIT(""));
        return SR_OK;
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "file");
    sr_json_object(w, "file");
    if (bytes) {
        sr_tr_put(w, "filename", part->name.p ? part->name : SR_TR_STRING("file"));
        sr_tr_put(w, "file_data", url);
    } else {
        sr_tr_put(w, "file_id", part->id);
    }
    sr_json_object_end(w);
    sr_json_object_end(w);
    return SR_OK;
}

static int write_part(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_tr_lost(tr, part->cache, "cache_control");
    switch (part->kind) {
    case SR_TR_TEXT:
    case SR_TR_REFUSAL:
        sr_json_object(w, NULL);
        sr_json_text(w, "type", part->kind == SR_TR_TEXT ? "text" : "refusal");
        sr_tr_put(w, part->kind == SR_TR_TEXT ? "text" : "refusal", part->text);
        sr_json_object_end(w);
        return SR_OK;
    case SR_TR_IMAGE:
        return write_image(tr, part, w);
    case SR_TR_FILE:
        return write_file(tr, part, w);
    case SR_TR_AUDIO:
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "input_audio");
        sr_json_object(w, "input_audio");
        sr_tr_put(w, "data", part->data);
        sr_tr_put(w, "format", part->media_type);
        sr_json_object_end(w);
        sr_json_object_end(w);
        return SR_OK;
    default:
        return SR_OK;
    }
}

/* The member `content`: a string when all of it is one text. */
static int write_content(struct sr_tr *tr, const struct sr_tr_part *parts, struct sr_json_writer *w)
{
    const struct sr_tr_part *single = sr_tr_single_text(parts);
    int rc = SR_OK;
    if (single) {
        sr_tr_put(w, "content", single->text);
        return SR_OK;
    }
    if (!parts) {
        sr_json_text(w, "content", "");
        return SR_OK;
    }
    sr_json_array(w, "content");
    for (const struct sr_tr_part *p = parts; p && !rc; p = p->next)
        rc = write_part(tr, p, w);
    sr_json_array_end(w);
    return rc;
}

/* ---- messages ---- */

static int write_assistant(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    size_t texts = 0;
    bool calls = false;
    sr_json_view refusal = sr_tr_texts(tr, turn->parts.first, SR_TR_REFUSAL, SR_LIT(""));
    for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next) {
        texts += p->kind == SR_TR_TEXT;
        calls |= p->kind == SR_TR_CALL;
        sr_tr_lost(tr, p->cache, "cache_control");
        if (p->kind > SR_TR_RESULT)
            sr_tr_warn(tr, "messages[].content[].image", SR_LIT(""));
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "role", "assistant");
    sr_tr_put(w, "name", turn->name);
    if (texts > 1) {
        sr_json_array(w, "content");
        for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next)
            if (p->kind == SR_TR_TEXT && write_part(tr, p, w))
                return SR_ENOMEM;
        sr_json_array_end(w);
    } else if (texts) {
        sr_tr_put(w, "content", sr_tr_texts(tr, turn->parts.first, SR_TR_TEXT, SR_LIT("")));
    } else if (calls || refusal.p) {
        sr_json_null(w, "content");
    } else {
        sr_json_text(w, "content", "");
    }
    sr_tr_put(w, "refusal", refusal);
    int rc = sr_tr_chat_write_reasoning(tr, turn->parts.first, w);
    if (!rc)
        rc = sr_tr_chat_write_calls(tr, turn->parts.first, w);
    sr_json_object_end(w);
    return rc;
}

/* One message for each result. What is no text in it follows as a message of the user, because results are
 * texts here. */
static int write_result(struct sr_tr *tr, const struct sr_tr_part *result, struct sr_json_writer *w)
{
    sr_json_view text = sr_tr_texts(tr, result->inside, SR_TR_TEXT, SR_LIT("\\n"));
    if (result->is_error)
        sr_tr_warn(tr, "tool_result.is_error", SR_LIT(""));
    sr_tr_lost(tr, result->cache, "cache_control");
    sr_json_object(w, NULL);
    sr_json_text(w, "role", "tool");
    sr_tr_put(w, "tool_call_id", result->id);
    sr_tr_put(w, "content", text.p ? text : SR_TR_STRING(""));
    sr_json_object_end(w);
    return SR_OK;
}

static int write_media_of_results(struct sr_tr *tr, const struct sr_tr_part *parts, struct sr_json_writer *w)
{
    bool any = false;
    int rc = SR_OK;
    for (const struct sr_tr_part *result = parts; result; result = result->next) {
        for (const struct sr_tr_part *p = result->inside; p && !rc; p = p->next) {
            if (p->kind == SR_TR_TEXT)
                continue;
            if (!any) {
                sr_json_object(w, NULL);
                sr_json_text(w, "role", "user");
                sr_json_array(w, "content");
            }
            any = true;
            rc = write_part(tr, p, w);
        }
    }
    if (any) {
        sr_json_array_end(w);
        sr_json_object_end(w);
    }
    return rc;
}

static int write_turn(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    static const char *const roles[] = {"system", "developer", "user"};
    int rc = SR_OK;
    if (turn->role == SR_TR_ASSISTANT)
        return write_assistant(tr, turn, w);
    if (turn->role == SR_TR_TOOL) {
        for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next)
            rc = write_result(tr, p, w);
        if (!rc && (!turn->next || turn->next->role != SR_TR_TOOL))
            rc = write_media_of_results(tr, turn->parts.first, w);
        return rc;
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "role", roles[turn->role]);
    sr_tr_put(w, "name", turn->name);
    rc = write_content(tr, turn->parts.first, w);
    sr_json_object_end(w);
    return rc;
}

/* ---- tools and formats ---- */

static void write_tool_format(const struct sr_tr_tool *tool, struct sr_json_writer *w)
{
    sr_tr_put(w, "format", tool->format);
    if (!tool->definition.p)
        return;
    sr_json_object(w, "format");
    sr_json_text(w, "type", "grammar");
    sr_json_object(w, "grammar");
    sr_tr_put(w, "syntax", tool->syntax);
    sr_tr_put(w, "definition", tool->definition);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

static void write_tools(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    if (!request->tools)
        return;
    sr_json_array(w, "tools");
    for (const struct sr_tr_tool *tool = request->tools; tool; tool = tool->next) {
        const char *of = tool->custom ? "custom" : "function";
        sr_tr_lost(tr, tool->cache, "tools[].cache_control");
        sr_json_object(w, NULL);
        sr_json_text(w, "type", of);
        sr_json_object(w, of);
        sr_tr_put(w, "name", tool->name);
        sr_tr_put(w, "description", tool->description);
        sr_tr_put(w, "parameters", tool->parameters);
        sr_tr_put(w, "strict", tool->strict);
        write_tool_format(tool, w);
        sr_json_object_end(w);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void write_allowed(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    sr_json_object(w, "tool_choice");
    sr_json_text(w, "type", "allowed_tools");
    sr_json_object(w, "allowed_tools");
    sr_json_text(w, "mode", request->choice == SR_TR_CHOICE_ANY ? "required" : "auto");
    sr_json_array(w, "tools");
    for (const struct sr_tr_tool *tool = sr_tr_tool_allowed(request->tools); tool;
         tool = sr_tr_tool_allowed(tool->next)) {
        sr_json_object(w, NULL);
        sr_json_text(w, "type", tool->custom ? "custom" : "function");
        sr_json_object(w, tool->custom ? "custom" : "function");
        sr_tr_put(w, "name", tool->name);
        sr_json_object_end(w);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
    sr_json_object_end(w);
}

static void write_choice(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    static const char *const words[] = {NULL, "auto", "none", "required"};
    const char *of = request->choice_custom ? "custom" : "function";
    if (request->choice_some) {
        write_allowed(request, w);
    } else if (request->choice == SR_TR_CHOICE_NAMED) {
        sr_json_object(w, "tool_choice");
        sr_json_text(w, "type", of);
        sr_json_object(w, of);
        sr_tr_put(w, "name", request->choice_name);
        sr_json_object_end(w);
        sr_json_object_end(w);
    } else if (request->choice) {
        sr_json_text(w, "tool_choice", words[request->choice]);
    }
    sr_tr_put(w, "parallel_tool_calls", request->parallel);
}

static void write_format(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    static const char *const words[] = {NULL, "text", "json_object", "json_schema"};
    if (!request->format)
        return;
    sr_json_object(w, "response_format");
    sr_json_text(w, "type", words[request->format]);
    if (request->format == SR_TR_FORMAT_SCHEMA) {
        sr_json_object(w, "json_schema");
        sr_tr_put(w, "name", request->format_name.p ? request->format_name : SR_TR_STRING("response"));
        sr_tr_put(w, "description", request->format_description);
        sr_tr_put(w, "schema", request->schema);
        sr_tr_put(w, "strict", request->format_strict);
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
}

/* What a request says beside the conversation and its tools. */
static int write_options(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    sr_tr_put(w, "max_completion_tokens", request->max_tokens);
    sr_tr_put(w, "temperature", request->temperature);
    sr_tr_put(w, "top_p", request->top_p);
    sr_tr_put(w, "top_k", request->top_k);
    sr_tr_put(w, "stop", request->stop);
    write_choice(request, w);
    write_format(request, w);
    if (request->thinking == SR_TR_THINKING_ON)
        sr_tr_put(w, "reasoning_effort", request->effort);
    else if (request->thinking == SR_TR_THINKING_OFF && request->effort.p)
        sr_json_text(w, "reasoning_effort", "none");
    sr_tr_put(w, "verbosity", request->verbosity);
    int rc = sr_tr_put_user(tr, request->user, w);
    sr_tr_put(w, "safety_identifier", request->safety_identifier);
    sr_tr_put(w, "metadata", request->metadata);
    sr_tr_put(w, "service_tier", request->service_tier);
    sr_tr_put(w, "store", request->store);
    sr_tr_put(w, "prompt_cache_key", request->prompt_cache_key);
    sr_tr_put(w, "prompt_cache_retention", request->prompt_cache_retention);
    sr_tr_put(w, "stream", request->stream);
    if (sr_json_view_bool(request->stream, false))
        sr_json_raw(w, "stream_options", SR_LIT("{\"include_usage\":true}"));
    return rc;
}

int sr_tr_chat_write_request(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    int rc = SR_OK;
    if (!sr_json_view_eq(request->summary, "auto")) /* what servers do here anyway */
        sr_tr_lost(tr, request->summary, "reasoning.summary");
    sr_json_object(w, NULL);
    sr_tr_put(w, "model", request->model);
    sr_json_array(w, "messages");
    for (const struct sr_tr_turn *turn = request->turns; turn && !rc; turn = turn->next)
        rc = write_turn(tr, turn, w);
    sr_json_array_end(w);
    write_tools(tr, request, w);
    if (!rc && !tr->settings->counts)
        rc = write_options(tr, request, w);
    sr_json_object_end(w);
    return rc;
}
