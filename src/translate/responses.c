/* Answers of Responses: the response around the output, its items, its usage. */
#include "translate/responses.h"

#include "translate/api.h"

#include <stdio.h>

/* ---- usage ---- */

void sr_tr_responses_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_usage *usage)
{
    static const char *const known[] = {"input_tokens",
                                        "output_tokens",
                                        "input_tokens_details",
                                        "output_tokens_details",
                                        "total_tokens",
                                        "cache_creation_input_tokens",
                                        NULL};
    static const char *const of_input[] = {"cached_tokens", "cache_write_tokens", NULL};
    static const char *const of_output[] = {"reasoning_tokens", NULL};
    if (!sr_json_view_is_object(value))
        return;
    sr_json_view in = sr_json_view_get(value, "input_tokens_details");
    sr_json_view out = sr_json_view_get(value, "output_tokens_details");
    sr_tr_lost_members(tr, "usage.", value, known);
    sr_tr_lost_members(tr, "usage.input_tokens_details.", in, of_input);
    sr_tr_lost_members(tr, "usage.output_tokens_details.", out, of_output);
    (void)sr_json_view_int(sr_json_view_get(value, "input_tokens"), &usage->input);
    (void)sr_json_view_int(sr_json_view_get(value, "output_tokens"), &usage->output);
    (void)sr_json_view_int(sr_json_view_get(in, "cached_tokens"), &usage->cached);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_creation_input_tokens"), &usage->cache_write);
    (void)sr_json_view_int(sr_json_view_get(in, "cache_write_tokens"), &usage->cache_write);
    (void)sr_json_view_int(sr_json_view_get(out, "reasoning_tokens"), &usage->reasoning);
    usage->seen = true;
}

static void write_usage(const struct sr_tr_usage *usage, struct sr_json_writer *w)
{
    sr_json_object(w, "usage");
    sr_json_int(w, "input_tokens", usage->input);
    sr_json_object(w, "input_tokens_details");
    sr_json_int(w, "cached_tokens", usage->cached);
    sr_json_int(w, "cache_write_tokens", usage->cache_write);
    sr_json_object_end(w);
    sr_json_int(w, "output_tokens", usage->output);
    sr_json_object(w, "output_tokens_details");
    sr_json_int(w, "reasoning_tokens", usage->reasoning);
    sr_json_object_end(w);
    sr_json_int(w, "total_tokens", usage->input + usage->output);
    if (usage->cache_write)
        sr_json_int(w, "cache_creation_input_tokens", usage->cache_write);
    sr_json_object_end(w);
}

/* ---- reading ---- */

#define H(member) SR_TR_FIELD(struct sr_tr_responses_head, member)

static const struct sr_tr_field head_fields[] = {
    H(id),
    H(model),
    H(created_at),
    H(status),
    H(incomplete_details),
    H(service_tier),
    H(usage),
    H(output),
    H(error),
    SR_TR_IGNORE("object"),
    SR_TR_IGNORE("completed_at"),
    SR_TR_IGNORE("output_text"),
    /* of the request */
    SR_TR_IGNORE("access_programs"),
    SR_TR_IGNORE("background"),
    SR_TR_IGNORE("background_options"),
    SR_TR_IGNORE("context_management"),
    SR_TR_IGNORE("conversation"),
    SR_TR_IGNORE("frequency_penalty"),
    SR_TR_IGNORE("image"),
    SR_TR_IGNORE("instructions"),
    SR_TR_IGNORE("max_output_tokens"),
    SR_TR_IGNORE("max_tool_calls"),
    SR_TR_IGNORE("metadata"),
    SR_TR_IGNORE("parallel_tool_calls"),
    SR_TR_IGNORE("presence_penalty"),
    SR_TR_IGNORE("previous_response_id"),
    SR_TR_IGNORE("prompt"),
    SR_TR_IGNORE("prompt_cache_key"),
    SR_TR_IGNORE("prompt_cache_options"),
    SR_TR_IGNORE("prompt_cache_retention"),
    SR_TR_IGNORE("reasoning"),
    SR_TR_IGNORE("safety_identifier"),
    SR_TR_IGNORE("store"),
    SR_TR_IGNORE("temperature"),
    SR_TR_IGNORE("text"),
    SR_TR_IGNORE("tool_choice"),
    SR_TR_IGNORE("tools"),
    SR_TR_IGNORE("top_logprobs"),
    SR_TR_IGNORE("top_p"),
    SR_TR_IGNORE("truncation"),
    SR_TR_IGNORE("user"),
};

