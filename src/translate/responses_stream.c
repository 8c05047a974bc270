/* Streams of Responses, written. Its last events repeat the whole answer, so the texts are kept until then;
 * each piece still goes at once. */
#include "translate/api.h"
#include "translate/responses.h"

static void event_of(struct sr_tr_stream *s, const char *type)
{
    sr_tr_frame(s, type);
    sr_json_object(&s->w, NULL);
    sr_json_text(&s->w, "type", type);
    sr_json_uint(&s->w, "sequence_number", s->sequence++);
}

static int event_end(struct sr_tr_stream *s)
{
    sr_json_object_end(&s->w);
    return sr_tr_frame_end(s);
}

static sr_json_view quoted(struct sr_tr_stream *s, const struct sr_buf *buf)
{
    return sr_tr_join(&s->tr, sr_buf_view(buf), SR_LIT(""), SR_LIT(""));
}

/* What is known of a part as one part of an answer. SR_ENOMEM. */
static int part_of(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, struct sr_tr_part *out)
{
    bool call = part->kind == SR_TR_CALL;
    sr_json_view text = quoted(s, &part->text);
    *out = (struct sr_tr_part){.kind = part->kind, .custom = part->custom};
    if (!text.p)
        return SR_ENOMEM;
    out->text = call ? (sr_json_view){0} : text;
    out->arguments = call ? text : (sr_json_view){0};
    if (part->id.len && !(out->id = quoted(s, &part->id)).p)
        return SR_ENOMEM;
    if (part->name.len && !(out->name = quoted(s, &part->name)).p)
        return SR_ENOMEM;
    if (part->signature.len && !(out->signature = quoted(s, &part->signature)).p)
        return SR_ENOMEM;
    return SR_OK;
}

/* The members that say of which item an event is. */
static int place(struct sr_tr_stream *s, const struct sr_tr_stream_part *part)
{
    struct sr_tr_part of = {.kind = part->kind, .custom = part->custom};
    if (part->kind == SR_TR_REASONING && part->id.len && !(of.id = quoted(s, &part->id)).p)
        return SR_ENOMEM;
    sr_json_view id = sr_tr_responses_item_id(&s->tr, &of, s->answer.id, part->index);
    sr_tr_put(&s->w, "item_id", id);
    sr_json_uint(&s->w, "output_index", part->index);
    if (part->kind != SR_TR_CALL)
        sr_json_raw(&s->w, part->kind == SR_TR_REASONING ? "summary_index" : "content_index", SR_LIT("0"));
    return id.p ? SR_OK : SR_ENOMEM;
}

/* The last item of an answer that was cut is cut: known when it ends with the answer. */
static enum sr_tr_item ended_state(const struct sr_tr_stream *s, const struct sr_tr_stream_part *part)
{
    bool last = part->index + 1 == s->next;
    return last && sr_tr_responses_is_cut(s->answer.stop) ? SR_TR_ITEM_CUT : SR_TR_ITEM_ENDED;
}

static int write_item(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, bool ended)
{
    struct sr_tr_part of;
    int rc = part_of(s, part, &of);
    if (rc)
        return rc;
    event_of(s, ended ? "response.output_item.done" : "response.output_item.added");
    sr_json_uint(&s->w, "output_index", part->index);
    sr_json_name(&s->w, SR_LIT("item"));
    rc = sr_tr_responses_write_item(&s->tr, &of, s->answer.id, part->index,
                                    ended ? ended_state(s, part) : SR_TR_ITEM_BEGINS, &s->w);
    return rc ? rc : event_end(s);
}

/* The inner part of an item, with its text so far. */
static int write_inner(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, bool ended)
{
    static const char *const begin[] = {"response.content_part.added", "response.content_part.added",
                                        "response.reasoning_summary_part.added"};
    static const char *const end[] = {"response.content_part.done", "response.content_part.done",
                                      "response.reasoning_summary_part.done"};
    static const char *const types[] = {"output_text", "refusal", "summary_text"};
    sr_json_view text = ended ? quoted(s, &part->text) : SR_TR_STRING("");
    event_of(s, ended ? end[part->kind] : begin[part->kind]);
    int rc = text.p ? place(s, part) : SR_ENOMEM;
    sr_json_object(&s->w, "part");
    sr_json_text(&s->w, "type", types[part->kind]);
    if (part->kind == SR_TR_TEXT) {
        sr_json_raw(&s->w, "annotations", SR_LIT("[]"));
        sr_json_raw(&s->w, "logprobs", SR_LIT("[]"));
    }
    sr_tr_put(&s->w, part->kind == SR_TR_REFUSAL ? "refusal" : "text", text);
    sr_json_object_end(&s->w);
    return rc ? rc : event_end(s);
}

static int write_delta(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, sr_json_view text)
{
    static const char *const types[] = {"response.output_text.delta", "response.refusal.delta",
                                        "response.reasoning_summary_text.delta",
                                        "response.function_call_arguments.delta"};
    event_of(s, part->custom ? "response.custom_tool_call_input.delta" : types[part->kind]);
    int rc = place(s, part);
    sr_tr_put(&s->w, "delta", text);
    if (part->kind == SR_TR_TEXT)
        sr_json_raw(&s->w, "logprobs", SR_LIT("[]"));
    return rc ? rc : event_end(s);
}

