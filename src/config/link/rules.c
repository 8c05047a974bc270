/* Walks the rule trees; the lists of rules are found by the declarations of `routing.signals`. */
#include "config/link/rules.h"

#include "config/bind/hint.h"
#include "config/link/names.h"
#include "config/section/section.h"

/* The list of signal rules that a leaf's type names; NULL for a type that has none. Sections are called "TYPE
 * rule". */
static const struct sr_field *find_list(const char *type)
{
    size_t n = strlen(type);
    for (size_t i = 0; i < sr_section_signals.n_fields; i++) {
        const char *section = sr_section_signals.fields[i].of->name;
        if (strncmp(section, type, n) == 0 && strcmp(section + n, " rule") == 0)
            return &sr_section_signals.fields[i];
    }
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

/* `projection` names the outputs of mappings. True when there is one of which nothing was dropped. */
static bool link_band(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                      const struct sr_yaml_node *routing, const char *name)
{
    char hint[SR_LINK_HINT_SIZE];
    const struct sr_yaml_node *projections = sr_yaml_get(routing, "projections");
    const struct sr_yaml_node *mappings = sr_yaml_get(projections, "mappings");
    struct sr_nearest nearest = {.word = sr_bytes_str(name)};
    for (size_t i = 0; i < config->n_mappings; i++)
        for (size_t k = 0; k < config->mappings[i].n_bands; k++) {
            if (strcmp(config->mappings[i].bands[k].name, name) == 0)
                return !sr_link_is_partial_score(b, projections, config, config->mappings[i].source) &&
                       !sr_bind_is_partial(b, sr_link_item(mappings, i));
            sr_nearest_try(&nearest, config->mappings[i].bands[k].name);
        }
    sr_bind_unsupported(b, at, "no output `%.60s` in routing.projections.mappings%s", name,
                        sr_nearest_hint(&nearest, hint, sizeof hint));
    return false;
}

bool sr_link_is_partial_score(const struct sr_binder *b, const struct sr_yaml_node *projections,
                              const struct sr_config *config, const char *name)
{
    const struct sr_yaml_node *scores = sr_yaml_get(projections, "scores");
    for (size_t i = 0; i < config->n_scores; i++) {
        const struct sr_yaml_node *score = sr_link_item(scores, i), *inputs = sr_yaml_get(score, "inputs");
        bool partial = sr_bind_is_partial(b, score) || sr_bind_is_partial(b, inputs);
        for (size_t k = 0; inputs && k < inputs->count; k++)
            partial = partial || sr_bind_is_partial(b, inputs->items[k]);
        if (strcmp(config->scores[i].name, name) == 0)
            return partial;
    }
    return true;
}

/* The name of a rule in the name that a leaf gives: NAME:hard of complexity. Other types have none to cut. */
static struct sr_bytes base_name(const char *type, const char *name, const char **wrong)
{
    static const char *const levels[] = {":hard", ":medium", ":easy"};
    struct sr_bytes text = sr_bytes_str(name);
    if (strcmp(type, "complexity") != 0)
        return text;
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        size_t n = strlen(levels[i]);
        if (text.n > n && memcmp(text.p + text.n - n, levels[i], n) == 0)
            return sr_bytes_of(text.p, text.n - n);
    }
    *wrong = "a rule of type `complexity` is named NAME:hard, NAME:medium or NAME:easy";
    return text;
}

bool sr_link_rule_name(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                       const struct sr_yaml_node *routing, const char *type, const char *rule)
{
    char hint[SR_LINK_HINT_SIZE];
    const char *name, *wrong = NULL;
    struct sr_bytes wanted = base_name(type, rule, &wrong);
    struct sr_nearest nearest = {.word = wanted};
    const struct sr_field *list = find_list(type);
    if (strcmp(type, "projection") == 0)
        return link_band(b, at, config, routing, rule);
    if (!list)
        return true;
    if (wrong) {
        sr_bind_unsupported(b, at, "%s, found `%.60s`", wrong, rule);
        return false;
    }
    for (size_t i = 0; (name = rule_name(config, list, i)) != NULL; i++) {
        if (sr_bytes_eq(sr_bytes_str(name), wanted))
            return !sr_bind_is_partial(
                b, sr_link_item(sr_yaml_get(sr_yaml_get(routing, "signals"), list->key), i));
        sr_nearest_try(&nearest, name);
    }
    sr_bind_unsupported(b, at, "no rule `%.60s` in routing.signals.%s%s", rule, list->key,
                        sr_nearest_hint(&nearest, hint, sizeof hint));
    return false;
}

static void link_leaf(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_yaml_node *routing, struct sr_config_rule *rule)
{
    if (!rule->name[0])
        return;
    bool whole = sr_link_rule_name(b, sr_bind_at(node, "name"), config, routing, rule->type, rule->name);
    if (b->lenient && (!whole || sr_bind_is_partial(b, node)))
        rule->op = SR_RULE_UNKNOWN;
}

void sr_link_rule(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                  const struct sr_yaml_node *routing, struct sr_config_rule *rule)
{
    const struct sr_yaml_node *conditions = sr_yaml_get(node, "conditions");
    if (rule->op == SR_RULE_LEAF)
        link_leaf(b, node, config, routing, rule);
    else if (node && sr_bind_dropped(b, node))
        rule->op = SR_RULE_UNKNOWN;
    for (size_t i = 0; i < rule->n_children; i++)
        sr_link_rule(b, conditions->items[i], config, routing, &rule->children[i]);
}

void sr_link_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    const struct sr_yaml_node *decisions = sr_yaml_get(routing, "decisions");
    for (size_t i = 0; i < config->n_decisions; i++) {
        struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *rules = sr_yaml_get(decisions->items[i], "rules");
        if (decision->has_rules)
            sr_link_rule(b, rules, config, routing, &decision->rules);
    }
}