#undef H

void sr_tr_responses_read_head(struct sr_tr *tr, sr_json_view root, struct sr_tr_responses_head *head)
{
    sr_tr_fields(tr, "", root, head_fields, SR_TR_COUNT(head_fields), head);
}

void sr_tr_responses_take_head(const struct sr_tr_responses_head *head, struct sr_tr_answer *out)
{
    out->id = head->id;
    out->model = head->model;
    if (sr_json_view_is_string(head->service_tier))
        out->service_tier = head->service_tier;
    (void)sr_json_view_int(head->created_at, &out->created);
}

enum sr_tr_stop sr_tr_responses_stop(struct sr_tr *tr, const struct sr_tr_responses_head *head)
{
    sr_json_view reason = sr_json_view_get(head->incomplete_details, "reason");
    if (sr_json_view_eq(head->status, "incomplete")) {
        bool filter = sr_json_view_eq(reason, "content_filter");
        if (!filter && !sr_json_view_eq(reason, "max_output_tokens"))
            sr_tr_warn(tr, "incomplete_details.reason.", sr_tr_inner(reason));
        return filter ? SR_TR_STOP_FILTER : SR_TR_STOP_LENGTH;
    }
    return SR_TR_STOP_END;
}

bool sr_tr_responses_known_item(struct sr_tr *tr, sr_json_view item)
{
    static const char *const words[] = {"message", "function_call", "custom_tool_call", "reasoning", NULL};
    static const char *const known[] = {
        "type", "id",        "status", "role",    "content",           "call_id",
        "name", "arguments", "input",  "summary", "encrypted_content", "caller",
        NULL};
    sr_json_view type = sr_json_view_get(item, "type"), caller = sr_json_view_get(item, "caller");
    if (sr_tr_word(type, words) < 0) {
        sr_tr_warn(tr, "output[].", sr_tr_inner(type));
        return false;
    }
    sr_tr_lost_members(tr, "output[].", item, known);
    if (!sr_json_view_is_null(caller) && !sr_json_view_eq(sr_json_view_get(caller, "type"), "direct"))
        sr_tr_warn(tr, "output[].caller", SR_LIT(""));
    return true;
}

bool sr_tr_responses_known_part(struct sr_tr *tr, sr_json_view part)
{
    static const char *const words[] = {"output_text", "refusal", NULL};
    static const char *const known[] = {"type", "text", "refusal", "annotations", "logprobs", NULL};
    sr_json_view type = sr_json_view_get(part, "type");
    if (sr_tr_word(type, words) < 0) {
        sr_tr_warn(tr, "output[].content[].", sr_tr_inner(type));
        return false;
    }
    sr_tr_lost_members(tr, "output[].content[].", part, known);
    sr_tr_lost_filled(tr, sr_json_view_get(part, "annotations"), "output[].content[].annotations");
    sr_tr_lost_filled(tr, sr_json_view_get(part, "logprobs"), "output[].content[].logprobs");
    return true;
}

static int read_said(struct sr_tr *tr, sr_json_view content, struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    while (sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &value)) {
        bool refusal = sr_json_view_eq(sr_json_view_get(value, "type"), "refusal");
        if (!sr_tr_responses_known_part(tr, value))
            continue;
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, refusal ? SR_TR_REFUSAL : SR_TR_TEXT);
        if (!part)
            return SR_ENOMEM;
        part->text = sr_json_view_get(value, refusal ? "refusal" : "text");
        if (!sr_json_view_is_string(part->text))
            return sr_tr_wrong(tr, "the upstream's answer has a message without text");
    }
    return SR_OK;
}

