/*
 * The answers of the mock upstream: requests read and answers written as bytes, without any I/O.
 *
 * Every answer is a pure function of the request and the worker's number, so that two paths to the same
 * worker can be compared byte by byte.
 */
#ifndef SR_MOCK_ANSWER_H
#define SR_MOCK_ANSWER_H

#include "base/buf.h"
#include "json/scan.h"

enum sr_mock_endpoint { SR_MOCK_CHAT, SR_MOCK_COMPLETION, SR_MOCK_EMBEDDING };

/* What an engine has measured of an answer. */
struct sr_mock_measured {
    uint64_t prompt_tokens, cached_tokens, answer_tokens;
    bool length;                           /* it ends because of max_tokens */
    uint64_t arrived_ns;                   /* sr_clock_ns() */
    uint64_t queued_us, first_us, last_us; /* after the arrival, on the engine's clock */
};

/* What of a request the answer depends on. */
struct sr_mock_ask {
    enum sr_mock_endpoint endpoint;
    size_t worker;
    struct sr_bytes model; /* raw JSON string without the quotes; borrowed from the body */
    bool stream, include_usage;
    uint64_t prompt_bytes;        /* bytes of all texts, as written in the JSON */
    const struct sr_span *inputs; /* embeddings: the spans, among them the inputs */
    size_t n_inputs;
    struct sr_bytes body;                    /* as far as it was kept */
    const struct sr_mock_measured *measured; /* NULL: no engine; tokens are then guessed. Borrowed */
};

/* The paths that sr_mock_ask_read understands. Unref when done. */
int sr_mock_paths(struct sr_paths **out, struct sr_err *err) SR_WARN_UNUSED;

/* Reads the spans of a scanned body, of which the first body.n bytes were kept. `endpoint` and `worker` are
 * the caller's to set. */
void sr_mock_ask_read(struct sr_mock_ask *ask, const struct sr_span *spans, size_t n, struct sr_bytes body);

/* A whole answer: `head` and `tail` with as many bytes of filling between as the caller likes (inside a JSON
 * string; any printable ASCII but quote and backslash). Embeddings are all head. */
int sr_mock_answer(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail) SR_WARN_UNUSED;

/* Streamed answers: frames of the content chunks 0 .. n-1 (0 = SR_MOCK_CHUNKS), of a role chunk before and a
 * finish chunk after them, then of the usage when it was asked for, then "[DONE]". */
#define SR_MOCK_CHUNKS 8
size_t sr_mock_frames(const struct sr_mock_ask *ask, size_t n_chunks);

/* Appends frame `at` < sr_mock_frames(ask, n_chunks), `fill` extra bytes in each content chunk. */
int sr_mock_frame(const struct sr_mock_ask *ask, size_t n_chunks, size_t at, size_t fill,
                  struct sr_buf *out) SR_WARN_UNUSED;

/* {"object":"list","data":[...]} with one model. */
int sr_mock_models(const char *model, struct sr_buf *out) SR_WARN_UNUSED;

/* An error in OpenAI shape. */
int sr_mock_error(int status, const char *message, struct sr_buf *out) SR_WARN_UNUSED;

#endif
