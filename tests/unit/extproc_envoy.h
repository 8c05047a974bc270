/*
 * Envoy's side of the external processor, by its rules: sends the messages of one request in a
 * mode, takes the replies, and builds what the upstream would get. A reply that the real Envoy would not take
 * (wrong kind, nothing asked, a mutation that the mode forbids) is recorded in `fault`.
 */
#ifndef TESTS_UNIT_EXTPROC_ENVOY_H
#define TESTS_UNIT_EXTPROC_ENVOY_H

#include "base/buf.h"
#include "serve/extproc/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENVOY_PENDING_MAX 4096
#define ENVOY_HEADERS_MAX 128

struct envoy {
    struct sr_extproc_core *core;
    enum sr_extproc_mode mode, answer_mode;
    bool no_wait;
    /* messages without a reply, oldest first; bodies keep their bytes */
    struct {
        enum sr_extproc_phase phase;
        char *bytes;
        size_t n;
    } pending[ENVOY_PENDING_MAX];
    size_t first, count;
    /* what came of it */
    struct sr_buf upstream, client; /* the request's body, the answer's */
    bool upstream_ended, client_ended;
    bool head_released, head_cleared, body_cleared;
    size_t pieces, largest_piece, extensions, replies;
    char set[ENVOY_HEADERS_MAX][2][256];
    size_t n_set;
    char removed[ENVOY_HEADERS_MAX][64];
    size_t n_removed;
    char endpoint[64];
    bool overridden;
    int immediate; /* status; 0 = none */
    bool in_pieces, immediate_ended;
    struct sr_buf immediate_body;
    const char *fault, *failed;
};

static inline void envoy_fault(struct envoy *e, const char *why)
{
    if (!e->fault)
        e->fault = why;
}

static inline const char *envoy_header(const struct envoy *e, const char *name)
{
    for (size_t i = e->n_set; i > 0; i--)
        if (strcmp(e->set[i - 1][0], name) == 0)
            return e->set[i - 1][1];
    return NULL;
}

static inline bool envoy_removed(const struct envoy *e, const char *name)
{
    for (size_t i = 0; i < e->n_removed; i++)
        if (strcmp(e->removed[i], name) == 0)
            return true;
    return false;
}

static inline void envoy_take_headers(struct envoy *e, const struct sr_extproc_reply *reply)
{
    for (size_t i = 0; i < reply->n_set && e->n_set < ENVOY_HEADERS_MAX; i++) {
        snprintf(e->set[e->n_set][0], 256, "%.*s", (int)reply->set[i].name.n, reply->set[i].name.p);
        snprintf(e->set[e->n_set++][1], 256, "%.*s", (int)reply->set[i].value.n, reply->set[i].value.p);
    }
    for (size_t i = 0; i < reply->n_remove && e->n_removed < ENVOY_HEADERS_MAX; i++)
        snprintf(e->removed[e->n_removed++], 64, "%.*s", (int)reply->remove[i].n, reply->remove[i].p);
    if (reply->endpoint.n)
        snprintf(e->endpoint, sizeof e->endpoint, "%.*s", (int)reply->endpoint.n, reply->endpoint.p);
}

static inline void envoy_append(struct envoy *e, struct sr_buf *to, const void *p, size_t n)
{
    if (sr_buf_append(to, p, n) != SR_OK)
        envoy_fault(e, "out of memory");
}

static inline void envoy_take_body(struct envoy *e, struct sr_buf *to, const struct sr_extproc_reply *reply)
{
    for (size_t i = 0; i < reply->n_body; i++)
        envoy_append(e, to, reply->body[i].p, reply->body[i].n);
}

static inline void envoy_take_piece(struct envoy *e, const struct sr_extproc_reply *reply)
{
    bool request = reply->phase == SR_EXTPROC_REQUEST_BODY;
    bool *ended = request ? &e->upstream_ended : &e->client_ended;
    if (request && !e->head_released)
        envoy_fault(e, "a piece before the reply to the headers");
    if (*ended)
        envoy_fault(e, "a piece after the last");
    size_t before = request ? e->upstream.len : e->client.len;
    envoy_take_body(e, request ? &e->upstream : &e->client, reply);
    size_t n = (request ? e->upstream.len : e->client.len) - before;
    e->largest_piece = n > e->largest_piece ? n : e->largest_piece;
    e->pieces++;
    *ended = reply->end_of_stream;
}

