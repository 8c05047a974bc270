/* Requests of Responses, written from the model: each turn becomes its items. */
#include "translate/api.h"
#include "translate/responses.h"
#include "translate/tools.h"

/* ---- parts ---- */

static int write_media(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view url = sr_tr_media_url(tr, part);
    bool bytes = url.p && sr_bytes_starts_with(sr_tr_inner(url), SR_LIT("data:"));
    sr_json_object(w, NULL);
    if (part->kind == SR_TR_IMAGE) {
        sr_json_text(w, "type", "input_image");
        sr_tr_put(w, "image_url", url);
        sr_tr_put(w, "detail", part->detail.p ? part->detail : SR_TR_STRING("auto"));
    } else {
        sr_json_text(w, "type", "input_file");
        sr_tr_put(w, "filename", part->name.p || !bytes ? part->name : SR_TR_STRING("file"));
        sr_tr_put(w, bytes ? "file_data" : "file_url", url);
    }
    if (!url.p)
        sr_tr_put(w, "file_id", part->id);
    sr_json_object_end(w);
    return SR_OK;
}

static int write_part(struct sr_tr *tr, const struct sr_tr_part *part, bool output, struct sr_json_writer *w)
{
    sr_tr_lost(tr, part->cache, "cache_control");
    switch (part->kind) {
    case SR_TR_TEXT:
        sr_json_object(w, NULL);
        sr_json_text(w, "type", output ? "output_text" : "input_text");
        sr_tr_put(w, "text", part->text);
        if (output) {
            sr_json_array(w, "annotations");
            sr_json_array_end(w);
        }
        sr_json_object_end(w);
        return SR_OK;
    case SR_TR_REFUSAL:
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "refusal");
        sr_tr_put(w, "refusal", part->text);
        sr_json_object_end(w);
        return SR_OK;
    case SR_TR_IMAGE:
    case SR_TR_FILE:
        return write_media(tr, part, w);
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

/* ---- items ---- */

static int write_message(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    static const char *const roles[] = {"system", "developer", "user", "assistant"};
    const struct sr_tr_part *single = sr_tr_single_text(turn->parts.first);
    int rc = SR_OK;
    sr_tr_lost(tr, turn->name, "messages[].name");
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "message");
    sr_json_text(w, "role", roles[turn->role]);
    if (single) {
        sr_tr_put(w, "content", single->text);
    } else {
        sr_json_array(w, "content");
        for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next)
            rc = write_part(tr, p, false, w);
        sr_json_array_end(w);
    }
    sr_json_object_end(w);
    return rc;
}

static int write_call(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view arguments = sr_tr_arguments_string(tr, part);
    sr_tr_lost(tr, part->cache, "cache_control");
    sr_json_object(w, NULL);
    sr_json_text(w, "type", part->custom ? "custom_tool_call" : "function_call");
    sr_tr_put(w, "call_id", part->id);
    sr_tr_put(w, "name", part->name);
    sr_tr_put(w, part->custom ? "input" : "arguments", arguments);
    sr_json_object_end(w);
    return arguments.p ? SR_OK : SR_ENOMEM;
}

/* An id that stands before the signature ("rs_1~...") came from Responses in a block of Messages. */
static int write_reasoning(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    struct sr_bytes signature = sr_tr_inner(part->signature);
    const char *mark =
        sr_bytes_starts_with(signature, SR_LIT("rs_")) ? memchr(signature.p, '~', signature.n) : NULL;
    sr_json_view id = part->id, content = part->signature;
    if (mark) {
        id = sr_tr_join(tr, sr_bytes_of(signature.p, (size_t)(mark - signature.p)), SR_LIT(""), SR_LIT(""));
        content = sr_tr_join(tr, sr_bytes_of(mark + 1, signature.n - 1 - (size_t)(mark - signature.p)),
                             SR_LIT(""), SR_LIT(""));
        if (!id.p || !content.p)
            return SR_ENOMEM;
    }
    if (!content.p || !id.p) { /* an item that the upstream did not make would be refused */
        sr_tr_warn(tr, "reasoning", SR_LIT(""));
        return SR_OK;
    }
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "reasoning");
    sr_tr_put(w, "id", id);
    sr_json_array(w, "summary");
    if (part->text.p && !sr_tr_is_empty(part->text)) {
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "summary_text");
        sr_tr_put(w, "text", part->text);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_tr_put(w, "encrypted_content", content);
    sr_json_object_end(w);
    return SR_OK;
}

