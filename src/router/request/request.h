/*
 * Reads a request's body from the scanner's spans: which members it has, whether they have the right
 * shape, and the text that signals read.
 *
 * Pure functions over spans and bytes; they decide and edit nothing.
 */
#ifndef SR_ROUTER_REQUEST_REQUEST_H
#define SR_ROUTER_REQUEST_REQUEST_H

#include "dialect/dialect.h"

#include <stdint.h>

/* Indices of the spans that count, the last one of a repeated member; SR_SPAN_NONE = absent. */
struct sr_members {
    uint32_t model, stream, stream_options, include_usage, messages, prompt, metadata, reasoning_effort,
        kwargs, max_tokens, max_completion_tokens, max_output_tokens, n, system, reasoning, thinking,
        output_config, background, previous, store;
};

struct sr_unread;

/* A body, or the part of it that has been read. */
struct sr_request {
    const struct sr_dialect_ops *dialect;
    struct sr_bytes body; /* its bytes; empty when only the spans are needed */
    const struct sr_span *spans;
    size_t n_spans;
    struct sr_members at;
    uint32_t max_strings; /* that are walked over; 0: SR_WALK_STRINGS_MAX */
    const struct sr_unread
        *beside; /* what the request has beside `body` that cannot be read; NULL: nothing */
};

/* Fills `at` from the spans. */
void sr_request_index(struct sr_request *doc);

/* Is this span a member of the root object? */
bool sr_request_is_top(const struct sr_span *span);

/* The key of a member, decoded; empty for elements. */
struct sr_bytes sr_request_key(const struct sr_request *doc, const struct sr_span *span,
                               struct sr_arena *arena);

/* The list whose elements are messages: `messages`, or a prompt that is such a list. SR_SPAN_NONE: there is
 * none, and all texts are one turn. */
uint32_t sr_request_turns(const struct sr_request *doc);

/* True when the value is the literal `true`. */
bool sr_request_is_true(const struct sr_request *doc, uint32_t span);

/* An error of a request. */
struct sr_complaint {
    const char *param; /* the invalid member */
    const char *code;
    char message[200];
};

/* Checks that need no bytes: the types of `stream` and `messages`, that a chat has messages, and that the
 * answer is not fetched later. True when valid, else `complaint` is filled. */
bool sr_request_check_shape(const struct sr_request *doc, struct sr_complaint *complaint);

/* Checks that members which affect routing occur once: of two `messages` (or roles, contents, prompts,
 * `stream`) some parsers take the first and others the last, and the upstream's may differ. */
bool sr_request_check_once(const struct sr_request *doc, struct sr_complaint *complaint);

/* The first member whose key is only alike to that of a member which the dialect names (`Messages`, `ROLE`):
 * some parsers take it for that member, and others for an unknown one. SR_SPAN_NONE: there is none. */
uint32_t sr_request_find_alike(const struct sr_request *doc);

/* Checks `metadata`: an object of at most 32 strings, keys of 1 to 128 bytes, values of at most 1024. */
bool sr_request_check_metadata(const struct sr_request *doc, struct sr_arena *arena,
                               struct sr_complaint *complaint);

/* The text that signals read: the last user message with a text, its parts joined by a space; without one,
 * all texts of other roles but `tool`. For completions the prompt. `total` receives the bytes of all texts of
 * the request. `p` is NULL when out of memory. Borrows from the body or the arena. */
struct sr_bytes sr_request_text(const struct sr_request *doc, struct sr_arena *arena, uint64_t *total);

/* The content of the last user message with a text; SR_SPAN_NONE without one. */
uint32_t sr_request_last_turn(const struct sr_request *doc);

/* The name of a kind of value: "number", "array", ... */
const char *sr_request_kind_name(int kind);

#endif
