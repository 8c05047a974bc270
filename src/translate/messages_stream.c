/* Streams of Messages. One block at a time is written, as the API promises: a call that begins while another
 * still grows waits until that one's arguments are whole. */
#include "translate/api.h"
#include "translate/messages.h"

/* ---- reading ---- */

struct raw_event {
    sr_json_view type, index, message, content_block, delta, usage, error;
};

#define E(member) SR_TR_FIELD(struct raw_event, member)

static const struct sr_tr_field event_fields[] = {E(type),  E(index), E(message), E(content_block),
                                                  E(delta), E(usage), E(error)};

#undef E

static int read_start(struct sr_tr_stream *s, sr_json_view message)
{
    static const char *const known[] = {"id",          "type",          "role",  "model", "content",
                                        "stop_reason", "stop_sequence", "usage", NULL};
    sr_tr_lost_members(&s->tr, "", message, known);
    s->answer.id = sr_json_view_get(message, "id");
    s->answer.model = sr_json_view_get(message, "model");
    sr_tr_messages_read_usage(&s->tr, sr_json_view_get(message, "usage"), &s->answer);
    int rc = sr_tr_stream_dup(s, &s->answer.id);
    if (!rc)
        rc = sr_tr_stream_dup(s, &s->answer.model);
    return rc ? rc : sr_tr_stream_start(s);
}

static int read_block(struct sr_tr_stream *s, uint64_t key, sr_json_view block)
{
    static const char *const words[] = {"text", "thinking", "redacted_thinking", "tool_use", NULL};
    static const enum sr_tr_kind kinds[] = {SR_TR_TEXT, SR_TR_REASONING, SR_TR_REASONING, SR_TR_CALL};
    int word = sr_tr_word(sr_json_view_get(block, "type"), words);
    static const char *const known[] = {"type", "text",  "thinking",  "signature", "data", "id",
                                        "name", "input", "citations", "caller",    NULL};
    sr_json_view input = sr_json_view_get(block, "input"), id = {0}, name = {0};
    sr_json_view caller = sr_json_view_get(block, "caller");
    if (word < 0) {
        sr_tr_warn(&s->tr, "messages[].content[].", sr_tr_inner(sr_json_view_get(block, "type")));
        return SR_OK;
    }
    sr_tr_lost_members(&s->tr, "messages[].content[].", block, known);
    sr_tr_lost_filled(&s->tr, sr_json_view_get(block, "citations"), "messages[].content[].citations");
    if (caller.p && !sr_json_view_eq(sr_json_view_get(caller, "type"), "direct"))
        sr_tr_warn(&s->tr, "messages[].content[].caller", SR_LIT(""));
    if (word == 3) {
        id = sr_json_view_get(block, "id");
        name = sr_json_view_get(block, "name");
        if (!sr_json_view_is_string(id) || !sr_json_view_is_string(name))
            return SR_EPARSE;
    }
    int rc = word == 3 ? sr_tr_stream_begin_call(s, false, key, id, name)
                       : sr_tr_stream_begin(s, kinds[word], key, id);
    uint32_t part = (uint32_t)s->n_parts - 1;
    if (!rc && word == 0)
        rc = sr_tr_stream_delta(s, part, sr_json_view_get(block, "text"));
    if (!rc && word == 1)
        rc = sr_tr_stream_delta(s, part, sr_json_view_get(block, "thinking"));
    if (!rc && word == 1)
        rc = sr_tr_stream_signature(s, part, sr_json_view_get(block, "signature"));
    if (!rc && word == 2)
        rc = sr_tr_stream_signature(s, part, sr_json_view_get(block, "data"));
    if (!rc && word == 3 && sr_json_view_is_object(input) && input.n > 2) {
        sr_json_view text = sr_tr_quote(&s->tr, input);
        rc = text.p ? sr_tr_stream_delta(s, part, text) : SR_ENOMEM;
    }
    return rc;
}

