/*
 * Sends to the client: replies of the router, and the upstream's answer as it arrives.
 *
 * A head and small pieces of the body are collected until this iteration of the loop ends, then sent in
 * one write. No byte waits longer.
 */
#include "base/log.h"
#include "router/exchange/answer.h"
#include "serve/forward.h"
#include "serve/gateway/call.h"

#include <stdio.h>

#define SLICES_MAX     16
#define LOST_EVENT_MAX 1024 /* bytes */

/* Most headers that are added to a held head. */
#define HELD_HEADERS_MAX 4

/* ---- replies made here ---- */

static void finish(struct sr_call *call)
{
    call->stage = SR_CALL_FINISHED;
}

static void abort_call(struct sr_call *call)
{
    finish(call);
    sr_http_request_abort(call->request);
}

void sr_call_reply(struct sr_call *call, const struct sr_verdict *verdict)
{
    if (call->answer_begun || call->answer_pending) {
        abort_call(call);
        return;
    }
    finish(call);
    struct sr_http_response response = {
        .status = verdict->status, .headers = verdict->headers, .header_count = verdict->n_headers};
    int rc = sr_http_request_reply(call->request, &response, verdict->reply);
    if (rc != SR_OK && rc != SR_ECLOSED) {
        sr_log(SR_LOG_ERROR, "reply", "the reply cannot be sent: %s", sr_strerror(rc));
        sr_http_request_abort(call->request);
    }
}

void sr_call_fail(struct sr_call *call, int status, const char *type, const char *message)
{
    const struct sr_verdict *verdict = sr_exchange_fail(call->exchange, status, type, message);
    if (!verdict) {
        abort_call(call);
        return;
    }
    sr_call_reply(call, verdict);
}

/* ---- the upstream's answer ---- */

static void remember_tail(struct sr_call *call, struct sr_bytes slice)
{
    if (slice.n >= 2) {
        call->tail[0] = slice.p[slice.n - 2];
        call->tail[1] = slice.p[slice.n - 1];
    } else if (slice.n == 1) {
        call->tail[0] = call->tail[1];
        call->tail[1] = slice.p[0];
    }
}

/* The client disconnected: `done` follows and ends the call; cancels the upstream. */
static void client_gone(struct sr_call *call)
{
    finish(call);
    sr_call_cancel(call);
}

static void write_slices(struct sr_call *call, const struct sr_bytes *slices, size_t count)
{
    int rc;
    if (call->answer_pending) {
        call->answer_pending = false;
        call->answer_begun = true;
        rc = sr_http_request_respond(call->request, &call->answer, slices, count);
    } else if (count > 0) {
        rc = sr_http_request_write(call->request, slices, count);
    } else {
        return;
    }
    if (rc == SR_ECLOSED) {
        client_gone(call);
    } else if (rc != SR_OK) {
        sr_log(SR_LOG_WARN, "answer", "model %s: the answer cannot be relayed: %s", call->verdict->model,
               sr_strerror(rc));
        sr_call_cancel(call);
        abort_call(call);
    } else if (sr_http_request_queued(call->request) > SR_CALL_HIGH_WATER && call->upstream &&
               !call->upstream_paused) {
        call->upstream_paused = true;
        sr_fetch_pause(call->upstream);
    }
}

/* Writes the buffered pieces and `slices` at once. */
static void write_all(struct sr_call *call, const struct sr_bytes *slices, size_t count)
{
    struct sr_bytes all[SLICES_MAX];
    sr_deferred_cancel(&call->flush);
    if (call->out.len == 0) {
        write_slices(call, slices, count);
        return;
    }
    all[0] = sr_buf_view(&call->out);
    size_t now = count < SLICES_MAX ? count : 0;
    for (size_t i = 0; i < now; i++)
        all[i + 1] = slices[i];
    write_slices(call, all, now + 1);
    sr_buf_clear(&call->out);
    if (now < count && call->stage == SR_CALL_ANSWERING)
        write_slices(call, slices, count);
}

static void on_flush(void *ctx)
{
    struct sr_call *call = ctx;
    if (call->stage == SR_CALL_ANSWERING && !call->answer_held)
        write_all(call, NULL, 0);
}

