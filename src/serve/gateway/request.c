/*
 * The client's half of a call: its head, its body, its timeouts and its end.
 *
 * Passes the client's bytes to the exchange, and the call to upstream.c once there is a verdict.
 */
#include "base/clock.h"
#include "router/runtime.h"
#include "serve/access.h"
#include "serve/forward.h"
#include "serve/gateway/call.h"
#include "serve/gateway/cors.h"
#include "serve/local.h"
#include "serve/post.h"

#include <stdio.h>

/* ---- the exchange's environment ---- */

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct sr_call *call = ctx;
    sr_serve_post(call->gateway->options.loop, task, arg);
}

static void on_ready(void *ctx, sr_exchange *exchange)
{
    (void)exchange;
    sr_call_verdict(ctx);
}

static void on_answer_ready(void *ctx, sr_exchange *exchange)
{
    (void)exchange;
    sr_call_answer_ready(ctx);
}

/* ---- timers ---- */

static void timed_out(struct sr_call *call)
{
    if (call->stage == SR_CALL_FINISHED)
        return;
    if (call->stage == SR_CALL_ANSWERING) {
        sr_call_cancel(call);
        sr_call_answer_lost(call, "the listener's timeout has passed", "deadline");
    } else if (call->stage == SR_CALL_RECEIVING) {
        sr_call_fail(call, 408, "invalid_request_error", "The request was not complete in time.");
    } else {
        sr_call_cancel(call);
        sr_call_fail(call, 504, "server_error", "The answer did not come within the listener's timeout.");
    }
}

static void on_timer(void *ctx)
{
    struct sr_call *call = ctx;
    uint64_t now = sr_clock_ns();
    if (call->deadline_ns != 0 && now >= call->deadline_ns) {
        timed_out(call);
        return;
    }
    bool waits = call->stage == SR_CALL_WAITING, answers = call->stage == SR_CALL_ANSWERING;
    uint64_t due = waits || answers ? sr_exchange_deadline_ns(call->exchange) : 0;
    if (due != 0 && now >= due) {
        sr_exchange_timeout(call->exchange);
        if (!waits)
            sr_call_answer_ready(call);
        else if (sr_exchange_verdict(call->exchange)) /* else a later stage waits */
            sr_call_verdict(call);
    }
    sr_call_arm(call);
}

/* ---- the client's request ---- */

static void answer_error(struct sr_http_request *request, int status, const char *message)
{
    struct sr_buf body;
    sr_buf_init(&body, 4096);
    struct sr_header type = {SR_LIT("content-type"), sr_local_error(&body, status, NULL, NULL, message)};
    struct sr_http_response response = {.status = status, .headers = &type, .header_count = 1};
    if (sr_http_request_reply(request, &response, sr_buf_view(&body)) != SR_OK)
        sr_http_request_abort(request);
    sr_buf_dispose(&body);
}

static void count_refused(struct sr_gateway *gateway, int status)
{
    if (gateway->config->global.metrics) {
        struct sr_bytes labels[] = {SR_LIT("gateway"), status == 503 ? SR_LIT("shed") : SR_LIT("refused")};
        sr_metrics_add(gateway->metrics, SR_METRIC_OUTCOMES, 1, labels);
    }
}

/* Where the admin listeners need a token, /metrics needs it here too. True: the request was refused. */
static bool refuse_metrics(struct sr_gateway *gateway, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    const struct sr_config_global *global = &gateway->config->global;
    struct sr_access_refusal refusal;
    if (!global->metrics || !sr_local_is_metrics(head->method, head->path) ||
        sr_access_admits_metrics(&global->access, head, &refusal))
        return false;
    count_refused(gateway, refusal.status);
    sr_runtime_log_refused(gateway->options.runtime, SR_DOOR_GATEWAY,
                           sr_bytes_str(sr_http_request_peer(request)), refusal.status, refusal.message);
    answer_error(request, refusal.status, refusal.message);
    return true;
}

