/* Blocks, their words, and the numbers of frames. Times are constants on purpose. */
#include "mock/speech.h"

#include <inttypes.h>
#include <stdio.h>

#define REASONING_PIECES 2
#define CALL_PIECES      3

/* ---- blocks ------------------------------------------------------------------------------------------ */

size_t sr_mock_blocks(const struct sr_mock_ask *ask)
{
    return (size_t)ask->reasons + 1 + (size_t)ask->calls;
}

enum sr_mock_block sr_mock_block(const struct sr_mock_ask *ask, size_t at, size_t *call)
{
    *call = 0;
    if (ask->reasons && at == 0)
        return SR_MOCK_REASONING;
    at -= ask->reasons;
    if (at == 0)
        return SR_MOCK_TEXT;
    *call = at - 1;
    return SR_MOCK_CALL;
}

static size_t pieces_of(enum sr_mock_block kind, size_t n_chunks)
{
    if (kind == SR_MOCK_TEXT)
        return n_chunks;
    return kind == SR_MOCK_REASONING ? REASONING_PIECES : CALL_PIECES;
}

static size_t frames_of(const struct sr_mock_speech *speech, enum sr_mock_block kind, size_t n_chunks)
{
    return speech->begin[kind] + pieces_of(kind, n_chunks) + speech->end[kind];
}

size_t sr_mock_speech_frames(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask,
                             size_t n_chunks)
{
    size_t n = speech->opening + speech->closing(ask), call;
    for (size_t i = 0; i < sr_mock_blocks(ask); i++)
        n += frames_of(speech, sr_mock_block(ask, i, &call), n_chunks);
    return n;
}

size_t sr_mock_speech_before(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask)
{
    size_t before = ask->reasons ? frames_of(speech, SR_MOCK_REASONING, 0) : 0;
    return speech->opening + before + speech->begin[SR_MOCK_TEXT];
}

/* Where frame `at` of a block is in it. */
static void place_in_block(const struct sr_mock_speech *speech, size_t at, struct sr_mock_beat *beat)
{
    size_t begin = speech->begin[beat->kind];
    if (at < begin)
        beat->phase = SR_MOCK_BEGIN;
    else if ((at -= begin) < beat->n_pieces)
        beat->phase = SR_MOCK_PIECE;
    else {
        at -= beat->n_pieces;
        beat->phase = SR_MOCK_END;
    }
    beat->at = at;
}

struct sr_mock_beat sr_mock_speech_beat(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask,
                                        size_t n_chunks, size_t at)
{
    struct sr_mock_beat beat = {.frame = at, .at = at, .n_chunks = n_chunks};
    if (at < speech->opening)
        return beat;
    at -= speech->opening;
    for (; beat.block < sr_mock_blocks(ask); beat.block++) {
        beat.kind = sr_mock_block(ask, beat.block, &beat.call);
        beat.n_pieces = pieces_of(beat.kind, n_chunks);
        size_t frames = frames_of(speech, beat.kind, n_chunks);
        if (at < frames) {
            place_in_block(speech, at, &beat);
            return beat;
        }
        at -= frames;
    }
    beat.phase = SR_MOCK_CLOSING;
    beat.at = at;
    return beat;
}

/* ---- contents ---------------------------------------------------------------------------------------- */

/* Appends a text as the inside of a JSON string. */
static int put_escaped(struct sr_bytes text, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_string_part(&w, text);
    return w.rc;
}

struct sr_bytes sr_mock_arguments(const struct sr_mock_ask *ask)
{
    return ask->arguments.p ? ask->arguments : SR_LIT("{\"query\": \"a \\\"quoted\\\" word\", \"limit\": 3}");
}

int sr_mock_content(const struct sr_mock_ask *ask, enum sr_mock_block kind, size_t call, struct sr_buf *out)
{
    (void)call;
    if (kind == SR_MOCK_REASONING)
        return sr_buf_printf(out, "I count %" PRIu64 " bytes.", ask->prompt_bytes);
    if (kind == SR_MOCK_CALL)
        return put_escaped(sr_mock_arguments(ask), out);
    if (ask->text.p)
        return put_escaped(ask->text, out);
    return sr_buf_printf(out, "This is the answer of worker %zu to %" PRIu64 " bytes, from %.*s.",
                         ask->worker, ask->prompt_bytes, (int)ask->model.n, ask->model.p);
}

