/* Responses, as OpenAI writes them. Each block is one item of the output. */
#include "mock/speech.h"

/* ---- items ------------------------------------------------------------------------------------------- */

static const char *const id_prefixes[] = {
    [SR_MOCK_REASONING] = "rs_mock_",
    [SR_MOCK_TEXT] = "msg_mock_",
    [SR_MOCK_CALL] = "fc_mock_",
};

static void put_item_id(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind, size_t call,
                        struct sr_json_writer *w)
{
    sr_mock_put_id(ask, key, id_prefixes[kind], call, w);
}

/* The text of a part or the arguments of a call: nothing yet, what a stream has, or the usual. */
struct content {
    bool begun, streamed;
    const struct sr_mock_beat *beat;
    struct sr_buf *rest; /* where a text's end begins; NULL: in the same buffer */
};

static void put_text(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind, size_t call,
                     const struct content *content, struct sr_json_writer *w)
{
    sr_json_string(w, key);
    if (!w->rc && content->begun)
        w->rc = content->streamed ? sr_mock_pieces(ask, content->beat, w->out)
                                  : sr_mock_content(ask, kind, call, w->out);
    if (content->rest && kind == SR_MOCK_TEXT)
        w->out = content->rest;
    sr_json_string_end(w);
}

/* A part of a message or of a summary. */
static void put_part(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind,
                     const struct content *content, struct sr_json_writer *w)
{
    bool text = kind == SR_MOCK_TEXT;
    sr_json_object(w, key);
    sr_json_text(w, "type", text ? "output_text" : "summary_text");
    if (text) {
        sr_json_array(w, "annotations");
        sr_json_array_end(w);
        sr_json_array(w, "logprobs");
        sr_json_array_end(w);
    }
    put_text(ask, "text", kind, 0, content, w);
    sr_json_object_end(w);
}

static void put_call(const struct sr_mock_ask *ask, size_t call, const struct content *content,
                     struct sr_json_writer *w)
{
    put_text(ask, "arguments", SR_MOCK_CALL, call, content, w);
    sr_mock_put_id(ask, "call_id", "call_mock_", call, w);
    sr_mock_put_tool(ask, call, w);
}

static void put_item(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind, size_t call,
                     const struct content *content, struct sr_json_writer *w)
{
    static const char *const types[] = {"reasoning", "message", "function_call"};
    sr_json_object(w, key);
    put_item_id(ask, "id", kind, call, w);
    sr_json_text(w, "type", types[kind]);
    if (kind != SR_MOCK_REASONING)
        sr_json_text(w, "status", content->begun ? "completed" : "in_progress");
    if (kind == SR_MOCK_CALL) {
        put_call(ask, call, content, w);
    } else {
        sr_json_array(w, kind == SR_MOCK_TEXT ? "content" : "summary");
        if (content->begun)
            put_part(ask, NULL, kind, content, w);
        sr_json_array_end(w);
    }
    if (kind == SR_MOCK_TEXT)
        sr_json_text(w, "role", "assistant");
    sr_json_object_end(w);
}

/* ---- the response ------------------------------------------------------------------------------------ */

static void put_usage(const struct sr_mock_ask *ask, uint64_t n_chunks, struct sr_json_writer *w)
{
    uint64_t prompt = sr_mock_prompt_tokens(ask), answer = sr_mock_answer_tokens(ask, n_chunks);
    sr_json_object(w, "usage");
    sr_json_uint(w, "input_tokens", prompt);
    sr_json_object(w, "input_tokens_details");
    sr_json_uint(w, "cached_tokens", sr_mock_cached_tokens(ask));
    sr_json_uint(w, "cache_write_tokens", 0);
    sr_json_object_end(w);
    sr_json_uint(w, "output_tokens", answer);
    sr_json_object(w, "output_tokens_details");
    sr_json_uint(w, "reasoning_tokens", sr_mock_reasoning_tokens(ask));
    sr_json_object_end(w);
    sr_json_uint(w, "total_tokens", prompt + answer);
    sr_json_object_end(w);
    sr_mock_put_times(ask, w);
}

