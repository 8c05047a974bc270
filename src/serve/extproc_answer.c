/*
 * The answer's half of Envoy's external processor: the same stages as the gateway's, in Envoy's modes.
 *
 * Bytes are changed only where a stage changes them; an SSE answer that Envoy would buffer is switched to
 * STREAMED where the configuration of Envoy allows it.
 */
#include "serve/extproc_private.h"

#include <stdio.h>

bool sr_extproc_is_sse(const struct sr_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sr_bytes_eq(headers[i].name, SR_LIT("content-type"))) {
            struct sr_bytes value = sr_bytes_trim(headers[i].value), sse = SR_LIT("text/event-stream");
            return value.n >= sse.n && sr_bytes_eq_nocase(sr_bytes_of(value.p, sse.n), sse);
        }
    }
    return false;
}

static int status_of(const struct sr_extproc_message *message)
{
    unsigned long long status = 0;
    return sr_bytes_to_u64(message->status, &status) && status < 1000 ? (int)status : 0;
}

static bool sees_answer(const struct sr_extproc_core *core)
{
    return core->response_mode != SR_EXTPROC_MODE_NONE || core->answer_overridden;
}

/* Envoy answered by itself before there was a verdict: too large a body, a client that was too slow. */
static void envoy_answered(struct sr_extproc_core *core, int status)
{
    sr_exchange_fail(core->exchange, status >= 400 ? status : 500, NULL,
                     "Envoy answered the request itself.");
    core->state = SR_EXTPROC_BYPASS;
    core->head_owed = false;
    core->answer_ended = true;
    sr_extproc_continue(core, SR_EXTPROC_RESPONSE_HEADERS);
}

static void end_answer(struct sr_extproc_core *core)
{
    const struct sr_bytes *slices;
    size_t count;
    core->answer_ended = true;
    sr_exchange_answer_body(core->exchange, NULL, 0, true, &slices, &count);
}

void sr_extproc_answer_head(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    if (core->answer_begun) {
        sr_extproc_fail(core, "response_headers came twice");
        return;
    }
    core->answer_begun = true;
    if (!core->exchange) {
        core->state = SR_EXTPROC_BYPASS;
        sr_extproc_continue(core, SR_EXTPROC_RESPONSE_HEADERS);
        return;
    }
    if (!sr_exchange_verdict(core->exchange)) {
        envoy_answered(core, status_of(message));
        return;
    }
    struct sr_header_edits edits = {0};
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_RESPONSE_HEADERS};
    sr_extproc_learn(core, message, status_of(message));
    sr_exchange_answer_head(core->exchange, status_of(message), message->headers, message->n_headers, &edits);
    reply.set = edits.set;
    reply.n_set = edits.n_set;
    reply.remove = edits.remove;
    reply.n_remove = edits.n_remove;
    bool chunked =
        core->response_mode == SR_EXTPROC_MODE_STREAMED || core->response_mode == SR_EXTPROC_MODE_FULL_DUPLEX;
    if (!chunked && !message->end_of_stream && sr_extproc_is_sse(message->headers, message->n_headers)) {
        core->answer_overridden = true;
        reply.override_modes = true;
        reply.request_mode = core->request_mode;
    }
    if (message->end_of_stream || !sees_answer(core)) {
        end_answer(core);
    }
    sr_extproc_send(core, &reply);
}

static bool is_unchanged(struct sr_bytes in, const struct sr_bytes *slices, size_t count)
{
    return (count == 0 && in.n == 0) || (count == 1 && slices[0].p == in.p && slices[0].n == in.n);
}

/* With the whole answer in one message Envoy sends its old length unless it is told the new one. */
static void put_length(struct sr_extproc_reply *reply, struct sr_header *length, char text[24])
{
    size_t n = 0;
    for (size_t i = 0; i < reply->n_body; i++) {
        n += reply->body[i].n;
    }
    snprintf(text, 24, "%zu", n);
    *length = (struct sr_header){SR_LIT("content-length"), sr_bytes_str(text)};
    reply->set = length;
    reply->n_set = 1;
}

void sr_extproc_answer_body(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    bool duplex = core->response_mode == SR_EXTPROC_MODE_FULL_DUPLEX;
    bool buffered = core->response_mode == SR_EXTPROC_MODE_BUFFERED && !core->answer_overridden;
    bool last = message->end_of_stream || buffered;
    const struct sr_bytes *slices = &message->body;
    size_t count = 1;
    if (core->exchange && core->answer_begun && !core->answer_ended) {
        core->answer_ended = last;
        core->answer_chunks++;
        sr_exchange_answer_body(core->exchange, message->body.p, message->body.n, last, &slices, &count);
    }
    if (duplex) {
        sr_extproc_pieces(core, SR_EXTPROC_RESPONSE_BODY, slices, count, last);
        return;
    }
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_RESPONSE_BODY};
    struct sr_header length;
    char text[24];
    if (!is_unchanged(message->body, slices, count)) {
        reply.change = SR_EXTPROC_REPLACE;
        reply.body = slices;
        reply.n_body = count;
        if (buffered) {
            put_length(&reply, &length, text);
        }
    }
    sr_extproc_send(core, &reply);
}

void sr_extproc_answer_trailers(struct sr_extproc_core *core)
{
    if (core->exchange && core->answer_begun && !core->answer_ended) {
        const struct sr_bytes *slices;
        size_t count;
        core->answer_ended = true;
        sr_exchange_answer_body(core->exchange, NULL, 0, true, &slices, &count);
        if (core->response_mode == SR_EXTPROC_MODE_FULL_DUPLEX) {
            sr_extproc_pieces(core, SR_EXTPROC_RESPONSE_BODY, slices, count, false);
        }
    }
    sr_extproc_continue(core, SR_EXTPROC_RESPONSE_TRAILERS);
}

enum sr_end sr_extproc_how_it_ended(const struct sr_extproc_core *core)
{
    const struct sr_verdict *v = sr_exchange_verdict(core->exchange);
    if (!v) {
        return SR_END_CLIENT_GONE;
    }
    if (v->action == SR_ACTION_REPLY || core->answer_ended) {
        return SR_END_COMPLETE;
    }
    if (!core->answer_begun) {
        /* Without response bodies Envoy may not send response headers either. */
        return core->response_mode == SR_EXTPROC_MODE_NONE ? SR_END_COMPLETE : SR_END_CLIENT_GONE;
    }
    /* An override that Envoy did not follow brings no bodies. */
    return core->answer_overridden && core->answer_chunks == 0 ? SR_END_COMPLETE : SR_END_CLIENT_GONE;
}
