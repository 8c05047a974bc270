/* Messages, as Anthropic writes them. */
#include "mock/speech.h"

static const char *stop_reason(const struct sr_mock_ask *ask)
{
    if (sr_mock_cut(ask))
        return "max_tokens";
    return ask->calls ? "tool_use" : "end_turn";
}

/* `input_tokens` are those of the prompt that were not cached. */
static void put_usage(const struct sr_mock_ask *ask, uint64_t answer, struct sr_json_writer *w)
{
    uint64_t cached = sr_mock_cached_tokens(ask);
    sr_json_object(w, "usage");
    sr_json_uint(w, "input_tokens", sr_mock_prompt_tokens(ask) - cached);
    sr_json_uint(w, "cache_creation_input_tokens", 0);
    sr_json_uint(w, "cache_read_input_tokens", cached);
    sr_json_uint(w, "output_tokens", answer);
    sr_json_object_end(w);
}

/* From the root to the model. */
static void put_opening(const struct sr_mock_ask *ask, const char *key, struct sr_json_writer *w)
{
    sr_json_object(w, key);
    sr_mock_put_id(ask, "id", "msg_mock_", ask->worker, w);
    sr_json_text(w, "type", "message");
    sr_json_text(w, "role", "assistant");
    sr_mock_put_model(ask, w);
}

static void put_stop(const char *reason, struct sr_json_writer *w)
{
    sr_json_text(w, "stop_reason", reason);
    sr_json_null(w, "stop_sequence");
}

static void put_reasoning(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "thinking");
    sr_mock_put_content(ask, "thinking", SR_MOCK_REASONING, 0, w);
    sr_json_text(w, "signature", "bW9jaw==");
    sr_json_object_end(w);
}

static void put_call(const struct sr_mock_ask *ask, const char *key, size_t call, struct sr_bytes input,
                     struct sr_json_writer *w)
{
    sr_json_object(w, key);
    sr_json_text(w, "type", "tool_use");
    sr_mock_put_id(ask, "id", "call_mock_", call, w);
    sr_mock_put_tool(ask, call, w);
    sr_json_raw(w, "input", input);
    sr_json_object_end(w);
}

static int whole(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    struct sr_json_writer w = sr_json_writer_of(head);
    put_opening(ask, NULL, &w);
    sr_json_array(&w, "content");
    if (ask->reasons)
        put_reasoning(ask, &w);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", "text");
    sr_json_string(&w, "text");
    if (!w.rc)
        w.rc = sr_mock_content(ask, SR_MOCK_TEXT, 0, head);
    w.out = tail;
    sr_json_string_end(&w);
    sr_json_object_end(&w);
    for (size_t i = 0; i < ask->calls; i++)
        put_call(ask, NULL, i, sr_mock_arguments(ask), &w);
    sr_json_array_end(&w);
    put_stop(stop_reason(ask), &w);
    put_usage(ask, sr_mock_answer_tokens(ask, SR_MOCK_CHUNKS), &w);
    sr_mock_put_times(ask, &w);
    sr_json_object_end(&w);
    return w.rc;
}

/* ---- streams ----------------------------------------------------------------------------------------- */

/* Begins an event and its object, which `event_end` ends. */
static struct sr_json_writer event(const char *type, struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_printf(out, "event: %s\ndata: ", type)};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", type);
    return w;
}

static int event_end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append_bytes(w->out, SR_LIT("\n\n"));
}

static int put_start(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    struct sr_json_writer w = event("message_start", out);
    put_opening(ask, "message", &w);
    sr_json_array(&w, "content");
    sr_json_array_end(&w);
    put_stop(NULL, &w);
    put_usage(ask, 1, &w);
    sr_json_object_end(&w);
    return event_end(&w);
}

static int put_block_start(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    struct sr_json_writer w = event("content_block_start", out);
    sr_json_uint(&w, "index", beat->block);
    if (beat->kind == SR_MOCK_CALL) {
        put_call(ask, "content_block", beat->call, SR_LIT("{}"), &w);
    } else {
        bool text = beat->kind == SR_MOCK_TEXT;
        sr_json_object(&w, "content_block");
        sr_json_text(&w, "type", text ? "text" : "thinking");
        sr_json_text(&w, text ? "text" : "thinking", "");
        if (!text)
            sr_json_text(&w, "signature", "");
        sr_json_object_end(&w);
    }
    return event_end(&w);
}

static int put_delta(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    static const struct {
        const char *type, *member;
    } words[] = {
        [SR_MOCK_REASONING] = {"thinking_delta", "thinking"},
        [SR_MOCK_TEXT] = {"text_delta", "text"},
        [SR_MOCK_CALL] = {"input_json_delta", "partial_json"},
    };
    struct sr_json_writer w = event("content_block_delta", out);
    sr_json_uint(&w, "index", beat->block);
    sr_json_object(&w, "delta");
    sr_json_text(&w, "type", words[beat->kind].type);
    sr_json_string(&w, words[beat->kind].member);
    if (!w.rc)
        w.rc = sr_mock_piece(ask, beat, out);
    sr_json_string_end(&w);
    sr_json_object_end(&w);
    return event_end(&w);
}

/* Reasoning is signed before its block stops. */
static int put_block_end(const struct sr_mock_beat *beat, struct sr_buf *out)
{
    bool signs = beat->kind == SR_MOCK_REASONING && beat->at == 0;
    struct sr_json_writer w = event(signs ? "content_block_delta" : "content_block_stop", out);
    sr_json_uint(&w, "index", beat->block);
    if (signs) {
        sr_json_object(&w, "delta");
        sr_json_text(&w, "type", "signature_delta");
        sr_json_text(&w, "signature", "bW9jaw==");
        sr_json_object_end(&w);
    }
    return event_end(&w);
}

static int put_end(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    struct sr_json_writer w = event(beat->at == 0 ? "message_delta" : "message_stop", out);
    if (beat->at == 0) {
        sr_json_object(&w, "delta");
        put_stop(stop_reason(ask), &w);
        sr_json_object_end(&w);
        put_usage(ask, sr_mock_answer_tokens(ask, beat->n_chunks), &w);
        sr_mock_put_times(ask, &w);
    }
    return event_end(&w);
}

static int put_ping(struct sr_buf *out)
{
    struct sr_json_writer w = event("ping", out);
    return event_end(&w);
}

static int frame(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    switch (beat->phase) {
    case SR_MOCK_OPENING:
        return beat->at == 0 ? put_start(ask, out) : put_ping(out);
    case SR_MOCK_BEGIN:
        return put_block_start(ask, beat, out);
    case SR_MOCK_PIECE:
        return put_delta(ask, beat, out);
    case SR_MOCK_END:
        return put_block_end(beat, out);
    case SR_MOCK_CLOSING:
        break;
    }
    return put_end(ask, beat, out);
}

static size_t closing(const struct sr_mock_ask *ask)
{
    (void)ask;
    return 2;
}

const struct sr_mock_speech sr_mock_speech_messages = {
    .opening = 2,
    .begin = {1, 1, 1},
    .end = {[SR_MOCK_REASONING] = 2, [SR_MOCK_TEXT] = 1, [SR_MOCK_CALL] = 1},
    .closing = closing,
    .whole = whole,
    .frame = frame,
};
