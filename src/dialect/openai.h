/*
 * What the dialects of OpenAI's older APIs have in common: the table of answers, errors, and completions
 * written from a few words of each dialect.
 *
 * Errors of this shape are also used when no dialect is known: by the listeners, and by pages that need no
 * routing.
 */
#ifndef SR_DIALECT_OPENAI_H
#define SR_DIALECT_OPENAI_H

#include "dialect/dialect.h"

/* The answers, errors and completions of a dialect that has no shapes of its own for them. */
#define SR_OPENAI_WRITERS SR_OPENAI_ANSWERING, .error = sr_openai_error

/* The same without errors as bodies. */
#define SR_OPENAI_ANSWERING                                                                                  \
    .answer = {sr_openai_answers, SR_OPENAI_ANSWERS}, .done = SR_OPENAI_DONE,                                \
    .error_event = sr_openai_named_error, .completion = sr_text_completion,                                  \
    .completion_stream = sr_text_completion_stream, .stream_end = sr_openai_error_end

#define SR_DIALECT_TABLE(t)                                                                                  \
    {                                                                                                        \
        t, sizeof(t) / sizeof((t)[0])                                                                        \
    }

/* Every answer that an upstream of these endpoints may give, and the items of responses and messages: an
 * upstream may answer in another shape than the request's, and answer guards read that too. */
enum { SR_OPENAI_ANSWERS = 45 };
extern const struct sr_path_spec sr_openai_answers[SR_OPENAI_ANSWERS];

#define SR_OPENAI_DONE "[DONE]"

/* Write {"error":{"message","type","param","code"}} as a body, and as the data of an event. */
int sr_openai_error(const struct sr_dialect_error *error, struct sr_buf *out);
int sr_openai_error_event(const struct sr_dialect_error *error, struct sr_buf *out);

/* Writes the same with the member "type":"error" before it, as an event of the name `error`: what APIs whose
 * events have names share. */
int sr_openai_named_error(const struct sr_dialect_error *error, struct sr_buf *out);

/* The error that needs no memory. */
extern const struct sr_bytes sr_openai_out_of_memory;

/* The size of the next piece of a message that is streamed: a word with the white space after it; the first
 * piece also has the white space before its word. */
size_t sr_openai_piece(struct sr_bytes rest);

/* What differs between the completions of dialects. */
struct sr_openai_shape {
    const char *id;            /* prefix of ids */
    const char *whole, *chunk; /* `object` of an answer, and of an event */
    bool has_messages;         /* a choice has a `message` or a `delta` with the text; else the text itself */
    const char *text;          /* name of the member with the text */
};

/* See struct sr_dialect_ops. */
int sr_openai_completion(const struct sr_openai_shape *shape, const struct sr_completion *completion,
                         struct sr_buf *out);
int sr_openai_completion_stream(const struct sr_openai_shape *shape, const struct sr_completion *completion,
                                struct sr_buf *out);
int sr_openai_stream_end(const struct sr_openai_shape *shape, const struct sr_stream_end *end,
                         struct sr_buf *out);

/* Ends a stream whose events have an unknown shape with an error event, which all APIs share. */
int sr_openai_error_end(const struct sr_stream_end *end, struct sr_buf *out);

/* The same in the shape of a completed prompt, for all dialects that have no other. */
int sr_text_completion(const struct sr_completion *completion, struct sr_buf *out);
int sr_text_completion_stream(const struct sr_completion *completion, struct sr_buf *out);
int sr_text_stream_end(const struct sr_stream_end *end, struct sr_buf *out);

#endif
