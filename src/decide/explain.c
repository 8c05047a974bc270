/* The sentence and the members of a JSON document. */
#include "decide/explain.h"

#include "decide/plan.h"

#include <stdio.h>

static const struct sr_plan_entry *entry_of(const struct sr_plan *plan, int decision)
{
    for (size_t i = 0; i < plan->n; i++)
        if (plan->entries[i].decision == decision)
            return &plan->entries[i];
    return NULL;
}

/* How many decisions of the winner's group match as well. */
static int rivals(const struct sr_explanation *e, const struct sr_plan_entry *winner)
{
    int n = 0;
    for (size_t i = 0; i < e->plan->n; i++) {
        const struct sr_plan_entry *entry = &e->plan->entries[i];
        n += entry != winner && entry->group == winner->group &&
             sr_plan_eval_entry(e->plan, entry, e->without, e->results).state == SR_RULE_YES;
    }
    return n;
}

void sr_plan_explain_why(const struct sr_explanation *e, char out[SR_ERR_MESSAGE_MAX])
{
    const struct sr_config *config = e->plan->config;
    const struct sr_plan_entry *winner = entry_of(e->plan, e->decision->decision);
    if (e->guard) {
        snprintf(out, SR_ERR_MESSAGE_MAX, "the guard %.60s blocks the request, whatever other decisions say",
                 e->guard);
        return;
    }
    if (!winner) {
        snprintf(out, SR_ERR_MESSAGE_MAX, "no decision matches, %s",
                 config->default_model >= 0 ? "so the default model answers"
                                            : "and there is no default model");
        return;
    }
    const struct sr_config_decision *decision = &config->decisions[winner->decision];
    char order[80];
    bool alone =
        winner->group == e->plan->entries[0].group && winner->group == e->plan->entries[e->plan->n - 1].group;
    if (decision->tier > 0)
        snprintf(order, sizeof order, "in the first tier that matches (%lld)", (long long)decision->tier);
    else if (alone && config->strategy == SR_STRATEGY_CONFIDENCE)
        snprintf(order, sizeof order, "by confidence");
    else
        snprintf(order, sizeof order, "with the highest priority that matches (%lld)",
                 (long long)decision->priority);
    int others = rivals(e, winner);
    if (e->decision->overridden)
        snprintf(out, SR_ERR_MESSAGE_MAX,
                 "its classifier is confident enough (%.2f, %.2f needed) to override keywords",
                 (double)e->decision->confidence, config->global.override_confidence);
    else if (!winner->has_rules)
        snprintf(out, SR_ERR_MESSAGE_MAX, "it has no rules and matches when no decision before it does");
    else if (others)
        snprintf(out, SR_ERR_MESSAGE_MAX, "%s, ahead of %d other%s by confidence, then priority, then name",
                 order, others, others > 1 ? "s" : "");
    else
        snprintf(out, SR_ERR_MESSAGE_MAX, "%s", order);
}

static void put_state(struct sr_json_writer *w, enum sr_rule_state state)
{
    if (state == SR_RULE_OPEN)
        sr_json_null(w, "matched");
    else
        sr_json_bool(w, "matched", state == SR_RULE_YES);
}

static void put_rule(struct sr_json_writer *w, const char *key, const struct sr_explanation *e,
                     const struct sr_rule_node *node)
{
    static const char *const operators[] = {"", "AND", "OR", "NOT"};
    struct sr_rule_value value = sr_rule_eval(node, e->results);
    sr_json_object(w, key);
    if (node->op == SR_RULE_LEAF) {
        enum sr_signal_type type = (enum sr_signal_type)node->type;
        sr_json_text(w, "type", sr_signal_registry[type]->name);
        sr_json_text(w, "name", sr_signals_rule_name(e->plan->signals, type, node->rule));
        sr_json_text(w, "on_error", node->on_error == SR_ON_ERROR_MATCH ? "match" : "no_match");
        put_state(w, value.state);
    } else if (node->op == SR_RULE_UNKNOWN) {
        sr_json_bool(w, "dropped", true);
        sr_json_null(w, "matched");
    } else {
        sr_json_text(w, "operator", operators[node->op]);
        put_state(w, value.state);
        sr_json_array(w, "conditions");
        for (uint32_t at = 1; at < node->size; at += node[at].size)
            put_rule(w, NULL, e, &node[at]);
        sr_json_array_end(w);
    }
    sr_json_object_end(w);
}

static void put_decision(struct sr_json_writer *w, const struct sr_explanation *e, const struct sr_plan *plan,
                         const struct sr_plan_entry *entry)
{
    const struct sr_config_decision *decision = &plan->config->decisions[entry->decision];
    struct sr_rule_value value = sr_plan_eval_entry(plan, entry, e->without, e->results);
    sr_json_object(w, NULL);
    sr_json_text(w, "name", decision->name);
    if (decision->description && *decision->description)
        sr_json_text(w, "description", decision->description);
    sr_json_real(w, "priority", "%.6g", (double)decision->priority);
    if (decision->tier > 0)
        sr_json_real(w, "tier", "%.6g", (double)decision->tier);
    if (decision->plugins.guard.set)
        sr_json_bool(w, "guard", true);
    put_state(w, value.state);
    if (e->without && e->without[entry->decision])
        sr_json_bool(w, "left_out", true);
    sr_json_real(w, "confidence", "%.6g", value.state == SR_RULE_YES ? (double)value.low : 0.0);
    if (entry->has_rules)
        put_rule(w, "rules", e, &plan->nodes[entry->first]);
    else
        sr_json_null(w, "rules");
    sr_json_object_end(w);
}

void sr_plan_explain_json(const struct sr_explanation *e, struct sr_json_writer *w)
{
    char why[SR_ERR_MESSAGE_MAX];
    const struct sr_plan *const plans[] = {e->before, e->plan, e->after};
    sr_json_array(w, "decisions");
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p++)
        for (size_t i = 0; plans[p] && i < plans[p]->n; i++)
            put_decision(w, e, plans[p], &plans[p]->entries[i]);
    sr_json_array_end(w);
    sr_plan_explain_why(e, why);
    sr_json_text(w, "why", why);
}
