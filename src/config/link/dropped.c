/*
 * A lenient load opens nothing: a condition that is not understood is neither true nor false
 * (decide/rule.c), and this file says for each decision what that means.
 */
#include "config/link/dropped.h"

#include "config/bind/idle.h"
#include "config/link/names.h"

#include <stdio.h>

#define TEXT_MAX 160

static bool asks_guards(const struct sr_config_rule *rule, bool negated)
{
    bool named = sr_config_is_guard_type(rule->type);
    bool leaf = rule->op == SR_RULE_LEAF || rule->op == SR_RULE_UNKNOWN;
    for (size_t i = 0; i < rule->n_children; i++)
        if (asks_guards(&rule->children[i], negated != (rule->op == SR_RULE_NOT)))
            return true;
    return leaf && named && !negated;
}

/* True when it is safe that the decision matches a request for which it may not be meant. */
static bool protects(const struct sr_config_decision *decision)
{
    const struct sr_config_plugins *plugins = &decision->plugins;
    if (plugins->guard.set)
        return plugins->guard.action != SR_GUARD_ALLOW;
    return plugins->fast_response.set || asks_guards(&decision->rules, false);
}

/* Marks the dropped conditions; returns how many there are. */
static size_t mark(struct sr_config_rule *rule, enum sr_on_error value)
{
    size_t n = rule->op == SR_RULE_UNKNOWN;
    if (n)
        rule->on_error = value;
    for (size_t i = 0; i < rule->n_children; i++)
        n += mark(&rule->children[i], value);
    return n;
}

/* Can the tree match (`sought`), or fail to, for some request? Dropped conditions have their marked value. */
static bool can_be(const struct sr_config_rule *rule, bool sought, bool negated)
{
    bool all = (rule->op == SR_RULE_AND) == sought; /* every child has to be `sought` */
    bool found = all;
    switch (rule->op) {
    case SR_RULE_LEAF:
        return true;
    case SR_RULE_UNKNOWN:
        return ((rule->on_error == SR_ON_ERROR_MATCH) != negated) == sought;
    case SR_RULE_NOT:
        return can_be(&rule->children[0], !sought, !negated);
    default:
        for (size_t i = 0; i < rule->n_children; i++)
            found = all ? found && can_be(&rule->children[i], sought, negated)
                        : found || can_be(&rule->children[i], sought, negated);
        return found;
    }
}

/* What the decision does with the requests that it matches. */
static void describe(const struct sr_config *config, const struct sr_config_decision *decision,
                     char out[TEXT_MAX])
{
    static const char *const actions[] = {"lets them pass", "flags them", "routes them", "blocks them",
                                          "redacts them"};
    int model = decision->n_refs ? decision->refs[0].model : config->default_model;
    if (decision->plugins.guard.set)
        snprintf(out, TEXT_MAX, "%s", actions[decision->plugins.guard.action]);
    else if (decision->plugins.fast_response.set)
        snprintf(out, TEXT_MAX, "answers them itself");
    else if (model >= 0)
        snprintf(out, TEXT_MAX, "sends them to `%.60s`", config->models[model].name);
    else
        snprintf(out, TEXT_MAX, "refuses them");
}

static void tell(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                 const struct sr_config_decision *decision, size_t dropped)
{
    char does[TEXT_MAX];
    bool closed = protects(decision);
    bool all = closed ? !can_be(&decision->rules, false, false) : !can_be(&decision->rules, true, false);
    describe(config, decision, does);
    if (closed && !decision->plugins.guard.set && decision->plugins.fast_response.set)
        snprintf(does, sizeof does, "they are refused (503)");
    sr_bind_warning(b, sr_bind_at(node, "rules"),
                    "decision `%.60s` lost %zu condition%s: %s requests, and %s", decision->name, dropped,
                    dropped > 1 ? "s" : "",
                    closed ? (all ? "it matches all" : "where they decide, it matches")
                           : (all ? "it matches no" : "where they decide, it does not match"),
                    does);
}

