/* Reasoning and calls of messages of chat completions. */
#include "translate/chat.h"

/* ---- reading ---- */

struct raw_detail {
    sr_json_view type, text, summary, signature, data, id;
};

#define D(member) SR_TR_FIELD(struct raw_detail, member)

static const struct sr_tr_field detail_fields[] = {
    D(type), D(text), D(summary), D(signature), D(data), D(id), SR_TR_IGNORE("format"), SR_TR_IGNORE("index"),
};

#undef D

int sr_tr_chat_read_reasoning(struct sr_tr *tr, const struct sr_tr_chat_message *message,
                              struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    bool any = false;
    while (sr_json_view_is_array(message->details) &&
           sr_json_view_next(message->details, &at, NULL, &value)) {
        struct raw_detail raw = {0};
        sr_tr_fields(tr, "reasoning_details[].", value, detail_fields, SR_TR_COUNT(detail_fields), &raw);
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_REASONING);
        if (!part)
            return SR_ENOMEM;
        part->text = raw.text.p ? raw.text : raw.summary;
        part->signature = raw.signature.p ? raw.signature : raw.data;
        part->id = raw.id;
        any = true;
    }
    if (any || sr_tr_is_empty(message->reasoning))
        return SR_OK;
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_REASONING);
    if (!part)
        return SR_ENOMEM;
    part->text = message->reasoning;
    return SR_OK;
}

static int read_call(struct sr_tr *tr, sr_json_view value, const char *where, struct sr_tr_parts *parts)
{
    struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_CALL);
    if (!part)
        return SR_ENOMEM;
    static const char *const known[] = {"id", "type", "index", "function", "custom", NULL};
    static const char *const inside[] = {"name", "arguments", "input", NULL};
    part->custom = sr_json_view_eq(sr_json_view_get(value, "type"), "custom");
    sr_json_view of = sr_json_view_get(value, part->custom ? "custom" : "function");
    sr_tr_lost_members(tr, "tool_calls[].", value, known);
    sr_tr_lost_members(tr, "tool_calls[].function.", of, inside);
    part->id = sr_json_view_get(value, "id");
    part->name = sr_json_view_get(of, "name");
    part->arguments = sr_json_view_get(of, part->custom ? "input" : "arguments");
    if (!sr_json_view_is_string(part->id) || !sr_json_view_is_string(part->name))
        return sr_tr_wrong(tr, "%stool_calls[] has a call without id or name", where);
    return SR_OK;
}

int sr_tr_chat_read_rest(struct sr_tr *tr, const struct sr_tr_chat_message *message, const char *where,
                         struct sr_tr_parts *parts)
{
    sr_json_view value;
    size_t at = 0;
    int rc = SR_OK;
    if (!sr_tr_is_empty(message->refusal)) {
        struct sr_tr_part *part = sr_tr_part_new(tr, parts, SR_TR_REFUSAL);
        if (!part)
            return SR_ENOMEM;
        part->text = message->refusal;
    }
    if (sr_json_view_is_array(message->tool_calls))
        while (!rc && sr_json_view_next(message->tool_calls, &at, NULL, &value))
            rc = read_call(tr, value, where, parts);
    if (message->function_call.p)
        sr_tr_warn(tr, where, SR_LIT("function_call"));
    return rc;
}

/* ---- writing ---- */

void sr_tr_chat_write_detail(const struct sr_tr_part *part, int index, struct sr_json_writer *w)
{
    bool has_text = sr_json_view_is_string(part->text) && !sr_tr_is_empty(part->text);
    sr_json_object(w, NULL);
    sr_json_text(w, "type", has_text ? "reasoning.text" : "reasoning.encrypted");
    if (has_text)
        sr_tr_put(w, "text", part->text);
    sr_tr_put(w, has_text ? "signature" : "data", part->signature);
    sr_tr_put(w, "id", part->id);
    if (index >= 0)
        sr_json_uint(w, "index", (uint64_t)index);
    sr_json_object_end(w);
}

int sr_tr_chat_write_reasoning(struct sr_tr *tr, const struct sr_tr_part *parts, struct sr_json_writer *w)
{
    sr_json_view text = sr_tr_texts(tr, parts, SR_TR_REASONING, SR_LIT(""));
    bool details = false;
    int index = 0;
    for (const struct sr_tr_part *p = parts; p; p = p->next)
        details |= p->kind == SR_TR_REASONING && (p->signature.p || p->id.p);
    sr_tr_put(w, "reasoning_content", text);
    if (!details)
        return SR_OK;
    sr_json_array(w, "reasoning_details");
    for (const struct sr_tr_part *p = parts; p; p = p->next)
        if (p->kind == SR_TR_REASONING)
            sr_tr_chat_write_detail(p, index++, w);
    sr_json_array_end(w);
    return SR_OK;
}

int sr_tr_chat_write_calls(struct sr_tr *tr, const struct sr_tr_part *parts, struct sr_json_writer *w)
{
    bool any = false;
    for (const struct sr_tr_part *p = parts; p; p = p->next) {
        if (p->kind != SR_TR_CALL)
            continue;
        sr_json_view arguments = sr_tr_arguments_string(tr, p);
        if (!arguments.p)
            return SR_ENOMEM;
        if (!any)
            sr_json_array(w, "tool_calls");
        any = true;
        sr_json_object(w, NULL);
        sr_tr_put(w, "id", p->id);
        sr_json_text(w, "type", p->custom ? "custom" : "function");
        sr_json_object(w, p->custom ? "custom" : "function");
        sr_tr_put(w, "name", p->name);
        sr_tr_put(w, p->custom ? "input" : "arguments", arguments);
        sr_json_object_end(w);
        sr_json_object_end(w);
    }
    if (any)
        sr_json_array_end(w);
    return SR_OK;
}
