/* From the verdict to the upstream's events: the ticket's target, the request, its body, retries. */
#include "base/clock.h"
#include "base/log.h"
#include "router/exchange/pool.h"
#include "router/exchange/trace.h"
#include "router/exchange/translate.h"
#include "serve/forward.h"
#include "serve/gateway/call.h"

#include <stdio.h>
#include <string.h>

#define ERROR_TYPE "upstream_error"

/* ---- the request's head ---- */

/* NULL when out of memory. */
static struct sr_header *upstream_headers(struct sr_call *call, size_t *count)
{
    const struct sr_http_head *head = sr_http_request_head(call->request);
    struct sr_arena *arena = sr_http_request_arena(call->request);
    struct sr_forward forward;
    if (sr_forward_init(&forward, call->verdict, call->target, SR_FORWARD_HERE, 2, arena) != SR_OK)
        return NULL;
    sr_forward_trace(&forward, sr_exchange_try(call->exchange, call->target));
    if (!sr_forward_sets(&forward, SR_LIT("x-forwarded-for"))) {
        sr_forward_set(&forward, SR_LIT("x-forwarded-for"),
                       sr_forward_client(head, sr_http_request_peer(call->request), arena));
    }
    struct sr_header *out = sr_arena_alloc(arena, (head->header_count + forward.n_set) * sizeof *out);
    struct sr_header_edits edits = {
        .set = forward.set, .n_set = forward.n_set, .remove = forward.remove, .n_remove = forward.n_remove};
    if (out)
        *count = sr_forward_merge(out, head, &edits);
    return out;
}

/* ---- the target ---- */

/* Reports the result of the request at its target. */
static void report(const struct sr_call *call, enum sr_ticket_event event, int status)
{
    const struct sr_verdict *v = call->verdict;
    sr_ticket_report(v->ticket, (size_t)(call->target - v->targets), event, status);
    if (event != SR_TICKET_ANSWERED)
        sr_ticket_end(v->ticket);
}

static void count_connect(const struct sr_call *call, enum sr_metric metric, struct sr_bytes result)
{
    if (call->gateway->config->global.metrics) {
        struct sr_bytes labels[] = {sr_call_backend(call), result};
        sr_metrics_add(call->gateway->metrics, metric, 1, labels);
    }
}

/* ---- the body ---- */

/* Are the verdict's slices the whole body? Of a streaming verdict too, when no byte came after them. */
static bool is_whole(const struct sr_call *call)
{
    const struct sr_verdict *v = call->verdict;
    int64_t announced = sr_http_request_head(call->request)->content_length;
    return !v->streaming || announced == (int64_t)v->body_size || (call->body_done && !call->body_passed);
}

/* Sends the slices of the verdict that did not fit into the start, and the end of the body. */
static void send_remaining(struct sr_call *call)
{
    const struct sr_verdict *v = call->verdict;
    while (call->body_at < v->n_body && sr_fetch_queued(call->upstream) < SR_CALL_HIGH_WATER) {
        struct sr_bytes slice = v->body[call->body_at];
        size_t left = slice.n - call->slice_at;
        size_t n = left < SR_CALL_HIGH_WATER ? left : SR_CALL_HIGH_WATER;
        if (sr_fetch_write(call->upstream, sr_bytes_of(slice.p + call->slice_at, n)) != SR_OK) {
            call->body_whole = true;
            return;
        }
        call->slice_at = n < left ? call->slice_at + n : 0;
        call->body_at += n == left;
    }
    if (call->body_at == v->n_body && is_whole(call) && !call->body_whole) {
        call->body_whole = true;
        if (sr_fetch_write_end(call->upstream) != SR_OK)
            sr_log(SR_LOG_WARN, "upstream_body", "model %s: the body is shorter than announced", v->model);
    }
}

static void resume_client(struct sr_call *call)
{
    if (call->client_paused) {
        call->client_paused = false;
        sr_http_request_resume(call->request);
    }
}