/* Where word `at` of `text` begins, its space included; the end when there are not so many. */
static size_t word_start(struct sr_bytes text, size_t at)
{
    size_t i = 0;
    for (; i < text.n && at > 0; i++)
        at -= text.p[i] == ' ';
    return i > 0 && at == 0 ? i - 1 : i;
}

static int put_fill(size_t fill, struct sr_buf *out)
{
    static const char dots[] = "................................................................";
    int rc = SR_OK;
    for (size_t left = fill; left > 0 && rc == SR_OK;) {
        size_t n = left < sizeof dots - 1 ? left : sizeof dots - 1;
        rc = sr_buf_append(out, dots, n);
        left -= n;
    }
    return rc;
}

/* A word of the content in each piece, the rest in the last; filler when the usual text has fewer words. */
static int put_piece(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, size_t at,
                     struct sr_buf *out)
{
    static const char *const filler[] = {"and", "it", "goes", "on"};
    size_t before = out->len;
    int rc = sr_mock_content(ask, beat->kind, beat->call, out);
    if (rc == SR_OK) {
        struct sr_bytes text = {out->data + before, out->len - before};
        size_t start = word_start(text, at),
               end = at + 1 < beat->n_pieces ? word_start(text, at + 1) : text.n;
        memmove(out->data + before, text.p + start, end - start);
        out->len = before + end - start;
    }
    if (beat->kind != SR_MOCK_TEXT || rc != SR_OK)
        return rc;
    if (out->len == before && !ask->text.p)
        rc = sr_buf_printf(out, " %s", filler[at % 4]);
    return rc == SR_OK ? put_fill(beat->fill, out) : rc;
}

int sr_mock_piece(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    return put_piece(ask, beat, beat->at, out);
}

int sr_mock_pieces(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < beat->n_pieces && rc == SR_OK; i++)
        rc = put_piece(ask, beat, i, out);
    return rc;
}

/* ---- members ----------------------------------------------------------------------------------------- */

void sr_mock_put_content(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind, size_t call,
                         struct sr_json_writer *w)
{
    sr_json_string(w, key);
    if (!w->rc)
        w->rc = sr_mock_content(ask, kind, call, w->out);
    sr_json_string_end(w);
}

/* The model as the request wrote it: the inside of a JSON string. */
void sr_mock_put_model(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    sr_json_string(w, "model");
    if (!w->rc)
        w->rc = sr_buf_append_bytes(w->out, ask->model);
    sr_json_string_end(w);
}

void sr_mock_put_tool(const struct sr_mock_ask *ask, size_t call, struct sr_json_writer *w)
{
    sr_json_string(w, "name");
    if (!w->rc)
        w->rc = sr_buf_append_bytes(w->out, ask->n_names ? ask->names[call % ask->n_names] : SR_LIT("tool"));
    sr_json_string_end(w);
}

void sr_mock_put_id(const struct sr_mock_ask *ask, const char *key, const char *prefix, size_t number,
                    struct sr_json_writer *w)
{
    char id[64];
    int n = snprintf(id, sizeof id, "%s%zu", prefix, number);
    if (ask->own)
        snprintf(id + n, sizeof id - (size_t)n, "_%016" PRIx64, ask->own);
    sr_json_text(w, key, id);
}

uint64_t sr_mock_answer_tokens(const struct sr_mock_ask *ask, uint64_t n_chunks)
{
    return ask->measured ? ask->measured->answer_tokens
                         : n_chunks + sr_mock_reasoning_tokens(ask) + CALL_PIECES * ask->calls;
}

uint64_t sr_mock_reasoning_tokens(const struct sr_mock_ask *ask)
{
    return ask->reasons ? REASONING_PIECES : 0;
}

bool sr_mock_cut(const struct sr_mock_ask *ask)
{
    return ask->measured && ask->measured->length;
}

void sr_mock_put_times(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    if (!ask->measured)
        return;
    sr_json_object(w, "mock");
    sr_json_uint(w, "worker", ask->worker);
    sr_json_uint(w, "arrived_ns", ask->measured->arrived_ns);
    sr_json_uint(w, "queued_us", ask->measured->queued_us);
    sr_json_uint(w, "first_us", ask->measured->first_us);
    sr_json_uint(w, "last_us", ask->measured->last_us);
    sr_json_object_end(w);
}
