/* The table of answers, errors, and completions with the words of each dialect. */
#include "dialect/openai.h"

#include "base/json_write.h"

#include <stdio.h>

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
    {"usage.prompt_tokens_details.cache_write_tokens", SR_ANSWER_CACHE_WRITE_TOKENS, INERT},

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

    {"status", SR_ANSWER_STATUS, INERT},
    {"output[]", SR_ANSWER_BLOCK, INERT},
    {"output[].content[].text", SR_ANSWER_PART, READ},
    {"output[].summary[].text", SR_ANSWER_REASONING, READ},
    {"output[].arguments", SR_ANSWER_ARGUMENTS, READ},

    {"stop_reason", SR_ANSWER_STOP, INERT},
    {"content[]", SR_ANSWER_BLOCK, INERT},
    {"content[].text", SR_ANSWER_PART, READ},
    {"content[].thinking", SR_ANSWER_REASONING, READ},
    {"delta", SR_ANSWER_TEXT, READ},
    {"delta.stop_reason", SR_ANSWER_STOP, INERT},
    {"delta.text", SR_ANSWER_TEXT, READ},
    {"delta.thinking", SR_ANSWER_REASONING, READ},
    {"delta.partial_json", SR_ANSWER_ARGUMENTS, READ},
};

/* ---- errors ---- */

#define OUT_OF_MEMORY                                                                                        \
    "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\",\"param\":null,\"code\":null}}"

const struct sr_bytes sr_openai_out_of_memory = {OUT_OF_MEMORY, sizeof OUT_OF_MEMORY - 1};

static int put_error(const struct sr_dialect_error *error, bool typed, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    if (typed)
        sr_json_text(&w, "type", "error");
    sr_json_object(&w, "error");
    sr_json_bytes(&w, "message", error->message);
    sr_json_bytes(&w, "type", sr_bytes_str(error->type));
    sr_json_text(&w, "param", error->param);
    sr_json_text(&w, "code", error->code);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

static int put_error_event(struct sr_bytes before, const struct sr_dialect_error *error, bool typed,
                           struct sr_buf *out)
{
    int rc = sr_buf_append_bytes(out, before);
    if (!rc)
        rc = put_error(error, typed, out);
    return rc ? rc : sr_buf_append(out, "\n\n", 2);
}

int sr_openai_error(const struct sr_dialect_error *error, struct sr_buf *out)
{
    return put_error(error, false, out);
}

int sr_openai_error_event(const struct sr_dialect_error *error, struct sr_buf *out)
{
    return put_error_event(SR_LIT("data: "), error, false, out);
}

int sr_openai_named_error(const struct sr_dialect_error *error, struct sr_buf *out)
{
    return put_error_event(SR_LIT("event: error\ndata: "), error, true, out);
}

/* ---- completions ---- */

/* Writes the first members of an answer or an event, in an object that stays open. */
static void put_head(struct sr_json_writer *w, const struct sr_openai_shape *shape, const char *object,
                     const struct sr_completion *c)
{
    char since[24];
    snprintf(since, sizeof since, "-%llu", c->since);
    sr_json_object(w, NULL);
    sr_json_string(w, "id");
    sr_json_string_part(w, sr_bytes_str(shape->id));
    sr_json_string_part(w, SR_LIT("-"));
    sr_json_string_part(w, sr_bytes_str(c->id));
    sr_json_string_part(w, sr_bytes_str(since));
    sr_json_string_end(w);
    sr_json_text(w, "object", object);
    sr_json_uint(w, "created", c->since);
    sr_json_text(w, "model", c->model);
}

/* Begins a choice, which put_choice_end ends. */
static void put_choice(struct sr_json_writer *w, unsigned index)
{
    sr_json_array(w, "choices");
    sr_json_object(w, NULL);
    sr_json_uint(w, "index", index);
}

/* Ends a choice's object. `finish`: the reason why the choice ends; NULL: more events follow. */
static void put_choice_end(struct sr_json_writer *w, const char *finish)
{
    sr_json_null(w, "logprobs");
    sr_json_text(w, "finish_reason", finish);
    sr_json_object_end(w);
    sr_json_array_end(w);
}

/* Writes a text as the dialect has it: in the choice, or in the choice's `message` or `delta`. */
static void put_message(struct sr_json_writer *w, const struct sr_openai_shape *shape, const char *key,
                        bool role, struct sr_bytes text)
{
    if (shape->has_messages)
        sr_json_object(w, key);
    if (shape->has_messages && role)
        sr_json_text(w, "role", "assistant");
    sr_json_bytes(w, shape->text, text);
    if (shape->has_messages)
        sr_json_object_end(w);
}

/* Writes the members of an event's choice without text. */
static void put_no_message(struct sr_json_writer *w, const struct sr_openai_shape *shape)
{
    if (!shape->has_messages) {
        sr_json_text(w, shape->text, "");
        return;
    }
    sr_json_object(w, "delta");
    sr_json_object_end(w);
}

/* Writes a usage of zero: no model was called. */
static void put_usage(struct sr_json_writer *w)
{
    sr_json_object(w, "usage");
    sr_json_uint(w, "prompt_tokens", 0);
    sr_json_uint(w, "completion_tokens", 0);
    sr_json_uint(w, "total_tokens", 0);
    sr_json_object_end(w);
}

int sr_openai_completion(const struct sr_openai_shape *shape, const struct sr_completion *c,
                         struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    put_head(&w, shape, shape->whole, c);
    put_choice(&w, 0);
    put_message(&w, shape, "message", true, c->message);
    put_choice_end(&w, c->finish);
    put_usage(&w);
    sr_json_object_end(&w);
    return w.rc;
}

/* Begin and end an event, which contains one object. */
static struct sr_json_writer event_begin(struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    w.rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    return w;
}

static int event_end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append(w->out, "\n\n", 2);
}