/* Was a plugin, or a part of it, dropped without which more is allowed than the file says? */
static bool restricts(const struct sr_binder *b, const struct sr_yaml_node *plugin)
{
    static const char *const whole[] = {"jailbreak", "pii", NULL};
    static const char *const parts[] = {"header_mutation", "request_params", "response_jailbreak", NULL};
    static const char *const tools[] = {"tools", "tool_selection", NULL};
    const struct sr_yaml_node *type = sr_link_name(plugin, "type");
    const struct sr_yaml_node *configuration = sr_yaml_get(plugin, "configuration");
    const struct sr_yaml_node *mode = sr_link_name(configuration, "mode");
    const struct sr_yaml_node *action = sr_link_name(configuration, "hallucination_action");
    bool lost = sr_bind_dropped(b, plugin), partial = sr_bind_is_partial(b, configuration);
    if (!type || (!lost && !partial))
        return false;
    if (sr_key_is_among(parts, type->text))
        return true;
    if (sr_key_is_among(tools, type->text))
        return !mode || !sr_bytes_eq(mode->text, SR_LIT("passthrough"));
    if (sr_bytes_eq(type->text, SR_LIT("hallucination")))
        return lost && action && sr_bytes_eq(action->text, SR_LIT("block"));
    return lost && (sr_key_is_among(whole, type->text) || sr_bind_dropped(b, type));
}

static void close_plugins(struct sr_binder *b, const struct sr_yaml_node *plugins,
                          struct sr_config_decision *decision)
{
    for (size_t i = 0; plugins && plugins->kind == SR_YAML_LIST && i < plugins->count; i++) {
        if (!restricts(b, plugins->items[i]) || decision->plugins.fast_response.set)
            continue;
        decision->plugins.guard.set = true;
        decision->plugins.guard.action = SR_GUARD_BLOCK;
        decision->plugins.guard.status = 403;
        decision->plugins.guard.message = "A plugin of this decision is not supported.";
        sr_bind_warning(b, plugins->items[i],
                        "decision `%.60s` lost what restricts it: its requests are blocked", decision->name);
    }
}

/* A decision with a key that is not known may be for other requests than its rules say: they get an unknown
 * condition. Keys that vLLM Semantic Router has are none of those. */
static void doubt(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_config_decision *decision)
{
    bool doubtful = false;
    for (size_t i = 0; node && i < node->count; i++)
        doubtful |= node->kind == SR_YAML_MAP && sr_bind_dropped(b, node->keys[i]);
    struct sr_config_rule unknown = {.op = SR_RULE_UNKNOWN, .type = "", .name = ""};
    struct sr_config_rule *both = doubtful ? sr_bind_calloc(b, 2, sizeof *both) : NULL;
    if (!both)
        return;
    both[0] = decision->rules;
    both[1] = unknown;
    decision->rules = unknown;
    if (decision->has_rules)
        decision->rules = (struct sr_config_rule){
            .op = SR_RULE_AND, .type = "", .name = "", .children = both, .n_children = 2};
    decision->has_rules = true;
}

void sr_link_dropped(struct sr_binder *b, const struct sr_yaml_node *owner,
                     const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *decisions = sr_yaml_get(routing, "decisions");
    bool empty = config->n_decisions == 0 && config->n_recipes == 0;
    size_t lost = 0;
    bool left = false;
    if (!b->lenient)
        return;
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *node = sr_link_item(decisions, i);
        doubt(b, node, decision);
        close_plugins(b, sr_yaml_get(node, "plugins"), decision);
        size_t n = decision->has_rules ? mark(&decision->rules, SR_ON_ERROR_NO_MATCH) : 0;
        if (n && protects(decision))
            (void)mark(&decision->rules, SR_ON_ERROR_MATCH);
        if (n)
            tell(b, node, config, decision, n);
        lost += n;
        left |= !n || can_be(&decision->rules, true, false);
    }
    if (config->n_decisions ? lost && !left : empty && sr_bind_dropped(b, owner))
        sr_bind_error(b, decisions ? decisions : owner, "no decision is left: what they need was dropped");
}