void sr_call_pass(struct sr_call *call, struct sr_bytes slice, bool last)
{
    call->body_passed |= slice.n > 0;
    if (!call->upstream && slice.n > 0) { /* no try may follow, because it would lack them */
        sr_call_cancel(call);
        sr_call_fail(call, 502, ERROR_TYPE, "The request's body could not be sent on.");
    }
    if (!call->upstream || call->body_whole)
        return;
    int rc = SR_OK;
    if (slice.n > 0)
        rc = sr_fetch_write(call->upstream, slice);
    if (rc == SR_OK && last)
        rc = sr_fetch_write_end(call->upstream);
    if (rc != SR_OK || last)
        call->body_whole = true;
    else if (sr_fetch_queued(call->upstream) > SR_CALL_HIGH_WATER)
        sr_call_pause_client(call);
}

/* ---- the upstream's events ---- */

static void on_upstream_writable(void *ctx)
{
    struct sr_call *call = ctx;
    if (!call->body_whole)
        send_remaining(call);
    if (call->body_whole || call->body_at == call->verdict->n_body)
        resume_client(call);
}

static bool try_again(struct sr_call *call, uint32_t failure, uint64_t retry_after_ms);

/* An answer that says that this worker cannot serve the request now is dropped where another try follows. */
static bool gives_up(struct sr_call *call, const struct sr_http_head *head)
{
    uint32_t failure = sr_retry_of_status(head->status);
    uint64_t after_ms = failure ? sr_retry_after_ms(head) : 0;
    const char *reason = failure == SR_RETRY_429 ? "429" : "5xx";
    if (failure)
        sr_call_count_failure(call, reason);
    if (after_ms)
        sr_ticket_cool(call->verdict->ticket, (size_t)(call->target - call->verdict->targets),
                       after_ms * SR_NS_PER_MS);
    size_t number = sr_exchange_tries(call->exchange);
    if (!failure || !try_again(call, failure, after_ms))
        return false;
    sr_exchange_try_failed(call->exchange, number, head->status, reason);
    return true;
}

/* The answer is this worker's from now on. */
static void answer_begins(struct sr_call *call, const struct sr_http_head *head)
{
    call->held_head = NULL;
    sr_waiting_remove(call);
    call->stage = SR_CALL_ANSWERING;
    resume_client(call);
    sr_call_answer_head(call, head);
}

static void on_upstream_head(void *ctx, const struct sr_http_head *head)
{
    struct sr_call *call = ctx;
    if (call->connects)
        count_connect(call, SR_METRIC_UPSTREAM_CONNECTS, SR_LIT("success"));
    if (head->status / 100 == 2 && sr_retry_may_move(call)) {
        call->held_head = head; /* engines send it before they compute anything */
        return;
    }
    report(call, SR_TICKET_ANSWERED, head->status);
    if (!gives_up(call, head))
        answer_begins(call, head);
}

/* The first byte of a body, or its end. */
static void release_head(struct sr_call *call)
{
    if (!call->held_head)
        return;
    report(call, SR_TICKET_ANSWERED, call->held_head->status);
    answer_begins(call, call->held_head);
}

static void on_upstream_body(void *ctx, struct sr_bytes slice)
{
    struct sr_call *call = ctx;
    release_head(call);
    call->upstream_got += slice.n;
    bool last = call->upstream_length >= 0 && call->upstream_got == (uint64_t)call->upstream_length;
    if (call->stage == SR_CALL_ANSWERING && !call->answer_given)
        sr_call_answer_body(call, slice, last);
}

static void on_upstream_end(void *ctx)
{
    struct sr_call *call = ctx;
    release_head(call);
    call->upstream = NULL;
    sr_ticket_end(call->verdict->ticket);
    if (call->stage == SR_CALL_ANSWERING && !call->answer_given)
        sr_call_answer_body(call, (struct sr_bytes){NULL, 0}, true);
}