static int put_piece(const struct sr_openai_shape *shape, const struct sr_completion *c, bool first,
                     struct sr_bytes piece, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin(out);
    put_head(&w, shape, shape->chunk, c);
    put_choice(&w, 0);
    put_message(&w, shape, "delta", first, piece);
    put_choice_end(&w, NULL);
    return event_end(&w);
}

static int put_finish(const struct sr_openai_shape *shape, const struct sr_completion *c, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin(out);
    put_head(&w, shape, shape->chunk, c);
    put_choice(&w, 0);
    put_no_message(&w, shape);
    put_choice_end(&w, c->finish);
    int rc = event_end(&w);
    if (rc || !c->usage)
        return rc;
    w = event_begin(out);
    put_head(&w, shape, shape->chunk, c);
    sr_json_array(&w, "choices");
    sr_json_array_end(&w);
    put_usage(&w);
    return event_end(&w);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t sr_openai_piece(struct sr_bytes rest)
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
    size_t n = sr_openai_piece(rest);
    int rc = put_piece(shape, c, true, sr_bytes_of(rest.p, n), out);
    while (!rc && n < rest.n) {
        rest = sr_bytes_of(rest.p + n, rest.n - n);
        n = sr_openai_piece(rest);
        rc = put_piece(shape, c, false, sr_bytes_of(rest.p, n), out);
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
        struct sr_json_writer w = event_begin(out);
        sr_json_object(&w, NULL);
        sr_json_raw(&w, "id", sr_bytes_str(end->id[0] ? end->id : "\"blocked\""));
        sr_json_text(&w, "object", shape->chunk);
        sr_json_raw(&w, "created", sr_bytes_str(end->created[0] ? end->created : "0"));
        sr_json_raw(&w, "model", sr_bytes_str(end->model[0] ? end->model : "\"\""));
        put_choice(&w, choice);
        put_no_message(&w, shape);
        put_choice_end(&w, "content_filter");
        rc = event_end(&w);
    }
    return rc ? rc : sr_buf_append_bytes(out, SR_LIT("data: " SR_OPENAI_DONE "\n\n"));
}

/* ---- completions of a prompt ---- */

static const struct sr_openai_shape text_shape = {
    .id = "cmpl",
    .whole = "text_completion",
    .chunk = "text_completion",
    .text = "text",
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

int sr_openai_error_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    return sr_buf_printf(out,
                         "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"content_filter\","
                         "\"code\":\"%s\",\"message\":\"The rest of the answer was blocked.\"}}\n\n",
                         end->code);
}