static inline void envoy_take_reply(struct envoy *e, const struct sr_extproc_reply *reply)
{
    if (e->count == 0 || e->pending[e->first % ENVOY_PENDING_MAX].phase != reply->phase) {
        envoy_fault(e, "a reply to what was not asked");
        return;
    }
    char *bytes = e->pending[e->first % ENVOY_PENDING_MAX].bytes;
    size_t n = e->pending[e->first % ENVOY_PENDING_MAX].n;
    e->first++;
    e->count--;
    struct sr_buf *to = reply->phase == SR_EXTPROC_REQUEST_BODY    ? &e->upstream
                        : reply->phase == SR_EXTPROC_RESPONSE_BODY ? &e->client
                                                                   : NULL;
    if (to && reply->change == SR_EXTPROC_REPLACE)
        envoy_take_body(e, to, reply);
    else if (to && n > 0)
        envoy_append(e, to, bytes, n);
    if (!to && reply->change != SR_EXTPROC_KEEP)
        envoy_fault(e, "a body in the reply to headers or trailers");
    free(bytes);
    if (reply->phase == SR_EXTPROC_REQUEST_HEADERS) {
        e->head_released = true;
        e->head_cleared = reply->clear_route_cache;
    } else if (reply->phase == SR_EXTPROC_REQUEST_BODY) {
        if (!e->head_released)
            envoy_fault(e, "a reply to the body before the one to the headers");
        e->body_cleared |= reply->clear_route_cache;
    }
}

/* An answer in pieces can only take the place of the reply to the request's headers. */
static inline void envoy_take_answer(struct envoy *e, const struct sr_extproc_reply *reply)
{
    if (e->mode != SR_EXTPROC_MODE_FULL_DUPLEX || e->head_released || e->in_pieces)
        envoy_fault(e, "an answer in pieces where Envoy takes none");
    e->in_pieces = true;
    e->immediate = reply->status;
    envoy_take_headers(e, reply);
}

static inline void envoy_take_answer_piece(struct envoy *e, const struct sr_extproc_reply *reply)
{
    if (!e->in_pieces || e->immediate_ended)
        envoy_fault(e, "a piece of an answer that did not begin, or has ended");
    size_t before = e->immediate_body.len;
    envoy_take_body(e, &e->immediate_body, reply);
    size_t n = e->immediate_body.len - before;
    e->largest_piece = n > e->largest_piece ? n : e->largest_piece;
    e->pieces++;
    e->immediate_ended = reply->end_of_stream;
}

static inline void envoy_on_send(void *ctx, const struct sr_extproc_reply *reply)
{
    struct envoy *e = ctx;
    e->replies++;
    if (reply->action == SR_EXTPROC_ANSWER_PIECE) {
        envoy_take_answer_piece(e, reply);
        return;
    }
    if (e->immediate) {
        envoy_fault(e, "a reply after the immediate response");
        return;
    }
    if (reply->action == SR_EXTPROC_EXTEND) {
        e->extensions++;
        return;
    }
    if (reply->action == SR_EXTPROC_ANSWER) {
        envoy_take_answer(e, reply);
        return;
    }
    envoy_take_headers(e, reply);
    e->overridden |= reply->override_modes;
    if (reply->action == SR_EXTPROC_IMMEDIATE) {
        e->immediate = reply->status;
        envoy_take_body(e, &e->immediate_body, reply);
        return;
    }
    bool request_body = reply->phase == SR_EXTPROC_REQUEST_BODY;
    bool duplex = (request_body && e->mode == SR_EXTPROC_MODE_FULL_DUPLEX) ||
                  (reply->phase == SR_EXTPROC_RESPONSE_BODY && e->answer_mode == SR_EXTPROC_MODE_FULL_DUPLEX);
    if ((reply->change == SR_EXTPROC_PIECE) != duplex)
        envoy_fault(e, "a mutation that the mode does not have");
    else if (duplex)
        envoy_take_piece(e, reply);
    else
        envoy_take_reply(e, reply);
}

static inline void envoy_on_fail(void *ctx, const char *why)
{
    ((struct envoy *)ctx)->failed = why;
}

static const struct sr_extproc_core_ops ENVOY_OPS = {.send = envoy_on_send, .fail = envoy_on_fail};

