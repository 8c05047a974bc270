/* Which dialect writes an answer; errors and lists of models. */
#include "mock/answer.h"

#include "mock/embeddings.h"
#include "mock/speech.h"

static const struct sr_mock_speech *speech_of(const struct sr_mock_ask *ask)
{
    switch (ask->endpoint) {
    case SR_MOCK_RESPONSES:
        return &sr_mock_speech_responses;
    case SR_MOCK_MESSAGES:
        return &sr_mock_speech_messages;
    case SR_MOCK_COMPLETION:
        return &sr_mock_speech_completion;
    default:
        return &sr_mock_speech_chat;
    }
}

static int put_count(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    if (ask->endpoint == SR_MOCK_INPUT_TOKENS)
        sr_json_text(&w, "object", "response.input_tokens");
    sr_json_uint(&w, "input_tokens", sr_mock_prompt_tokens(ask));
    sr_json_object_end(&w);
    return w.rc;
}

int sr_mock_answer(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail)
{
    if (ask->endpoint == SR_MOCK_EMBEDDING)
        return sr_mock_embeddings(ask, head);
    if (!sr_mock_generates(ask->endpoint))
        return put_count(ask, head);
    return speech_of(ask)->whole(ask, head, tail);
}

static size_t chunks_of(size_t n_chunks)
{
    return n_chunks ? n_chunks : SR_MOCK_CHUNKS;
}

size_t sr_mock_frames(const struct sr_mock_ask *ask, size_t n_chunks)
{
    return sr_mock_speech_frames(speech_of(ask), ask, chunks_of(n_chunks));
}

size_t sr_mock_frames_before(const struct sr_mock_ask *ask)
{
    return sr_mock_speech_before(speech_of(ask), ask);
}

int sr_mock_frame(const struct sr_mock_ask *ask, size_t n_chunks, size_t at, size_t fill, struct sr_buf *out)
{
    const struct sr_mock_speech *speech = speech_of(ask);
    struct sr_mock_beat beat = sr_mock_speech_beat(speech, ask, chunks_of(n_chunks), at);
    beat.fill = fill;
    return speech->frame(ask, &beat, out);
}

int sr_mock_models(const char *model, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "id", model);
    sr_json_text(&w, "object", "model");
    sr_json_uint(&w, "created", SR_MOCK_CREATED);
    sr_json_text(&w, "owned_by", "semroute");
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

/* Anthropic's word for a status. */
static const char *messages_type(int status)
{
    static const struct {
        int status;
        const char *type;
    } types[] = {
        {401, "authentication_error"}, {403, "permission_error"}, {404, "not_found_error"},
        {413, "request_too_large"},    {429, "rate_limit_error"}, {529, "overloaded_error"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].status == status)
            return types[i].type;
    return status < 500 ? "invalid_request_error" : "api_error";
}

static int put_messages_error(int status, const char *message, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", "error");
    sr_json_object(&w, "error");
    sr_json_text(&w, "type", messages_type(status));
    sr_json_text(&w, "message", message);
    sr_json_object_end(&w);
    sr_json_text(&w, "request_id", "req_mock");
    sr_json_object_end(&w);
    return w.rc;
}

int sr_mock_error(enum sr_mock_endpoint endpoint, int status, const char *message, struct sr_buf *out)
{
    if (endpoint == SR_MOCK_MESSAGES || endpoint == SR_MOCK_COUNT_TOKENS)
        return put_messages_error(status, message, out);
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_text(&w, "message", message);
    sr_json_text(&w, "type", status < 500 ? "invalid_request_error" : "server_error");
    sr_json_null(&w, "param");
    sr_json_int(&w, "code", status);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

/* The event of Responses has the error's members themselves. */
static int put_responses_event(int status, const char *message, struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_append_bytes(out, SR_LIT("event: error\ndata: "))};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", "error");
    sr_json_uint(&w, "sequence_number", 0);
    sr_json_text(&w, "code", status < 500 ? "invalid_request_error" : "server_error");
    sr_json_text(&w, "message", message);
    sr_json_null(&w, "param");
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append_bytes(out, SR_LIT("\n\n"));
}

int sr_mock_error_frame(enum sr_mock_endpoint endpoint, int status, const char *message, struct sr_buf *out)
{
    if (endpoint == SR_MOCK_RESPONSES)
        return put_responses_event(status, message, out);
    int rc = sr_buf_append_bytes(out, endpoint == SR_MOCK_MESSAGES ? SR_LIT("event: error\ndata: ")
                                                                   : SR_LIT("data: "));
    if (rc == SR_OK)
        rc = sr_mock_error(endpoint, status, message, out);
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("\n\n")) : rc;
}
