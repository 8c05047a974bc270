/*
 * The way of a body in: what the head settles alone, then chunk by chunk through the scanner, until the model
 * is known or the body complete.
 *
 * Keeps the limits and refuses what is no request; what happens to a good one is route.c's and verdict.c's.
 */
#include "base/clock.h"
#include "router/edit/edit.h"
#include "router/exchange.h"
#include "router/reply/reply.h"
#include "router/request/endpoint.h"

#include <inttypes.h>

static void refuse_json(sr_exchange *x, const struct sr_err *err)
{
    x->error_reason = "parse_error";
    if (err->code == SR_ENOMEM)
        sr_exchange_refuse_memory(x);
    else
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "invalid_json", NULL},
                       "malformed JSON body: %s at byte %zu", err->message, err->offset);
}

static void refuse_complaint(sr_exchange *x, const struct sr_complaint *complaint)
{
    x->error_reason = "parse_error";
    sr_reply_error(x, (struct sr_error_reply){400, NULL, complaint->code, complaint->param}, "%s",
                   complaint->message);
}

static void refuse_size(sr_exchange *x, uint64_t limit)
{
    sr_reply_error(x, (struct sr_error_reply){413, NULL, "request_too_large", NULL},
                   "the request body is larger than %" PRIu64 " bytes", limit);
}

/* The largest body that may come by at all. */
static uint64_t most_of_all(const sr_exchange *x)
{
    return x->head.passing_max > x->router->max_body ? x->head.passing_max : x->router->max_body;
}

/* Everything of the body is there and it is valid JSON. */
static void read_doc(sr_exchange *x)
{
    x->doc.body = sr_buf_view(&x->body);
    x->doc.spans = sr_scan_spans(x->scan, &x->doc.n_spans);
    sr_request_index(&x->doc);
    x->is_stream = x->head.wants_sse || sr_request_is_true(&x->doc, x->doc.at.stream);
}

/* The client named something: automatic, one of our models, or neither. Settles what can be settled now. */
static void take_model(sr_exchange *x, const struct sr_span *span)
{
    const struct sr_config *config = x->router->config;
    if (span->kind != SR_JSON_STRING) {
        x->error_reason = "parse_error";
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "invalid_type", "model"},
                       "field model must be string, got %s", sr_request_kind_name(span->kind));
        return;
    }
    struct sr_bytes name = sr_span_text(span, sr_buf_view(&x->body), &x->arena);
    if (!name.p) {
        sr_exchange_refuse_memory(x);
        return;
    }
    const struct sr_dialect_ops *dialect = x->doc.dialect;
    if (sr_config_is_auto(config, name)) {
        x->automatic = true;
        if (!dialect->routes_auto)
            sr_reply_error(
                x, (struct sr_error_reply){dialect->path ? 400 : 404, NULL, "model_not_automatic", "model"},
                "%s is not routed automatically: name a model",
                dialect->path ? dialect->path : "this endpoint");
        return;
    }
    x->client_model = x->model = sr_config_find_model(config, name);
    if (x->model < 0) {
        x->error_reason = "model_not_found";
        sr_reply_error(x, (struct sr_error_reply){404, NULL, "model_not_found", "model"},
                       "model \"%.*s\" is not available", (int)(name.n < 128 ? name.n : 128), name.p);
    }
}

/* Looks at the spans that came since the last call. */
static void find_model(sr_exchange *x)
{
    size_t count;
    const struct sr_span *spans = sr_scan_spans(x->scan, &count);
    for (; x->next_span < count && !x->has_verdict; x->next_span++) {
        const struct sr_span *span = &spans[x->next_span];
        if (span->id != SR_AT_MODEL)
            continue;
        if (span->flags & SR_SPAN_DUPLICATE) {
            sr_reply_error(x, (struct sr_error_reply){400, NULL, "duplicate_field", "model"},
                           "field model is given more than once");
            return;
        }
        if (span->flags & SR_SPAN_OPEN && span->kind <= SR_JSON_STRING)
            return;
        take_model(x, span);
    }
}

static bool is_named(const sr_exchange *x)
{
    return x->model >= 0 && !x->automatic;
}