static bool is_said(const struct sr_tr_part *part)
{
    return part && (part->kind == SR_TR_TEXT || part->kind == SR_TR_REFUSAL);
}

/* Texts that follow each other are one message. */
static int write_assistant(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    bool inside = false;
    int rc = SR_OK;
    sr_tr_lost(tr, turn->name, "messages[].name");
    for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next) {
        if (is_said(p) && !inside) {
            sr_json_object(w, NULL);
            sr_json_text(w, "type", "message");
            sr_json_text(w, "role", "assistant");
            sr_json_array(w, "content");
        }
        inside = is_said(p);
        if (inside)
            rc = write_part(tr, p, true, w);
        else if (p->kind == SR_TR_CALL)
            rc = write_call(tr, p, w);
        else if (p->kind == SR_TR_REASONING)
            rc = write_reasoning(tr, p, w);
        else
            sr_tr_warn(tr, "messages[].content[].image", SR_LIT(""));
        if (inside && !is_said(p->next)) {
            sr_json_array_end(w);
            sr_json_object_end(w);
            inside = false;
        }
    }
    return rc;
}

static int write_result(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    const struct sr_tr_part *single = sr_tr_single_text(part->inside);
    int rc = SR_OK;
    if (part->is_error)
        sr_tr_warn(tr, "tool_result.is_error", SR_LIT(""));
    sr_tr_lost(tr, part->cache, "cache_control");
    sr_json_object(w, NULL);
    sr_json_text(w, "type", part->custom ? "custom_tool_call_output" : "function_call_output");
    sr_tr_put(w, "call_id", part->id);
    if (single || !part->inside) {
        sr_tr_put(w, "output", single ? single->text : SR_TR_STRING(""));
    } else {
        sr_json_array(w, "output");
        for (const struct sr_tr_part *p = part->inside; p && !rc; p = p->next)
            rc = write_part(tr, p, false, w);
        sr_json_array_end(w);
    }
    sr_json_object_end(w);
    return rc;
}

static int write_turn(struct sr_tr *tr, const struct sr_tr_turn *turn, struct sr_json_writer *w)
{
    int rc = SR_OK;
    if (turn->role == SR_TR_ASSISTANT)
        return write_assistant(tr, turn, w);
    if (turn->role != SR_TR_TOOL)
        return write_message(tr, turn, w);
    for (const struct sr_tr_part *p = turn->parts.first; p && !rc; p = p->next)
        rc = write_result(tr, p, w);
    return rc;
}

/* ---- tools, formats, reasoning ---- */

static void write_tool_format(const struct sr_tr_tool *tool, struct sr_json_writer *w)
{
    sr_tr_put(w, "format", tool->format);
    if (!tool->definition.p)
        return;
    sr_json_object(w, "format");
    sr_json_text(w, "type", "grammar");
    sr_tr_put(w, "syntax", tool->syntax);
    sr_tr_put(w, "definition", tool->definition);
    sr_json_object_end(w);
}

