/*
 * What happened to a request, as one JSON document: the signals that were asked with what they found, the
 * rules of the decision that won and of all others, the verdict, and every edit of the body. Field names are
 * stable.
 */
#include "router/report/explain.h"
#include "base/clock.h"
#include "decide/explain.h"

#include <math.h>

/* Removed and inserted pieces of a body are shown up to here. */
#define PIECE_MAX 400

/* Appends to the document; the first failure stops it. */
struct doc {
    struct sr_buf *buf;
    int rc;
};

static void put(struct doc *doc, const char *json)
{
    if (!doc->rc)
        doc->rc = sr_buf_append_bytes(doc->buf, sr_bytes_str(json));
}

static void put_string(struct doc *doc, struct sr_bytes text)
{
    put(doc, "\"");
    if (!doc->rc)
        doc->rc = sr_buf_append_json(doc->buf, text);
    put(doc, "\"");
}

/* A comma where one is due, the key, a colon. */
static void put_key(struct doc *doc, const char *key)
{
    char last = doc->buf->len ? doc->buf->data[doc->buf->len - 1] : 0;
    if (last != '{' && last != '[' && last != 0)
        put(doc, ",");
    put_string(doc, sr_bytes_str(key));
    put(doc, ":");
}

static void put_text(struct doc *doc, const char *key, const char *text)
{
    put_key(doc, key);
    put_string(doc, sr_bytes_str(text));
}

static void put_bool(struct doc *doc, const char *key, bool value)
{
    put_key(doc, key);
    put(doc, value ? "true" : "false");
}

static void put_number(struct doc *doc, const char *key, double value)
{
    put_key(doc, key);
    if (!isfinite(value))
        put(doc, "null");
    else if (!doc->rc)
        doc->rc = sr_buf_printf(doc->buf, "%.9g", value);
}

static double microseconds(uint64_t ns)
{
    return (double)(ns / 10) / 100;
}

/* A member that is left out when it is empty. */
static void put_note(struct doc *doc, const char *key, const char *text)
{
    if (text && text[0])
        put_text(doc, key, text);
}

static void put_hits(struct doc *doc, const struct sr_explain *e, enum sr_signal_type type)
{
    const struct sr_signal_result *result = e->record->results[type];
    put_key(doc, "rules");
    put(doc, "[");
    for (size_t i = 0; i < result->n_hits; i++) {
        put(doc, i ? ",{" : "{");
        const char *name = sr_signals_rule_name(e->router->signals, type, i);
        put_text(doc, "name", name);
        put_note(doc, "description", sr_signals_rule_description(e->router->signals, type, i));
        put_bool(doc, "matched", result->hits[i].matched);
        put_number(doc, "confidence", (double)result->hits[i].confidence);
        if (isfinite(result->hits[i].value))
            put_number(doc, "value", result->hits[i].value);
        put(doc, "}");
    }
    put(doc, "]");
}

static void put_classes(struct doc *doc, const struct sr_signal_result *result)
{
    if (!result->probabilities)
        return;
    if (result->top >= 0) {
        put_text(doc, "label", result->labels[result->top]);
        put_number(doc, "confidence", (double)result->probabilities[result->top]);
    }
    put_number(doc, "entropy", (double)result->entropy);
    put_key(doc, "probabilities");
    put(doc, "{");
    for (size_t i = 0; i < result->n_labels; i++)
        put_number(doc, result->labels[i], (double)result->probabilities[i]);
    put(doc, "}");
}

static void put_signals(struct doc *doc, const struct sr_explain *e)
{
    bool first = true;
    put_key(doc, "signals");
    put(doc, "[");
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        const struct sr_signal_result *result = e->record->results[type];
        if (!result)
            continue;
        put(doc, first ? "{" : ",{");
        first = false;
        put_text(doc, "type", sr_signal_registry[type]->name);
        put_number(doc, "us", microseconds(result->ns));
        if (result->status)
            put_text(doc, "error", sr_strerror(result->status));
        if (result->tier[0])
            put_text(doc, "tier", result->tier);
        if (result->all_bytes) {
            put_number(doc, "bytes", (double)result->all_bytes);
            put_number(doc, "read_bytes", (double)result->scanned_bytes);
        }
        if (result->neural_bytes || result->neural_late)
            put_number(doc, "neural_bytes", (double)result->neural_bytes);
        if (result->neural_late)
            put_bool(doc, "neural_late", true);
        put_classes(doc, result);
        put_hits(doc, e, (enum sr_signal_type)type);
        put(doc, "}");
    }
    put(doc, "]");
}

static void put_leaf(struct doc *doc, const struct sr_explain *e, const struct sr_config_rule *rule)
{
    int type = sr_signal_find_type(sr_bytes_str(rule->type));
    const struct sr_signal_result *result = type >= 0 ? e->record->results[type] : NULL;
    int index = type < 0 ? -1
                         : sr_signals_find_rule(e->router->signals, (enum sr_signal_type)type,
                                                sr_bytes_str(rule->name));
    put_text(doc, "type", rule->type);
    put_text(doc, "name", rule->name);
    put_key(doc, "matched");
    if (!result || result->status || index < 0 || (size_t)index >= result->n_hits)
        put(doc, "null");
    else
        put(doc, result->hits[index].matched ? "true" : "false");
}

static void put_rule(struct doc *doc, const struct sr_explain *e, const struct sr_config_rule *rule)
{
    static const char *const words[] = {
        [SR_RULE_LEAF] = "", [SR_RULE_AND] = "AND", [SR_RULE_OR] = "OR", [SR_RULE_NOT] = "NOT"};
    put(doc, "{");
    if (rule->op == SR_RULE_LEAF) {
        put_leaf(doc, e, rule);
    } else {
        put_text(doc, "operator", words[rule->op]);
        put_key(doc, "conditions");
        put(doc, "[");
        for (size_t i = 0; i < rule->n_children; i++) {
            put(doc, i ? "," : "");
            put_rule(doc, e, &rule->children[i]);
        }
        put(doc, "]");
    }
    put(doc, "}");
}