static int write_whole(struct sr_tr_stream *s, const struct sr_tr_stream_part *part)
{
    static const char *const types[] = {"response.output_text.done", "response.refusal.done",
                                        "response.reasoning_summary_text.done",
                                        "response.function_call_arguments.done"};
    static const char *const members[] = {"text", "refusal", "text", "arguments"};
    sr_json_view text = part->kind == SR_TR_CALL && !part->text.len && !part->custom ? SR_TR_STRING("")
                                                                                     : quoted(s, &part->text);
    event_of(s, part->custom ? "response.custom_tool_call_input.done" : types[part->kind]);
    int rc = text.p ? place(s, part) : SR_ENOMEM;
    sr_json_view name = part->kind == SR_TR_CALL ? quoted(s, &part->name) : (sr_json_view){0};
    sr_tr_put(&s->w, "name", name);
    sr_tr_put(&s->w, part->custom ? "input" : members[part->kind], text);
    if (part->kind == SR_TR_TEXT)
        sr_json_raw(&s->w, "logprobs", SR_LIT("[]"));
    return rc ? rc : event_end(s);
}

static int start(struct sr_tr_stream *s, struct sr_tr_stream_part *part)
{
    part->started = true;
    part->index = s->next++;
    int rc = write_item(s, part, false);
    return rc || part->kind == SR_TR_CALL ? rc : write_inner(s, part, false);
}

static int take_delta(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    struct sr_tr_stream_part *part = &s->parts[event->part];
    int rc = part->started ? SR_OK : start(s, part);
    if (!rc)
        rc = write_delta(s, part, event->text);
    return rc ? rc : sr_tr_stream_keep(s, &part->text, event->text);
}

/* Reasoning without text and content leaves nothing behind. */
static int close_part(struct sr_tr_stream *s, struct sr_tr_stream_part *part)
{
    int rc = SR_OK;
    if (!part->started && part->kind == SR_TR_REASONING) {
        if (!part->signature.len)
            return SR_OK;
        part->started = true;
        part->index = s->next++;
        rc = write_item(s, part, false);
        return rc ? rc : write_item(s, part, true);
    }
    rc = write_whole(s, part);
    if (!rc && part->kind != SR_TR_CALL)
        rc = write_inner(s, part, true);
    return rc ? rc : write_item(s, part, true);
}

/* ---- the response ---- */

static int write_output(struct sr_tr_stream *s)
{
    struct sr_tr_part of;
    int rc = SR_OK;
    for (uint32_t index = 0; index < s->next && !rc; index++)
        for (size_t i = 0; i < s->n_parts && !rc; i++) {
            const struct sr_tr_stream_part *part = &s->parts[i];
            if (!part->started || part->index != index)
                continue;
            rc = part_of(s, part, &of);
            if (!rc)
                rc =
                    sr_tr_responses_write_item(&s->tr, &of, s->answer.id, index, ended_state(s, part), &s->w);
        }
    return rc;
}

static int write_response(struct sr_tr_stream *s, const char *type, enum sr_tr_status status)
{
    event_of(s, type);
    sr_json_object(&s->w, "response");
    int rc = sr_tr_responses_write_head(&s->tr, &s->answer, status, s->echo, &s->w);
    sr_json_array(&s->w, "output");
    if (!rc && status == SR_TR_STATUS_ENDED)
        rc = write_output(s);
    sr_json_array_end(&s->w);
    sr_tr_responses_write_tail(&s->answer, status, &s->w);
    sr_json_object_end(&s->w);
    return rc ? rc : event_end(s);
}

static int write_start(struct sr_tr_stream *s)
{
    int rc = write_response(s, "response.created", SR_TR_STATUS_IN_PROGRESS);
    return rc ? rc : write_response(s, "response.in_progress", SR_TR_STATUS_IN_PROGRESS);
}

static int write_last(struct sr_tr_stream *s)
{
    bool cut = sr_tr_responses_is_cut(s->answer.stop);
    return write_response(s, cut ? "response.incomplete" : "response.completed", SR_TR_STATUS_ENDED);
}

static int write_error(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    event_of(s, "error");
    sr_tr_put(&s->w, "code", event->name);
    sr_tr_put(&s->w, "message", event->text);
    sr_json_null(&s->w, "param");
    return event_end(s);
}

int sr_tr_responses_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    switch (event->kind) {
    case SR_TR_EVENT_START:
        return write_start(s);
    case SR_TR_EVENT_BEGIN:
        return event->of == SR_TR_REASONING ? SR_OK : start(s, &s->parts[event->part]);
    case SR_TR_EVENT_DELTA:
        return take_delta(s, event);
    case SR_TR_EVENT_SIGNATURE:
        return sr_tr_stream_keep(s, &s->parts[event->part].signature, event->text);
    case SR_TR_EVENT_CLOSE:
        return close_part(s, &s->parts[event->part]);
    case SR_TR_EVENT_END:
        return write_last(s);
    case SR_TR_EVENT_ERROR:
        return write_error(s, event);
    }
    return SR_OK;
}
