/*
 * sr_exchange from outside: its beginning and end, and the public functions that hand over to the right file.
 *
 * The states: READING, then STREAMING (a known model, passed on as it arrives) or WAITING (signals under
 * way), then SETTLED. Books the time that a request spends here.
 */
#include "router/exchange.h"

#include "base/clock.h"
#include "base/mem.h"
#include "router/reply/reply.h"
#include "router/report/access_log.h"
#include "router/report/audit.h"
#include "router/report/explain.h"
#include "router/report/measure.h"

/* The arena holds spans, decoded texts and edits of one body: a few times its size, and room for headers. */
#define ARENA_BASE_MAX ((size_t)64 << 20)
#define REPLY_MAX      ((size_t)16 << 20)
#define EXPLAIN_MAX    ((size_t)4 << 20)

/* First reservation of a body whose length the client told. */
#define BODY_RESERVE_MAX ((size_t)1 << 20)

const struct sr_config_decision *sr_exchange_decision(const sr_exchange *x)
{
    return x->decision.decision >= 0 ? &x->router->config->decisions[x->decision.decision] : NULL;
}

const struct sr_config_model *sr_exchange_model(const sr_exchange *x)
{
    return x->model >= 0 ? &x->router->config->models[x->model] : NULL;
}

struct sr_bytes sr_exchange_id(const sr_exchange *x)
{
    return x->head.request_id.n ? x->head.request_id : sr_bytes_str(x->request_id);
}

static int exchange_init(sr_exchange *x, const struct sr_request_head *head)
{
    const struct sr_config *config = x->router->config;
    int rc = sr_head_read(&x->head, head, config, &x->arena);
    if (!rc)
        rc = sr_identity_read(&x->identity, head->headers, head->n_headers, config, &x->arena);
    if (rc)
        return rc;
    if (!x->head.request_id.n)
        sr_runtime_request_id(x->runtime, x->request_id);
    sr_intake_head(x);
    if (x->has_verdict)
        return SR_OK;
    if (!x->head.skip)
        sr_early_init(&x->early, x->router->signals, x->doc.dialect);
    if (x->head.content_length) {
        size_t reserve =
            x->head.content_length < BODY_RESERVE_MAX ? (size_t)x->head.content_length : BODY_RESERVE_MAX;
        rc = sr_buf_reserve(&x->body, reserve);
    }
    return rc ? rc
              : sr_scan_new(&x->scan, sr_dialect_request_paths(x->router->paths, x->doc.dialect),
                            sr_scan_limits_defaults(), &x->arena);
}

/* ---- the record ---- */

static void record_guard(sr_exchange *x)
{
    const struct sr_guard *guard = &x->guard;
    x->record.guard = (struct sr_record_guard){
        .decision = guard->decision,
        .action = sr_guard_action(x),
        .confidence = guard->confidence,
        .denied = guard->denied,
        .moved = guard->moved,
        .types = guard->types,
        .risk = guard->risk,
        .attack = guard->kind,
        .redacted = guard->redaction.places,
    };
}

/* The target that the request is or was with; NULL = none yet. */
static const char *target_name(const sr_exchange *x)
{
    int at = x->ticket.group ? x->ticket.at : -1;
    return at >= 0 && (size_t)at < x->verdict.n_targets ? x->verdict.targets[at].name : NULL;
}

static void record_verdict(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_verdict *v = &x->verdict;
    r->has_verdict = x->has_verdict;
    r->action = v->action;
    r->outcome = v->outcome;
    r->model = x->model;
    r->model_name = v->model;
    r->decision_name = v->decision;
    r->category = v->category;
    r->confidence = v->confidence;
    r->reasoning = v->reasoning;
    r->effort = v->effort;
    r->target = target_name(x);
    r->injected_prompt = x->injected_prompt;
    r->edited = v->edited;
    r->body = sr_buf_view(&x->body);
    r->sent = v->body;
    r->n_sent = v->n_body;
    r->status = v->status;
    r->reply = v->reply;
    r->error_code = x->error_code;
    r->error_reason = x->error_reason;
}

static void record_answer(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_answer *a = &x->answer;
    const struct sr_response_guard *guard = &a->guard;
    r->answer_status = a->status;
    r->answer_mode = a->mode;
    r->saw_done = a->saw_done;
    r->bytes_out = a->bytes;
    r->usage = a->usage.usage;
    r->answer_guard = (struct sr_record_answer_guard){
        .decision = guard->decision ? guard->decision->name : NULL,
        .action = guard->action,
        .complete = guard->last,
        .found = guard->found,
        .replaced = guard->whole && guard->action == SR_RESPONSE_BLOCK,
        .risk = guard->risk,
        .attack = guard->kind,
        .status = guard->status,
        .read = guard->read,
        .coverage = sr_response_guard_coverage(guard),
    };
}

static const struct sr_record *record_all(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    r->door = x->head.door;
    r->dialect = x->doc.dialect->name;
    r->id = sr_exchange_id(x);
    r->peer = x->head.peer;
    r->method = x->head.method;
    r->path = x->head.path;
    r->bytes_in = x->body_bytes;
    r->automatic = x->automatic;
    r->requested_model = x->client_model;
    r->has_text = x->input != NULL;
    r->text_bytes = x->input ? x->input->text.n : 0;
    r->text_tokens = x->input ? x->input->total_tokens : 0;
    r->compressed = x->input && sr_signal_input_stats(x->input, &r->compression);
    r->evaluated = x->run != NULL;
    memcpy(r->results, x->results, sizeof r->results);
    r->plan = x->plan;
    r->decision = x->decision;
    r->choice = x->choice;
    record_guard(x);
    record_verdict(x);
    record_answer(x);
    return r;
}