static void put_decision(struct doc *doc, const struct sr_explain *e)
{
    const struct sr_config_decision *decision = sr_record_decision(e->record, e->router->config);
    put_key(doc, "decision");
    if (!decision) {
        put(doc, "null");
        return;
    }
    put(doc, "{");
    put_text(doc, "name", decision->name);
    put_number(doc, "priority", (double)decision->priority);
    put_number(doc, "confidence", (double)e->record->decision.confidence);
    put_text(doc, "category", e->record->decision.category_name);
    put_bool(doc, "overridden", e->record->decision.overridden);
    if (decision->has_rules) {
        put_key(doc, "rules");
        put_rule(doc, e, &decision->rules);
    }
    put(doc, "}");
}

/* What guards found and did, where one matched or a policy stepped in. */
static void put_guard(struct doc *doc, const struct sr_explain *e)
{
    const struct sr_record_guard *guard = &e->record->guard;
    const char *action = sr_guard_action_name(e->record->guard.action);
    bool first = true;
    if (!action[0] && !guard->moved)
        return;
    put_key(doc, "guard");
    put(doc, "{");
    put_text(doc, "decision", guard->decision >= 0 ? e->router->config->decisions[guard->decision].name : "");
    put_text(doc, "action", action);
    put_bool(doc, "denied_by_policy", guard->denied);
    put_bool(doc, "moved_by_policy", guard->moved);
    if (guard->risk >= 0) {
        put_text(doc, "attack", guard->attack);
        put_number(doc, "risk", (double)guard->risk);
    }
    put_key(doc, "pii_types");
    put(doc, "[");
    for (int type = 0; type < SR_ENTITY_TYPES; type++) {
        if (!(guard->types >> type & 1))
            continue;
        put(doc, first ? "" : ",");
        put_string(doc, sr_bytes_str(sr_entity_names[type]));
        first = false;
    }
    put(doc, "]}");
}

/* Every decision of the plan, and why one of them won. */
static void put_plan(struct doc *doc, const struct sr_explain *e)
{
    struct sr_explanation plan = {e->record->plan, e->record->results, &e->record->decision};
    if (!e->record->evaluated || !e->record->plan)
        return;
    put(doc, ",");
    if (!doc->rc)
        doc->rc = sr_plan_explain_json(&plan, doc->buf);
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
    struct doc *doc = ctx;
    bool first = doc->buf->len && doc->buf->data[doc->buf->len - 1] == '[';
    put(doc, first ? "{" : ",{");
    put_number(doc, "at", (double)edit->at);
    put_key(doc, "removed");
    put_string(doc, cut(edit->removed));
    put_key(doc, "inserted");
    put(doc, "\"");
    for (size_t i = 0; i < edit->n_inserted && !doc->rc; i++)
        doc->rc = sr_buf_append_json(doc->buf, cut(edit->inserted[i]));
    put(doc, "\"}");
}

static void put_verdict(struct doc *doc, const struct sr_explain *e)
{
    const struct sr_record *r = e->record;
    bool forward = r->action == SR_ACTION_FORWARD;
    put_text(doc, "action", forward ? "forward" : "reply");
    put_text(doc, "outcome", sr_record_outcome(e->record));
    if (!forward) {
        put_number(doc, "status", r->status);
        put_key(doc, "reply");
        put_string(doc, cut(r->reply));
        return;
    }
    put_text(doc, "model", r->model_name);
    put_text(doc, "algorithm",
             e->record->automatic && e->record->choice.algorithm ? e->record->choice.algorithm : "");
    put_bool(doc, "reasoning", r->reasoning);
    put_text(doc, "effort", r->effort);
    put_note(doc, "reasoning_description", r->reasoning ? e->record->choice.why_reasoning : "");
    put_bool(doc, "injected_system_prompt", e->record->injected_prompt);
    put_key(doc, "edits");
    put(doc, "[");
    sr_explain_edits(r, put_edit, doc);
    put(doc, "]");
}

static void put_request(struct doc *doc, const struct sr_explain *e)
{
    put_key(doc, "request");
    put(doc, "{");
    put_text(doc, "dialect", e->record->dialect);
    put_bool(doc, "automatic", e->record->automatic);
    put_number(doc, "bytes", (double)e->record->bytes_in);
    if (e->record->has_text) {
        put_number(doc, "text_bytes", (double)e->record->text_bytes);
        put_number(doc, "tokens", (double)e->record->text_tokens);
    }
    put(doc, "}");
}

int sr_explain_json(const struct sr_explain *e, struct sr_buf *out)
{
    struct doc doc = {.buf = out};
    put(&doc, "{");
    put_request(&doc, e);
    put_signals(&doc, e);
    put_guard(&doc, e);
    put_decision(&doc, e);
    put_plan(&doc, e);
    if (e->record->has_verdict)
        put_verdict(&doc, e);
    put_number(&doc, "us", microseconds(e->record->times.busy_ns));
    put_key(&doc, "timings");
    put(&doc, "{");
    put_number(&doc, "scan_us", microseconds(e->record->times.scan_ns));
    put_number(&doc, "signals_us", microseconds(e->record->times.signals_ns));
    put_number(&doc, "decide_us", microseconds(e->record->times.decide_ns));
    put_number(&doc, "edit_us", microseconds(e->record->times.edit_ns));
    put(&doc, "}}");
    return doc.rc;
}