static const char *reason_of(const struct sr_client_error *error)
{
    switch (error->code) {
    case SR_ENOENT:
        return "its host name was not found";
    case SR_ETIMEOUT:
        return "it did not answer in time";
    case SR_ECLOSED:
        return error->stage == SR_CLIENT_CONNECTING ? "the connection was refused"
                                                    : "it closed the connection";
    case SR_EMISMATCH:
        return "its certificate was not accepted";
    case SR_ELIMIT:
        return "the head of its answer is too large";
    case SR_EPROTO:
        return "it does not speak HTTP as it should";
    default:
        return "the connection failed";
    }
}

static void start(struct sr_call *call);

/* There is no worker that takes the request now. `late`: none had room in time. */
static void refuse(struct sr_call *call, bool late)
{
    const struct sr_verdict *v = call->verdict;
    bool full = late || sr_exchange_is_full(call->exchange);
    const char *model = v->model;
    struct sr_bytes labels[] = {sr_bytes_str(model), late   ? SR_LIT("timeout")
                                                     : full ? SR_LIT("full")
                                                            : SR_LIT("gone")};
    char message[256];
    if (call->gateway->config->global.metrics)
        sr_metrics_add(call->gateway->metrics, SR_METRIC_POOL_REFUSED, 1, labels);
    snprintf(message, sizeof message,
             late   ? "No worker of model `%.100s` had room in time."
             : full ? "All workers of model `%.100s` are busy."
                    : "Model `%.100s` has no backend at present.",
             model);
    sr_call_fail(call, full || v->n_targets || sr_call_is_discovered(call) ? 503 : 502, ERROR_TYPE, message);
}

/* Chooses a worker and starts, waits for one, or refuses. */
static void place(struct sr_call *call);

/* The wait for a worker is over. */
static void on_placed(struct sr_call *call, int at)
{
    const struct sr_verdict *v = call->verdict;
    if (at == SR_AGAIN) {
        place(call);
        return;
    }
    if (at < 0) {
        refuse(call, at == SR_ETIMEOUT);
        return;
    }
    if (call->gateway->config->global.metrics) {
        struct sr_bytes model = sr_bytes_str(v->model);
        sr_metrics_add(call->gateway->metrics, SR_METRIC_POOL_WAITED, 1, &model);
    }
    call->target = &v->targets[at];
    sr_ticket_begin(v->ticket, (size_t)at);
    start(call);
}

/* Waits for a worker of a model that is tried out, or else of the one before, where `may` (NULL: anywhere).
 * False: no model is tried out any more. */
static bool wait_somewhere(struct sr_call *call, bool (*may)(const struct sr_call *call))
{
    return ((!may || may(call)) && sr_wait_begin(call, on_placed)) ||
           (sr_retry_go_back(call) && (!may || may(call)) && sr_wait_begin(call, on_placed));
}

static void place(struct sr_call *call)
{
    if (sr_retry_place(call))
        start(call);
    else if (!wait_somewhere(call, NULL))
        refuse(call, false);
}

void sr_call_retry(void *ctx)
{
    struct sr_call *call = ctx;
    if (call->waits)
        sr_wait_timeout(call);
    else if (call->stage == SR_CALL_SENDING && !call->upstream)
        start(call);
}

