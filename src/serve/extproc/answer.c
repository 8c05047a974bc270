/*
 * The answer's half of Envoy's external processor: runs the same stages as the gateway, in Envoy's modes.
 *
 * Bytes are changed only where a stage changes them. If Envoy's configuration allows it, an SSE answer
 * that Envoy would buffer is switched to STREAMED, and an answer that a stage must read before its head is
 * sent is switched to BUFFERED. The findings go into the headers with the last piece: in FULL_DUPLEX the
 * reply to the headers waits for it, in BUFFERED Envoy still holds them.
 */
#include "router/exchange/answer.h"
#include "base/clock.h"
#include "serve/extproc/private.h"

#include <stdio.h>

static int status_of(const struct sr_extproc_message *message)
{
    unsigned long long status = 0;
    return sr_bytes_to_u64(message->status, &status) && status < 1000 ? (int)status : 0;
}

static bool is_duplex(const struct sr_extproc_core *core)
{
    return core->response_mode == SR_EXTPROC_MODE_FULL_DUPLEX;
}

static bool sees_answer(const struct sr_extproc_core *core)
{
    return core->response_mode != SR_EXTPROC_MODE_NONE || core->answer_overridden || core->answer_gathered;
}

/* True when each message holds a whole answer. After an override from STREAMED only the message itself
 * shows it. */
static bool is_buffered(const struct sr_extproc_core *core)
{
    return (core->response_mode == SR_EXTPROC_MODE_BUFFERED && !core->answer_overridden) ||
           (core->response_mode == SR_EXTPROC_MODE_NONE && core->answer_gathered);
}

/* ---- headers that come late ---- */

struct late_headers {
    struct sr_header items[32];
    size_t n;
    char length[24], status[8];
};

static void add(struct late_headers *late, struct sr_bytes name, struct sr_bytes value)
{
    if (late->n < sizeof late->items / sizeof late->items[0])
        late->items[late->n++] = (struct sr_header){name, value};
}

/* Adds the new length: with the whole answer in one message Envoy otherwise sends the old one. */
static void add_length(struct late_headers *late, const struct sr_bytes *slices, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += slices[i].n;
    snprintf(late->length, sizeof late->length, "%zu", n);
    add(late, SR_LIT("content-length"), sr_bytes_str(late->length));
}

/* Adds headers for findings in an answer that was held. */
static void add_found(struct sr_extproc_core *core, struct late_headers *late)
{
    const struct sr_header *more;
    size_t n;
    sr_exchange_answer_headers(core->exchange, &more, &n);
    for (size_t i = 0; i < n; i++)
        add(late, more[i].name, more[i].value);
}

static void add_reply(struct late_headers *late, const struct sr_verdict *v)
{
    snprintf(late->status, sizeof late->status, "%d", v->status);
    add(late, SR_LIT(":status"), sr_bytes_str(late->status));
    for (size_t i = 0; i < v->n_headers; i++)
        add(late, v->headers[i].name, v->headers[i].value);
    add_length(late, &v->reply, 1);
}

static bool sets(const struct late_headers *late, struct sr_bytes name)
{
    for (size_t i = 0; i < late->n; i++)
        if (sr_bytes_eq(late->items[i].name, name))
            return true;
    return false;
}

/* FULL_DUPLEX: sends the reply to the answer's headers once their content is known. */
static void reply_to_head(struct sr_extproc_core *core, const struct late_headers *late)
{
    const struct sr_header_edits *edits = &core->answer_edits;
    if (!core->answer_head_pending)
        return;
    struct sr_extproc_reply reply = {
        .phase = SR_EXTPROC_RESPONSE_HEADERS, .remove = edits->remove, .n_remove = edits->n_remove};
    struct sr_header *set = sr_arena_calloc(&core->arena, edits->n_set + late->n + 1, sizeof *set);
    for (size_t i = 0; set && i < edits->n_set; i++)
        if (!sets(late, edits->set[i].name))
            set[reply.n_set++] = edits->set[i];
    for (size_t i = 0; set && i < late->n; i++)
        set[reply.n_set++] = late->items[i];
    reply.set = set;
    core->answer_head_pending = false;
    sr_extproc_send(core, &reply);
}

/* ---- bodies ---- */