static bool needs_alias(const sr_exchange *x)
{
    const struct sr_config_model *model = sr_exchange_model(x);
    return !sr_bytes_eq(sr_bytes_str(model->name), sr_bytes_str(model->provider_model_id));
}

/* An automatic name with signals switched off for this request: the default model. */
static void skip_to_default(sr_exchange *x)
{
    x->decision = (struct sr_decision){.decision = -1, .category = -1, .category_name = ""};
    x->choice = (struct sr_choice){
        .model = x->router->config->default_model, .lora_name = "", .effort = "", .algorithm = "default"};
    sr_exchange_routed(x);
}

/* A named model of a request that no guard looks at. */
static void pass_named(sr_exchange *x)
{
    x->verdict.outcome = SR_OUTCOME_PASSED;
    if (needs_alias(x))
        sr_exchange_edit(x, sr_edit_named);
    else
        sr_exchange_forward(x);
}

/* The body is complete. */
static void body_complete(sr_exchange *x)
{
    struct sr_complaint complaint;
    x->record.times.body_complete = sr_clock_ns();
    read_doc(x);
    if (sr_scan_root_kind(x->scan) != SR_JSON_OBJECT) {
        complaint = (struct sr_complaint){NULL, "invalid_type", "the request body must be a JSON object"};
        refuse_complaint(x, &complaint);
    } else if (x->doc.at.model == SR_SPAN_NONE) {
        complaint = (struct sr_complaint){"model", "missing_required_field",
                                          "invalid request body: missing required field: model"};
        if (!x->doc.dialect->path)
            sr_reply_error(x, (struct sr_error_reply){404, NULL, "endpoint_not_found", NULL},
                           "endpoint not found: its body names no model");
        else
            refuse_complaint(x, &complaint);
    } else if (!sr_request_check_shape(&x->doc, &complaint)) {
        refuse_complaint(x, &complaint);
    } else if (is_named(x) && !sr_guard_names(x)) {
        pass_named(x);
    } else if (!sr_request_check_once(&x->doc, &complaint) ||
               !sr_request_check_metadata(&x->doc, &x->arena, &complaint)) {
        refuse_complaint(x, &complaint);
    } else if (x->head.skip) {
        skip_to_default(x);
    } else {
        sr_route_start(x);
    }
}

/* Scans a chunk; false when it is refused. */
static bool scan_chunk(sr_exchange *x, const void *p, size_t n, bool last)
{
    uint64_t limit =
        x->state == SR_EXCHANGE_STREAMING && x->head.passing_max ? x->head.passing_max : x->router->max_body;
    if (x->body_bytes > limit || n > limit - x->body_bytes) {
        refuse_size(x, limit);
        return false;
    }
    x->body_bytes += n;
    struct sr_err err = {0};
    uint64_t start = sr_clock_ns();
    int rc = SR_OK;
    if (n) {
        rc = sr_scan_feed(x->scan, p, n, &err);
        x->body_whole = rc == SR_OK;
    }
    if ((rc == SR_OK || rc == SR_MORE) && last)
        rc = sr_scan_finish(x->scan, &err);
    x->record.times.scan_ns += sr_clock_ns() - start;
    if (rc != SR_OK && rc != SR_MORE) {
        err.code = rc;
        refuse_json(x, &err);
        return false;
    }
    return true;
}

/* Types of signals that the request will need, as far as is known: before the model is named those that it
 * needs whatever it names. */
static uint32_t types_so_far(const sr_exchange *x)
{
    const struct sr_router *router = x->router;
    uint32_t policy = router->may_see ? UINT32_C(1) << SR_SIGNAL_PII : 0;
    uint32_t guards = router->guards ? sr_plan_signals(router->guards) : 0;
    uint32_t named = router->named ? sr_plan_signals(router->named) : 0;
    if (x->automatic)
        return guards | sr_plan_signals(router->plan) | policy;
    if (is_named(x))
        return sr_guard_names(x) ? named | policy : 0;
    return router->config->global.guards.explicit_models ? named & (guards | sr_plan_signals(router->plan))
                                                         : 0;
}

