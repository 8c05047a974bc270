/* The table of the members that the mock reads, of all dialects in one. */
#include "mock/ask.h"

enum path {
    PATH_INPUT = SR_MOCK_PATH_INPUT,
    PATH_MODEL,
    PATH_STREAM,
    PATH_INCLUDE_USAGE,
    PATH_TEXT,
    PATH_TOOL_NAME,
    PATH_MAX_TOKENS,
    PATH_THINKING,
    PATH_ECHO, /* + enum sr_mock_echo */
};

static const struct sr_path_spec paths[] = {
    {"model", PATH_MODEL},
    {"stream", PATH_STREAM},
    {"stream_options.include_usage", PATH_INCLUDE_USAGE},
    {"messages[].content", PATH_TEXT},
    {"messages[].content[].text", PATH_TEXT},
    {"messages[].content[].content", PATH_TEXT},
    {"messages[].content[].content[].text", PATH_TEXT},
    {"system", PATH_TEXT},
    {"system[].text", PATH_TEXT},
    {"prompt", PATH_TEXT},
    {"prompt[]", PATH_TEXT},
    {"input", PATH_INPUT},
    {"input[]", PATH_INPUT},
    {"input[].content", PATH_TEXT},
    {"input[].content[].text", PATH_TEXT},
    {"input[].output", PATH_TEXT},
    {"tools[].name", PATH_TOOL_NAME},
    {"tools[].function.name", PATH_TOOL_NAME},
    {"max_tokens", PATH_MAX_TOKENS},
    {"thinking.type", PATH_THINKING},
    {"instructions", PATH_ECHO + SR_MOCK_ECHO_INSTRUCTIONS},
    {"max_output_tokens", PATH_ECHO + SR_MOCK_ECHO_MAX_OUTPUT_TOKENS},
    {"metadata", PATH_ECHO + SR_MOCK_ECHO_METADATA},
    {"previous_response_id", PATH_ECHO + SR_MOCK_ECHO_PREVIOUS},
    {"reasoning", PATH_ECHO + SR_MOCK_ECHO_REASONING},
    {"text", PATH_ECHO + SR_MOCK_ECHO_TEXT},
    {"tool_choice", PATH_ECHO + SR_MOCK_ECHO_TOOL_CHOICE},
    {"tools", PATH_ECHO + SR_MOCK_ECHO_TOOLS},
};

int sr_mock_paths(struct sr_paths **out, struct sr_err *err)
{
    return sr_paths_new(out, paths, sizeof paths / sizeof paths[0], err);
}

static struct sr_bytes inside(const struct sr_span *span, struct sr_bytes body)
{
    if (span->kind != SR_JSON_STRING || (span->flags & SR_SPAN_OPEN) || span->end > body.n)
        return (struct sr_bytes){0};
    return sr_bytes_of(body.p + span->start + 1, span->end - span->start - 2);
}

static void read_tool_name(struct sr_mock_ask *ask, struct sr_bytes name)
{
    if (name.n > 0 && ask->n_names < SR_MOCK_NAMES_MAX)
        ask->names[ask->n_names++] = name;
}

static void read_echo(struct sr_mock_ask *ask, enum sr_mock_echo at, const struct sr_span *span)
{
    if ((span->flags & SR_SPAN_OPEN) || span->end > ask->body.n || span->kind == SR_JSON_NULL)
        return;
    ask->echo[at] = sr_span_raw(span, ask->body);
    bool text = at == SR_MOCK_ECHO_INSTRUCTIONS && span->kind == SR_JSON_STRING;
    if (text)
        ask->prompt_bytes += span->end - span->start - 2;
    if (at == SR_MOCK_ECHO_REASONING && ask->endpoint == SR_MOCK_RESPONSES)
        ask->reasons = true;
}

static void read_span(struct sr_mock_ask *ask, const struct sr_span *span, struct sr_bytes body)
{
    bool text = span->kind == SR_JSON_STRING && !(span->flags & SR_SPAN_OPEN);
    if (span->id == PATH_MODEL && inside(span, body).n > 0)
        ask->model = inside(span, body);
    else if (span->id == PATH_STREAM)
        ask->stream = span->kind == SR_JSON_TRUE;
    else if (span->id == PATH_INCLUDE_USAGE)
        ask->include_usage = span->kind == SR_JSON_TRUE;
    else if ((span->id == PATH_TEXT || span->id == PATH_INPUT) && text)
        ask->prompt_bytes += span->end - span->start - 2;
    else if (span->id == PATH_TOOL_NAME)
        read_tool_name(ask, inside(span, body));
    else if (span->id == PATH_MAX_TOKENS)
        ask->max_tokens = span->kind == SR_JSON_NUMBER;
    else if (span->id == PATH_THINKING && ask->endpoint == SR_MOCK_MESSAGES)
        ask->reasons = ask->reasons || !sr_bytes_eq(inside(span, body), SR_LIT("disabled"));
    else if (span->id >= PATH_ECHO)
        read_echo(ask, (enum sr_mock_echo)(span->id - PATH_ECHO), span);
}

void sr_mock_ask_read(struct sr_mock_ask *ask, const struct sr_span *spans, size_t n, struct sr_bytes body)
{
    ask->model = SR_LIT("unknown");
    ask->inputs = spans;
    ask->n_inputs = n;
    ask->body = body;
    for (size_t i = 0; i < n; i++)
        read_span(ask, &spans[i], body);
}

uint64_t sr_mock_prompt_tokens(const struct sr_mock_ask *ask)
{
    return ask->measured ? ask->measured->prompt_tokens : ask->prompt_bytes / 4 + 3;
}

uint64_t sr_mock_cached_tokens(const struct sr_mock_ask *ask)
{
    uint64_t prompt = sr_mock_prompt_tokens(ask);
    uint64_t cached = ask->measured ? ask->measured->cached_tokens : ask->cached;
    return cached < prompt ? cached : prompt;
}
