/* Chat completions: POST /v1/chat/completions. */
#include "dialect/openai.h"
#include "dialect/registry.h"

static const struct sr_path_spec request[] = {
    SR_OPENAI_COMMON,
    SR_OPENAI_GENERATION,
    {"messages", SR_AT_MESSAGES, SR_CLASS_INERT},
    {"messages[]", SR_AT_MESSAGE, SR_CLASS_INERT},
    {"messages[].role", SR_AT_ROLE, SR_CLASS_INERT},
    {"messages[].content", SR_AT_CONTENT, SR_CLASS_JUDGED},
    {"messages[].content[]", SR_AT_PART, SR_CLASS_CARRIED},
    {"messages[].content[].text", SR_AT_PART_TEXT, SR_CLASS_JUDGED},
    {"messages[].content[].refusal", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"messages[].refusal", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"messages[].reasoning", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"messages[].reasoning_content", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"messages[].function_call.arguments", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"messages[].tool_calls[]", SR_AT_TOOL_CALL, SR_CLASS_CARRIED},
    {"messages[].tool_calls[].function.arguments", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"tools", SR_AT_TOOLS, SR_CLASS_CARRIED},
    {"tools[]", SR_AT_TOOL, SR_CLASS_CARRIED},
    {"tools[].function.name", SR_AT_TOOL_NAME, SR_CLASS_CARRIED},
    {"tools[].function.description", SR_AT_TOOL_DESCRIPTION, SR_CLASS_CARRIED},
    {"tool_choice", SR_AT_TOOL_CHOICE, SR_CLASS_INERT},
    {"reasoning_effort", SR_AT_REASONING_EFFORT, SR_CLASS_INERT},
    {"chat_template_kwargs", SR_AT_KWARGS, SR_CLASS_CARRIED},
    {"chat_template_kwargs.*", SR_AT_KWARGS_ITEM, SR_CLASS_CARRIED},
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
    .routes_auto = true,
    .has_messages = true,
    .takes_system_prompt = true,
    .takes_reasoning = true,
    .takes_usage_option = true,
    .takes_chat_path = true,
    .done = SR_OPENAI_DONE,
    .error = sr_openai_error,
    .error_event = sr_openai_error_event,
    .completion = completion,
    .completion_stream = completion_stream,
    .stream_end = stream_end,
};
