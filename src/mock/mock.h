/*
 * The mock upstream: OpenAI-compatible workers on consecutive ports, for demos, tests and load.
 *
 * Serves POST /v1/chat/completions, /v1/completions, /v1/responses and /v1/messages (plain and SSE), POST
 * /v1/messages/count_tokens, /v1/responses/input_tokens and /v1/embeddings, GET /v1/models and /health; a
 * base path before /v1 is accepted. It remembers the last POST of each worker: GET /mock/last gives its
 * body's exact bytes (the first SR_MOCK_KEEP_MAX of them), /mock/last-head its request line and headers,
 * /mock/stats counts as JSON. Request headers make it misbehave, and PUT /mock/behaviour with such headers
 * makes the worker do so with every request that follows:
 * - x-mock-status: CODE         answers with this status (an error in OpenAI shape unless 2xx)
 * - x-mock-delay-ms: N          waits before the response head
 * - x-mock-chunks: N            content chunks of a stream
 * - x-mock-chunk-delay-ms: N    waits before each frame of a stream but the first
 * - x-mock-body-bytes: N        N more bytes of text in the answer, spread over the chunks of a stream
 * - x-mock-close: head | N      closes instead of answering, or after N bytes of the answer's body
 * - x-mock-slow-read: N         waits N ms after each slice of the request body
 * - x-mock-tools: N             calls the request's tools N times, after the text
 * - x-mock-arguments: JSON      the arguments of these calls
 * - x-mock-text: TEXT           the text of the answer
 * - x-mock-reasoning: 1         reasoning before the text; also where Messages ask for thinking, and
 * Responses for reasoning
 * - x-mock-cached: N            says that so many tokens of the prompt were cached
 * - x-mock-fail-after: N        a stream ends with an error after N frames
 *
 * With an engine (drive.h, engine/) a worker answers chats and completions as fast as a simulated GPU with a
 * paged prefix cache would, and also serves GET /metrics under vLLM's names, POST /tokenize, and KV events
 * over ZeroMQ. PUT /mock/kill, hang, slow, fail, evict, lose-events and recover (orders.c) are failures on
 * command.
 *
 * Understands nothing of what it is asked. Loop's thread only.
 */
#ifndef SR_MOCK_MOCK_H
#define SR_MOCK_MOCK_H

#include "base/err.h"
#include "mock/engine/engine.h"
#include "net/loop/loop.h"

#include <stddef.h>

struct sr_mock;

#define SR_MOCK_KEEP_MAX    ((size_t)64 << 20) /* bytes of a request body that are remembered */
#define SR_MOCK_WORKERS_MAX 256

struct sr_mock_settings {
    const char *host;  /* borrowed as long as the mock lives, as is `model`; default 127.0.0.1 */
    uint16_t port;     /* of the first worker, the others follow; 0 (default) takes free ones */
    size_t workers;    /* default 1 */
    const char *model; /* the name at /v1/models and /metrics; answers take the request's. Default "mock" */
    bool same_ids;     /* equal requests to a worker get equal answers, their ids too; default false */
    /* With an engine. */
    bool engine; /* default false: answers come at once */
    struct sr_mock_engine_settings limits;
    unsigned speed;         /* seconds of the engine's clock in a second; default 1 */
    size_t stream_interval; /* tokens in an event of a stream, after the first one; default 1 */
    bool events; /* publish KV events, the first worker at events_port, the others at those after it */
    enum sr_mock_events_form events_form;
    uint16_t events_port, replay_port; /* 0 takes free ones */
};
struct sr_mock_settings sr_mock_settings_defaults(void);

/* Listens. SR_EBUSY with a message that names the port, SR_EINVAL, SR_EIO, SR_ENOMEM. */
int sr_mock_new(struct sr_mock **out, struct sr_loop *loop, const struct sr_mock_settings *settings,
                struct sr_err *err) SR_WARN_UNUSED;

/* Closes everything. NULL is allowed. */
void sr_mock_free(struct sr_mock *mock);

/* The port of worker `at`, counted from 0; of its KV events and of their replay, 0 without them. */
uint16_t sr_mock_port(const struct sr_mock *mock, size_t at);
uint16_t sr_mock_events_port(const struct sr_mock *mock, size_t at);
uint16_t sr_mock_replay_port(const struct sr_mock *mock, size_t at);

#endif
