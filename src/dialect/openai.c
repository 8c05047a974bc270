/* The table of answers, errors, and completions with the words of a dialect in their places. */
#include "dialect/openai.h"

#include "base/json_write.h"

#define USAGE "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"

#define TEXT  SR_CLASS_JUDGED | SR_CLASS_RESTORES
#define READ  SR_CLASS_JUDGED
#define INERT SR_CLASS_INERT

const struct sr_path_spec sr_openai_answers[SR_OPENAI_ANSWERS] = {
    {"id", SR_ANSWER_ID, INERT},
    {"model", SR_ANSWER_MODEL, INERT},
    {"created", SR_ANSWER_CREATED, INERT},

    {"usage", SR_ANSWER_USAGE, INERT},
    {"usage.prompt_tokens", SR_ANSWER_PROMPT_TOKENS, INERT},
    {"usage.input_tokens", SR_ANSWER_PROMPT_TOKENS, INERT},
    {"usage.completion_tokens", SR_ANSWER_COMPLETION_TOKENS, INERT},
    {"usage.output_tokens", SR_ANSWER_COMPLETION_TOKENS, INERT},
    {"usage.prompt_tokens_details.cached_tokens", SR_ANSWER_CACHED_TOKENS, INERT},
    {"usage.input_tokens_details.cached_tokens", SR_ANSWER_CACHED_TOKENS, INERT},
    {"usage.cache_creation_input_tokens", SR_ANSWER_CACHE_WRITE_TOKENS, INERT},

    {"choices", SR_ANSWER_CHOICES, INERT},
    {"choices[]", SR_ANSWER_CHOICE, INERT},
    {"choices[].index", SR_ANSWER_INDEX, INERT},
    {"choices[].finish_reason", SR_ANSWER_FINISH, INERT},
    {"choices[].text", SR_ANSWER_TEXT, TEXT},
    {"choices[].delta.content", SR_ANSWER_TEXT, TEXT},
    {"choices[].delta.reasoning", SR_ANSWER_REASONING, TEXT},
    {"choices[].delta.reasoning_content", SR_ANSWER_REASONING, TEXT},
    {"choices[].delta.refusal", SR_ANSWER_REFUSAL, TEXT},
    {"choices[].delta.tool_calls[].index", SR_ANSWER_CALL_INDEX, INERT},
    {"choices[].delta.tool_calls[].function.arguments", SR_ANSWER_ARGUMENTS, TEXT},
    {"choices[].delta.function_call.arguments", SR_ANSWER_ARGUMENTS, TEXT},
    {"choices[].message.content", SR_ANSWER_TEXT, TEXT},
    {"choices[].message.content[].text", SR_ANSWER_PART, TEXT},
    {"choices[].message.reasoning", SR_ANSWER_REASONING, TEXT},
    {"choices[].message.reasoning_content", SR_ANSWER_REASONING, TEXT},
    {"choices[].message.refusal", SR_ANSWER_REFUSAL, TEXT},
    {"choices[].message.tool_calls[].function.arguments", SR_ANSWER_ARGUMENTS, TEXT},
    {"choices[].message.function_call.arguments", SR_ANSWER_ARGUMENTS, TEXT},

    {"output[].content[].text", SR_ANSWER_PART, READ},
    {"output[].summary[].text", SR_ANSWER_REASONING, READ},
    {"output[].arguments", SR_ANSWER_ARGUMENTS, READ},

    {"content[].text", SR_ANSWER_PART, READ},
    {"content[].thinking", SR_ANSWER_REASONING, READ},
    {"delta", SR_ANSWER_TEXT, READ},
    {"delta.text", SR_ANSWER_TEXT, READ},
    {"delta.thinking", SR_ANSWER_REASONING, READ},
    {"delta.partial_json", SR_ANSWER_ARGUMENTS, READ},
};

/* ---- errors ---- */

#define OUT_OF_MEMORY                                                                                        \
    "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\",\"param\":null,\"code\":null}}"

const struct sr_bytes sr_openai_out_of_memory = {OUT_OF_MEMORY, sizeof OUT_OF_MEMORY - 1};

int sr_openai_error(const struct sr_dialect_error *error, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_object(&w, "error");
    sr_json_bytes(&w, "message", error->message);
    sr_json_bytes(&w, "type", sr_bytes_str(error->type));
    sr_json_text(&w, "param", error->param);
    sr_json_text(&w, "code", error->code);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_openai_error_event(const struct sr_dialect_error *error, struct sr_buf *out)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    if (!rc)
        rc = sr_openai_error(error, out);
    return rc ? rc : sr_buf_append(out, "\n\n", 2);
}

/* ---- completions ---- */

static int put_head(const struct sr_openai_shape *shape, const char *object, const struct sr_completion *c,
                    struct sr_buf *out)
{
    return sr_buf_printf(out, "{\"id\":\"%s-%s-%llu\",\"object\":\"%s\",\"created\":%llu,\"model\":\"%s\"",
                         shape->id, c->id, c->since, object, c->since, c->model);
}

