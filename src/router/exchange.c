/*
 * The state machine of a request: READING, then STREAMING (a known model, passed on as it arrives) or WAITING
 * (signals under way), then SETTLED.
 *
 * Decides nothing by itself about models: it feeds the scanner, keeps the limits, and hands over to route.c,
 * edit.c and reply.c at the right moments.
 */
#include "router/exchange.h"

#include "base/clock.h"
#include "base/mem.h"
#include "router/answer.h"
#include "router/edit.h"
#include "router/explain.h"
#include "router/reply.h"

/* The arena holds spans, decoded texts and edits of one body: a few times its size, and room for headers. */
#define ARENA_BASE_MAX ((size_t)64 << 20)
#define REPLY_MAX      ((size_t)16 << 20)
#define EXPLAIN_MAX    ((size_t)4 << 20)

/* First reservation of a body whose length the client told. */
#define BODY_RESERVE_MAX ((size_t)1 << 20)

const struct sr_config_decision *sr_exchange_decision(const sr_exchange *x)
{
    return x->automatic && x->decision.decision >= 0 ? &x->engine->config->decisions[x->decision.decision]
                                                     : NULL;
}

const struct sr_config_model *sr_exchange_model(const sr_exchange *x)
{
    return x->model >= 0 ? &x->engine->config->models[x->model] : NULL;
}

struct sr_bytes sr_exchange_id(const sr_exchange *x)
{
    return x->head.request_id.n ? x->head.request_id : sr_bytes_str(x->request_id);
}

/* ---- verdicts ---- */

static void refuse_memory(sr_exchange *x)
{
    sr_reply_error(x, (struct sr_error_reply){503, NULL, "out_of_memory", NULL},
                   "the request needs more memory than there is for one");
}

static void refuse_json(sr_exchange *x, const struct sr_err *err)
{
    x->error_reason = "parse_error";
    if (err->code == SR_ENOMEM)
        refuse_memory(x);
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

static void refuse_size(sr_exchange *x)
{
    sr_reply_error(x, (struct sr_error_reply){413, NULL, "request_too_large", NULL},
                   "the request body is larger than %zu bytes", x->engine->max_body);
}

static void fill_verdict(sr_exchange *x)
{
    struct sr_verdict *v = &x->verdict;
    const struct sr_engine_model *model = &x->engine->models[x->model];
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    v->action = SR_ACTION_FORWARD;
    v->decision = decision ? decision->name : "";
    v->category = x->automatic ? x->decision.category_name : "";
    v->confidence = x->automatic ? (double)x->decision.confidence : 0;
    v->model = sr_exchange_model(x)->name;
    v->targets = model->targets;
    v->n_targets = model->n_targets;
    v->target = x->head.target;
    if (model->chat_path.n && x->doc.dialect == SR_DIALECT_CHAT) {
        const char *path =
            sr_arena_printf(&x->arena, "%s%.*s", model->chat_path.p, (int)x->head.query.n, x->head.query.p);
        v->target = sr_bytes_str(path);
    }
    if (!v->target.n || sr_headers_upstream(x)) {
        refuse_memory(x);
        return;
    }
    x->has_verdict = true;
    x->state = SR_EXCHANGE_SETTLED;
}

/* The bytes as they came, as far as they came. */
static void forward_body(sr_exchange *x)
{
    struct sr_bytes *slice = sr_arena_alloc(&x->arena, sizeof *slice);
    if (!slice) {
        refuse_memory(x);
        return;
    }
    *slice = sr_buf_view(&x->body);
    x->verdict.body = slice;
    x->verdict.n_body = slice->n ? 1 : 0;
    x->verdict.body_size = slice->n;
    fill_verdict(x);
}

/* Everything of the body is there and it is valid JSON. */
static void read_doc(sr_exchange *x)
{
    x->doc.body = sr_buf_view(&x->body);
    x->doc.spans = sr_scan_spans(x->scan, &x->doc.n_spans);
    sr_request_index(&x->doc);
    x->is_stream = x->head.wants_sse || sr_request_is_true(&x->doc, x->doc.at.stream);
}

static void edit_and_forward(sr_exchange *x, int (*edit)(sr_exchange *x))
{
    uint64_t start = sr_clock_ns();
    int rc = edit(x);
    x->times.edit_ns = sr_clock_ns() - start;
    if (rc == SR_ECONFLICT || rc == SR_ELIMIT)
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "too_complex", NULL},
                       "the request has too many members to be edited");
    else if (rc)
        refuse_memory(x);
    else
        fill_verdict(x);
}

