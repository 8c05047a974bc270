/* Writes the record, each fact once, when its stage has it, and passes the record to logs and metrics. */
#include "router/exchange/record.h"

#include "base/clock.h"
#include "base/log.h"
#include "router/exchange/history.h"
#include "router/exchange/trace.h"
#include "router/report/access_log.h"
#include "router/report/access_text.h"
#include "router/report/audit.h"
#include "router/report/measure.h"
#include "router/report/outcome.h"

void sr_exchange_note_head(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    r->door = x->head.door;
    r->dialect = x->body.doc.dialect->name;
    r->id = x->head.request_id.n ? x->head.request_id : sr_bytes_str(x->request_id);
    r->peer = x->head.peer;
    r->protocol = x->head.protocol;
    r->method = x->head.method;
    r->path = x->head.path.path;
    r->tenant = x->identity.tenant;
    r->skipped_guards = x->head.skip && x->router->guarded;
    r->debug = x->head.debug;
}

void sr_exchange_note_body(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    r->bytes_in = x->body.arrived;
    r->automatic = x->body.automatic;
    r->requested_model = r->model = x->body.model;
    r->times.body_complete = x->body.complete_ns;
    r->times.scan_ns = x->body.scan_ns;
}

static void note_guard(sr_exchange *x)
{
    const struct sr_guard *guard = &x->routing.guard;
    x->record.guard = (struct sr_record_guard){
        .decision = guard->decision,
        .action = sr_guard_action(guard),
        .confidence = guard->confidence,
        .why = guard->why,
        .denied = guard->denied,
        .moved = guard->moved,
        .types = guard->types,
        .risk = guard->risk,
        .attack = guard->kind,
        .unread = guard->units.places ? &guard->units.unread : NULL,
    };
}

void sr_exchange_note_routing(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_routing *routing = &x->routing;
    const struct sr_signal_input *input = routing->input;
    r->has_text = input != NULL;
    r->text_bytes = input ? input->text.n : 0;
    r->text_tokens = input ? input->total_tokens : 0;
    r->compressed = input && sr_signal_input_stats(input, &r->compression);
    r->evaluated = routing->run != NULL;
    memcpy(r->results, routing->results, sizeof r->results);
    memcpy(r->signal_started, routing->started_ns, sizeof r->signal_started);
    r->plan = routing->plan;
    r->decision = routing->decision;
    r->ranking = routing->ranking.n ? &routing->ranking : NULL;
    r->protection = routing->protection.found;
    r->choice = routing->choice;
    r->without = routing->without;
    r->shadows = routing->shadows.matches;
    r->n_shadows = routing->shadows.n;
    r->times.decided = sr_clock_ns();
    r->times.signals_ns = routing->signals_ns;
    r->times.decide_ns = routing->decide_ns;
    note_guard(x);
}

void sr_exchange_note_tools(sr_exchange *x)
{
    const struct sr_tool_choice *choice = &x->tools;
    const struct sr_tool_plan *plan = &choice->plan;
    x->record.tools = (struct sr_record_tools){
        .known = true,
        .removed = plan->remove_all ? plan->n_own : plan->n_dropped,
        .kept = plan->remove_all ? 0 : plan->n_own - plan->n_dropped,
        .added = plan->n_add,
        .best = plan->best,
        .why_not = plan->why_not,
        .ns = choice->ended_ns - choice->started_ns,
    };
}

void sr_exchange_note_edits(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    r->edits = x->edited.kinds;
    r->family = x->edited.family;
    r->injected_prompt = x->edited.injected_prompt;
    r->guard.redacted = x->edited.redaction.places;
}