static int read_output(struct sr_tr *tr, sr_json_view item, struct sr_tr_answer *out)
{
    static const char *const words[] = {"message", "function_call", "custom_tool_call", "reasoning", NULL};
    int word = sr_tr_word(sr_json_view_get(item, "type"), words);
    if (!sr_tr_responses_known_item(tr, item))
        return SR_OK;
    if (word == 0)
        return read_said(tr, sr_json_view_get(item, "content"), &out->parts);
    struct sr_tr_part *part = sr_tr_part_new(tr, &out->parts, word == 3 ? SR_TR_REASONING : SR_TR_CALL);
    if (!part)
        return SR_ENOMEM;
    if (word == 3) {
        sr_json_view encrypted = sr_json_view_get(item, "encrypted_content");
        part->id = sr_json_view_get(item, "id");
        part->signature = sr_json_view_is_string(encrypted) ? encrypted : (sr_json_view){0};
        return sr_tr_responses_read_reasoning(tr, sr_json_view_get(item, "summary"),
                                              sr_json_view_get(item, "content"), &part->text);
    }
    part->custom = word == 2;
    part->id = sr_json_view_get(item, "call_id");
    part->name = sr_json_view_get(item, "name");
    part->arguments = sr_json_view_get(item, part->custom ? "input" : "arguments");
    return sr_json_view_is_string(part->id) && sr_json_view_is_string(part->name)
               ? SR_OK
               : sr_tr_wrong(tr, "the upstream's answer has a call without id or name");
}

int sr_tr_responses_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out)
{
    static const char *const failures[] = {"failed", "cancelled", "queued", "in_progress", NULL};
    struct sr_tr_responses_head head = {.id = {NULL, 0}};
    sr_json_view item;
    size_t at = 0;
    int rc = SR_OK;
    sr_tr_responses_read_head(tr, root, &head);
    if (!sr_json_view_is_array(head.output))
        return sr_tr_wrong(tr, "the upstream's answer is no response");
    if (sr_tr_word(head.status, failures) >= 0)
        return sr_tr_wrong(tr, "the upstream's response failed");
    sr_tr_responses_take_head(&head, out);
    sr_tr_responses_read_usage(tr, head.usage, &out->usage);
    while (!rc && sr_json_view_next(head.output, &at, NULL, &item))
        rc = read_output(tr, item, out);
    out->stop = sr_tr_responses_stop(tr, &head);
    return rc;
}

/* ---- writing ---- */

/* What a response repeats of its request, and what stands there when the request does not have it. */
static const struct {
    const char *name, *otherwise;
} echoes[] = {
    {"instructions", "null"},
    {"max_output_tokens", "null"},
    {"max_tool_calls", NULL},
    {"metadata", "{}"},
    {"parallel_tool_calls", "true"},
    {"previous_response_id", "null"},
    {"prompt_cache_key", NULL},
    {"reasoning", "{\"effort\":null,\"summary\":null}"},
    {"safety_identifier", NULL},
    {"store", "true"},
    {"temperature", "1.0"},
    {"text", "{\"format\":{\"type\":\"text\"}}"},
    {"tool_choice", "\"auto\""},
    {"tools", "[]"},
    {"top_p", "1.0"},
    {"truncation", "\"disabled\""},
    {"user", "null"},
};

static void write_echo(sr_json_view request, struct sr_json_writer *w)
{
    sr_json_view found[SR_TR_COUNT(echoes)] = {{0}}, key, value;
    size_t at = 0;
    while (sr_json_view_is_object(request) && sr_json_view_next(request, &at, &key, &value))
        for (size_t i = 0; i < SR_TR_COUNT(echoes); i++)
            if (!sr_json_view_is_null(value) && sr_json_view_eq(key, echoes[i].name))
                found[i] = value;
    for (size_t i = 0; i < SR_TR_COUNT(echoes); i++)
        if (found[i].p)
            sr_json_raw(w, echoes[i].name, found[i]);
        else if (echoes[i].otherwise)
            sr_json_raw(w, echoes[i].name, sr_bytes_str(echoes[i].otherwise));
}

