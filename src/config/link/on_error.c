/*
 * Sets what a rule's leaf is worth when its signal failed or could not read all of the request.
 *
 * In a guard the leaf takes the value that makes the guard act: `match`, or below a NOT `no_match`. A guard
 * that allows is the opposite: it must not let a request pass that was not read. In other decisions the
 * leaves of jailbreak and pii take `match`: what could not be ruled out counts as found.
 */
#include "config/link/on_error.h"

#include "config/link/names.h"

/* The value that is closed: for a leaf of this decision, below an odd number of NOT when `negated`. */
static enum sr_on_error closed(const struct sr_config_decision *decision, const struct sr_config_rule *leaf,
                               bool negated)
{
    bool acts = decision->plugins.guard.action != SR_GUARD_ALLOW;
    bool match = decision->plugins.guard.set ? acts != negated : sr_config_is_guard_type(leaf->type);
    return match ? SR_ON_ERROR_MATCH : SR_ON_ERROR_NO_MATCH;
}

/* True when an open leaf of this decision lets pass what another value would stop. */
static bool protects(const struct sr_config_decision *decision)
{
    return decision->plugins.guard.set || decision->plugins.fast_response.set;
}

/* What `prompt_guard.on_error` makes of the closed value. */
static enum sr_on_error by_default(const struct sr_config *config, const struct sr_config_rule *leaf,
                                   enum sr_on_error value)
{
    bool open =
        strcmp(leaf->type, "jailbreak") == 0 && config->global.jailbreak_on_error == SR_ON_ERROR_NO_MATCH;
    enum sr_on_error other = value == SR_ON_ERROR_MATCH ? SR_ON_ERROR_NO_MATCH : SR_ON_ERROR_MATCH;
    return open ? other : value;
}

static void link_leaf(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_config_decision *decision, struct sr_config_rule *leaf, bool negated)
{
    enum sr_on_error value = closed(decision, leaf, negated);
    if (!leaf->says_on_error)
        leaf->on_error = by_default(config, leaf, value);
    if (leaf->on_error != value && protects(decision) && sr_config_is_guard_type(leaf->type))
        sr_bind_warning(b, sr_bind_at(node, "on_error"),
                        "decision `%.60s` is open: requests that `%.20s` could not read pass it",
                        decision->name, leaf->type);
}

static void link_rule(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_config_decision *decision, struct sr_config_rule *rule, bool negated)
{
    const struct sr_yaml_node *conditions = sr_yaml_get(node, "conditions");
    if (rule->op == SR_RULE_LEAF)
        link_leaf(b, node, config, decision, rule, negated);
    for (size_t i = 0; i < rule->n_children; i++)
        link_rule(b, sr_link_item(conditions, i), config, decision, &rule->children[i],
                  negated != (rule->op == SR_RULE_NOT));
}

void sr_link_on_error(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *decisions = sr_yaml_get(routing, "decisions");
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_decision *decision = &config->decisions[i];
        if (decision->has_rules)
            link_rule(b, sr_yaml_get(sr_link_item(decisions, i), "rules"), config, decision, &decision->rules,
                      false);
    }
}