static bool keep_for_later(struct sr_call *call, const struct sr_bytes *slices, size_t count, size_t size)
{
    if (call->out.len + size > SR_CALL_COALESCE || sr_buf_reserve(&call->out, size) != SR_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (sr_buf_append_bytes(&call->out, slices[i]) != SR_OK)
            return false; /* cannot happen: the room was reserved */
    sr_loop_defer(call->gateway->options.loop, &call->flush);
    return true;
}

static bool removes(const struct sr_header_edits *edits, struct sr_bytes name)
{
    for (size_t i = 0; i < edits->n_remove; i++)
        if (sr_bytes_eq(edits->remove[i], name))
            return true;
    return false;
}

static bool is_sse(const struct sr_header *headers, size_t count)
{
    bool sse = false;
    for (size_t i = 0; i < count; i++)
        if (sr_bytes_eq(headers[i].name, SR_LIT("content-type")))
            sse = sr_bytes_starts_with(headers[i].value, SR_LIT("text/event-stream"));
    return sse;
}

/* The content-length of the answer: none if a stage changes the body, else the upstream's. */
static int64_t answer_length(const struct sr_http_head *head, const struct sr_header_edits *edits)
{
    return removes(edits, SR_LIT("content-length")) ? -1 : head->content_length;
}

/* Copies the upstream's head, which is valid only during the callback. */
static bool keep_head(struct sr_call *call, struct sr_header *headers, size_t count)
{
    struct sr_arena *arena = sr_http_request_arena(call->request);
    for (size_t i = 0; i < count; i++) {
        headers[i].name = sr_arena_dup(arena, headers[i].name);
        headers[i].value = sr_arena_dup(arena, headers[i].value);
        if (!headers[i].name.p || !headers[i].value.p)
            return false;
    }
    call->answer.reason = sr_arena_dup(arena, call->answer.reason);
    return call->answer.reason.p != NULL;
}

void sr_call_answer_head(struct sr_call *call, const struct sr_http_head *head)
{
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    sr_exchange_answer_head(call->exchange, head->status, head->headers, head->header_count, &edits);
    size_t room = head->header_count + edits.n_set + HELD_HEADERS_MAX;
    struct sr_header *headers = sr_arena_alloc(sr_http_request_arena(call->request), room * sizeof *headers);
    if (!headers) {
        sr_call_cancel(call);
        abort_call(call);
        return;
    }
    size_t n = sr_forward_merge(headers, head, &edits);
    call->answer_sse = is_sse(headers, n - edits.n_set);
    call->upstream_length = head->content_length;
    call->answer_headers = headers;
    call->answer = (struct sr_http_response){.status = head->status,
                                             .reason = head->reason,
                                             .headers = headers,
                                             .header_count = n,
                                             .content_length = answer_length(head, &edits)};
    call->answer_pending = true;
    call->answer_held = sr_exchange_answer_held(call->exchange);
    if (call->answer_held && !keep_head(call, headers, n)) {
        sr_call_cancel(call);
        abort_call(call);
        return;
    }
    call->flush.run = on_flush;
    call->flush.ctx = call;
    sr_loop_defer(call->gateway->options.loop, &call->flush);
}

static void complete(struct sr_call *call)
{
    if (call->stage != SR_CALL_ANSWERING)
        return;
    finish(call);
    int rc = sr_http_request_finish(call->request);
    if (rc != SR_OK && rc != SR_ECLOSED) {
        sr_log(SR_LOG_WARN, "answer", "model %s: the answer was cut: %s", call->verdict->model,
               sr_strerror(rc));
    }
}

/* Writes a held head, with headers for the findings. */
static void release_head(struct sr_call *call)
{
    const struct sr_header *more;
    size_t n;
    sr_exchange_answer_headers(call->exchange, &more, &n);
    for (size_t i = 0; i < n && i < HELD_HEADERS_MAX; i++)
        call->answer_headers[call->answer.header_count++] = more[i];
    call->answer_held = false;
}

/* Sends the verdict's reply instead of an answer of which the client has no byte yet. */
static void replace_answer(struct sr_call *call)
{
    call->answer_pending = call->answer_held = false;
    sr_call_reply(call, sr_exchange_verdict(call->exchange));
}

static void relay(struct sr_call *call, enum sr_answer_step step, const struct sr_bytes *slices, size_t count)
{
    size_t size = 0;
    if (sr_exchange_deadline_ns(call->exchange) != 0)
        sr_call_arm(call);
    if (step == SR_ANSWER_HOLD || step == SR_ANSWER_WAIT) {
        /* Write a head that is not held before the upstream's end invalidates it. */
        if (step == SR_ANSWER_WAIT && call->answer_pending && !call->answer_held)
            write_all(call, NULL, 0);
        return;
    }
    if (step == SR_ANSWER_REPLACE) {
        replace_answer(call);
        return;
    }
    if (step == SR_ANSWER_END) {
        sr_call_cancel(call);
        call->answer_given = true;
    }
    if (call->answer_held)
        release_head(call);
    for (size_t i = 0; i < count; i++) {
        size += slices[i].n;
        remember_tail(call, slices[i]);
    }
    if (!call->answer_given) {
        if (size > 0 && !keep_for_later(call, slices, count, size))
            write_all(call, slices, count);
        return;
    }
    bool no_body = sr_bytes_eq(sr_http_request_head(call->request)->method, SR_LIT("HEAD"));
    if (call->answer_pending && call->answer.content_length < 0 && !no_body)
        call->answer.content_length = (int64_t)(call->out.len + size); /* the body is complete */
    write_all(call, slices, count);
    complete(call);
}

void sr_call_answer_body(struct sr_call *call, struct sr_bytes slice, bool last)
{
    const struct sr_bytes *slices = NULL;
    size_t count = 0;
    call->answer_given = last;
    enum sr_answer_step step =
        sr_exchange_answer_body(call->exchange, slice.p, slice.n, last, &slices, &count);
    relay(call, step, slices, count);
}

void sr_call_answer_ready(struct sr_call *call)
{
    const struct sr_bytes *slices = NULL;
    size_t count = 0;
    if (call->stage != SR_CALL_ANSWERING)
        return;
    enum sr_answer_step step = sr_exchange_answer_next(call->exchange, &slices, &count);
    relay(call, step, slices, count);
}

static void end_stream(struct sr_call *call, const char *message, bool late)
{
    const struct sr_dialect_error error = {.message = sr_bytes_str(message),
                                           .type = "upstream_error",
                                           .code = late ? "upstream_timeout" : "upstream_lost",
                                           .status = late ? 504 : 502};
    struct sr_bytes slices[2];
    struct sr_buf event;
    bool ended = call->tail[1] == 0 || (call->tail[0] == '\n' && call->tail[1] == '\n');
    sr_buf_init(&event, LOST_EVENT_MAX);
    if (sr_exchange_error_event(call->exchange, &error, &event) != SR_OK) {
        abort_call(call);
        return;
    }
    slices[0] = ended ? (struct sr_bytes){"", 0} : call->tail[1] == '\n' ? SR_LIT("\n") : SR_LIT("\n\n");
    slices[1] = sr_buf_view(&event);
    write_all(call, slices, 2);
    sr_buf_dispose(&event);
    complete(call);
}

void sr_call_answer_lost(struct sr_call *call, const char *why, const char *reason)
{
    bool late = strcmp(reason, "lost") != 0;
    char message[128];
    snprintf(message, sizeof message, "The answer is not complete: %s.", why);
    call->lost = true;
    sr_call_count_failure(call, reason);
    sr_log(SR_LOG_WARN, "answer_lost", "model %s, target %s: after %llu bytes of the answer: %s",
           call->verdict->model, call->target->name, (unsigned long long)call->upstream_got, why);
    if (call->answer_held) {
        call->answer_pending = call->answer_held = false;
        sr_call_fail(call, late ? 504 : 502, "upstream_error", message);
        return;
    }
    if (call->answer_sse && call->answer.content_length < 0) {
        end_stream(call, message, late);
        return;
    }
    write_all(call, NULL, 0);
    if (call->stage == SR_CALL_ANSWERING)
        abort_call(call);
}

void sr_call_writable(struct sr_call *call)
{
    if (call->upstream_paused) {
        call->upstream_paused = false;
        if (call->upstream)
            sr_fetch_resume(call->upstream);
    }
}

void sr_call_answer_dispose(struct sr_call *call)
{
    sr_deferred_cancel(&call->flush);
    sr_buf_dispose(&call->out);
}
