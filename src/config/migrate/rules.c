/* A leaf is carried over where the signal rule that it names is. */
#include "config/migrate/rules.h"

#include "config/link/domains.h"
#include "config/section/section.h"

#include <stdio.h>

static bool has_label(const struct sr_yaml_node *category)
{
    const struct sr_yaml_node *labels = sr_yaml_get(category, "mmlu_categories");
    const struct sr_yaml_node *name = sr_yaml_get(category, "name");
    for (size_t i = 0; labels && labels->kind == SR_YAML_LIST && i < labels->count; i++)
        if (labels->items[i]->kind == SR_YAML_SCALAR && sr_config_domain_label(labels->items[i]->text))
            return true;
    return name && name->kind == SR_YAML_SCALAR && sr_config_domain_label(name->text) != NULL;
}

bool sr_migrate_is_domain(const struct sr_yaml_node *categories, const struct sr_yaml_node *category)
{
    return sr_migrate_has(category, "name") && has_label(category) &&
           sr_migrate_named(categories, sr_yaml_get(category, "name")->text) == category;
}

bool sr_migrate_is_rule(const struct sr_yaml_node *rules, const struct sr_yaml_node *rule, const char *list)
{
    const struct sr_yaml_node *words = sr_yaml_get(rule, list);
    return sr_migrate_has(rule, "name") && words && words->kind == SR_YAML_LIST && words->count &&
           sr_migrate_named(rules, sr_yaml_get(rule, "name")->text) == rule;
}

const struct sr_migrate_signal sr_migrate_signals[] = {
    {"fact_check", "fact_check_rules", "fact_check"},
    {"user_feedback", "user_feedback_rules", "user_feedbacks"},
    {"preference", "preference_rules", "preferences"},
    {NULL, NULL, NULL}};

bool sr_migrate_has_signal(const struct sr_migrate_signal *signal)
{
    for (const struct sr_enum_word *type = sr_leaf_types; type->word; type++)
        if (strcmp(type->word, signal->type) == 0)
            return true;
    return false;
}

/* Does a leaf name something that the new file has? */
static bool leaf_exists(struct sr_migration *m, const struct sr_yaml_node *leaf)
{
    const struct sr_yaml_node *type = sr_yaml_get(leaf, "type"), *name = sr_yaml_get(leaf, "name");
    if (!sr_migrate_has(leaf, "type") || !sr_migrate_has(leaf, "name"))
        return false;
    bool domain = sr_bytes_eq(type->text, SR_LIT("domain"));
    bool embedding = sr_bytes_eq(type->text, SR_LIT("embedding"));
    for (const struct sr_migrate_signal *signal = sr_migrate_signals; signal->type; signal++)
        if (sr_bytes_eq(type->text, sr_bytes_str(signal->type))) {
            const struct sr_yaml_node *own = sr_yaml_get(m->old, signal->old);
            return sr_migrate_has_signal(signal) && own && own->kind == SR_YAML_LIST &&
                   sr_migrate_named(own, name->text);
        }
    const struct sr_yaml_node *list = sr_yaml_get(m->old, domain      ? "categories"
                                                          : embedding ? "embedding_rules"
                                                                      : "keyword_rules");
    const struct sr_yaml_node *entry =
        list && list->kind == SR_YAML_LIST ? sr_migrate_named(list, name->text) : NULL;
    if (domain)
        return entry && sr_migrate_is_domain(list, entry);
    if (embedding)
        return entry && sr_migrate_is_rule(list, entry, "candidates");
    return sr_bytes_eq(type->text, SR_LIT("keyword")) && entry && sr_migrate_is_rule(list, entry, "keywords");
}

/* The conditions that can be carried over; without one of them an AND can never match. */
static size_t usable(struct sr_migration *m, const struct sr_yaml_node *conditions, bool all)
{
    size_t count = 0;
    for (size_t i = 0; i < conditions->count; i++)
        count += leaf_exists(m, conditions->items[i]);
    return all && count < conditions->count ? 0 : count;
}

static bool is_all(const struct sr_yaml_node *rules)
{
    const struct sr_yaml_node *op = sr_yaml_get(rules, "operator");
    return op && op->kind == SR_YAML_SCALAR && sr_bytes_eq(op->text, SR_LIT("AND"));
}

bool sr_migrate_has_rules(struct sr_migration *m, const struct sr_yaml_node *decision)
{
    const struct sr_yaml_node *rules = sr_yaml_get(decision, "rules");
    const struct sr_yaml_node *conditions = sr_yaml_get(rules, "conditions");
    return sr_migrate_has(decision, "name") && conditions && conditions->kind == SR_YAML_LIST &&
           usable(m, conditions, is_all(rules)) > 0;
}

void sr_migrate_rules(struct sr_migration *m, const struct sr_yaml_node *decision, const char *first,
                      const char *rest, bool notes)
{
    const struct sr_yaml_node *rules = sr_yaml_get(decision, "rules");
    const struct sr_yaml_node *conditions = sr_yaml_get(rules, "conditions");
    char type[32], name[32];
    snprintf(type, sizeof type, "%s  - ", rest);
    snprintf(name, sizeof name, "%s    ", rest);
    sr_migrate_put(m, "%soperator: %s\n%sconditions:\n", first, is_all(rules) ? "AND" : "OR", rest);
    for (size_t i = 0; i < conditions->count; i++) {
        const struct sr_yaml_node *leaf = conditions->items[i];
        if (leaf_exists(m, leaf)) {
            sr_migrate_copy(m, leaf, "type", type, "type");
            sr_migrate_copy(m, leaf, "name", name, "name");
        } else if (notes) {
            sr_migrate_note(m, leaf, "a condition whose signal this version or this file does not have");
        }
    }
}
