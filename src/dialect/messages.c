/* Messages of Anthropic: POST /v1/messages. Content is a string or a list of blocks; blocks of results and
 * documents hold blocks again. */
#include "dialect/messages_write.h"
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_SAMPLING,
    SR_ROW_ID("metadata.user_id"),
    {"system", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    {"system[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"system[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("system[].text"),
    SR_ROW_INERT("system[].cache_control"),
    SR_ROWS_MEDIA("system[]."),
    SR_ROW_FILE("system[].source"),
    {"messages", SR_AT_MESSAGES, SR_CLASS_JUDGED},
    SR_ROWS_MESSAGES,
    {"messages[].content[].thinking", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    SR_ROW_ENCRYPTED("messages[].content[].signature"),
    SR_ROW_ENCRYPTED("messages[].content[].data"),
    SR_ROW_ENCRYPTED("messages[].content[].encrypted_content"),
    SR_ROW_INERT("messages[].content[].cache_control"),
    SR_ROW_ID("messages[].content[].id"),
    SR_ROW_ID("messages[].content[].tool_use_id"),
    SR_ROWS_MEDIA("messages[].content[]."),
    SR_ROW_INERT("messages[].content[].is_error"),
    {"messages[].content[].name", SR_AT_CALL_NAME, SR_CLASS_JUDGED},
    SR_ROW_TEXT("messages[].content[].input"),
    SR_ROW_TEXT("messages[].content[].title"),
    SR_ROW_TEXT("messages[].content[].context"),
    SR_ROW_TEXT("messages[].content[].citations"),
    {"messages[].content[].source", SR_AT_SOURCE, SR_CLASS_FILE},
    {"messages[].content[].source.type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_INERT("messages[].content[].source.media_type"),
    {"messages[].content[].source.data", SR_AT_DATA, SR_CLASS_FILE},
    SR_ROW_FILE("messages[].content[].source.url"),
    SR_ROW_FILE("messages[].content[].source.file_id"),
    SR_ROW_TEXT("messages[].content[].source.content"),
    {"messages[].content[].source.content[]", SR_AT_MEMBER, SR_CLASS_JUDGED},
    SR_ROW_FILE("messages[].content[].source.content[].source"),
    {"messages[].content[].content", SR_AT_TOOL_RESULT, SR_CLASS_JUDGED},
    {"messages[].content[].content[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"messages[].content[].content[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("messages[].content[].content[].text"),
    SR_ROW_TEXT("messages[].content[].content[].title"),
    SR_ROW_TEXT("messages[].content[].content[].url"),
    SR_ROW_TEXT("messages[].content[].content[].page_age"),
    SR_ROW_INERT("messages[].content[].content[].cache_control"),
    SR_ROW_ENCRYPTED("messages[].content[].content[].encrypted_content"),
    SR_ROWS_MEDIA("messages[].content[].content[]."),
    {"messages[].content[].content[].source", SR_AT_SOURCE, SR_CLASS_FILE},
    {"messages[].content[].content[].source.type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_INERT("messages[].content[].content[].source.media_type"),
    {"messages[].content[].content[].source.data", SR_AT_DATA, SR_CLASS_FILE},
    SR_ROW_FILE("messages[].content[].content[].source.url"),
    SR_ROW_FILE("messages[].content[].content[].source.file_id"),
    SR_ROW_FILE("messages[].content[].content[].source.content"),
    {"tools", SR_AT_TOOLS, SR_CLASS_JUDGED},
    {"tools[]", SR_AT_TOOL, SR_CLASS_JUDGED},
    {"tools[].type", SR_AT_TYPE, SR_CLASS_INERT},
    {"tools[].name", SR_AT_TOOL_NAME, SR_CLASS_JUDGED},
    {"tools[].description", SR_AT_TOOL_DESCRIPTION, SR_CLASS_JUDGED},
    SR_ROW_TEXT("tools[].input_schema"),
    SR_ROW_INERT("tools[].cache_control"),
    {"tool_choice", SR_AT_TOOL_CHOICE, SR_CLASS_INERT},
    SR_ROW_MARK("stop_sequences"),
    {"thinking", SR_AT_THINKING, SR_CLASS_INERT},
    SR_ROW_INERT("thinking.type"),
    SR_ROW_INERT("thinking.budget_tokens"),
    SR_ROW_INERT("thinking.display"),
    {"output_config", SR_AT_OUTPUT_CONFIG, SR_CLASS_INERT},
    SR_ROW_TEXT("output_format"),
    SR_ROW_TEXT("context_management"),
    SR_ROW_TEXT("mcp_servers"),
    SR_ROW_STORED("container"),
    SR_ROW_STORED("container.id"),
    SR_ROW_STORED("container.skills"),
};

#define TEXT  SR_CLASS_JUDGED | SR_CLASS_RESTORES
#define INERT SR_CLASS_INERT

/* `input_tokens` do not contain those that were read from a cache or written to it. */
#define USAGE(at)                                                                                            \
    {at "usage", SR_ANSWER_USAGE, INERT}, {at "usage.input_tokens", SR_ANSWER_REST_TOKENS, INERT},           \
        {at "usage.output_tokens", SR_ANSWER_COMPLETION_TOKENS, INERT},                                      \
        {at "usage.cache_read_input_tokens", SR_ANSWER_CACHED_TOKENS, INERT},                                \
    {                                                                                                        \
        at "usage.cache_creation_input_tokens", SR_ANSWER_CACHE_WRITE_TOKENS, INERT                          \
    }

static const struct sr_path_spec answer[] = {
    {"id", SR_ANSWER_ID, INERT},
    {"model", SR_ANSWER_MODEL, INERT},
    {"stop_reason", SR_ANSWER_STOP, INERT},
    USAGE(""),
    {"content[]", SR_ANSWER_BLOCK, INERT},
    {"content[].text", SR_ANSWER_PART, TEXT},
    {"content[].thinking", SR_ANSWER_WHOLE_REASONING, TEXT},
    {"content[].input", SR_ANSWER_INPUT, TEXT},

    {"type", SR_ANSWER_TYPE, INERT},
    {"index", SR_ANSWER_INDEX, INERT},
    {"message.id", SR_ANSWER_ID, INERT},
    {"message.model", SR_ANSWER_MODEL, INERT},
    USAGE("message."),
    {"content_block.text", SR_ANSWER_TEXT, TEXT},
    {"content_block.thinking", SR_ANSWER_REASONING, TEXT},
    {"content_block.input", SR_ANSWER_INPUT, TEXT},
    {"delta.text", SR_ANSWER_TEXT, TEXT},
    {"delta.thinking", SR_ANSWER_REASONING, TEXT},
    {"delta.partial_json", SR_ANSWER_ARGUMENTS, TEXT},
    {"delta.stop_reason", SR_ANSWER_STOP, INERT},
};

static struct sr_event_kind event_kind(struct sr_bytes type)
{
    return (struct sr_event_kind){
        .begins = sr_bytes_eq(type, SR_LIT("message_start")),
        .ends = sr_bytes_eq(type, SR_LIT("message_stop")),
        .opens = sr_bytes_eq(type, SR_LIT("content_block_start")),
        .closes = sr_bytes_eq(type, SR_LIT("content_block_stop")),
    };
}

const struct sr_dialect_ops sr_dialect_messages = {
    .name = "messages",
    .path = "/v1/messages",
    .request = SR_DIALECT_TABLE(request),
    .answer = SR_DIALECT_TABLE(answer),
    .generates = true,
    .routes_auto = true,
    .has_messages = true,
    .takes_system_prompt = true,
    .system_member = "system",
    .takes_tools = true,
    .tool_form = SR_TOOL_FORM_SCHEMA,
    .reasoning = SR_REASONING_FORM_THINKING,
    .needs_max_tokens = true,
    .done = SR_OPENAI_DONE,
    .event_kind = event_kind,
    .error = sr_messages_error,
    .error_event = sr_messages_error_event,
    .completion = sr_messages_completion,
    .completion_stream = sr_messages_completion_stream,
    .stream_end = sr_messages_stream_end,
};

/* Only the model that a request is counted for is chosen: what is counted is answered by no model. */
const struct sr_dialect_ops sr_dialect_count_tokens = {
    .name = "count_tokens",
    .counts = "messages",
    .path = "/v1/messages/count_tokens",
    .request = SR_DIALECT_TABLE(request),
    .answer = SR_DIALECT_TABLE(answer),
    .routes_auto = true,
    .has_messages = true,
    .takes_system_prompt = true,
    .system_member = "system",
    .takes_tools = true,
    .tool_form = SR_TOOL_FORM_SCHEMA,
    .done = SR_OPENAI_DONE,
    .error = sr_messages_error,
    .error_event = sr_messages_error_event,
    .completion = sr_messages_count,
    .completion_stream = sr_messages_count,
    .stream_end = sr_messages_stream_end,
};
