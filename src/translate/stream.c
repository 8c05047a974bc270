/* A stream: splits it into events and has them read. Knows the shape of none of them. */
#include "base/mem.h"
#include "translate/api.h"

#define ARENA_MAX  ((size_t)64 << 20) /* of one event */
#define MEMORY_MAX ((size_t)1 << 20)  /* ids and names that live as long as the stream */

/* The opaque type of the interface. */
struct sr_translate_stream {
    struct sr_tr_stream s;
    struct sr_translate_settings settings;
};

int sr_translate_stream_new(struct sr_translate_stream **out, enum sr_translate_api from,
                            enum sr_translate_api to, const struct sr_translate_settings *settings)
{
    struct sr_translate_stream *stream = sr_mem_calloc(1, sizeof *stream);
    *out = stream;
    if (!stream)
        return SR_ENOMEM;
    struct sr_tr_stream *s = &stream->s;
    stream->settings = *settings;
    s->tr = (struct sr_tr){
        .from = from, .to = to, .arena = &s->arena, .settings = &stream->settings, .warnings = &s->lost};
    s->reader = sr_tr_api_of(from);
    s->writer = sr_tr_api_of(to);
    sr_sse_frames_init(&s->frames, SR_TRANSLATE_EVENT_MAX);
    sr_arena_init(&s->arena, ARENA_MAX);
    sr_arena_init(&s->memory, MEMORY_MAX);
    if (settings->asked.n && sr_json_view_open(&s->echo, settings->asked, NULL))
        s->echo = (sr_json_view){0};
    return SR_OK;
}

void sr_translate_stream_free(struct sr_translate_stream *stream)
{
    if (!stream)
        return;
    struct sr_tr_stream *s = &stream->s;
    for (size_t i = 0; i < s->n_parts; i++) {
        sr_buf_dispose(&s->parts[i].text);
        sr_buf_dispose(&s->parts[i].signature);
        sr_buf_dispose(&s->parts[i].id);
        sr_buf_dispose(&s->parts[i].name);
    }
    sr_mem_free(s->parts);
    sr_sse_frames_dispose(&s->frames);
    sr_arena_dispose(&s->arena);
    sr_arena_dispose(&s->memory);
    sr_mem_free(stream);
}

bool sr_translate_stream_done(const struct sr_translate_stream *stream)
{
    return stream->s.done;
}

/* ---- bytes ---- */

static int take_data(struct sr_tr_stream *s, struct sr_bytes data)
{
    sr_json_view root;
    if (sr_bytes_eq(sr_bytes_trim(data), SR_LIT("[DONE]")))
        return s->ended ? sr_tr_stream_finish(s) : SR_OK;
    sr_arena_reset(&s->arena);
    if (sr_json_view_open(&root, data, NULL) || !sr_json_view_is_object(root))
        return SR_EPARSE;
    return s->reader->read_event(s, root);
}

static int take_frame(struct sr_tr_stream *s, const struct sr_sse_frame *frame)
{
    if (s->done)
        return SR_OK;
    if (!frame->whole)
        return SR_ELIMIT;
    return frame->has_data && frame->data.n ? take_data(s, frame->data) : SR_OK;
}

/* An event that cannot be translated: the rest would be wrong, so the stream ends with an error. */
static int fail(struct sr_tr_stream *s, size_t before, int rc)
{
    static const char parse[] = "\"the upstream sent an event that cannot be translated\"";
    static const char limit[] = "\"the upstream's answer is too large to be translated\"";
    sr_json_view message =
        rc == SR_ELIMIT ? sr_bytes_of(limit, sizeof limit - 1) : sr_bytes_of(parse, sizeof parse - 1);
    s->out->len = before;
    if (rc == SR_ENOMEM || sr_tr_stream_error(s, SR_TR_STRING("server_error"), message)) {
        s->out->len = before;
        s->done = s->failed = true;
        return SR_ENOMEM;
    }
    return rc;
}

int sr_translate_stream_feed(struct sr_translate_stream *stream, struct sr_bytes in, struct sr_buf *out)
{
    struct sr_tr_stream *s = &stream->s;
    struct sr_sse_frame frame;
    int rc;
    s->out = out;
    while (!s->done && (rc = sr_sse_frames_next(&s->frames, &in, &frame)) != SR_MORE) {
        size_t before = out->len;
        if (!rc)
            rc = take_frame(s, &frame);
        if (rc)
            return fail(s, before, rc);
    }
    return SR_OK;
}

int sr_translate_stream_end(struct sr_translate_stream *stream, struct sr_buf *out)
{
    struct sr_tr_stream *s = &stream->s;
    size_t before = out->len;
    s->out = out;
    sr_arena_reset(&s->arena);
    int rc = !s->done && s->ended ? sr_tr_stream_finish(s) : SR_OK;
    s->done = true;
    return rc ? fail(s, before, rc) : SR_OK;
}