/* Members that repeat the request, or their defaults. */
static void put_echoes(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    static const struct {
        const char *key;
        enum sr_mock_echo at;
        struct sr_bytes missing;
    } echoes[] = {
        {"instructions", SR_MOCK_ECHO_INSTRUCTIONS, {"null", 4}},
        {"max_output_tokens", SR_MOCK_ECHO_MAX_OUTPUT_TOKENS, {"null", 4}},
        {"metadata", SR_MOCK_ECHO_METADATA, {"{}", 2}},
        {"previous_response_id", SR_MOCK_ECHO_PREVIOUS, {"null", 4}},
        {"reasoning", SR_MOCK_ECHO_REASONING, {"{\"effort\":null,\"summary\":null}", 30}},
        {"text", SR_MOCK_ECHO_TEXT, {"{\"format\":{\"type\":\"text\"}}", 26}},
        {"tool_choice", SR_MOCK_ECHO_TOOL_CHOICE, {"\"auto\"", 6}},
        {"tools", SR_MOCK_ECHO_TOOLS, {"[]", 2}},
    };
    for (size_t i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
        struct sr_bytes given = ask->echo[echoes[i].at];
        sr_json_raw(w, echoes[i].key, given.p ? given : echoes[i].missing);
    }
    sr_json_bool(w, "parallel_tool_calls", true);
    sr_json_bool(w, "background", false);
    sr_json_bool(w, "store", true);
    sr_json_text(w, "service_tier", "default");
    sr_json_text(w, "truncation", "disabled");
    sr_json_real(w, "temperature", "%.1f", 1);
    sr_json_real(w, "top_p", "%.1f", 1);
    sr_json_uint(w, "top_logprobs", 0);
}

/* From the root to the output, whose items follow. */
static void put_opening(const struct sr_mock_ask *ask, const char *key, bool done, struct sr_json_writer *w)
{
    bool cut = done && sr_mock_cut(ask);
    sr_json_object(w, key);
    sr_mock_put_id(ask, "id", "resp_mock_", ask->worker, w);
    sr_json_text(w, "object", "response");
    sr_json_uint(w, "created_at", SR_MOCK_CREATED);
    sr_json_text(w, "status", cut ? "incomplete" : done ? "completed" : "in_progress");
    sr_json_null(w, "error");
    if (cut) {
        sr_json_object(w, "incomplete_details");
        sr_json_text(w, "reason", "max_output_tokens");
        sr_json_object_end(w);
    } else {
        sr_json_null(w, "incomplete_details");
    }
    sr_mock_put_model(ask, w);
    put_echoes(ask, w);
    sr_json_array(w, "output");
}

static int whole(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    struct sr_json_writer w = sr_json_writer_of(head);
    struct content content = {.begun = true, .rest = tail};
    put_opening(ask, NULL, true, &w);
    for (size_t i = 0; i < sr_mock_blocks(ask); i++) {
        size_t call;
        enum sr_mock_block kind = sr_mock_block(ask, i, &call);
        put_item(ask, NULL, kind, call, &content, &w);
    }
    sr_json_array_end(&w);
    put_usage(ask, SR_MOCK_CHUNKS, &w);
    sr_json_object_end(&w);
    return w.rc;
}

/* ---- streams ----------------------------------------------------------------------------------------- */

static struct sr_json_writer event(const char *type, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_printf(out, "event: %s\ndata: ", type)};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", type);
    sr_json_uint(&w, "sequence_number", beat->frame);
    return w;
}

static int event_end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append_bytes(w->out, SR_LIT("\n\n"));
}

static int put_state(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, const char *type,
                     struct sr_buf *out)
{
    struct sr_json_writer w = event(type, beat, out);
    put_opening(ask, "response", false, &w);
    sr_json_array_end(&w);
    sr_json_null(&w, "usage");
    sr_json_object_end(&w);
    return event_end(&w);
}

/* The end of a stream repeats what its events had. */
static int put_completed(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    const char *type = sr_mock_cut(ask) ? "response.incomplete" : "response.completed";
    struct sr_json_writer w = event(type, beat, out);
    put_opening(ask, "response", true, &w);
    size_t frame = sr_mock_speech_responses.opening;
    for (size_t i = 0; i < sr_mock_blocks(ask); i++) {
        struct sr_mock_beat of = sr_mock_speech_beat(&sr_mock_speech_responses, ask, beat->n_chunks, frame);
        of.fill = beat->fill;
        struct content content = {.begun = true, .streamed = true, .beat = &of};
        put_item(ask, NULL, of.kind, of.call, &content, &w);
        frame +=
            sr_mock_speech_responses.begin[of.kind] + of.n_pieces + sr_mock_speech_responses.end[of.kind];
    }
    sr_json_array_end(&w);
    put_usage(ask, beat->n_chunks, &w);
    sr_json_object_end(&w);
    return event_end(&w);
}

