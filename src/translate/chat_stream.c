/* Streams of chat completions: chunks read into events, and events written as chunks. */
#include "translate/api.h"
#include "translate/chat.h"
#include "translate/chat_words.h"

#include <stdio.h>

/* ---- reading ---- */

struct raw_chunk {
    sr_json_view id, model, created, choices, usage, error, service_tier;
};

#define A(member) SR_TR_FIELD(struct raw_chunk, member)

static const struct sr_tr_field chunk_fields[] = {
    A(id),
    A(model),
    A(created),
    A(choices),
    A(usage),
    A(error),
    A(service_tier),
    SR_TR_IGNORE("object"),
    SR_TR_IGNORE("obfuscation"),
};

#undef A

struct raw_delta {
    sr_json_view content, refusal, reasoning_content, reasoning, reasoning_details, tool_calls, annotations;
};

#define D(member) SR_TR_FIELD(struct raw_delta, member)

static const struct sr_tr_field delta_fields[] = {
    D(content),    D(refusal),           D(reasoning_content), D(reasoning),
    D(tool_calls), D(reasoning_details), D(annotations),       SR_TR_IGNORE("role"),
};

#undef D

struct raw_choice {
    sr_json_view index, delta, finish_reason, stop_reason, logprobs;
};

#define C(member) SR_TR_FIELD(struct raw_choice, member)

static const struct sr_tr_field choice_fields[] = {C(index), C(delta), C(finish_reason), C(stop_reason),
                                                   C(logprobs)};

#undef C

#define NO_KEY UINT64_MAX

/* More of the text that grows now, or the beginning of the next one. */
static int read_text(struct sr_tr_stream *s, enum sr_tr_kind kind, sr_json_view text)
{
    int rc = SR_OK;
    if (!sr_json_view_is_string(text) || sr_tr_is_empty(text))
        return SR_OK;
    if (!s->open || s->parts[s->open - 1].kind != kind)
        rc = sr_tr_stream_begin(s, kind, NO_KEY, (sr_json_view){0});
    return rc ? rc : sr_tr_stream_delta(s, s->open - 1, text);
}

/* A content that is a list of parts: its texts, and what a model thinks. */
static int read_parts(struct sr_tr_stream *s, sr_json_view content)
{
    struct sr_tr_parts parts = {0};
    int rc = sr_tr_chat_read_content(&s->tr, content, (sr_json_view){0}, &parts);
    for (const struct sr_tr_part *p = parts.first; p && !rc; p = p->next)
        if (p->kind <= SR_TR_REASONING)
            rc = read_text(s, p->kind, p->text);
        else
            sr_tr_warn(&s->tr, "choices[].delta.content[]", SR_LIT(""));
    return rc;
}

static int read_signature(struct sr_tr_stream *s, sr_json_view details)
{
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    while (!rc && sr_json_view_is_array(details) && sr_json_view_next(details, &at, NULL, &value)) {
        sr_json_view signature = sr_json_view_get(value, "signature");
        if (!sr_json_view_is_string(signature))
            signature = sr_json_view_get(value, "data");
        if (!sr_json_view_is_string(signature))
            continue;
        if (!s->open || s->parts[s->open - 1].kind != SR_TR_REASONING)
            rc = sr_tr_stream_begin(s, SR_TR_REASONING, NO_KEY, sr_json_view_get(value, "id"));
        if (!rc)
            rc = sr_tr_stream_signature(s, s->open - 1, signature);
    }
    return rc;
}

/* The part of a call with this number; UINT32_MAX: none. Some servers give all parallel calls one number, so
 * a call with another id and a name after whole arguments is a new one; others give each piece another id. */
static uint32_t find_call(const struct sr_tr_stream *s, uint64_t index, sr_json_view id, sr_json_view name)
{
    uint32_t part = sr_tr_stream_find(s, index);
    if (part == UINT32_MAX || sr_tr_is_empty(id) || sr_tr_is_empty(name))
        return part;
    const struct sr_tr_stream_part *found = &s->parts[part];
    bool other = found->id.len && !sr_bytes_eq(sr_buf_view(&found->id), sr_tr_inner(id));
    return other && sr_tr_stream_is_whole(found) ? UINT32_MAX : part;
}