void sr_exchange_routed(sr_exchange *x)
{
    const struct sr_config *config = x->engine->config;
    const struct sr_config_decision *decision = sr_exchange_decision(x);
    struct sr_verdict *v = &x->verdict;
    v->decision = decision ? decision->name : "";
    v->category = x->decision.category_name;
    v->confidence = (double)x->decision.confidence;
    if (decision && decision->plugins.fast_response.set) {
        sr_reply_fast(x, decision->plugins.fast_response.message);
        return;
    }
    x->model = x->choice.model;
    if (x->model < 0) {
        x->error_reason = "no_model_selected";
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "no_model_selected", "model"},
                       "unable to route request: no model selected and no default model configured");
        return;
    }
    v->outcome = x->decision.errors ? SR_OUTCOME_DEGRADED : decision ? SR_OUTCOME_ROUTED : SR_OUTCOME_DEFAULT;
    v->reasoning = decision && x->choice.use_reasoning;
    v->effort = "";
    if (v->reasoning) {
        const char *effort = x->choice.effort[0] ? x->choice.effort : config->default_effort;
        v->effort = effort[0] ? effort : "medium";
    }
    edit_and_forward(x, sr_edit_body);
}

/* ---- reading ---- */

/* The client named something: automatic, one of our models, or neither. Settles what can be settled now. */
static void take_model(sr_exchange *x, const struct sr_span *span)
{
    const struct sr_config *config = x->engine->config;
    if (span->kind != SR_JSON_STRING) {
        x->error_reason = "parse_error";
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "invalid_type", "model"},
                       "field model must be string, got %s", sr_request_kind_name(span->kind));
        return;
    }
    struct sr_bytes name = sr_span_text(span, sr_buf_view(&x->body), &x->arena);
    if (!name.p) {
        refuse_memory(x);
        return;
    }
    const struct sr_dialect_info *dialect = &sr_dialects[x->doc.dialect];
    if (sr_config_is_auto(config, name)) {
        x->automatic = true;
        if (!dialect->routes_auto)
            sr_reply_error(x,
                           (struct sr_error_reply){x->doc.dialect == SR_DIALECT_OTHER ? 404 : 400, NULL,
                                                   "model_not_automatic", "model"},
                           "%s is not routed automatically: name a model",
                           dialect->path[0] ? dialect->path : "this endpoint");
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
        .model = x->engine->config->default_model, .lora_name = "", .effort = "", .algorithm = "default"};
    sr_exchange_routed(x);
}

