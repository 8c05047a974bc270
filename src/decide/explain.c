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
             sr_plan_eval(e->plan, entry, e->results).state == SR_RULE_YES;
    }
    return n;
}

void sr_plan_explain_why(const struct sr_explanation *e, char out[SR_ERR_MESSAGE_MAX])
{
    const struct sr_config *config = e->plan->config;
    const struct sr_plan_entry *winner = entry_of(e->plan, e->decision->decision);
    if (!winner) {
        snprintf(out, SR_ERR_MESSAGE_MAX, "no decision matches, so the default model answers");
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
                 "its classifier is sure enough (%.2f, %.2f needed) to overrule keywords",
                 (double)e->decision->confidence, config->global.override_confidence);
    else if (!winner->has_rules)
        snprintf(out, SR_ERR_MESSAGE_MAX, "it has no rules and takes what nothing before it took");
    else if (others)
        snprintf(out, SR_ERR_MESSAGE_MAX, "%s, ahead of %d other%s by confidence, then priority, then name",
                 order, others, others > 1 ? "s" : "");
    else
        snprintf(out, SR_ERR_MESSAGE_MAX, "%s", order);
}

/* Appends until the first failure, which stays. */
struct doc {
    struct sr_buf *out;
    int rc;
};

static void put(struct doc *doc, const char *text)
{
    if (!doc->rc)
        doc->rc = sr_buf_append_bytes(doc->out, sr_bytes_str(text));
}

static void put_string(struct doc *doc, const char *before, const char *text)
{
    put(doc, before);
    put(doc, "\"");
    if (!doc->rc)
        doc->rc = sr_buf_append_json(doc->out, sr_bytes_str(text));
    put(doc, "\"");
}

static void put_number(struct doc *doc, const char *before, double value)
{
    put(doc, before);
    if (!doc->rc)
        doc->rc = sr_buf_printf(doc->out, "%.6g", value);
}

static void put_state(struct doc *doc, enum sr_rule_state state)
{
    put(doc, ",\"matched\":");
    put(doc, state == SR_RULE_OPEN ? "null" : state == SR_RULE_YES ? "true" : "false");
}

static void put_rule(struct doc *doc, const struct sr_explanation *e, const struct sr_rule_node *node)
{
    static const char *const operators[] = {"", "AND", "OR", "NOT"};
    struct sr_rule_value value = sr_rule_eval(node, e->results);
    if (node->op == SR_RULE_LEAF) {
        enum sr_signal_type type = (enum sr_signal_type)node->type;
        put_string(doc, "{\"type\":", sr_signal_registry[type]->name);
        put_string(doc, ",\"name\":", sr_signals_rule_name(e->plan->signals, type, node->rule));
        put_state(doc, value.state);
        put(doc, "}");
        return;
    }
    put_string(doc, "{\"operator\":", operators[node->op]);
    put_state(doc, value.state);
    put(doc, ",\"conditions\":[");
    for (uint32_t at = 1; at < node->size; at += node[at].size) {
        put(doc, at > 1 ? "," : "");
        put_rule(doc, e, &node[at]);
    }
    put(doc, "]}");
}

static void put_decision(struct doc *doc, const struct sr_explanation *e, const struct sr_plan_entry *entry)
{
    const struct sr_config_decision *decision = &e->plan->config->decisions[entry->decision];
    struct sr_rule_value value = sr_plan_eval(e->plan, entry, e->results);
    put_string(doc, "{\"name\":", decision->name);
    if (decision->description && *decision->description)
        put_string(doc, ",\"description\":", decision->description);
    put_number(doc, ",\"priority\":", (double)decision->priority);
    if (decision->tier > 0)
        put_number(doc, ",\"tier\":", (double)decision->tier);
    put_state(doc, value.state);
    put_number(doc, ",\"confidence\":", value.state == SR_RULE_YES ? (double)value.low : 0.0);
    put(doc, ",\"rules\":");
    if (entry->has_rules)
        put_rule(doc, e, &e->plan->nodes[entry->first]);
    else
        put(doc, "null");
    put(doc, "}");
}

int sr_plan_explain_json(const struct sr_explanation *e, struct sr_buf *out)
{
    struct doc doc = {.out = out};
    char why[SR_ERR_MESSAGE_MAX];
    put(&doc, "\"decisions\":[");
    for (size_t i = 0; i < e->plan->n; i++) {
        put(&doc, i ? "," : "");
        put_decision(&doc, e, &e->plan->entries[i]);
    }
    sr_plan_explain_why(e, why);
    put_string(&doc, "],\"why\":", why);
    return doc.rc;
}