static int read_call(struct sr_tr_stream *s, sr_json_view value, size_t place)
{
    int64_t index = (int64_t)place;
    bool custom = sr_json_view_is_object(sr_json_view_get(value, "custom"));
    sr_json_view of = sr_json_view_get(value, custom ? "custom" : "function");
    sr_json_view id = sr_json_view_get(value, "id"), name = sr_json_view_get(of, "name");
    if (!sr_json_view_int(sr_json_view_get(value, "index"), &index) || index < 0)
        index = (int64_t)place;
    uint32_t part = find_call(s, (uint64_t)index, id, name);
    int rc = SR_OK;
    if (part == UINT32_MAX) {
        char own[32];
        int n = snprintf(own, sizeof own, "%lld", (long long)index);
        if (!sr_json_view_is_string(id))
            id = sr_tr_join(&s->tr, SR_LIT("call_"), sr_bytes_of(own, (size_t)n), SR_LIT(""));
        if (!id.p)
            return SR_ENOMEM;
        rc = sr_tr_stream_begin_call(s, custom, (uint64_t)index, id,
                                     sr_json_view_is_string(name) ? name : SR_TR_STRING(""));
        part = (uint32_t)s->n_parts - 1;
    }
    return rc ? rc : sr_tr_stream_delta(s, part, sr_json_view_get(of, custom ? "input" : "arguments"));
}

static int read_delta(struct sr_tr_stream *s, sr_json_view value)
{
    struct raw_delta raw = {0};
    sr_json_view call;
    size_t at = 0, place = 0;
    sr_tr_fields(&s->tr, "choices[].delta.", value, delta_fields, SR_TR_COUNT(delta_fields), &raw);
    sr_tr_lost_filled(&s->tr, raw.annotations, "choices[].message.annotations");
    int rc = read_text(s, SR_TR_REASONING, raw.reasoning_content.p ? raw.reasoning_content : raw.reasoning);
    if (!rc)
        rc = read_signature(s, raw.reasoning_details);
    if (!rc)
        rc = sr_json_view_is_array(raw.content) ? read_parts(s, raw.content)
                                                : read_text(s, SR_TR_TEXT, raw.content);
    if (!rc)
        rc = read_text(s, SR_TR_REFUSAL, raw.refusal);
    while (!rc && sr_json_view_is_array(raw.tool_calls) &&
           sr_json_view_next(raw.tool_calls, &at, NULL, &call))
        rc = read_call(s, call, place++);
    return rc;
}

static int read_choice(struct sr_tr_stream *s, sr_json_view choice)
{
    struct raw_choice raw = {0};
    int64_t index = 0;
    sr_tr_fields(&s->tr, "choices[].", choice, choice_fields, SR_TR_COUNT(choice_fields), &raw);
    (void)sr_json_view_int(raw.index, &index);
    if (index != 0) {
        sr_tr_warn(&s->tr, "choices[]", SR_LIT(""));
        return SR_OK;
    }
    sr_tr_lost(&s->tr, raw.logprobs, "choices[].logprobs");
    int rc = read_delta(s, raw.delta);
    if (rc || !sr_json_view_is_string(raw.finish_reason))
        return rc;
    s->answer.stop = sr_tr_chat_stop(&s->tr, raw.finish_reason, raw.stop_reason);
    s->ended = true;
    if (s->answer.stop != SR_TR_STOP_SEQUENCE)
        return SR_OK;
    s->answer.stop_sequence = raw.stop_reason;
    return sr_tr_stream_dup(s, &s->answer.stop_sequence);
}

/* The answer begins with the first chunk that names it or has a choice. Azure OpenAI sends one before, of the
 * prompt, whose id and model are empty. */