/* The body is complete. */
static void body_complete(sr_exchange *x)
{
    struct sr_complaint complaint;
    x->times.body_complete = sr_clock_ns();
    read_doc(x);
    if (sr_scan_root_kind(x->scan) != SR_JSON_OBJECT) {
        complaint = (struct sr_complaint){NULL, "invalid_type", "the request body must be a JSON object"};
        refuse_complaint(x, &complaint);
    } else if (x->doc.at.model == SR_SPAN_NONE) {
        complaint = (struct sr_complaint){"model", "missing_required_field",
                                          "invalid request body: missing required field: model"};
        if (x->doc.dialect == SR_DIALECT_OTHER)
            sr_reply_error(x, (struct sr_error_reply){404, NULL, "endpoint_not_found", NULL},
                           "endpoint not found: its body names no model");
        else
            refuse_complaint(x, &complaint);
    } else if (!sr_request_check_shape(&x->doc, &complaint)) {
        refuse_complaint(x, &complaint);
    } else if (is_named(x)) {
        x->verdict.outcome = SR_OUTCOME_PASSED;
        if (needs_alias(x))
            edit_and_forward(x, sr_edit_alias);
        else
            forward_body(x);
    } else if (!sr_request_check_metadata(&x->doc, &x->arena, &complaint)) {
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
    if (n > x->engine->max_body - x->body_bytes) {
        refuse_size(x);
        return false;
    }
    x->body_bytes += n;
    struct sr_err err = {0};
    uint64_t start = sr_clock_ns();
    int rc = n ? sr_scan_feed(x->scan, p, n, &err) : SR_OK;
    if ((rc == SR_OK || rc == SR_MORE) && last)
        rc = sr_scan_finish(x->scan, &err);
    x->times.scan_ns += sr_clock_ns() - start;
    if (rc != SR_OK && rc != SR_MORE) {
        err.code = rc;
        refuse_json(x, &err);
        return false;
    }
    return true;
}

static void read_chunk(sr_exchange *x, const void *p, size_t n, bool last)
{
    if (!scan_chunk(x, p, n, last))
        return;
    if (n && sr_buf_append(&x->body, p, n)) {
        refuse_memory(x);
        return;
    }
    find_model(x);
    if (x->has_verdict)
        return;
    if (last) {
        body_complete(x);
    } else if (is_named(x) && !needs_alias(x)) {
        x->verdict.outcome = SR_OUTCOME_PASSED;
        x->is_stream = x->head.wants_sse;
        x->verdict.streaming = true;
        forward_body(x);
        if (x->verdict.action == SR_ACTION_FORWARD)
            x->state = SR_EXCHANGE_STREAMING;
    }
}

/* After a streaming verdict nothing is kept; the rest must only be what the beginning promised. */
static enum sr_step stream_chunk(sr_exchange *x, const void *p, size_t n, bool last)
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
    x->times.body_complete = sr_clock_ns();
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

/* ---- the public functions ---- */

/* What the head alone settles. */
static void look_at_head(sr_exchange *x)
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
                       "the request body has a content-encoding: send it uncompressed, it has to be read");
    else if (sr_bytes_starts_with(x->head.content_type, SR_LIT("multipart/")))
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "unsupported_content_type", NULL},
                       "multipart bodies are not routed: send JSON");
    else if (x->head.has_body && x->head.content_length > x->engine->max_body)
        refuse_size(x);
    else if (!x->head.has_body)
        sr_reply_error(x, (struct sr_error_reply){400, NULL, "invalid_json", NULL},
                       "the request has no body");
}

static int exchange_init(sr_exchange *x, const struct sr_request_head *head)
{
    const struct sr_config *config = x->engine->config;
    int rc = sr_head_read(&x->head, head, config, &x->arena);
    if (rc)
        return rc;
    if (!x->head.request_id.n)
        sr_runtime_request_id(x->runtime, x->request_id);
    look_at_head(x);
    if (x->has_verdict)
        return SR_OK;
    if (x->head.content_length) {
        size_t reserve =
            x->head.content_length < BODY_RESERVE_MAX ? (size_t)x->head.content_length : BODY_RESERVE_MAX;
        rc = sr_buf_reserve(&x->body, reserve);
    }
    return rc ? rc
              : sr_scan_new(&x->scan, x->engine->paths[x->doc.dialect], sr_scan_limits_defaults(), &x->arena);
}

/* Books the time since `start` as ours; on the way to the verdict, and once it is there publishes it. */
static void book_time(sr_exchange *x, uint64_t start, bool had_verdict)
{
    if (had_verdict)
        return;
    uint64_t now = sr_clock_ns();
    x->times.waiting = now;
    x->times.busy_ns += now - start;
    if (!x->has_verdict)
        return;
    x->times.verdict = now;
    x->verdict.overhead_ns = x->times.busy_ns;
    sr_measure_verdict(x);
}

void sr_exchange_woken(sr_exchange *x)
{
    book_time(x, x->times.waiting, false);
}