bool sr_tr_responses_is_cut(enum sr_tr_stop stop)
{
    return stop == SR_TR_STOP_LENGTH || stop == SR_TR_STOP_FILTER || stop == SR_TR_STOP_CONTEXT;
}

static const char *status_of(const struct sr_tr_answer *answer, enum sr_tr_status status)
{
    return status == SR_TR_STATUS_IN_PROGRESS     ? "in_progress"
           : sr_tr_responses_is_cut(answer->stop) ? "incomplete"
                                                  : "completed";
}

int sr_tr_responses_write_head(struct sr_tr *tr, const struct sr_tr_answer *answer, enum sr_tr_status status,
                               sr_json_view echo, struct sr_json_writer *w)
{
    sr_json_view id = sr_tr_id(tr, answer->id, "resp_");
    const char *word = status_of(answer, status);
    if (!id.p)
        return SR_ENOMEM;
    sr_tr_put(w, "id", id);
    sr_json_text(w, "object", "response");
    sr_json_int(w, "created_at", answer->created ? answer->created : (int64_t)tr->settings->now_s);
    sr_json_text(w, "status", word);
    sr_json_raw(w, "background", SR_LIT("false"));
    sr_json_null(w, "error");
    if (strcmp(word, "incomplete") == 0) {
        sr_json_object(w, "incomplete_details");
        sr_json_text(w, "reason", answer->stop == SR_TR_STOP_FILTER ? "content_filter" : "max_output_tokens");
        sr_json_object_end(w);
    } else {
        sr_json_null(w, "incomplete_details");
    }
    sr_tr_put(w, "model", answer->model.p ? answer->model : SR_TR_STRING(""));
    write_echo(echo, w);
    sr_tr_put(w, "service_tier", answer->service_tier);
    return SR_OK;
}

void sr_tr_responses_write_tail(const struct sr_tr_answer *answer, enum sr_tr_status status,
                                struct sr_json_writer *w)
{
    if (status == SR_TR_STATUS_ENDED && answer->usage.seen)
        write_usage(&answer->usage, w);
    else
        sr_json_null(w, "usage");
}

/* What follows "rs_" in the id of an item that is made: it says which API gave the reasoning. */
#define CHAT    "chatcmpl-"
#define MESSAGE "msg_"

bool sr_tr_responses_made_id(struct sr_bytes id)
{
    return sr_bytes_starts_with(id, SR_LIT("rs_" CHAT)) || sr_bytes_starts_with(id, SR_LIT("rs_" MESSAGE));
}

sr_json_view sr_tr_responses_item_id(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                                     uint32_t number)
{
    char tail[16];
    struct sr_bytes inner = sr_tr_inner(response), prefix = SR_LIT("resp_");
    int n = snprintf(tail, sizeof tail, "_%u", number);
    if (part->kind == SR_TR_REASONING && part->id.p)
        return part->id;
    if (part->kind == SR_TR_REASONING) {
        response = sr_tr_id(tr, response, tr->from == SR_TRANSLATE_MESSAGES ? MESSAGE : CHAT);
        inner = sr_tr_inner(response);
    }
    if (!response.p)
        return response;
    if (sr_bytes_starts_with(inner, prefix))
        inner = sr_bytes_of(inner.p + prefix.n, inner.n - prefix.n);
    struct sr_bytes head = part->kind == SR_TR_REASONING              ? SR_LIT("rs_")
                           : part->kind == SR_TR_CALL && part->custom ? SR_LIT("ctc_")
                           : part->kind == SR_TR_CALL                 ? SR_LIT("fc_")
                                                                      : SR_LIT("msg_");
    return sr_tr_join(tr, head, inner, sr_bytes_of(tail, (size_t)n));
}

