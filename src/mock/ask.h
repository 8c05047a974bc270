/*
 * What of a request an answer of the mock depends on, in all dialects.
 */
#ifndef SR_MOCK_ASK_H
#define SR_MOCK_ASK_H

#include "base/bytes.h"
#include "json/scan.h"

enum sr_mock_endpoint {
    SR_MOCK_CHAT,
    SR_MOCK_COMPLETION,
    SR_MOCK_EMBEDDING,
    SR_MOCK_RESPONSES,
    SR_MOCK_MESSAGES,
    SR_MOCK_COUNT_TOKENS,
    SR_MOCK_INPUT_TOKENS,
};

/* What an engine has measured of an answer. */
struct sr_mock_measured {
    uint64_t prompt_tokens, cached_tokens, answer_tokens;
    bool length;                           /* it ends because of max_tokens */
    uint64_t arrived_ns;                   /* sr_clock_ns() */
    uint64_t queued_us, first_us, last_us; /* after the arrival, on the engine's clock */
};

/* Members of a request for Responses that its answer repeats. */
enum sr_mock_echo {
    SR_MOCK_ECHO_INSTRUCTIONS,
    SR_MOCK_ECHO_MAX_OUTPUT_TOKENS,
    SR_MOCK_ECHO_METADATA,
    SR_MOCK_ECHO_PREVIOUS,
    SR_MOCK_ECHO_REASONING,
    SR_MOCK_ECHO_TEXT,
    SR_MOCK_ECHO_TOOL_CHOICE,
    SR_MOCK_ECHO_TOOLS,
    SR_MOCK_ECHOES,
};

#define SR_MOCK_PATH_INPUT 1  /* id of the spans of `input` and of its elements */
#define SR_MOCK_NAMES_MAX  16 /* names of tools that calls use */

struct sr_mock_ask {
    enum sr_mock_endpoint endpoint;
    size_t worker;
    uint64_t
        own; /* a number that no other answer has; 0: its ids depend on the request and the worker only */
    /* Read from the body, borrowed from it. */
    struct sr_bytes model; /* raw JSON string without the quotes */
    bool stream, include_usage, max_tokens;
    uint64_t prompt_bytes;                    /* bytes of all texts, as written in the JSON */
    struct sr_bytes names[SR_MOCK_NAMES_MAX]; /* of tools, like `model` */
    size_t n_names;
    struct sr_bytes echo[SR_MOCK_ECHOES]; /* raw JSON; p NULL: not given */
    const struct sr_span *inputs;         /* embeddings: the spans, among them the inputs */
    size_t n_inputs;
    struct sr_bytes body;                    /* as far as it was kept */
    const struct sr_mock_measured *measured; /* NULL: no engine; tokens are then guessed. Borrowed */
    /* Asked for by headers, of the request or of PUT /mock/behaviour. */
    struct sr_bytes text, arguments; /* of the answer, of each call; p NULL: the usual ones. Borrowed */
    uint64_t calls, cached;          /* calls of tools; tokens of the prompt that were cached */
    bool reasons;                    /* reasoning comes before the text */
};

/* The paths that sr_mock_ask_read understands. Unref when done. */
int sr_mock_paths(struct sr_paths **out, struct sr_err *err) SR_WARN_UNUSED;

/* Reads the spans of a scanned body, of which the first body.n bytes were kept. `endpoint`, `worker` and what
 * headers ask for are the caller's to set, before. */
void sr_mock_ask_read(struct sr_mock_ask *ask, const struct sr_span *spans, size_t n, struct sr_bytes body);

/* The tokens of the prompt, measured or guessed, and how many of them were cached. */
uint64_t sr_mock_prompt_tokens(const struct sr_mock_ask *ask);
uint64_t sr_mock_cached_tokens(const struct sr_mock_ask *ask);

#endif
