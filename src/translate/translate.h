/*
 * Translates between the APIs of chat completions, Responses and Messages: requests, answers, streams and
 * errors, in all six directions.
 *
 * One model of a conversation stands between them (model.h): each API has readers into it and writers out of
 * it, so no direction is a program of its own. Bytes in, bytes out: knows no exchange, no sockets, no
 * configuration. What the other API cannot say is named in the warnings. docs/dialects.md has the table of
 * what is carried over.
 */
#ifndef SR_TRANSLATE_TRANSLATE_H
#define SR_TRANSLATE_TRANSLATE_H

#include "base/arena.h"
#include "base/buf.h"

/* An API that is translated. */
enum sr_translate_api {
    SR_TRANSLATE_CHAT,
    SR_TRANSLATE_RESPONSES,
    SR_TRANSLATE_MESSAGES,
    SR_TRANSLATE_APIS,
};

/* Larger requests and answers are SR_ELIMIT. */
#define SR_TRANSLATE_BODY_MAX ((size_t)64 << 20)
/* The longest event of a stream; a longer one is SR_ELIMIT. */
#define SR_TRANSLATE_EVENT_MAX ((size_t)4 << 20)
/* Most bytes of the texts of one stream that are kept, because its last events repeat them. */
#define SR_TRANSLATE_KEPT_MAX ((size_t)16 << 20)

#define SR_TRANSLATE_WARNINGS_MAX 24 /* further ones are counted */
#define SR_TRANSLATE_WARNING_SIZE 64

/* Members that were not carried over ("seed", "tools[].web_search"), in the words of an API that has them,
 * each once. Only letters, digits and "_.[]-"; other bytes are "?". */
struct sr_translate_warnings {
    char items[SR_TRANSLATE_WARNINGS_MAX][SR_TRANSLATE_WARNING_SIZE];
    size_t n;
    size_t more; /* warnings beyond the list */
};

/* Appends them as a value of a header: "seed, tools[].web_search, and 3 more". SR_ENOMEM, SR_ELIMIT. */
int sr_translate_warnings_write(const struct sr_translate_warnings *warnings,
                                struct sr_buf *out) SR_WARN_UNUSED;

/* What a translation needs beside the document. */
struct sr_translate_settings {
    struct sr_bytes asked;  /* for answers: the client's own request, of which Responses repeats members;
                               empty: not known */
    uint64_t now_s;         /* for answers: seconds since 1970, where the upstream says none */
    struct sr_bytes unique; /* for answers: letters and digits, the id where the upstream gives none */
    int64_t max_tokens;     /* for requests to Messages, which must limit their answer: the limit of requests
                               that have none; 0: SR_TRANSLATE_MAX_TOKENS */
    bool usage;             /* for streams to a chat: the client asked for the usage */
    bool counts;            /* for requests: only their tokens are counted; the rest of them is left out */
    bool stores;            /* for requests of Responses: the response is kept for those that ask for it */
};

#define SR_TRANSLATE_MAX_TOKENS 4096

/* The API of the dialect `name` ("chat", "responses", "messages"); -1: it is not translated. */
int sr_translate_api_named(const char *name);
/* The path of its endpoint; `counts`: of the one that counts the tokens of a request. Chat completions have
 * none of their own: it is vLLM's. */
const char *sr_translate_path(enum sr_translate_api api, bool counts);

/* Appends the request `body` of API `from` as one of API `to` (another one) to `out`. `warnings` is added to.
 * `arena` is used for memory of the call. SR_EPARSE: no JSON, or a required member is missing or of a wrong
 * type. SR_EUNSUPPORTED: it needs what cannot be left out, such as a stored response. Both fill `err` with a
 * message for the client. SR_ELIMIT, SR_ENOMEM. */
int sr_translate_request(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                         const struct sr_translate_settings *settings, struct sr_arena *arena,
                         struct sr_buf *out, struct sr_translate_warnings *warnings,
                         struct sr_err *err) SR_WARN_UNUSED;

/* Appends the request `body` of API `api`, which is sent as it is, without the reasoning that answers of
 * other APIs left in its conversation, because its upstream refuses that; `warnings` is added to. SR_ENOENT:
 * it has none. SR_ELIMIT, SR_ENOMEM. */
int sr_translate_clean(enum sr_translate_api api, struct sr_bytes body, struct sr_arena *arena,
                       struct sr_buf *out, struct sr_translate_warnings *warnings) SR_WARN_UNUSED;

/* The same as sr_translate_request with a whole answer. An answer of API `from` that is not JSON of its shape
 * is SR_EPARSE. */
int sr_translate_answer(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                        const struct sr_translate_settings *settings, struct sr_arena *arena,
                        struct sr_buf *out, struct sr_translate_warnings *warnings,
                        struct sr_err *err) SR_WARN_UNUSED;

/* The same with the number of tokens of a request: an answer of the `counts` path of `from`. SR_EPARSE: it
 * has no such number. */
int sr_translate_count(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes body,
                       struct sr_buf *out) SR_WARN_UNUSED;

/* Appends the body of an error of the HTTP status `status`; a body that is no error of any API becomes its
 * message, cut at 2 KiB. SR_ELIMIT, SR_ENOMEM. */
int sr_translate_error(enum sr_translate_api to, int status, struct sr_bytes body, struct sr_arena *arena,
                       struct sr_buf *out) SR_WARN_UNUSED;

/* What a model of Messages takes as `output_config.effort` beside `thinking` of the type "adaptive", for an
 * effort in the words of the other APIs ("medium"; empty: none given). `model`: the name that its upstream
 * knows. NULL: it is not named Claude 4.6 or later, so it takes a budget of tokens. */
const char *sr_translate_adaptive_effort(struct sr_bytes model, struct sr_bytes effort);

/* One streamed answer. Used by one thread. */
struct sr_translate_stream;

/* `settings->asked` and `unique` must live as long as the stream. SR_ENOMEM. */
int sr_translate_stream_new(struct sr_translate_stream **out, enum sr_translate_api from,
                            enum sr_translate_api to,
                            const struct sr_translate_settings *settings) SR_WARN_UNUSED;
void sr_translate_stream_free(struct sr_translate_stream *stream);

/* Takes the next bytes of the stream and appends the events that they complete, so that each goes as soon as
 * it is here. Any chunk boundary. An event that cannot be read ends the stream with an error event:
 * SR_EPARSE, SR_ELIMIT; what was appended is valid, and later calls append nothing. What the answer lost is
 * named in a comment before the last event. SR_ENOMEM. */
int sr_translate_stream_feed(struct sr_translate_stream *stream, struct sr_bytes in,
                             struct sr_buf *out) SR_WARN_UNUSED;

/* The upstream's stream ended: appends the last events if the answer is complete, nothing if it was lost. */
int sr_translate_stream_end(struct sr_translate_stream *stream, struct sr_buf *out) SR_WARN_UNUSED;

/* True when the client has its last event. */
bool sr_translate_stream_done(const struct sr_translate_stream *stream);

#endif
