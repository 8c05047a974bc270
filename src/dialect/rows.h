/*
 * Rows that the tables of requests share: members that many APIs have, with their classes.
 *
 * A member without a row is judged, its key too. So a table names what is no text, what the router itself
 * reads, and every member of the API whose key need not be judged.
 */
#ifndef SR_DIALECT_ROWS_H
#define SR_DIALECT_ROWS_H

#include "dialect/dialect.h"

/* clang-format off */
#define SR_ROW_TEXT(path)      {path, SR_AT_MEMBER, SR_CLASS_JUDGED}
#define SR_ROW_INERT(path)     {path, SR_AT_MEMBER, SR_CLASS_INERT}
#define SR_ROW_ID(path)        {path, SR_AT_MEMBER, SR_CLASS_ID}
#define SR_ROW_MARK(path)      {path, SR_AT_MEMBER, SR_CLASS_MARK}
#define SR_ROW_IMAGE(path)     {path, SR_AT_MEMBER, SR_CLASS_IMAGE}
#define SR_ROW_AUDIO(path)     {path, SR_AT_MEMBER, SR_CLASS_AUDIO}
#define SR_ROW_FILE(path)      {path, SR_AT_MEMBER, SR_CLASS_FILE}
#define SR_ROW_ENCRYPTED(path) {path, SR_AT_MEMBER, SR_CLASS_ENCRYPTED}
#define SR_ROW_STORED(path)    {path, SR_AT_MEMBER, SR_CLASS_STORED}
#define SR_ROW_TOKENS(path)    {path, SR_AT_MEMBER, SR_CLASS_TOKENS}
#define SR_ROW_MIXED(path)     {path, SR_AT_MIXED, SR_CLASS_JUDGED}

/* Members that a request of any dialect may have. `model` is carried: a request is refused unless it is one of
 * the configured names. */
#define SR_ROWS_COMMON                                                                                       \
    {"model", SR_AT_MODEL, SR_CLASS_CARRIED}, {"stream", SR_AT_STREAM, SR_CLASS_INERT},                        \
    {"metadata", SR_AT_METADATA, SR_CLASS_JUDGED}, {"metadata.*", SR_AT_METADATA_ITEM, SR_CLASS_JUDGED},     \
    {"user", SR_AT_USER, SR_CLASS_ID}, SR_ROW_ID("safety_identifier"), SR_ROW_ID("prompt_cache_key"),        \
    SR_ROW_INERT("prompt_cache_retention"), {"service_tier", SR_AT_SERVICE_TIER, SR_CLASS_INERT}, {"store", SR_AT_STORE, SR_CLASS_INERT},  \
    SR_ROW_INERT("priority"), SR_ROW_ID("request_id"), SR_ROW_ID("cache_salt"),                              \
    SR_ROW_INERT("dimensions"), SR_ROW_INERT("encoding_format"), SR_ROW_INERT("truncate_prompt_tokens"),     \
    SR_ROW_INERT("add_special_tokens"), SR_ROW_TEXT("mm_processor_kwargs")

/* Text and unread members that servers take beside those of an API, with any of its requests. */
#define SR_ROWS_EXTRA                                                                                        \
    SR_ROW_TEXT("chat_template"), SR_ROW_TEXT("extra_body"), SR_ROW_TEXT("vllm_xargs"),                      \
    SR_ROW_TEXT("kv_transfer_params"), SR_ROW_TOKENS("prompt_embeds"), SR_ROW_TOKENS("prompt_token_ids"),    \
    SR_ROW_TOKENS("input_ids"), SR_ROW_TOKENS("token_ids"), SR_ROW_TOKENS("input_embeds"),                   \
    SR_ROW_IMAGE("image_data"), SR_ROW_IMAGE("image_url"), SR_ROW_IMAGE("images"),                           \
    SR_ROW_AUDIO("audio_data"), SR_ROW_FILE("file"), SR_ROW_FILE("files"), SR_ROW_FILE("file_ids"),          \
    SR_ROW_STORED("vector_store_ids")

/* Media in a part of a message, in the shapes of all APIs: servers take those of others, too. */
#define SR_ROWS_MEDIA(part)                                                                                  \
    SR_ROW_IMAGE(part "image_url"), SR_ROW_IMAGE(part "image"), SR_ROW_IMAGE(part "image_pil"),              \
    SR_ROW_IMAGE(part "image_embeds"), SR_ROW_IMAGE(part "input_image"), SR_ROW_IMAGE(part "video_url"),     \
    SR_ROW_IMAGE(part "video"), SR_ROW_AUDIO(part "input_audio"), SR_ROW_AUDIO(part "audio_url"),            \
    SR_ROW_AUDIO(part "audio"), SR_ROW_AUDIO(part "audio_embeds"), SR_ROW_TOKENS(part "prompt_embeds"),      \
    SR_ROW_FILE(part "file"), SR_ROW_FILE(part "file_id"), SR_ROW_FILE(part "file_data"),                    \
    SR_ROW_FILE(part "file_url"), SR_ROW_FILE(part "inline_data")

