/* Walks the rule trees; the lists of rules are found by the declarations of `routing.signals`. */
#include "config/link/rules.h"

#include "config/bind/hint.h"
#include "config/link/domains.h"
#include "config/link/names.h"
#include "config/section/section.h"

/* Sections are called "TYPE rule". */
const struct sr_field *sr_link_rule_list(const char *type)
{
    size_t n = strlen(type);
    for (size_t i = 0; i < sr_section_signals.n_fields; i++) {
        const char *section = sr_section_signals.fields[i].of->name;
        if (strncmp(section, type, n) == 0 && strcmp(section + n, " rule") == 0)
            return &sr_section_signals.fields[i];
    }
    return NULL;
}

/* The name is the first member of a rule's struct. */
const char *sr_link_rule_at(const struct sr_config *config, const struct sr_field *list, size_t i)
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

/* What a block has of a name. */
enum found { FOUND_NOTHING, FOUND_PARTLY, FOUND_WHOLE };

static enum found found(bool whole)
{
    return whole ? FOUND_WHOLE : FOUND_PARTLY;
}

/* True when there is no such score, or a lenient load dropped a part of it. */
static bool is_partial_score(const struct sr_binder *b, const struct sr_yaml_node *projections,
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
    if (b->shared && b->shared != config)
        return is_partial_score(b, sr_yaml_get(b->shared_routing, "projections"), b->shared, name);
    return true;
}

/* `projection` names the outputs of mappings. */
static enum found find_band(const struct sr_binder *b, const struct sr_config *config,
                            const struct sr_yaml_node *routing, struct sr_nearest *nearest)
{
    const struct sr_yaml_node *projections = sr_yaml_get(routing, "projections");
    const struct sr_yaml_node *mappings = sr_yaml_get(projections, "mappings");
    for (size_t i = 0; i < config->n_mappings; i++)
        for (size_t k = 0; k < config->mappings[i].n_bands; k++) {
            if (sr_bytes_eq(sr_bytes_str(config->mappings[i].bands[k].name), nearest->word))
                return found(!is_partial_score(b, projections, config, config->mappings[i].source) &&
                             !sr_bind_is_partial(b, sr_link_item(mappings, i)));
            sr_nearest_try(nearest, config->mappings[i].bands[k].name);
        }
    return FOUND_NOTHING;
}

static enum found find_rule(const struct sr_binder *b, const struct sr_config *config,
                            const struct sr_yaml_node *routing, const struct sr_field *list,
                            struct sr_nearest *nearest)
{
    const char *name;
    for (size_t i = 0; (name = sr_link_rule_at(config, list, i)) != NULL; i++) {
        if (sr_bytes_eq(sr_bytes_str(name), nearest->word))
            return found(!sr_bind_is_partial(
                b, sr_link_item(sr_yaml_get(sr_yaml_get(routing, "signals"), list->key), i)));
        sr_nearest_try(nearest, name);
    }
    return FOUND_NOTHING;
}

/* In the block, else in the one whose rules it may name too. `list` NULL: among outputs of mappings. */
static enum found find(const struct sr_binder *b, const struct sr_config *config,
                       const struct sr_yaml_node *routing, const struct sr_field *list,
                       struct sr_nearest *nearest)
{
    enum found own =
        list ? find_rule(b, config, routing, list, nearest) : find_band(b, config, routing, nearest);
    if (own || !b->shared)
        return own;
    return list ? find_rule(b, b->shared, b->shared_routing, list, nearest)
                : find_band(b, b->shared, b->shared_routing, nearest);
}

struct sr_bytes sr_link_base_name(const char *type, const char *name, const char **wrong)
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

static bool link_workload(struct sr_binder *b, const struct sr_yaml_node *at, const char *rule)
{
    int workload = sr_config_find_workload(sr_bytes_str(rule));
    if (workload >= 0 && strcmp(sr_config_workload_name((enum sr_workload)workload), rule) == 0)
        return true;
    sr_bind_unsupported(
        b, at, "no workload `%.60s`: expected `interactive`, `long_context`, `agent` or `batch`", rule);
    return false;
}

/* Without declared domains a condition names labels of the built-in classifier. */
static bool takes_labels(const struct sr_yaml_node *routing, const char *type)
{
    const struct sr_yaml_node *domains = sr_yaml_get(sr_yaml_get(routing, "signals"), "domains");
    return strcmp(type, "domain") == 0 && (!domains || domains->count == 0);
}

bool sr_link_rule_name(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                       const struct sr_yaml_node *routing, const char *type, const char *rule)
{
    char hint[SR_LINK_HINT_SIZE];
    const char *wrong = NULL;
    if (strcmp(type, "workload") == 0)
        return link_workload(b, at, rule);
    bool band = strcmp(type, "projection") == 0;
    struct sr_nearest nearest = {.word = sr_link_base_name(type, rule, &wrong)};
    const struct sr_field *list = sr_link_rule_list(type);
    if (!list && !band)
        return true;
    if (wrong) {
        sr_bind_unsupported(b, at, "%s, found `%.60s`", wrong, rule);
        return false;
    }
    enum found is = find(b, config, routing, list, &nearest);
    if (is)
        return is == FOUND_WHOLE;
    bool labels = !b->shared && takes_labels(routing, type);
    if (labels)
        sr_link_try_labels(&nearest);
    sr_nearest_hint(&nearest, hint, sizeof hint);
    if (labels)
        sr_bind_unsupported(b, at,
                            "no rule `%.60s` in routing.signals.domains; without rules there, labels of the "
                            "domain classifier may be named%s",
                            rule, hint);
    else if (band)
        sr_bind_unsupported(b, at, "no output `%.60s` in routing.projections.mappings%s", rule, hint);
    else
        sr_bind_unsupported(b, at, "no rule `%.60s` in routing.signals.%s%s", rule, list->key, hint);
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
