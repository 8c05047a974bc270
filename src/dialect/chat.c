/* Chat completions: POST /v1/chat/completions. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_SAMPLING,
    SR_ROWS_CHAT,
    {"system", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    SR_ROW_TEXT("prompt"),
    SR_ROW_TEXT("input"),
    SR_ROW_TEXT("suffix"),
    SR_ROW_TEXT("prediction"),
    SR_ROW_TEXT("web_search_options"),
    SR_ROW_TEXT("reasoning"),
    SR_ROW_TEXT("thinking"),
    SR_ROW_INERT("modalities"),
    SR_ROW_INERT("audio"),
    SR_ROW_INERT("include_reasoning"),
    {"max_completion_tokens", SR_AT_MAX_COMPLETION_TOKENS, SR_CLASS_INERT},
};

static const struct sr_openai_shape shape = {
    .id = "chatcmpl",
    .whole = "chat.completion",
    .chunk = "chat.completion.chunk",
    .has_messages = true,
    .text = "content",
};

static int completion(const struct sr_completion *completion, struct sr_buf *out)
{
    return sr_openai_completion(&shape, completion, out);
}

static int completion_stream(const struct sr_completion *completion, struct sr_buf *out)
{
    return sr_openai_completion_stream(&shape, completion, out);
}

static int stream_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    return sr_openai_stream_end(&shape, end, out);
}

const struct sr_dialect_ops sr_dialect_chat = {
    .name = "chat",
    .path = "/v1/chat/completions",
    .request = SR_DIALECT_TABLE(request),
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS},
    .generates = true,
    .routes_auto = true,
    .has_messages = true,
    .takes_system_prompt = true,
    .takes_tools = true,
    .reasoning = SR_REASONING_FORM_MEMBERS,
    .takes_usage_option = true,
    .takes_chat_path = true,
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = completion,
    .completion_stream = completion_stream,
    .stream_end = stream_end,
};