static int read_delta(struct sr_tr_stream *s, uint64_t key, sr_json_view delta)
{
    static const char *const words[] = {"text_delta", "thinking_delta", "input_json_delta", "signature_delta",
                                        NULL};
    static const char *const members[] = {"text", "thinking", "partial_json", "signature"};
    uint32_t part = sr_tr_stream_find(s, key);
    int word = sr_tr_word(sr_json_view_get(delta, "type"), words);
    if (word < 0 && sr_json_view_eq(sr_json_view_get(delta, "type"), "citations_delta"))
        sr_tr_warn(&s->tr, "messages[].content[].citations", SR_LIT(""));
    else if (word < 0)
        sr_tr_warn(&s->tr, "delta.", sr_tr_inner(sr_json_view_get(delta, "type")));
    if (word < 0 || part == UINT32_MAX)
        return SR_OK;
    sr_json_view text = sr_json_view_get(delta, members[word]);
    return word == 3 ? sr_tr_stream_signature(s, part, text) : sr_tr_stream_delta(s, part, text);
}

static int read_last(struct sr_tr_stream *s, const struct raw_event *raw)
{
    static const char *const known[] = {"stop_reason", "stop_sequence", NULL};
    sr_json_view mark = sr_json_view_get(raw->delta, "stop_sequence");
    sr_tr_lost_members(&s->tr, "", raw->delta, known);
    sr_tr_messages_read_usage(&s->tr, raw->usage, &s->answer);
    enum sr_tr_stop stop = sr_tr_messages_stop_of(&s->tr, sr_json_view_get(raw->delta, "stop_reason"));
    s->answer.stop = stop ? stop : s->answer.stop;
    s->ended |= stop != SR_TR_STOP_NONE;
    if (!sr_json_view_is_string(mark))
        return SR_OK;
    s->answer.stop_sequence = mark;
    return sr_tr_stream_dup(s, &s->answer.stop_sequence);
}

int sr_tr_messages_read_event(struct sr_tr_stream *s, sr_json_view data)
{
    static const char *const words[] = {"content_block_delta",
                                        "content_block_start",
                                        "content_block_stop",
                                        "message_start",
                                        "message_delta",
                                        "message_stop",
                                        "error",
                                        NULL};
    struct raw_event raw = {0};
    int64_t index = 0;
    sr_tr_fields(&s->tr, "", data, event_fields, SR_TR_COUNT(event_fields), &raw);
    (void)sr_json_view_int(raw.index, &index);
    uint32_t part;
    switch (sr_tr_word(raw.type, words)) {
    case 0:
        return read_delta(s, (uint64_t)index, raw.delta);
    case 1:
        return read_block(s, (uint64_t)index, raw.content_block);
    case 2:
        part = sr_tr_stream_find(s, (uint64_t)index);
        return part == UINT32_MAX ? SR_OK : sr_tr_stream_close(s, part);
    case 3:
        return read_start(s, raw.message);
    case 4:
        return read_last(s, &raw);
    case 5:
        return sr_tr_stream_finish(s);
    case 6:
        return sr_tr_stream_error(s, sr_json_view_get(raw.error, "type"),
                                  sr_json_view_get(raw.error, "message"));
    default:
        return SR_OK; /* ping, and what is new */
    }
}

/* ---- writing: blocks ---- */