int sr_openai_completion(const struct sr_openai_shape *shape, const struct sr_completion *c,
                         struct sr_buf *out)
{
    int rc = put_head(shape, shape->whole, c, out);
    if (!rc)
        rc = sr_buf_printf(out, ",\"choices\":[{\"index\":0,%s", shape->whole_open);
    if (!rc)
        rc = sr_buf_append_json(out, c->message);
    return rc ? rc
              : sr_buf_printf(out, "%s,\"logprobs\":null,\"finish_reason\":\"%s\"}]," USAGE "}",
                              shape->whole_close, c->finish);
}

/* An event with a piece of the message; `open` is what stands before it. */
static int put_piece(const struct sr_openai_shape *shape, const struct sr_completion *c, const char *open,
                     struct sr_bytes piece, struct sr_buf *out)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    if (!rc)
        rc = put_head(shape, shape->chunk, c, out);
    if (!rc)
        rc = sr_buf_printf(out, ",\"choices\":[{\"index\":0,%s", open);
    if (!rc)
        rc = sr_buf_append_json(out, piece);
    return rc ? rc
              : sr_buf_printf(out, "%s,\"logprobs\":null,\"finish_reason\":null}]}\n\n", shape->piece_close);
}

static int put_finish(const struct sr_openai_shape *shape, const struct sr_completion *c, struct sr_buf *out)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    if (!rc)
        rc = put_head(shape, shape->chunk, c, out);
    if (!rc)
        rc = sr_buf_printf(out,
                           ",\"choices\":[{\"index\":0,%s,\"logprobs\":null,\"finish_reason\":\"%s\"}]}\n\n",
                           shape->no_piece, c->finish);
    if (rc || !c->usage)
        return rc;
    rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    if (!rc)
        rc = put_head(shape, shape->chunk, c, out);
    return rc ? rc : sr_buf_append_bytes(out, SR_LIT(",\"choices\":[]," USAGE "}\n\n"));
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A word with the white space behind it; the first piece begins with what stands before the first word. */
static size_t piece_of(struct sr_bytes rest)
{
    size_t n = 0;
    while (n < rest.n && is_space(rest.p[n]))
        n++;
    while (n < rest.n && !is_space(rest.p[n]))
        n++;
    while (n < rest.n && is_space(rest.p[n]))
        n++;
    return n;
}

int sr_openai_completion_stream(const struct sr_openai_shape *shape, const struct sr_completion *c,
                                struct sr_buf *out)
{
    struct sr_bytes rest = c->message;
    size_t n = piece_of(rest);
    int rc = put_piece(shape, c, shape->first_open, sr_bytes_of(rest.p, n), out);
    while (!rc && n < rest.n) {
        rest = sr_bytes_of(rest.p + n, rest.n - n);
        n = piece_of(rest);
        rc = put_piece(shape, c, shape->piece_open, sr_bytes_of(rest.p, n), out);
    }
    if (!rc)
        rc = put_finish(shape, c, out);
    return rc ? rc : sr_buf_append_bytes(out, SR_LIT("data: " SR_OPENAI_DONE "\n\n"));
}

int sr_openai_stream_end(const struct sr_openai_shape *shape, const struct sr_stream_end *end,
                         struct sr_buf *out)
{
    int rc = SR_OK;
    for (unsigned choice = 0; !rc && choice < 64; choice++) {
        if (!(end->open >> choice & 1))
            continue;
        rc = sr_buf_printf(out,
                           "data: {\"id\":%s,\"object\":\"%s\",\"created\":%s,\"model\":%s,"
                           "\"choices\":[{\"index\":%u,%s,\"logprobs\":null,"
                           "\"finish_reason\":\"content_filter\"}]}\n\n",
                           end->id[0] ? end->id : "\"blocked\"", shape->chunk,
                           end->created[0] ? end->created : "0", end->model[0] ? end->model : "\"\"", choice,
                           shape->no_piece);
    }
    return rc ? rc : sr_buf_append_bytes(out, SR_LIT("data: " SR_OPENAI_DONE "\n\n"));
}

/* ---- completions of a prompt ---- */

static const struct sr_openai_shape text_shape = {
    .id = "cmpl",
    .whole = "text_completion",
    .chunk = "text_completion",
    .whole_open = "\"text\":\"",
    .whole_close = "\"",
    .first_open = "\"text\":\"",
    .piece_open = "\"text\":\"",
    .piece_close = "\"",
    .no_piece = "\"text\":\"\"",
};

int sr_text_completion(const struct sr_completion *completion, struct sr_buf *out)
{
    return sr_openai_completion(&text_shape, completion, out);
}

int sr_text_completion_stream(const struct sr_completion *completion, struct sr_buf *out)
{
    return sr_openai_completion_stream(&text_shape, completion, out);
}

int sr_text_stream_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    return sr_openai_stream_end(&text_shape, end, out);
}