/* More is to come. What it says may decide where the request goes, and guards may want to read it. */
static void read_early(sr_exchange *x)
{
    x->doc.body = sr_buf_view(&x->body);
    x->doc.spans = sr_scan_spans(x->scan, &x->doc.n_spans);
    if (x->head.skip)
        return;
    if (!is_named(x))
        sr_early_read(&x->early, x->router->signals, &x->doc);
    sr_early_ask(&x->early, x->router->signals, types_so_far(x), sr_guard_tenant(x), &x->doc);
}

void sr_intake_chunk(sr_exchange *x, const void *p, size_t n, bool last)
{
    if (!scan_chunk(x, p, n, last))
        return;
    if (n && sr_buf_append(&x->body, p, n)) {
        sr_exchange_refuse_memory(x);
        return;
    }
    find_model(x);
    if (x->has_verdict)
        return;
    if (x->automatic && x->head.content_length > x->router->max_body) {
        refuse_size(x, x->router->max_body);
    } else if (last) {
        body_complete(x);
    } else if (is_named(x) && !needs_alias(x) && !sr_guard_names(x)) {
        x->verdict.outcome = SR_OUTCOME_PASSED;
        x->is_stream = x->head.wants_sse;
        x->verdict.streaming = true;
        sr_exchange_forward(x);
        if (x->verdict.action == SR_ACTION_FORWARD)
            x->state = SR_EXCHANGE_STREAMING;
    } else if (!x->body_whole) {
        read_early(x);
    }
}

/* Nothing is kept; the rest must only be what the beginning promised. */
enum sr_step sr_intake_stream(sr_exchange *x, const void *p, size_t n, bool last)
{
    struct sr_complaint complaint;
    if (!scan_chunk(x, p, n, last))
        return SR_STEP_ABORT;
    x->has_verdict = false;
    find_model(x);
    bool refused = x->has_verdict;
    x->has_verdict = true;
    if (refused)
        return SR_STEP_ABORT;
    if (!last)
        return SR_STEP_PASS;
    x->record.times.body_complete = sr_clock_ns();
    x->doc.spans = sr_scan_spans(x->scan, &x->doc.n_spans);
    sr_request_index(&x->doc);
    x->is_stream |= sr_request_is_true(&x->doc, x->doc.at.stream);
    if (!sr_request_check_shape(&x->doc, &complaint)) {
        refuse_complaint(x, &complaint);
        return SR_STEP_ABORT;
    }
    x->state = SR_EXCHANGE_SETTLED;
    return SR_STEP_PASS;
}

void sr_intake_head(sr_exchange *x)
{
    struct sr_bytes rest;
    switch (sr_endpoint_find(x->head.method, x->head.path, &x->doc.dialect, &rest)) {
    case SR_ENDPOINT_MODELS:
        sr_reply_models(x);
        return;
    case SR_ENDPOINT_MODEL:
        sr_reply_model(x, rest);
        return;
    case SR_ENDPOINT_NOT_FOUND:
        sr_reply_error(x, (struct sr_error_reply){404, NULL, "endpoint_not_found", NULL},
                       "endpoint not found");
        return;
    case SR_ENDPOINT_WRONG_METHOD:
        x->allow = rest;
        sr_reply_error(x, (struct sr_error_reply){405, NULL, "method_not_allowed", NULL},
                       "method not allowed: use %.*s", (int)rest.n, rest.p);
        return;
    case SR_ENDPOINT_ROUTE:
        break;
    }
    if (x->head.encoded)
        sr_reply_error(x, (struct sr_error_reply){415, NULL, "unsupported_encoding", NULL},
                       "the request body has a content-encoding: send it uncompressed");
    else if (sr_bytes_starts_with(x->head.content_type, SR_LIT("multipart/")))
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "unsupported_content_type", NULL},
                       "multipart bodies are not routed: send JSON");
    else if (x->head.has_body && x->head.content_length > most_of_all(x))
        refuse_size(x, most_of_all(x));
    else if (!x->head.has_body)
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "invalid_json", NULL},
                       "the request has no body");
}
