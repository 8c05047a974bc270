/* Messages of Anthropic: POST /v1/messages. Content is a string or a list of blocks; blocks of results and
 * documents hold blocks again. */
#include "base/json_write.h"
#include "dialect/openai.h"
#include "dialect/registry.h"
#include "dialect/rows.h"

#include <string.h>

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
    {"messages", SR_AT_MESSAGES, SR_CLASS_JUDGED},
    SR_ROWS_MESSAGES,
    {"messages[].content[].thinking", SR_AT_MESSAGE_TEXT, SR_CLASS_JUDGED},
    SR_ROW_ENCRYPTED("messages[].content[].signature"),
    SR_ROW_ENCRYPTED("messages[].content[].data"),
    SR_ROW_ENCRYPTED("messages[].content[].encrypted_content"),
    SR_ROW_INERT("messages[].content[].cache_control"),
    SR_ROW_ID("messages[].content[].id"),
    SR_ROW_ID("messages[].content[].tool_use_id"),
    SR_ROW_ID("messages[].content[].file_id"),
    SR_ROW_INERT("messages[].content[].is_error"),
    SR_ROW_TEXT("messages[].content[].name"),
    SR_ROW_TEXT("messages[].content[].input"),
    SR_ROW_TEXT("messages[].content[].title"),
    SR_ROW_TEXT("messages[].content[].context"),
    SR_ROW_TEXT("messages[].content[].citations"),
    SR_ROW_FILE("messages[].content[].source"),
    {"messages[].content[].source.type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_INERT("messages[].content[].source.media_type"),
    {"messages[].content[].source.data", SR_AT_DATA, SR_CLASS_FILE},
    SR_ROW_FILE("messages[].content[].source.url"),
    SR_ROW_FILE("messages[].content[].source.file_id"),
    SR_ROW_TEXT("messages[].content[].source.content"),
    {"messages[].content[].content", SR_AT_TOOL_RESULT, SR_CLASS_JUDGED},
    {"messages[].content[].content[]", SR_AT_PART, SR_CLASS_JUDGED},
    {"messages[].content[].content[].type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_TEXT("messages[].content[].content[].text"),
    SR_ROW_TEXT("messages[].content[].content[].title"),
    SR_ROW_TEXT("messages[].content[].content[].url"),
    SR_ROW_TEXT("messages[].content[].content[].page_age"),
    SR_ROW_INERT("messages[].content[].content[].cache_control"),
    SR_ROW_ENCRYPTED("messages[].content[].content[].encrypted_content"),
    SR_ROW_FILE("messages[].content[].content[].source"),
    {"messages[].content[].content[].source.type", SR_AT_TYPE, SR_CLASS_INERT},
    SR_ROW_INERT("messages[].content[].content[].source.media_type"),
    {"messages[].content[].content[].source.data", SR_AT_DATA, SR_CLASS_FILE},
    SR_ROW_FILE("messages[].content[].content[].source.url"),
    SR_ROW_FILE("messages[].content[].content[].source.file_id"),
    {"tools", SR_AT_TOOLS, SR_CLASS_JUDGED},
    {"tools[]", SR_AT_TOOL, SR_CLASS_JUDGED},
    SR_ROW_INERT("tools[].type"),
    {"tools[].name", SR_AT_TOOL_NAME, SR_CLASS_JUDGED},
    {"tools[].description", SR_AT_TOOL_DESCRIPTION, SR_CLASS_JUDGED},
    SR_ROW_TEXT("tools[].input_schema"),
    SR_ROW_INERT("tools[].cache_control"),
    {"tool_choice", SR_AT_TOOL_CHOICE, SR_CLASS_INERT},
    SR_ROW_MARK("stop_sequences"),
    SR_ROW_INERT("thinking"),
    SR_ROW_INERT("output_config"),
    SR_ROW_TEXT("output_format"),
    SR_ROW_TEXT("context_management"),
    SR_ROW_TEXT("mcp_servers"),
    SR_ROW_ID("container"),
};

/* The words that Anthropic's clients know. */
static const char *type_of(const char *type)
{
    static const char *const words[][2] = {{"server_error", "api_error"}, {"timeout_error", "api_error"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    return type;
}

/* `{"type":"error","error":{...}}`; `code` and `param` are what other dialects say too. */
static int write_error(const struct sr_dialect_error *error, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", "error");
    sr_json_object(&w, "error");
    sr_json_text(&w, "type", type_of(error->type));
    sr_json_bytes(&w, "message", error->message);
    sr_json_text(&w, "param", error->param);
    sr_json_text(&w, "code", error->code);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

static int write_event(const struct sr_dialect_error *what, struct sr_buf *out)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("event: error\ndata: "));
    if (!rc)
        rc = write_error(what, out);
    return rc ? rc : sr_buf_append(out, "\n\n", 2);
}

const struct sr_dialect_ops sr_dialect_messages = {
    .name = "messages",
    .path = "/v1/messages",
    .request = SR_DIALECT_TABLE(request),
    .has_messages = true,
    SR_OPENAI_WRITERS_BUT(write_error, write_event),
};
