/* Feeds the translator, and keeps what it needs until it can go on. */
#include "router/response/translate.h"

#define GATHERED_MAX ((size_t)16 << 20)
#define OUT_MAX      ((size_t)64 << 20)
#define ARENA_MAX    ((size_t)256 << 20)

void sr_answer_translation_begin(struct sr_answer_translation *t, struct sr_translation *of, int status,
                                 bool streams)
{
    *t = (struct sr_answer_translation){.of = of, .status = status};
    sr_buf_init(&t->gathered, GATHERED_MAX);
    sr_buf_init(&t->out, OUT_MAX);
    if (streams && !of->settings.counts)
        t->failed = sr_translate_stream_new(&t->stream, of->upstream, of->client, &of->settings) != SR_OK;
}

void sr_answer_translation_dispose(struct sr_answer_translation *t)
{
    if (!t->of)
        return;
    sr_translate_stream_free(t->stream);
    sr_buf_dispose(&t->gathered);
    sr_buf_dispose(&t->out);
    *t = (struct sr_answer_translation){.of = NULL};
}

/* An event that cannot be read has ended the stream with an error event of the client's API. */
static enum sr_answer_step take_events(struct sr_answer_translation *t, struct sr_bytes in, bool last)
{
    sr_buf_clear(&t->out);
    int rc = sr_translate_stream_feed(t->stream, in, &t->out);
    if (!rc && last)
        rc = sr_translate_stream_end(t->stream, &t->out);
    t->failed |= rc != SR_OK;
    return SR_ANSWER_GO;
}

/* Statuses of an upstream that does not have the endpoint. */
static bool has_no_count(int status)
{
    return status == 404 || status == 405 || status == 501;
}

static int take_count(struct sr_answer_translation *t)
{
    if (has_no_count(t->status))
        return SR_EUNSUPPORTED;
    return sr_translate_count(t->of->upstream, t->of->client, sr_buf_view(&t->gathered), &t->out);
}

static enum sr_answer_step take_whole(struct sr_answer_translation *t, struct sr_bytes in, bool last)
{
    struct sr_translation *of = t->of;
    struct sr_arena arena;
    t->failed |= sr_buf_append_bytes(&t->gathered, in) != SR_OK;
    if (!t->failed && !last)
        return SR_ANSWER_HOLD;
    sr_arena_init(&arena, ARENA_MAX);
    int rc = SR_EINVAL;
    if (!t->failed && of->settings.counts && (t->status / 100 == 2 || has_no_count(t->status)))
        rc = take_count(t);
    else if (!t->failed && t->status / 100 == 2)
        rc = sr_translate_answer(of->upstream, of->client, sr_buf_view(&t->gathered), &of->settings, &arena,
                                 &t->out, &of->lost, NULL);
    else if (!t->failed)
        rc = sr_translate_error(of->client, t->status, sr_buf_view(&t->gathered), &arena, &t->out);
    sr_arena_dispose(&arena);
    t->failed |= rc != SR_OK;
    return t->failed ? SR_ANSWER_REPLACE : SR_ANSWER_GO;
}

enum sr_answer_step sr_answer_translation_take(struct sr_answer_translation *t, struct sr_bytes in, bool last,
                                               struct sr_bytes *out)
{
    enum sr_answer_step step = t->stream ? take_events(t, in, last) : take_whole(t, in, last);
    *out = sr_buf_view(&t->out);
    return step;
}