static int read_head(struct sr_tr_stream *s, const struct raw_chunk *raw)
{
    sr_json_view choice;
    size_t at = 0;
    bool says = sr_json_view_is_array(raw->choices) && sr_json_view_next(raw->choices, &at, NULL, &choice);
    if (s->started || (sr_tr_is_empty(raw->id) && !says))
        return SR_OK;
    s->answer.id = raw->id;
    s->answer.model = raw->model;
    (void)sr_json_view_int(raw->created, &s->answer.created);
    int rc = sr_tr_stream_dup(s, &s->answer.id);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.model);
    return rc ? rc : sr_tr_stream_start(s);
}

int sr_tr_chat_read_event(struct sr_tr_stream *s, sr_json_view data)
{
    struct raw_chunk raw = {0};
    sr_json_view choice;
    size_t at = 0;
    int rc = SR_OK;
    sr_tr_fields(&s->tr, "", data, chunk_fields, SR_TR_COUNT(chunk_fields), &raw);
    if (raw.error.p)
        return sr_tr_stream_error(s, sr_json_view_get(raw.error, "type"),
                                  sr_json_view_get(raw.error, "message"));
    if (raw.service_tier.p && !s->answer.service_tier.p) {
        s->answer.service_tier = raw.service_tier;
        rc = sr_tr_stream_dup(s, &s->answer.service_tier);
    }
    sr_tr_chat_read_usage(&s->tr, raw.usage, &s->answer.usage);
    if (!rc)
        rc = read_head(s, &raw);
    while (!rc && sr_json_view_is_array(raw.choices) && sr_json_view_next(raw.choices, &at, NULL, &choice))
        rc = read_choice(s, choice);
    return rc;
}

/* ---- writing ---- */

/* A chunk up to its choices. */
static int chunk(struct sr_tr_stream *s)
{
    sr_json_view id = sr_tr_id(&s->tr, s->answer.id, "chatcmpl-");
    sr_tr_frame(s, NULL);
    sr_json_object(&s->w, NULL);
    sr_tr_put(&s->w, "id", id);
    sr_json_raw(&s->w, "object", SR_LIT("\"chat.completion.chunk\""));
    sr_json_int(&s->w, "created", s->answer.created);
    sr_tr_put(&s->w, "model", s->answer.model.p ? s->answer.model : SR_TR_STRING(""));
    sr_tr_put(&s->w, "service_tier", s->answer.service_tier);
    sr_json_array(&s->w, "choices");
    return id.p ? SR_OK : SR_ENOMEM;
}

static int delta(struct sr_tr_stream *s)
{
    int rc = chunk(s);
    sr_json_object(&s->w, NULL);
    sr_json_raw(&s->w, "index", SR_LIT("0"));
    sr_json_object(&s->w, "delta");
    return rc;
}

static int delta_end(struct sr_tr_stream *s, const char *finish, sr_json_view mark)
{
    sr_json_object_end(&s->w);
    sr_json_raw(&s->w, "logprobs", SR_LIT("null"));
    sr_json_text(&s->w, "finish_reason", finish);
    sr_tr_put(&s->w, "stop_reason", mark);
    sr_json_object_end(&s->w);
    sr_json_array_end(&s->w);
    if (s->tr.settings->usage)
        sr_json_raw(&s->w, "usage", SR_LIT("null"));
    sr_json_object_end(&s->w);
    return sr_tr_frame_end(s);
}

static int write_start(struct sr_tr_stream *s)
{
    int rc = delta(s);
    sr_json_text(&s->w, "role", "assistant");
    sr_json_text(&s->w, "content", "");
    return rc ? rc : delta_end(s, NULL, (sr_json_view){0});
}