sr_exchange *sr_exchange_new(sr_runtime *runtime, const struct sr_request_head *head,
                             const struct sr_exchange_env *env)
{
    uint64_t start = sr_clock_ns();
    sr_exchange *x = sr_mem_calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->runtime = runtime;
    x->engine = sr_runtime_engine(runtime);
    x->metrics = x->engine->config->global.metrics ? sr_runtime_metrics_table(runtime) : NULL;
    if (env)
        x->env = *env;
    x->times.started = start;
    x->model = x->client_model = -1;
    x->decision.decision = x->decision.category = -1;
    x->verdict.decision = x->verdict.category = x->verdict.effort = x->verdict.model = "";
    sr_arena_init(&x->arena, ARENA_BASE_MAX + 4 * x->engine->max_body);
    sr_buf_init(&x->body, x->engine->max_body);
    sr_buf_init(&x->reply, REPLY_MAX);
    sr_buf_init(&x->explain, EXPLAIN_MAX);
    sr_answer_init(x);
    if (exchange_init(x, head)) {
        sr_engine_unref(x->engine);
        sr_buf_dispose(&x->body);
        sr_buf_dispose(&x->reply);
        sr_arena_dispose(&x->arena);
        sr_mem_free(x);
        return NULL;
    }
    book_time(x, start, false);
    return x;
}

enum sr_step sr_exchange_body(sr_exchange *x, const void *p, size_t n, bool last)
{
    uint64_t start = sr_clock_ns();
    bool had_verdict = x->has_verdict;
    if (x->state == SR_EXCHANGE_STREAMING)
        return stream_chunk(x, p, n, last);
    if (x->state == SR_EXCHANGE_READING)
        read_chunk(x, p, n, last);
    book_time(x, start, had_verdict);
    if (x->has_verdict)
        return SR_STEP_VERDICT;
    return x->state == SR_EXCHANGE_WAITING ? SR_STEP_WAIT : SR_STEP_MORE;
}

uint64_t sr_exchange_deadline_ns(const sr_exchange *x)
{
    return x->deadline_ns;
}

void sr_exchange_timeout(sr_exchange *x)
{
    if (x->state != SR_EXCHANGE_WAITING)
        return;
    sr_route_give_up(x, SR_ETIMEOUT);
    sr_exchange_woken(x);
}

const struct sr_verdict *sr_exchange_verdict(const sr_exchange *x)
{
    return x->has_verdict ? &x->verdict : NULL;
}

struct sr_bytes sr_exchange_explain(sr_exchange *x, bool terminal, int width, bool colour)
{
    sr_buf_clear(&x->explain);
    int rc = terminal ? sr_explain_picture(x, width, colour, &x->explain) : sr_explain_json(x, &x->explain);
    return rc ? (struct sr_bytes){"", 0} : sr_buf_view(&x->explain);
}

void sr_exchange_target(sr_exchange *x, size_t target)
{
    if (target < x->verdict.n_targets)
        x->target = x->verdict.targets[target].name;
}

const struct sr_verdict *sr_exchange_fail(sr_exchange *x, int status, const char *type, const char *message)
{
    uint64_t start = sr_clock_ns();
    bool had_verdict = x->has_verdict;
    if (x->state == SR_EXCHANGE_WAITING)
        sr_route_dispose(x);
    if (status == 502 || status == 503 || status == 504)
        x->error_reason = status == 504 ? "timeout" : "upstream_unreachable";
    sr_reply_error(x, (struct sr_error_reply){status, type, NULL, NULL}, "%s", message ? message : "");
    book_time(x, start, had_verdict);
    return &x->verdict;
}

void sr_exchange_end(sr_exchange *x, enum sr_end how)
{
    if (!x)
        return;
    sr_route_dispose(x);
    sr_measure_end(x, how);
    sr_access_log_write(x, how);
    sr_answer_dispose(x);
    sr_buf_dispose(&x->body);
    sr_buf_dispose(&x->reply);
    sr_buf_dispose(&x->explain);
    sr_arena_dispose(&x->arena);
    sr_engine_unref(x->engine);
    sr_mem_free(x);
}
