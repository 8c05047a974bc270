/* Rule trees: compiles them to flat nodes, and evaluates them with the results so far. */
#include "decide/rule.h"

#include "signal/types.h"

#include <math.h>

static int count_nodes(const struct sr_config_rule *rule, const char *decision, int depth, size_t *count,
                       struct sr_err *err)
{
    if (depth > SR_RULE_DEPTH_MAX)
        return sr_err_set(err, SR_ELIMIT, "decision `%s`: rules are nested deeper than %d", decision,
                          SR_RULE_DEPTH_MAX);
    (*count)++;
    for (size_t i = 0; i < rule->n_children; i++) {
        int rc = count_nodes(&rule->children[i], decision, depth + 1, count, err);
        if (rc)
            return rc;
    }
    return SR_OK;
}

int sr_rule_count(const struct sr_config_rule *rule, const char *decision, size_t *count, struct sr_err *err)
{
    *count = 0;
    return count_nodes(rule, decision, 1, count, err);
}

static int compile_leaf(const struct sr_config_rule *rule, const struct sr_signals *signals,
                        const char *decision, struct sr_rule_node *node, struct sr_err *err)
{
    int type = sr_signal_find_type(sr_bytes_str(rule->type));
    if (type < 0)
        return sr_err_set(err, SR_ENOENT, "decision `%s`: there is no signal type `%s`", decision,
                          rule->type);
    int index = sr_signals_find_rule(signals, (enum sr_signal_type)type, sr_bytes_str(rule->name));
    if (index < 0)
        return sr_err_set(err, SR_ENOENT, "decision `%s`: no %s rule is named `%s`", decision, rule->type,
                          rule->name);
    node->type = (uint8_t)type;
    node->rule = (uint32_t)index;
    node->signals = signals;
    node->on_error = (uint8_t)rule->on_error;
    node->predicate = &rule->predicate;
    node->has_predicate = sr_predicate_any(&rule->predicate);
    return SR_OK;
}

int sr_rule_compile(const struct sr_config_rule *rule, const struct sr_signals *signals, const char *decision,
                    struct sr_rule_node *nodes, uint32_t *used, struct sr_err *err)
{
    struct sr_rule_node *node = &nodes[*used];
    uint32_t first = (*used)++;
    *node = (struct sr_rule_node){.op = (uint8_t)rule->op, .on_error = (uint8_t)rule->on_error};
    if (rule->op == SR_RULE_NOT && rule->n_children != 1)
        return sr_err_set(err, SR_EINVAL, "decision `%s`: NOT takes exactly one condition", decision);
    int rc = rule->op == SR_RULE_LEAF ? compile_leaf(rule, signals, decision, node, err) : SR_OK;
    node->partial = rule->op == SR_RULE_UNKNOWN;
    for (size_t i = 0; rc == SR_OK && rule->op != SR_RULE_LEAF && i < rule->n_children; i++) {
        uint32_t child = *used;
        rc = sr_rule_compile(&rule->children[i], signals, decision, nodes, used, err);
        node->partial |= rc == SR_OK && nodes[child].partial;
    }
    node->size = *used - first;
    return rc;
}

static struct sr_rule_value point(bool yes, float confidence)
{
    return (struct sr_rule_value){yes ? SR_RULE_YES : SR_RULE_NO, confidence, confidence, 0};
}

struct evaluation {
    const struct sr_signal_result *const *results;
    bool doubts;  /* leaves without a full result take the value that keeps the tree from matching */
    bool known;   /* so do conditions that are not understood */
    bool negated; /* below an odd number of NOT */
};

static struct sr_rule_value eval(const struct sr_rule_node *node, const struct evaluation *e);

/* The types that a leaf without a result waits for: its own, or those that it needs and that can begin. */
static uint32_t awaited(const struct sr_rule_node *node, const struct evaluation *e)
{
    uint32_t missing = 0, ready = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (!e->results[type])
            missing |= UINT32_C(1) << type;
    uint32_t wanted = UINT32_C(1) << node->type | sr_signals_needs(node->signals, node->type);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if ((wanted & missing) >> type & 1 &&
            !(sr_signals_needs(node->signals, (enum sr_signal_type)type) & missing))
            ready |= UINT32_C(1) << type;
    return ready;
}

static struct sr_rule_value eval_leaf(const struct sr_rule_node *node, const struct evaluation *e)
{
    const struct sr_signal_result *result = e->results[node->type];
    struct sr_rule_value unknown = point(e->doubts ? e->negated : node->on_error == SR_ON_ERROR_MATCH, 1.0f);
    if (!result)
        return (struct sr_rule_value){SR_RULE_OPEN, 0.0f, 1.0f, awaited(node, e)};
    if (result->status || node->rule >= result->n_hits)
        return unknown;
    const struct sr_signal_hit *hit = &result->hits[node->rule];
    bool yes = node->has_predicate ? sr_predicate_holds(node->predicate, hit->value) : hit->matched;
    if (!yes && (result->unread_bytes || result->over))
        return unknown;
    float confidence = hit->confidence > 1.0f ? 1.0f : hit->confidence;
    return point(yes, confidence > 0.0f ? confidence : 1.0f);
}

