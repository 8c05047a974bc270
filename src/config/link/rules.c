/* Walks the rule trees; the lists of rules are found by the declarations of `routing.signals`. */
#include "config/link/rules.h"

#include "config/bind/hint.h"
#include "config/link/names.h"
#include "config/section/section.h"

/* The list of signal rules that a leaf's type names; NULL for a type that is unknown. */
static const struct sr_field *find_list(const char *type)
{
    for (const struct sr_enum_word *known = sr_leaf_types; known->word; known++)
        if (strcmp(known->word, type) == 0)
            return &sr_section_signals.fields[known->value];
    return NULL;
}

/* The name of rule `i` of a list: the first member of its struct. NULL past the last. */
static const char *rule_name(const struct sr_config *config, const struct sr_field *list, size_t i)
{
    const char *items, *name;
    size_t count;
    memcpy(&items, (const char *)config + list->offset, sizeof items);
    memcpy(&count, (const char *)config + list->count_offset, sizeof count);
    if (i >= count)
        return NULL;
    memcpy(&name, items + i * list->of->size, sizeof name);
    return name;
}

/* True when a lenient load left out a part of a signal's rule: a key, or the word of one. */
static bool is_partial(const struct sr_binder *b, const struct sr_yaml_node *rule)
{
    bool partial = rule && sr_bind_dropped(b, rule);
    for (size_t i = 0; rule && !partial && i < rule->count; i++)
        partial = sr_bind_dropped(b, rule->items[i]);
    return partial;
}

static void link_leaf(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_yaml_node *signals, struct sr_config_rule *rule)
{
    char hint[SR_LINK_HINT_SIZE];
    const char *name;
    struct sr_nearest nearest = {.word = sr_bytes_str(rule->name)};
    const struct sr_field *list = find_list(rule->type);
    if (!list || !rule->name[0])
        return;
    for (size_t i = 0; (name = rule_name(config, list, i)) != NULL; i++) {
        if (strcmp(name, rule->name) == 0) {
            if (is_partial(b, node) || is_partial(b, sr_link_item(sr_yaml_get(signals, list->key), i)))
                rule->op = SR_RULE_UNKNOWN;
            return;
        }
        sr_nearest_try(&nearest, name);
    }
    if (b->lenient)
        rule->op = SR_RULE_UNKNOWN;
    sr_bind_unsupported(b, sr_bind_at(node, "name"), "no rule `%.60s` in routing.signals.%s%s", rule->name,
                        list->key, sr_nearest_hint(&nearest, hint, sizeof hint));
}

static void link_rule(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_yaml_node *signals, struct sr_config_rule *rule)
{
    const struct sr_yaml_node *conditions = sr_yaml_get(node, "conditions");
    if (rule->op == SR_RULE_LEAF)
        link_leaf(b, node, config, signals, rule);
    for (size_t i = 0; i < rule->n_children; i++)
        link_rule(b, conditions->items[i], config, signals, &rule->children[i]);
}

void sr_link_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *decisions = sr_yaml_get(routing, "decisions");
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *rules = sr_yaml_get(decisions->items[i], "rules");
        if (decision->has_rules)
            link_rule(b, rules, config, sr_yaml_get(routing, "signals"), &decision->rules);
    }
}