/* The reply to the latest message, or in FULL_DUPLEX pieces. `unchanged`: the slices are what it held. */
static void reply_to_answer(struct sr_extproc_core *core, enum sr_answer_step step,
                            const struct sr_bytes *slices, size_t count, bool unchanged, bool end)
{
    struct late_headers late = {.n = 0};
    bool last = core->answer_ended && core->exchange;
    bool alone = is_buffered(core) || (core->answer_gathered && core->answer_chunks == 1);
    if (step == SR_ANSWER_REPLACE) {
        const struct sr_verdict *v = sr_exchange_verdict(core->exchange);
        add_reply(&late, v);
        slices = &v->reply;
        count = 1;
    } else if (last && step == SR_ANSWER_GO && sr_exchange_answer_held(core->exchange)) {
        add_found(core, &late);
    }
    if (is_duplex(core)) {
        if (step != SR_ANSWER_HOLD) {
            reply_to_head(core, &late);
            sr_extproc_pieces(core, SR_EXTPROC_RESPONSE_BODY, slices, count, end);
        }
        return;
    }
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_RESPONSE_BODY};
    if (!unchanged) {
        reply.change = SR_EXTPROC_REPLACE;
        reply.body = slices;
        reply.n_body = count;
        if (alone && last && step != SR_ANSWER_REPLACE)
            add_length(&late, slices, count);
    }
    reply.set = late.items;
    reply.n_set = late.n;
    sr_extproc_send(core, &reply);
}

/* The whole answer was given and a stage reads it: Envoy must wait for the reply. */
static void wait_for_answer(struct sr_extproc_core *core)
{
    uint64_t now = sr_clock_ns(), due = sr_exchange_deadline_ns(core->exchange);
    core->answer_waits = true;
    sr_extproc_extend(core,
                      core->answer_trailers_pending ? SR_EXTPROC_RESPONSE_TRAILERS : SR_EXTPROC_RESPONSE_BODY,
                      due > now ? (due - now) / SR_NS_PER_MS : 0);
}

void sr_extproc_answer_ready(struct sr_extproc_core *core)
{
    const struct sr_bytes *slices;
    size_t count;
    /* If each piece has one reply, released bytes go with the next reply. */
    if (core->state == SR_EXTPROC_CLOSED || (!core->answer_waits && !is_duplex(core)))
        return;
    enum sr_answer_step step = sr_exchange_answer_next(core->exchange, &slices, &count);
    if (step == SR_ANSWER_WAIT) {
        wait_for_answer(core);
        return;
    }
    if (!core->answer_trailers_pending || is_duplex(core)) {
        reply_to_answer(core, step, slices, count, false,
                        core->answer_ended && !core->answer_trailers_pending);
    }
    if (core->answer_waits && core->answer_trailers_pending) {
        core->answer_trailers_pending = false;
        sr_extproc_continue(core, SR_EXTPROC_RESPONSE_TRAILERS);
    }
    core->answer_waits = false;
}

/* ---- messages ---- */

/* Envoy answered itself before the verdict: the body was too large, or the client too slow. */
static void envoy_answered(struct sr_extproc_core *core, int status)
{
    sr_exchange_fail(core->exchange, status >= 400 ? status : 500, NULL,
                     "Envoy answered the request itself.");
    core->state = SR_EXTPROC_BYPASS;
    core->head_pending = false;
    core->answer_ended = true;
    sr_extproc_continue(core, SR_EXTPROC_RESPONSE_HEADERS);
}

/* Ends an answer without a body, or whose body Envoy does not send here. */
static void end_answer(struct sr_extproc_core *core)
{
    const struct sr_bytes *slices;
    size_t count;
    core->answer_ended = true;
    sr_exchange_answer_body(core->exchange, NULL, 0, true, &slices, &count);
}

/* Envoy accepts no mode override when it does not wait for replies to headers. */
static bool can_gather(const struct sr_extproc_core *core)
{
    return !core->no_wait && core->request_mode != SR_EXTPROC_MODE_FULL_DUPLEX;
}

/* Asks Envoy for another mode of the answer's body than the configured one. */
static void choose_mode(struct sr_extproc_core *core, const struct sr_extproc_message *message,
                        struct sr_extproc_reply *reply)
{
    bool streamed = core->response_mode == SR_EXTPROC_MODE_STREAMED;
    if (message->end_of_stream || is_duplex(core))
        return;
    if (!streamed && sr_extproc_is_sse(message->headers, message->n_headers)) {
        core->answer_overridden = true;
        reply->response_mode = SR_EXTPROC_MODE_STREAMED;
    } else if (core->response_mode != SR_EXTPROC_MODE_BUFFERED && sr_exchange_answer_held(core->exchange)) {
        core->answer_gathered = can_gather(core);
        reply->response_mode = SR_EXTPROC_MODE_BUFFERED;
        if (!core->answer_gathered)
            sr_extproc_count_unrouted(core, "answer_head_gone");
    }
    reply->override_modes = core->answer_overridden || core->answer_gathered;
    reply->request_mode = core->request_mode;
}

/* The head goes before its answer is read: it names what the request lost, as that of a stream does. */
static void name_lost(struct sr_extproc_core *core, struct sr_extproc_reply *reply)
{
    const struct sr_header *more;
    size_t n;
    sr_exchange_answer_headers(core->exchange, &more, &n);
    struct sr_header *set = sr_arena_calloc(&core->arena, reply->n_set + n + 1, sizeof *set);
    for (size_t i = 0; set && i < reply->n_set; i++)
        set[i] = reply->set[i];
    for (size_t i = 0; set && i < n; i++)
        if (sr_bytes_eq(more[i].name, SR_LIT("x-vsr-protocol-warnings")))
            set[reply->n_set++] = more[i];
    reply->set = set ? set : reply->set;
}

