/* Responses: POST /v1/responses. The input is a string or a list of items: messages, calls, results,
 * reasoning. Items of a response that this one continues are put into the input first; what the upstream
 * keeps (a conversation, a prompt, an item that is only named) is unread. */
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/responses_write.h"
#include "dialect/rows.h"

static const struct sr_path_spec request[] = {
    SR_ROWS_COMMON,
    SR_ROWS_EXTRA,
    SR_ROWS_SAMPLING,
    {"instructions", SR_AT_SYSTEM, SR_CLASS_JUDGED},
    {"input", SR_AT_PROMPT, SR_CLASS_JUDGED},
    {"input[]", SR_AT_MESSAGE, SR_CLASS_JUDGED},
    {"input[].type", SR_AT_TYPE, SR_CLASS_INERT},
    {"input[].role", SR_AT_ROLE, SR_CLASS_INERT},
    {"input[].id", SR_AT_ITEM_ID, SR_CLASS_ID},
    SR_ROW_ID("input[].call_id"),
    SR_ROW_ID("input[].approval_request_id"),
    SR_ROW_INERT("input[].status"),
    SR_ROW_INERT("input[].phase"),
    {"input[].content", SR_AT_CONTENT, SR_CLASS_JUDGED},
    {"input[].content[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"input[].content[].type", SR_AT_TYPE, SR_CLASS_INERT},
    {"input[].content[].text", SR_AT_PART_TEXT, SR_CLASS_JUDGED},
    {"input[].content[].refusal", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    SR_ROW_INERT("input[].content[].detail"),
    SR_ROW_TEXT("input[].content[].annotations"),
    SR_ROWS_MEDIA("input[].content[]."),
    SR_ROW_FILE("input[].content[].source"),
    SR_ROW_TEXT("input[].content[].filename"),
    {"input[].name", SR_AT_CALL_NAME, SR_CLASS_JUDGED},
    {"input[].arguments", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"input[].input", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"input[].output", SR_AT_TOOL_RESULT, SR_CLASS_JUDGED},
    {"input[].output[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"input[].output[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("input[].output[].text"),
    SR_ROWS_MEDIA("input[].output[]."),
    SR_ROW_FILE("input[].output[].source"),
    SR_ROWS_MEDIA("input[].output."),
    SR_ROW_INERT("input[].output.type"),
    {"input[].summary", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    {"input[].summary[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"input[].summary[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("input[].summary[].text"),
    SR_ROW_ENCRYPTED("input[].encrypted_content"),
    SR_ROW_IMAGE("input[].result"),
    SR_ROW_TEXT("input[].action"),
    SR_ROW_TEXT("input[].results"),
    SR_ROW_TEXT("input[].code"),
    SR_ROW_TEXT("input[].outputs"),
    SR_ROW_TEXT("input[].outputs[]"),
    SR_ROW_IMAGE("input[].outputs[].url"),
    SR_ROW_TEXT("input[].tools"),
    {"tools", SR_AT_TOOLS, SR_CLASS_JUDGED},
    {"tools[]", SR_AT_TOOL, SR_CLASS_JUDGED},
    {"tools[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROWS_FUNCTION("tools[]."),
    SR_ROW_STORED("tools[].vector_store_ids"),
    SR_ROW_STORED("tools[].container"),
    SR_ROW_INERT("tools[].container.type"),
    SR_ROW_STORED("tools[].container.id"),
    SR_ROW_FILE("tools[].container.file_ids"),
    SR_ROW_STORED("tools[].container.skills"),
    SR_ROW_TEXT("tools[].environment"),
    SR_ROW_INERT("tools[].environment.type"),
    SR_ROW_STORED("tools[].environment.container_id"),
    SR_ROW_FILE("tools[].environment.file_ids"),
    SR_ROW_STORED("tools[].environment.skills"),
    SR_ROW_IMAGE("tools[].input_image_mask"),
    {"tool_choice", SR_AT_TOOL_CHOICE, SR_CLASS_INERT},
    SR_ROW_INERT("parallel_tool_calls"),
    SR_ROW_TEXT("prompt"),
    SR_ROW_STORED("prompt.id"),
    SR_ROW_ID("prompt.version"),
    SR_ROW_MIXED("prompt.variables"),
    SR_ROW_TEXT("text"),
    SR_ROW_TEXT("text.format"),
    SR_ROW_INERT("text.verbosity"),
    {"reasoning", SR_AT_REASONING, SR_CLASS_INERT},
    {"reasoning.effort", SR_AT_REASONING_EFFORT, SR_CLASS_INERT},
    SR_ROW_INERT("reasoning.summary"),
    SR_ROW_INERT("reasoning.generate_summary"),
    SR_ROW_INERT("include"),
    {"background", SR_AT_BACKGROUND, SR_CLASS_INERT},
    SR_ROW_INERT("truncation"),
    {"max_output_tokens", SR_AT_MAX_OUTPUT_TOKENS, SR_CLASS_INERT},
    SR_ROW_INERT("max_tool_calls"),
    {"previous_response_id", SR_AT_PREVIOUS, SR_CLASS_ID},
    SR_ROW_STORED("conversation"),
};

#define TEXT  SR_CLASS_JUDGED | SR_CLASS_RESTORES
#define INERT SR_CLASS_INERT

/* The items of an output, in a whole answer, in the events of one item, and in the last event. */
#define ITEM(at)                                                                                             \
    {at "content[].text", SR_ANSWER_PART, TEXT}, {at "content[].refusal", SR_ANSWER_WHOLE_REFUSAL, TEXT},    \
        {at "summary[].text", SR_ANSWER_WHOLE_REASONING, TEXT},                                              \
        {at "arguments", SR_ANSWER_WHOLE_ARGUMENTS, TEXT}, {at "code", SR_ANSWER_PART, TEXT},                \
        {at "action.command[]", SR_ANSWER_COMMAND, TEXT}, {at "action.commands[]", SR_ANSWER_COMMAND, TEXT}, \
        {at "action.working_directory", SR_ANSWER_PART, TEXT}, {at "action.text", SR_ANSWER_PART, TEXT},     \
        {at "operation.path", SR_ANSWER_PART, TEXT}, {at "operation.diff", SR_ANSWER_PART, TEXT},            \
    {                                                                                                        \
        at "input", SR_ANSWER_PART, TEXT                                                                     \
    }

#define USAGE(at)                                                                                            \
    {at "usage", SR_ANSWER_USAGE, INERT}, {at "usage.input_tokens", SR_ANSWER_PROMPT_TOKENS, INERT},         \
        {at "usage.output_tokens", SR_ANSWER_COMPLETION_TOKENS, INERT},                                      \
        {at "usage.input_tokens_details.cached_tokens", SR_ANSWER_CACHED_TOKENS, INERT},                     \
    {                                                                                                        \
        at "usage.input_tokens_details.cache_write_tokens", SR_ANSWER_CACHE_WRITE_TOKENS, INERT              \
    }

static const struct sr_path_spec answer[] = {
    {"id", SR_ANSWER_ID, INERT},
    {"model", SR_ANSWER_MODEL, INERT},
    {"created_at", SR_ANSWER_CREATED, INERT},
    {"status", SR_ANSWER_STATUS, INERT},
    {"previous_response_id", SR_ANSWER_PREVIOUS, INERT},
    USAGE(""),
    {"output[]", SR_ANSWER_BLOCK, INERT},
    ITEM("output[]."),

    {"type", SR_ANSWER_TYPE, INERT},
    {"sequence_number", SR_ANSWER_SEQUENCE, INERT},
    {"output_index", SR_ANSWER_INDEX, INERT},
    {"command_index", SR_ANSWER_CALL_INDEX, INERT},
    {"delta", SR_ANSWER_DELTA, TEXT},
    {"command", SR_ANSWER_COMMAND, TEXT},
    {"diff", SR_ANSWER_PART, TEXT},
    {"text", SR_ANSWER_PART, TEXT},
    {"refusal", SR_ANSWER_WHOLE_REFUSAL, TEXT},
    {"arguments", SR_ANSWER_WHOLE_ARGUMENTS, TEXT},
    {"input", SR_ANSWER_PART, TEXT},
    {"code", SR_ANSWER_PART, TEXT},
    {"part.text", SR_ANSWER_PART, TEXT},
    {"part.refusal", SR_ANSWER_WHOLE_REFUSAL, TEXT},
    ITEM("item."),
    {"response.id", SR_ANSWER_ID, INERT},
    {"response.model", SR_ANSWER_MODEL, INERT},
    {"response.created_at", SR_ANSWER_CREATED, INERT},
    {"response.status", SR_ANSWER_STATUS, INERT},
    {"response.previous_response_id", SR_ANSWER_PREVIOUS, INERT},
    USAGE("response."),
    {"response.output[]", SR_ANSWER_BLOCK, INERT},
    ITEM("response.output[]."),
};

static bool ends_with(struct sr_bytes type, struct sr_bytes end)
{
    return type.n >= end.n && memcmp(type.p + type.n - end.n, end.p, end.n) == 0;
}

static struct sr_event_kind event_kind(struct sr_bytes type)
{
    static const struct {
        struct sr_bytes type;
        uint16_t delta;
    } deltas[] = {
        {{"response.output_text.delta", 26}, SR_ANSWER_TEXT},
        {{"response.refusal.delta", 22}, SR_ANSWER_REFUSAL},
        {{"response.reasoning_summary_text.delta", 37}, SR_ANSWER_REASONING},
        {{"response.reasoning_text.delta", 29}, SR_ANSWER_REASONING},
        {{"response.function_call_arguments.delta", 38}, SR_ANSWER_ARGUMENTS},
        {{"response.mcp_call_arguments.delta", 33}, SR_ANSWER_ARGUMENTS},
        {{"response.custom_tool_call_input.delta", 37}, SR_ANSWER_TEXT},
        {{"response.code_interpreter_call_code.delta", 41}, SR_ANSWER_TEXT},
        {{"response.shell_call_command.delta", 33}, SR_ANSWER_TEXT},
        {{"response.apply_patch_call_operation_diff.delta", 46}, SR_ANSWER_TEXT},
    };
    struct sr_event_kind kind = {
        .begins = sr_bytes_eq(type, SR_LIT("response.created")),
        .ends = sr_bytes_eq(type, SR_LIT("response.completed")) ||
                sr_bytes_eq(type, SR_LIT("response.incomplete")) ||
                sr_bytes_eq(type, SR_LIT("response.failed")),
        .opens = sr_bytes_eq(type, SR_LIT("response.output_item.added")),
        .closes = sr_bytes_eq(type, SR_LIT("response.output_item.done")),
        .completes = ends_with(type, SR_LIT(".done")),
    };
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++)
        if (sr_bytes_eq(type, deltas[i].type))
            kind.delta = deltas[i].delta;
    return kind;
}

const struct sr_dialect_ops sr_dialect_responses = {
    .name = "responses",
    .path = "/v1/responses",
    .request = SR_DIALECT_TABLE(request),
    .answer = SR_DIALECT_TABLE(answer),
    .generates = true,
    .routes_auto = true,
    .takes_system_prompt = true,
    .system_member = "instructions",
    .takes_tools = true,
    .tool_form = SR_TOOL_FORM_FLAT,
    .reasoning = SR_REASONING_FORM_EFFORT,
    .keeps_state = true,
    .done = SR_OPENAI_DONE,
    .event_kind = event_kind,
    .error = sr_openai_error,
    .error_event = sr_responses_error_event,
    .completion = sr_responses_completion,
    .completion_stream = sr_responses_completion_stream,
    .stream_end = sr_responses_stream_end,
};

/* Only the model that a request is counted for is chosen, as with that of Messages. Kept items that it
 * continues are counted; nothing of it is kept. */
const struct sr_dialect_ops sr_dialect_input_tokens = {
    .name = "input_tokens",
    .path = "/v1/responses/input_tokens",
    .counts = "responses",
    .request = SR_DIALECT_TABLE(request),
    .answer = SR_DIALECT_TABLE(answer),
    .routes_auto = true,
    .takes_system_prompt = true,
    .system_member = "instructions",
    .takes_tools = true,
    .tool_form = SR_TOOL_FORM_FLAT,
    .keeps_state = true,
    .done = SR_OPENAI_DONE,
    .event_kind = event_kind,
    .error = sr_openai_error,
    .error_event = sr_responses_error_event,
    .completion = sr_responses_count,
    .completion_stream = sr_responses_count,
    .stream_end = sr_responses_stream_end,
};