/* Drops what there is of an answer and tries the request again, where it may be. */
static bool try_again(struct sr_call *call, uint32_t failure, uint64_t retry_after_ms)
{
    const char *model = call->verdict->model, *target = call->target->name;
    uint64_t wait_ms = 0;
    if (!sr_retry_may(call, failure))
        return false;
    bool goes_on = sr_retry_next(call) || wait_somewhere(call, sr_retry_may_wait);
    if (!goes_on && !sr_retry_may_wait(call)) /* else it has workers that are full: no second round */
        goes_on = sr_retry_same(call, failure, retry_after_ms, &wait_ms);
    if (!goes_on)
        return false;
    if (call->upstream)
        sr_fetch_cancel(&call->upstream);
    if (call->waits)
        return true;
    count_connect(call, SR_METRIC_UPSTREAM_RETRIES, SR_LIT(""));
    sr_log(SR_LOG_INFO, "upstream_retry", "model %s, target %s failed; next: model %s, target %s in %llu ms",
           model, target, call->verdict->model, call->target->name, (unsigned long long)wait_ms);
    if (wait_ms) {
        sr_call_pause_client(call); /* a try begins with the verdict's bytes: more would be lost */
        sr_timer_start(&call->retry, wait_ms);
    } else {
        start(call);
    }
    return true;
}

void sr_call_take_back(struct sr_call *call, const char *why)
{
    const struct sr_target *before = call->target;
    struct sr_bytes labels[] = {sr_call_backend(call), sr_bytes_str(why)};
    size_t number = sr_exchange_tries(call->exchange);
    if (!sr_retry_leave(call))
        return;
    sr_exchange_try_failed(call->exchange, number, 0, why);
    sr_fetch_cancel(&call->upstream);
    call->held_head = NULL;
    if (call->gateway->config->global.metrics)
        sr_metrics_add(call->gateway->metrics, SR_METRIC_UPSTREAM_TAKEN_BACK, 1, labels);
    sr_log(SR_LOG_INFO, "upstream_taken_back", "model %s, target %s is %s; next: target %s",
           call->verdict->model, before->name, why, call->target->name);
    start(call);
}

static void on_upstream_failed(void *ctx, const struct sr_client_error *error)
{
    struct sr_call *call = ctx;
    const struct sr_target *target = call->target;
    call->upstream = NULL;
    call->held_head = NULL;
    if (call->stage == SR_CALL_FINISHED)
        return;
    sr_exchange_try_failed(call->exchange, sr_exchange_tries(call->exchange), 0,
                           call->stage == SR_CALL_ANSWERING ? "lost" : sr_retry_failure_name(error));
    if (call->stage == SR_CALL_ANSWERING) {
        report(call, SR_TICKET_LOST, 0);
        if (!call->answer_given)
            sr_call_answer_lost(call, reason_of(error), error->code == SR_ETIMEOUT ? "stalled" : "lost");
        return;
    }
    sr_call_count_failure(call, sr_retry_failure_name(error));
    sr_log(SR_LOG_WARN, "upstream_failed", "model %s, target %s (%s:%d): %s", call->verdict->model,
           target->name, target->host, target->port, error->text);
    if (error->stage == SR_CLIENT_CONNECTING) {
        report(call, SR_TICKET_UNREACHABLE, 0);
        count_connect(call, SR_METRIC_UPSTREAM_CONNECTS, SR_LIT("error"));
    } else {
        report(call, SR_TICKET_LOST, 0);
    }
    if (try_again(call, sr_retry_of_error(error), 0))
        return;
    char message[256];
    snprintf(message, sizeof message, "The upstream of model `%.100s` %s: %s.", call->verdict->model,
             error->sent ? "gave no answer" : "could not be reached", reason_of(error));
    sr_call_fail(call, error->code == SR_ETIMEOUT ? 504 : 502, ERROR_TYPE, message);
}

static const struct sr_fetch_events EVENTS = {
    .writable = on_upstream_writable,
    .head = on_upstream_head,
    .body = on_upstream_body,
    .end = on_upstream_end,
    .failed = on_upstream_failed,
};

/* ---- the start ---- */

static int64_t body_length(const struct sr_call *call)
{
    const struct sr_verdict *v = call->verdict;
    return v->streaming ? sr_http_request_head(call->request)->content_length : (int64_t)v->body_size;
}