static void write_audit(sr_exchange *x,
                        int (*render)(const struct sr_record *, const struct sr_config *, struct sr_buf *))
{
    struct sr_buf line;
    if (!sr_runtime_wants_audit(x->runtime))
        return;
    sr_buf_init(&line, SR_AUDIT_MAX);
    if (render(&x->record, x->router->config, &line) == SR_OK)
        sr_runtime_audit_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

static void write_access_log(sr_exchange *x)
{
    struct sr_buf line;
    if (!sr_runtime_wants_log(x->runtime))
        return;
    sr_buf_init(&line, SR_ACCESS_LOG_MAX);
    if (sr_access_log_line(&x->record, x->router->config, &line) == SR_OK)
        sr_runtime_log_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

void sr_exchange_answer_finding(sr_exchange *x)
{
    record_all(x);
    write_audit(x, sr_audit_answer);
    sr_measure_answer_finding(&x->record, x->metrics);
}

/* ---- the request ---- */

/* Books the time since `start` as ours; on the way to the verdict, and once it is there publishes it. */
static void book_time(sr_exchange *x, uint64_t start, bool had_verdict)
{
    if (had_verdict)
        return;
    uint64_t now = sr_clock_ns();
    x->waiting_since = now;
    x->record.times.busy_ns += now - start;
    if (!x->has_verdict)
        return;
    x->record.times.verdict = now;
    x->verdict.overhead_ns = x->record.times.busy_ns;
    sr_early_dispose(&x->early); /* nobody will ask for it any more */
    record_all(x);
    x->record.forwarded = x->verdict.action == SR_ACTION_FORWARD;
    sr_measure_verdict(&x->record, x->router, x->metrics);
    if (sr_audit_wants(&x->record))
        write_audit(x, sr_audit_request);
}

void sr_exchange_woken(sr_exchange *x)
{
    book_time(x, x->waiting_since, false);
}

sr_exchange *sr_exchange_new(sr_runtime *runtime, const struct sr_request_head *head,
                             const struct sr_exchange_env *env)
{
    uint64_t start = sr_clock_ns();
    sr_exchange *x = sr_mem_calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->runtime = runtime;
    x->router = sr_runtime_router(runtime);
    x->metrics = x->router->config->global.metrics ? sr_runtime_metrics_table(runtime) : NULL;
    if (env)
        x->env = *env;
    sr_record_init(&x->record);
    x->record.times.started = start;
    x->model = x->client_model = -1;
    x->doc.dialect = &sr_dialect_chat; /* until the endpoint says otherwise: errors are written in it */
    x->decision.decision = x->decision.category = -1;
    x->decision.category_name = "";
    sr_guard_init(&x->guard);
    x->verdict.decision = x->verdict.category = x->verdict.effort = x->verdict.model = "";
    sr_arena_init(&x->arena, ARENA_BASE_MAX + 4 * x->router->max_body);
    sr_buf_init(&x->body, x->router->max_body);
    sr_buf_init(&x->reply, REPLY_MAX);
    sr_buf_init(&x->explain, EXPLAIN_MAX);
    sr_answer_init(&x->answer);
    if (exchange_init(x, head)) {
        sr_router_unref(x->router);
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
        return sr_intake_stream(x, p, n, last);
    if (x->state == SR_EXCHANGE_READING)
        sr_intake_chunk(x, p, n, last);
    book_time(x, start, had_verdict);
    if (x->has_verdict)
        return SR_STEP_VERDICT;
    return x->state == SR_EXCHANGE_WAITING ? SR_STEP_WAIT : SR_STEP_MORE;
}

bool sr_exchange_body_whole(const sr_exchange *x)
{
    return x->body_whole;
}

uint64_t sr_exchange_deadline_ns(const sr_exchange *x)
{
    return x->state == SR_EXCHANGE_WAITING ? x->deadline_ns : x->answer.guard.check.deadline_ns;
}

void sr_exchange_timeout(sr_exchange *x)
{
    if (x->state != SR_EXCHANGE_WAITING) {
        sr_exchange_answer_timeout(x);
        return;
    }
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
    struct sr_explain e = {record_all(x), x->router};
    int rc = terminal ? sr_explain_picture(&e, width, colour, &x->explain) : sr_explain_json(&e, &x->explain);
    return rc ? (struct sr_bytes){"", 0} : sr_buf_view(&x->explain);
}

const struct sr_verdict *sr_exchange_fail(sr_exchange *x, int status, const char *type, const char *message)
{
    uint64_t start = sr_clock_ns();
    bool had_verdict = x->has_verdict;
    if (x->state == SR_EXCHANGE_WAITING)
        sr_route_dispose(x);
    if (status == 502 || status == 504)
        x->error_reason = status == 504 ? "timeout" : "upstream_unreachable";
    sr_reply_error(x, (struct sr_error_reply){status, type, NULL, NULL}, "%s", message ? message : "");
    book_time(x, start, had_verdict);
    return &x->verdict;
}

void sr_exchange_end(sr_exchange *x, enum sr_end how)
{
    if (!x)
        return;
    x->record.end = how;
    x->record.times.ended = sr_clock_ns();
    record_all(x);
    sr_measure_end(&x->record, x->router, x->metrics);
    write_access_log(x);
    sr_ticket_dispose(&x->ticket);
    sr_answer_dispose(&x->answer);
    sr_route_dispose(x);
    sr_early_dispose(&x->early);
    sr_buf_dispose(&x->body);
    sr_buf_dispose(&x->reply);
    sr_buf_dispose(&x->explain);
    sr_arena_dispose(&x->arena);
    sr_router_unref(x->router);
    sr_mem_free(x);
}