/* A tool that says nothing about `strict` is not strict in the other APIs, and strict here. */
static void write_tools(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    if (!request->tools)
        return;
    sr_json_array(w, "tools");
    for (const struct sr_tr_tool *tool = request->tools; tool; tool = tool->next) {
        sr_tr_lost(tr, tool->cache, "tools[].cache_control");
        sr_json_object(w, NULL);
        sr_json_text(w, "type", tool->custom ? "custom" : "function");
        sr_tr_put(w, "name", tool->name);
        sr_tr_put(w, "description", tool->description);
        if (tool->custom) {
            write_tool_format(tool, w);
        } else {
            sr_json_raw(w, "parameters",
                        tool->parameters.p ? tool->parameters
                                           : SR_LIT("{\"type\":\"object\",\"properties\":{}}"));
            sr_json_bool(w, "strict", sr_json_view_bool(tool->strict, false));
        }
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void write_allowed(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    sr_json_object(w, "tool_choice");
    sr_json_text(w, "type", "allowed_tools");
    sr_json_text(w, "mode", request->choice == SR_TR_CHOICE_ANY ? "required" : "auto");
    sr_json_array(w, "tools");
    for (const struct sr_tr_tool *tool = sr_tr_tool_allowed(request->tools); tool;
         tool = sr_tr_tool_allowed(tool->next)) {
        sr_json_object(w, NULL);
        sr_json_text(w, "type", tool->custom ? "custom" : "function");
        sr_tr_put(w, "name", tool->name);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void write_choice(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    static const char *const words[] = {NULL, "auto", "none", "required"};
    if (request->choice_some) {
        write_allowed(request, w);
    } else if (request->choice == SR_TR_CHOICE_NAMED) {
        sr_json_object(w, "tool_choice");
        sr_json_text(w, "type", request->choice_custom ? "custom" : "function");
        sr_tr_put(w, "name", request->choice_name);
        sr_json_object_end(w);
    } else if (request->choice) {
        sr_json_text(w, "tool_choice", words[request->choice]);
    }
    sr_tr_put(w, "parallel_tool_calls", request->parallel);
}

static void write_text_options(const struct sr_tr_request *request, struct sr_json_writer *w)
{
    static const char *const words[] = {NULL, "text", "json_object", "json_schema"};
    if (!request->format && !request->verbosity.p)
        return;
    sr_json_object(w, "text");
    if (request->format) {
        sr_json_object(w, "format");
        sr_json_text(w, "type", words[request->format]);
        if (request->format == SR_TR_FORMAT_SCHEMA) {
            sr_tr_put(w, "name", request->format_name.p ? request->format_name : SR_TR_STRING("response"));
            sr_tr_put(w, "description", request->format_description);
            sr_tr_put(w, "schema", request->schema);
            sr_tr_put(w, "strict", request->format_strict);
        }
        sr_json_object_end(w);
    }
    sr_tr_put(w, "verbosity", request->verbosity);
    sr_json_object_end(w);
}

static void write_reasoning_options(const struct sr_tr *tr, const struct sr_tr_request *request,
                                    struct sr_json_writer *w)
{
    bool on = request->thinking == SR_TR_THINKING_ON;
    bool off = request->thinking == SR_TR_THINKING_OFF && request->effort.p;
    if (on || off) {
        sr_json_object(w, "reasoning");
        sr_tr_put(w, "effort", request->effort);
        if (on)
            sr_tr_put(w, "summary", request->summary);
        sr_json_object_end(w);
    }
    if (on && !tr->settings->counts) /* nothing is stored, so reasoning comes back only by its content */
        sr_json_raw(w, "include", SR_LIT("[\"reasoning.encrypted_content\"]"));
}

#define LIMIT_MIN 16 /* the least that the API takes */

static void write_limit(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w)
{
    int64_t limit = 0;
    if (request->max_tokens.p && sr_json_view_int(request->max_tokens, &limit) && limit > 0 &&
        limit < LIMIT_MIN) {
        sr_tr_warn(tr, "max_tokens", SR_LIT(""));
        sr_json_int(w, "max_output_tokens", LIMIT_MIN);
    } else {
        sr_tr_put(w, "max_output_tokens", request->max_tokens);
    }
}

int sr_tr_responses_write_request(struct sr_tr *tr, const struct sr_tr_request *request,
                                  struct sr_json_writer *w)
{
    const struct sr_tr_turn *turn = request->turns;
    int rc = SR_OK;
    sr_tr_lost(tr, request->stop, "stop");
    sr_tr_lost(tr, request->top_k, "top_k");
    sr_json_object(w, NULL);
    sr_tr_put(w, "model", request->model);
    if (turn && turn->role == SR_TR_SYSTEM && sr_tr_single_text(turn->parts.first)) {
        sr_tr_put(w, "instructions", turn->parts.first->text);
        turn = turn->next;
    }
    sr_json_array(w, "input");
    for (; turn && !rc; turn = turn->next)
        rc = write_turn(tr, turn, w);
    sr_json_array_end(w);
    write_limit(tr, request, w);
    sr_tr_put(w, "temperature", request->temperature);
    sr_tr_put(w, "top_p", request->top_p);
    write_tools(tr, request, w);
    write_choice(request, w);
    write_text_options(request, w);
    write_reasoning_options(tr, request, w);
    if (!rc)
        rc = sr_tr_put_user(tr, request->user, w);
    sr_tr_put(w, "safety_identifier", request->safety_identifier);
    sr_tr_put(w, "metadata", request->metadata);
    sr_tr_put(w, "service_tier", request->service_tier);
    sr_tr_put(w, "prompt_cache_key", request->prompt_cache_key);
    sr_tr_put(w, "prompt_cache_retention", request->prompt_cache_retention);
    if (!tr->settings->counts)
        sr_json_bool(w, "store", sr_json_view_bool(request->store, false));
    sr_tr_put(w, "stream", request->stream);
    sr_json_object_end(w);
    return rc;
}