static int begin(struct sr_call *call, sr_tls_context *tls)
{
    const struct sr_verdict *v = call->verdict;
    const struct sr_config_gateway *limits = &call->gateway->config->global.gateway;
    struct sr_client_request request = {
        .method = sr_http_request_head(call->request)->method,
        .target = sr_forward_path(v, call->target, sr_http_request_arena(call->request)),
        .content_length = body_length(call),
        .body = v->body,
        .body_count = v->n_body < SR_CLIENT_SLICES_MAX ? v->n_body : SR_CLIENT_SLICES_MAX,
        .timeouts = {.connect_ms = (uint32_t)limits->upstream.connect_timeout_ms,
                     .head_ms = (uint32_t)limits->upstream.response_timeout_ms,
                     .idle_ms = (uint32_t)limits->upstream.idle_timeout_ms},
    };
    struct sr_header *headers = upstream_headers(call, &request.header_count);
    if (!headers || !request.target.p)
        return SR_ENOMEM;
    request.headers = headers;
    call->body_at = request.body_count;
    call->slice_at = 0;
    request.body_complete = call->body_at == v->n_body && is_whole(call);
    call->body_whole = request.body_complete;
    struct sr_origin origin = {.host = call->target->host, .port = (uint16_t)call->target->port, .tls = tls};
    uint64_t opened = sr_client_opened(call->gateway->client);
    int rc = sr_client_start(&call->upstream, call->gateway->client, &origin, &request, &EVENTS, call);
    call->connects = sr_client_opened(call->gateway->client) != opened;
    if (rc == SR_OK && !call->connects)
        count_connect(call, SR_METRIC_UPSTREAM_CONNECTS, SR_LIT("reused"));
    return rc;
}

/* The request is in the API of the target that gets it. False: the call is over. */
static bool aim(struct sr_call *call)
{
    struct sr_err err = {0};
    int rc = sr_retry_aim(call, &err);
    if (rc == SR_EUNSUPPORTED && call->tries) {
        char message[256];
        snprintf(message, sizeof message,
                 "A backend of model `%.100s` failed, and the others speak an API into which the request "
                 "cannot be translated.",
                 call->verdict->model);
        sr_call_fail(call, 502, ERROR_TYPE, message);
    } else if (rc) {
        sr_exchange_refuse_translation(call->exchange, rc, &err);
        sr_call_reply(call, call->verdict);
    }
    return rc == SR_OK;
}

/* Starts the request. The client is paused while the upstream connects, because bytes that were forwarded
 * cannot be sent again in a retry. */
static void start(struct sr_call *call)
{
    sr_tls_context *tls = NULL;
    int rc = SR_OK;
    if (!aim(call))
        return;
    call->tries++;
    if (strcmp(call->target->scheme, "https") == 0) {
        tls = sr_upstream_tls_find(call->gateway->options.tls, call->target->tls_ca_file,
                                   call->target->tls_verify);
        rc = tls ? SR_OK : SR_ENOENT;
    }
    if (rc == SR_OK)
        rc = begin(call, tls);
    sr_tls_context_unref(tls);
    if (rc != SR_OK) {
        call->upstream = NULL;
        sr_log(SR_LOG_WARN, "upstream_start", "model %s, target %s: %s", call->verdict->model,
               call->target->name, sr_strerror(rc));
        if (rc == SR_EINVAL)
            sr_call_fail(call, 400, "invalid_request_error", "A header of the request cannot be sent on.");
        else
            sr_call_fail(call, rc == SR_ENOMEM ? 503 : 502, ERROR_TYPE, "The request could not be sent on.");
        return;
    }
    if (call->verdict->n_targets > 1)
        sr_waiting_add(call);
    if (!call->body_whole)
        sr_call_pause_client(call);
}

void sr_call_verdict(struct sr_call *call)
{
    call->verdict = sr_exchange_verdict(call->exchange);
    if (call->verdict->action == SR_ACTION_REPLY) {
        sr_call_reply(call, call->verdict);
        return;
    }
    call->stage = SR_CALL_SENDING;
    place(call);
}