static void write_said(const struct sr_tr_part *part, bool ended, struct sr_json_writer *w)
{
    bool refusal = part->kind == SR_TR_REFUSAL;
    sr_json_text(w, "role", "assistant");
    sr_json_array(w, "content");
    if (ended) {
        sr_json_object(w, NULL);
        sr_json_text(w, "type", refusal ? "refusal" : "output_text");
        if (!refusal)
            sr_json_raw(w, "annotations", SR_LIT("[]"));
        if (!refusal)
            sr_json_raw(w, "logprobs", SR_LIT("[]"));
        sr_tr_put(w, refusal ? "refusal" : "text", part->text);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void write_reasoning(const struct sr_tr_part *part, bool ended, struct sr_json_writer *w)
{
    sr_json_array(w, "summary");
    if (ended && part->text.p && !sr_tr_is_empty(part->text)) {
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "summary_text");
        sr_tr_put(w, "text", part->text);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
    if (ended)
        sr_tr_put(w, "encrypted_content", part->signature);
}

int sr_tr_responses_write_item(struct sr_tr *tr, const struct sr_tr_part *part, sr_json_view response,
                               uint32_t number, enum sr_tr_item state, struct sr_json_writer *w)
{
    static const char *const words[] = {"in_progress", "completed", "incomplete"};
    bool ended = state != SR_TR_ITEM_BEGINS;
    sr_json_view id = sr_tr_responses_item_id(tr, part, response, number), arguments = SR_TR_STRING("");
    bool call = part->kind == SR_TR_CALL, said = part->kind == SR_TR_TEXT || part->kind == SR_TR_REFUSAL;
    if (part->kind > SR_TR_CALL) {
        sr_tr_warn(tr, "content[]", SR_LIT(""));
        return SR_OK;
    }
    if (call && ended)
        arguments = sr_tr_arguments_string(tr, part);
    if (!id.p || !arguments.p)
        return SR_ENOMEM;
    sr_json_object(w, NULL);
    sr_tr_put(w, "id", id);
    sr_json_text(w, "type",
                 said           ? "message"
                 : !call        ? "reasoning"
                 : part->custom ? "custom_tool_call"
                                : "function_call");
    if (call || said)
        sr_json_text(w, "status", words[state]);
    if (call) {
        sr_tr_put(w, part->custom ? "input" : "arguments", arguments);
        sr_tr_put(w, "call_id", part->id);
        sr_tr_put(w, "name", part->name);
    } else if (said) {
        write_said(part, ended, w);
    } else {
        write_reasoning(part, ended, w);
    }
    sr_json_object_end(w);
    return SR_OK;
}

void sr_tr_responses_name_lost(struct sr_tr *tr, const struct sr_tr_answer *answer)
{
    sr_tr_lost(tr, answer->stop_sequence, "stop_sequence");
}

int sr_tr_responses_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer,
                                 struct sr_json_writer *w)
{
    sr_json_view echo = {0};
    uint32_t number = 0;
    if (tr->settings->asked.n && sr_json_view_open(&echo, tr->settings->asked, NULL))
        echo = (sr_json_view){0};
    sr_json_object(w, NULL);
    int rc = sr_tr_responses_write_head(tr, answer, SR_TR_STATUS_ENDED, echo, w);
    sr_json_array(w, "output");
    for (const struct sr_tr_part *p = answer->parts.first; p && !rc; p = p->next)
        rc = sr_tr_responses_write_item(
            tr, p, answer->id, number++,
            !p->next && sr_tr_responses_is_cut(answer->stop) ? SR_TR_ITEM_CUT : SR_TR_ITEM_ENDED, w);
    sr_json_array_end(w);
    sr_tr_responses_write_tail(answer, SR_TR_STATUS_ENDED, w);
    sr_json_object_end(w);
    return rc;
}