/* True for the answer of a model to a request that was not seen here. What Envoy answers itself before its
 * filters saw the request is an error, a redirect, or has no content. */
static bool is_unguarded(const struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    return core->state == SR_EXTPROC_STARTING && sr_extproc_protects(core) && status_of(message) / 100 == 2 &&
           !message->end_of_stream;
}

void sr_extproc_answer_head(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    if (core->answer_begun) {
        sr_extproc_fail(core, "response_headers came twice");
        return;
    }
    core->answer_begun = true;
    if (is_unguarded(core, message)) {
        sr_extproc_fail(core, SR_EXTPROC_HEAD_MISSING);
        return;
    }
    if (!core->exchange) {
        core->state = SR_EXTPROC_BYPASS;
        sr_extproc_continue(core, SR_EXTPROC_RESPONSE_HEADERS);
        return;
    }
    if (!sr_exchange_verdict(core->exchange)) {
        envoy_answered(core, status_of(message));
        return;
    }
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_RESPONSE_HEADERS};
    struct sr_header_edits *edits = &core->answer_edits;
    sr_extproc_learn(core, message, status_of(message));
    edits->struct_size = sizeof *edits;
    sr_exchange_answer_head(core->exchange, status_of(message), message->headers, message->n_headers, edits);
    if (sr_exchange_answer_refused(core->exchange)) {
        sr_extproc_answer_here(core, sr_exchange_verdict(core->exchange), SR_EXTPROC_RESPONSE_HEADERS);
        return;
    }
    if (is_duplex(core) && !message->end_of_stream && sr_exchange_answer_held(core->exchange)) {
        core->answer_head_pending = true;
        return;
    }
    reply.set = edits->set;
    reply.n_set = edits->n_set;
    reply.remove = edits->remove;
    reply.n_remove = edits->n_remove;
    choose_mode(core, message, &reply);
    if (sr_exchange_answer_held(core->exchange) && !is_buffered(core) && !core->answer_gathered)
        name_lost(core, &reply);
    if (message->end_of_stream || !sees_answer(core))
        end_answer(core);
    sr_extproc_send(core, &reply);
}

static bool is_unchanged(struct sr_bytes in, const struct sr_bytes *slices, size_t count)
{
    return (count == 0 && in.n == 0) || (count == 1 && slices[0].p == in.p && slices[0].n == in.n);
}

void sr_extproc_answer_body(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    bool last = message->end_of_stream || is_buffered(core);
    const struct sr_bytes *slices = &message->body;
    enum sr_answer_step step = SR_ANSWER_GO;
    size_t count = 1;
    if (core->exchange && core->answer_begun && !core->answer_ended) {
        core->answer_ended = last;
        core->answer_chunks++;
        step =
            sr_exchange_answer_body(core->exchange, message->body.p, message->body.n, last, &slices, &count);
    }
    if (step == SR_ANSWER_WAIT) {
        wait_for_answer(core);
        return;
    }
    bool unchanged = step != SR_ANSWER_REPLACE && is_unchanged(message->body, slices, count);
    reply_to_answer(core, step, slices, count, unchanged, last);
}

void sr_extproc_answer_trailers(struct sr_extproc_core *core)
{
    if (core->exchange && core->answer_begun && !core->answer_ended) {
        const struct sr_bytes *slices;
        size_t count;
        core->answer_ended = core->answer_trailers_pending = true;
        enum sr_answer_step step = sr_exchange_answer_body(core->exchange, NULL, 0, true, &slices, &count);
        if (step == SR_ANSWER_WAIT) {
            wait_for_answer(core);
            return;
        }
        if (is_duplex(core))
            reply_to_answer(core, step, slices, count, false, false);
        core->answer_trailers_pending = false;
    }
    sr_extproc_continue(core, SR_EXTPROC_RESPONSE_TRAILERS);
}

enum sr_end sr_extproc_how_it_ended(const struct sr_extproc_core *core)
{
    const struct sr_verdict *v = sr_exchange_verdict(core->exchange);
    if (!v)
        return SR_END_CLIENT_GONE;
    if (v->action == SR_ACTION_REPLY || core->answer_ended)
        return SR_END_COMPLETE;
    if (!core->answer_begun) {
        /* Without response bodies Envoy may not send response headers either. */
        return core->response_mode == SR_EXTPROC_MODE_NONE ? SR_END_COMPLETE : SR_END_CLIENT_GONE;
    }
    /* If Envoy ignored an override, no bodies arrive. */
    return (core->answer_overridden || core->answer_gathered) && core->answer_chunks == 0
               ? SR_END_COMPLETE
               : SR_END_CLIENT_GONE;
}
