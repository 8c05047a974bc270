/* What the readers and writers of streams share: parts, their buffers, the events of the model, and frames.
 */
#include "base/mem.h"
#include "translate/api.h"

/* ---- what readers use ---- */

/* Passes an event from a reader to the writer. SR_ENOMEM, SR_ELIMIT. */
static int emit(struct sr_tr_stream *s, const struct sr_tr_event *event)
{
    return s->writer->write_event(s, event);
}

int sr_tr_stream_keep(struct sr_tr_stream *s, struct sr_buf *buf, sr_json_view text)
{
    struct sr_bytes inner = sr_tr_inner(text);
    if (inner.n > SR_TRANSLATE_KEPT_MAX - s->kept)
        return SR_ELIMIT;
    s->kept += inner.n;
    return sr_buf_append_bytes(buf, inner);
}

int sr_tr_stream_dup(struct sr_tr_stream *s, sr_json_view *value)
{
    if (!value->p)
        return SR_OK;
    *value = sr_arena_dup(&s->memory, *value);
    return value->p ? SR_OK : SR_ENOMEM;
}

int sr_tr_stream_start(struct sr_tr_stream *s)
{
    if (s->started)
        return SR_OK;
    s->started = true;
    if (!s->answer.created)
        s->answer.created = (int64_t)s->tr.settings->now_s;
    s->answer.id = sr_tr_answer_id(&s->tr, s->answer.id);
    if (!s->answer.id.p || sr_tr_stream_dup(s, &s->answer.id))
        return SR_ENOMEM;
    return emit(s, &(struct sr_tr_event){.kind = SR_TR_EVENT_START});
}

static int new_part(struct sr_tr_stream *s)
{
    if (s->n_parts == SR_TR_PARTS_MAX)
        return SR_ELIMIT;
    if (s->n_parts == s->cap_parts) {
        size_t cap = s->cap_parts ? s->cap_parts * 2 : 8;
        struct sr_tr_stream_part *parts = sr_mem_realloc(s->parts, cap * sizeof *parts);
        if (!parts)
            return SR_ENOMEM;
        s->parts = parts;
        s->cap_parts = cap;
    }
    struct sr_tr_stream_part *part = &s->parts[s->n_parts++];
    memset(part, 0, sizeof *part);
    sr_buf_init(&part->text, SR_TRANSLATE_KEPT_MAX);
    sr_buf_init(&part->signature, SR_TRANSLATE_KEPT_MAX);
    sr_buf_init(&part->id, SR_TRANSLATE_KEPT_MAX);
    sr_buf_init(&part->name, SR_TRANSLATE_KEPT_MAX);
    return SR_OK;
}

/* Calls may grow at the same time, so one ends at the next part only if its arguments are whole. */
static int close_before(struct sr_tr_stream *s)
{
    const struct sr_tr_stream_part *open = s->open ? &s->parts[s->open - 1] : NULL;
    return open && (open->kind != SR_TR_CALL || sr_tr_stream_is_whole(open))
               ? sr_tr_stream_close(s, s->open - 1)
               : SR_OK;
}

static int begin(struct sr_tr_stream *s, uint64_t key, struct sr_tr_event *event)
{
    int rc = sr_tr_stream_start(s);
    if (!rc)
        rc = close_before(s);
    if (!rc)
        rc = new_part(s);
    if (rc)
        return rc;
    struct sr_tr_stream_part *part = &s->parts[s->n_parts - 1];
    part->kind = event->of;
    part->custom = event->custom;
    part->key = key;
    rc = sr_tr_stream_keep(s, &part->id, event->id);
    if (!rc)
        rc = sr_tr_stream_keep(s, &part->name, event->name);
    s->open = (uint32_t)s->n_parts;
    event->kind = SR_TR_EVENT_BEGIN;
    event->part = s->open - 1;
    return rc ? rc : emit(s, event);
}

int sr_tr_stream_begin(struct sr_tr_stream *s, enum sr_tr_kind kind, uint64_t key, sr_json_view id)
{
    return begin(s, key, &(struct sr_tr_event){.of = kind, .id = id});
}

int sr_tr_stream_begin_call(struct sr_tr_stream *s, bool custom, uint64_t key, sr_json_view id,
                            sr_json_view name)
{
    return begin(s, key, &(struct sr_tr_event){.of = SR_TR_CALL, .custom = custom, .id = id, .name = name});
}

/* Follows the brackets of a call's arguments through a piece of their string. */
static void follow(struct sr_tr *tr, struct sr_tr_stream_part *part, sr_json_view text)
{
    struct sr_bytes plain = sr_tr_plain(tr, text);
    for (size_t i = 0; i < plain.n; i++) {
        char c = plain.p[i];
        if (part->in_string) {
            part->in_string = part->escaped || c != '"';
            part->escaped = !part->escaped && c == '\\';
        } else if (c == '"') {
            part->in_string = true;
        } else if (c == '{' || c == '[') {
            part->depth++;
            part->opened = true;
        } else if (c == '}' || c == ']') {
            part->depth -= part->depth > 0;
        }
    }
}

