/*
 * What happened to a request, as one JSON document: the signals that were asked with what they found, the
 * rules of the decision that won and of all others, the verdict, and every edit of the body. Field names are
 * stable.
 */
#include "router/report/explain.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "decide/explain.h"
#include "router/report/explain_cache.h"
#include "router/report/explain_ranking.h"
#include "router/report/unread.h"

#include <math.h>

/* Removed and inserted pieces of a body are shown up to here. */
#define PIECE_MAX 400

/* NULL is an empty text. */
static void put_text(struct sr_json_writer *w, const char *key, const char *text)
{
    sr_json_bytes(w, key, sr_bytes_str(text));
}

static void put_number(struct sr_json_writer *w, const char *key, double value)
{
    sr_json_real(w, key, "%.9g", value);
}

static double microseconds(uint64_t ns)
{
    return (double)(ns / 10) / 100;
}

/* A member that is left out when it is empty. */
static void put_note(struct sr_json_writer *w, const char *key, const char *text)
{
    if (text && text[0])
        put_text(w, key, text);
}

static void put_hits(struct sr_json_writer *w, const struct sr_explain *e, enum sr_signal_type type)
{
    const struct sr_signal_result *result = e->record->results[type];
    sr_json_array(w, "rules");
    for (size_t i = 0; i < result->n_hits; i++) {
        sr_json_object(w, NULL);
        const char *name = sr_signals_rule_name(e->router->signals, type, i);
        put_text(w, "name", name);
        put_note(w, "description", sr_signals_rule_description(e->router->signals, type, i));
        sr_json_bool(w, "matched", result->hits[i].matched);
        put_number(w, "confidence", (double)result->hits[i].confidence);
        if (isfinite(result->hits[i].value))
            put_number(w, "value", result->hits[i].value);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_classes(struct sr_json_writer *w, const struct sr_signal_result *result)
{
    if (!result->probabilities)
        return;
    if (result->top >= 0) {
        put_text(w, "label", result->labels[result->top]);
        put_number(w, "confidence", (double)result->probabilities[result->top]);
    }
    put_number(w, "entropy", (double)result->entropy);
    sr_json_object(w, "probabilities");
    for (size_t i = 0; i < result->n_labels; i++) {
        sr_json_name(w, sr_bytes_str(result->labels[i]));
        put_number(w, NULL, (double)result->probabilities[i]);
    }
    sr_json_object_end(w);
}

static void put_signals(struct sr_json_writer *w, const struct sr_explain *e)
{
    sr_json_array(w, "signals");
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = e->record->results[type];
        if (!result)
            continue;
        sr_json_object(w, NULL);
        put_text(w, "type", sr_signal_registry[type]->name);
        put_number(w, "us", microseconds(result->ns));
        if (result->status)
            put_text(w, "error", sr_strerror(result->status));
        else if (result->over)
            put_text(w, "error", sr_strerror(SR_ELIMIT));
        if (result->tier[0])
            put_text(w, "tier", result->tier);
        if (result->all_bytes) {
            put_number(w, "bytes", (double)result->all_bytes);
            put_number(w, "read_bytes", (double)result->scanned_bytes);
        }
        if (result->unread_bytes)
            put_number(w, "unread_bytes", (double)result->unread_bytes);
        if (result->neural_bytes || result->neural_late)
            put_number(w, "neural_bytes", (double)result->neural_bytes);
        if (result->multilingual_bytes)
            put_number(w, "multilingual_bytes", (double)result->multilingual_bytes);
        if (result->read_twice)
            put_number(w, "read_twice", result->read_twice);
        if (result->not_read_twice)
            put_number(w, "not_read_twice", result->not_read_twice);
        if (result->neural_late)
            sr_json_bool(w, "neural_late", true);
        put_classes(w, result);
        put_hits(w, e, (enum sr_signal_type)type);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

static void put_leaf(struct sr_json_writer *w, const struct sr_explain *e, const struct sr_config_rule *rule)
{
    int type = sr_signal_find_type(sr_bytes_str(rule->type));
    const struct sr_signal_result *result = type >= 0 ? e->record->results[type] : NULL;
    int index = type < 0 ? -1
                         : sr_signals_find_rule(e->router->signals, (enum sr_signal_type)type,
                                                sr_bytes_str(rule->name));
    put_text(w, "type", rule->type);
    put_text(w, "name", rule->name);
    put_text(w, "on_error", rule->on_error == SR_ON_ERROR_MATCH ? "match" : "no_match");
    if (!result || result->status || index < 0 || (size_t)index >= result->n_hits)
        sr_json_null(w, "matched");
    else
        sr_json_bool(w, "matched", result->hits[index].matched);
}

static void put_rule(struct sr_json_writer *w, const char *key, const struct sr_explain *e,
                     const struct sr_config_rule *rule)
{
    static const char *const words[] = {
        [SR_RULE_LEAF] = "", [SR_RULE_AND] = "AND", [SR_RULE_OR] = "OR", [SR_RULE_NOT] = "NOT"};
    sr_json_object(w, key);
    if (rule->op == SR_RULE_LEAF) {
        put_leaf(w, e, rule);
    } else if (rule->op == SR_RULE_UNKNOWN) {
        sr_json_bool(w, "dropped", true);
        sr_json_null(w, "matched");
    } else {
        put_text(w, "operator", words[rule->op]);
        sr_json_array(w, "conditions");
        for (size_t i = 0; i < rule->n_children; i++)
            put_rule(w, NULL, e, &rule->children[i]);
        sr_json_array_end(w);
    }
    sr_json_object_end(w);
}

static void put_decision(struct sr_json_writer *w, const struct sr_explain *e)
{
    const struct sr_config_decision *decision = sr_record_decision(e->record, e->router->config);
    if (!decision) {
        sr_json_null(w, "decision");
        return;
    }
    sr_json_object(w, "decision");
    put_text(w, "name", decision->name);
    put_number(w, "priority", (double)decision->priority);
    put_number(w, "confidence", (double)e->record->decision.confidence);
    put_text(w, "category", e->record->decision.category_name);
    sr_json_bool(w, "overridden", e->record->decision.overridden);
    if (decision->has_rules)
        put_rule(w, "rules", e, &decision->rules);
    sr_json_object_end(w);
}

/* What guards found and did, where one matched or a policy stepped in. */
static void put_guard(struct sr_json_writer *w, const struct sr_explain *e)
{
    const struct sr_record_guard *guard = &e->record->guard;
    const char *action = sr_guard_action_name(e->record->guard.action);
    if (!action[0] && !guard->moved)
        return;
    sr_json_object(w, "guard");
    put_text(w, "decision", guard->decision >= 0 ? e->router->config->decisions[guard->decision].name : "");
    put_text(w, "action", action);
    put_note(w, "reason", guard->why);
    sr_json_bool(w, "denied_by_policy", guard->denied);
    sr_json_bool(w, "moved_by_policy", guard->moved);
    if (guard->risk >= 0) {
        put_text(w, "attack", guard->attack);
        put_number(w, "risk", (double)guard->risk);
    }
    sr_json_array(w, "pii_types");
    for (int type = 0; type < SR_ENTITY_TYPES; type++) {
        if (!(guard->types >> type & 1))
            continue;
        put_text(w, NULL, sr_entity_names[type]);
    }
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* Decisions in shadow that match, and what they would have done. */
static void put_shadows(struct sr_json_writer *w, const struct sr_explain *e)
{
    if (!e->record->n_shadows)
        return;
    sr_json_array(w, "shadow");
    for (size_t i = 0; i < e->record->n_shadows; i++) {
        const struct sr_match *match = &e->record->shadows[i];
        const struct sr_config_decision *decision = &e->router->config->decisions[match->decision];
        sr_json_object(w, NULL);
        put_text(w, "decision", decision->name);
        put_text(w, "action", sr_record_would(decision));
        put_number(w, "confidence", (double)match->confidence);
        if (match->unsure)
            sr_json_bool(w, "unsure", true);
        if (decision->has_rules)
            put_rule(w, "rules", e, &decision->rules);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

bool sr_explain_plans(const struct sr_record *record, const struct sr_router *router,
                      struct sr_explanation *out)
{
    bool guards_route = record->automatic && record->plan == router->guards;
    *out = (struct sr_explanation){.plan = record->plan,
                                   .before = record->automatic && !guards_route ? router->guards : NULL,
                                   .after = guards_route ? router->plan : NULL,
                                   .results = record->results,
                                   .decision = &record->decision,
                                   .without = record->without,
                                   .guard = sr_record_blocker(record, router->config)};
    return record->evaluated && record->plan;
}

/* Every decision, and why one of them won. */
static void put_plan(struct sr_json_writer *w, const struct sr_explain *e)
{
    struct sr_explanation plans;
    if (sr_explain_plans(e->record, e->router, &plans))
        sr_plan_explain_json(&plans, w);
}

static struct sr_bytes cut(struct sr_bytes s)
{
    return sr_bytes_of(s.p, s.n < PIECE_MAX ? s.n : PIECE_MAX);
}

void sr_explain_edits(const struct sr_record *record,
                      void (*each)(void *ctx, const struct sr_explain_edit *edit), void *ctx)
{
    const char *start = record->body.p, *end = start + record->body.n;
    size_t at = 0, inserted = 0;
    if (!record->edited)
        return;
    for (size_t i = 0; i <= record->n_sent; i++) { /* what does not point into the body was inserted */
        const struct sr_bytes *slice = i < record->n_sent ? &record->sent[i] : NULL;
        if (slice && (slice->p < start || slice->p >= end))
            continue;
        size_t next = slice ? (size_t)(slice->p - start) : record->body.n;
        if (next > at || inserted < i) {
            struct sr_explain_edit edit = {
                at, {start + at, next - at}, record->sent + inserted, i - inserted};
            each(ctx, &edit);
        }
        at = slice ? next + slice->n : next;
        inserted = i + 1;
    }
}

static void put_edit(void *ctx, const struct sr_explain_edit *edit)
{
    struct sr_json_writer *w = ctx;
    sr_json_object(w, NULL);
    put_number(w, "at", (double)edit->at);
    sr_json_bytes(w, "removed", cut(edit->removed));
    sr_json_string(w, "inserted");
    for (size_t i = 0; i < edit->n_inserted; i++)
        sr_json_string_part(w, cut(edit->inserted[i]));
    sr_json_string_end(w);
    sr_json_object_end(w);
}

/* The worker that would be picked now, and why. */
static void put_worker(struct sr_json_writer *w, const struct sr_record *r)
{
    const struct sr_pool_why *why = &r->why_target;
    if (!r->target || !r->policy)
        return;
    sr_json_object(w, "worker");
    put_text(w, "backend", r->target);
    put_text(w, "policy", r->policy);
    put_text(w, "reason", why->reason);
    if (why->blocks) {
        put_number(w, "overlap", why->overlap);
        put_number(w, "blocks", why->blocks);
    }
    if (why->similarity > 0)
        put_number(w, "similarity", (double)why->similarity);
    sr_json_object_end(w);
}

/* The pool of the model that the request would go to now, and why. */
static void put_pool(struct sr_json_writer *w, const struct sr_record_pool *pool)
{
    if (!pool->name)
        return;
    sr_json_object(w, "pool");
    put_text(w, "name", pool->name);
    put_text(w, "reason", pool->why);
    put_text(w, "workload", pool->workload);
    put_text(w, "workload_from", pool->from);
    put_number(w, "prompt_tokens", (double)pool->prompt_tokens);
    put_number(w, "answer_tokens", (double)pool->answer_tokens);
    sr_json_object_end(w);
}

static void put_verdict(struct sr_json_writer *w, const struct sr_explain *e)
{
    const struct sr_record *r = e->record;
    bool forward = r->action == SR_ACTION_FORWARD;
    put_text(w, "action", forward ? "forward" : "reply");
    put_text(w, "outcome", sr_record_outcome(e->record));
    if (!forward) {
        put_number(w, "status", r->status);
        sr_json_bytes(w, "reply", cut(r->reply));
        return;
    }
    put_text(w, "model", r->model_name);
    put_pool(w, &r->pool);
    put_worker(w, r);
    put_text(w, "algorithm",
             e->record->automatic && e->record->choice.algorithm ? e->record->choice.algorithm : "");
    sr_json_bool(w, "reasoning", r->reasoning);
    put_text(w, "effort", r->effort);
    put_note(w, "reasoning_description", r->reasoning ? e->record->choice.why_reasoning : "");
    sr_json_bool(w, "injected_system_prompt", e->record->injected_prompt);
    sr_json_array(w, "edits");
    sr_explain_edits(r, put_edit, w);
    sr_json_array_end(w);
}

static void put_tools(struct sr_json_writer *w, const struct sr_record_tools *tools)
{
    if (!tools->known)
        return;
    sr_json_object(w, "tools");
    sr_json_uint(w, "kept", tools->kept);
    sr_json_uint(w, "removed", tools->removed);
    sr_json_uint(w, "added", tools->added);
    if (tools->best > 0)
        sr_json_real(w, "best_similarity", "%.4f", (double)tools->best);
    put_text(w, "not_by_meaning", tools->why_not ? tools->why_not : "");
    sr_json_object_end(w);
}

static void put_request(struct sr_json_writer *w, const struct sr_explain *e)
{
    sr_json_object(w, "request");
    put_text(w, "dialect", e->record->dialect);
    sr_json_bool(w, "automatic", e->record->automatic);
    if (e->router->config->n_recipes)
        put_note(w, "recipe", e->record->recipe);
    if (e->record->canary) {
        put_text(w, "canary", e->record->canary);
        put_text(w, "canary_side", sr_canary_side_name(e->record->canary_side));
    }
    put_number(w, "bytes", (double)e->record->bytes_in);
    if (e->record->has_text) {
        put_number(w, "text_bytes", (double)e->record->text_bytes);
        put_number(w, "tokens", (double)e->record->text_tokens);
    }
    sr_json_object_end(w);
}

int sr_explain_json(const struct sr_explain *e, struct sr_buf *out)
{
    const struct sr_times *times = &e->record->times;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    put_request(&w, e);
    put_signals(&w, e);
    sr_report_unread(&w, e->record->guard.unread);
    put_guard(&w, e);
    put_decision(&w, e);
    put_shadows(&w, e);
    put_plan(&w, e);
    sr_explain_ranking_json(e, &w);
    put_tools(&w, &e->record->tools);
    sr_explain_cache_json(e, &w);
    if (e->record->has_verdict)
        put_verdict(&w, e);
    put_number(&w, "us", microseconds(times->busy_ns));
    sr_json_object(&w, "timings");
    put_number(&w, "scan_us", microseconds(times->scan_ns));
    put_number(&w, "signals_us", microseconds(times->signals_ns));
    put_number(&w, "decide_us", microseconds(times->decide_ns));
    put_number(&w, "edit_us", microseconds(times->edit_ns));
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}