static bool answer_locally(struct sr_gateway *gateway, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_local_state state = {.runtime = gateway->options.runtime,
                                   .service = "semroute",
                                   .draining = gateway->draining,
                                   .accept = sr_http_head_value(head, SR_LIT("accept")),
                                   .metrics = gateway->config->global.metrics};
    struct sr_local_page page;
    struct sr_buf body;
    sr_buf_init(&body, SR_LOCAL_METRICS_MAX);
    bool mine = sr_local_answer(&state, head->method, head->path, &page, &body);
    if (mine) {
        struct sr_header type = {SR_LIT("content-type"), page.content_type};
        struct sr_http_response response = {.status = page.status, .headers = &type, .header_count = 1};
        if (sr_http_request_reply(request, &response, sr_buf_view(&body)) != SR_OK)
            sr_http_request_abort(request);
    }
    sr_buf_dispose(&body);
    return mine;
}

static void link_call(struct sr_gateway *gateway, struct sr_call *call)
{
    call->next = gateway->calls;
    call->pprev = &gateway->calls;
    if (call->next)
        call->next->pprev = &call->next;
    gateway->calls = call;
    gateway->active++;
}

static struct sr_call *call_new(struct sr_gateway_listener *listener, struct sr_http_request *request)
{
    struct sr_gateway *gateway = listener->gateway;
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_call *call = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *call);
    if (!call)
        return NULL;
    call->gateway = gateway;
    call->request = request;
    struct sr_request_head asked = {.struct_size = sizeof asked,
                                    .door = SR_DOOR_GATEWAY,
                                    .method = head->method,
                                    .target = head->target,
                                    .headers = head->headers,
                                    .n_headers = head->header_count,
                                    .peer = sr_bytes_str(sr_http_request_peer(request)),
                                    .has_body = head->has_body,
                                    .protocol = sr_http_request_protocol(request)};
    struct sr_exchange_env env = {.struct_size = sizeof env,
                                  .post = post,
                                  .ready = on_ready,
                                  .answer_ready = on_answer_ready,
                                  .ctx = call};
    call->exchange = sr_exchange_new(gateway->options.runtime, &asked, &env);
    if (!call->exchange)
        return NULL;
    call->upstream_length = -1;
    sr_buf_init(&call->out, SR_CALL_COALESCE);
    sr_timer_init(&call->timer, gateway->options.loop, on_timer, call);
    sr_timer_init(&call->retry, gateway->options.loop, sr_call_retry, call);
    if (listener->timeout_ms != 0) {
        call->deadline_ns = sr_http_request_started_ns(request) + listener->timeout_ms * SR_NS_PER_MS;
        sr_call_arm(call);
    }
    link_call(gateway, call);
    return call;
}

static void fed(struct sr_call *call, enum sr_step step, struct sr_bytes slice, bool last)
{
    switch (step) {
    case SR_STEP_MORE:
        break;
    case SR_STEP_WAIT:
        call->stage = SR_CALL_WAITING;
        sr_call_arm(call);
        break;
    case SR_STEP_VERDICT:
        sr_call_verdict(call);
        break;
    case SR_STEP_PASS:
        sr_call_pass(call, slice, last);
        break;
    case SR_STEP_ABORT:
        sr_call_cancel(call);
        sr_call_reply(call, sr_exchange_verdict(call->exchange));
        break;
    }
}

static void on_request(void *ctx, struct sr_http_request *request)
{
    struct sr_gateway_listener *listener = ctx;
    if (sr_cors_answer(&listener->gateway->config->global.gateway, request) ||
        refuse_metrics(listener->gateway, request) || answer_locally(listener->gateway, request))
        return;
    struct sr_call *call = call_new(listener, request);
    if (!call) {
        count_refused(listener->gateway, 503);
        sr_runtime_log_refused(listener->gateway->options.runtime, SR_DOOR_GATEWAY,
                               sr_bytes_str(sr_http_request_peer(request)), 503, "out of memory");
        answer_error(request, 503, "The server is out of memory.");
        return;
    }
    sr_http_request_set_ctx(request, call);
    if (sr_exchange_verdict(call->exchange))
        sr_call_verdict(call);
    else if (sr_exchange_deadline_ns(call->exchange) != 0)
        fed(call, SR_STEP_WAIT, (struct sr_bytes){NULL, 0}, false);
    else
        sr_http_request_continue(request);
}