bool sr_tr_stream_is_whole(const struct sr_tr_stream_part *part)
{
    return part->closed || (part->kind == SR_TR_CALL && part->opened && part->depth == 0 && !part->in_string);
}

static int emit_text(struct sr_tr_stream *s, enum sr_tr_event_kind kind, uint32_t part, sr_json_view text)
{
    if (!sr_json_view_is_string(text) || sr_tr_is_empty(text) || s->parts[part].closed)
        return SR_OK;
    if (kind == SR_TR_EVENT_DELTA && s->parts[part].kind == SR_TR_CALL && !s->parts[part].custom)
        follow(&s->tr, &s->parts[part], text);
    s->parts[part].any |= kind == SR_TR_EVENT_DELTA;
    return emit(s,
                &(struct sr_tr_event){.kind = kind, .part = part, .of = s->parts[part].kind, .text = text});
}

int sr_tr_stream_delta(struct sr_tr_stream *s, uint32_t part, sr_json_view text)
{
    return emit_text(s, SR_TR_EVENT_DELTA, part, text);
}

int sr_tr_stream_signature(struct sr_tr_stream *s, uint32_t part, sr_json_view text)
{
    return emit_text(s, SR_TR_EVENT_SIGNATURE, part, text);
}

int sr_tr_stream_close(struct sr_tr_stream *s, uint32_t part)
{
    struct sr_tr_stream_part *closed = &s->parts[part];
    if (closed->closed)
        return SR_OK;
    int rc = SR_OK;
    if (closed->kind == SR_TR_CALL && !closed->custom && !closed->any) /* a call without arguments */
        rc = sr_tr_stream_delta(s, part, SR_TR_STRING("{}"));
    if (rc)
        return rc;
    closed->closed = true;
    if (s->open == part + 1)
        s->open = 0;
    return emit(s, &(struct sr_tr_event){.kind = SR_TR_EVENT_CLOSE, .part = part, .of = s->parts[part].kind});
}

static int close_all(struct sr_tr_stream *s)
{
    int rc = SR_OK;
    for (uint32_t i = 0; i < s->n_parts && !rc; i++)
        rc = sr_tr_stream_close(s, i);
    return rc;
}

/* Names what was lost in a comment of the stream: its head went before anything of it was known. Clients skip
 * comments. */
static int write_lost(struct sr_tr_stream *s)
{
    const struct sr_translate_warnings *lost = &s->lost;
    if (s->writer->name_lost)
        s->writer->name_lost(&s->tr, &s->answer);
    if (!lost->n)
        return SR_OK;
    int rc = sr_buf_append_bytes(s->out, SR_LIT(": x-vsr-protocol-warnings: "));
    if (!rc)
        rc = sr_translate_warnings_write(lost, s->out);
    return rc ? rc : sr_buf_append_bytes(s->out, SR_LIT("\n\n"));
}

int sr_tr_stream_finish(struct sr_tr_stream *s)
{
    int rc = sr_tr_stream_start(s);
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].kind == SR_TR_CALL)
            s->answer.stop = sr_tr_stop_of_call(s->answer.stop);
    if (!rc)
        rc = close_all(s);
    if (!rc)
        rc = write_lost(s);
    if (!rc)
        rc = emit(s, &(struct sr_tr_event){.kind = SR_TR_EVENT_END});
    s->done = !rc;
    return rc;
}

int sr_tr_stream_error(struct sr_tr_stream *s, sr_json_view type, sr_json_view message)
{
    static const char text[] = "\"the upstream failed\"";
    struct sr_tr_event event = {.kind = SR_TR_EVENT_ERROR, .name = type, .text = message};
    if (!sr_json_view_is_string(type))
        event.name = SR_TR_STRING("server_error");
    if (!sr_json_view_is_string(message))
        event.text = sr_bytes_of(text, sizeof text - 1);
    s->done = s->failed = true;
    return emit(s, &event);
}

uint32_t sr_tr_stream_find(const struct sr_tr_stream *s, uint64_t key)
{
    for (size_t i = s->n_parts; i-- > 0;)
        if (s->parts[i].key == key)
            return (uint32_t)i;
    return UINT32_MAX;
}

/* ---- what writers use ---- */

void sr_tr_frame(struct sr_tr_stream *s, const char *name)
{
    s->w = sr_json_writer_of(s->out);
    if (name)
        s->w.rc = sr_buf_printf(s->out, "event: %s\n", name);
    if (!s->w.rc)
        s->w.rc = sr_buf_append(s->out, "data: ", 6);
}

int sr_tr_frame_end(struct sr_tr_stream *s)
{
    return s->w.rc ? s->w.rc : sr_buf_append(s->out, "\n\n", 2);
}