void sr_exchange_note_answer(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    const struct sr_answer *a = &x->answer;
    const struct sr_response_guard *guard = &a->guard;
    r->answer_status = a->status;
    r->streamed = a->mode == SR_ANSWER_SSE;
    r->saw_done = a->saw_done;
    r->bytes_out = a->bytes;
    r->usage = a->usage.usage;
    r->events = a->events_seen;
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

static void note_recall(sr_exchange *x, int64_t age_ms)
{
    const struct sr_recall *recall = &x->recall;
    const struct sr_cache_plan *plan = &recall->plan;
    if (!recall->asked)
        return;
    x->record.recall = (struct sr_record_recall){
        .known = true,
        .policy = plan->policy,
        .unused = plan->unused,
        .unasked = plan->looks ? NULL : plan->unasked,
        .unkept = plan->stores ? NULL : plan->why_not,
        .exact_only = sr_recall_why_exact(recall),
        .ttl_ms = plan->ttl_ms,
        .max_age_ms = plan->max_age_ms,
        .partition = recall->partition,
        .looked = recall->ended_ns != 0,
        .hit = recall->hit,
        .similarity = recall->similarity,
        .rejected = recall->rejected,
        .age_ms = age_ms,
    };
}

void sr_exchange_note_cache(sr_exchange *x, bool early)
{
    const struct sr_recall *recall = &x->recall;
    const struct sr_cache_record *found = recall->record;
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    note_recall(x, found && now > found->f.created_ms ? now - found->f.created_ms : 0);
    if (recall->purpose != SR_PURPOSE_SERVE)
        return;
    x->record.cache = (struct sr_record_cache){
        .used = early || recall->plan.use != NULL,
        .hit = recall->hit,
        .early = early,
        .similarity = recall->similarity,
        .rejected = recall->rejected,
        .age_ms = found && now > found->f.created_ms ? now - found->f.created_ms : 0,
        .ns = recall->ended_ns > recall->started_ns ? recall->ended_ns - recall->started_ns : 0,
        .not_stored = found || recall->plan.stores ? NULL : recall->plan.why_not,
    };
}

/* ---- readers of the record ---- */

static void write_audit(sr_exchange *x,
                        int (*render)(const struct sr_record *, const struct sr_config *, struct sr_buf *))
{
    struct sr_buf line;
    if (x->recall.purpose == SR_PURPOSE_WARM || !sr_runtime_wants_audit(x->runtime))
        return;
    sr_buf_init(&line, SR_AUDIT_MAX);
    if (render(&x->record, x->router->config, &line) == SR_OK)
        sr_runtime_audit_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

void sr_exchange_note_placed(sr_exchange *x)
{
    if (x->record.action == SR_ACTION_FORWARD && x->recall.purpose == SR_PURPOSE_SERVE)
        sr_outcome_placed(&x->record, x->router, &x->counted);
}

void sr_exchange_note_next_model(sr_exchange *x, int before)
{
    sr_measure_next_model(&x->record, before, x->router, x->metrics);
}

void sr_exchange_report_verdict(sr_exchange *x)
{
    x->record.forwarded = x->record.action == SR_ACTION_FORWARD;
    sr_exchange_note_placed(x);
    sr_measure_verdict(&x->record, x->router, x->metrics);
    if (sr_audit_wants(&x->record))
        write_audit(x, sr_audit_request);
}

void sr_exchange_report_finding(sr_exchange *x)
{
    sr_exchange_note_answer(x);
    write_audit(x, sr_audit_answer);
    sr_measure_answer_finding(&x->record, x->metrics);
}

/* The current or last target of the request; NULL = none yet. */
static const char *target_name(const sr_exchange *x)
{
    int at = x->ticket.group ? x->ticket.at : -1;
    return at >= 0 && (size_t)at < x->verdict.n_targets ? x->verdict.targets[at].name : NULL;
}

void sr_exchange_note_target(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    r->target = target_name(x);
    if (!r->target || x->ticket.at != x->ticket.chosen)
        return;
    r->policy = sr_pool_group_policy(x->ticket.group);
    r->why_target = x->ticket.why;
    r->of_several = r->why_target.reason != NULL;
    if (!r->of_several)
        r->why_target.reason = "the only one";
}

/* A line of the process log, for a level that an operator sets for a while. */
static void log_request(const sr_exchange *x)
{
    struct sr_buf line;
    if (sr_log_level() > SR_LOG_DEBUG)
        return;
    sr_buf_init(&line, SR_ACCESS_LOG_MAX);
    if (sr_access_text_line(&x->record, x->router->config, false, &line) == SR_OK &&
        line.len > SR_ACCESS_TEXT_TIME)
        sr_log(SR_LOG_DEBUG, "request", "%.*s", (int)(line.len - SR_ACCESS_TEXT_TIME),
               line.data + SR_ACCESS_TEXT_TIME);
    sr_buf_dispose(&line);
}

void sr_exchange_report_end(sr_exchange *x, enum sr_end how)
{
    struct sr_buf line;
    x->record.end = how;
    x->record.times.ended = sr_clock_ns();
    sr_exchange_note_target(x);
    sr_exchange_note_answer(x);
    sr_exchange_end_trace(x);
    sr_measure_end(&x->record, x->router, x->metrics);
    sr_outcome_ended(&x->record, x->router, &x->counted);
    sr_exchange_report_history(x);
    log_request(x);
    if (x->recall.purpose == SR_PURPOSE_WARM || !sr_runtime_wants_log(x->runtime))
        return;
    sr_buf_init(&line, SR_ACCESS_LOG_MAX);
    enum sr_log_form form = sr_runtime_log_form(x->runtime);
    int rc = form == SR_LOG_JSON
                 ? sr_access_log_line(&x->record, x->router, &line)
                 : sr_access_text_line(&x->record, x->router->config, form == SR_LOG_COLOURED, &line);
    if (rc == SR_OK)
        sr_runtime_log_line(x->runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}