/* `options` may bring ops of its own with a `post`; its ctx is set here. NULL core: memory was out. */
static inline void envoy_init(struct envoy *e, enum sr_extproc_mode mode, bool no_wait,
                              struct sr_extproc_core_options options)
{
    memset(e, 0, sizeof *e);
    e->mode = mode;
    e->answer_mode = SR_EXTPROC_MODE_STREAMED;
    e->no_wait = no_wait;
    sr_buf_init(&e->upstream, (size_t)64 << 20);
    sr_buf_init(&e->client, (size_t)64 << 20);
    sr_buf_init(&e->immediate_body, (size_t)64 << 20);
    options.ops = options.ops ? options.ops : &ENVOY_OPS;
    options.ctx = e;
    options.peer = (struct sr_bytes){"", 0};
    e->core = sr_extproc_core_new(&options);
}

static inline void envoy_dispose(struct envoy *e)
{
    sr_extproc_core_free(e->core);
    for (; e->count > 0; e->count--)
        free(e->pending[e->first++ % ENVOY_PENDING_MAX].bytes);
    sr_buf_dispose(&e->upstream);
    sr_buf_dispose(&e->client);
    sr_buf_dispose(&e->immediate_body);
}

static inline void envoy_send(struct envoy *e, struct sr_extproc_message *message)
{
    bool asks =
        message->phase != SR_EXTPROC_NONE &&
        !(message->phase == SR_EXTPROC_REQUEST_BODY && e->mode == SR_EXTPROC_MODE_FULL_DUPLEX) &&
        !(message->phase == SR_EXTPROC_RESPONSE_BODY && e->answer_mode == SR_EXTPROC_MODE_FULL_DUPLEX);
    /* An exact copy, so that a read past its end is a report. */
    char *copy = malloc(message->body.n ? message->body.n : 1);
    if (message->body.n)
        memcpy(copy, message->body.p, message->body.n);
    message->body.p = copy;
    if (asks && e->count < ENVOY_PENDING_MAX) {
        e->pending[(e->first + e->count) % ENVOY_PENDING_MAX].phase = message->phase;
        e->pending[(e->first + e->count) % ENVOY_PENDING_MAX].bytes = copy;
        e->pending[(e->first + e->count++) % ENVOY_PENDING_MAX].n = message->body.n;
        sr_extproc_core_message(e->core, message);
    } else {
        sr_extproc_core_message(e->core, message);
        free(copy);
    }
}

static inline void envoy_head(struct envoy *e, const char *method, const char *path,
                              const struct sr_header *headers, size_t n_headers, bool end)
{
    struct sr_extproc_message message = {.phase = SR_EXTPROC_REQUEST_HEADERS,
                                         .has_config = true,
                                         .request_mode = e->mode,
                                         .response_mode = e->answer_mode,
                                         .no_wait = e->no_wait,
                                         .method = {method, strlen(method)},
                                         .path = {path, strlen(path)},
                                         .headers = headers,
                                         .n_headers = n_headers,
                                         .end_of_stream = end};
    envoy_send(e, &message);
}

static inline void envoy_post(struct envoy *e, const struct sr_header *headers, size_t n_headers)
{
    envoy_head(e, "POST", "/v1/chat/completions", headers, n_headers, false);
}

static inline void envoy_body(struct envoy *e, const char *p, size_t n, bool end)
{
    struct sr_extproc_message message = {
        .phase = SR_EXTPROC_REQUEST_BODY, .body = {p, n}, .end_of_stream = end};
    envoy_send(e, &message);
}

static inline void envoy_trailers(struct envoy *e)
{
    struct sr_extproc_message message = {.phase = SR_EXTPROC_REQUEST_TRAILERS};
    envoy_send(e, &message);
}

static inline void envoy_answer(struct envoy *e, const char *status, const char *type, bool end)
{
    struct sr_header header = {{"content-type", 12}, {type, strlen(type)}};
    struct sr_extproc_message message = {.phase = SR_EXTPROC_RESPONSE_HEADERS,
                                         .status = {status, strlen(status)},
                                         .headers = &header,
                                         .n_headers = 1,
                                         .end_of_stream = end};
    envoy_send(e, &message);
}

static inline void envoy_answer_body(struct envoy *e, const char *text, bool end)
{
    struct sr_extproc_message message = {
        .phase = SR_EXTPROC_RESPONSE_BODY, .body = {text, strlen(text)}, .end_of_stream = end};
    envoy_send(e, &message);
}

static inline void envoy_answer_trailers(struct envoy *e)
{
    struct sr_extproc_message message = {.phase = SR_EXTPROC_RESPONSE_TRAILERS};
    envoy_send(e, &message);
}

#endif
