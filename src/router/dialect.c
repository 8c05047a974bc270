/* The path tables, and which endpoint is which. */
#include "router/dialect.h"

/* What every dialect has. */
#define COMMON                                                                                               \
    {"model", SR_AT_MODEL}, {"stream", SR_AT_STREAM}, {"metadata", SR_AT_METADATA},                          \
        {"metadata.*", SR_AT_METADATA_ITEM},                                                                 \
    {                                                                                                        \
        "user", SR_AT_USER                                                                                   \
    }

#define GENERATION                                                                                           \
    {"stream_options", SR_AT_STREAM_OPTIONS}, {"stream_options.include_usage", SR_AT_INCLUDE_USAGE},         \
        {"max_tokens", SR_AT_MAX_TOKENS},                                                                    \
    {                                                                                                        \
        "n", SR_AT_N                                                                                         \
    }

static const struct sr_path_spec chat[] = {
    COMMON,
    GENERATION,
    {"messages", SR_AT_MESSAGES},
    {"messages[]", SR_AT_MESSAGE},
    {"messages[].role", SR_AT_ROLE},
    {"messages[].content", SR_AT_CONTENT},
    {"messages[].content[]", SR_AT_PART},
    {"messages[].content[].text", SR_AT_PART_TEXT},
    {"messages[].content[].refusal", SR_AT_MESSAGE_TEXT},
    {"messages[].refusal", SR_AT_MESSAGE_TEXT},
    {"messages[].reasoning", SR_AT_MESSAGE_TEXT},
    {"messages[].reasoning_content", SR_AT_MESSAGE_TEXT},
    {"messages[].function_call.arguments", SR_AT_MESSAGE_TEXT},
    {"messages[].tool_calls[]", SR_AT_TOOL_CALL},
    {"messages[].tool_calls[].function.arguments", SR_AT_MESSAGE_TEXT},
    {"tools", SR_AT_TOOLS},
    {"tools[]", SR_AT_TOOL},
    {"tools[].function.name", SR_AT_TOOL_NAME},
    {"tools[].function.description", SR_AT_TOOL_DESCRIPTION},
    {"tool_choice", SR_AT_TOOL_CHOICE},
    {"reasoning_effort", SR_AT_REASONING_EFFORT},
    {"chat_template_kwargs", SR_AT_KWARGS},
    {"chat_template_kwargs.*", SR_AT_KWARGS_ITEM},
    {"max_completion_tokens", SR_AT_MAX_COMPLETION_TOKENS},
};

static const struct sr_path_spec completions[] = {
    COMMON,
    GENERATION,
    {"prompt", SR_AT_PROMPT},
    {"prompt[]", SR_AT_PROMPT_ITEM},
};

static const struct sr_path_spec embeddings[] = {
    COMMON,
    {"input", SR_AT_PROMPT},
    {"input[]", SR_AT_PROMPT_ITEM},
};

/* Of other APIs (responses, rankings) the members that hold texts, for guards. */
static const struct sr_path_spec other[] = {
    {"model", SR_AT_MODEL},
    {"stream", SR_AT_STREAM},
    {"input", SR_AT_PROMPT},
    {"input[]", SR_AT_PROMPT_ITEM},
    {"input[].content", SR_AT_PROMPT_ITEM},
    {"input[].content[].text", SR_AT_PROMPT_ITEM},
    {"input[].output", SR_AT_PROMPT_ITEM},
    {"input[].arguments", SR_AT_PROMPT_ITEM},
    {"instructions", SR_AT_PROMPT_ITEM},
    {"prompt", SR_AT_PROMPT_ITEM},
    {"query", SR_AT_PROMPT_ITEM},
    {"documents[]", SR_AT_PROMPT_ITEM},
    {"documents[].text", SR_AT_PROMPT_ITEM},
};

#define TABLE(t) t, sizeof(t) / sizeof((t)[0])

const struct sr_dialect_info sr_dialects[SR_DIALECTS] = {
    [SR_DIALECT_CHAT] = {"chat", "/v1/chat/completions", TABLE(chat), true},
    [SR_DIALECT_COMPLETIONS] = {"completions", "/v1/completions", TABLE(completions), true},
    [SR_DIALECT_EMBEDDINGS] = {"embeddings", "/v1/embeddings", TABLE(embeddings), false},
    [SR_DIALECT_OTHER] = {"other", "", TABLE(other), false},
};

/* A path that an upstream might resolve to something outside of /v1. */
static bool path_climbs(struct sr_bytes path)
{
    return sr_bytes_contains(path, SR_LIT("..")) || sr_bytes_contains(path, SR_LIT("%2e")) ||
           sr_bytes_contains(path, SR_LIT("%2E")) || sr_bytes_contains(path, SR_LIT("\\"));
}

enum sr_endpoint sr_endpoint_find(struct sr_bytes method, struct sr_bytes path, enum sr_dialect *dialect,
                                  struct sr_bytes *rest)
{
    bool post = sr_bytes_eq(method, SR_LIT("POST"));
    bool get = sr_bytes_eq(method, SR_LIT("GET"));
    for (int d = 0; d < SR_DIALECT_OTHER; d++) {
        if (!sr_bytes_eq(path, sr_bytes_str(sr_dialects[d].path)))
            continue;
        *dialect = (enum sr_dialect)d;
        *rest = SR_LIT("POST");
        return post ? SR_ENDPOINT_ROUTE : SR_ENDPOINT_WRONG_METHOD;
    }
    *rest = SR_LIT("GET");
    if (sr_bytes_eq(path, SR_LIT("/v1/models")) || sr_bytes_eq(path, SR_LIT("/v1/models/")))
        return get ? SR_ENDPOINT_MODELS : SR_ENDPOINT_WRONG_METHOD;
    if (sr_bytes_starts_with(path, SR_LIT("/v1/models/"))) {
        if (!get)
            return SR_ENDPOINT_WRONG_METHOD;
        *rest = sr_bytes_of(path.p + sizeof "/v1/models/" - 1, path.n - (sizeof "/v1/models/" - 1));
        return SR_ENDPOINT_MODEL;
    }
    if (!post || !sr_bytes_starts_with(path, SR_LIT("/v1/")) || path_climbs(path))
        return SR_ENDPOINT_NOT_FOUND;
    *dialect = SR_DIALECT_OTHER;
    return SR_ENDPOINT_ROUTE;
}
