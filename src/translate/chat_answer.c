/* Answers of chat completions. */
#include "translate/api.h"
#include "translate/chat.h"
#include "translate/chat_words.h"

struct raw_answer {
    sr_json_view id, model, created, choices, usage, service_tier;
};

#define A(member) SR_TR_FIELD(struct raw_answer, member)

static const struct sr_tr_field fields[] = {
    A(id), A(model), A(created), A(choices), A(usage), A(service_tier), SR_TR_IGNORE("object"),
};

#undef A

struct raw_choice {
    sr_json_view message, finish_reason, stop_reason, logprobs;
};

#define C(member) SR_TR_FIELD(struct raw_choice, member)

static const struct sr_tr_field choice_fields[] = {C(message), C(finish_reason), C(stop_reason), C(logprobs),
                                                   SR_TR_IGNORE("index")};

#undef C

struct raw_message {
    struct sr_tr_chat_message m;
    sr_json_view reasoning_content, annotations;
};

#define M(name, member)                                                                                      \
    {                                                                                                        \
        name, offsetof(struct raw_message, m.member)                                                         \
    }

static const struct sr_tr_field message_fields[] = {
    M("content", content),
    M("refusal", refusal),
    M("tool_calls", tool_calls),
    M("function_call", function_call),
    M("reasoning", reasoning),
    M("reasoning_details", details),
    {"reasoning_content", offsetof(struct raw_message, reasoning_content)},
    {"annotations", offsetof(struct raw_message, annotations)},
    SR_TR_IGNORE("role"),
};

#undef M

/* ---- words ---- */

static const char *const finishes[] = {
    [SR_TR_STOP_NONE] = "stop",     [SR_TR_STOP_END] = "stop",         [SR_TR_STOP_LENGTH] = "length",
    [SR_TR_STOP_SEQUENCE] = "stop", [SR_TR_STOP_CALLS] = "tool_calls", [SR_TR_STOP_FILTER] = "content_filter",
    [SR_TR_STOP_PAUSE] = "stop",    [SR_TR_STOP_CONTEXT] = "length",
};

const char *sr_tr_chat_finish(enum sr_tr_stop stop)
{
    return finishes[stop];
}

enum sr_tr_stop sr_tr_chat_stop(struct sr_tr *tr, sr_json_view finish, sr_json_view sequence)
{
    static const char *const words[] = {"stop",          "length",         "tool_calls",
                                        "function_call", "content_filter", NULL};
    static const enum sr_tr_stop stops[] = {SR_TR_STOP_END, SR_TR_STOP_LENGTH, SR_TR_STOP_CALLS,
                                            SR_TR_STOP_CALLS, SR_TR_STOP_FILTER};
    int word = sr_tr_word(finish, words);
    if (word == 0 && sr_json_view_is_string(sequence))
        return SR_TR_STOP_SEQUENCE;
    if (word >= 0)
        return stops[word];
    if (!sr_json_view_is_string(finish))
        return SR_TR_STOP_NONE;
    sr_tr_warn(tr, "finish_reason.", sr_tr_inner(finish));
    return SR_TR_STOP_END;
}

/* ---- usage ---- */

void sr_tr_chat_read_usage(struct sr_tr *tr, sr_json_view value, struct sr_tr_usage *usage)
{
    static const char *const known[] = {"prompt_tokens",
                                        "completion_tokens",
                                        "total_tokens",
                                        "prompt_tokens_details",
                                        "completion_tokens_details",
                                        "cache_creation_input_tokens",
                                        NULL};
    static const char *const of_prompt[] = {"cached_tokens", "cache_write_tokens", NULL};
    static const char *const of_completion[] = {"reasoning_tokens", NULL};
    if (!sr_json_view_is_object(value))
        return;
    sr_json_view in = sr_json_view_get(value, "prompt_tokens_details");
    sr_json_view out = sr_json_view_get(value, "completion_tokens_details");
    sr_tr_lost_members(tr, "usage.", value, known);
    sr_tr_lost_members(tr, "usage.prompt_tokens_details.", in, of_prompt);
    sr_tr_lost_members(tr, "usage.completion_tokens_details.", out, of_completion);
    (void)sr_json_view_int(sr_json_view_get(value, "prompt_tokens"), &usage->input);
    (void)sr_json_view_int(sr_json_view_get(value, "completion_tokens"), &usage->output);
    (void)sr_json_view_int(sr_json_view_get(in, "cached_tokens"), &usage->cached);
    (void)sr_json_view_int(sr_json_view_get(value, "cache_creation_input_tokens"), &usage->cache_write);
    (void)sr_json_view_int(sr_json_view_get(in, "cache_write_tokens"), &usage->cache_write);
    (void)sr_json_view_int(sr_json_view_get(out, "reasoning_tokens"), &usage->reasoning);
    usage->seen = true;
}

