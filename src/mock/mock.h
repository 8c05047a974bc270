/*
 * The mock upstream: OpenAI-compatible workers on consecutive ports, for demos, tests and load.
 *
 * Serves POST /v1/chat/completions and /v1/completions (plain and SSE), POST /v1/embeddings, GET /v1/models
 * and /health; a base path before /v1 is accepted. It remembers the last POST of each worker: GET /mock/last
 * gives its body's exact bytes (the first SR_MOCK_KEEP_MAX of them), /mock/last-head its request line and
 * headers, /mock/stats counts as JSON. Request headers make it misbehave, and PUT
 * /mock/behaviour with such headers makes the worker do so with every request that follows:
 * - x-mock-status: CODE         answers with this status (an error in OpenAI shape unless 2xx)
 * - x-mock-delay-ms: N          waits before the response head
 * - x-mock-chunks: N            content chunks of a stream
 * - x-mock-chunk-delay-ms: N    waits before each frame of a stream but the first
 * - x-mock-body-bytes: N        N more bytes of text in the answer, spread over the chunks of a stream
 * - x-mock-close: head | N      closes instead of answering, or after N bytes of the answer's body
 * - x-mock-slow-read: N         waits N ms after each slice of the request body
 *
 * Understands nothing of what it is asked. Loop's thread only.
 */
#ifndef SR_MOCK_MOCK_H
#define SR_MOCK_MOCK_H

#include "base/err.h"
#include "net/loop/loop.h"

#include <stddef.h>

struct sr_mock;

#define SR_MOCK_KEEP_MAX    ((size_t)64 << 20) /* bytes of a request body that are remembered */
#define SR_MOCK_WORKERS_MAX 256

/* Listens on host:port .. host:port+workers-1; port 0 takes free ones. SR_EBUSY with a message that names the
 * port, SR_EINVAL, SR_ENOMEM. */
int sr_mock_new(struct sr_mock **out, struct sr_loop *loop, const char *host, uint16_t port, size_t workers,
                struct sr_err *err) SR_WARN_UNUSED;

/* Closes everything. NULL is allowed. */
void sr_mock_free(struct sr_mock *mock);

/* The port of worker `at`, counted from 0. */
uint16_t sr_mock_port(const struct sr_mock *mock, size_t at);

#endif
