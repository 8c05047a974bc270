/* Chat completions and completions of a prompt, as OpenAI and vLLM write them. */
#include "mock/speech.h"

static const char *finish_reason(const struct sr_mock_ask *ask)
{
    if (sr_mock_cut(ask))
        return "length";
    return ask->calls ? "tool_calls" : "stop";
}

static bool is_chat(const struct sr_mock_ask *ask)
{
    return ask->endpoint == SR_MOCK_CHAT;
}

static void put_usage(const struct sr_mock_ask *ask, uint64_t n_chunks, struct sr_json_writer *w)
{
    uint64_t prompt = sr_mock_prompt_tokens(ask), answer = sr_mock_answer_tokens(ask, n_chunks);
    sr_json_object(w, "usage");
    sr_json_uint(w, "prompt_tokens", prompt);
    sr_json_uint(w, "completion_tokens", answer);
    sr_json_uint(w, "total_tokens", prompt + answer);
    if (ask->measured || ask->cached) {
        sr_json_object(w, "prompt_tokens_details");
        sr_json_uint(w, "cached_tokens", sr_mock_cached_tokens(ask));
        sr_json_object_end(w);
    }
    if (ask->reasons) {
        sr_json_object(w, "completion_tokens_details");
        sr_json_uint(w, "reasoning_tokens", sr_mock_reasoning_tokens(ask));
        sr_json_object_end(w);
    }
    sr_json_object_end(w);
    sr_mock_put_times(ask, w);
}

/* From the root to the list of choices. */
static void put_opening(const struct sr_mock_ask *ask, const char *object, struct sr_json_writer *w)
{
    sr_json_object(w, NULL);
    sr_mock_put_id(ask, "id", "mock-", ask->worker, w);
    sr_json_text(w, "object", object);
    sr_json_uint(w, "created", SR_MOCK_CREATED);
    sr_mock_put_model(ask, w);
    sr_json_array(w, "choices");
    sr_json_object(w, NULL);
    sr_json_uint(w, "index", 0);
}

static void end_choice(const char *finish, struct sr_json_writer *w)
{
    sr_json_null(w, "logprobs");
    sr_json_text(w, "finish_reason", finish);
    sr_json_object_end(w);
    sr_json_array_end(w);
}

/* From the call to the function's arguments, which follow. */
static void put_call(const struct sr_mock_ask *ask, size_t call, bool numbered, struct sr_json_writer *w)
{
    sr_json_object(w, NULL);
    if (numbered)
        sr_json_uint(w, "index", call);
    sr_mock_put_id(ask, "id", "call_mock_", call, w);
    sr_json_text(w, "type", "function");
    sr_json_object(w, "function");
    sr_mock_put_tool(ask, call, w);
}

static void put_calls(const struct sr_mock_ask *ask, struct sr_json_writer *w)
{
    sr_json_array(w, "tool_calls");
    for (size_t i = 0; i < ask->calls; i++) {
        put_call(ask, i, false, w);
        sr_mock_put_content(ask, "arguments", SR_MOCK_CALL, i, w);
        sr_json_object_end(w);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static int whole(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    struct sr_json_writer w = sr_json_writer_of(head);
    bool chat = is_chat(ask);
    put_opening(ask, chat ? "chat.completion" : "text_completion", &w);
    if (chat) {
        sr_json_object(&w, "message");
        sr_json_text(&w, "role", "assistant");
        if (ask->reasons)
            sr_mock_put_content(ask, "reasoning_content", SR_MOCK_REASONING, 0, &w);
    }
    sr_json_string(&w, chat ? "content" : "text");
    if (!w.rc)
        w.rc = sr_mock_content(ask, SR_MOCK_TEXT, 0, head);
    w.out = tail;
    sr_json_string_end(&w);
    if (chat && ask->calls)
        put_calls(ask, &w);
    if (chat)
        sr_json_object_end(&w);
    end_choice(finish_reason(ask), &w);
    put_usage(ask, SR_MOCK_CHUNKS, &w);
    sr_json_object_end(&w);
    return w.rc;
}

static void put_piece(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, const char *key,
                      struct sr_json_writer *w)
{
    sr_json_string(w, key);
    if (!w->rc)
        w->rc = sr_mock_piece(ask, beat, w->out);
    sr_json_string_end(w);
}

/* The first event of a call names it; those that follow have its arguments. */
static void put_call_delta(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat,
                           struct sr_json_writer *w)
{
    sr_json_array(w, "tool_calls");
    if (beat->phase == SR_MOCK_BEGIN) {
        put_call(ask, beat->call, true, w);
        sr_json_text(w, "arguments", "");
    } else {
        sr_json_object(w, NULL);
        sr_json_uint(w, "index", beat->call);
        sr_json_object(w, "function");
        put_piece(ask, beat, "arguments", w);
    }
    sr_json_object_end(w);
    sr_json_object_end(w);
    sr_json_array_end(w);
}

static void put_delta(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat,
                      struct sr_json_writer *w)
{
    if (beat->phase == SR_MOCK_OPENING) {
        sr_json_text(w, "role", "assistant");
        sr_json_text(w, "content", "");
    } else if (beat->phase != SR_MOCK_CLOSING) {
        if (beat->kind == SR_MOCK_CALL)
            put_call_delta(ask, beat, w);
        else
            put_piece(ask, beat, beat->kind == SR_MOCK_TEXT ? "content" : "reasoning_content", w);
    }
}

/* Frames that close a stream: the finish, the usage if it was asked for, "[DONE]". */
static size_t closing(const struct sr_mock_ask *ask)
{
    return 2 + (size_t)ask->include_usage;
}

static int put_usage_frame(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat,
                           struct sr_json_writer *w)
{
    sr_json_object(w, NULL);
    sr_mock_put_id(ask, "id", "mock-", ask->worker, w);
    sr_json_text(w, "object", is_chat(ask) ? "chat.completion.chunk" : "text_completion");
    sr_json_uint(w, "created", SR_MOCK_CREATED);
    sr_mock_put_model(ask, w);
    sr_json_array(w, "choices");
    sr_json_array_end(w);
    put_usage(ask, beat->n_chunks, w);
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append_bytes(w->out, SR_LIT("\n\n"));
}

static int frame(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out)
{
    bool chat = is_chat(ask), closes = beat->phase == SR_MOCK_CLOSING;
    if (closes && beat->at + 1 == closing(ask))
        return sr_buf_append_bytes(out, SR_LIT("data: [DONE]\n\n"));
    struct sr_json_writer w = {.out = out, .rc = sr_buf_append_bytes(out, SR_LIT("data: "))};
    if (closes && beat->at == 1)
        return put_usage_frame(ask, beat, &w);
    put_opening(ask, chat ? "chat.completion.chunk" : "text_completion", &w);
    if (chat) {
        sr_json_object(&w, "delta");
        put_delta(ask, beat, &w);
        sr_json_object_end(&w);
    } else if (closes) {
        sr_json_text(&w, "text", "");
    } else {
        put_piece(ask, beat, "text", &w);
    }
    end_choice(closes ? finish_reason(ask) : NULL, &w);
    if (ask->include_usage)
        sr_json_null(&w, "usage");
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append_bytes(out, SR_LIT("\n\n"));
}

const struct sr_mock_speech sr_mock_speech_chat = {
    .opening = 1, /* names the role */
    .begin = {[SR_MOCK_CALL] = 1},
    .closing = closing,
    .whole = whole,
    .frame = frame,
};

const struct sr_mock_speech sr_mock_speech_completion = {
    .closing = closing,
    .whole = whole,
    .frame = frame,
};