static int write_call(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    struct sr_tr_stream_part *part = &s->parts[event->part];
    bool begins = event->kind == SR_TR_EVENT_BEGIN;
    const char *of = part->custom ? "custom" : "function";
    if (begins)
        part->index = s->next++;
    int rc = delta(s);
    sr_json_array(&s->w, "tool_calls");
    sr_json_object(&s->w, NULL);
    sr_json_uint(&s->w, "index", part->index);
    if (begins) {
        sr_tr_put(&s->w, "id", event->id);
        sr_json_text(&s->w, "type", of);
    }
    sr_json_object(&s->w, of);
    if (begins)
        sr_tr_put(&s->w, "name", event->name);
    sr_tr_put(&s->w, part->custom ? "input" : "arguments", begins ? SR_TR_STRING("") : event->text);
    sr_json_object_end(&s->w);
    sr_json_object_end(&s->w);
    sr_json_array_end(&s->w);
    return rc ? rc : delta_end(s, NULL, (sr_json_view){0});
}

static int write_text(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    static const char *const names[] = {"content", "refusal", "reasoning_content"};
    int rc = delta(s);
    if (!rc && event->of == SR_TR_REASONING)
        rc = sr_tr_stream_keep(s, &s->parts[event->part].text, event->text);
    sr_tr_put(&s->w, names[event->of], event->text);
    return rc ? rc : delta_end(s, NULL, (sr_json_view){0});
}

/* The text of reasoning goes with its signature again, because a client must send both back. */
static int write_detail(struct sr_tr_stream *s, uint32_t number)
{
    struct sr_tr_stream_part *part = &s->parts[number];
    struct sr_bytes none = SR_LIT("");
    if (part->kind != SR_TR_REASONING || (!part->signature.len && !part->id.len))
        return SR_OK;
    struct sr_tr_part whole = {.text = sr_tr_join(&s->tr, sr_buf_view(&part->text), none, none)};
    if (part->signature.len)
        whole.signature = sr_tr_join(&s->tr, sr_buf_view(&part->signature), none, none);
    if (part->id.len)
        whole.id = sr_tr_join(&s->tr, sr_buf_view(&part->id), none, none);
    int rc = whole.text.p && (!part->signature.len || whole.signature.p) ? delta(s) : SR_ENOMEM;
    if (rc)
        return rc;
    sr_json_array(&s->w, "reasoning_details");
    sr_tr_chat_write_detail(&whole, (int)number, &s->w);
    sr_json_array_end(&s->w);
    return delta_end(s, NULL, (sr_json_view){0});
}

static int write_end(struct sr_tr_stream *s)
{
    int rc = delta(s);
    if (!rc)
        rc = delta_end(s, sr_tr_chat_finish(s->answer.stop), s->answer.stop_sequence);
    if (!rc && s->tr.settings->usage && s->answer.usage.seen) {
        rc = chunk(s);
        sr_json_array_end(&s->w);
        sr_tr_chat_write_usage(&s->answer.usage, &s->w);
        sr_json_object_end(&s->w);
        rc = rc ? rc : sr_tr_frame_end(s);
    }
    return rc ? rc : sr_buf_append_bytes(s->out, SR_LIT("data: [DONE]\n\n"));
}

int sr_tr_chat_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    switch (event->kind) {
    case SR_TR_EVENT_START:
        return write_start(s);
    case SR_TR_EVENT_BEGIN:
        return event->of == SR_TR_CALL ? write_call(s, event) : SR_OK;
    case SR_TR_EVENT_DELTA:
        return event->of == SR_TR_CALL ? write_call(s, event) : write_text(s, event);
    case SR_TR_EVENT_SIGNATURE:
        return sr_tr_stream_keep(s, &s->parts[event->part].signature, event->text);
    case SR_TR_EVENT_CLOSE:
        return write_detail(s, event->part);
    case SR_TR_EVENT_END:
        return write_end(s);
    case SR_TR_EVENT_ERROR:
        sr_tr_frame(s, NULL);
        s->writer->write_error(&s->w, 500, event->name, (sr_json_view){0}, (sr_json_view){0}, event->text);
        return sr_tr_frame_end(s);
    }
    return SR_OK;
}