void sr_tr_chat_write_usage(const struct sr_tr_usage *usage, struct sr_json_writer *w)
{
    sr_json_object(w, "usage");
    sr_json_int(w, "prompt_tokens", usage->input);
    sr_json_int(w, "completion_tokens", usage->output);
    sr_json_int(w, "total_tokens", usage->input + usage->output);
    sr_json_object(w, "prompt_tokens_details");
    sr_json_int(w, "cached_tokens", usage->cached);
    if (usage->cache_write)
        sr_json_int(w, "cache_write_tokens", usage->cache_write);
    sr_json_object_end(w);
    sr_json_object(w, "completion_tokens_details");
    sr_json_int(w, "reasoning_tokens", usage->reasoning);
    sr_json_object_end(w);
    if (usage->cache_write)
        sr_json_int(w, "cache_creation_input_tokens", usage->cache_write);
    sr_json_object_end(w);
}

/* ---- reading ---- */

static int read_message(struct sr_tr *tr, sr_json_view value, struct sr_tr_answer *out)
{
    static const char where[] = "choices[].message.";
    struct raw_message raw = {.m = {.content = {NULL, 0}}};
    sr_tr_fields(tr, where, value, message_fields, SR_TR_COUNT(message_fields), &raw);
    if (raw.reasoning_content.p)
        raw.m.reasoning = raw.reasoning_content;
    sr_tr_lost_filled(tr, raw.annotations, "choices[].message.annotations");
    int rc = sr_tr_chat_read_reasoning(tr, &raw.m, &out->parts);
    if (rc)
        return rc;
    if (!sr_tr_is_empty(raw.m.content) || sr_json_view_is_array(raw.m.content))
        rc = sr_tr_chat_read_content(tr, raw.m.content, (sr_json_view){0}, &out->parts);
    return rc ? rc : sr_tr_chat_read_rest(tr, &raw.m, where, &out->parts);
}

int sr_tr_chat_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out)
{
    struct raw_answer raw = {0};
    struct raw_choice choice = {0};
    sr_json_view first = {0}, more;
    size_t at = 0;
    sr_tr_fields(tr, "", root, fields, SR_TR_COUNT(fields), &raw);
    if (!sr_json_view_is_array(raw.choices) || !sr_json_view_next(raw.choices, &at, NULL, &first))
        return sr_tr_wrong(tr, "the upstream's answer is no chat completion");
    if (sr_json_view_next(raw.choices, &at, NULL, &more))
        sr_tr_warn(tr, "choices[]", SR_LIT(""));
    sr_tr_fields(tr, "choices[].", first, choice_fields, SR_TR_COUNT(choice_fields), &choice);
    if (!sr_json_view_is_object(choice.message))
        return sr_tr_wrong(tr, "the upstream's answer is no chat completion");
    sr_tr_lost(tr, choice.logprobs, "choices[].logprobs");
    out->id = raw.id;
    out->model = raw.model;
    out->service_tier = raw.service_tier;
    (void)sr_json_view_int(raw.created, &out->created);
    out->stop = sr_tr_chat_stop(tr, choice.finish_reason, choice.stop_reason);
    if (out->stop == SR_TR_STOP_SEQUENCE)
        out->stop_sequence = choice.stop_reason;
    sr_tr_chat_read_usage(tr, raw.usage, &out->usage);
    return read_message(tr, choice.message, out);
}

/* ---- writing ---- */

static int write_message(struct sr_tr *tr, const struct sr_tr_answer *answer, struct sr_json_writer *w)
{
    sr_json_view text = sr_tr_texts(tr, answer->parts.first, SR_TR_TEXT, SR_LIT(""));
    sr_json_view refusal = sr_tr_texts(tr, answer->parts.first, SR_TR_REFUSAL, SR_LIT(""));
    sr_json_object(w, "message");
    sr_json_text(w, "role", "assistant");
    if (text.p)
        sr_tr_put(w, "content", text);
    else
        sr_json_null(w, "content");
    if (refusal.p)
        sr_tr_put(w, "refusal", refusal);
    else
        sr_json_null(w, "refusal");
    int rc = sr_tr_chat_write_reasoning(tr, answer->parts.first, w);
    if (!rc)
        rc = sr_tr_chat_write_calls(tr, answer->parts.first, w);
    sr_json_object_end(w);
    return rc;
}

int sr_tr_chat_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer, struct sr_json_writer *w)
{
    sr_json_view id = sr_tr_id(tr, answer->id, "chatcmpl-");
    if (!id.p)
        return SR_ENOMEM;
    sr_json_object(w, NULL);
    sr_tr_put(w, "id", id);
    sr_json_text(w, "object", "chat.completion");
    sr_json_int(w, "created", answer->created ? answer->created : (int64_t)tr->settings->now_s);
    sr_tr_put(w, "model", answer->model.p ? answer->model : SR_TR_STRING(""));
    sr_json_array(w, "choices");
    sr_json_object(w, NULL);
    sr_json_uint(w, "index", 0);
    int rc = write_message(tr, answer, w);
    sr_json_null(w, "logprobs");
    sr_json_text(w, "finish_reason", sr_tr_chat_finish(answer->stop));
    if (answer->stop_sequence.p)
        sr_tr_put(w, "stop_reason", answer->stop_sequence);
    sr_json_object_end(w);
    sr_json_array_end(w);
    sr_tr_chat_write_usage(&answer->usage, w);
    sr_tr_put(w, "service_tier", answer->service_tier);
    sr_json_object_end(w);
    return rc;
}
