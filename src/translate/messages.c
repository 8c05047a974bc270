/* Answers of Messages. */
#include "translate/messages.h"

#include "translate/api.h"

/* ---- answers ---- */

struct raw_answer {
    sr_json_view type, id, model, content, stop_reason, stop_sequence, usage;
};

#define A(member) SR_TR_FIELD(struct raw_answer, member)

static const struct sr_tr_field fields[] = {
    A(type), A(id), A(model), A(content), A(stop_reason), A(stop_sequence), A(usage), SR_TR_IGNORE("role"),
};

#undef A

int sr_tr_messages_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out)
{
    struct raw_answer raw = {0};
    sr_tr_fields(tr, "", root, fields, SR_TR_COUNT(fields), &raw);
    if (!sr_json_view_eq(raw.type, "message") || !sr_json_view_is_array(raw.content))
        return sr_tr_wrong(tr, "the upstream's answer is no message");
    out->id = raw.id;
    out->model = raw.model;
    out->stop = sr_tr_messages_stop_of(tr, raw.stop_reason);
    out->stop_sequence = raw.stop_sequence;
    sr_tr_messages_read_usage(tr, raw.usage, out);
    return sr_tr_messages_read_blocks(tr, raw.content, &out->parts);
}

/* The id of an item of Responses stands before its encrypted content, because a block has no other place. */
static sr_json_view signature_of(struct sr_tr *tr, const struct sr_tr_part *part)
{
    if (!part->id.p || !part->signature.p)
        return part->signature;
    sr_json_view head = sr_tr_join(tr, sr_tr_inner(part->id), SR_LIT("~"), sr_tr_inner(part->signature));
    return head;
}

static int write_reasoning(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    bool hidden = !part->text.p || sr_tr_is_empty(part->text);
    sr_json_view signature = signature_of(tr, part);
    if (hidden && !signature.p)
        return SR_OK;
    sr_json_object(w, NULL);
    sr_json_text(w, "type", hidden ? "redacted_thinking" : "thinking");
    if (!hidden)
        sr_tr_put(w, "thinking", part->text);
    if (hidden || signature.p)
        sr_tr_put(w, hidden ? "data" : "signature", signature);
    else
        sr_json_text(w, "signature", "");
    sr_json_object_end(w);
    return SR_OK;
}

static int write_block(struct sr_tr *tr, const struct sr_tr_part *part, struct sr_json_writer *w)
{
    sr_json_view input;
    switch (part->kind) {
    case SR_TR_TEXT:
    case SR_TR_REFUSAL:
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "text");
        sr_tr_put(w, "text", part->text);
        sr_json_object_end(w);
        return SR_OK;
    case SR_TR_REASONING:
        return write_reasoning(tr, part, w);
    case SR_TR_CALL:
        input = sr_tr_arguments_object(tr, part);
        sr_json_object(w, NULL);
        sr_json_text(w, "type", "tool_use");
        sr_tr_put(w, "id", part->id);
        sr_tr_put(w, "name", part->name);
        sr_tr_put(w, "input", input);
        sr_json_object_end(w);
        return input.p ? SR_OK : SR_ENOMEM;
    default:
        sr_tr_warn(tr, "content[]", SR_LIT(""));
        return SR_OK;
    }
}

int sr_tr_messages_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer, struct sr_json_writer *w)
{
    sr_json_view id = sr_tr_id(tr, answer->id, "msg_");
    bool refused = false;
    int rc = id.p ? SR_OK : SR_ENOMEM;
    sr_json_object(w, NULL);
    sr_tr_put(w, "id", id);
    sr_json_text(w, "type", "message");
    sr_json_text(w, "role", "assistant");
    sr_tr_put(w, "model", answer->model.p ? answer->model : SR_TR_STRING(""));
    sr_json_array(w, "content");
    for (const struct sr_tr_part *p = answer->parts.first; p && !rc; p = p->next) {
        refused |= p->kind == SR_TR_REFUSAL;
        rc = write_block(tr, p, w);
    }
    sr_json_array_end(w);
    sr_json_text(
        w, "stop_reason",
        sr_tr_messages_stop(refused && answer->stop == SR_TR_STOP_END ? SR_TR_STOP_FILTER : answer->stop));
    if (answer->stop_sequence.p)
        sr_tr_put(w, "stop_sequence", answer->stop_sequence);
    else
        sr_json_null(w, "stop_sequence");
    sr_tr_messages_write_usage(answer, w);
    sr_json_object_end(w);
    return rc;
}