/* A condition that is not understood is neither true nor false, also below a NOT. A tree whose result
 * depends on it matches when its decision protects, and else does not: the condition takes the value for
 * that. */
static struct sr_rule_value eval_unknown(const struct sr_rule_node *node, const struct evaluation *e)
{
    bool matches = node->on_error == SR_ON_ERROR_MATCH && !e->doubts && !e->known;
    return point(matches != e->negated, 0.0f);
}

/* AND: all children, with the mean of their confidences; without children yes with 0. */
static struct sr_rule_value eval_and(const struct sr_rule_node *node, const struct evaluation *e)
{
    struct sr_rule_value value = point(true, 0.0f);
    float low = 0.0f, high = 0.0f, n = 0.0f;
    for (uint32_t at = 1; at < node->size; at += node[at].size) {
        struct sr_rule_value child = eval(&node[at], e);
        if (child.state == SR_RULE_NO)
            return point(false, 0.0f);
        if (child.state == SR_RULE_OPEN)
            value.state = SR_RULE_OPEN;
        value.open |= child.open;
        low += child.low;
        high += child.high;
        n += 1.0f;
    }
    if (n > 0.0f) {
        value.low = low / n;
        value.high = high / n;
    }
    return value;
}

/* OR: any child, with the best confidence of those that hold. A missing type matters only if a child that
 * waits for it could still be more confident than what is certain. */
static struct sr_rule_value eval_or(const struct sr_rule_node *node, const struct evaluation *e)
{
    struct sr_rule_value value = {.state = SR_RULE_NO};
    float reach[SR_SIGNAL_TYPES] = {0};
    for (uint32_t at = 1; at < node->size; at += node[at].size) {
        struct sr_rule_value child = eval(&node[at], e);
        if (child.state == SR_RULE_NO)
            continue;
        if (child.state == SR_RULE_YES) {
            value.state = SR_RULE_YES;
            value.low = fmaxf(value.low, child.low);
        } else if (value.state == SR_RULE_NO) {
            value.state = SR_RULE_OPEN;
        }
        value.high = fmaxf(value.high, child.high);
        for (int type = 0; type < SR_SIGNAL_TYPES; type++)
            if (child.open >> type & 1)
                reach[type] = fmaxf(reach[type], child.high);
    }
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (reach[type] > value.low || (value.state == SR_RULE_OPEN && reach[type] > 0.0f))
            value.open |= UINT32_C(1) << type;
    return value;
}

static struct sr_rule_value eval_not(const struct sr_rule_node *node, const struct evaluation *e)
{
    struct evaluation below = {e->results, e->doubts, e->known, !e->negated};
    struct sr_rule_value child = eval(&node[1], &below);
    if (child.state == SR_RULE_OPEN)
        return (struct sr_rule_value){SR_RULE_OPEN, 1.0f, 1.0f, child.open};
    return point(child.state == SR_RULE_NO, 1.0f);
}

static struct sr_rule_value eval(const struct sr_rule_node *node, const struct evaluation *e)
{
    switch (node->op) {
    case SR_RULE_LEAF:
        return eval_leaf(node, e);
    case SR_RULE_AND:
        return eval_and(node, e);
    case SR_RULE_OR:
        return eval_or(node, e);
    case SR_RULE_UNKNOWN:
        return eval_unknown(node, e);
    default:
        return eval_not(node, e);
    }
}

struct sr_rule_value sr_rule_eval(const struct sr_rule_node *node, sr_rule_results results)
{
    struct evaluation e = {.results = results};
    struct sr_rule_value value = eval(node, &e);
    if (node->partial && value.state == SR_RULE_YES) { /* does it hold without what is not understood? */
        struct evaluation of_known = {.results = results, .known = true};
        struct sr_rule_value known = eval(node, &of_known);
        value.state = known.state == SR_RULE_OPEN ? SR_RULE_OPEN : SR_RULE_YES;
        value.open |= known.open;
    }
    return value;
}

bool sr_rule_is_sure(const struct sr_rule_node *node, sr_rule_results results)
{
    struct evaluation e = {.results = results, .doubts = true};
    return eval(node, &e).state == SR_RULE_YES;
}

bool sr_rule_is_known(const struct sr_rule_node *node, sr_rule_results results)
{
    struct evaluation e = {.results = results, .known = true};
    return eval(node, &e).state == SR_RULE_YES;
}