/* What is compared or ranked: a text, token ids or an object, or a list of these. */
#define SR_ROWS_COMPARED(of)                                                                                 \
    {of, SR_AT_PROMPT, SR_CLASS_JUDGED}, {of "[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},                         \
    SR_ROWS_MEDIA(of "."), SR_ROWS_MEDIA(of "[].")

/* Numbers and words that steer generation, of OpenAI, vLLM and SGLang. */
#define SR_ROWS_SAMPLING                                                                                     \
    SR_ROW_INERT("temperature"), SR_ROW_INERT("top_p"), SR_ROW_INERT("top_k"), SR_ROW_INERT("min_p"),        \
    SR_ROW_INERT("seed"), SR_ROW_INERT("frequency_penalty"), SR_ROW_INERT("presence_penalty"),               \
    SR_ROW_INERT("repetition_penalty"), SR_ROW_INERT("length_penalty"), SR_ROW_INERT("logit_bias"),          \
    SR_ROW_INERT("logprobs"), SR_ROW_INERT("top_logprobs"), SR_ROW_INERT("prompt_logprobs"),                 \
    SR_ROW_INERT("best_of"), SR_ROW_INERT("use_beam_search"), SR_ROW_INERT("early_stopping"),                \
    SR_ROW_INERT("min_tokens"), SR_ROW_INERT("ignore_eos"), SR_ROW_INERT("skip_special_tokens"),             \
    SR_ROW_INERT("spaces_between_special_tokens"), SR_ROW_INERT("include_stop_str_in_output"),               \
    SR_ROW_INERT("stop_token_ids"), SR_ROW_INERT("allowed_token_ids"), SR_ROW_INERT("return_token_ids"),     \
    SR_ROW_INERT("return_tokens_as_token_ids"), SR_ROW_INERT("echo"), SR_ROW_INERT("verbosity"),             \
    SR_ROW_MARK("stop"), SR_ROW_MARK("bad_words"), SR_ROW_TEXT("response_format"),                           \
    SR_ROW_TEXT("guided_json"), SR_ROW_TEXT("guided_regex"), SR_ROW_TEXT("guided_choice"),                   \
    SR_ROW_TEXT("guided_grammar"), SR_ROW_TEXT("guided_whitespace_pattern"),                                 \
    SR_ROW_INERT("guided_decoding_backend"), SR_ROW_TEXT("structured_outputs"),                              \
    SR_ROW_TEXT("structural_tag"), SR_ROW_TEXT("logits_processors"), SR_ROW_TEXT("regex"),                   \
    SR_ROW_TEXT("ebnf"), SR_ROW_TEXT("json_schema"),                                                         \
    {"stream_options", SR_AT_STREAM_OPTIONS, SR_CLASS_INERT},                                                \
    {"stream_options.include_usage", SR_AT_INCLUDE_USAGE, SR_CLASS_INERT},                                   \
    SR_ROW_INERT("stream_options.include_obfuscation"),                                                      \
    SR_ROW_INERT("stream_options.continuous_usage_stats"),                                                   \
    {"max_tokens", SR_AT_MAX_TOKENS, SR_CLASS_INERT}, {"n", SR_AT_N, SR_CLASS_INERT}

/* Tools as chats define them: `list` is "tools[]" or "functions[]", `of` is what holds the function. */
#define SR_ROWS_FUNCTION(of)                                                                                 \
    {of "name", SR_AT_TOOL_NAME, SR_CLASS_JUDGED},                                                           \
    {of "description", SR_AT_TOOL_DESCRIPTION, SR_CLASS_JUDGED}, SR_ROW_TEXT(of "parameters"),               \
    SR_ROW_INERT(of "strict")

/* What messages have in every API: a role, and a content that is a text or a list of parts. */
#define SR_ROWS_MESSAGES                                                                                     \
    {"messages[]", SR_AT_MESSAGE, SR_CLASS_JUDGED},                                                          \
    {"messages[].role", SR_AT_ROLE, SR_CLASS_INERT},                                                         \
    {"messages[].content", SR_AT_CONTENT, SR_CLASS_JUDGED},                                                  \
    {"messages[].content[]", SR_AT_PART, SR_CLASS_JUDGED},                                                   \
    {"messages[].content[].type", SR_AT_TYPE, SR_CLASS_INERT},                                               \
    {"messages[].content[].text", SR_AT_PART_TEXT, SR_CLASS_JUDGED}

/* Chats in the shape of chat completions. */
#define SR_ROWS_CHAT                                                                                         \
    {"messages", SR_AT_MESSAGES, SR_CLASS_JUDGED}, SR_ROWS_MESSAGES,                                         \
    {"messages[].content[].refusal", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                   \
    {"messages[].content[].thinking", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                  \
    SR_ROW_TEXT("messages[].content[].closed"), SR_ROW_ID("messages[].content[].uuid"),                      \
    SR_ROW_INERT("messages[].content[].cache_control"),                                                      \
    SR_ROWS_MEDIA("messages[].content[]."), SR_ROW_FILE("messages[].content[].source"),                      \
    SR_ROW_IMAGE("messages[].images"),                                                                       \
    SR_ROW_TEXT("messages[].name"), SR_ROW_ID("messages[].id"), SR_ROW_ID("messages[].tool_call_id"),        \
    SR_ROW_INERT("messages[].prefix"), SR_ROW_INERT("messages[].partial"),                                   \
    SR_ROW_INERT("messages[].weight"), SR_ROW_INERT("messages[].cache_control"),                             \
    SR_ROW_AUDIO("messages[].audio"),                                                                        \
    SR_ROW_TEXT("messages[].tool_name"), SR_ROW_TEXT("messages[].annotations"),                              \
    {"messages[].refusal", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                             \
    {"messages[].reasoning", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                           \
    {"messages[].reasoning_content", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                   \
    {"messages[].thinking", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                            \
    {"messages[].reasoning_details", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                   \
    {"messages[].reasoning_details[]", SR_AT_PART, SR_CLASS_JUDGED},                                         \
    {"messages[].reasoning_details[].type", SR_AT_TYPE, SR_CLASS_INERT},                                     \
    SR_ROW_ID("messages[].reasoning_details[].id"), SR_ROW_TEXT("messages[].reasoning_details[].format"),    \
    SR_ROW_INERT("messages[].reasoning_details[].index"),                                                    \
    SR_ROW_TEXT("messages[].reasoning_details[].text"),                                                      \
    SR_ROW_TEXT("messages[].reasoning_details[].summary"),                                                   \
    SR_ROW_ENCRYPTED("messages[].reasoning_details[].data"),                                                 \
    SR_ROW_ENCRYPTED("messages[].reasoning_details[].signature"),                                            \
    SR_ROW_ENCRYPTED("messages[].content[].signature"),                                                      \
    {"messages[].thinking_blocks", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                                     \
    {"messages[].thinking_blocks[]", SR_AT_PART, SR_CLASS_JUDGED},                                           \
    {"messages[].thinking_blocks[].type", SR_AT_TYPE, SR_CLASS_INERT},                                       \
    SR_ROW_TEXT("messages[].thinking_blocks[].thinking"),                                                    \
    SR_ROW_ENCRYPTED("messages[].thinking_blocks[].signature"),                                              \
    SR_ROW_ENCRYPTED("messages[].thinking_blocks[].data"),                                                   \
    SR_ROW_INERT("messages[].thinking_blocks[].cache_control"),                                              \
    SR_ROW_TEXT("messages[].function_call"),                                                                 \
    {"messages[].function_call.name", SR_AT_CALL_NAME, SR_CLASS_JUDGED},                                     \
    {"messages[].function_call.arguments", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                             \
    SR_ROW_TEXT("messages[].tool_calls"),                                                                    \
    {"messages[].tool_calls[]", SR_AT_TOOL_CALL, SR_CLASS_JUDGED},                                           \
    SR_ROW_ID("messages[].tool_calls[].id"), SR_ROW_INERT("messages[].tool_calls[].type"),                   \
    SR_ROW_INERT("messages[].tool_calls[].index"), SR_ROW_TEXT("messages[].tool_calls[].function"),          \
    {"messages[].tool_calls[].function.name", SR_AT_CALL_NAME, SR_CLASS_JUDGED},                             \
    {"messages[].tool_calls[].function.arguments", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                     \
    SR_ROW_TEXT("messages[].tool_calls[].custom"),                                                           \
    {"messages[].tool_calls[].custom.name", SR_AT_CALL_NAME, SR_CLASS_JUDGED},                               \
    {"messages[].tool_calls[].custom.input", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},                           \
    {"tools", SR_AT_TOOLS, SR_CLASS_JUDGED}, {"tools[]", SR_AT_TOOL, SR_CLASS_JUDGED},                       \
    SR_ROW_INERT("tools[].type"), SR_ROW_INERT("tools[].cache_control"),                                     \
    SR_ROW_TEXT("tools[].function"), SR_ROWS_FUNCTION("tools[].function."), SR_ROW_TEXT("tools[].custom"),   \
    {"tool_choice", SR_AT_TOOL_CHOICE, SR_CLASS_INERT}, SR_ROW_INERT("parallel_tool_calls"),                 \
    SR_ROW_TEXT("functions"), {"functions[]", SR_AT_TOOL, SR_CLASS_JUDGED},                                  \
    SR_ROWS_FUNCTION("functions[]."), SR_ROW_INERT("function_call"),                                         \
    SR_ROW_TEXT("documents"), {"documents[]", SR_AT_DOCUMENT, SR_CLASS_JUDGED},                              \
    SR_ROW_TEXT("documents[].text"), SR_ROW_TEXT("documents[].title"), SR_ROW_MIXED("documents[].content"),   \
    {"reasoning_effort", SR_AT_REASONING_EFFORT, SR_CLASS_INERT},                                            \
    {"chat_template_kwargs", SR_AT_KWARGS, SR_CLASS_JUDGED},                                                 \
    {"chat_template_kwargs.*", SR_AT_KWARGS_ITEM, SR_CLASS_JUDGED},                                          \
    SR_ROW_INERT("add_generation_prompt"), SR_ROW_INERT("continue_final_message")
/* clang-format on */

#endif