static void put_where(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, bool part,
                      struct sr_json_writer *w)
{
    put_item_id(ask, "item_id", beat->kind, beat->call, w);
    sr_json_uint(w, "output_index", beat->block);
    if (part)
        sr_json_uint(w, beat->kind == SR_MOCK_TEXT ? "content_index" : "summary_index", 0);
}

static int put_item_event(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, bool done,
                          struct sr_buf *out)
{
    struct content content = {.begun = done, .streamed = true, .beat = beat};
    struct sr_json_writer w =
        event(done ? "response.output_item.done" : "response.output_item.added", beat, out);
    sr_json_uint(&w, "output_index", beat->block);
    put_item(ask, "item", beat->kind, beat->call, &content, &w);
    return event_end(&w);
}

static int put_part_event(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, bool done,
                          struct sr_buf *out)
{
    static const char *const types[2][2] = {
        {"response.reasoning_summary_part.added", "response.reasoning_summary_part.done"},
        {"response.content_part.added", "response.content_part.done"},
    };
    struct content content = {.begun = done, .streamed = true, .beat = beat};
    struct sr_json_writer w = event(types[beat->kind == SR_MOCK_TEXT][done], beat, out);
    put_where(ask, beat, true, &w);
    put_part(ask, "part", beat->kind, &content, &w);
    return event_end(&w);
}

static int put_text_event(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, bool done,
                          struct sr_buf *out)
{
    static const char *const types[][2] = {
        {"response.reasoning_summary_text.delta", "response.reasoning_summary_text.done"},
        {"response.output_text.delta", "response.output_text.done"},
        {"response.function_call_arguments.delta", "response.function_call_arguments.done"},
    };
    const char *whole = beat->kind == SR_MOCK_CALL ? "arguments" : "text";
    struct sr_json_writer w = event(types[beat->kind][done], beat, out);
    put_where(ask, beat, beat->kind != SR_MOCK_CALL, &w);
    if (beat->kind == SR_MOCK_CALL && done)
        sr_mock_put_tool(ask, beat->call, &w);
    sr_json_string(&w, done ? whole : "delta");
    if (!w.rc)
        w.rc = done ? sr_mock_pieces(ask, beat, out) : sr_mock_piece(ask, beat, out);
    sr_json_string_end(&w);
    if (beat->kind == SR_MOCK_TEXT) {
        sr_json_array(&w, "logprobs");
        sr_json_array_end(&w);
    }
    return event_end(&w);
}

static int put_end(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    size_t frames = sr_mock_speech_responses.end[beat->kind];
    if (beat->at == 0)
        return put_text_event(ask, beat, true, out);
    return beat->at + 1 < frames ? put_part_event(ask, beat, true, out)
                                 : put_item_event(ask, beat, true, out);
}

static int frame(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    switch (beat->phase) {
    case SR_MOCK_OPENING:
        return put_state(ask, beat, beat->at == 0 ? "response.created" : "response.in_progress", out);
    case SR_MOCK_BEGIN:
        return beat->at == 0 ? put_item_event(ask, beat, false, out) : put_part_event(ask, beat, false, out);
    case SR_MOCK_PIECE:
        return put_text_event(ask, beat, false, out);
    case SR_MOCK_END:
        return put_end(ask, beat, out);
    case SR_MOCK_CLOSING:
        break;
    }
    return put_completed(ask, beat, out);
}

static size_t closing(const struct sr_mock_ask *ask)
{
    (void)ask;
    return 1;
}

const struct sr_mock_speech sr_mock_speech_responses = {
    .opening = 2,
    .begin = {[SR_MOCK_REASONING] = 2, [SR_MOCK_TEXT] = 2, [SR_MOCK_CALL] = 1},
    .end = {[SR_MOCK_REASONING] = 3, [SR_MOCK_TEXT] = 3, [SR_MOCK_CALL] = 2},
    .closing = closing,
    .whole = whole,
    .frame = frame,
};