static void event_of(struct sr_tr_stream *s, const char *type)
{
    sr_tr_frame(s, type);
    sr_json_object(&s->w, NULL);
    sr_json_text(&s->w, "type", type);
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

static int start_block(struct sr_tr_stream *s, uint32_t number, bool hidden)
{
    struct sr_tr_stream_part *part = &s->parts[number];
    sr_json_view id = {0}, name = {0};
    part->started = true;
    part->index = s->next++;
    s->current = number + 1;
    if (part->kind == SR_TR_CALL) {
        id = quoted(s, &part->id);
        name = quoted(s, &part->name);
        if (!id.p || !name.p)
            return SR_ENOMEM;
    }
    event_of(s, "content_block_start");
    sr_json_uint(&s->w, "index", part->index);
    sr_json_object(&s->w, "content_block");
    if (part->kind == SR_TR_CALL) {
        sr_json_text(&s->w, "type", "tool_use");
        sr_tr_put(&s->w, "id", id);
        sr_tr_put(&s->w, "name", name);
        sr_json_raw(&s->w, "input", SR_LIT("{}"));
    } else if (part->kind == SR_TR_REASONING) {
        sr_json_text(&s->w, "type", hidden ? "redacted_thinking" : "thinking");
        if (hidden) {
            sr_json_string(&s->w, "data");
            sr_json_string_end(&s->w);
        } else {
            sr_json_text(&s->w, "thinking", "");
            sr_json_text(&s->w, "signature", "");
        }
    } else {
        sr_json_text(&s->w, "type", "text");
        sr_json_text(&s->w, "text", "");
    }
    sr_json_object_end(&s->w);
    return event_end(s);
}

static int write_delta(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, const char *type,
                       const char *member, sr_json_view text)
{
    event_of(s, "content_block_delta");
    sr_json_uint(&s->w, "index", part->index);
    sr_json_object(&s->w, "delta");
    sr_json_text(&s->w, "type", type);
    sr_tr_put(&s->w, member, text);
    sr_json_object_end(&s->w);
    return text.p ? event_end(s) : SR_ENOMEM;
}

static int write_text(struct sr_tr_stream *s, const struct sr_tr_stream_part *part, sr_json_view text)
{
    if (part->kind == SR_TR_CALL)
        return write_delta(s, part, "input_json_delta", "partial_json", text);
    if (part->kind == SR_TR_REASONING)
        return write_delta(s, part, "thinking_delta", "thinking", text);
    return write_delta(s, part, "text_delta", "text", text);
}

/* The signature, with the id of the item of Responses before it. */
static sr_json_view signature_of(struct sr_tr_stream *s, const struct sr_tr_stream_part *part)
{
    return sr_tr_join(&s->tr, sr_buf_view(&part->id), part->id.len ? SR_LIT("~") : SR_LIT(""),
                      sr_buf_view(&part->signature));
}

static int write_hidden(struct sr_tr_stream *s, uint32_t number)
{
    struct sr_tr_stream_part *part = &s->parts[number];
    sr_json_view signature = signature_of(s, part);
    if (!signature.p)
        return SR_ENOMEM;
    part->started = true;
    part->index = s->next++;
    event_of(s, "content_block_start");
    sr_json_uint(&s->w, "index", part->index);
    sr_json_object(&s->w, "content_block");
    sr_json_text(&s->w, "type", "redacted_thinking");
    sr_tr_put(&s->w, "data", signature);
    sr_json_object_end(&s->w);
    return event_end(s);
}

static int end_block(struct sr_tr_stream *s, uint32_t number)
{
    struct sr_tr_stream_part *part = &s->parts[number];
    int rc = SR_OK;
    if (part->kind == SR_TR_REASONING && part->signature.len) {
        if (part->started)
            rc = write_delta(s, part, "signature_delta", "signature", signature_of(s, part));
        else
            rc = write_hidden(s, number);
    }
    part->ended = true;
    s->current = 0;
    if (rc || !part->started)
        return rc;
    event_of(s, "content_block_stop");
    sr_json_uint(&s->w, "index", part->index);
    return event_end(s);
}

/* ---- writing: the order of blocks ---- */

/* Begins a part that waited, with what came of it. Reasoning begins with its first text. */
static int start_waiting(struct sr_tr_stream *s, uint32_t number)
{
    struct sr_tr_stream_part *part = &s->parts[number];
    int rc = SR_OK;
    s->current = number + 1;
    if (part->kind != SR_TR_REASONING || part->text.len)
        rc = start_block(s, number, false);
    if (!rc && part->text.len)
        rc = write_text(s, part, quoted(s, &part->text));
    return rc;
}

/* Ends parts that are whole and begins those that waited for them. */
static int advance(struct sr_tr_stream *s)
{
    int rc = SR_OK;
    for (uint32_t i = 0; i < s->n_parts && !rc; i++) {
        struct sr_tr_stream_part *part = &s->parts[i];
        if (part->ended)
            continue;
        if (s->current != i + 1)
            rc = start_waiting(s, i);
        if (!part->closed && (!sr_tr_stream_is_whole(part) || i + 1 == s->n_parts))
            return rc;
        if (!rc)
            rc = end_block(s, i);
    }
    return rc;
}

static int take_delta(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    struct sr_tr_stream_part *part = &s->parts[event->part];
    int rc = SR_OK;
    if (part->ended) /* white space after whole arguments */
        return SR_OK;
    if (s->current != event->part + 1)
        return sr_tr_stream_keep(s, &part->text, event->text);
    if (!part->started)
        rc = start_block(s, event->part, false);
    if (!rc)
        rc = write_text(s, part, event->text);
    return rc || event->part + 1 == s->n_parts ? rc : advance(s);
}

static int write_start(struct sr_tr_stream *s)
{
    sr_json_view id = sr_tr_id(&s->tr, s->answer.id, "msg_");
    event_of(s, "message_start");
    sr_json_object(&s->w, "message");
    sr_tr_put(&s->w, "id", id);
    sr_json_text(&s->w, "type", "message");
    sr_json_text(&s->w, "role", "assistant");
    sr_tr_put(&s->w, "model", s->answer.model.p ? s->answer.model : SR_TR_STRING(""));
    sr_json_raw(&s->w, "content", SR_LIT("[]"));
    sr_json_null(&s->w, "stop_reason");
    sr_json_null(&s->w, "stop_sequence");
    sr_tr_messages_write_usage(&s->answer, &s->w);
    sr_json_object_end(&s->w);
    return id.p ? event_end(s) : SR_ENOMEM;
}

static int write_last(struct sr_tr_stream *s)
{
    enum sr_tr_stop stop = s->answer.stop;
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].kind == SR_TR_REFUSAL && stop == SR_TR_STOP_END)
            stop = SR_TR_STOP_FILTER;
    event_of(s, "message_delta");
    sr_json_object(&s->w, "delta");
    sr_json_text(&s->w, "stop_reason", sr_tr_messages_stop(stop ? stop : SR_TR_STOP_END));
    if (s->answer.stop_sequence.p)
        sr_tr_put(&s->w, "stop_sequence", s->answer.stop_sequence);
    else
        sr_json_null(&s->w, "stop_sequence");
    sr_json_object_end(&s->w);
    sr_tr_messages_write_usage(&s->answer, &s->w);
    int rc = event_end(s);
    if (rc)
        return rc;
    event_of(s, "message_stop");
    return event_end(s);
}

int sr_tr_messages_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    switch (event->kind) {
    case SR_TR_EVENT_START:
        return write_start(s);
    case SR_TR_EVENT_BEGIN:
    case SR_TR_EVENT_CLOSE:
        return advance(s);
    case SR_TR_EVENT_DELTA:
        return take_delta(s, event);
    case SR_TR_EVENT_SIGNATURE:
        return sr_tr_stream_keep(s, &s->parts[event->part].signature, event->text);
    case SR_TR_EVENT_END:
        return write_last(s);
    case SR_TR_EVENT_ERROR:
        sr_tr_frame(s, "error");
        s->writer->write_error(&s->w, 500, event->name, (sr_json_view){0}, (sr_json_view){0}, event->text);
        return sr_tr_frame_end(s);
    }
    return SR_OK;
}
