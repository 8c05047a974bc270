/*
 * The answers of the mock upstream: requests read and answers written as bytes, without any I/O.
 *
 * Every answer is a pure function of the request and the worker's number, so that two paths to the same
 * worker can be compared byte by byte.
 */
#ifndef SR_MOCK_ANSWER_H
#define SR_MOCK_ANSWER_H

#include "base/buf.h"
#include "mock/ask.h"
#include "mock/speech.h"

/* Does an endpoint write texts, which may be streamed? */
static inline bool sr_mock_generates(enum sr_mock_endpoint endpoint)
{
    return endpoint != SR_MOCK_EMBEDDING && endpoint != SR_MOCK_COUNT_TOKENS &&
           endpoint != SR_MOCK_INPUT_TOKENS;
}

/* A whole answer: `head` and `tail` with as many bytes of filling between as the caller likes (inside a JSON
 * string; any printable ASCII but quote and backslash). Embeddings and counts are all head. */
int sr_mock_answer(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail) SR_WARN_UNUSED;

/* Streamed answers: the number of frames with n content chunks (0 = SR_MOCK_CHUNKS), of frames before the
 * first of these chunks. */
size_t sr_mock_frames(const struct sr_mock_ask *ask, size_t n_chunks);
size_t sr_mock_frames_before(const struct sr_mock_ask *ask);

/* Appends frame `at` < sr_mock_frames(ask, n_chunks), `fill` extra bytes in each content chunk. */
int sr_mock_frame(const struct sr_mock_ask *ask, size_t n_chunks, size_t at, size_t fill,
                  struct sr_buf *out) SR_WARN_UNUSED;

/* {"object":"list","data":[...]} with one model. */
int sr_mock_models(const char *model, struct sr_buf *out) SR_WARN_UNUSED;

/* An error in the shape of the endpoint's dialect, as a body and as a frame of a stream. */
int sr_mock_error(enum sr_mock_endpoint endpoint, int status, const char *message,
                  struct sr_buf *out) SR_WARN_UNUSED;
int sr_mock_error_frame(enum sr_mock_endpoint endpoint, int status, const char *message,
                        struct sr_buf *out) SR_WARN_UNUSED;

#endif