/* True while the body is needed. An upstream may answer before it has the whole body; then the rest is
 * read and discarded. */
static bool wants_body(const struct sr_call *call)
{
    return call && (call->stage == SR_CALL_RECEIVING || call->stage == SR_CALL_SENDING ||
                    (call->stage == SR_CALL_ANSWERING && call->upstream && !call->body_whole));
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct sr_call *call = ctx;
    (void)request;
    if (wants_body(call) && slice.n > 0)
        fed(call, sr_exchange_body(call->exchange, slice.p, slice.n, false), slice, false);
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct sr_call *call = ctx;
    if (call) {
        call->body_done = true;
        if (wants_body(call) && sr_http_request_head(request)->has_body)
            fed(call, sr_exchange_body(call->exchange, NULL, 0, true), (struct sr_bytes){NULL, 0}, true);
    }
}

static void on_writable(void *ctx, struct sr_http_request *request)
{
    (void)request;
    if (ctx)
        sr_call_writable(ctx);
}

static enum sr_end how_it_ended(struct sr_call *call, bool complete)
{
    int status = sr_http_request_error_status(call->request);
    if (status != 0) {
        sr_exchange_fail(call->exchange, status, NULL, "The server refused the request.");
        return SR_END_COMPLETE;
    }
    return call->lost ? SR_END_UPSTREAM_LOST : complete ? SR_END_COMPLETE : SR_END_CLIENT_GONE;
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct sr_call *call = ctx;
    (void)request;
    if (!call)
        return;
    call->stage = SR_CALL_FINISHED;
    sr_call_cancel(call);
    sr_waiting_remove(call);
    sr_call_answer_dispose(call);
    sr_timer_stop(&call->timer);
    sr_timer_stop(&call->retry);
    *call->pprev = call->next;
    if (call->next)
        call->next->pprev = call->pprev;
    call->gateway->active--;
    sr_exchange_end(call->exchange, how_it_ended(call, complete));
}

/* The message of a fault, with the limit that was exceeded. */
static const char *explain_fault(const struct sr_gateway *gateway, int status, const char *reason,
                                 char text[256])
{
    const struct sr_config_gateway *limits = &gateway->config->global.gateway;
    if (status == 413)
        snprintf(text, 256, "%s: the limit is %zu bytes", reason, limits->max_body_bytes);
    else if (status == 431)
        snprintf(text, 256, "%s: the limit is %zu bytes", reason, limits->max_header_bytes);
    else
        return reason;
    return text;
}

/* Writes the body of the server's own error. Within a call `done` follows and labels it; else it is
 * counted and logged here. */
static struct sr_bytes on_error_body(void *ctx, int status, const char *reason, const char *peer,
                                     const struct sr_http_head *head, struct sr_buf *body)
{
    struct sr_gateway_listener *listener = ctx;
    const struct sr_call *call = head ? listener->gateway->calls : NULL;
    while (call && sr_http_request_head(call->request) != head)
        call = call->next;
    if (!call) {
        count_refused(listener->gateway, status);
        sr_runtime_log_refused(listener->gateway->options.runtime, SR_DOOR_GATEWAY, sr_bytes_str(peer),
                               status, reason);
    }
    char text[256];
    return sr_local_error(body, status, NULL, NULL, explain_fault(listener->gateway, status, reason, text));
}

static void on_accepted(void *ctx)
{
    struct sr_gateway_listener *listener = ctx;
    if (!listener->gateway->gauges.armed)
        sr_timer_start(&listener->gateway->gauges, SR_GATEWAY_GAUGES_MS);
}

static void on_drained(void *ctx)
{
    struct sr_gateway_listener *listener = ctx;
    struct sr_gateway *gateway = listener->gateway;
    listener->drained = true;
    for (size_t i = 0; i < gateway->n_listeners; i++)
        if (!gateway->listeners[i].drained)
            return;
    gateway->options.drained(gateway->options.ctx);
}

const struct sr_http_handler sr_gateway_handler = {
    .accepted = on_accepted,
    .request = on_request,
    .error_body = on_error_body,
    .drained = on_drained,
    .body = on_body,
    .body_end = on_body_end,
    .writable = on_writable,
    .done = on_done,
};
